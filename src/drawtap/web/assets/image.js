// An image of any type of numbers: zoom, channels, range, histogram, NaN, and the exact value below the pointer.
import {button, element, h, number} from "./dom.js";

let zoom = 0;  // 0: the whole image, as large as it is or smaller; few texels larger

/** The panel's size until it changes: to ask an element for its size costs a layout of the page. */
const room = {
  wide: 0,
  tall: 0
};
/** @type {ResizeObserver|undefined} */
let watching;

function panelSize() {
  const panel = element("panel");
  const measure = () => Object.assign(room, {wide: panel.clientWidth, tall: panel.clientHeight});
  if (!watching) {
    measure();
    watching = new ResizeObserver(measure);
    watching.observe(panel);
  }
  return room;
}

/** The scale at which all of an image is in view. @param {number} width @param {number} height */
function whole(width, height) {
  const {wide, tall} = panelSize();
  // A few texels are enlarged by a whole number: else nobody sees them.
  return Math.min(
      Math.max(1, Math.floor(96 / Math.max(width, height, 1))), (wide - 28) / width,
      Math.min(0.65 * innerHeight, Math.max(tall - 28, 240)) / height);
}

/** Take an answer apart: a JSON head, then bare data. @param {ArrayBuffer} answer */
export function headed(answer) {
  const length = new DataView(answer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(answer, 4, length)));
  return {head, at: 4 + length};
}

/** The small picture of an answer, without its alpha. @param {ArrayBuffer} answer */
export function opaque(answer) {
  const {head, at} = headed(answer), data = new Uint8ClampedArray(answer, at, head.width * head.height * 4);
  for (let i = 3; i < data.length; i += 4) data[i] = 255;
  return new ImageData(data, head.width, head.height);
}

/** A canvas with a picture. @param {ImageData} image @param {Record<string, any>} [props] */
export function drawn(image, props = {}) {
  const canvas = h("canvas", {width: image.width, height: image.height, ...props});
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  return canvas;
}

const TYPES = {
  "|u1": Uint8Array,
  "|i1": Int8Array,
  "<u2": Uint16Array,
  "<i2": Int16Array,
  "<u4": Uint32Array,
  "<i4": Int32Array,
  "<f4": Float32Array,
  "<f8": Float64Array,
};

/** @param {ArrayBuffer} buffer @param {number} at @param {string} type of numpy @param {number} length */
export function values(buffer, at, type, length) {
  if (type === "<f2") return halves(new Uint16Array(buffer, at, length));
  const made = TYPES[type];
  return made ? new made(buffer, at, length) : null;
}

/** @param {Uint16Array} bits */
function halves(bits) {
  const out = new Float32Array(bits.length);
  bits.forEach((v, i) => {
    const sign = v & 0x8000 ? -1 : 1, exponent = (v >> 10) & 31, fraction = v & 1023;
    out[i] = exponent === 31 ? (fraction ? NaN : sign * Infinity) :
        exponent             ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) :
                               sign * 2 ** -14 * (fraction / 1024);
  });
  return out;
}

/**
 * @typedef {object} Image
 * @property {number} width
 * @property {number} height
 * @property {string} channels letters, as rgba, l, d, s
 * @property {any} data a typed array, the channels of a pixel beside each other
 * @property {boolean} [bottomFirst] whether the first row is the lowest
 */

/** The number of times that each byte stands in each channel; pictures of bytes are the many. @param {Image} image */
function bytesOf(image) {
  const {channels: {length}, data} = image, counts = new Uint32Array(256 * length);
  if (length === 4)
    for (let i = 0; i < data.length; i += 4) {
      counts[data[i]]++;
      counts[256 + data[i + 1]]++;
      counts[512 + data[i + 2]]++;
      counts[768 + data[i + 3]]++;
    }
  else
    for (let i = 0; i < data.length; i++) counts[256 * (i % length) + data[i]]++;
  return counts;
}

/**
 * @typedef {{least: number, most: number, odd: number, counts?: Uint32Array}} Span
 * @type {WeakMap<object, Span>}
 */
const spans = new WeakMap();  // of values that were looked at: a step back shows them again

/**
 * The span of a channel's values, and the number of its values that are no numbers; values do not
 * change. @param {Image} image @returns {Span}
 */
export function span(image) {
  const known = spans.get(image.data), found = known ?? spanOf(image);
  if (!known) spans.set(image.data, found);
  return found;
}

