// The looks of a timeline: its rows, arrows, lines and ruler on canvases, and their colours.
import {amount, clock, duration, sharp} from "./units.js";

/** Pixels: the head of a group, and the ruler. */
export const HEAD = 20;
export const RULER = 22;
const MOST_ARROWS = 60;  // more would only blacken the picture
const PALETTE = 8;
export const KINDS = {
  frame: "--t4",
  group: "--t3",
  draw: "--t0",
  call: "--t5",
  execution: "--t0",
  running: "--run",
  guest: "--run2",
  current: "--run",
  preempted: "--lost",
  waking: "--woken",
  queued: "--pale",
  "vgpu queue": "--pale",
  blocked: "--pale2",
  ring: "--pale3",
  own: "--t5",
  notify: "--told",
  "guest notice": "--told",
  "fence wait": "--pale2",
  "guest queue": "--pale",
  "guest request": "--asked",
  mark: "--ink",
  error: "--red",
  warning: "--orange",
  note: "--soft",
};
const PALE = new Set(["--pale", "--pale2", "--pale3"]);
// Colours of kinds that owners do not have, with stripes: nobody needs to tell them apart by colour alone. The legend
// has the same stripes (timegraph.css).
export const STRIPED = new Set(["--woken", "--lost", "--told", "--asked"]);
const STRIPE = 6;  // pixels from one stripe to the next

/** @typedef {import("./timegraph.js").Row} Row */

/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
export function fitted(canvas, width, height) {
  const context = sharp(canvas, width, height);
  Object.assign(canvas.style, {width: `${width}px`, height: `${height}px`});
  context.textBaseline = "middle";
  return context;
}

/**
 * Text that fits, with its beginning. @param {CanvasRenderingContext2D} g @param {string} text @param {number} room
 */
function cut(g, text, room) {
  const letters = Math.floor(room / 5.6);
  if (text.length <= letters || g.measureText(text).width <= room) return text;
  return `${text.slice(0, Math.max(letters - 1, 1))}…`;
}

/** Paints what a timeline shows at its view. */
export class Painter {
  /** @param {import("./timegraph.js").TimeGraph} graph */
  constructor(graph) {
    this.graph = graph;
    /** @type {Map<string, string>} */
    this.colours = new Map();  // of the page, by name
    /** @type {Map<string, CanvasPattern|string>} */
    this.stripes = new Map();  // by name of a colour
    /** @type {Map<string, string>} */
    this.hues = new Map();  // names of colours, by name of an owner
    this.onWay = new Set();
  }

  /** The page has other colours now. */
  forget() {
    this.colours.clear();
    this.stripes.clear();
  }

  /** @param {string} name */
  colour(name) {
    if (!this.colours.has(name))
      this.colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888");
    return this.colours.get(name);
  }

  /** The fill of a colour: plain, or striped. @param {CanvasRenderingContext2D} g @param {string} name */
  fillOf(g, name) {
    if (!STRIPED.has(name)) return this.colour(name);
    const known = this.stripes.get(name);
    if (known) return known;
    const tile = document.createElement("canvas"), ratio = devicePixelRatio || 1, size = Math.round(STRIPE * ratio);
    tile.width = tile.height = size;
    const t = tile.getContext("2d");
    t.fillStyle = this.colour("--card");
    t.fillRect(0, 0, size, size);
    t.strokeStyle = this.colour(name);
    t.lineWidth = size / 2.4;
    t.beginPath();
    for (const from of [-size, 0, size]) {
      t.moveTo(from - 1, size + 1);
      t.lineTo(from + size + 1, -1);
    }
    t.stroke();
    const made = g.createPattern(tile, "repeat") ?? this.colour(name);
    if (typeof made !== "string") made.setTransform(new DOMMatrix().scale(1 / ratio));
    this.stripes.set(name, made);
    return made;
  }

