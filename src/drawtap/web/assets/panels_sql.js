// Questions in SQL: completion from the tables of the recording, a chart, CSV, and stopping what takes too long.
import {button, fill, h, loadPlots} from "./dom.js";
import {ask, get} from "./net.js";
import {bad, editing, failure, options, quiet, select, title} from "./parts.js";
import {chart as plot} from "./plots.js";
import {table} from "./table.js";
import {count, css} from "./units.js";

const EXAMPLES = [
  "SELECT name, count(*) AS calls, sum(duration) / 1e6 AS ms FROM calls GROUP BY name ORDER BY ms DESC",
  "SELECT frame, duration / 1e6 AS ms, draws FROM frames",
  "SELECT seq, frame, \"call\", duration FROM calls ORDER BY duration DESC LIMIT 50",
  "SELECT program, count(*) AS draws, sum(primitives) AS primitives FROM draws GROUP BY program ORDER BY draws DESC",
  "SELECT class, count(*) AS objects, sum(bytes) AS bytes FROM resources GROUP BY class ORDER BY bytes DESC",
];
/** @type {Map<number, any>} */
const answers = new Map();
const KEPT = 50;  // questions

/** The questions of this tab about a recording, the newest first. @param {any} recording @returns {string[]} */
function asked(recording) {
  try {
    const all = JSON.parse(sessionStorage.getItem(`drawtap-asked-${recording.overview.uuid}`) ?? "[]");
    return Array.isArray(all) ? all.filter((one) => typeof one === "string") : [];
  } catch {
    return [];  // a page in a frame has no storage
  }
}

/** @param {any} recording @param {string} question */
function remember(recording, question) {
  const all = [question, ...asked(recording).filter((one) => one !== question)].slice(0, KEPT);
  try {
    sessionStorage.setItem(`drawtap-asked-${recording.overview.uuid}`, JSON.stringify(all));
  } catch {
    // no storage, or it is full: the question itself goes out all the same
  }
}

export const sqlPanel = {
  async show(ctx) {
    const {recording, place, store, element, notes} = ctx;
    if (element.querySelector("textarea") && element.dataset.sql === place.sql &&
        element.dataset.rec === String(recording.number))
      return;
    element.dataset.sql = place.sql;
    element.dataset.rec = String(recording.number);
    const text = editing({"aria-label": "question in SQL", text: place.sql || EXAMPLES[0]}, () => void run());
    const out = h("div");
    const suggest = h("div", {class: "suggest", role: "listbox", "aria-label": "completions"});
    /** @type {AbortController|undefined} */
    let running;
    const stop = button("stop", () => running?.abort(), {disabled: true});
    const run = async () => {
      running?.abort();
      running = new AbortController();
      const {signal} = running;
      stop.removeAttribute("disabled");
      fill(out, quiet("asking …"));
      element.dataset.sql = text.value;
      store.set({sql: text.value});
      remember(recording, text.value);
      offer();
      const begun = performance.now();
      try {
        const answer = await ask(recording.number, "sql", text.value, signal);
        answer.sql = text.value;
        answers.set(recording.number, answer);
        fill(
            out, quiet(`${Math.round(performance.now() - begun)} ms`), chart(answer),
            table(ctx, answer, {name: "answer", whole: {recording: recording.number, sql: answer.sql}}));
      } catch (error) {
        fill(out, ...(signal.aborted ? [bad("stopped")] : failure(error)));
      }
      stop.setAttribute("disabled", "");
    };
    const examples = select("questions", [], (question) => (text.value = question || text.value));
    const offer = () => {
      const group = (/** @type {string} */ label, /** @type {string[]} */ all) =>
          all.length > 0 && h("optgroup", {label}, ...options(all.map((query) => [query, query.slice(0, 90)])));
      fill(
          examples, ...options([["", "questions …"]]), group("asked in this tab", asked(recording)),
          group("kept", notes.data.queries), group("examples", EXAMPLES));
    };
    offer();
    text.addEventListener("keydown", (event) => {
      if (event.key === "Tab" && suggest.firstChild) {
        event.preventDefault();
        suggest.firstChild.click();
      }
    });
    text.addEventListener("input", () => void complete(ctx, text, suggest));
    fill(
        element, title("SQL", "DuckDB's dialect; it only reads"), text, suggest,
        h("div", {class: "tools"}, button("run", () => void run(), {title: "Ctrl-Enter"}), stop,
          button("keep", () => notes.add("queries", text.value, ctx)),
          button(
              "as a track", () => void ctx.timeline.add(text.value).catch(ctx.fail),
              {title: "a row of the timeline: columns t_start or t, and duration or t_end or value, and name, seq"}),
          examples),
        out);
    if (place.sql) await run();
  },
};

