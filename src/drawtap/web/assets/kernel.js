// Panels about a kernel trace. Each asks for the timeline's area, or else for what is in view there.
import {button, duration, fill, h, loadPlots, number} from "./dom.js";
import * as lengths from "./lengths.js";
import {get} from "./net.js";
import {bad, n, quiet, select, sheet, sieve, title} from "./parts.js";
import {chart, stepped} from "./plots.js";
import {saving, table} from "./table.js";
import {clock, css} from "./units.js";

const MARKS = {
  error: "✕",
  warning: "▲"
};

/** Stands where a recording of calls would: it has none. */
export class KernelTrace {
  /** @param {number} number @param {any} overview */
  constructor(number, overview) {
    this.number = number;
    this.overview = overview;
    this.kernel = true;
    this.calls = 0;
    this.frameCount = 0;
    this.frames = {};
  }

  async load() {}
  markBy() {}
}

/** Ask for the window of the timeline. @param {any} ctx @param {string} what */
async function windowed(ctx, what) {
  const {graph} = ctx.timeline;
  if (!ctx.timeline.listing?.length) return null;
  const {a, b} = graph.area ?? graph.view;
  const head =
      `${clock(a, (b - a) / 1000)} to ${clock(b, (b - a) / 1000)}${graph.area ? ", the area" : ", what is in view"}`;
  return {
    head,
    answer: await get(`${ctx.recording.number}/${what}?t0=${Math.floor(a)}&t1=${Math.ceil(b)}`, ctx.signal),
    length: b - a
  };
}

const wait = (ctx) => fill(ctx.element, quiet("the tables of the trace are being made …"));

export const contentionPanel = {
  id: "contention",
  name: "Contention",
  async show(ctx) {
    const found = await windowed(ctx, "contention");
    if (!found) return wait(ctx);
    const {answer, head} = found, {graph} = ctx.timeline;
    const worst = (f) => f.worst_at_ns === null ?
        null :
        button(
            `show the worst: ${duration(f.worst_ns)}`,
            () => graph.look(f.worst_at_ns - f.worst_ns, f.worst_at_ns + 2 * f.worst_ns));
    fill(
        ctx.element,
        title("Who keeps whom waiting", head),
        ...answer.problems.map((p) => bad(`▲ ${p.kind}: ${p.where}: ${p.text}`)),
        answer.findings.length > 0 &&
            sheet(
                ["culprit", "victim", "cost", "share", "times", "rule"],
                answer.findings.map(
                    (f) =>
                        [f.culprit, f.victim, n(duration(f.cost_ns)), n(`${(100 * f.share).toFixed(0)} %`),
                         n(number(f.count)), f.rule])),
        ...answer.findings.map(
            (f, i) =>
                h("details", {open: i === 0},
                  h("summary",
                    {text: `${MARKS.warning} ${f.title}: ${f.culprit} costs ${f.victim} ${duration(f.cost_ns)}`}),
                  h("p", {text: f.what}), h("p", {text: f.why}), h("p", {}, h("b", {text: "What to do: "}), f.fix),
                  worst(f))),
        !answer.findings.length && h("p", {
          text: answer.drivers.length ? "nothing that costs 2 % of the time" :
                                        "no event of this trace is known to a driver: nothing could be looked for"
        }),
    );
  },
};

export const figuresPanel = {
  id: "figures",
  name: "Figures",
  async show(ctx) {
    const found = await windowed(ctx, "figures");
    if (!found) return wait(ctx);
    fill(
        ctx.element, title("Figures", found.head),
        ...found.answer.tables.flatMap(
            (t) =>
                [title(t.title), saving({
                   name: t.title,
                   rows: () => ({columns: t.columns, rows: t.rows.map((row) => row.map(([value]) => value))})
                 }),
                 h("div", {class: "scroll"}, figures(t))]),
        !found.answer.tables.length && h("p", {text: "this time has no figures"}));
  },
};

