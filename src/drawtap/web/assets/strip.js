// Bars over the whole run, of the frames' times or of any other series; the selected one, and where the filter's calls
// lie.
import {button, counted, duration, fill, h} from "./dom.js";
import {drawn, opaque} from "./image.js";
import {get, getBytes} from "./net.js";
import {options, select} from "./parts.js";
import {placeOf, shown} from "./series.js";
import {sharp} from "./units.js";

const THUMB = 54;             // pixels: the height of the row of pictures, as in app.css
const AUTOMATIC = 2_000_000;  // calls: a longer recording is played only when somebody asks for pictures

export class Strip {
  /**
   * @param {HTMLElement} element
   * @param {{frame: (frame: number) => void, call: (seq: number) => void, range: (of: "frame"|"seq", from: number, to:
   *     number) => void,
   *   series: (key: string) => void}} on
   */
  constructor(element, on) {
    this.element = element;
    this.on = on;
    this.canvas = h("canvas", {role: "img", tabindex: "0", style: {width: "100%", height: "100%", display: "block"}});
    this.tip = h("span", {
      class: "tip",
      style: {position: "absolute", right: "8px", top: "2px", color: "var(--soft)", pointerEvents: "none"}
    });
    this.thumbs = h("div", {class: "thumbs", hidden: true});
    this.switch = button("pictures", () => void this.toggle(), {
      "aria-pressed": "false",
      title: "small pictures of frames (i)",
      style: {position: "absolute", left: "64px", top: "2px", fontSize: "11px", padding: "0 6px"}
    });
    this.choice = select("what the bars are", [], on.series);
    Object.assign(this.choice, {className: "bars", hidden: true});
    this.marker = h("span", {
      hidden: true,
      style:
          {position: "absolute", top: "0", bottom: "0", width: "2px", background: "var(--ink)", pointerEvents: "none"}
    });
    element.append(this.canvas, this.thumbs, this.marker, this.tip, this.switch, this.choice);
    this.pictures = false;
    this.lacks = "";  // why there are no pictures
    this.go = on.frame;
    this.series = null;  // null: the frames' times
    /** @type {{from: number, to: number}|null} */
    this.brush = null;  // bars, both inclusive
    /** @type {Map<number, HTMLCanvasElement>} */
    this.made = new Map();
    /** @type {number[]} */
    this.density = [];
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.begun = {x: event.offsetX, bar: this.barAt(event.offsetX)};
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const bar = this.barAt(event.offsetX);
      if (this.begun && Math.abs(event.offsetX - this.begun.x) > 4)
        this.brush = {from: Math.min(bar, this.begun.bar), to: Math.max(bar, this.begun.bar)};
      this.point(bar);
      if (this.begun) this.draw();
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (this.begun && this.brush && Math.abs(event.offsetX - this.begun.x) > 4)
        this.filter();
      else {
        this.brush = null;
        this.goBar(this.barAt(event.offsetX));
      }
      this.begun = null;
    });
    this.canvas.addEventListener("mouseleave", () => this.point(-1));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(element);
  }

  /** @param {import("./recording.js").Recording} recording */
  show(recording) {
    this.recording = recording;
    this.series = null;
    this.brush = null;
    this.made.clear();
    this.lacks = "";
    fill(this.thumbs);
    this.measure();
  }

  /** The first rows are there: now small pictures may come, unless playing takes long. */
  later() {
    if (this.recording.calls <= AUTOMATIC) void this.toggle(true).catch(() => this.toggle(false));
  }

  /** Show another series; null: the frames' times. @param {any} series */
  of(series) {
    this.series = series;
    this.brush = null;
    this.measure();
  }

  /** The series to choose from. @param {{key: string, name: string}[]} list @param {string} chosen */
  offer(list, chosen) {
    const key = chosen || "frame:duration";
    this.choice.hidden = !list.length;
    fill(this.choice, ...options(list.map((one) => [one.key, one.name]), key));
  }

  get values() { return this.series ? this.series.values : this.recording.frames.duration; }
  get count() { return this.values.length; }
  get unit() { return this.series ? this.series.unit : "ns"; }
  get per() { return this.series && this.series.per !== "frame" ? "call" : "frame"; }
  /** The frame or call that a bar is of. @param {number} bar */
  keyOf(bar) { return this.series ? this.series.keys[bar] : bar; }

  measure() {
    const sorted = [...this.values].filter((t) => !Number.isNaN(t)).sort((a, b) => a - b);
    // One frame that loads must not flatten all others.
    this.tallest = Math.max((sorted[Math.floor(sorted.length * 0.99)] ?? 1) * 1.15, 1e-9);
    const name = this.series ? this.series.name : "frame time";
    this.canvas.setAttribute(
        "aria-label",
        `${name}: ${this.count} bars, at most ${shown(sorted.at(-1), this.unit)}, median ${
            shown(
                sorted[sorted.length >> 1],
                this.unit)}; arrows choose, Shift with arrows a range, Enter filters to it`);
    this.draw();
  }

  /** The bar of what is selected. */
  get at() {
    if (this.per === "frame") return this.series ? placeOf(this.series.keys, this.frame ?? 0) : this.frame ?? 0;
    return placeOf(this.series.keys, this.call ?? 0);
  }

  /** @param {number} bar */
  goBar(bar) {
    const key = this.keyOf(Math.min(Math.max(bar, 0), this.count - 1));
    if (key === undefined) return;
    if (this.per === "frame")
      this.on.frame(key);
    else
      this.on.call(key);
  }

  /** Filter the list to what the brush covers. */
  filter() {
    if (this.brush)
      this.on.range(this.per === "frame" ? "frame" : "seq", this.keyOf(this.brush.from), this.keyOf(this.brush.to));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (step && event.shiftKey) {
      const there = this.brush ?? {from: this.at, to: this.at};
      this.brush = step > 0 ? {...there, to: Math.min(there.to + 1, this.count - 1)} :
                              {...there, from: Math.max(there.from - 1, 0)};
      this.tip.textContent = `${this.keyOf(this.brush.from)} to ${this.keyOf(this.brush.to)}: Enter filters`;
      this.draw();
    } else if (step)
      this.goBar(this.at + step);
    else if (event.key === "Enter" && this.brush)
      this.filter();
    else if (event.key === "Escape" && this.brush) {
      this.brush = null;
      this.draw();
    } else
      return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Show or hide small pictures of frames; the first time the server begins to make them. */
  async toggle(on = !this.pictures) {
    this.pictures = on;
    this.switch.setAttribute("aria-pressed", String(on));
    this.thumbs.hidden = !on;
    this.element.classList.toggle("pictures", on);
    this.draw();
    const {recording} = this;
    while (recording && this.pictures && recording === this.recording) {
      const {frames, more, why} = await get(`${recording.number}/thumbnails`);
      for (const frame of frames) {
        if (!this.made.has(frame)) this.made.set(frame, await this.thumb(frame));
      }
      this.lacks = more ? "" : why;
      this.place();
      this.switch.title = why || "small pictures of frames (i)";
      if (!more || document.hidden) break;
      await new Promise((done) => setTimeout(done, 1500));
    }
  }

  /** @param {number} frame */
  async thumb(frame) {
    const answer = await getBytes(`${this.recording.number}/thumbnail/${frame}`);
    return drawn(opaque(answer), {title: `frame ${frame}`, on: {click: () => this.go(frame)}});
  }

  /** Another canvas with a frame's small picture, where it came already. @param {number} frame */
  copyOf(frame) {
    const from = this.made.get(frame);
    if (!from) return undefined;
    const canvas = h("canvas", {width: from.width, height: from.height});
    canvas.getContext("2d")?.drawImage(from, 0, 0);
    return canvas;
  }

  /** Put the pictures where their frames are; one that would cover another is left out. */
  place() {
    const width = this.element.clientWidth;
    let free = 0;
    const shown = [];
    for (const [frame, canvas] of [...this.made].sort((a, b) => a[0] - b[0])) {
      const wide = (canvas.width / canvas.height) * (THUMB - 4);
      const left = Math.min(((frame + 0.5) / this.recording.frameCount) * width - wide / 2, width - wide);
      if (left < free - 1 && shown.length) continue;
      canvas.style.left = `${Math.max(left, 0)}px`;
      free = Math.max(left, 0) + wide + 3;
      shown.push(canvas);
    }
    const why = this.lacks && h("i", {style: {margin: "0 8px"}, text: `no pictures: ${this.lacks}`});
    fill(this.thumbs, ...(shown.length ? shown : [why]));
  }

  /** @param {number} x */
  barAt(x) { return Math.min(Math.max(Math.floor((x / this.canvas.clientWidth) * this.count), 0), this.count - 1); }

  /** @param {number} bar */
  point(bar) {
    const f = this.recording?.frames;
    if (!f || bar < 0 || bar >= this.count)
      this.tip.textContent = "";
    else {
      const over = this.values[bar] > this.tallest ? "; orange: higher than the scale" : "";
      this.tip.textContent = this.series ?
          `${this.per} ${this.keyOf(bar)}: ${shown(this.series.values[bar], this.unit)}${over}` :
          `frame ${bar}: ${duration(f.duration[bar])}, ${counted(f.end[bar] - f.first[bar], "call")}, ${
              counted(f.draws[bar], "draw")}${over}`;
    }
  }

  /** Show which bar is selected: a step through the list draws no bar again. */
  mark() {
    this.marker.hidden = this.frame === undefined || !this.count;
    const left = `${(100 * (this.at + 0.5)) / this.count}%`;
    if (this.marker.hidden || this.left === left) return;
    this.marker.style.left = `calc(${left} - 1px)`;
    this.left = left;
  }

  draw() {
    if (!this.recording) return;
    this.mark();
    const {clientWidth: width, clientHeight: height} = this.element, context = sharp(this.canvas, width, height);
    const style = getComputedStyle(document.documentElement);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name);
    const {frameCount} = this.recording, {values, count} = this;
    if (!count) return;
    const base = height - 8;
    const top = this.pictures ? THUMB : 4;
    this.switch.style.top = this.choice.style.top = `${this.pictures ? THUMB : 2}px`;
    if (this.made.size) this.place();
    const columns = Math.min(Math.ceil(width), count);
    for (let column = 0; column < columns; column++) {
      const from = Math.floor((column * count) / columns),
            to = Math.max(Math.floor(((column + 1) * count) / columns), from + 1);
      let longest = 0;
      for (let f = from; f < to; f++)
        if (values[f] > longest) longest = values[f];
      const over = longest > this.tallest;
      const tall = (Math.min(longest / this.tallest, 1)) * (base - top);
      context.fillStyle = colour(over ? "--orange" : "--blue");
      context.globalAlpha = 0.75;
      const x = (column * width) / columns;
      context.fillRect(x, base - tall, Math.max(width / columns - (width / columns > 3 ? 1 : 0), 0.7), tall);
    }
    context.globalAlpha = 1;
    const most = Math.max(...this.density, 1);
    this.density.forEach((count, i) => {
      if (!count) return;
      context.globalAlpha = 0.25 + 0.75 * (count / most);
      context.fillStyle = colour("--purple");
      const at = (/** @type {number} */ part) =>
          (this.recording.frameOf(Math.floor((part * this.recording.calls) / this.density.length)) / frameCount) *
          width;
      context.fillRect(at(i), base + 2, Math.max(at(i + 1) - at(i), 1.5), 5);
    });
    context.globalAlpha = 1;
    if (this.brush) {
      context.fillStyle = colour("--blue");
      context.globalAlpha = 0.25;
      const x0 = (this.brush.from / count) * width, x1 = ((this.brush.to + 1) / count) * width;
      context.fillRect(x0, 0, Math.max(x1 - x0, 2), height);
      context.globalAlpha = 1;
    }
    const scaleText = shown(this.tallest, this.unit);
    context.fillStyle = colour("--card");  // bars below it would make it unreadable
    context.fillRect(0, top, context.measureText(scaleText).width + 8, 14);
    context.fillStyle = colour("--soft");
    context.fillText(scaleText, 4, top + 11);
  }
}
