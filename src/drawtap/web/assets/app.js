// The page: one place (store.js), and what each part shows of it.
import {allCommands, keyOf} from "./commands.js";
import {button, counted, duration, element, fill, h, number, soon} from "./dom.js";
import {follow} from "./driven.js";
import {Filter} from "./filter.js";
import {chooseTab, fail, makeTabs, say, splitter} from "./furniture.js";
import {headed} from "./image.js";
import {Keys} from "./keys.js";
import {Marks} from "./marks.js";
import {FlatModel, SetModel, TreeModel} from "./models.js";
import {getBytes, insist, ServerError, takeToken} from "./net.js";
import {Notes} from "./notes.js";
import {callPanel} from "./panels_call.js";
import {findingsPanel, notesPanel, objectsPanel} from "./panels_more.js";
import {failure, options, quiet, select, toggle} from "./parts.js";
import {Recording} from "./recording.js";
import {CallList, COLUMNS} from "./rows.js";
import {AllSeries} from "./series.js";
import {format, parse, Store} from "./store.js";
import {Strip} from "./strip.js";
import {link} from "./table.js";
import {Timeline, timePanel} from "./time.js";

/**
 * A panel whose module is loaded when it is first shown: the first rows do not wait for it. @param {string}
 * id @param {string} name @param {string|undefined} key @param {() => Promise<any>} load @param {boolean} needsCall
 */
function late(id, name, key, load, needsCall = true) {
  let panels;
  // A browser finds a module again in a task of its own: steps through the list do not wait for that.
  return {
    id,
    name,
    key,
    needsCall,
    has: (recording, place) => panels?.[`${id}Panel`].has?.(recording, place),
    show: async (ctx) => (panels ??= await load())[`${id}Panel`].show(ctx)
  };
}
const pictures = () => import("./panels_picture.js");
const sqlPanel = late("sql", "SQL", undefined, () => import("./panels_sql.js"), false);
const PANELS = [
  callPanel, late("state", "State", undefined, () => import("./panels_state.js")),
  late("picture", "Picture", undefined, pictures),
  late("shader", "Shader", undefined, () => import("./panels_shader.js")), objectsPanel,
  late("texture", "Texture", undefined, pictures), findingsPanel, sqlPanel, notesPanel, timePanel,
  late("mesh", "Mesh", "m", () => import("./mesh.js")),
  late("buffer", "Buffer", "B", () => import("./panels_buffer.js")),
  late("passes", "Passes", "P", () => import("./passes.js")),
  late("whatif", "What if", "x", () => import("./whatif.js"))
];

const AUTOMATIC = 500_000;  // calls: in a longer recording findings are looked for only when somebody asks

/**
 * A filter with another range of frames or calls. @param {string} filter @param {string} of @param {number}
 * from @param {number} to
 */
function ranged(filter, of, from, to) {
  const rest = filter.replace(/(^|\s)(frame|seq)=\d+(\.\.\d+)?(?=\s|$)/g, " ").trim();
  return `${of}=${from}..${to} ${rest}`.trim();
}

const amount = ({calls, frames}) => `${number(calls)} calls, ${number(frames)} frames`;

const named = (overview) =>
    (overview.engine && overview.engine !== "system" ? `${overview.name} on ${overview.engine}` : overview.name);

class Page {
  /** @param {any} session @param {any} first what of a recording came with the session: its frames, its notes */
  constructor(session, first) {
    Object.assign(this, {session, first, say, fail});
    this.store = new Store();
    this.list = new CallList(element("list"), {select: (seq, row) => this.selected(seq, row), fail});
    this.filter = new Filter(this);
    this.marks = new Marks(this, h("canvas", {id: "marks", hidden: true, title: "findings and problems"}));
    this.list.marks = this.marks;
    element("list").append(this.marks.canvas);
    this.strip = new Strip(element("strip"), {
      frame: (frame) => this.goFrame(frame),
      call: (seq) => this.go(seq),
      series: (bars) => this.store.set({bars: bars === "frame:duration" ? "" : bars}),
      range: (of, from, to) => this.store.set({filter: ranged(this.store.place.filter, of, from, to)}),
    });
    this.timeline = new Timeline(this, element("time"));
    this.keys = new Keys(this.commands(), fail, {
      all: () => this.allCommands(),
      read: () => this.notes?.data.keys,
      write: (keys) => {
        this.notes.data.keys = keys;
        return this.notes.save(this.context(element("panel"), new AbortController()));
      },
    });
    const renew = () => {
      if (format(this.store.place) !== this.panelOf) void this.panel();
    };
    const later = soon(60, renew);
    // Quick steps show the page's own data; questions to the server wait until the steps pause.
    this.panelSoon = () => (this.panelHas() ? renew() : later());
    this.furniture();
  }