/** A table of figures; a head's title says what it means. @param {any} of */
function figures({columns, rows, right, meanings}) {
  const made = sheet(columns, rows.map((row) => row.map(([, text], i) => right[i] ? n(text) : text)));
  [...made.rows[0].cells].forEach((head, i) => (head.title = meanings[i] || ""));
  return made;
}

let chosen = "";

export const lengthsPanel = {
  id: "lengths",
  name: "Histograms",
  async show(ctx) {
    const [found, used] = await Promise.all([windowed(ctx, "lengths"), windowed(ctx, "usage"), loadPlots()]);
    if (!found || !used) return wait(ctx);
    const {rows} = found.answer, choices = lengths.choices(rows);
    if (!rows.length)
      return fill(
          ctx.element, title("How long requests took", found.head),
          h("p", {text: "no request of this trace has a length"}));
    const pick = select("which requests", choices, () => draw(), chosen);
    const usage = h("div");
    const parts = lengths.MEASURES.map((measure) => ({measure, box: h("div", {role: "img"}), text: h("p")}));
    fill(
        ctx.element, title("How long requests took", found.head), h("div", {class: "tools"}, pick), saving({
          name: "lengths",
          rows: () => ({
            columns: ["measure", "engine", "client", "from_ns", "requests"],
            rows: rows.flatMap(
                (row) => row.step.map((step, i) => [row.measure, row.engine, row.client, 2 ** (step / 4), row.n[i]]))
          })
        }),
        h("div", {class: "three"}, ...parts.map(({measure, box, text}) => h("div", {}, title(measure), box, text))),
        quiet("each bar is 19 % longer than the one before"),
        title("Load of each engine by each client", `% of the time, in steps of ${duration(used.answer.width)}`),
        usage);
    if (used.answer.series.length)
      usageChart(usage, used.answer);
    else
      fill(usage, h("p", {text: "no client of this time is known"}));
    const plots = parts.map(({measure, box}) => lengths.chart(box, measure));
    const draw = () => {
      chosen = pick.value;
      parts.forEach(({measure, box, text}, i) => {
        const bins = lengths.bins(rows, measure, pick.value, () => true);
        text.textContent = lengths.text(bins);
        box.setAttribute("aria-label", `${measure}: ${text.textContent}`);
        lengths.show(plots[i], bins);
      });
    };

    draw();
  },
};

/** @param {HTMLElement} host @param {{begin: number, width: number, series: [string, number[]][]}} found */
function usageChart(host, {begin, width, series}) {
  const colour = (/** @type {number} */ i) => css(`--t${i % 8}`);
  chart(host, {
    height: 170,
    legend: {live: false},
    x: {size: 26, format: (/** @type {number} */ v) => duration(v)},
    y: {size: 60, format: (/** @type {number} */ v) => `${v} %`, range: [0, 100]},
    first: {label: "time"},
    series: series.map(([label], i) => stepped(label, colour(i), {dash: i < 8 ? [] : [4, 3]})),
    data: [
      series[0][1].map((_, i) => begin + i * width), ...series.map(([, shares]) => shares.map((share) => 100 * share))
    ],
  });
}

export const eventsPanel = {
  id: "events",
  name: "Events",
  async show(ctx) {
    const found = await windowed(ctx, "events");
    if (!found) return wait(ctx);
    const {answer} = found, {graph} = ctx.timeline;

    const go = (row) => () => {
      graph.mark("a", row[0]);
      const {a, b} = graph.view;
      if (row[0] < a || row[0] > b) graph.look(row[0] - (b - a) / 2, row[0] + (b - a) / 2);
    };
    const columns = ["ns", ...answer.columns.slice(1)];
    const searched = sieve(
        "search the events", "an event, a thread, field=value", answer.rows,
        (rows) => table(ctx, {columns, rows}, {name: "events", links: {ns: go}}));
    fill(
        ctx.element, title("Events", found.head),
        answer.more &&
            quiet(`the first ${number(answer.rows.length)} of this time: look nearer for others, or ask in SQL`),
        ...searched);
  },
};
