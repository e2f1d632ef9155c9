// The drawing of a timeline: rows on one clock, drawn from levels of detail that are fetched around the view and kept.
// It knows neither the server nor the page: `on` asks for levels and hears what the user chooses. The viewer fetches
// them; the report of a kernel trace has them in its page.
import {duration, fill, h} from "./dom.js";

const HEAD = 20, RULER = 22, LEAST = 20;  // pixels; the shortest view in ns
const MOST_ARROWS = 60;                   // more would only blacken the picture
const PALETTE = 8;
const KINDS = /** @type {Record<string, string>} */ ({
  frame: "--t4",
  group: "--t3",
  draw: "--t0",
  call: "--t5",
  execution: "--t0",
  running: "--t2",
  guest: "--t0",
  current: "--t2",
  preempted: "--t6",
  waking: "--t1",
  queued: "--pale",
  "vgpu queue": "--pale",
  blocked: "--pale2",
  ring: "--pale3",
  own: "--t5",
  notify: "--t7",
  "guest notice": "--t7",
  "fence wait": "--pale2",
  "guest queue": "--pale",
  "guest request": "--t3",
  mark: "--ink",
  error: "--red",
  warning: "--orange",
  note: "--soft",
});
const PALE = new Set(["--pale", "--pale2", "--pale3"]);
// Kinds in words: what a span does, and what a step of a request's way is.
const WORDS = /** @type {Record<string, string>} */ ({
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
});
const STEPS = /** @type {Record<string, string>} */ ({
  execution: "on the engine",
  queued: "waits in the queue",
  "vgpu queue": "waits in the hypervisor",
  blocked: "waits for a dependency",
  ring: "handed over, not begun",
  notify: "done, not yet told",
  "guest queue": "waits in the guest",
  "guest notice": "done, the guest does not know",
});

/**
 * @typedef {{id: number, label: string, shape: string, parts: string[], names?: (string|null)[], leads: string, unit:
 * string, sql: string}} Row Where `names` are, they tell whose the sums of a part are. Rows of the shape "cpu" have
 * colours by owner.
 * @typedef {{row: Row, part: number, id: number, begin: number, length: number, name: string}} Span
 */

/**
 * How long a step is, as a power of two of ns: the same rule as the server's. @param {number} span @param {number}
 * most
 */
export function shiftOf(span, most) {
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
    const read = parts.map((/** @type {any} */ p) => {
      if (p.as === "spans")
        return { part: p.part, as: "spans", begin: doubles(p.at, p.n), length: doubles(p.length, p.n), id: whole(p.id, p.n), name: whole(p.name, p.n), names: p.names };
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
      single: read.every((/** @type {any} */ p) => p.as === "spans"),
      ...inLanes(read)
    });
  }
  return rows;
}

