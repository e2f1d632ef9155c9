// A timeline: rows on one clock, from levels of detail that are fetched around the view and kept. timepaint.js draws
// it. It knows neither the server nor the page: `on` asks for levels and hears what the user chooses. The viewer
// fetches them; the report of a kernel trace has them in its page.
import {fill, h} from "./dom.js";
import {HEAD, KINDS, Painter, RULER, STRIPED} from "./timepaint.js";
import {amount, clock, duration} from "./units.js";

const LEAST = 20;  // the shortest view in ns
// Kinds in words: what a span does, and what a step of a request's way is.
const WORDS = {
  queued: "waits in a queue",
  "vgpu queue": "waits in a queue",
  "guest queue": "waits in a queue",
  "guest request": "asked for in a guest, not joined",
  blocked: "waits for other work",
  "fence wait": "waits for other work",
  ring: "handed over, not begun",
  current: "has the GPU",
  running: "thread runs",
  guest: "in its guest",
  waking: "woken, not yet running",
};
const STEPS = {
  execution: "on the engine",
  queued: "waits in the queue",
  "vgpu queue": "waits in the hypervisor",
  blocked: "waits for a dependency",
  ring: "handed over, not begun",
  notify: "done, not yet told",
  "guest queue": "waits in the guest",
  "guest notice": "done, the guest does not know",
};

/**
 * @typedef {{id: number, label: string, shape: string, parts: string[], names?: (string|null)[], leads: string, unit:
 * string, sql: string}} Row Where `names` are, they tell whose the sums of a part are. Rows of the shape "cpu" have
 * colours by owner.
 * @typedef {{row: Row, part: number, id: number, begin: number, length: number, name: string}} Span
 */

/**
 * The length of a step, as a power of two of ns: the same rule as the server's. @param {number} span @param {number}
 * most
 */
function shiftOf(span, most) {
  const steps = Math.floor(Math.max(span, 1) / Math.max(most - 1, 1));
  return steps ? Math.floor(Math.log2(steps)) + 1 : 0;
}

/** Read an answer of the server. @param {ArrayBuffer} answer */
export function read(answer) {
  const size = new DataView(answer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(answer, 4, size)));
  const base = 4 + size, n = head.steps;
  const doubles = (/** @type {number} */ at, /** @type {number} */ count) => new Float64Array(answer, base + at, count);
  const whole = (/** @type {number} */ at, /** @type {number} */ count) => new Uint32Array(answer, base + at, count);
  const rows = new Map();
  for (const {id, parts} of head.tracks) {
    const read = parts.map((p) => {
      if (p.as === "spans")
        return { part: p.part, as: "spans", begin: doubles(p.at, p.n), length: doubles(p.length, p.n),
          id: whole(p.id, p.n), name: whole(p.name, p.n), names: p.names };
      if (p.as === "values") return {part: p.part, as: "values", low: doubles(p.at, n), high: doubles(p.high, n)};
      if (p.as === "shares") return {part: p.part, as: "sums", busy: new Float32Array(answer, base + p.at, n)};
      return {part: p.part, as: "sums", busy: doubles(p.at, n), count: whole(p.count, n), longest: whole(p.longest, n)};
    });
    rows.set(id, {
      begin: head.begin,
      step: head.step,
      steps: n,
      end: head.begin + head.step * n,
      parts: read,
      single: read.every((p) => p.as === "spans"),
      ...inLanes(read)
    });
  }
  return rows;
}

/** Put spans into lanes so that spans of one lane do not overlap. @param {any[]} parts */
export function inLanes(parts) {
  const all = [];
  parts.forEach((p, k) => {
    if (p.as === "spans")
      for (let i = 0; i < p.begin.length; i++) all.push([p.begin[i], p.begin[i] + p.length[i], k, i]);
  });
  all.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  /** @type {number[]} */
  const ends = [];
  const of = parts.map((p) => (p.as === "spans" ? new Uint8Array(p.begin.length) : null));
  for (const [b, e, k, i] of all) {
    let lane = 0;
    while (lane < ends.length && ends[lane] > b && lane < 7) lane++;
    ends[lane] = Math.max(ends[lane] ?? 0, e);
    of[k][i] = lane;
  }
  return {lane: of, lanes: Math.max(ends.length, 1)};
}