/** @param {any} ctx @param {HTMLTextAreaElement} text @param {HTMLElement} suggest */
async function complete(ctx, text, suggest) {
  ctx.recording.schema ??= get(`${ctx.recording.number}/schema`);
  const {tables} = await ctx.recording.schema;
  const head = text.value.slice(0, text.selectionStart);
  const word = head.match(/[A-Za-z_]\w*$/)?.[0] ?? "";
  if (word.length < 2) return fill(suggest);
  const used = Object.keys(tables).filter((name) => new RegExp(`\\b${name}\\b`).test(text.value));
  const columns = used.flatMap((name) => tables[name]);
  const found = [...new Set([...columns, ...Object.keys(tables)])]
                    .filter((name) => name.toLowerCase().startsWith(word.toLowerCase()) && name !== word)
                    .slice(0, 8);
  fill(suggest, ...found.map((name) => button(name, () => {
                               const quoted = /^[a-z_]+$/.test(name) ? name : `"${name}"`;
                               text.setRangeText(quoted, text.selectionStart - word.length, text.selectionStart, "end");
                               text.focus();
                               fill(suggest);
                             }, {role: "option"})));
}

const BARS = 20;

/**
 * A bar for each name, by the numbers that the answer is sorted by. @param {any} answer @param {number[]} numeric
 * columns of numbers
 */
function bars({columns, rows}, numeric) {
  const falls = (/** @type {number} */ i) => rows.every((r, k) => !k || r[i] <= rows[k - 1][i]);
  const by = numeric.find(falls) ?? numeric[0];
  const most = Math.max(...rows.map((r) => r[by]), 1e-300);
  const shown = rows.slice(0, BARS);
  return h(
      "details", {open: true}, h("summary", {text: `chart of ${columns[by]}`}),
      h("div", {class: "bars-of"},
        ...shown.flatMap(
            (r) =>
                [h("span", {class: "mono", text: String(r[0]), title: String(r[0])}),
                 h("span", {}, h("span", {class: "bar", style: {width: `${(100 * Math.max(r[by], 0)) / most}%`}})),
                 h("span", {class: "n", text: r[by] === null ? "–" : String(Number(r[by].toPrecision(4)))})])),
      rows.length > BARS && quiet(`the first ${BARS} of ${rows.length} rows`));
}

/** Numbers over the first column of numbers; of names with numbers a bar for each. @param {any} answer */
function chart(answer) {
  const numeric = answer.columns.map((_, i) => i)
                      .filter((i) => answer.rows.every((r) => r[i] === null || typeof r[i] === "number"));
  const names = answer.rows.map((r) => r[0]);
  if (numeric.length && names.length > 1 && names.every((one) => typeof one === "string") &&
      new Set(names).size === names.length)
    return bars(answer, numeric);
  if (numeric.length < 2 || answer.rows.length < 3) return null;
  const box = h("div");
  const [x, ...ys] = numeric.slice(0, 4);
  const rows = [...answer.rows].sort((a, b) => a[x] - b[x]);
  const short = (/** @type {number} */ v) => (Math.abs(v) < 1e5 ? String(Number(v.toPrecision(6))) : count(v));
  void loadPlots().then(
      () => plot(box, {
        height: 180,
        x: {size: 44, format: short, label: answer.columns[x], labelSize: 16},
        y: {size: 92, format: short},
        first: {label: answer.columns[x]},
        series: ys.map(
            (y, i) => ({label: answer.columns[y], stroke: () => css(["--blue", "--orange", "--green"][i]), width: 1})),
        data: [x, ...ys].map((i) => rows.map((row) => row[i])),
      }));
  return h("details", {open: true}, h("summary", {text: "chart"}), box);
}
