// The row at each place of the list, without holding the rows: frames that unfold, all calls, a filter's calls.
import {get} from "./net.js";
import {firstPlace} from "./units.js";

/**
 * @typedef {object} ListRow
 * @property {"frame"|"group"|"draw"|"run"|"call"} type
 * @property {number} seq the call that selecting the row selects; -1: not known yet
 * @property {number} level
 * @property {number} [frame]
 * @property {string} [kind]
 * @property {string} [text]
 * @property {number} [first] first call folded below it
 * @property {boolean} [open] undefined: nothing can be unfolded
 */

/** Frames > groups > draws > calls. */
export class TreeModel {
  /** @param {import("./recording.js").Recording} recording */
  constructor(recording) {
    this.recording = recording;
    /** @type {Map<number, {outline: any, rows: ListRow[]}>} */
    this.opened = new Map();
    /** @type {Set<number>} */
    this.unfolded = new Set();  // draws and runs, by the call that they stand for
    /** @type {Set<number>} */
    this.folded = new Set();  // groups
    /** @type {{frame: number, before: number, rows: ListRow[]}[]} */
    this.places = [];
    this.length = recording.frameCount;
  }

  get frameCount() { return this.recording.frameCount; }

  /** @param {ListRow} row */
  frameOfRow(row) { return this.recording.frameOf(row.seq); }

  recount() {
    let before = 0;
    this.places = [...this.opened.entries()].sort((a, b) => a[0] - b[0]).map(([frame, {rows}]) => {
      const place = {frame, before, rows};
      before += rows.length;
      return place;
    });
    this.length = this.frameCount + before;
  }

  /** @param {number} index @returns {ListRow} */
  at(index) {
    const {places} = this;
    const above = places[firstPlace(0, places.length, (i) => places[i].frame + places[i].before >= index) - 1];
    if (!above) return this.frameRow(index);
    const below = index - above.frame - above.before - 1;
    if (below < above.rows.length) return above.rows[below];
    return this.frameRow(index - above.before - above.rows.length);
  }

  /** @param {number} frame @returns {ListRow} */
  frameRow(frame) {
    const seq = Math.max(this.recording.frames.end[frame] - 1, 0);
    return {type: "frame", seq, level: 1, frame, open: this.opened.has(frame)};
  }

  /** @param {number} frame */
  rowOfFrame(frame) {
    let row = frame;
    for (const place of this.places)
      if (place.frame < frame) row += place.rows.length;
    return row;
  }

  /** Fold or unfold. @param {number} index @param {boolean} [open] */
  async toggle(index, open) {
    const row = this.at(index);
    if (row.open === undefined || row.open === open) return;
    if (row.type === "frame") {
      const frame = row.frame;
      if (row.open)
        this.opened.delete(frame);
      else
        await this.openFrame(frame);
      return this.recount();
    }
    const set = row.type === "group" ? this.folded : this.unfolded;
    if (set.has(row.seq))
      set.delete(row.seq);
    else
      set.add(row.seq);
    this.rebuild(this.frameOfRow(row));
  }

  /** @param {number} frame */
  async openFrame(frame) {
    const outline = await this.recording.outline(frame);
    this.opened.set(frame, {outline, rows: this.rowsOf(outline)});
  }

  /** @param {number} frame */
  rebuild(frame) {
    const opened = this.opened.get(frame);
    if (opened) opened.rows = this.rowsOf(opened.outline);
    this.recount();
  }

  /** Unfold what hides a call and return its row. @param {number} seq */
  async reveal(seq) {
    const frame = this.recording.frameOf(seq);
    if (!this.opened.has(frame)) await this.openFrame(frame);
    const {outline} = this.opened.get(frame);
    for (const group of outline.groups)
      if (group.seq <= seq && seq < group.end) this.folded.delete(group.seq);
    for (const opened of [false, true]) {
      if (opened) {
        const rows = this.opened.get(frame)?.rows ?? [];
        const holder = rows.find((row) => row.first !== undefined && row.first <= seq && seq <= row.seq);
        if (holder) this.unfolded.add(holder.seq);
      }
      this.rebuild(frame);
      const rows = this.opened.get(frame)?.rows ?? [];
      const found = rows.findIndex((row) => row.seq === seq && row.type !== "run");
      if (found >= 0) return this.rowOfFrame(frame) + 1 + found;
    }
    return this.rowOfFrame(frame);
  }

