// Make elements without a line of HTML in text: whatever a recording holds goes to the page as text only.
export {bytes, duration} from "./units.js";

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [props] text, on (listeners), style, data; anything else is an attribute
 * @param {...(Node|string|null|undefined|false)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export const h = (tag, props = {}, ...children) => dressed(document.createElement(tag), props, children);

/** @template {HTMLElement|SVGElement} E @param {E} made @param {Record<string, any>} props @param {any[]} children */
export function dressed(made, props, children) {
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "text")
      made.textContent = value;
    else if (key === "on")
      for (const [name, run] of Object.entries(value)) made.addEventListener(name, run);
    else if (key === "style")
      Object.assign(made.style, value);
    else if (key === "data")
      Object.assign(made.dataset, value);
    else
      made.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children)
    if (child !== null && child !== undefined && child !== false) made.append(child);
  return made;
}

/** Replace what is in an element. @param {Element} element @param {...(Node|string|null|false)} children */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter((c) => c !== null && c !== false && c !== undefined));
}

/** @param {string} text @param {(event: Event) => void} run @param {Record<string, any>} [props] */
export function button(text, run, props = {}) {
  return h("button", {type: "button", ...props, text, on: {click: run}});
}

/** A number with thin blanks between thousands. @param {number} value */
export function number(value) { return grouped.format(value.valueOf()).replaceAll(",", "\u202f"); }
const grouped = new Intl.NumberFormat("en-US");  // `toLocaleString` looks for the language at each number

/** A number with its noun. @param {number} value @param {string} one @param {string} [more] */
export const counted = (value, one, more = `${one}s`) => `${number(value)} ${value === 1 ? one : more}`;

/** Text with the numbers of its lines, where it has several. @param {string} text */
export function numbered(text) {
  const all = text.split("\n");
  return all.length === 1 ? text : all.map((line, i) => `${String(i + 1).padStart(4)}  ${line}`).join("\n");
}

/** Run at once, or when calls that follow each other quickly have paused. @param {number} ms @param {() => void} run */
export function soon(ms, run) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let last = -Infinity, calls = 0;
  return () => {
    const now = performance.now(), quiet = now - last > 3 * ms, call = ++calls;
    last = now;
    clearTimeout(timer);
    // Not by a timer: the browser may paint before it fires, and the question would wait for that.
    if (quiet)
      queueMicrotask(() => call === calls && run());
    else
      timer = setTimeout(run, ms);
  };
}

/** Hand text to the user as a file. @param {string} name @param {BlobPart} content @param {string} type */
export function download(name, content, type) {
  const link = h("a", {href: URL.createObjectURL(new Blob([content], {type})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.getAttribute("href") ?? ""), 10_000);
}

/** An element that the page has from the beginning. @param {string} id */
export const element = (id) => document.getElementById(id);

/** @type {Map<string, Promise<void>>} */
const scripts = new Map();

/** Load a script that the reports use too; what it defines is global then. @param {string} name */
function load(name) {
  if (!scripts.has(name)) {
    scripts.set(name, new Promise((done, failed) => {
                  document.head.append(h("script", {
                    src: `/app/${name}`,
                    on: {load: () => done(), error: () => failed(new Error(`${name} cannot be loaded`))}
                  }));
                }));
  }
  return scripts.get(name);
}

/** Load uPlot, which only charts need: `uPlot` is a global then. */
export async function loadPlots() {
  if (!document.querySelector("link[href$='uplot.min.css']"))
    document.head.append(h("link", {rel: "stylesheet", href: "/app/uplot.min.css"}));
  await load("uplot.min.js");
}