/** Put spans into lanes so that those of a lane do not overlap. @param {any[]} parts */
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
    /** @type {Uint8Array} */ (of[k])[i] = lane;
  }
  return {lane: of, lanes: Math.max(ends.length, 1)};
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
    /** @type {any[]} */
    this.places = [];
    /** @type {any[]} */
    this.arrows = [];
    /** @type {any[]} */
    this.way = [];  // steps of the chosen request: row, id, begin, end, kind, name
    /** @type {{row: number, id: number}|null} */
    this.chosen = null;
    /** @type {Span|null} */
    this.span = null;  // the chosen one
    /** @type {any} */
    this.drag = null;
    /** @type {{a: number|null, b: number|null}} */
    this.markers = {a: null, b: null};
    /** @type {{a: number, b: number, rows: Set<number>}|null} */
    this.area = null;
    /** @type {{seq: number, begin: number, length: number}|null} */
    this.call = null;
    this.second = /** @type {number|null} */ (null);  // where the call of a second recording begins
    this.focus = -1;                                  // the row that has the keyboard
    this.pointer = /** @type {number|null} */ (null);
    this.requests = 0;
    this.wakes = false;  // whether arrows of wake-ups are drawn
    /** @type {Map<string, string>} */
    this.hues = new Map();  // colours by name
    this.ruler = /** @type {HTMLCanvasElement} */ (h("canvas", {class: "ruler", "aria-hidden": "true"}));
    this.canvas = /** @type {HTMLCanvasElement} */ (h("canvas", {class: "graph", "aria-hidden": "true"}));
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
      this.paint = undefined;
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

  /** What is asked for a view: three spans, the view in the middle. */
  wanted() {
    const {a, b} = this.view, span = b - a;
    const from = Math.max(Math.floor(a - span), 0), to = Math.min(Math.ceil(b + span), this.length);
    const px = Math.round((this.wide * (to - from)) / span);
    return {from, to, px, step: 2 ** shiftOf(to - from, Math.max(16, px))};
  }

  /** @param {any} level */
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
        const found = await /** @type {any} */ (this.on).levels(missing, from, to, px, signal);
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

  /** @param {string} name */
  colour(name) {
    this.paint ??= new Map();
    if (!this.paint.has(name))
      this.paint.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888");
    return this.paint.get(name);
  }

  /** @param {Row} row @param {string} kind @param {string} name */
  kindColour(row, kind, name) {
    const owned = row.shape === "cpu";
    if (!owned && kind !== "call" && kind !== "execution" && kind !== "own" && KINDS[kind]) return KINDS[kind];
    // Each name has a colour of its own, as far as there are colours; "client #7" is a request of "client".
    const text = (owned && this.on.owner?.(name)) || name.replace(/ #\d+$/, "");
    if (!text) return KINDS[kind] ?? "--t7";
    if (!this.hues.has(text)) this.hues.set(text, `--t${this.hues.size % PALETTE}`);
    return /** @type {string} */ (this.hues.get(text));
  }

  /** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
  fitted(canvas, width, height) {
    const ratio = devicePixelRatio || 1, context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    return context;
  }

  drawNow() {
    const width = this.box.clientWidth, height = this.box.clientHeight, top = this.box.scrollTop;
    if (!width || !height) return;
    if (this.on.local) {
      const missing = this.missing(), {from, to, px} = this.wanted();
      if (missing.length)
        for (const [id, level] of this.on.local(missing, from, to, px)) this.kept.set(id, level);
    }
    this.onWay = new Set(this.way.map(([row, id]) => `${row} ${id}`));
    const g = this.fitted(this.canvas, width, height);
    for (const place of this.visible()) {
      const y = place.y - top;
      if (place.group)
        this.drawHead(g, place.group, y, width);
      else
        this.drawRow(g, place, y, width);
    }
    this.drawArea(g, height);
    this.drawArrows(g, top);
    this.drawLines(g, height);
    this.drawRuler(width);
    if (!this.on.local) this.ask();
  }

  /** @param {CanvasRenderingContext2D} g @param {any} group @param {number} y @param {number} width */
  drawHead(g, group, y, width) {
    g.fillStyle = this.colour("--page");
    g.fillRect(0, y, width, HEAD);
    g.fillStyle = this.colour("--soft");
    g.font = "600 11px system-ui, sans-serif";
    g.fillText(`${group.open ? "▾" : "▸"} ${group.name}`, 6, y + HEAD / 2);
    g.font = "11px system-ui, sans-serif";
  }

  /** @param {CanvasRenderingContext2D} g @param {any} place @param {number} y @param {number} width */
  drawRow(g, {row, high}, y, width) {
    if (row.id === this.focus) {
      g.fillStyle = this.colour("--chosen");
      g.fillRect(0, y, this.gutter - 2, high);
    }
    g.fillStyle = this.colour("--hair");
    g.fillRect(0, y + high - 1, width, 1);
    g.fillStyle = this.colour("--ink");
    g.fillText(this.cut(g, row.label, this.gutter - 18), 10, y + Math.min(high / 2, 12));
    const level = this.kept.get(row.id);
    if (!level) return;
    g.save();
    g.beginPath();
    g.rect(this.gutter, y, width - this.gutter, high);
    g.clip();
    if (level.parts.some((/** @type {any} */ p) => p.as === "sums")) this.drawSums(g, row, level, y + 2, high - 5);
    for (const [k, part] of level.parts.entries()) {
      if (part.as === "values")
        this.drawValues(g, row, level, part, y + 3, high - 7);
      else if (part.as === "spans")
        this.drawSpans(g, row, level, part, level.lane[k], y + 2, high - 5);
    }
    g.restore();
  }

  /**
   * Text that fits, with its beginning. @param {CanvasRenderingContext2D} g @param {string} text @param {number} room
   */
  cut(g, text, room) {
    const letters = Math.floor(room / 5.6);
    if (text.length <= letters || g.measureText(text).width <= room) return text;
    return `${text.slice(0, Math.max(letters - 1, 1))}…`;
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {Row} row @param {any} level @param {any} part @param {Uint8Array}
   *     lane @param {number} y @param {number} high
   */
  drawSpans(g, row, level, part, lane, y, high) {
    const {a, b} = this.view, each = high / level.lanes;
    for (let i = 0; i < part.begin.length; i++) {
      const begin = part.begin[i], length = part.length[i];
      if (begin > b || begin + length < a) continue;
      const x0 = Math.max(this.x(begin), this.gutter - 2),
            x1 = Math.min(this.x(begin + length), this.gutter + this.wide + 2);
      const name = part.names[part.name[i]], colour = this.kindColour(row, row.parts[part.part], name);
      const chosen = this.onWay?.has(`${row.id} ${part.id[i]}`) ||
          (this.chosen && this.chosen.row === row.id && this.chosen.id === part.id[i]) ||
          (row.leads === "call" && this.call && this.call.seq === part.id[i]);
      g.fillStyle = this.colour(colour);
      if (row.shape === "marks") {
        g.beginPath();
        g.moveTo(x0, y + 2);
        g.lineTo(x0 + 5, y + high);
        g.lineTo(x0 - 5, y + high);
        g.fill();
        if (chosen) {
          g.strokeStyle = this.colour("--ink");
          g.lineWidth = 2;
          g.stroke();
        }
        continue;
      }
      const top = y + lane[i] * each, tall = Math.max(each - (level.lanes > 1 ? 1 : 0), 1),
            w = Math.max(x1 - x0 - (x1 - x0 > 4 ? 1 : 0), 0.8);
      g.fillRect(x0, top, w, tall);
      if (chosen) {
        g.strokeStyle = this.colour("--ink");
        g.lineWidth = 2;
        g.strokeRect(x0 + 1, top + 1, Math.max(w - 2, 1), tall - 2);
      }
      if (w > 30 && tall >= 11) {
        g.fillStyle = this.colour(PALE.has(colour) ? "--ink" : "--card");
        g.fillText(this.cut(g, name, w - 6), x0 + 4, top + tall / 2 + 0.5);
      }
    }
  }

  /** @param {CanvasRenderingContext2D} g @param {Row} row @param {any} level @param {number} y @param {number} high */
  drawSums(g, row, level, y, high) {
    const {a, b} = this.view, {begin, step, steps} = level;
    const sums = level.parts.filter((/** @type {any} */ p) => p.as === "sums");
    const first = Math.max(Math.floor((a - begin) / step), 0),
          last = Math.min(Math.ceil((b - begin) / step), steps - 1);
    let most = step;
    if (row.shape === "queue")
      for (let i = first; i <= last; i++)
        most = Math.max(most, sums.reduce((/** @type {number} */ s, /** @type {any} */ p) => s + p.busy[i], 0));
    for (let i = first; i <= last; i++) {
      // Whole pixels: the edges of neighbours must not shine through.
      const x = Math.round(this.x(begin + i * step)), w = Math.max(Math.round(this.x(begin + (i + 1) * step)) - x, 1);
      let base = y + high;
      for (const p of sums) {
        if (row.shape === "marks" || (!p.busy[i] && p.count?.[i])) {
          if (p.count[i]) {
            g.fillStyle = this.colour(this.kindColour(row, row.parts[p.part], row.names?.[p.part] ?? ""));
            g.fillRect(x, y + 2, w, high - 2);
          }
          continue;
        }
        if (!p.busy[i]) continue;
        const tall = Math.max(Math.min(p.busy[i] / most, 1) * high, 0.7);
        g.fillStyle = this.colour(this.kindColour(row, row.parts[p.part], row.names?.[p.part] ?? ""));
        g.fillRect(x, base - tall, w, tall);
        base -= tall;
      }
    }
    if (most > step * 1.2) {
      g.fillStyle = this.colour("--soft");
      g.fillText(`↑ ${(most / step).toPrecision(2)} at once`, this.gutter + 4, y + 5);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {Row} row @param {any} level @param {any} part @param {number}
   *     y @param {number} high
   */
  drawValues(g, row, level, part, y, high) {
    const {a, b} = this.view, {begin, step, steps} = level;
    const first = Math.max(Math.floor((a - begin) / step), 0),
          last = Math.min(Math.ceil((b - begin) / step), steps - 1);
    let low = 0, top = -Infinity;
    for (let i = first; i <= last; i++) {
      if (part.high[i] > top) top = part.high[i];
      if (part.low[i] < low) low = part.low[i];
    }
    if (top === -Infinity) return;
    const range = Math.max(top - low, 1e-12), at = (/** @type {number} */ v) => y + high - ((v - low) / range) * high;
    g.fillStyle = this.colour("--t0");
    for (let i = first; i <= last; i++) {
      if (Number.isNaN(part.high[i])) continue;
      const x = Math.round(this.x(begin + i * step)), w = Math.max(Math.round(this.x(begin + (i + 1) * step)) - x, 1);
      g.globalAlpha = 0.25;
      g.fillRect(x, at(part.high[i]), w, y + high - at(part.high[i]));
      g.globalAlpha = 1;
      g.fillRect(x, at(part.high[i]), w, Math.max(at(part.low[i]) - at(part.high[i]), 1.2));
    }
    g.fillStyle = this.colour("--soft");
    g.fillText(`${amount(top, row.unit)}`, this.gutter + 4, y + 5);
  }

  /** @param {CanvasRenderingContext2D} g @param {number} height */
  drawArea(g, height) {
    const area = this.drag?.area ?? this.area;
    if (!area) return;
    g.fillStyle = this.colour("--blue");
    g.globalAlpha = 0.16;
    const x0 = Math.max(this.x(area.a), this.gutter), x1 = this.x(area.b);
    for (const p of this.visible())
      if (p.row && area.rows.has(p.row.id)) g.fillRect(x0, p.y - this.box.scrollTop, x1 - x0, p.high);
    g.globalAlpha = 1;
    g.fillRect(x0, 0, 1, height);
    g.fillRect(x1, 0, 1, height);
  }

  /** @param {CanvasRenderingContext2D} g @param {number} top */
  drawArrows(g, top) {
    const at = new Map(this.places.filter((p) => p.row).map((p) => [p.row.id, p.y + p.high / 2 - top]));
    if (this.way.length) this.drawWay(g, at);
    const few =
        this.arrows.filter((one) => one[4] !== "wakes" && one[1] <= this.view.b && one[3] >= this.view.a).length <=
        MOST_ARROWS;
    for (const [from, t0, to, t1, kind, what] of this.arrows) {
      const y0 = at.get(from), y1 = at.get(to), x0 = this.x(t0), x1 = this.x(t1);
      const mine = kind === "submits" && this.call?.seq === what, shade = kind === "wakes" ? "--orange" : "--blue";
      if (y0 === undefined || y1 === undefined || x1 < this.gutter || x0 > this.gutter + this.wide ||
          (kind === "wakes" && !this.wakes))
        continue;
      if (few || mine || kind === "wakes") this.arrow(g, x0, y0, x1, y1, mine, shade);
    }
  }

  /** The way of a request from row to row. @param {CanvasRenderingContext2D} g @param {Map<number, number>} at */
  drawWay(g, at) {
    this.way.forEach(([row, , begin], i) => {
      const before = this.way[i - 1];
      const y0 = before && at.get(before[0]), y1 = at.get(row);
      if (y0 !== undefined && y1 !== undefined && row !== before[0])
        this.arrow(g, this.x(before[3]), y0, this.x(begin), y1, true);
    });
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {number} x0 @param {number} y0 @param {number} x1 @param {number}
   *     y1 @param {boolean} strong @param {string} [shade]
   */
  arrow(g, x0, y0, x1, y1, strong, shade = "--blue") {
    if (Math.max(x0, x1) < this.gutter || Math.min(x0, x1) > this.gutter + this.wide) return;
    g.strokeStyle = g.fillStyle = this.colour(strong ? "--ink" : shade);
    g.lineWidth = strong ? 2 : 1;
    g.globalAlpha = strong ? 1 : 0.55;
    const bend = Math.min(Math.max(Math.abs(x1 - x0) / 2, 10), 60);
    g.beginPath();
    g.moveTo(Math.max(x0, this.gutter), y0);
    g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 4, y1);
    g.stroke();
    g.beginPath();
    g.moveTo(x1, y1);
    g.lineTo(x1 - 6, y1 - 4);
    g.lineTo(x1 - 6, y1 + 4);
    g.fill();
    g.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} g @param {number} height */
  drawLines(g, height) {
    if (this.call) {
      const x = this.x(this.call.begin);
      g.fillStyle = this.colour("--ink");
      if (x >= this.gutter) g.fillRect(x - 0.5, 0, 1, height);
    }
    if (this.second !== null && this.x(this.second) >= this.gutter) {
      g.fillStyle = this.colour("--ink");
      for (let y = 0; y < height; y += 8) g.fillRect(this.x(this.second) - 0.5, y, 1, 4);
    }
    for (const [name, t] of Object.entries(this.markers)) {
      if (t === null || this.x(t) < this.gutter) continue;
      g.fillStyle = this.colour("--orange");
      for (let y = 0; y < height; y += 6) g.fillRect(this.x(t), y, 1.5, 3);
      g.fillText(name.toUpperCase(), this.x(t) + 4, 8);
    }
    if (this.pointer !== null) {
      g.fillStyle = this.colour("--line");
      g.fillRect(this.x(this.pointer), 0, 1, height);
    }
  }

  /** @param {number} width */
  drawRuler(width) {
    const g = this.fitted(this.ruler, width, RULER);
    const span = this.view.b - this.view.a, rough = span / Math.max(this.wide / 100, 1),
          power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough) ?? power;
    g.fillStyle = this.colour("--soft");
    g.fillText(duration(span), 10, RULER / 2);
    for (let t = Math.ceil(this.view.a / step) * step; t <= this.view.b; t += step) {
      const x = this.x(t), text = clock(t, step);
      g.fillRect(x, RULER - 5, 1, 5);
      if (x < width - g.measureText(text).width - 6) g.fillText(text, x + 4, RULER / 2 - 1);
    }
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
    level.parts.forEach((/** @type {any} */ p, /** @type {number} */ k) => {
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
      /** @type {Element} */ (e.target).setPointerCapture(e.pointerId);
      this.drag = {x0: x, y0: y, all, pan: e.shiftKey, view: {...this.view}, area: null};
    };
    this.canvas.addEventListener("pointerdown", (e) => down(e, false));
    this.ruler.addEventListener("pointerdown", (e) => down(e, true));
    for (const place of [this.canvas, this.ruler]) {
      place.addEventListener(
          "pointermove", (e) => this.hover(at(/** @type {PointerEvent} */ (e)), /** @type {PointerEvent} */ (e)));
      place.addEventListener("pointerup", (e) => this.released(at(/** @type {PointerEvent} */ (e))));
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
    const level = this.kept.get(row.id), said = /** @type {[string, string][]} */ ([["", row.label]]);
    if (level && this.pointer !== null) {
      const i = Math.floor((this.pointer - level.begin) / level.step),
            named = (/** @type {any} */ p) => row.names?.[p.part] || row.parts[p.part];
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

  /** What the colours of the rows in view mean, as names of colours. @returns {[string, string][]} */
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
        colour: row ? this.kindColour(row, kind, name ?? "") : "--t7",
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

/** A time with as many digits as a step needs. @param {number} t @param {number} step */
export function clock(t, step) {
  const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9) - 1e-6)));
  return `${(t / 1e9).toFixed(places)} s`;
}

/** @param {number|null} value @param {string} unit */
export function amount(value, unit) {
  if (value === null || Number.isNaN(value)) return "–";
  if (unit === "ns") return duration(value);
  const short = Math.abs(value) >= 1e6 ? value.toExponential(3) : Number(value.toPrecision(5)).toString();
  return unit && unit !== "count" ? `${short} ${unit}` : short;
}
