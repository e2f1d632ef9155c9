// Findings of the checklist and problems of the file as marks beside the calls: in the list, and over its whole length.
import {get} from "./net.js";
import {placeOf} from "./series.js";
import {sharp} from "./units.js";

const SIGNS = {
  problem: "✖",
  error: "✕",
  warning: "▲",
  note: "●"
};
const ORDER = ["problem", "error", "warning", "note"];

export class Marks {
  /** @param {any} page @param {HTMLCanvasElement} canvas */
  constructor(page, canvas) {
    this.page = page;
    this.canvas = canvas;
    this.clear();
    canvas.addEventListener("click", (event) => {
      const near = this.places.reduce(
          (best, one) => (Math.abs(one.y - event.offsetY) < Math.abs((best?.y ?? 1e9) - event.offsetY) ? one : best),
          this.places[0]);
      if (near) page.go(near.seq);
    });
  }

  clear() {
    /** @type {Map<number, [string, string][]>} */
    this.of = new Map();
    /** @type {number[]} */
    this.seqs = [];
    /** @type {{y: number, seq: number}[]} */
    this.places = [];
  }

  /** Ask until all are there. @param {boolean} findings */
  async load(findings) {
    const {recording} = this.page;
    for (;;) {
      const {marks, more} = await get(`${recording.number}/marks${findings ? "?findings" : ""}`);
      if (recording !== this.page.recording) return;
      this.clear();
      for (const [seq, severity, rule] of marks) {
        const there = this.of.get(seq) ?? [];
        if (!there.length) this.of.set(seq, there);
        there.push([severity, rule]);
      }
      this.seqs = [...this.of.keys()].sort((a, b) => a - b);
      this.page.list.draw();
      this.draw();
      if (!more) return;
      await new Promise((done) => setTimeout(done, 700));
    }
  }

  /** The worst mark of a row, as sign, text and class. @param {number} first @param {number} last */
  between(first, last) {
    let count = 0, worst = 99, rule = "";
    for (let i = placeOf(this.seqs, first); i < this.seqs.length && this.seqs[i] <= last && count < 1000; i++) {
      for (const [severity, what] of this.of.get(this.seqs[i]) ?? []) {
        count++;
        const place = ORDER.indexOf(severity);
        if (place < worst) {
          worst = place;
          rule = what;
        }
      }
    }
    return count ? {kind: ORDER[worst], sign: SIGNS[ORDER[worst]], count, rule} : null;
  }

  /** The next call with a mark. @param {number} seq @param {1|-1} step */
  beside(seq, step) { return step > 0 ? this.seqs.find((one) => one > seq) : this.seqs.findLast((one) => one < seq); }

  /** Marks over the whole length of the list. */
  draw() {
    const {canvas, page} = this, {list, recording} = page;
    const model = list.model;
    const shows = this.seqs.length > 0 && (model === page.tree || page.store.place.list === "flat") &&
        !(page.set && page.store.place.mode === "hide");
    canvas.hidden = !shows;
    if (!shows || !model) return;
    const height = canvas.clientHeight || 1, g = sharp(canvas, 10, height);
    const style = getComputedStyle(document.documentElement);
    const colours = {problem: "--red", error: "--red", warning: "--orange", note: "--soft"};
    this.places = [];
    let before = -9;
    for (const seq of this.seqs) {
      const part =
          model === page.tree ? model.rowOfFrame(recording.frameOf(seq)) / model.length : seq / recording.calls;
      const y = Math.round(part * height);
      const kind = [...(this.of.get(seq) ?? [])]
                       .map(([severity]) => severity)
                       .sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b))[0];
      if (y === before && kind === "note") continue;
      before = y;
      this.places.push({y, seq});
      g.fillStyle = style.getPropertyValue(colours[kind]);
      // Length tells the severity too, not colour alone.
      g.fillRect(0, y, {problem: 10, error: 10, warning: 7, note: 4}[kind] ?? 4, 2);
    }
  }
}
