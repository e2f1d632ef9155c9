// The timeline between the bars and the list: its rows come from the server, its selection is the page's.
import {button, duration, fill, h, number} from "./dom.js";
import {splitter} from "./furniture.js";
import {get, getBytes, post, stoppable} from "./net.js";
import {facts, n, quiet, sheet, title, wrap} from "./parts.js";
import {DURATION, START} from "./recording.js";
import {link, saving} from "./table.js";
import {read, swatch, TimeGraph} from "./timegraph.js";
import {amount, clock} from "./units.js";

const KERNEL = ["contention", "figures", "lengths", "events"];  // panels about the window
const SECOND = 1 << 20;                                         // numbers of rows of the second recording begin here
const AUTOMATIC = 500_000;  // calls: in a longer recording findings are looked for only when somebody asks

/** The questions of a user's own rows; null where the text is no list of them. @param {string} own */
function questions(own) {
  try {
    const found = JSON.parse(own || "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one === "string") : null;
  } catch {
    return null;
  }
}

export class Timeline {
  /** @param {any} page @param {HTMLElement} element */
  constructor(page, element) {
    this.page = page;
    this.element = element;
    this.bar = h("div", {class: "tools", role: "toolbar", "aria-label": "timeline"});
    this.notes = h("span", {class: "notes"});
    const box = h("div", {class: "timegraph"});
    this.size = h("div", {
      class: "size",
      role: "separator",
      "aria-orientation": "horizontal",
      tabindex: "0",
      "aria-label": "height of the timeline"
    });
    fill(element, this.bar, box, this.size);
    this.graph = new TimeGraph(box, {
      levels: async (ids, a, b, px, signal) =>
          new Map((await Promise.all(this.sidesOf(ids).map(
                       async ({number, base, own}) => [...read(await getBytes(
                                                           `${number}/tracks?ids=${own.join()}&t0=${a}&t1=${b}&px=${
                                                               px}&query=${stoppable(number, signal)}`,
                                                           signal))]
                                                          .map(([id, level]) => ([base + id, level])))))
                      .flat()),
      arrows: async (a, b, signal) =>
          (await Promise.all(this.sides.map(
               async ({number, base}) =>
                   (await get(`${number}/arrows?t0=${a}&t1=${b}`, signal))
                       .map(([from, t0, to, t1, kind,
                              what]) => [base + from, t0, base + to, t1, kind, base ? null : what]))))
              .flat(),
      beside: async (row, at, step) => {
        const [{number, own}] = this.sidesOf([row]);
        return (await get(`${number}/beside/${own[0]}?at=${at}${step < 0 ? "&back" : ""}`)).span;
      },
      select: (span) => this.selected(span),
      area: (a, b, rows) => this.area(a, b, rows),
      moved: () => this.moved(),
      fail: page.fail,
    });
    this.furniture();
  }

  get number() { return this.page.recording.number; }

  /**
   * The recordings whose rows are shown; rows of the second have numbers from `base` on. @returns {{recording: any,
   * number: number, base: number, name: string}[]}
   */
  get sides() {
    const both = [this.page.recording, ...(this.page.other ? [this.page.other] : [])];
    return both.map(
        (recording, i) =>
            ({recording, number: recording.number, base: i * SECOND, name: both.length > 1 ? "AB"[i] : ""}));
  }

  /** Rows by their recordings, with the numbers that they have there. @param {number[]} ids */
  sidesOf(ids) {
    return this.sides
        .map((side) => ({
               ...side,
               own: ids.filter((id) => Math.floor(id / SECOND) * SECOND === side.base).map((id) => id - side.base)
             }))
        .filter(({own}) => own.length);
  }

  furniture() {
    const g = this.graph, {page} = this;
    const act = (/** @type {string} */ name, /** @type {string} */ key, /** @type {string} */ title) =>
        button(name, () => {
          g.acts()[key]();
          g.box.focus();
        }, {title: `${title} (${key})`});
    this.window = h("b", {class: "window"});
    this.key = h("span", {class: "key"});
    this.looking = button(
        "findings", () => void page.looked().catch(page.fail),
        {title: "look for findings of the checklist, and mark them"});
    this.shut = button("×", () => this.toggle(false), {"aria-label": "close the timeline", title: "T"});
    fill(
        this.bar, h("b", {text: "Time"}), this.window, act("+", "w", "zoom in"), act("−", "s", "zoom out"),
        act("all", "0", "all of the time"), act("fit", "f", "show the selection as a whole"),
        act("A", "m", "marker A at the selection"), act("B", "M", "marker B at the selection"),
        act("clear", "Escape", "no area, no markers"), this.looking, this.notes, h("span", {class: "gap"}), this.key,
        this.shut);
    const high = (/** @type {number} */ px) =>
        this.element.style.setProperty("--high", `${Math.min(Math.max(px, 120), innerHeight - 260)}px`);
    splitter(
        this.size, ({clientY}) => high(clientY - this.element.getBoundingClientRect().top),
        ({key}) => ({ArrowUp: -20, ArrowDown: 20})[key], (step) => high(this.element.clientHeight + step));
  }

  /** @param {boolean} [open] */
  toggle(open = this.page.store.place.time !== "open") {
    this.page.store.set({time: open ? "open" : ""});
    if (open)
      this.graph.box.focus();
    else
      this.page.list.scroller.focus();
  }

  /** Show what the place says. @param {import("./store.js").Place} place */
  async show(place) {
    this.element.hidden = place.time !== "open" && !this.page.recording.kernel;
    this.looking.hidden = this.shut.hidden = Boolean(this.page.recording.kernel);
    if (this.element.hidden) return;
    const {recording} = this.page;
    const fresh = this.shown !== recording;
    if (fresh) {
      this.shown = recording;
      this.graph.groups = [];
      this.graph.area = null;
      this.notes.textContent = "reading the times …";
      await this.load(!recording.kernel && recording.calls <= AUTOMATIC);
      await this.own(place);
      this.restore(place);
    } else
      await this.own(place);
    await this.follow(place);
    if (fresh && (place.tab === "time" || this.page.recording.kernel)) this.page.panelAgain();
  }

  /** Ask for the rows until all are there. @param {boolean} findings */
  async load(findings) {
    const {recording} = this.page;
    for (;;) {
      const listing = await this.listed(findings);
      if (recording !== this.page.recording) return;
      this.listing = listing;
      this.graph.show(listing);
      this.tell();
      this.notes.textContent = [...(listing.more ? ["more rows are being made …"] : []), ...listing.notes].join("; ");
      this.notes.title = this.notes.textContent;
      if (!listing.more) break;
      await new Promise((done) => setTimeout(done, 700));
    }
  }

  /** The rows of all sides on one clock, which begins where each recording does. @param {boolean} [findings] */
  async listed(findings = false) {
    const {sides} = this;
    const found = await Promise.all(sides.map(({number}) => get(`${number}/timeline${findings ? "?findings" : ""}`)));
    if (sides.length === 1) return {...found[0], zeros: [found[0].zero]};
    const groups = found.flatMap(
        (one, i) => one.groups.map(
            (group) => ({
              name: `${sides[i].name}: ${group.name}`,
              tracks: group.tracks.map(
                  (row) => ({...row, id: sides[i].base + row.id, label: `${sides[i].name} ${row.label}`}))
            })));
    // Groups of one kind stand beside each other: frames of A, frames of B ...
    const kinds = [...new Set(groups.map(({name}) => name.slice(3)))];
    groups.sort((a, b) => kinds.indexOf(a.name.slice(3)) - kinds.indexOf(b.name.slice(3)));
    return {
      zero: found[0].zero,
      zeros: found.map(({zero}) => zero),
      length: Math.max(...found.map(({length}) => length)),
      groups,
      notes: [...new Set(found.flatMap(({notes}) => notes))],
      more: found.some(({more}) => more)
    };
  }

  /** Rows of the user's own, by their questions. @param {import("./store.js").Place} place */
  async own(place) {
    if (place.own === (this.ownShown ?? "")) return;
    this.ownShown = place.own;
    const queries = questions(place.own);
    if (!queries) this.page.say("the rows in the address cannot be read");
    for (const sql of queries ?? []) {
      try {
        await post(`${this.number}/track`, sql);
      } catch (error) {
        this.page.fail(error);
      }
    }
    this.listing = await this.listed();
    this.graph.show(this.listing);
  }

  /** Add a row for a question. @param {string} sql */
  async add(sql) {
    await post(`${this.number}/track`, sql);
    const queries = questions(this.page.store.place.own) ?? [];
    this.page.store.set({time: "open", own: JSON.stringify([...new Set([...queries, sql])])});
  }

  /** @param {import("./store.js").Place} place */
  restore(place) {
    const two = (/** @type {string} */ text) => {
      const m = /^(\d+),(\d+)$/.exec(text);
      return m && Number(m[2]) > Number(m[1]) ? [Number(m[1]), Number(m[2])] : null;
    };
    const view = two(place.view), area = two(place.area), marks = /^(\d*),(\d*)$/.exec(place.ab);
    if (marks) this.graph.markers = {a: marks[1] ? Number(marks[1]) : null, b: marks[2] ? Number(marks[2]) : null};
    if (area) this.graph.area = {a: area[0], b: area[1], rows: new Set((this.graph.rows ?? []).map((row) => row.id))};
    if (view) this.graph.look(view[0], view[1]);
    this.graph.draw();
  }

  /** Say which time is in view. */
  tell() {
    const {a, b} = this.graph.view, {markers} = this.graph;
    const parts = [`${clock(a, (b - a) / 100)} – ${clock(b, (b - a) / 100)}`, duration(b - a)];
    if (markers.a !== null && markers.b !== null) parts.push(`A to B: ${duration(Math.abs(markers.b - markers.a))}`);
    this.window.textContent = parts.join("; ");
    fill(this.key, ...this.graph.legend().slice(0, 8).flatMap(([kind, colour]) => [swatch("swatch", colour), kind]));
  }

  moved() {
    this.tell();
    const {a, b} = this.graph.view, {markers} = this.graph;
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      const whole = a <= 0 && b >= this.graph.length, none = markers.a === null && markers.b === null;
      this.again();
      this.page.store.set(
          {
            view: whole ? "" : `${a},${b}`,
            ab: none ? "" : `${markers.a ?? ""},${markers.b ?? ""}`,
            ...(this.graph.area ? {} : {area: ""})
          },
          {replace: true});
    }, 300);
  }

  /** Panels that show what is in view follow it, unless there is an area. */
  again() {
    if (!this.graph.area && ["time", ...KERNEL].includes(this.page.panelShown)) this.page.panelAgain();
  }

  /** The page's call becomes the timeline's. @param {import("./store.js").Place} place */
  async follow(place) {
    const {recording, other} = this.page;
    if (place.call === null || !recording.fetch || !this.listing?.length) return;
    const [{zeros}, calls] = [this.listing, [place.call, place.callb]];
    const [row, second] = await Promise.all([recording, other].map(async (one, i) => {
      if (!one || calls[i] === null) return null;
      await one.fetch([calls[i]], new AbortController().signal);
      return one.seen.get(calls[i]);
    }));
    if (!row || row[START] === null || place.call !== this.page.store.place.call) return;
    const begin = row[START] - zeros[0];
    const before = this.graph.call;
    this.graph.call = {seq: place.call, begin, length: row[DURATION] ?? 0};
    this.graph.second = second && second[START] !== null ? second[START] - zeros[1] : null;
    const {a, b} = this.graph.view;
    if (before && before.seq !== place.call && (begin < a || begin > b))
      this.graph.look(begin - (b - a) / 2, begin + (b - a) / 2);
    this.graph.draw();
  }

  /** @param {import("./timegraph.js").Span|null} span */
  selected(span) {
    const {pair, other, recording} = this.page, isB = span !== null && span.row.id >= SECOND;
    const goTo = (/** @type {number} */ seq) => void this.page.goPair(isB ? "b" : "a", seq).catch(this.page.fail);
    if (span?.row.leads === "call")
      pair ? goTo(span.id) : this.page.go(span.id);
    else if (span?.row.leads === "frame")
      pair ? goTo((isB ? other : recording).frames.end[span.id] - 1) : this.page.goFrame(span.id);
    else if (span)
      void this.way(span);
    if (this.page.store.place.tab === "time") this.page.panelAgain();
  }

  /** The steps of the request that a span of the kernel is of. @param {import("./timegraph.js").Span} span */
  async way(span) {
    try {
      const [{number, base}] = this.sidesOf([span.row.id]);
      const way = (await get(`${number}/way/${span.id}`)).map(([row, ...rest]) => [base + row, ...rest]);
      if (this.graph.span !== span) return;
      this.graph.way = way;
      this.graph.draw();
      if (way.length) this.page.store.set({tab: "time"});
      if (this.page.panelShown === "time") this.page.panelAgain();
    } catch (error) {
      this.page.fail(error);
    }
  }

  /** @param {number} a @param {number} b @param {any[]} rows */
  area(a, b, rows) {
    this.areaRows = rows;
    this.page.store.set({area: `${a},${b}`, ...(KERNEL.includes(this.page.panelShown) ? {} : {tab: "time"})});
    this.page.panelAgain();
  }
}