  /** @param {Row} row @param {string} kind @param {string} name */
  kindColour(row, kind, name) {
    const owned = row.shape === "cpu";
    if (!owned && kind !== "call" && kind !== "execution" && kind !== "own" && KINDS[kind]) return KINDS[kind];
    // Each name has a colour of its own, as far as there are colours; "client #7" is a request of "client".
    const text = (owned && this.graph.on.owner?.(name)) || name.replace(/ #\d+$/, "");
    if (!text) return KINDS[kind] ?? "--t7";
    if (!this.hues.has(text)) this.hues.set(text, `--t${this.hues.size % PALETTE}`);
    return this.hues.get(text);
  }

  /** All that is in view. @param {number} width @param {number} height @param {number} top */
  paint(width, height, top) {
    const {graph} = this;
    this.onWay = new Set(graph.way.map(([row, id]) => `${row} ${id}`));
    const g = fitted(graph.canvas, width, height);
    for (const place of graph.visible()) {
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
    const {graph} = this;
    if (row.id === graph.focus) {
      g.fillStyle = this.colour("--chosen");
      g.fillRect(0, y, graph.gutter - 2, high);
    }
    g.fillStyle = this.colour("--hair");
    g.fillRect(0, y + high - 1, width, 1);
    g.fillStyle = this.colour("--ink");
    g.fillText(cut(g, row.label, graph.gutter - 18), 10, y + Math.min(high / 2, 12));
    const level = graph.kept.get(row.id);
    if (!level) return;
    g.save();
    g.beginPath();
    g.rect(graph.gutter, y, width - graph.gutter, high);
    g.clip();
    if (level.parts.some((p) => p.as === "sums")) this.drawSums(g, row, level, y + 2, high - 5);
    for (const [k, part] of level.parts.entries()) {
      if (part.as === "values")
        this.drawValues(g, row, level, part, y + 3, high - 7);
      else if (part.as === "spans")
        this.drawSpans(g, row, level, part, level.lane[k], y + 2, high - 5);
    }
    g.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {Row} row @param {any} level @param {any} part @param {Uint8Array}
   *     lane @param {number} y @param {number} high
   */
  drawSpans(g, row, level, part, lane, y, high) {
    const {graph} = this;
    const {a, b} = graph.view, each = high / level.lanes;
    for (let i = 0; i < part.begin.length; i++) {
      const begin = part.begin[i], length = part.length[i];
      if (begin > b || begin + length < a) continue;
      const x0 = Math.max(graph.x(begin), graph.gutter - 2),
            x1 = Math.min(graph.x(begin + length), graph.gutter + graph.wide + 2);
      const name = part.names[part.name[i]], colour = this.kindColour(row, row.parts[part.part], name);
      const chosen = this.onWay.has(`${row.id} ${part.id[i]}`) ||
          (graph.chosen && graph.chosen.row === row.id && graph.chosen.id === part.id[i]) ||
          (row.leads === "call" && graph.call && graph.call.seq === part.id[i]);
      g.fillStyle = this.fillOf(g, colour);
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
        const text = cut(g, name, w - 6);
        if (STRIPED.has(colour)) {
          g.fillStyle = this.colour("--card");
          g.fillRect(x0 + 2, top, g.measureText(text).width + 4, tall);
        }
        g.fillStyle = this.colour(PALE.has(colour) || STRIPED.has(colour) ? "--ink" : "--card");
        g.fillText(text, x0 + 4, top + tall / 2 + 0.5);
      }
    }
  }

  /** @param {CanvasRenderingContext2D} g @param {Row} row @param {any} level @param {number} y @param {number} high */
  drawSums(g, row, level, y, high) {
    const {graph} = this;
    const {a, b} = graph.view, {begin, step, steps} = level;
    const sums = level.parts.filter((p) => p.as === "sums");
    const first = Math.max(Math.floor((a - begin) / step), 0),
          last = Math.min(Math.ceil((b - begin) / step), steps - 1);
    let most = step;
    if (row.shape === "queue")
      for (let i = first; i <= last; i++) most = Math.max(most, sums.reduce((s, p) => s + p.busy[i], 0));
    for (let i = first; i <= last; i++) {
      // Whole pixels: the edges of neighbours must not shine through.
      const x = Math.round(graph.x(begin + i * step)), w = Math.max(Math.round(graph.x(begin + (i + 1) * step)) - x, 1);
      let base = y + high;
      for (const p of sums) {
        if (row.shape === "marks" || (!p.busy[i] && p.count?.[i])) {
          if (p.count[i]) {
            g.fillStyle = this.fillOf(g, this.kindColour(row, row.parts[p.part], row.names?.[p.part] ?? ""));
            g.fillRect(x, y + 2, w, high - 2);
          }
          continue;
        }
        if (!p.busy[i]) continue;
        const tall = Math.max(Math.min(p.busy[i] / most, 1) * high, 0.7);
        g.fillStyle = this.fillOf(g, this.kindColour(row, row.parts[p.part], row.names?.[p.part] ?? ""));
        g.fillRect(x, base - tall, w, tall);
        base -= tall;
      }
    }
    if (most > step * 1.2) {
      g.fillStyle = this.colour("--soft");
      g.fillText(`↑ ${(most / step).toPrecision(2)} at once`, graph.gutter + 4, y + 5);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {Row} row @param {any} level @param {any} part @param {number}
   *     y @param {number} high
   */
  drawValues(g, row, level, part, y, high) {
    const {graph} = this;
    const {a, b} = graph.view, {begin, step, steps} = level;
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
      const x = Math.round(graph.x(begin + i * step)), w = Math.max(Math.round(graph.x(begin + (i + 1) * step)) - x, 1);
      g.globalAlpha = 0.25;
      g.fillRect(x, at(part.high[i]), w, y + high - at(part.high[i]));
      g.globalAlpha = 1;
      g.fillRect(x, at(part.high[i]), w, Math.max(at(part.low[i]) - at(part.high[i]), 1.2));
    }
    g.fillStyle = this.colour("--soft");
    g.fillText(`${amount(top, row.unit)}`, graph.gutter + 4, y + 5);
  }

  /** @param {CanvasRenderingContext2D} g @param {number} height */
  drawArea(g, height) {
    const {graph} = this;
    const area = graph.drag?.area ?? graph.area;
    if (!area) return;
    g.fillStyle = this.colour("--blue");
    g.globalAlpha = 0.16;
    const x0 = Math.max(graph.x(area.a), graph.gutter), x1 = graph.x(area.b);
    for (const p of graph.visible())
      if (p.row && area.rows.has(p.row.id)) g.fillRect(x0, p.y - graph.box.scrollTop, x1 - x0, p.high);
    g.globalAlpha = 1;
    g.fillRect(x0, 0, 1, height);
    g.fillRect(x1, 0, 1, height);
  }

  /** @param {CanvasRenderingContext2D} g @param {number} top */
  drawArrows(g, top) {
    const {graph} = this;
    const at = new Map(graph.places.filter((p) => p.row).map((p) => [p.row.id, p.y + p.high / 2 - top]));
    if (graph.way.length) this.drawWay(g, at);
    const few =
        graph.arrows.filter((one) => one[4] !== "wakes" && one[1] <= graph.view.b && one[3] >= graph.view.a).length <=
        MOST_ARROWS;
    for (const [from, t0, to, t1, kind, what] of graph.arrows) {
      const y0 = at.get(from), y1 = at.get(to), x0 = graph.x(t0), x1 = graph.x(t1);
      const mine = kind === "submits" && graph.call?.seq === what, shade = kind === "wakes" ? "--orange" : "--blue";
      if (y0 === undefined || y1 === undefined || x1 < graph.gutter || x0 > graph.gutter + graph.wide ||
          (kind === "wakes" && !graph.wakes))
        continue;
      if (few || mine || kind === "wakes") this.arrow(g, x0, y0, x1, y1, mine, shade);
    }
  }

  /** The way of a request from row to row. @param {CanvasRenderingContext2D} g @param {Map<number, number>} at */
  drawWay(g, at) {
    const {graph} = this;
    graph.way.forEach(([row, , begin], i) => {
      const before = graph.way[i - 1];
      const y0 = before && at.get(before[0]), y1 = at.get(row);
      if (y0 !== undefined && y1 !== undefined && row !== before[0])
        this.arrow(g, graph.x(before[3]), y0, graph.x(begin), y1, true);
    });
  }

  /**
   * @param {CanvasRenderingContext2D} g @param {number} x0 @param {number} y0 @param {number} x1 @param {number}
   *     y1 @param {boolean} strong @param {string} [shade]
   */
  arrow(g, x0, y0, x1, y1, strong, shade = "--blue") {
    const {graph} = this;
    if (Math.max(x0, x1) < graph.gutter || Math.min(x0, x1) > graph.gutter + graph.wide) return;
    g.strokeStyle = g.fillStyle = this.colour(strong ? "--ink" : shade);
    g.lineWidth = strong ? 2 : 1;
    g.globalAlpha = strong ? 1 : 0.55;
    const bend = Math.min(Math.max(Math.abs(x1 - x0) / 2, 10), 60);
    g.beginPath();
    g.moveTo(Math.max(x0, graph.gutter), y0);
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
    const {graph} = this;
    if (graph.call) {
      const x = graph.x(graph.call.begin);
      g.fillStyle = this.colour("--ink");
      if (x >= graph.gutter) g.fillRect(x - 0.5, 0, 1, height);
    }
    if (graph.second !== null && graph.x(graph.second) >= graph.gutter) {
      g.fillStyle = this.colour("--ink");
      for (let y = 0; y < height; y += 8) g.fillRect(graph.x(graph.second) - 0.5, y, 1, 4);
    }
    for (const [name, t] of Object.entries(graph.markers)) {
      if (t === null || graph.x(t) < graph.gutter) continue;
      g.fillStyle = this.colour("--orange");
      for (let y = 0; y < height; y += 6) g.fillRect(graph.x(t), y, 1.5, 3);
      g.fillText(name.toUpperCase(), graph.x(t) + 4, 8);
    }
    if (graph.pointer !== null) {
      g.fillStyle = this.colour("--line");
      g.fillRect(graph.x(graph.pointer), 0, 1, height);
    }
  }

  /** @param {number} width */
  drawRuler(width) {
    const {graph} = this;
    const g = fitted(graph.ruler, width, RULER);
    const span = graph.view.b - graph.view.a, rough = span / Math.max(graph.wide / 100, 1),
          power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough) ?? power;
    g.fillStyle = this.colour("--soft");
    g.fillText(duration(span), 10, RULER / 2);
    for (let t = Math.ceil(graph.view.a / step) * step; t <= graph.view.b; t += step) {
      const x = graph.x(t), text = clock(t, step);
      g.fillRect(x, RULER - 5, 1, 5);
      if (x < width - g.measureText(text).width - 6) g.fillText(text, x + 4, RULER / 2 - 1);
    }
  }
}