  async begin() {
    this.store.subscribe((place, before) => void this.moved(place, before));
    await this.open(this.store.place.rec);
    const {place} = this.store;
    if (this.recording.kernel) {
      await Promise.all([this.timeline.show(place), this.panel()]);
      this.timeline.graph.box.focus();
      return;
    }
    if (!this.pair || place.filter) await this.filter.apply(place);
    if (this.pair)
      await this.beginPair();
    else if (place.call !== null)
      await this.list.reveal(place.call);
    else if (this.recording.frameCount)
      this.list.choose(0);
    this.list.scroller.focus();
    this.status();
    await Promise.all([this.panel(), this.timeline.show(this.store.place)]);
  }

  /**
   * Open a recording, or two; tell whether nobody has asked for others meanwhile. Nothing changes before all is
   * there. @param {number} which
   */
  async open(which) {
    const ticket = this.opening = (this.opening ?? 0) + 1;
    const overview = this.session.recordings[which] ?? this.session.recordings[0];
    const index = this.session.recordings.indexOf(overview);
    const kernel = overview.kind === "kernel";
    const traces = kernel ? await import("./kernel.js") : null;
    const recording = traces ? new traces.KernelTrace(index, overview) : new Recording(index, overview);
    const second = this.session.recordings[this.store.place.with ?? -1];
    const other = second && !kernel && second !== overview && second.kind !== "kernel" ?
        new Recording(this.session.recordings.indexOf(second), second) :
        null;
    const notes = new Notes(index);
    const panels = traces ?
        [
          traces.contentionPanel, traces.figuresPanel, traces.lengthsPanel, traces.eventsPanel, sqlPanel, notesPanel,
          timePanel
        ] :
        other ? (await import("./pair_panels.js")).PAIR_PANELS :
                PANELS;
    const first = this.first?.of === index ? this.first : null;
    this.first = null;  // what is opened again later may have other notes
    await Promise.all([recording.load(first?.frames), other?.load(), notes.load(first?.notes).catch(fail)]);
    const pair = other && (await this.align(recording, other));
    if (ticket !== this.opening) return false;
    // The number of a set, and what was seen, are of the recording before.
    Object.assign(this, {recording, other, notes, panels, pair, set: undefined});
    document.body.classList.toggle("kernel", kernel);
    document.body.classList.toggle("pair", Boolean(pair));
    this.tabs();
    document.title = `${overview.name}${this.other ? ` and ${this.other.overview.name}` : ""} – drawtap`;
    if (this.other)
      this.pairHead(overview, this.other.overview);
    else
      this.head(overview, index);
    if (kernel) return true;
    this.series = new AllSeries(index);
    this.list.series = [];
    this.marks.clear();
    this.strip.show(this.recording);
    if (this.begun) this.later();
    this.tree = new TreeModel(this.recording);
    if (pair) this.pairFurniture();
    this.model();
    return true;
  }

  /** Name the recording, and offer the others. @param {any} overview @param {number} index */
  head(overview, index) {
    const {recordings} = this.session, {about, problems: {length: losses}} = overview;
    const choose = recordings.length > 1 ?
        select(
            "recording", recordings.map((one, i) => [i, named(one)]),
            (rec) => this.store.set({rec: Number(rec), call: null, filter: "", pin: null}), index) :
        h("b", {text: overview.name});
    const words = overview.kind === "kernel" ?
        [about.format, about.hostname !== "(none)" && about.hostname, about.kernel_release, `clock ${about.clock}`]
            .filter(Boolean)
            .join(" · ") :
        amount(overview);
    const problems =
        link(`▲ ${counted(losses, "problem")}`, () => this.store.set({tab: "sql", sql: "SELECT * FROM problems"}));
    problems.className = "bad";
    fill(element("what"), this.back(), choose, this.partners(index), ` ${words} `, losses > 0 && problems);
  }

