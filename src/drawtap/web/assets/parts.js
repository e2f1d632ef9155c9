// Pieces that panels are made of: titles, quiet words, tables, fields, choices, buttons that stay down or save.
import {button, download, dressed, fill, h} from "./dom.js";

/** An element of a drawing. @param {string} tag @param {Record<string, any>} [props] @param {...any} children */
export const svg = (tag, props = {}, ...children) =>
    dressed(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);

/** A heading with smaller words beside it. @param {string} text @param {...any} small */
export const title = (text, ...small) => h("h2", {text}, small.length > 0 && h("small", {}, ...small));

/** A paragraph about what is shown. @param {...any} words */
export const quiet = (...words) => h("p", {}, h("i", {}, ...words));

/** A paragraph about what went wrong. @param {string} text */
export const bad = (text) => h("p", {class: "bad", text});

/** Paragraphs about a failure, with its hint. @param {any} error @returns {any[]} */
export const failure = ({message, hint}) => [bad(message), hint && h("p", {text: hint})];

/** A cell of a number, which stands on the right. @param {any} value */
export const n = (value) => h("td", {class: "n"}, value);

/** A cell of long words. @param {any} value */
export const wrap = (value) => h("td", {class: "wrap"}, value);

/** A row that begins with its name. @param {any} name @param {...any} values */
export const named = (name, ...values) => h("tr", {}, h("th", {scope: "row"}, name), ...values.map(celled));

const celled = (value) => value === false || value instanceof HTMLTableCellElement ? value : h("td", {}, value);

/** @param {any} row an element, or its cells @param {Record<string, any>} [props] @returns {HTMLTableRowElement} */
export const rowed = (row, props = {}) => Array.isArray(row) ? h("tr", props, ...row.map(celled)) : row;

/**
 * A table. A row is an element, or its cells. Heads stand on the right above numbers. @param {string[]} heads @param
 * {any[]} rows @param {Record<string, any>} [props]
 */
export function sheet(heads, rows, props = {}) {
  const made = rows.map((row) => rowed(row));
  const kinds = [...(made[0]?.cells ?? [])].map((cell) => cell.classList.contains("n") ? "n" : null);
  const titles = heads.map((text, i) => h("th", {text, scope: "col", class: kinds[i]}));
  return h("table", props, h("thead", {}, h("tr", {}, ...titles)), h("tbody", {}, ...made));
}

/**
 * A table of names and values; a name without a value has no row. @param {any[][]} pairs @param {string} [as] the
 * values' class @param {Record<string, any>} [props]
 */
export const facts = (pairs, as = "mono wrap", props = {}) =>
    h("table", props,
      ...pairs.filter(([, value]) => ![null, undefined, false, ""].includes(value))
          .map(([name, value]) => named(name, h("td", {class: as}, value))));

/** Entries of a choice. @param {any[][]} all values with their words @param {any} [chosen] */
export const options = (all, chosen) =>
    all.map(([value, text]) => h("option", {value, text, selected: value === chosen}));

/**
 * A choice. @param {string} label @param {any[][]} all values with their words @param {(value: string) => void}
 * [run] @param {any} [chosen]
 */
export const select = (label, all, run, chosen) =>
    h("select", {"aria-label": label, on: {change: ({target}) => run?.(target.value)}}, ...options(all, chosen));

/** A button that is down or up. @param {string} text @param {() => void} run @param {any} down @param {any} [props] */
export const toggle = (text, run, down, props = {}) => button(text, run, {...props, "aria-pressed": String(down)});

/** A field for several lines; Ctrl-Enter takes them. @param {Record<string, any>} props @param {() => void} run */
export function editing(props, run) {
  const keydown = (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    run();
  };
  return h("textarea", {spellcheck: "false", ...props, on: {keydown}});
}

/**
 * A field, and the rows that have all of its words. @param {string} label @param {string} placeholder @param {any[][]}
 * rows @param {(rows: any[][], some: boolean) => Node} show
 */
export function sieve(label, placeholder, rows, show) {
  const out = h("div");
  const draw = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const left = rows.filter((row) => words.every((word) => row.join(" ").toLowerCase().includes(word)));
    fill(out, show(left, words.length > 0));
  };
  const field = h("input", {type: "search", placeholder, "aria-label": label, on: {input: draw}});
  draw();
  return [field, out];
}

/**
 * A button that saves a file. @param {any} ctx @param {string} text @param {() => Promise<[string, BlobPart, string]>}
 * make its name, content and type @param {Record<string, any>} [props]
 */
export const saver = (ctx, text, make, props = {}) => button(text, async () => {
  try {
    download(...await make());
  } catch (error) {
    ctx.fail(error);
  }
}, props);

/** Copy text, and say so. @param {string} text @param {string} what @param {(text: string) => void} say */
export const copy = (text, what, say) =>
    void navigator.clipboard?.writeText(text).then(() => say(what), () => say("the browser refuses to copy"));

/**
 * The place in a list that a key leads to; undefined: the key leads nowhere. @param {string} key @param {number}
 * at @param {number} page rows of a page @param {number} last @param {string[]} [arrows] back and forth
 */
export function placeBy(key, at, page, last, [back, forth] = ["ArrowUp", "ArrowDown"]) {
  const to = {[back]: at - 1, [forth]: at + 1, PageUp: at - page, PageDown: at + page, Home: 0, End: last}[key];
  return to === undefined ? undefined : Math.min(Math.max(to, 0), last);
}

/** An entry of a legend. @param {number[]|null} colour red, green, blue @param {string} text */
export const patch = (colour, text) =>
    h("li", {},
      colour && h("span", {class: "patch", "aria-hidden": "true", style: {background: `rgb(${colour.join(" ")})`}}),
      text);