/** A patch of a legend, as spans of the colour look. @param {string} cls @param {string} colour its name */
export function swatch(cls, colour) {
  const striped = STRIPED.has(colour), made = h("i", {class: `${cls}${striped ? " striped" : ""}`});
  made.style.setProperty(striped ? "--stripe" : "background", `var(${colour})`);
  return made;
}

export class TimeGraph {
  /**
   * @param {HTMLElement} element
   * @param {{levels?: (ids: number[], a: number, b: number, px: number, signal: AbortSignal) => Promise<Map<number,
   *     any>>,
   *   local?: (ids: number[], a: number, b: number, px: number) => Map<number, any>, owner?: (name: string) =>
   * string|undefined, arrows: (a: number, b: number, signal: AbortSignal) => Promise<any[]>, select: (span: Span|null)
   * => void, beside: (row: number, at: number, step: number) => Promise<any[]|null>|any[]|null, area: (a: number, b:
   * number, rows: Row[]) => void, moved: () => void, fail: (error: unknown) => void}} on `local` has levels at once, in
   * place of `levels` and `arrows`; a level may then say that it is `stale`
   * @param {number} [gutter] pixels for the names of rows
   */
  constructor(element, on, gutter = 210) {
    this.on = on;
    this.gutter = gutter;
    this.length = 1;
    this.view = {a: 0, b: 1};
    /** @type {Map<number, any>} */
    this.kept = new Map();
    /** @type {{name: string, rows: Row[], open: boolean}[]} */
    this.groups = [];
    this.places = [];
    this.arrows = [];
    this.way = [];  // steps of the chosen request: row, id, begin, end, kind, name
    /** @type {{row: number, id: number}|null} */
    this.chosen = null;
    /** @type {Span|null} */
    this.span = null;  // the chosen one
    this.drag = null;
    /** @type {{a: number|null, b: number|null}} */
    this.markers = {a: null, b: null};
    /** @type {{a: number, b: number, rows: Set<number>}|null} */
    this.area = null;
    /** @type {{seq: number, begin: number, length: number}|null} */
    this.call = null;
    this.second = null;  // where the call of a second recording begins
    this.focus = -1;     // the row that has the keyboard
    this.pointer = null;
    this.requests = 0;
    this.wakes = false;  // whether arrows of wake-ups are drawn
    this.painter = new Painter(this);
    this.ruler = h("canvas", {class: "ruler", "aria-hidden": "true"});
    this.canvas = h("canvas", {class: "graph", "aria-hidden": "true"});
    this.space = h("div", {class: "high"}, this.canvas);
    this.box =
        h("div", {
          class: "tracks",
          tabindex: "0",
          role: "application",
          "aria-roledescription": "timeline",
          "aria-label":
              "timeline: W S A D move, up and down choose a row, full stop and comma its spans, F shows one whole"
        },
          this.space);
    this.said = h("div", {class: "said", role: "status", "aria-live": "polite"});
    this.tip = h("div", {class: "tip", hidden: true});
    fill(element, this.ruler, this.box, this.said, this.tip);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.painter.forget();
      this.draw();
    });
  }

  // ---- what there is --------------------------------------------------------------------------------------------

  /** @param {{length: number, groups: {name: string, tracks: Row[]}[]}} listing */
  show(listing) {
    const folded = new Set(this.groups.filter((g) => !g.open).map((g) => g.name));
    const fresh = this.length !== listing.length || !this.groups.length;
    this.length = Math.max(listing.length, 1);
    this.groups = listing.groups.map((g) => ({name: g.name, rows: g.tracks, open: !folded.has(g.name)}));
    if (fresh) {
      this.kept.clear();
      this.view = {a: 0, b: this.length};
    }
    this.arrange();
    this.draw();
  }

  arrange() {
    this.places = [];
    let y = 0;
    for (const group of this.groups) {
      this.places.push({group, y, high: HEAD});
      y += HEAD;
      if (group.open)
        for (const row of group.rows) {
          const high = row.shape === "queue" ? 34 : row.shape === "counter" ? 34 : 22;
          this.places.push({row, y, high});
          y += high;
        }
    }
    this.space.style.height = `${y}px`;
    this.rows = this.places.filter((p) => p.row).map((p) => p.row);
  }

  /** @param {number} id @returns {Row|undefined} */
  row(id) { return this.groups.flatMap((g) => g.rows).find((row) => row.id === id); }

  // ---- where we look --------------------------------------------------------------------------------------------

  /** @param {number} a @param {number} b */
  look(a, b) {
    const span = Math.min(Math.max(b - a, LEAST), this.length);
    const from = Math.round(Math.min(Math.max(a, 0), this.length - span));
    this.view = {a: from, b: from + Math.round(span)};
    this.draw();
    this.on.moved();
  }

  /** @param {number} factor @param {number|null} [at] */
  zoom(factor, at) {
    const {a, b} = this.view, c = at ?? this.pointer ?? (a + b) / 2;
    this.look(c - (c - a) * factor, c + (b - c) * factor);
  }

  /** @param {number} share */
  pan(share) {
    const d = (this.view.b - this.view.a) * share;
    this.look(this.view.a + d, this.view.b + d);
  }

  /**
   * Bring a span into view: first into the middle, when it is there already as large as can be. @param {number}
   * begin @param {number} length
   */
  fit(begin, length) {
    const {a, b} = this.view, middle = begin + length / 2, now = b - a;
    const wanted =
        Math.min(Math.max(middle - now / 2, 0), this.length - now);  // as near to the middle as the ends allow
    const span = Math.abs(wanted - a) < now / 50 || length > now ? Math.max(length * 1.3, LEAST) : now;
    this.look(middle - span / 2, middle + span / 2);
  }

  get wide() { return Math.max(this.box.clientWidth - this.gutter, 50); }
  /** @param {number} t */
  x(t) { return this.gutter + ((t - this.view.a) / (this.view.b - this.view.a)) * this.wide; }
  /** @param {number} x */
  t(x) { return this.view.a + ((x - this.gutter) / this.wide) * (this.view.b - this.view.a); }

  // ---- levels ---------------------------------------------------------------------------------------------------

  /** The span of a view's question: three spans, the view in the middle. */
  wanted() {
    const {a, b} = this.view, span = b - a;
    const from = Math.max(Math.floor(a - span), 0), to = Math.min(Math.ceil(b + span), this.length);
    const px = Math.round((this.wide * (to - from)) / span);
    return {from, to, px, step: 2 ** shiftOf(to - from, Math.max(16, px))};
  }

  good(level) {
    const {a, b} = this.view;
    if (!level || level.begin > a || level.end < b) return false;
    const {step} = this.wanted();
    if (level.stale) return !level.stale(this.view, step);
    return level.single || level.step === step || (level.step < step && level.step * 4 > step);
  }

  missing() { return this.visible().filter((p) => p.row && !this.good(this.kept.get(p.row.id))).map((p) => p.row.id); }

  ask() {
    const {from, to, px} = this.wanted();
    const missing = this.missing().slice(0, 60);
    const key = `${missing.join()} ${from} ${to}`;
    if (!missing.length || key === this.asked) return;
    this.asked = key;
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      this.asking?.abort();
      const {signal} = (this.asking = new AbortController());
      try {
        this.requests++;
        const found = await this.on.levels(missing, from, to, px, signal);
        for (const [id, level] of found) this.kept.set(id, level);
        this.asked = "";
        this.draw();
        this.arrows = await this.on.arrows(Math.floor(this.view.a), Math.ceil(this.view.b), signal);
        this.draw();
      } catch (error) {
        this.asked = "";
        if (!signal.aborted) this.on.fail(error);
      }
    }, 30);
  }

  visible() {
    const top = this.box.scrollTop, high = this.box.clientHeight;
    return this.places.filter((p) => p.y + p.high > top && p.y < top + high);
  }

  // ---- drawing --------------------------------------------------------------------------------------------------

  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.drawNow();
    });
  }

  drawNow() {
    const width = this.box.clientWidth, height = this.box.clientHeight, top = this.box.scrollTop;
    if (!width || !height) return;
    if (this.on.local) {
      const missing = this.missing(), {from, to, px} = this.wanted();
      if (missing.length)
        for (const [id, level] of this.on.local(missing, from, to, px)) this.kept.set(id, level);
    }
    this.painter.paint(width, height, top);
    if (!this.on.local) this.ask();
  }

  // ---- hand, mouse, keys ----------------------------------------------------------------------------------------

  /**
   * The span at a place of the canvas. @param {number} x @param {number} y @returns {{row: Row|null, span: Span|null,
   * group?: any}}
   */
  under(x, y) {
    const place = this.places.find((p) => y >= p.y && y < p.y + p.high);
    if (!place?.row) return {row: null, span: null, group: place?.group};
    const level = this.kept.get(place.row.id), t = this.t(x), slack = ((this.view.b - this.view.a) / this.wide) * 4;
    if (!level || x < this.gutter) return {row: place.row, span: null};
    const lane = Math.floor((y - place.y - 2) / ((place.high - 5) / level.lanes));
    /** @type {Span|null} */
    let best = null;
    let off = slack;
    level.parts.forEach((p, k) => {
      if (p.as !== "spans") return;
      for (let i = 0; i < p.begin.length; i++) {
        if (level.lanes > 1 && level.lane[k][i] !== lane) continue;
        const away = Math.max(p.begin[i] - t, t - p.begin[i] - p.length[i], 0);
        if (away >= off) continue;
        off = away || 1e-9;
        best = {
          row: place.row,
          part: p.part,
          id: p.id[i],
          begin: p.begin[i],
          length: p.length[i],
          name: p.names[p.name[i]]
        };
      }
    });
    return {row: place.row, span: best};
  }

  listen() {
    const at = (/** @type {MouseEvent} */ e) => {
      const r = this.canvas.getBoundingClientRect();
      return {x: e.clientX - r.left, y: e.clientY - r.top + this.box.scrollTop};
    };
    this.box.addEventListener("scroll", () => this.draw());
    const wheel = (/** @type {WheelEvent} */ e) => {
      if (!(e.ctrlKey || e.metaKey || e.shiftKey)) return;
      e.preventDefault();
      if (e.shiftKey)
        this.pan((e.deltaY || e.deltaX) / 800);
      else
        this.zoom(Math.exp(e.deltaY / 350), this.t(Math.max(at(e).x, this.gutter)));
    };
    for (const place of [this.box, this.ruler]) place.addEventListener("wheel", wheel, {passive: false});
    const down = (/** @type {PointerEvent} */ e, /** @type {boolean} */ all) => {
      if (e.button) return;
      const {x, y} = at(e), found = this.under(x, y);
      if (!all && found.group) {
        found.group.open = !found.group.open;
        this.arrange();
        return this.draw();
      }
      if (!all && found.row) this.focus = found.row.id;
      if (x < this.gutter) return this.draw();
      e.target.setPointerCapture(e.pointerId);
      this.drag = {x0: x, y0: y, all, pan: e.shiftKey, view: {...this.view}, area: null};
    };
    this.canvas.addEventListener("pointerdown", (e) => down(e, false));
    this.ruler.addEventListener("pointerdown", (e) => down(e, true));
    for (const place of [this.canvas, this.ruler]) {
      place.addEventListener("pointermove", (e) => this.hover(at(e), e));
      place.addEventListener("pointerup", (e) => this.released(at(e)));
      place.addEventListener("pointerleave", () => {
        this.tip.hidden = true;
        this.pointer = null;
        this.draw();
      });
      place.addEventListener("dblclick", () => this.look(0, this.length));
    }
    this.box.addEventListener("keydown", (e) => this.key(e));
  }

  /** @param {{x: number, y: number}} p @param {PointerEvent} event */
  hover({x, y}, event) {
    const drag = this.drag;
    this.pointer = x >= this.gutter ? this.t(x) : null;
    if (drag?.pan) {
      const d = ((drag.x0 - x) / this.wide) * (drag.view.b - drag.view.a);
      this.look(drag.view.a + d, drag.view.b + d);
    } else if (drag && Math.abs(x - drag.x0) > 4) {
      const [a, b] = [
        this.t(Math.max(Math.min(x, drag.x0), this.gutter)),
        this.t(Math.min(Math.max(x, drag.x0), this.gutter + this.wide))
      ];
      const rows = this.places.filter(
          (q) => q.row && (drag.all || (q.y + q.high > Math.min(y, drag.y0) && q.y <= Math.max(y, drag.y0))));
      drag.area = {a: Math.round(a), b: Math.round(b), rows: new Set(rows.map((q) => q.row.id))};
    }
    const {row, span} = this.under(x, y);
    this.tip.hidden = !row || Boolean(drag) || x < this.gutter;
    if (!this.tip.hidden && row) {
      fill(
          this.tip,
          ...this.words(row, span).map(
              ([k, v]) => h("div", {}, k ? h("i", {text: `${k} `}) : "", k ? v : h("b", {text: v}))));
      const r = this.box.getBoundingClientRect();
      this.tip.style.left = `${Math.min(event.clientX - r.left + 14, r.width - 280)}px`;
      this.tip.style.top = `${event.clientY - r.top + RULER + 16}px`;
    }
    this.draw();
  }

  /** @param {Row} row @param {Span|null} span @returns {[string, string][]} */
  words(row, span) {
    if (span) {
      /** @type {[string, string][]} */
      const said = [
        ["", span.name || row.parts[span.part]],
        [row.parts[span.part], span.length ? duration(span.length) : "no length"], ["from", clock(span.begin, 1000)],
        ["row", row.label]
      ];
      if (row.leads === "call") said.push(["call", String(span.id)]);
      return said;
    }
    const level = this.kept.get(row.id), said = [["", row.label]];
    if (level && this.pointer !== null) {
      const i = Math.floor((this.pointer - level.begin) / level.step),
            named = (p) => row.names?.[p.part] || row.parts[p.part];
      for (const p of level.parts) {
        if (p.as === "sums" && p.busy[i])
          said.push([
            named(p),
            `${((100 * p.busy[i]) / level.step).toPrecision(3)} % of ${duration(level.step)}${
                p.count ? `, ${p.count[i]} begin` : ""}`
          ]);
        if (p.as === "values" && !Number.isNaN(p.high[i]))
          said.push([
            "",
            p.low[i] === p.high[i] ? amount(p.high[i], row.unit) :
                                     `${amount(p.low[i], row.unit)} to ${amount(p.high[i], row.unit)}`
          ]);
      }
    }
    return said;
  }

  /** @param {{x: number, y: number}} p */
  released({x, y}) {
    const drag = this.drag;
    this.drag = null;
    if (!drag || drag.pan) return;
    if (drag.area) {
      this.area = drag.area;
      this.on.area(drag.area.a, drag.area.b, this.rowsOf(drag.area.rows));
    } else {
      const {row, span} = this.under(x, y);
      const level = row && this.kept.get(row.id);
      if (row && !span && level && !level.single)
        return this.fit(this.t(x), (this.view.b - this.view.a) / 8);  // sums: nearer, until spans are there
      this.choose(span);
    }
    this.draw();
  }

  /** @param {Set<number>} ids */
  rowsOf(ids) { return this.groups.flatMap((g) => g.rows).filter((row) => ids.has(row.id)); }

  /** @param {Span|null} span */
  choose(span) {
    this.chosen = span && {row: span.row.id, id: span.id};
    this.way = [];
    this.span = span;
    if (span)
      this.say(`${span.name || span.row.parts[span.part]}, ${span.length ? duration(span.length) : "a mark"}, at ${
          clock(span.begin, 1000)}, row ${span.row.label}`);
    this.on.select(span);
    this.draw();
  }

  /** The meaning of the colours of the rows in view, as names of colours. @returns {[string, string][]} */
  legend() {
    const kinds = new Set(this.visible()
                              .filter((p) => p.row && p.row.shape !== "marks" && p.row.shape !== "cpu")
                              .flatMap((p) => p.row.parts));
    const found = new Map();
    for (const kind of kinds)
      if (KINDS[kind] && !["call", "execution", "own", "mark"].includes(kind))
        found.set(WORDS[kind] ?? kind, KINDS[kind]);
    return [...found];
  }

  /**
   * The steps of the chosen request's way, in words. @returns {{row: string, what: string, colour: string, begin:
   * number, length: number}[]}
   */
  steps() {
    return this.way.map(([id, , begin, end, kind, name]) => {
      const row = this.row(id);
      return {
        row: row?.label ?? "",
        what: STEPS[kind] ?? WORDS[kind] ?? kind,
        colour: row ? this.painter.kindColour(row, kind, name ?? "") : "--t7",
        begin,
        length: end - begin
      };
    });
  }

  /** @param {string} text */
  say(text) { this.said.textContent = text; }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.acts()[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  /** @returns {Record<string, () => void>} */
  acts() {
    const zoomIn = () => this.zoom(0.6), zoomOut = () => this.zoom(1 / 0.6);
    const centre = () => Math.round(this.span?.begin ?? this.pointer ?? (this.view.a + this.view.b) / 2);
    return {
      w: zoomIn,
      "+": zoomIn,
      s: zoomOut,
      "-": zoomOut,
      a: () => this.pan(-0.25),
      d: () => this.pan(0.25),
      ArrowLeft: () => this.pan(-0.1),
      ArrowRight: () => this.pan(0.1),
      0: () => this.look(0, this.length),
      Home: () => this.look(0, this.length),
      ArrowDown: () => this.step(1),
      ArrowUp: () => this.step(-1),
      ".": () => void this.beside(1),
      ",": () => void this.beside(-1),
      f: () => {
        if (this.span)
          this.fit(this.span.begin, this.span.length);
        else if (this.call)
          this.fit(this.call.begin, this.call.length);
      },
      m: () => this.mark("a", centre()),
      M: () => this.mark("b", centre()),
      r: () => {
        if (this.span) {
          this.area = {
            a: this.span.begin,
            b: this.span.begin + Math.max(this.span.length, 1),
            rows: new Set((this.rows ?? []).map((row) => row.id))
          };
          this.on.area(this.area.a, this.area.b, this.rowsOf(this.area.rows));
          this.draw();
        }
      },
      Escape: () => {
        this.area = null;
        this.markers = {a: null, b: null};
        this.choose(null);
        this.on.moved();
      },
      Enter: () => void this.beside(1, this.view.a),
    };
  }

  /** @param {"a"|"b"} which @param {number} t */
  mark(which, t) {
    this.markers[which] = t;
    const {a, b} = this.markers;
    this.say(
        a !== null && b !== null ? `A to B: ${duration(Math.abs(b - a))}` :
                                   `marker ${which.toUpperCase()} at ${clock(t, 1000)}`);
    this.on.moved();
    this.draw();
  }

  /** The next row. @param {1|-1} step */
  step(step) {
    const rows = this.rows ?? [], at = rows.findIndex((row) => row.id === this.focus);
    const row = rows[Math.min(Math.max(at + step, 0), rows.length - 1)];
    if (!row) return;
    this.focus = row.id;
    const place = this.places.find((p) => p.row === row);
    if (place.y < this.box.scrollTop)
      this.box.scrollTop = place.y - HEAD;
    else if (place.y + place.high > this.box.scrollTop + this.box.clientHeight)
      this.box.scrollTop = place.y + place.high - this.box.clientHeight;
    this.say(`${row.label}; ${row.parts.join(", ")}`);
    this.draw();
  }

  /**
   * The next span of the row that has the keyboard, or the first from a time on. @param {1|-1} step @param {number}
   * [from]
   */
  async beside(step, from) {
    const row = this.row(this.focus) ?? this.rows?.[0];
    if (!row) return;
    this.focus = row.id;
    const here = this.span?.row.id === row.id ? this.span.begin : null;
    const at = from ?? (step > 0 ? (here === null ? this.view.a : here + 1) : here ?? this.view.b);
    try {
      const found = await this.on.beside(row.id, Math.max(Math.floor(at), 0), step);
      if (!found) return this.say(`no span of ${row.label} there`);
      const [id, begin, end, name] = found;
      if (begin < this.view.a || end > this.view.b) this.fit(begin, end - begin);
      this.choose({row, part: 0, id, begin, length: end - begin, name});
    } catch (error) {
      this.on.fail(error);
    }
  }
}