  /** Follow the list's selection with the cursors. @param {number} seq @param {any} row */
  selected(seq, row) {
    const {hold} = this.store.place;
    if (!this.pair)
      this.store.set({call: seq});
    else
      this.store.set(hold === "a" ? {callb: row.b} : hold === "b" ? {call: row.a} : {call: row.a, callb: row.b});
  }

  // ---- two recordings ---------------------------------------------------------------------------------------------

  /** A choice of what to compare with. @param {number} index */
  partners(index) {
    const others =
        this.session.recordings.map((one, i) => ({one, i})).filter(({one, i}) => i !== index && one.kind !== "kernel");
    if (!others.length || this.session.recordings[index].kind === "kernel") return null;
    return select(
        "compare with", [["", "compare with …"], ...others.map(({one, i}) => [i, named(one)])],
        (other) => this.store.set({with: Number(other), callb: null, filter: "", pin: null, tab: "call"}));
  }

  pairHead(a, b) {
    const one = (/** @type {string} */ side, overview, recording) =>
        h("span", {class: "side"}, h("em", {class: "kind", text: side}), h("b", {text: named(overview)}),
          ` ${amount(overview)}`,
          overview.problems.length > 0 &&
              h("span",
                {class: "bad", text: ` ▲ ${overview.problems.length}`, title: "problems of the file: open it alone"}),
          button(
              "alone", () => this.store.set({
                rec: recording.number,
                with: null,
                callb: null,
                hold: "",
                call: this.store.place[side === "A" ? "call" : "callb"]
              }),
              {title: `only ${overview.name}`}));
    fill(element("what"), this.back(), one("A", a, this.recording), one("B", b, this.other));
  }

  /** @param {Recording} a @param {Recording} b */
  async align(a, b) {
    const {PairModel} = await import("./pair.js");
    const model = new PairModel(a, b);
    this.say("the calls of both are aligned …");
    await model.align(new AbortController().signal);
    this.say("");
    return model;
  }

  pairFurniture() {
    const model = this.pair;
    model.show(this.store.place.mode === "hide");
    this.strip.density = model.density(1024);
    this.strip.draw();
    const {counts} = model;
    const parts =
        [["~", counts.changed, "changed"], ["−", counts.only_a, "only in A"], ["+", counts.only_b, "only in B"]]
            .filter(([, n]) => n)
            .map(([sign, n, what]) => `${sign} ${number(n)} ${what}`);
    element("counts").textContent = parts.length ? `${parts.join("   ")}   = ${number(counts.equal)} equal` :
                                                   `all ${number(counts.equal)} calls are equal`;
  }

  /** The cursors that the address names, or the first difference. */
  async beginPair() {
    const {place} = this.store, pair = this.pair;
    pair.hold = place.hold;
    if (place.call === null && place.callb === null) {
      this.list.choose(0);
      await this.differing(1);
      return;
    }
    if (place.call === null || place.callb === null) await this.partner(place);
    Object.assign(pair.cursors, {a: this.store.place.call, b: this.store.place.callb});
    await this.list.reveal(this.store.place.call ?? 0);
  }

  /** The call that belongs to the cursor that is there. @param {import("./store.js").Place} place */
  async partner(place) {
    const pair = this.pair, side = place.call === null ? "b" : "a";
    Object.assign(pair, {hold: side === "a" ? "b" : "a", cursors: {a: place.call, b: place.callb}});
    const row = (pair.length ? pair.at(await pair.reveal()) : {a: 0, b: 0});
    pair.hold = place.hold;
    this.store.set({call: place.call ?? row.a, callb: place.callb ?? row.b}, {replace: true});
  }

