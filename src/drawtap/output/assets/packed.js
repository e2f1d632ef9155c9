// Numbers that a page carries packed: the block of its data, sums of buckets at each width, places in what ascends.
import {firstPlace} from "./units.js";

/**
 * The data of a page, with its columns as arrays: one compressed block of a header, and columns of whole numbers in
 * planes of bytes. The text leaves the page. @param {HTMLElement} element
 */
export async function unpacked(element) {
  const text = (element.textContent ?? "").trim();
  const raw = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  element.textContent = "";
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = new DataView(all.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + size)));
  let at = 4 + size;
  head.columns = head.columns.map(([n, planes, kind]) => {
    const part = all.subarray(at, at + n * planes);
    at += n * planes;
    return column(part, n, planes, kind);
  });
  return head;
}

/** @param {Uint8Array} part @param {number} n @param {number} planes @param {string} kind */
function column(part, n, planes, kind) {
  if (kind === "f") {
    const whole = new Uint8Array(n * 8);
    for (let p = 0; p < 8; p++)
      for (let i = 0, k = p * n; i < n; i++) whole[i * 8 + p] = part[k + i];
    return new Float64Array(whole.buffer);
  }
  const out = new Float64Array(n);
  for (let p = planes - 1; p >= 0; p--)
    for (let i = 0, k = p * n; i < n; i++) out[i] = out[i] * 256 + part[k + i];
  for (let i = 0; i < n; i++) out[i] = out[i] % 2 ? -(out[i] + 1) / 2 : out[i] / 2;
  if (kind === "d")
    for (let i = 1; i < n; i++) out[i] += out[i - 1];
  return out;
}

/** @typedef {{values: Float64Array, width: number}} Level Sums of buckets, and how wide one is in ns. */

/** Levels from the finest buckets up, neighbours added. @param {Float64Array} values @param {number} width */
export function pyramid(values, width) {
  const levels = [{values, width}];
  while (levels[levels.length - 1].values.length > 64) {
    const fine = levels[levels.length - 1], half = new Float64Array(Math.ceil(fine.values.length / 2));
    for (let i = 0; i < fine.values.length; i++) half[i >> 1] += fine.values[i];
    levels.push({values: half, width: fine.width * 2});
  }
  return levels;
}

/**
 * The finest level that has no more buckets in the view than there are pixels to draw them with. @param {Level[]}
 * levels @param {number} span @param {number} pixels
 */
export const level = (levels, span, pixels) => levels.find(l => span / l.width <= pixels) || levels[levels.length - 1];

/**
 * Sum over [a, b): whole buckets exactly, the two at the edges by their share. @param {Level[]} levels @param {number}
 * a @param {number} b @param {number} total where the last bucket ends
 */
export function sumOver(levels, a, b, total) {
  const fine = levels[0], w = fine.width;
  let s = 0;
  const first = Math.max(0, Math.floor(a / w)), last = Math.min(fine.values.length - 1, Math.ceil(b / w) - 1);
  for (let i = first; i <= last; i++) {
    const lo = Math.max(a, i * w), hi = Math.min(b, (i + 1) * w, total);
    const whole = Math.min((i + 1) * w, total) - i * w;
    s += hi - lo >= whole ? fine.values[i] : fine.values[i] * Math.max(0, hi - lo) / whole;
  }
  return s;
}

/**
 * The first place in a stretch of ascending numbers that has at least t. @param {ArrayLike<number>} values @param
 * {number} lo @param {number} hi @param {number} t
 */
export const placeOf = (values, lo, hi, t) => firstPlace(lo, hi, m => values[m] >= t);
