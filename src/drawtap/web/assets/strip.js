// The time of each frame as bars over the whole run, the selected frame, and where the filter's calls lie.
import { button, duration, fill, h } from "./dom.js";
import { headed } from "./image.js";
import { get, getBytes } from "./net.js";

const THUMB = 54; // pixels: the height of the row of pictures, as in app.css
const AUTOMATIC = 2_000_000; // calls: a longer recording is played only when somebody asks for pictures

export class Strip {
  /** @param {HTMLElement} element @param {(frame: number) => void} go */
  constructor(element, go) {
    this.element = element;
    this.canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img", style: { width: "100%", height: "100%", display: "block" } }));
    this.tip = h("span", { class: "tip", style: { position: "absolute", right: "8px", top: "2px", color: "var(--soft)", pointerEvents: "none" } });
    this.thumbs = h("div", { class: "thumbs", hidden: true });
    this.switch = button("pictures", () => void this.toggle(), { "aria-pressed": "false", title: "small pictures of frames (i)",
      style: { position: "absolute", left: "64px", top: "2px", fontSize: "11px", padding: "0 6px" } });
    element.append(this.canvas, this.thumbs, this.tip, this.switch);
    this.pictures = false;
    this.go = go;
    /** @type {Map<number, HTMLCanvasElement>} */
    this.made = new Map();
    /** @type {number[]} */
    this.density = [];
    this.canvas.addEventListener("click", (event) => go(this.frameAt(event.offsetX)));
    this.canvas.addEventListener("mousemove", (event) => this.point(this.frameAt(event.offsetX)));
    this.canvas.addEventListener("mouseleave", () => this.point(-1));
    new ResizeObserver(() => this.draw()).observe(element);
  }

  /** @param {import("./recording.js").Recording} recording */
  show(recording) {
    this.recording = recording;
    const times = [...recording.frames.duration].filter((t) => !Number.isNaN(t)).sort((a, b) => a - b);
    // One frame that loads must not flatten all others.
    this.tallest = Math.max((times[Math.floor(times.length * 0.99)] ?? 1) * 1.15, 1);
    this.made.clear();
    fill(this.thumbs);
    if (recording.calls <= AUTOMATIC) void this.toggle(true).catch(() => this.toggle(false));
    this.canvas.setAttribute("aria-label", `time of ${recording.frameCount} frames, at most ${duration(times.at(-1))}, median ${duration(times[times.length >> 1])}`);
    this.draw();
  }

  /** Show or hide small pictures of frames; the first time the server begins to make them. */
  async toggle(on = !this.pictures) {
    this.pictures = on;
    this.switch.setAttribute("aria-pressed", String(on));
    this.thumbs.hidden = !on;
    this.element.classList.toggle("pictures", on);
    this.draw();
    const { recording } = this;
    while (recording && this.pictures && recording === this.recording) {
      const { frames, more, why } = await get(`${recording.number}/thumbnails`);
      for (const frame of frames) {
        if (!this.made.has(frame)) this.made.set(frame, await this.thumb(frame));
      }
      this.place();
      this.switch.title = why || "small pictures of frames (i)";
      if (!more || document.hidden) break;
      await new Promise((done) => setTimeout(done, 1500));
    }
  }

  /** @param {number} frame */
  async thumb(frame) {
    const answer = await getBytes(`${this.recording.number}/thumbnail/${frame}`);
    const { head, at } = headed(answer);
    const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { width: head.width, height: head.height, title: `frame ${frame}`, on: { click: () => this.go(frame) } }));
    const data = new Uint8ClampedArray(answer, at, head.width * head.height * 4);
    for (let i = 3; i < data.length; i += 4) data[i] = 255;
    canvas.getContext("2d")?.putImageData(new ImageData(data, head.width, head.height), 0, 0);
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
    fill(this.thumbs, ...shown);
  }

  /** @param {number} x */
  frameAt(x) {
    const count = this.recording?.frameCount ?? 0;
    return Math.min(Math.max(Math.floor((x / this.canvas.clientWidth) * count), 0), count - 1);
  }

  /** @param {number} frame */
  point(frame) {
    const f = this.recording?.frames;
    this.tip.textContent = f && frame >= 0 && frame < this.recording.frameCount ? `frame ${frame}: ${duration(f.duration[frame])}, ${f.end[frame] - f.first[frame]} calls, ${f.draws[frame]} draws` : "";
  }

  draw() {
    const context = this.canvas.getContext("2d");
    if (!context || !this.recording) return;
    const scale = devicePixelRatio, width = this.element.clientWidth, height = this.element.clientHeight;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    context.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name);
    const { frameCount, frames } = this.recording;
    const base = height - 8;
    const top = this.pictures ? THUMB : 4;
    this.switch.style.top = `${this.pictures ? THUMB : 2}px`;
    if (this.made.size) this.place();
    const columns = Math.min(Math.ceil(width), frameCount);
    for (let column = 0; column < columns; column++) {
      const from = Math.floor((column * frameCount) / columns), to = Math.max(Math.floor(((column + 1) * frameCount) / columns), from + 1);
      let longest = 0;
      for (let f = from; f < to; f++) if (frames.duration[f] > longest) longest = frames.duration[f];
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
      const at = (/** @type {number} */ part) => (this.recording.frameOf(Math.floor((part * this.recording.calls) / this.density.length)) / frameCount) * width;
      context.fillRect(at(i), base + 2, Math.max(at(i + 1) - at(i), 1.5), 5);
    });
    context.globalAlpha = 1;
    if (this.frame !== undefined && this.frame !== null) {
      context.fillStyle = colour("--ink");
      context.fillRect(((this.frame + 0.5) / frameCount) * width - 1, 0, 2, height);
    }
    context.fillStyle = colour("--soft");
    context.font = "11px system-ui, sans-serif";
    context.fillText(duration(this.tallest), 4, top + 10);
  }
}