  /** @param {1|-1} step */
  async differing(step) {
    await this.filter.pairing?.catch(() => {});  // else the row that has the focus is one of the list before
    const row = await this.pair.beside(step, this.list.focus);
    if (!row) return this.say(step > 0 ? "no difference behind this" : "no difference before this");
    this.selected(row.seq, row);
    Object.assign(this.pair.cursors, {a: this.store.place.call, b: this.store.place.callb});
    await this.list.reveal(row.seq);
  }

  hold() {
    const {hold} = this.store.place;
    this.store.set({hold: hold === "" ? "a" : hold === "a" ? "b" : ""});
  }

  /** The first rows are there: now what may come after them. */
  later() {
    this.begun = true;
    if (this.recording.kernel) return;
    this.strip.later();
    void this.late().catch(fail);
  }

  /** Series for bars and columns, marks of findings. */
  async late() {
    const {recording} = this;
    this.counting =
        recording.countLists().then((has) => void (has && recording === this.recording && this.list.draw()));
    this.counting.catch(fail);
    await this.series.load();
    if (recording !== this.recording) return;
    this.list.columns = new Set((this.notes.data.columns ?? ["seq", "duration"]).filter((key) => key in COLUMNS));
    await this.bars();
    await this.chosenSeries(this.notes.data.columns ?? []);
    await this.marks.load(recording.calls <= AUTOMATIC);
  }

  /** The bars that the address names. */
  async bars() {
    const {bars} = this.store.place;
    this.strip.offer(this.series.list, bars);
    this.strip.of(bars ? await this.series.get(bars) : null);
  }

  /** Columns of the list from series. @param {string[]} keys */
  async chosenSeries(keys) {
    const known = keys.filter((key) => this.series.list.some((one) => one.key === key));
    this.list.series = await Promise.all(known.map((key) => this.series.get(key)));
    this.toolbar();
    this.list.draw();
  }

  /** Show or hide a column, and keep the choice beside the recording. @param {string} key */
  column(key) {
    // One after the other: each begins with the columns that the one before left.
    this.choosing = (this.choosing ?? Promise.resolve()).then(() => this.columnNow(key)).catch(fail);
  }

  /** @param {string} key */
  async columnNow(key) {
    const {columns} = this.list;
    const series = this.list.series.map((one) => one.key);
    if (key in COLUMNS)
      columns.has(key) ? columns.delete(key) : columns.add(key);
    else
      await this.chosenSeries(series.includes(key) ? series.filter((one) => one !== key) : [...series, key]);
    this.toolbar();
    this.list.draw();
    this.notes.data.columns = [...columns, ...this.list.series.map((one) => one.key)];
    await this.notes.save(this.context(element("panel"), new AbortController()));
  }

  /** Choose what the list shows for the place. */
  model() {
    const {place} = this.store;
    const hides = this.set && place.mode === "hide";
    if (this.pair) {
      this.pair.show(place.mode === "hide");
      this.list.show(this.recording, this.pair);
      return this.toolbar();
    }
    this.filter.drawDensity();
    this.list.show(
        this.recording,
        hides                     ? new SetModel(this.recording, this.set) :
            place.list === "flat" ? new FlatModel(this.recording) :
                                    this.tree);
    this.toolbar();
    this.marks.draw();
  }

  /** Kinds of lists, and columns. */
  toolbar() {
    const {place} = this.store, hides = this.set && place.mode === "hide";
    if (this.pair) {
      const holds = (side, /** @type {string} */ name) => toggle(
          name, () => this.store.set({hold: place.hold === side ? "" : side}), place.hold === side,
          {title: `cursor ${side.toUpperCase()} stays where it is while you go through the list (H)`});
      const frames = (mode, /** @type {string} */ name) =>
          toggle(name, () => this.store.set({mode}), place.mode === mode);
      return fill(
          element("bar"), frames("hide", "differing frames"), frames("dim", "all frames"), h("span", {class: "gap"}),
          holds("a", "hold A"), holds("b", "hold B"),
          button("↑ difference", () => void this.differing(-1).catch(fail), {title: "N"}),
          button("↓ difference", () => void this.differing(1).catch(fail), {title: "n"}),
          h("div", {class: "heads", "aria-hidden": "true"},
            ...[["a", "A"], ["b", "B"]].map(
                ([side, name]) => h("span", {class: `cell seq ${side}`, text: `call of ${name}`})),
            h("span", {class: "what", text: "= equal, ~ changed, − only in A, + only in B"})));
    }
    const lists = (list, /** @type {string} */ name) =>
        toggle(name, () => this.store.set({list}), place.list === list && !hides, {disabled: hides});
    const all = this.series?.list ?? [], {series, columns} = this.list;
    const others = all.filter((one) => !series.some(({key}) => key === one.key));
    const more =
        h("select", {class: "more", "aria-label": "one column more", on: {change: (e) => this.column(e.target.value)}},
          ...options([["", "+ column"], ...others.map((one) => [one.key, one.name])]));
    fill(
        element("bar"), lists("tree", "frames"), lists("flat", "all calls"), h("span", {class: "gap"}),
        ...Object.entries(COLUMNS).map(
            ([key, name]) => toggle(name, () => this.column(key), columns.has(key), {title: `column ${name}`})),
        ...series.map(({name, key}) => toggle(name, () => this.column(key), true, {title: `no column ${name}`})),
        all.length > 0 && more);
  }

