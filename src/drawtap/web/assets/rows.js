// The list of calls: any number of rows, at most a screenful of elements. The wheel and the keys move by exact rows;
// the scroll bar is scaled where the list is longer than a browser can scroll.
import {duration, h, number} from "./dom.js";
import {placeBy} from "./parts.js";
import {CONTEXT, DURATION, MARKED, NAME, START, TEXT, THREAD} from "./recording.js";
import {shown, valueOf} from "./series.js";

const ROW = 22;             // pixels, as in app.css
const TALLEST = 8_000_000;  // pixels: browsers cut elements at 16 to 33 million
const KINDS = {
  draw: "draw",
  dispatch: "dispatch",
  clear: "clear",
  read: "read-back",
  show: "shows the frame",
  message: "message"
};
export const COLUMNS = {
  seq: "call",
  start: "start",
  duration: "time",
  thread: "thread",
  context: "context"
};

export class CallList {
  /**
   * @param {HTMLElement} element
   * @param {{select: (seq: number, row: any) => void, fail: (error: unknown) => void}} on
   */
  constructor(element, on) {
    this.on = on;
    this.top = 0;  // the first row in view, with a fraction
    this.focus = 0;
    this.begun = false;  // whether rows were drawn
    this.all = true;     // whether all rows in view may have changed since
    this.columns = new Set(["seq", "duration"]);
    this.series = [];   // columns of numbers by frame, draw or call
    this.marks = null;  // findings and problems
    this.spacer = h("div", {class: "spacer"});
    this.body = h("div", {class: "rows", role: "presentation"});
    this.scroller = h(
        "div",
        {class: "scroller", role: "treegrid", tabindex: "0", "aria-label": "calls", "aria-multiselectable": "false"},
        this.spacer,
        this.body,
    );
    element.append(this.scroller);
    /** @type {HTMLElement[]} */
    this.made = [];
    this.tall = 0;        // pixels: the height of what is in view
    this.scrolledTo = 0;  // pixels: where the scroll bar stands
    this.scroller.addEventListener("scroll", () => this.scrolled());
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => this.clicked(event));
    new ResizeObserver(() => this.resized()).observe(this.scroller);
  }

  /** @param {import("./recording.js").Recording} recording @param {any} model */
  show(recording, model) {
    if (model !== this.model) this.owes = false;
    this.recording = recording;
    this.model = model;
    this.top = Math.min(this.top, this.last);
    this.focus = Math.min(this.focus, Math.max(model.length - 1, 0));
    this.resized();
  }

  get visible() { return Math.max(Math.floor(this.tall / ROW), 1); }

  /** The largest value of `top`. */
  get last() { return Math.max((this.model?.length ?? 0) - this.tall / ROW, 0); }

  /** The number of rows to a pixel of the scroll bar. */
  get scale() {
    const range = this.spacer.offsetHeight - this.tall;
    return range > 0 ? this.last / range : 1;
  }

  resized() {
    if (!this.model) return;
    this.tall = this.scroller.clientHeight;  // kept: to ask for it costs a layout of the page after each change
    this.spacer.style.height = `${Math.min(this.model.length * ROW, TALLEST)}px`;
    this.scroller.setAttribute("aria-rowcount", String(this.model.length));
    this.move(this.top);
  }

  /** @param {number} top */
  move(top) {
    this.top = Math.min(Math.max(top, 0), this.last);
    const wanted = Math.round(this.top / this.scale);
    this.placed = wanted;
    if (Math.abs(this.scroller.scrollTop - wanted) >= 1) this.scroller.scrollTop = wanted;
    this.scrolledTo = this.scroller.scrollTop;
    this.draw();
  }

  scrolled() {
    this.scrolledTo = this.scroller.scrollTop;
    if (this.placed !== undefined && Math.abs(this.scrolledTo - this.placed) < 2) return;
    this.placed = undefined;
    this.top = Math.min(this.scrolledTo * this.scale, this.last);
    this.draw();
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (event.ctrlKey || !event.deltaY) return;
    event.preventDefault();
    const rows = event.deltaMode === 0 ? event.deltaY / ROW :
        event.deltaMode === 1          ? event.deltaY :
                                         event.deltaY * this.visible;
    this.move(this.top + rows);
  }

  /** @param {boolean} [all] else only the rows that are the selected one now, or were: their words stay the same */
  draw(all = true) {
    this.all ||= all;
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.drawNow();
    });
  }

  drawNow() {
    if (!this.model || !this.recording) return;
    const first = Math.floor(this.top);
    const count = Math.min(this.visible + 2, this.model.length - first);
    this.body.style.transform = `translateY(${this.scrolledTo - (this.top - first) * ROW}px)`;
    while (this.made.length < count) {
      const row = h("div", {class: "row", role: "row"});
      this.made.push(row);
      this.body.append(row);
    }
    const missing = [], {all} = this;
    this.all = false;
    for (let i = 0; i < this.made.length; i++) {
      const element = this.made[i];
      element.hidden = i >= count;
      if (i >= count) continue;
      const index = first + i;
      const row = this.model.at(index);
      if (this.model.missing ?
              this.model.missing(row) :
              row.type !== "frame" && row.type !== "group" && (row.seq < 0 || !this.recording.seen.has(row.seq)))
        missing.push(row.seq);
      if (all || element.id !== `row-${index}`)
        this.fillRow(element, index, row);
      else
        this.markRow(element, this.isChosen(index, row));
    }
    const active = this.made[this.focus - first];
    if (active && !active.hidden)
      this.scroller.setAttribute("aria-activedescendant", active.id);
    else
      this.scroller.removeAttribute("aria-activedescendant");
    if (missing.length)
      void this.load(first, first + count, missing);
    else if (count > 0 && !this.begun) {
      this.begun = true;
      performance.mark("rows");  // for whoever measures how long they take
    }
  }

  /** @param {number} from @param {number} to @param {number[]} missing */
  async load(from, to, missing) {
    this.loading?.abort();
    const {signal} = (this.loading = new AbortController());
    const {model, recording} = this;
    try {
      await model.load(from, to, signal);
      await recording?.fetch(missing.filter((seq) => seq >= 0), signal);
      if (signal.aborted || model !== this.model) return;
      this.draw();
      if (this.owes) this.choose(this.focus);
    } catch (error) {
      if (!signal.aborted) this.on.fail(error);
    }
  }

  /**
   * Where the filter leaves the selected call out, no row is the selected one. @param {number} index @param {any} row
   */
  isChosen(index, row) { return index === this.focus && (this.selected === undefined || row.seq === this.selected); }

  /** @param {HTMLElement} element @param {boolean} chosen */
  markRow(element, chosen) {
    if (element.ariaSelected === String(chosen)) return;
    element.classList.toggle("chosen", chosen);
    element.setAttribute("aria-selected", String(chosen));
  }

  /** @param {HTMLElement} element @param {number} index @param {import("./models.js").ListRow} row */
  fillRow(element, index, row) {
    const call = this.recording?.seen.get(row.seq), chosen = this.isChosen(index, row);
    element.id = `row-${index}`;
    element.className =
        `row ${row.type} ${row.kind ?? ""}${chosen ? " chosen" : ""}${call && !call[MARKED] ? " dim" : ""}`;
    element.setAttribute("aria-rowindex", String(index + 1));
    element.setAttribute("aria-level", String(row.level));
    element.setAttribute("aria-selected", String(chosen));
    if (row.open === undefined)
      element.removeAttribute("aria-expanded");
    else
      element.setAttribute("aria-expanded", String(row.open));
    element.dataset.index = String(index);
    const cells = this.model.cells?.(row) ?? [];
    if (!this.model.cells)
      for (const column of Object.keys(COLUMNS)) {
        if (this.columns.has(column))
          cells.push(h("span", {class: `cell ${column}`, role: "gridcell", text: this.cell(column, row, call)}));
      }
    if (!this.model.cells)
      for (const series of this.series)
        cells.push(
            h("span", {class: "cell series", role: "gridcell", title: series.name, text: this.number(series, row)}));
    const twisty =
        h("span",
          {class: "twisty",
           "aria-hidden": "true",
           text: row.open === undefined ? "" :
               row.open                 ? "▾" :
                                          "▸"});
    const what =
        h("span", {class: "what", role: "gridcell", style: {paddingLeft: `${(row.level - 1) * 14}px`}}, twisty);
    what.append(...(this.model.words?.(row) ?? [...this.mark(row), ...this.words(row, call)]));
    element.replaceChildren(what, ...cells);
  }

  /** @param {import("./models.js").ListRow} row @param {any} call */
  words(row, call) {
    if (row.type === "frame" && this.recording) {
      const f = row.frame;
      const {first, end, draws} = this.recording.frames;
      const rest = this.recording.rest && f === this.recording.frameCount - 1;
      const drawn = rest ? "" : `, ${number(draws[f])} ${draws[f] === 1 ? "draw" : "draws"}`;
      return [
        h("b", {text: rest ? (f ? "After the last frame" : "No frame ends here") : `Frame ${f}`}),
        h("i", {text: `${number(end[f] - first[f])} calls${drawn}`})
      ];
    }
    if (row.type === "group") return [h("b", {text: row.text || "group"})];
    if (row.type === "run") return [h("i", {text: `${number(row.seq - (row.first ?? 0) + 1)} calls`})];
    if (!call) return [h("i", {text: "…"})];
    const name = call[NAME];
    const rest = call[TEXT].startsWith(name) ? call[TEXT].slice(name.length) : ` ${call[TEXT]}`;
    const kind = row.kind ? h("em", {class: "kind", text: KINDS[row.kind] ?? row.kind}) : "";
    return [kind, h("b", {text: name}), h("span", {class: "args", text: rest})].filter((part) => part !== "");
  }

  /**
   * A series' value of a row: of a frame, or of the call. @param {any} series @param {import("./models.js").ListRow}
   * row
   */
  number(series, row) {
    if (row.type === "frame") return series.per === "frame" ? shown(valueOf(series, row.frame), series.unit) : "";
    if (series.per === "frame" || row.seq < 0 || row.type === "group" || row.type === "run") return "";
    const value = valueOf(series, row.seq);
    return value === null ? "" : shown(value, series.unit);
  }

  /** The findings about a row. @param {import("./models.js").ListRow} row */
  mark(row) {
    if (!this.marks?.seqs.length || row.seq < 0 || !this.recording) return [];
    const frame = row.type === "frame" ? row.frame : -1;
    const first = frame >= 0 ? this.recording.frames.first[frame] : row.type === "run" ? row.first ?? row.seq : row.seq;
    const found = this.marks.between(first, row.seq);
    if (!found) return [];
    const text = frame >= 0 || row.type === "run" ?
        `${found.sign} ${found.count}` :
        `${found.sign} ${found.rule}${found.count > 1 ? ` +${found.count - 1}` : ""}`;
    return [h("em", {class: `mark ${found.kind}`, text, title: `${found.kind}: ${found.rule}`})];
  }

  /** @param {string} column @param {import("./models.js").ListRow} row @param {any} call */
  cell(column, row, call) {
    if (row.type === "frame" && this.recording) {
      const f = row.frame;
      if (column === "seq") return String(this.recording.frames.first[f]);
      if (column === "duration") return duration(this.recording.frames.duration[f]);
      if (column === "start") return this.start(this.recording.frames.start[f]);
      return "";
    }
    if (row.type === "run" || row.type === "group") return column === "seq" ? String(row.first ?? row.seq) : "";
    if (!call) return column === "seq" && row.seq >= 0 ? String(row.seq) : "";
    if (column === "seq") return String(row.seq);
    if (column === "duration") return duration(call[DURATION]);
    if (column === "start") return this.start(call[START]);
    return String(call[column === "thread" ? THREAD : CONTEXT]);
  }

  /** @param {number|null} time */
  start(time) {
    const zero = this.recording?.overview.first_time;
    return time === null || Number.isNaN(time) || zero === null ? "–" : `${((time - zero) / 1e9).toFixed(6)} s`;
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const element = event.target.closest(".row");
    if (!element) return;
    const index = Number(element.dataset.index);
    const unfold = event.target.classList.contains("twisty") || event.detail === 2;
    this.choose(index);
    if (unfold) void this.toggle(index);
  }

  /** @param {number} index @param {boolean} [open] */
  async toggle(index, open) {
    try {
      await this.model.toggle(index, open);
      this.resized();
    } catch (error) {
      this.on.fail(error);
    }
  }

  /** Select a row and bring it into view. @param {number} index @param {{tell?: boolean}} [how] */
  choose(index, {tell = true} = {}) {
    if (!this.model?.length) return;
    this.wish = undefined;
    this.focus = Math.min(Math.max(index, 0), this.model.length - 1);
    if (this.focus < this.top + 1)
      this.move(this.focus - 1);
    else if (this.focus > this.top + this.visible - 2)
      this.move(this.focus - this.visible + 2);
    else
      this.draw(false);
    const row = this.model.at(this.focus);
    this.selected = row.seq >= 0 ? row.seq : undefined;
    this.owes = tell && row.seq < 0;  // which call it is comes with its page
    if (tell && row.seq >= 0) this.on.select(row.seq, row);
  }

  /** Show a call in the middle of the list. @param {number} seq */
  async reveal(seq) {
    if (this.owes) return;  // the user has chosen a row since
    this.wish = seq;
    try {
      const {length} = this.model, index = await this.model.reveal(seq);
      if (this.wish !== seq) return;
      this.selected = seq;
      if (this.model.length !== length) this.resized();
      this.focus = index;
      if (index < this.top || index > this.top + this.visible - 1)
        this.move(index - this.visible / 2);
      else
        this.draw(false);
    } catch (error) {
      this.on.fail(error);
    }
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.altKey || event.metaKey) return;
    const row = this.model?.length ? this.model.at(this.focus) : undefined;
    const goTo = placeBy(event.key, this.focus, this.visible - 2, (this.model?.length ?? 1) - 1);
    if (goTo !== undefined && !(event.shiftKey))
      this.choose(goTo);
    else if (event.key === "ArrowRight" && row?.open === false)
      void this.toggle(this.focus, true);
    else if (event.key === "ArrowRight" && row?.open)
      this.choose(this.focus + 1);
    else if (event.key === "ArrowLeft" && row?.open)
      void this.toggle(this.focus, false);
    else if (event.key === "ArrowLeft" && row && row.level > 1)
      this.choose(this.parent(row));
    else if (event.key === "Enter" && row?.open !== undefined)
      void this.toggle(this.focus);
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {import("./models.js").ListRow} row */
  parent(row) {
    let index = this.focus - 1;
    while (index > 0 && this.model.at(index).level >= row.level) index--;
    return index;
  }
}
