// A table of an answer: sorted by a click, numbers of calls and frames are links, saved as CSV, Parquet or Arrow.
import {button, counted, download, fill, h, number} from "./dom.js";
import {getBytes, postForBytes, stoppable} from "./net.js";

const SHOWN = 200;

/** @typedef {{columns: string[], rows: any[][]}} Table */

/**
 * @param {{columns: string[], rows: any[][], more?: boolean}} answer
 * @param {{go: (seq: number) => void, goFrame: (frame: number) => void}} ctx
 * @param {{name: string, whole?: {recording: number, sql: string}, links?: Record<string, (row: any[]) => (() =>
 * void)|null>, lean?: boolean, plain?: boolean, written?: Record<string, (value: any) => string>}} on what a cell of a
 * column leads to; `plain`: heads are words, where they stand for columns of a table; `written`: how a column's values
 * are written; `lean`: columns without a value are not shown; `whole`: the question whose whole answer is saved;
 * without it the rows that are here are
 */
export function table(ctx, answer, on) {
  let rows = answer.rows;
  let shown = SHOWN;
  const body = h("tbody");
  const note = h("p");
  const numeric = answer.columns.map(
      (_, i) =>
          rows.some((r) => typeof r[i] === "number") && rows.every((r) => r[i] === null || typeof r[i] === "number"));
  const heads = answer.columns.map(
      (column, i) => h(
          "th", {class: numeric[i] ? "n" : "", hidden: on.lean && rows.every((row) => row[i] === null)},
          button(on.plain ? inWords(column) : column, () => sort(i), {title: on.plain ? `sort (${column})` : "sort"})),
  );
  let by = -1, down = false;

  /** @param {number} i */
  function sort(i) {
    down = by === i ? !down : numeric[i];
    by = i;
    rows = [...answer.rows].sort(
        (a, b) => (a[i] === b[i]     ? 0 :
                       a[i] === null ? 1 :
                       b[i] === null ? -1 :
                       a[i] < b[i]   ? -1 :
                                       1) *
            (down ? -1 : 1));
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[i].setAttribute("aria-sort", down ? "descending" : "ascending");
    draw();
  }

  /** @param {any} value @param {number} i @param {any[]} row */
  function cell(value, i, row) {
    const column = answer.columns[i];
    const leads = on.links?.[column]?.(row);
    if (leads) return h("td", {class: "n"}, link(on.written?.[column]?.(value) ?? String(value), leads));
    if (value === null) return h("td", {class: numeric[i] ? "n" : ""}, h("i", {text: "–"}));
    if (on.written?.[column])
      return h("td", {class: numeric[i] ? "n" : "mono", text: on.written[column](value), title: String(value)});
    if (typeof value === "number" && /(^|_)seq$/.test(column))
      return h("td", {class: "n"}, link(String(value), () => ctx.go(value)));
    if (typeof value === "number" && column === "frame")
      return h("td", {class: "n"}, link(String(value), () => ctx.goFrame(value)));
    const short = typeof value === "number" && !Number.isInteger(value);
    const text = short            ? String(Number(value.toPrecision(6))) :
        typeof value === "object" ? JSON.stringify(value) :
                                    String(value);
    return h("td", {
      class: numeric[i]     ? "n" :
          column === "path" ? "mono path" :
                              "mono",
      text: text.length > 400 ? `${text.slice(0, 400)}…` : text,
      title: short         ? String(value) :
          text.length > 60 ? text.slice(0, 2000) :
                             null
    });
  }

  function draw() {
    fill(
        body,
        ...rows.slice(0, shown).map(
            (row) => h("tr", {}, ...row.map((value, i) => (heads[i].hidden ? null : cell(value, i, row))))));
    const left = rows.length - shown;
    fill(
        note,
        h("i",
          {text: `${counted(rows.length, "row")}${answer.more ? "; there are more: add LIMIT or conditions" : ""} `}),
        left > 0 && button(`show ${number(Math.min(left, 1000))} more`, () => {
          shown += 1000;
          draw();
        }));
  }

  draw();
  return h(
      "div", {}, saving({name: on.name, whole: on.whole, rows: () => answer}),
      h("div", {class: "scroll"}, h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body)), note);
}

/** A column's name as words: created_seq is the call that created. @param {string} column */
const inWords = (column) => column.replace(/(^|_)seq$/, "$1call").replaceAll("_", " ");

/**
 * Buttons that save a table as a file: of `whole`, a question, the whole answer; of `file` what the server writes at
 * this address; else the rows that are here.
 * @param {{name: string, whole?: {recording: number, sql: string}, file?: (form: string) => string, rows?: () =>
 *     Table|Promise<Table>}} of
 */
export function saving(of) {
  /** @type {AbortController|undefined} */
  let running;
  const said = h("span", {role: "status"});
  const save = async (/** @type {string} */ form) => {
    running?.abort();
    const {signal} = (running = new AbortController()), {whole, file} = of;
    fill(said, h("i", {text: `${form} is written …`}), button("stop", () => running?.abort()));
    try {
      const {columns, rows} = (!whole && !file && await of .rows?.()) || {columns: [], rows: []};
      const data = file ?
          await getBytes(file(form), signal) :
          whole ?
          await postForBytes(
              `${whole.recording}/save/${form}?query=${stoppable(whole.recording, signal)}`, whole.sql, signal) :
          await postForBytes(`save/${form}`, JSON.stringify({columns, rows}), signal);
      download(`${of.name}.${form}`, data, "application/octet-stream");
      fill(said);
    } catch (error) {
      fill(said, h("span", {class: "bad", text: signal.aborted ? "stopped" : error.message}));
    }
  };
  const forms = [["csv", "CSV"], ["parquet", "Parquet"], ["arrow", "Arrow"]].map(
      ([form, name]) => button(
          name, () => void save(form), {title: of.whole ? `the whole answer as ${name}` : `the rows as ${name}`}));
  return h("div", {class: "tools"}, h("i", {text: "save"}), ...forms, said);
}

/** @param {string} text @param {() => void} run */
export function link(text, run) {
  const click = (/** @type {Event} */ event) => {
    event.preventDefault();
    run();
  };
  return h("a", {href: "#", text, on: {click}});
}
