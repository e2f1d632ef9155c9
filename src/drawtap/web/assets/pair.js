// Two recordings on one alignment: which row stands where in the list with - + ~, and what belongs to a row on each
// side.
import {h, number} from "./dom.js";
import {headed, values} from "./image.js";
import {TreeModel} from "./models.js";
import {get, getBytes, stoppable} from "./net.js";

export const SIGNS = ["=", "~", "−", "+"];
const NAMES = ["equal", "changed", "only in A", "only in B"];
const CLASSES = ["equal", "changed", "only_a", "only_b"];

/** Frames that belong together > their calls; calls that are equal stand folded in one row. */
export class PairModel extends TreeModel {
  /** @param {import("./recording.js").Recording} a @param {import("./recording.js").Recording} b */
  constructor(a, b) {
    super(a);
    this.other = b;
    this.path = `pair/${a.number}/${b.number}`;
    /** @type {number[]} */
    this.visible = [];  // pairs of frames that the list shows
    this.hold = "";
    /** @type {{a: number|null, b: number|null}} */
    this.cursors = {a: null, b: null};
    this.outlines = new Map();
    this.sets = "";  // the filters of both sides, for addresses
  }

  /**
   * Show only calls that the filters keep on either side; "" shows all. @param {string} sets @param {AbortSignal}
   * signal @param {boolean} hides
   */
  async filter(sets, signal, hides) {
    if (sets === this.sets) return;
    await this.align(signal, sets);
    this.show(hides);
  }

  /** Align, or wait for the one who does. @param {AbortSignal} signal @param {string} [sets] */
  async align(signal, sets = "") {
    const data = await getBytes(`${this.path}/frames?query=${stoppable(this.recording.number, signal)}${sets}`, signal);
    const {head, at} = headed(data);
    Object.assign(this, {sets, opened: new Map(), outlines: new Map()});
    this.counts = head;
    const column = (/** @type {number} */ i) => values(data, at + 4 * i * head.pairs, "<i4", head.pairs);
    [this.frameA, this.frameB, ...this.kinds] = Array.from({length: 7}, (_, i) => column(i));
    this.all = Array.from({length: head.pairs}, (_, i) => i).filter((i) => !this.sets || this.kinds[4][i] > 0);
    this.differing = this.all.filter((i) => this.kinds[1][i] + this.kinds[2][i] + this.kinds[3][i] > 0);
    this.show(true);
  }

  /** Show the frames that differ, or all; all where none differs. @param {boolean} hides */
  show(hides) {
    const opened = [...this.opened].map(([frame, one]) => ([this.visible[frame], one.outline]));
    this.visible = hides && this.differing.length ? this.differing : this.all;
    const at = new Map(this.visible.map((pair, i) => [pair, i]));
    this.opened = new Map();
    for (const [pair, outline] of opened) {
      const frame = at.get(pair);
      if (frame !== undefined)
        this.opened.set(frame, {outline: {...outline, frame}, rows: this.rowsOf({...outline, frame})});
    }
    this.recount();
  }

  get frameCount() { return this.visible.length; }

  /** @param {import("./models.js").ListRow} row */
  frameOfRow(row) { return row.frame; }

  /** @param {number} frame @returns {any} */
  frameRow(frame) {
    const pair = this.visible[frame], ends = this.ends(pair);
    return {type: "frame", level: 1, frame, pair, ...ends, seq: ends.a, open: this.opened.has(frame)};
  }

  /** The last calls of a pair of frames; where a side has no such frame, the last call before. @param {number} pair */
  ends(pair) {
    const end = (column, recording) => {
      let at = pair;
      while (at >= 0 && column[at] < 0) at--;
      return at < 0 ? 0 : Math.max(recording.frames.end[column[at]] - 1, 0);
    };
    return {a: end(this.frameA, this.recording), b: end(this.frameB, this.other)};
  }

  /** @param {number} pair */
  async outlineOf(pair) {
    const {outlines} = this;  // another filter has others
    if (!outlines.has(pair)) outlines.set(pair, await get(`${this.path}/outline/${pair}?${this.sets}`));
    return outlines.get(pair);
  }

  /** Unfold a frame, unless another filter or choice of frames came before the answer. @param {number} frame */
  async openFrame(frame) {
    const pair = this.visible[frame], {outlines} = this, kept = await this.outlineOf(pair);
    if (outlines !== this.outlines || this.visible[frame] !== pair) return;
    const outline = {...kept, frame};
    this.opened.set(frame, {outline, rows: this.rowsOf(outline)});
  }