/** @param {Image} image @returns {Span} */
function spanOf(image) {
  if (image.data instanceof Uint8Array) {
    const counts = bytesOf(image),
          there = (/** @type {number} */ v) => [...image.channels].some((_, c) => counts[256 * c + v]);
    const values = Array.from({length: 256}, (_, v) => v).filter(there);
    return {least: values[0] ?? Infinity, most: values.at(-1) ?? -Infinity, odd: 0, counts};
  }
  let least = Infinity, most = -Infinity, odd = 0;
  for (const v of image.data) {
    if (!Number.isFinite(v))
      odd++;
    else {
      if (v < least) least = v;
      if (v > most) most = v;
    }
  }
  return {least, most, odd};
}

/**
 * The range that is shown at first: the whole one of bytes, 0 to 1 of colours, else what there is. @param {Image}
 * image
 */
function first(image) {
  if (image.data instanceof Uint8Array && image.channels !== "s") return [0, 255];
  const {least, most} = span(image);
  if (image.data instanceof Float32Array && "rgba".startsWith(image.channels) && least >= 0 && most <= 1) return [0, 1];
  return least < most ? [least, most] : [Math.min(least, 0), Math.max(most, 1)];
}

/**
 * The canvas that a view has painted, the channels and the range it shows, and its histogram.
 * @typedef {{canvas?: HTMLCanvasElement, as?: string, bars?: HTMLCanvasElement}} Painted
 */

/**
 * @typedef {object} How
 * @property {string} name
 * @property {Node[]} [tools]
 * @property {boolean} [small]
 * @property {boolean} [plain]
 * @property {boolean} [fit] from 0 to the largest value at first
 * @property {HTMLCanvasElement[]} [over] canvases of the same size that lie upon the image
 * @property {(x: number, y: number) => string} [tell] what they have at a pixel from below
 * @property {string} [chosen] a pixel "X,Y" from below
 * @property {(x: number, y: number) => void} [pick] what a click on a pixel does
 * @property {Painted} [painted] what an earlier view of this image has painted, which this view takes over
 */

/** The element that shows an image. @param {Image} image @param {How} how */
export const imageView = (image, how) => new ImageView(image, how).element;

/** An image with its tools. Another image of the same size and channels may take its place. */
export class ImageView {
  /** @param {Image} image @param {How} how */
  constructor(image, how) {
    this.how = how;
    this.begin(image, how.painted ?? {});
    this.canvas.setAttribute("aria-label", how.name);
    /** @type {HTMLElement[]} */
    this.tools = [];
    this.frame = h("div", {class: "cursor", hidden: true});
    [this.px, this.py] = how.chosen ? how.chosen.split(",").map(Number) : [-1, -1];
    if (how.plain || how.small) {
      this.paint();
      if (how.plain) this.canvas.style.width = "";
      this.element = h("div", {class: "picture"}, this.canvas);
      return;
    }
    this.value =
        h("code", {text: how.pick ? "point at a pixel; click, or arrows and Enter: its history" : "point at a pixel"});
    this.stack = this.stacked();
    this.tools = this.buttons();
    this.limits = [
      this.limit(this.low, (v) => (this.low = v), "value shown darkest"),
      this.limit(this.high, (v) => (this.high = v), "value shown brightest")
    ];
    const fit = button("fit", () => {
      this.range(this.stats.least, this.stats.most);
      this.paint();
    }, {title: "range from the least to the largest value"});
    this.said = h("i", {text: this.words()});
    this.bars = this.histogram();
    this.paint();
    this.element =
        h("div", {},
          h("div", {class: "tools"}, ...this.tools, h("i", {text: "range"}), ...this.limits, fit, ...(how.tools ?? [])),
          h("div", {class: "picture", data: {picks: how.pick ? "yes" : ""}}, this.stack), h("p", {}, this.value),
          h("p", {}, this.said), this.bars);
  }

  /** Take an image with what was painted of it. @param {Image} image @param {Painted} painted */
  begin(image, painted) {
    const {width, height} = image;
    this.image = image;
    this.painted = painted;
    this.stats = span(image);
    [this.low, this.high] = this.how.fit ? [0, this.stats.most || 1] : first(image);
    this.only = "";
    this.canvas = (painted.canvas ??= h("canvas", {width, height, role: "img", tabindex: "0"}));
  }