  /** @param {import("./store.js").Place} place @param {import("./store.js").Place} before */
  async moved(place, before) {
    try {
      const opens = place.rec !== before.rec || place.with !== before.with;
      if (opens && !(await this.open(place.rec))) return;
      if (opens) place = this.store.place;
      if (this.pair) return await this.movedPair(place, before, opens);
      if (this.recording.kernel) {
        this.panelSoon();
        return await this.timeline.show(this.store.place);  // which may be elsewhere by now
      }
      if (place.bars !== before.bars && !opens) await this.bars();
      if (place.filter !== before.filter || opens)
        await this.filter.apply(place);
      else if (place.mode !== before.mode || place.list !== before.list) {
        this.recording.markBy(this.set && place.mode === "dim" ? this.set.id : "");
        this.filter.showMode();
        this.model();
      }
      const shown = this.list.model?.length ? this.list.model.at(this.list.focus).seq : -1, {call} = this.store.place;
      if (call !== null && shown !== call) await this.list.reveal(call);
      this.status();
      this.panelSoon();
      await this.timeline.show(this.store.place);  // which may be elsewhere by now
    } catch (error) {
      this.fail(error);
    }
  }

  /** @param {import("./store.js").Place} place @param {import("./store.js").Place} before @param {boolean} opens */
  async movedPair(place, before, opens) {
    const pair = this.pair;
    const filters = place.filter !== before.filter || (opens && place.filter !== "");
    if (filters) await this.filter.apply(place);
    if (opens)
      await this.beginPair();
    else {
      Object.assign(pair, {hold: place.hold});
      Object.assign(pair.cursors, {a: place.call, b: place.callb});
      if (place.mode !== before.mode || place.hold !== before.hold) this.model();
      if (filters || !pair.isAt(this.list.focus)) await this.list.reveal(place.call ?? 0);
      this.list.draw();
    }
    this.status();
    this.panelSoon();
    await this.timeline.show(this.store.place);  // which may be elsewhere by now
  }

  // ---- places ---------------------------------------------------------------------------------------------------

  /** @param {number} seq */
  go(seq) {
    if (seq >= 0 && seq < this.recording.calls && this.pair) return void this.goPair("a", seq).catch(fail);
    if (seq < 0 || seq >= this.recording.calls)
      return this.say(`there is no call ${seq}: there are ${number(this.recording.calls)}`);
    this.store.set({call: seq});
  }

  /** Both cursors to a call of one side. @param {"a"|"b"} side @param {number} seq */
  async goPair(side, seq) {
    await this.partner({...this.store.place, call: side === "a" ? seq : null, callb: side === "b" ? seq : null});
  }

  /** @param {number} frame */
  goFrame(frame) {
    if (frame < 0 || frame >= this.recording.frameCount)
      return this.say(`there is no frame ${frame}: there are ${number(this.recording.frameCount)}`);
    const {place} = this.store;
    if (this.pair) return this.go(this.recording.frames.end[frame] - 1);
    if (this.list.model === this.tree)
      this.list.choose(this.tree.rowOfFrame(frame));
    else
      this.go(this.recording.frames[place.list === "flat" ? "first" : "end"][frame] - (place.list === "flat" ? 0 : 1));
  }