  /** @param {any} outline @returns {ListRow[]} */
  rowsOf(outline) {
    /** @type {ListRow[]} */
    const rows = [];
    /** @type {{seq: number, end: number}[]} */
    const groups = [...outline.groups].sort((a, b) => a.seq - b.seq);
    /** @type {number[]} */
    const ends = [];           // of the groups around
    let free = outline.first;  // the first call that has no row yet
    let next = 0;
    const hidden = () => ends.some((end) => end < 0);
    const level = () => 2 + ends.length;
    const calls = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ deep) => {
      for (let seq = from; seq < to; seq++) rows.push({type: "call", seq, level: deep});
    };
    const run = (/** @type {number} */ to) => {  // calls that no draw follows
      if (to > free && !hidden()) {
        const row = {type: "run", seq: to - 1, level: level(), first: free, open: this.unfolded.has(to - 1)};
        rows.push(row);
        if (row.open) calls(free, to, level() + 1);
      }
      free = Math.max(free, to);
    };
    const upTo = (/** @type {number} */ seq) => {
      while (ends.length && Math.abs(ends[ends.length - 1]) <= seq) {
        run(Math.abs(ends.at(-1)));
        ends.pop();
      }
    };
    const begin = (group) => {
      upTo(group.seq);
      run(group.seq);
      const open = !this.folded.has(group.seq);
      if (!hidden()) rows.push({type: "group", seq: group.seq, level: level(), text: group.text, open});
      free = group.seq + 1;
      ends.push(open ? group.end : -group.end);
    };
    outline.seqs.forEach((seq, i) => {
      while (next < groups.length && groups[next].seq < seq) begin(groups[next++]);
      upTo(seq);
      if (!hidden()) {
        const open = free < seq ? this.unfolded.has(seq) : undefined;
        const draw = {type: "draw", seq, level: level(), kind: outline.kinds[i], first: free, open};
        rows.push(draw);
        if (open) calls(free, seq, level() + 1);
      }
      free = seq + 1;
    });
    while (next < groups.length) begin(groups[next++]);
    upTo(outline.end);
    run(outline.end);
    return rows;
  }

  async load() {}
}

/** All calls. */
export class FlatModel {
  /** @param {import("./recording.js").Recording} recording */
  constructor(recording) { this.length = recording.calls; }

  /** @param {number} index @returns {ListRow} */
  at(index) { return {type: "call", seq: index, level: 1}; }

  /** @param {number} seq */
  async reveal(seq) { return seq; }

  async toggle() {}
  async load() {}
}

/** The calls of a filter. */
export class SetModel {
  /** @param {import("./recording.js").Recording} recording @param {{id: string, count: number}} set */
  constructor(recording, set) {
    this.recording = recording;
    this.set = set;
    this.length = set.count;
    /** @type {Map<number, number>} */
    this.seqs = new Map();
  }

  /** @param {number} index @returns {ListRow} */
  at(index) { return {type: "call", seq: this.seqs.get(index) ?? -1, level: 1}; }

  /** @param {number} from @param {number} to @param {AbortSignal} signal */
  async load(from, to, signal) {
    let first = from;
    while (first < to && this.seqs.has(first)) first++;
    if (first >= to) return;
    const page = await get(`${this.recording.number}/set/${this.set.id}?at=${first}&count=${to - first + 64}`, signal);
    page.calls.forEach((row, i) => this.seqs.set(first + i, row[0]));
    this.recording.keep(page.calls);
  }

  /** @param {number} seq */
  async reveal(seq) {
    const place = await get(`${this.recording.number}/set/${this.set.id}/place?seq=${seq}`);
    return Math.min(place.position, Math.max(this.length - 1, 0));
  }

  async toggle() {}
}
