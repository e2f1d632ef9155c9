// The time of each frame as bars over the whole run, the selected frame, and where the filter's calls lie.
import { duration, h } from "./dom.js";

export class Strip {
  /** @param {HTMLElement} element @param {(frame: number) => void} go */
  constructor(element, go) {
    this.element = element;
    this.canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img", style: { width: "100%", height: "100%", display: "block" } }));
    this.tip = h("span", { class: "tip", style: { position: "absolute", right: "8px", top: "2px", color: "var(--soft)", pointerEvents: "none" } });
    element.append(this.canvas, this.tip);
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
    this.canvas.setAttribute("aria-label", `time of ${recording.frameCount} frames, at most ${duration(times.at(-1))}, median ${duration(times[times.length >> 1])}`);
    this.draw();
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
    const columns = Math.min(Math.ceil(width), frameCount);
    for (let column = 0; column < columns; column++) {
      const from = Math.floor((column * frameCount) / columns), to = Math.max(Math.floor(((column + 1) * frameCount) / columns), from + 1);
      let longest = 0;
      for (let f = from; f < to; f++) if (frames.duration[f] > longest) longest = frames.duration[f];
      const over = longest > this.tallest;
      const tall = (Math.min(longest / this.tallest, 1)) * (base - 4);
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
      const at = (part) => ((this.recording.frameOf(Math.floor((part * this.recording.calls) / this.density.length)) + 0) / frameCount) * width;
      context.fillRect(at(i), base + 2, Math.max(at(i + 1) - at(i), 1.5), 5);
    });
    context.globalAlpha = 1;
    if (this.frame !== undefined && this.frame !== null) {
      context.fillStyle = colour("--ink");
      context.fillRect(((this.frame + 0.5) / frameCount) * width - 1, 0, 2, height);
    }
    context.fillStyle = colour("--soft");
    context.font = "11px system-ui, sans-serif";
    context.fillText(duration(this.tallest), 4, 12);
  }
}