  /** Every row knows a call on each side: its own, or the last one before it. @param {any} outline @returns {any[]} */
  rowsOf(outline) {
    const {frame} = outline, pair = this.visible[frame];
    const before = (column, recording, /** @type {"a"|"b"} */ side) =>
        column[pair] < 0 ? this.ends(pair)[side] : Math.max(recording.frames.first[column[pair]] - 1, 0);
    let a = before(this.frameA, this.recording, "a"), b = before(this.frameB, this.other, "b");
    const rows = [];
    for (const [kind, thread, atA, atB, calls, text, beforeA = -1, beforeB = -1] of outline.rows) {
      // Calls that a filter leaves out stand between: the server tells which came last.
      if (atA < 0 && beforeA >= 0) a = beforeA;
      if (atB < 0 && beforeB >= 0) b = beforeB;
      const folds = kind === 0 && calls > 1;
      const open = folds ? this.unfolded.has(atA + calls - 1) : undefined;
      if (folds)
        rows.push({
          type: "run",
          level: 2,
          frame,
          kind: "equal",
          sign: 0,
          thread,
          a: atA + calls - 1,
          b: atB + calls - 1,
          first: atA,
          firstB: atB,
          calls,
          seq: atA + calls - 1,
          open
        });
      for (let k = 0; k < calls && (!folds || open); k++) {
        if (atA >= 0) a = atA + k;
        if (atB >= 0) b = atB + k;
        rows.push({
          type: "call",
          level: folds ? 3 : 2,
          frame,
          kind: CLASSES[kind],
          sign: kind,
          thread,
          a,
          b,
          hasA: atA >= 0,
          hasB: atB >= 0,
          seq: a,
          text
        });
      }
      if (atA >= 0) a = atA + calls - 1;
      if (atB >= 0) b = atB + calls - 1;
    }
    return rows;
  }

  // ---- what the list shows of a row ------------------------------------------------------------------------------

  missing(row) { return row.type === "call" && row.text === null && row.hasA && !this.recording.seen.has(row.a); }

  /**
   * Calls that only B has, and of which the comparison kept no text. @param {number} from @param {number}
   * to @param {AbortSignal} signal
   */
  async load(from = 0, to = 0, signal = new AbortController().signal) {
    const wanted = [];
    for (let i = from; i < Math.min(to, this.length); i++) {
      const row = this.at(i);
      if (row.type === "call" && row.text === null && !row.hasA) wanted.push(row.b);
    }
    if (wanted.length) await this.other.fetch(wanted, signal);
  }

  words(row) {
    if (row.type === "frame") {
      const [a, b] = [this.frameA[row.pair], this.frameB[row.pair]];
      const name = a < 0 ? `Frame ${b} of B` :
          b < 0 ? `Frame ${a} of A` :
          a === b ? `Frame ${a}` :
                    `Frame ${a} of A, ${b} of B`;
      const counts =
          [1, 2, 3].filter((kind) => this.kinds[kind][row.pair]).map((kind) => h("em", {
                                                                       class: `sign ${CLASSES[kind]}`,
                                                                       text: `${SIGNS[kind]} ${
                                                                           number(this.kinds[kind][row.pair])}`,
                                                                       title: NAMES[kind]
                                                                     }));
      const one = a < 0 || b < 0;
      if (this.sets) counts.push(h("i", {text: `${number(this.kinds[4][row.pair])} kept`}));
      return [
        h("b", {text: name}), ...counts, h("i", {
          text: one ? `only in ${a < 0 ? "B" : "A"}` :
              counts.length ? `${number(this.kinds[0][row.pair])} equal` :
                      "equal"
        })
      ];
    }
    const cursors = ["a", "b"].filter(
        (side) => this.hold === side && row[side] === this.cursors[side] &&
            (row.type === "run" || row[side === "a" ? "hasA" : "hasB"]));
    const marks = cursors.map(
        (side) =>
            h("em", {class: "kind", text: side.toUpperCase(), title: `cursor ${side.toUpperCase()} is held here`}));
    if (row.type === "run")
      return [h("span", {class: "sign", text: " "}), ...marks, h("i", {text: `${number(row.calls)} equal calls`})];
    const sign = h("span", {
      class: `sign ${row.kind}`,
      role: "img",
      text: row.sign ? SIGNS[row.sign] : " ",
      "aria-label": NAMES[row.sign]
    });
    const seen = row.hasA ? this.recording.seen.get(row.a) : this.other.seen.get(row.b);
    const text = row.text ?? seen?.[7] ?? "…";
    const name = /^\w+/.exec(text)?.[0] ?? "";
    return [sign, ...marks, h("b", {text: name}), h("span", {class: "args", text: text.slice(name.length)})];
  }