  /** The next draw behind the selected call, or the one before it. @param {1|-1} step */
  async draw(step) {
    await this.counting;
    const row = this.list.model === this.tree ? this.tree.at(this.list.focus) : undefined;
    // A frame is selected by its last call: the next draw is its first one.
    const inFrame = row?.type === "frame" && step > 0;
    const here = inFrame ? this.recording.frames.first[row.frame] - 1 : this.store.place.call ?? 0;
    for (let frame = this.recording.frameOf(Math.max(here, 0)), looked = 0;
         frame >= 0 && frame < this.recording.frameCount && looked < 2000; frame += step, looked++) {
      if (!this.recording.frames.draws[frame]) continue;
      const {seqs, kinds} = await this.recording.outline(frame);
      const draws = seqs.filter((seq, i) => kinds[i] === "draw" && (step > 0 ? seq > here : seq < here));
      if (draws.length) return this.go(step > 0 ? draws[0] : draws.at(-1));
    }
    this.say("no draw there");
  }

  async looked() {
    await Promise.all([this.marks.load(true), this.timeline.element.hidden ? null : this.timeline.load(true)]);
    this.say(`${number(this.marks.seqs.length)} calls have a mark`);
  }

  /** @param {1|-1} step */
  markBeside(step) {
    const found = this.marks.beside(this.store.place.call ?? -1, step);
    if (found !== undefined)
      this.go(found);
    else
      this.say(this.marks.seqs.length ? "no mark there" : "there are no marks; “look for findings” makes them");
  }

