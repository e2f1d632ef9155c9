// The page's own copy of a recording: frames as arrays, and the calls that it has shown.
import {get, getBytes} from "./net.js";
import {firstPlace} from "./units.js";

/** @typedef {[number, number, number, number, string, number|null, number|null, string, boolean]} CallRow */
export const SEQ = 0, FRAME = 1, THREAD = 2, CONTEXT = 3, NAME = 4, START = 5, DURATION = 6, TEXT = 7, MARKED = 8;
const KEPT = 20_000;
const COLUMNS = ["first", "end", "start", "duration", "draws", "uploads"];

export class Recording {
  /** @param {number} number @param {any} overview */
  constructor(number, overview) {
    this.number = number;
    this.overview = overview;
    this.calls = overview.calls;
    this.frameCount = 0;
    this.rest = false;  // whether the last row of `frames` holds what follows the last frame
    /** @type {Record<string, Float64Array>} */
    this.frames = {};
    /** @type {Map<number, CallRow>} */
    this.seen = new Map();
    /** @type {Map<number, any>} */
    this.outlines = new Map();
    this.marks = "";
  }

  /** @param {{data: ArrayBuffer, at: number}} [given] the frames' columns, where they came already */
  async load(given) {
    const {data, at} = given ?? {data: await getBytes(`${this.number}/frames`), at: 0};
    this.frameCount = (data.byteLength - at) / (8 * COLUMNS.length);
    this.rest = this.frameCount > this.overview.frames;
    COLUMNS.forEach((name, i) => {
      this.frames[name] = new Float64Array(data, at + i * this.frameCount * 8, this.frameCount);
    });
  }

  /** Count what display lists draw; tell whether the program has any. */
  async countLists() {
    const counts = await get(`${this.number}/drawn`);
    if (!counts) return false;
    this.frames.draws = new Float64Array(this.frameCount);
    for (const [frame, count] of counts) this.frames.draws[frame] = count;
    return true;
  }

  /** The frame that a call belongs to. @param {number} seq */
  frameOf(seq) {
    const {first} = this.frames;
    return Math.max(firstPlace(0, this.frameCount, (frame) => first[frame] > seq) - 1, 0);
  }

  /** Say by which filter rows are marked; what was seen is forgotten. @param {string} key */
  markBy(key) {
    if (key === this.marks) return;
    this.marks = key;
    this.seen.clear();
  }

  /** Fetch the calls that were not seen yet. @param {number[]} seqs @param {AbortSignal} signal */
  async fetch(seqs, signal) {
    const wanted = seqs.filter((seq) => !this.seen.has(seq)).sort((a, b) => a - b).slice(0, 400);
    if (!wanted.length) return;
    const runs = [];
    for (const seq of wanted) {
      const last = runs.at(-1);
      if (last && last[1] === seq - 1)
        last[1] = seq;
      else
        runs.push([seq, seq]);
    }
    const text = runs.map(([a, b]) => (a === b ? a : `${a}-${b}`)).join(",");
    const rows = await get(`${this.number}/calls?seqs=${text}${this.marks ? `&set=${this.marks}` : ""}`, signal);
    this.keep(rows);
    for (const seq of wanted) {
      if (!this.seen.has(seq))
        this.seen.set(seq, [seq, 0, 0, 0, "", null, null, "this part of the recording is damaged", true]);
    }
  }

  /** @param {CallRow[]} rows */
  keep(rows) {
    for (const row of rows) this.seen.set(row[SEQ], row);
    for (const seq of this.seen.keys()) {
      if (this.seen.size <= KEPT) break;
      this.seen.delete(seq);
    }
  }

  /** Draws and groups below a frame. @param {number} frame */
  async outline(frame) {
    if (!this.outlines.has(frame)) this.outlines.set(frame, await get(`${this.number}/outline/${frame}`));
    return this.outlines.get(frame);
  }
}