  cells(row) {
    const cell = (/** @type {string} */ side, text) =>
        h("span",
          {class: `cell seq ${side}`, role: "gridcell", text: String(text), title: `call in ${side.toUpperCase()}`});
    if (row.type === "frame") {
      const [a, b] = [this.frameA[row.pair], this.frameB[row.pair]];
      return [
        cell("a", a < 0 ? "" : this.recording.frames.first[a]), cell("b", b < 0 ? "" : this.other.frames.first[b])
      ];
    }
    if (row.type === "run") return [cell("a", row.first), cell("b", row.firstB)];
    return [cell("a", row.hasA ? row.a : ""), cell("b", row.hasB ? row.b : "")];
  }

  /** The number of differences in each of equal parts of A, for the strip. @param {number} buckets */
  density(buckets) {
    const found = new Array(buckets).fill(0), {first, end} = this.recording.frames;
    for (const pair of this.differing) {
      const {a} = this.ends(pair), frame = this.frameA[pair];
      const from = frame < 0 ? a : first[frame], to = frame < 0 ? a : end[frame] - 1;
      const [low, high] = [from, to].map(
          (seq) => Math.min(Math.floor((seq * buckets) / Math.max(this.recording.calls, 1)), buckets - 1));
      for (let i = low; i <= high; i++) found[i]++;
    }
    return found;
  }

  // ---- places ----------------------------------------------------------------------------------------------------

  /** The sides that follow the list. */
  get moving() { return (["a", "b"].filter((side) => side !== this.hold)); }

  /** Tell whether a row is where the cursors are. @param {number} index */
  isAt(index) {
    const row = this.length ? this.at(index) : null;
    return row !== null && this.moving.every((side) => row[side] === this.cursors[side]);
  }

  /** The pair of frames that holds a call of one side. @param {"a"|"b"} side @param {number} seq */
  pairOf(side, seq) {
    const frame = (side === "a" ? this.recording : this.other).frameOf(seq);
    return Array.prototype.indexOf.call(side === "a" ? this.frameA : this.frameB, frame);
  }

  /** The row where the cursors are. */
  async reveal() {
    const [lead] = this.moving, seq = this.cursors[lead] ?? 0;
    const candidates = [...new Set(
        [this.pairOf(lead, seq), ...this.moving.map((side) => this.pairOf(side, this.cursors[side] ?? 0))])];
    let near = -1;
    for (const pair of candidates) {
      const frame = this.visible.indexOf(pair);
      if (frame < 0) continue;
      if (!this.opened.has(frame)) await this.openFrame(frame);
      this.recount();
      for (const unfold of [false, true]) {
        const rows = this.opened.get(frame)?.rows ?? [];
        const found = rows.findIndex((row) => this.moving.every((side) => row[side] === this.cursors[side]));
        if (found >= 0) return this.rowOfFrame(frame) + 1 + found;
        const holds = rows.findIndex(
            (row) => row.type === "run" ? seq >= (lead === "a" ? row.first : row.firstB) && seq <= row[lead] :
                                          row[lead] === seq);
        if (holds >= 0) near = this.rowOfFrame(frame) + 1 + holds;
        if (unfold || holds < 0 || rows[holds].type !== "run") break;
        this.unfolded.add(rows[holds].seq);
        this.rebuild(frame);
      }
    }
    return Math.max(near, 0);
  }

  /**
   * The next row that differs behind the cursors, or the one before them. @param {1|-1} step @param {number} index the
   * focused row
   */
  async beside(step, index) {
    const here = this.length ? this.at(index) : null;
    if (!here) return null;
    const from = here.type === "frame" ? here.pair : this.visible[here.frame];
    const pairs = step > 0 ? this.differing.filter((pair) => pair >= from) :
                             this.differing.filter((pair) => pair <= from).reverse();
    for (const pair of pairs) {
      const inside = pair === from && here.type !== "frame";
      if (pair === from && !inside && step < 0) continue;
      const frame = this.visible.indexOf(pair);
      if (!this.opened.has(frame)) await this.openFrame(frame);
      this.recount();
      const rows = this.opened.get(frame)?.rows ?? [];
      for (let k = (inside       ? this.indexIn(rows, here) :
                        step > 0 ? -1 :
                                   rows.length) +
               step;
           k >= 0 && k < rows.length; k += step)
        if (rows[k].sign > 0) return rows[k];
    }
    return null;
  }

  /** @param {any[]} rows @param {any} row */
  indexIn(rows, row) { return rows.findIndex((one) => one.a === row.a && one.b === row.b && one.type === row.type); }
}