  /**
   * Show another image of the same size and channels in place of this one. The page lays out what changes alone: a
   * step between two pictures is as fast as that. @param {Image} image @param {string} name @param {Painted} painted
   */
  change(image, name, painted) {
    const before = this.canvas, focused = document.activeElement === before;
    this.begin(image, painted);
    this.paint();
    if (this.canvas !== before) before.replaceWith(this.canvas);
    this.canvas.setAttribute("aria-label", name);
    if (focused) this.canvas.focus({preventScroll: true});
    this.range(this.low, this.high);
    if (this.pointed) this.tell(...this.pointed);
  }

  /** Update the words and the histogram, which a step shows after its picture. */
  changeRest() {
    const words = this.words(), bars = this.histogram();
    if (this.said && this.said.textContent !== words) this.said.textContent = words;
    if (this.bars !== bars) this.bars?.replaceWith(bars);
    this.bars = bars;
  }

  /** @param {number} low @param {number} high */
  range(low, high) {
    [this.low, this.high] = [low, high];
    [low, high].forEach((value, i) => {
      const input = this.limits?.[i];
      if (input && input.value !== String(value)) input.value = String(value);
    });
  }

  words() {
    const {least, most, odd} = this.stats;
    return `values from ${least} to ${most}${odd ? `; ${number(odd)} are no numbers, shown magenta` : ""}`;
  }

  paint() {
    const {canvas, image: {width, height}, how} = this;
    const wide = how.small ? Math.max(1, Math.min(4, 96 / width)) : zoom || whole(width, height);
    const style = `${width * wide}px`;
    if (canvas.style.width !== style) canvas.style.width = style;
    canvas.style.imageRendering = parseFloat(canvas.style.width) < width ? "auto" : "";
    const as = [this.only, this.low, this.high].join();
    if (this.painted.as !== as)
      canvas.getContext("2d")?.putImageData(shown(this.image, this.only, this.low, this.high), 0, 0);
    this.painted.as = as;
    for (const one of how.over ?? []) {
      one.style.width = canvas.style.width;
      one.style.height = `${(height / width) * parseFloat(canvas.style.width)}px`;
      one.drawAt?.(parseFloat(canvas.style.width) / width);
    }
    this.place();
    for (const b of this.tools) {
      const pressed =
          String(b.textContent === this.only.toUpperCase() || b.textContent === (zoom ? `${zoom}×` : "whole"));
      if (b.getAttribute("aria-pressed") !== pressed) b.setAttribute("aria-pressed", pressed);
    }
  }

  /** Say the values of a pixel. @param {number} x @param {number} below */
  tell(x, below) {
    const {width, height, channels, data, bottomFirst} = this.image;
    const at = ((bottomFirst ? below : height - 1 - below) * width + x) * channels.length;
    this.pointed = [x, below];
    if (this.value)
      this.value.textContent = `x ${x}, y ${below} from below: ${
              [...data.subarray(at, at + channels.length)].join(" ")}${this.how.tell?.(x, below) ?? ""}`;
  }

  /** Mark the chosen pixel. */
  place() {
    const {frame, px, py, image: {width, height}} = this, hidden = !this.inside(px, py);
    if (frame.hidden && hidden) return;
    const by = parseFloat(this.canvas.style.width) / width;
    frame.hidden = hidden;
    Object.assign(
        frame.style, {left: `${px * by}px`, top: `${(height - 1 - py) * by}px`, width: `${by}px`, height: `${by}px`});
  }

  /** @param {number} x @param {number} y */
  inside(x, y) { return x >= 0 && y >= 0 && x < this.image.width && y < this.image.height; }

  /** @param {MouseEvent} event @returns {[number, number]} */
  below({offsetX, offsetY}) {
    const {canvas, image: {width, height}} = this;
    return [
      Math.floor((offsetX / canvas.clientWidth) * width),
      height - 1 - Math.floor((offsetY / canvas.clientHeight) * height)
    ];
  }

  /** The canvas with what lies upon it. Listeners are of the view: the canvas may go to the next one. */
  stacked() {
    const stack = h("div", {class: "stack"}, this.canvas, ...(this.how.over ?? []), this.frame);
    stack.addEventListener("mousemove", (event) => {
      const at = this.below(event);
      if (this.inside(...at)) this.tell(...at);
    });
    const {pick} = this.how;
    if (!pick) return stack;
    stack.addEventListener("click", (event) => {
      const at = this.below(event);
      if (this.inside(...at)) pick(...at);
    });
    stack.addEventListener("keydown", (event) => {
      const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[event.key];
      if (event.key === "Enter" && this.inside(this.px, this.py)) pick(this.px, this.py);
      if (!step) return;
      event.preventDefault();
      const by = event.shiftKey ? 10 : 1, {width, height} = this.image;
      [this.px, this.py] = this.px < 0 ? [width >> 1, height >> 1] : [
        Math.max(0, Math.min(width - 1, this.px + step[0] * by)),
        Math.max(0, Math.min(height - 1, this.py + step[1] * by))
      ];
      this.place();
      this.tell(this.px, this.py);
    });
    return stack;
  }