/** The timeline as tables: for people who do not see it, and for exact numbers. */
export const timePanel = {
  id: "time",
  name: "Time",
  key: "z",
  async show(ctx) {
    const {element, recording, timeline} = ctx, {graph} = timeline;
    if (timeline.element.hidden)
      return fill(element, h("p", {}, "The timeline is closed. ", button("open it", () => timeline.toggle(true))));
    const area = graph.area ?? graph.view;
    const rows = (graph.area ? graph.rowsOf(graph.area.rows) : graph.rows ?? []).slice(0, 64);
    if (!rows.length) return fill(element, quiet("there are no rows"));
    const [a, b] = [Math.floor(area.a), Math.ceil(area.b)];
    const answers =
        await Promise.all(timeline.sidesOf(rows.map((row) => row.id)).map(async ({number, base, own, name}) => {
          const {columns, rows: found} = await get(`${number}/area?ids=${own.join()}&t0=${a}&t1=${b}`, ctx.signal);
          return {
            columns,
            rows: found.map(([id, label, ...rest]) => [base + id, name ? `${name} ${label}` : label, ...rest])
          };
        }));
    const answer = {columns: answers[0].columns, rows: answers.flatMap((one) => one.rows)};
    const {markers, span} = graph;
    fill(
        element,
        title(
            graph.area ? "Sums of the area" : "Sums of what is in view",
            `${clock(a, (b - a) / 1000)} to ${clock(b, (b - a) / 1000)}, ${duration(b - a)}`),
        h("div", {class: "tools"}, graph.area && button("look at it", () => graph.look(a, b)),
          !recording.kernel && !ctx.pair &&
              button(
                  "calls in it", () => ctx.store.set({
                    filter: `sql: t_start >= ${a + timeline.listing.zero} AND t_start < ${b + timeline.listing.zero}`,
                    mode: "hide"
                  }),
                  {title: "filter the list"})),
        markers.a !== null && h("p", {
          text: `Marker A at ${clock(markers.a, 1000)}${
              markers.b === null ?
                  "" :
                  `, B at ${clock(markers.b, 1000)}, between them ${duration(Math.abs(markers.b - markers.a))}`}.`
        }),
        span && spanFacts(ctx, graph, span),
        span && graph.way.length > 0 && wayOf(graph),
        answer.rows.length > 0 && saving({name: "sums", rows: () => answer}),
        sums(answer, b - a, ctx, graph),
    );
  },
};

