// A table of an answer: sorted by a click, numbers of calls and frames are links, downloaded as CSV.
import { button, download, fill, h, number } from "./dom.js";

const SHOWN = 200;

/**
 * @param {{columns: string[], rows: any[][], more?: boolean}} answer
 * @param {{go: (seq: number) => void, goFrame: (frame: number) => void, name: string,
 *   links?: Record<string, (row: any[]) => (() => void)|null>}} on what a cell of a column leads to
 */
export function table(answer, on) {
  let rows = answer.rows;
  let shown = SHOWN;
  const body = h("tbody");
  const note = h("p");
  const numeric = answer.columns.map((_, i) => rows.some((r) => typeof r[i] === "number") && rows.every((r) => r[i] === null || typeof r[i] === "number"));
  const heads = answer.columns.map((column, i) =>
    h("th", { class: numeric[i] ? "n" : "" }, button(column, () => sort(i), { title: "sort" })),
  );
  let by = -1, down = false;

  /** @param {number} i */
  function sort(i) {
    down = by === i ? !down : numeric[i];
    by = i;
    rows = [...answer.rows].sort((a, b) => (a[i] === b[i] ? 0 : a[i] === null ? 1 : b[i] === null ? -1 : a[i] < b[i] ? -1 : 1) * (down ? -1 : 1));
    heads.forEach((head, k) => {
      if (k === i) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    draw();
  }

  /** @param {any} value @param {number} i @param {any[]} row */
  function cell(value, i, row) {
    const column = answer.columns[i];
    const leads = on.links?.[column]?.(row);
    if (leads) return h("td", { class: "n" }, link(String(value), leads));
    if (value === null) return h("td", {}, h("i", { text: "–" }));
    if (typeof value === "number" && /(^|_)seq$/.test(column)) return h("td", { class: "n" }, link(String(value), () => on.go(value)));
    if (typeof value === "number" && column === "frame") return h("td", { class: "n" }, link(String(value), () => on.goFrame(value)));
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return h("td", { class: numeric[i] ? "n" : "mono", text: text.length > 400 ? `${text.slice(0, 400)}…` : text, title: text.length > 60 ? text.slice(0, 2000) : null });
  }

  function draw() {
    fill(body, ...rows.slice(0, shown).map((row) => h("tr", {}, ...row.map((value, i) => cell(value, i, row)))));
    const left = rows.length - shown;
    fill(note, h("i", { text: `${number(rows.length)} rows${answer.more ? "; there are more: add LIMIT or conditions" : ""} ` }),
      left > 0 && button(`show ${number(Math.min(left, 1000))} more`, () => { shown += 1000; draw(); }));
  }

  const csv = () => {
    const quote = (/** @type {any} */ v) => (v === null ? "" : /[",\n]/.test((v = typeof v === "object" ? JSON.stringify(v) : String(v))) ? `"${v.replaceAll('"', '""')}"` : v);
    download(`${on.name}.csv`, [answer.columns, ...answer.rows].map((row) => row.map(quote).join(",")).join("\n"), "text/csv");
  };
  draw();
  return h("div", {}, h("div", { class: "tools" }, button("CSV", csv, { title: "the rows as a file" })), h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body)), note);
}

/** @param {string} text @param {() => void} run */
export function link(text, run) {
  return h("a", { href: "#", text, on: { click: (/** @type {Event} */ e) => { e.preventDefault(); run(); } } });
}