  /** Buttons for the channels and the scale. */
  buttons() {
    const {channels} = this.image;
    const pick = (/** @type {string} */ letter) => button(letter.toUpperCase(), () => {
      this.only = this.only === letter ? "" : letter;
      this.paint();
    });
    const scales = [0, 0.5, 1, 2, 4, 8].map((by) => button(by ? `${by}×` : "whole", () => {
                                              zoom = by;
                                              this.paint();
                                            }, {title: by ? null : "as large as the panel, at most 1×"}));
    return [...(channels.length > 1 ? [...channels].map(pick) : []), ...scales];
  }

  /** @param {number} now @param {(v: number) => void} set @param {string} name */
  limit(now, set, name) {
    const input = ({target}) => {
      set(Number(target.value));
      this.paint();
    };
    return h("input", {type: "number", step: "any", value: String(now), "aria-label": name, on: {input}});
  }

  histogram() {
    const {painted, image, stats} = this;
    if (painted.bars) return painted.bars;
    const bars =
        h("canvas",
          {width: 256, height: 60, role: "img", "aria-label": `histogram from ${stats.least} to ${stats.most}`});
    setTimeout(() => histogram(bars, image, stats));  // the picture comes first
    return (painted.bars = bars);
  }
}

/** @param {Image} image @param {string} only @param {number} low @param {number} high */
function shown(image, only, low, high) {
  const {width, height, channels, data} = image;
  const made = new ImageData(width, height);
  if (data instanceof Uint8Array && channels === "rgba" && !only && low === 0 && high === 255 && !image.bottomFirst &&
      data.byteOffset % 4 === 0) {
    const from = new Uint32Array(data.buffer, data.byteOffset, width * height), to = new Uint32Array(made.data.buffer),
          opaque = new Uint8Array(new Uint32Array([1]).buffer)[0] ? 0xff000000 : 0xff;
    for (let i = 0; i < to.length; i++) to[i] = from[i] | opaque;
    return made;
  }
  const spread = 255 / (high - low || 1);
  const grey = only || channels.length === 1 || channels === "la";
  const places = grey ? Array(3).fill(only ? channels.indexOf(only) : 0) :
                        ["r", "g", "b"].map((letter) => channels.indexOf(letter));
  for (let y = 0; y < height; y++) {
    let from = (image.bottomFirst ? height - 1 - y : y) * width * channels.length;
    for (let x = 0, to = y * width * 4; x < width; x++, to += 4, from += channels.length) {
      for (let c = 0; c < 3; c++) {
        const v = places[c] < 0 ? low : data[from + places[c]];
        if (!Number.isFinite(v)) {
          made.data.set([255, 0, 255], to);
          break;
        }
        made.data[to + c] = (v - low) * spread;
      }
      made.data[to + 3] = 255;
    }
  }
  return made;
}

/**
 * @param {HTMLCanvasElement} canvas @param {Image} image @param {{least: number, most: number, counts?: Uint32Array}}
 *     stats
 */
function histogram(canvas, image, stats) {
  const context = canvas.getContext("2d");
  const {channels, data} = image;
  if (!context || !(stats.most > stats.least)) return;
  const counts = [...channels].map(() => new Uint32Array(256));
  const scale = 255.999 / (stats.most - stats.least);
  if (stats.counts)
    stats.counts.forEach((n, i) => {
      counts[i >> 8][Math.floor(((i & 255) - stats.least) * scale)] += n;
    });
  else
    for (let i = 0; i < data.length; i++)
      if (Number.isFinite(data[i])) counts[i % channels.length][Math.floor((data[i] - stats.least) * scale)]++;
  const most = Math.log1p(Math.max(...counts.map((one) => Math.max(...one))));
  const colours = {r: "#d33", g: "#2a2", b: "#36d"};
  [...channels].forEach((letter, c) => {
    if (letter === "a") return;
    context.strokeStyle = colours[letter] ?? getComputedStyle(document.body).color;
    context.beginPath();
    counts[c].forEach((n, x) => context.lineTo(x + 0.5, 60 - (Math.log1p(n) / most) * 58));
    context.stroke();
  });
}
