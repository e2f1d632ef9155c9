// Numbers by frame, draw or call: bars over the run, and columns of the list.
import {bytes, duration} from "./dom.js";
import {headed} from "./image.js";
import {get, getBytes} from "./net.js";
import {firstPlace} from "./units.js";

export class AllSeries {
  /** @param {number} recording */
  constructor(recording) {
    this.recording = recording;
    /** @type {{key: string, name: string, per: string, unit: string}[]} */
    this.list = [];
    /** @type {Map<string, any>} */
    this.known = new Map();
  }

  async load() { this.list = await get(`${this.recording}/series`); }

  /** @param {string} key @returns {any} undefined as long as it is not there */
  now(key) { return this.known.get(key); }

  /**
   * The keys ascend. @param {string} key @returns {Promise<{key: string, name: string, per: string, unit: string,
   * keys: Uint32Array, values: Float64Array}>}
   */
  async get(key) {
    if (!this.known.has(key)) {
      const answer = await getBytes(`${this.recording}/series?of=${encodeURIComponent(key)}`);
      const {head, at} = headed(answer);
      const keys = new Uint32Array(answer, at, head.n);
      this.known.set(
          key, {...head, keys, values: new Float64Array(answer, at + Math.ceil((head.n * 4) / 8) * 8, head.n)});
    }
    return this.known.get(key);
  }
}

/** The place of a key, or of the next larger one. @param {ArrayLike<number>} keys @param {number} key */
export const placeOf = (keys, key) => firstPlace(0, keys.length, (i) => keys[i] >= key);

/** @param {any} series @param {number} key @returns {number|null} */
export function valueOf(series, key) {
  const at = placeOf(series.keys, key);
  return series.keys[at] === key ? series.values[at] : null;
}

/** @param {number|null|undefined} value @param {string} unit */
export function shown(value, unit) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (unit === "ns") return duration(value);
  if (unit === "bytes") return bytes(value);
  const short = Number.isInteger(value) ? String(value) : Number(value.toPrecision(4)).toString();
  return unit === "percent" ? `${short} %` : unit && unit !== "count" ? `${short} ${unit}` : short;
}