/** @param {any} ctx @param {TimeGraph} graph @param {import("./timegraph.js").Span} span */
function spanFacts(ctx, graph, span) {
  const {row} = span, rows = [
    ["row", row.label], ["kind", row.parts[span.part]], ["from", clock(span.begin, 1)],
    ["length", duration(span.length)], ["call", row.leads === "call" && link(String(span.id), () => ctx.go(span.id))]
  ];
  return h(
      "div", {}, title(span.name || "Selection"), facts(rows, ""),
      h("div", {class: "tools"}, button("as an area", () => graph.acts().r(), {title: "r"}),
        row.sql &&
            button("SQL", () => ctx.store.set({tab: "sql", sql: row.sql}), {title: "the rows behind this row"})));
}

/** @param {TimeGraph} graph */
function wayOf(graph) {
  const steps = graph.steps(), first = steps[0].begin;
  const rows = steps.map(
      (s) =>
          [s.row, s.what, n(link(duration(s.begin - first), () => graph.fit(s.begin, s.length))),
           n(duration(s.length))]);
  return h("div", {}, title("Way of the request"), sheet(["row", "what", "after", "length"], rows));
}

/** @param {any} answer @param {number} length @param {any} ctx @param {TimeGraph} graph */
function sums(answer, length, ctx, graph) {
  const percent = (/** @type {number} */ busy) => `${((100 * busy) / length).toPrecision(3)} %`;
  const go = (r) => {
    const row = graph.row(r[0]);
    return row?.leads === "call" && row.id < SECOND ? link(duration(r[5]), () => ctx.go(r[6])) : duration(r[5]);
  };
  const spans = answer.rows.filter((r) => r[4] !== null)
                    .map(
                        (r) =>
                            [wrap(r[1]), h("td", {class: "mono wrap", text: r[2]}), n(number(r[3])), n(duration(r[4])),
                             n(percent(r[4])), n(go(r))]);
  const values =
      answer.rows.filter((r) => r[4] === null)
          .map(
              (r) =>
                  [wrap(r[1]), n(number(r[3])), ...r.slice(7).map((v) => n(amount(v, graph.row(r[0])?.unit ?? "")))]);
  return h(
      "div", {class: "scroll sums"},
      spans.length > 0 && sheet(["row", "what", "times", "busy", "share", "longest"], spans),
      values.length > 0 && sheet(["row", "values", "least", "mean", "largest"], values),
      !answer.rows.length && quiet("nothing is in this time"));
}