  prompt() {
    const text = prompt("call number, or #frame");
    if (!text) return;
    const match = text.trim().match(/^(#?)(\d+)$/);
    if (!match) return this.say(`${text} is neither a call nor a #frame`);
    if (match[1])
      this.goFrame(Number(match[2]));
    else
      this.go(Number(match[2]));
  }

  // ---- panels ---------------------------------------------------------------------------------------------------

  get chosenPanel() { return this.panels.find((one) => one.id === this.store.place.tab) ?? this.panels[0]; }

  /** Tell whether the panel can show its content without an answer. */
  panelHas() {
    const {place} = this.store;
    return place.call !== null && Boolean(this.chosenPanel.has?.(this.recording, place));
  }

  async panel() {
    const {place} = this.store;
    this.panelOf = format(place);
    const panel = this.chosenPanel;
    const box = element("panel");
    chooseTab(panel.id);
    if (this.panelShown !== panel.id) fill(box);
    this.panelShown = panel.id;
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    if (panel.needsCall && place.call === null) return fill(box, quiet("choose a call in the list"));
    let told = false;
    const slow = setTimeout(() => {
      if (asking.signal.aborted) return;
      told = true;
      box.setAttribute("aria-busy", "true");
      this.say(
          panel.id === "state"                                    ? "computing the state …" :
              ["picture", "texture", "buffer"].includes(panel.id) ? "playing up to the call …" :
                                                                    "asking …");
    }, 400);
    try {
      await insist(() => panel.show(this.context(box, asking)), asking.signal);
    } catch (error) {
      if (asking.signal.aborted) return;
      if (!(error instanceof ServerError)) console.error(error);  // a mistake of the page
      fill(
          box, ...failure(error),
          error.status === 501 && !error.hint &&
              h("p", {}, "The command line tells more: ", h("code", {text: "drawtap doctor"})));
    } finally {
      clearTimeout(slow);
      if (told) this.say("");
      box.removeAttribute("aria-busy");
    }
  }

  panelAgain() { void this.panel(); }

  /** @param {HTMLElement} box @param {AbortController} asking */
  context(box, asking) {
    const row = this.pair?.length ? this.pair.at(this.list.focus) : null;
    return {
      other: this.other,
      pair: this.pair,
      row,
      recording: this.recording,
      place: this.store.place,
      store: this.store,
      element: box,
      notes: this.notes,
      timeline: this.timeline,
      smallOf: (/** @type {number} */ frame) => this.strip.copyOf(frame),
      signal: asking.signal,
      abort: () => asking.abort(),
      go: (/** @type {number} */ seq) => this.go(seq),
      goFrame: (/** @type {number} */ f) => this.goFrame(f),
      say,
      fail,
      again: () => void this.panel(),
    };
  }

  status() {
    if (this.recording.kernel) return;
    const {call, pin, callb} = this.store.place;
    const frame = call === null ? null : this.recording.frameOf(call);
    this.strip.frame = frame ?? undefined;
    this.strip.call = call ?? undefined;
    this.strip.mark();
    if (this.pair) {
      const of = (/** @type {string} */ side, recording, /** @type {number|null} */ at) =>
          (at === null ? "" : `${side}: call ${number(at)}, frame ${number(recording.frameOf(at))}`);
      element("place").textContent =
          [of("A", this.recording, call), of("B", this.other, callb)].filter(Boolean).join("  ·  ");
      return;
    }
    element("place").textContent = call === null ?
        "" :
        `call ${number(call)}, frame ${number(frame ?? 0)} (${duration(this.recording.frames.duration[frame ?? 0])})${
            pin === null ? "" : `, pinned ${number(pin)}`}`;
  }

  tabs() {
    makeTabs(this.panels, (tab) => this.store.set({tab}), keyOf);
    this.keys.commands = this.commands();
  }

  // ---- furniture ------------------------------------------------------------------------------------------------

  furniture() {
    element("menu").addEventListener("click", () => this.keys.palette());
    const split = element("split");
    const main = split.parentElement;
    // On a narrow page the panel stands below the list.
    const below = () => matchMedia("(max-width: 1000px)").matches;
    const share = (/** @type {number} */ percent) =>
        main.style.setProperty(below() ? "--top" : "--left", `${Math.min(Math.max(percent, 15), 85)}%`);
    const drag = ({clientX, clientY}) => {
      const {top, width, height} = main.getBoundingClientRect();
      share(100 * (below() ? (clientY - top) / height : clientX / width));
    };
    const step = ({key}) => below() ? {ArrowUp: -2, ArrowDown: 2}[key] : {ArrowLeft: -2, ArrowRight: 2}[key];
    splitter(split, drag, step, (by) => {
      const {width, height} = element("left").getBoundingClientRect();
      share(by + 100 * (below() ? height / main.clientHeight : width / main.clientWidth));
    });
  }

  /** The link to the page that this server begins with. */
  back() {
    const {live, corpus} = this.session;
    return (live || corpus) && button(live ? "← running programs" : "← corpus", () => this.store.leave(""));
  }

  commands() {
    const all = this.allCommands();
    return this.other ? all.filter((one) => !one.alone) : all.filter((one) => !one.both);
  }

  /** @returns {any[]} */
  allCommands() { return allCommands(this, this.panels ?? PANELS); }
}

/** Questions that were stopped need no answer; the page says every other failure that nobody caught. */
function hearFailures() {
  addEventListener("unhandledrejection", (event) => {
    if (event.reason?.name === "AbortError")
      event.preventDefault();
    else
      fail(event.reason);
  });
}

async function main() {
  hearFailures();
  const stop = (/** @type {string} */ text, /** @type {string} */ hint) =>
      fill(document.body, h("div", {class: "stop"}, h("h1", {text}), h("p", {text: hint})));
  if (!takeToken())
    return stop(
        "This page has no key yet", "Open the whole address that drawtap view printed: the key stands behind the #.");
  try {
    const place = parse(location.hash.slice(1)), data = await getBytes(`start?rec=${place.rec}&page=${place.page}`);
    const {head: {session, of, notes}, at} = headed(data);
    const all = (session.live || session.corpus) && place.page !== "recording";
    const page = !all  ? new Page(session, of === undefined ? null : {of, notes, frames: {data, at}}) :
        session.corpus ? new (await import("./fleet.js")).FleetPage() :
                         new (await import("./live.js")).LivePage(session);
    Object.assign(globalThis, {drawtap: page});
    await page.begin();
    if (session.driven) void follow(page.store);
    document.body.dataset.ready = "true";
    page.later?.();
  } catch (error) {
    stop(error.message, error.hint ?? "");
  }
}

void main();
