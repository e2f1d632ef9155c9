// The page of a corpus: recordings beside builds, and what is known of one recording on one build.
import {button, counted, duration, element, fill, h, number} from "./dom.js";
import {historyPlot, pairPlot} from "./fleet_plots.js";
import {aboutKeys, chooseTab, fail, makeTabs, say} from "./furniture.js";
import {Keys} from "./keys.js";
import {get, getBytes, post} from "./net.js";
import {copy, facts, failure, n, options, placeBy, quiet, select, sheet, title} from "./parts.js";
import {percent} from "./units.js";

const ROW = 26;    // pixels
const AROUND = 8;  // rows beyond those that are seen
const PAGE = 20;   // rows that PageDown passes
const PANELS = [{id: "cell", name: "Recording on build"}, {id: "farm", name: "Machines"}];
/** @type {Record<string, [string, string]>} sign and class of a label */
const SIGNS = {
  approved: ["✓", "good"],
  same: ["=", "soft"],
  differs: ["≠", "red"],
  rejected: ["✗", "red"],
  flaky: ["≈", "warn"],
  unknown: ["?", "soft"],
  played: ["·", "soft"],
  regression: ["▲", "red"],
  faster: ["▼", "good"],
};
/** @param {string} label */
const sign = (label) => SIGNS[label] ??
    ["!", ["unsupported", "timeout", "infrastructure", "machine-lost"].includes(label) ? "warn" : "red"];

/** Asks the server that sent the page. */
class Served {
  constructor() { this.live = true; }
  matrix(/** @type {boolean} */ fresh) { return get(`fleet${fresh ? "?fresh" : ""}`); }
  machines() { return get("fleet/machines"); }
  cell(/** @type {string} */ trace, /** @type {string} */ key, /** @type {AbortSignal} */ signal) {
    return get(`fleet/cell/${trace}/${key}`, signal);
  }
  /** @param {any} cell @param {string} what @param {AbortSignal} signal */
  async picture(cell, what, signal) {
    const path = what === "difference" ?
        `fleet/difference/${cell.trace}/${cell.build.key}/${cell.frame}/${cell.right}/${cell.got}` :
        `fleet/picture/${cell.trace}/${what === "got" ? cell.build.key : "-"}/${cell.frame}/${cell[what]}`;
    return URL.createObjectURL(new Blob([await getBytes(path, signal)], {type: "image/png"}));
  }
}

/** Reads what stands in the page itself. */
class Filed {
  constructor(data) {
    this.data = data;
    this.live = false;
  }
  async matrix() { return this.data; }
  async machines() { return this.data.machines; }
  async cell(/** @type {string} */ trace, /** @type {string} */ key) {
    const found = this.data.cells[`${trace}/${key}`];
    if (!found) throw new Error("This file has no details of this cell: drawtap corpus serve shows them.");
    return found;
  }
  async picture(cell, /** @type {string} */ what) {
    const found = cell.pictures?.[what];
    if (!found)
      throw new Error(
          cell.pictures?.error ??
          (cell.pictures ? "no picture was kept" : "pictures of this cell did not fit into the file"));
    return found;
  }
}

export class FleetPage {
  /** @param {any} [data] of a page that has no server */
  constructor(data) {
    this.source = data ? new Filed(data) : new Served();
    this.data = null;
    this.place = {trace: "", build: "", find: "", label: "", by: "", tab: "cell"};
    this.view = [];
    this.drawn = "";
    document.body.classList.add("fleet");
    document.title = "corpus – drawtap";
    this.keys = new Keys(this.commands(), fail);
    this.find = h("input", {
      type: "search",
      size: 26,
      placeholder: "name, id, tag=value   ( / )",
      "aria-label": "find recordings",
      on: {input: () => this.go({find: this.find.value})}
    });
    this.label = select("label", [], (label) => this.go({label}));
    this.by = select("groups", [], (by) => this.go({by}));
    this.count = h("i", {role: "status"});
    this.head = h("div", {class: "grid head", role: "row"});
    this.spacer = h("div", {class: "spacer"});
    this.rows = h("div", {class: "rows"});
    const on = {scroll: () => this.draw(), keydown: (e) => this.key(e), click: (e) => this.click(e)};
    this.scroller =
        h("div", {class: "scroller", role: "grid", tabindex: "0", "aria-label": "recordings and builds", on}, this.head,
          this.spacer, this.rows);
    element("list").append(this.scroller);
    fill(element("bar"), this.find, this.label, this.by, h("span", {class: "gap"}), this.count);
    element("menu").addEventListener("click", () => this.keys.palette());
    makeTabs(PANELS, (tab) => this.go({tab}));
    addEventListener("hashchange", () => this.read());
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  async begin() {
    fill(element("what"), "reading the recordings and their builds ...");
    await this.load();
    this.read();
    this.scroller.focus();
  }

  async load(fresh = false) {
    this.data = await this.source.matrix(fresh);
    const {labels, builds, columns, rows, red} = this.data;
    const isRed = new Set(red.map((one) => labels.indexOf(one)));
    this.red = isRed;
    // The worst label of each recording says where it stands.
    this.worst = rows.map(() => labels.length);
    const there = new Set();
    for (const column of columns) {
      for (const one of [column.images, column.speed]) {
        for (let r = 0; r < one.length; r++) {
          if (one[r] < 0) continue;
          there.add(one[r]);
          if (one[r] < this.worst[r]) this.worst[r] = one[r];
        }
      }
    }
    const tags = [...new Set(rows.flatMap((row) => Object.keys(row[3])))].sort();
    const used = labels.filter((_, i) => there.has(i));
    const labelled = used.map((one) => [one, `${sign(one)[0]} ${one}`]);
    fill(this.label, ...options([["", "all labels"], ["red", "what is red"], ...labelled]));
    fill(this.by, ...options([["", "the worst first"], ...tags.map((one) => [one, `by ${one}`])]));
    const cuts = rows.filter((_, r) => this.isBareCut(r)).length;
    const notes = [
      counted(rows.length - cuts, "recording"), cuts && `${counted(cuts, "cut")} of them`,
      counted(builds.length, "build"), this.data.older && `${this.data.older} older ones left out`,
      this.data.stale && `${number(this.data.stale)} labels are older than decisions`,
      this.data.left_out && `details of ${number(this.data.left_out)} cells left out`
    ].filter(Boolean);
    fill(element("what"), h("b", {text: this.data.store}), ` ${notes.join(" · ")} `);
    this.scroller.style.setProperty("--builds", String(builds.length));
    fill(
        this.head, h("span", {class: "name", role: "columnheader", text: "recording"}),
        ...builds.map((b, i) => this.headOf(b, columns[i])));
  }

  /** Is the recording a cut of a verdict, which no build has played? @param {number} r */
  isBareCut(r) { return this.worst[r] === this.data.labels.length && "cut_of" in this.data.rows[r][3]; }

  /** The outcomes of all recordings on a build. @param {any} build @param {any} column */
  headOf(build, column) {
    const {labels} = this.data;
    const twice = this.data.builds.filter((one) => one.name === build.name).length > 1;
    const red =
        column.images.map((one, r) => this.red?.has(one) || this.red?.has(column.speed[r])).filter(Boolean).length;
    const open = column.speed.filter((one) => labels[one] === "unknown").length;
    const shows = column.detectable.filter((one, r) => one !== null && labels[column.speed[r]] === "unknown")
                      .sort((a, b) => a - b);
    const effects = column.effect.filter((one) => one !== null);
    const mean = effects.length ?
        100 * Math.expm1(effects.reduce((sum, one) => sum + Math.log1p(one / 100), 0) / effects.length) :
        null;
    const told = [
      `${build.name} (${build.key.slice(0, 8)})`, build.renderer, build.version, `${red} red`,
      mean !== null && `slower by ${percent(mean)} (geometric mean of ${effects.length})`,
      open && `${open} of unknown speed; ${percent(shows[shows.length >> 1])} would have shown in half of them`
    ].filter(Boolean).join("\n");
    return h(
        "span", {class: "build", role: "columnheader", title: told}, h("b", {text: build.name}),
        twice && h("i", {text: build.key.slice(0, 6)}),
        h("span", {class: red ? "red" : "soft", text: red ? `${number(red)} red` : "none red"}),
        h("span", {class: "soft", text: mean === null ? "" : percent(mean, 1)}));
  }

  // ---- the place ---------------------------------------------------------------------------------------------------

  read() {
    const parts = new URLSearchParams(location.hash.slice(1));
    for (const key of Object.keys(this.place)) this.place[key] = parts.get(key) ?? (key === "tab" ? "cell" : "");
    if (this.find.value !== this.place.find) this.find.value = this.place.find;
    this.label.value = this.place.label;
    this.by.value = this.place.by;
    this.arrange();
    void this.show();
  }

  /** @param {Record<string, string>} changes */
  go(changes) {
    const step = "trace" in changes || "tab" in changes;
    Object.assign(this.place, changes);
    const parts = new URLSearchParams(Object.entries(this.place)
                                          .filter(([key, value]) => value && !(key === "tab" && value === "cell"))
                                          .map(([key, value]) => [key, String(value)]));
    history[step ? "pushState" : "replaceState"](null, "", `#${parts}`);
    this.read();
  }

  // ---- the matrix --------------------------------------------------------------------------------------------------

  /** Choose the rows and their order. */
  arrange() {
    const {rows, columns, labels} = this.data, {find, label, by} = this.place;
    const words = find.toLowerCase().split(" ").filter(Boolean), wanted = labels.indexOf(label);
    const fits = (/** @type {number} */ r) => {
      const [trace, file, , tags] = rows[r];
      if (!find && !by && this.isBareCut(r)) return false;
      const text = () => `${file} ${Object.entries(tags).map(([n, v]) => `${n}=${v}`).join(" ")}`.toLowerCase();
      if (words.length && !words.every((word) => trace.startsWith(word) || text().includes(word))) return false;
      if (label === "red") return this.red?.has(this.worst[r]);
      return wanted < 0 || columns.some((c) => c.images[r] === wanted || c.speed[r] === wanted);
    };
    const key = JSON.stringify([find, label, by]);
    if (key === this.arranged && this.view.of === this.data) return this.draw();
    this.arranged = key;
    /** @type {number[]} */
    const all = rows.map((_, r) => r);
    const chosen = all.filter(fits), cuts = all.filter((r) => this.isBareCut(r)).length;
    const order = (/** @type {number} */ a, /** @type {number} */ b) => this.worst[a] - this.worst[b] ||
        (rows[a][1] < rows[b][1]     ? -1 :
             rows[a][1] > rows[b][1] ? 1 :
                                       a - b);
    if (by) {
      /** @type {Map<string, number[]>} */
      const groups = new Map();
      for (const r of chosen.sort(order))
        groups.set(rows[r][3][by] ?? "", [...(groups.get(rows[r][3][by] ?? "") ?? []), r]);
      this.view = [...groups].flatMap(([name, of]) => [{name, of}, ...of]);
    } else
      this.view = chosen.sort(order);
    Object.assign(this.view, {of: this.data});
    const listed = find || by ? rows.length : rows.length - cuts;
    fill(
        this.count,
        chosen.length < listed ? `${number(chosen.length)} of ${number(listed)}` :
            listed < rows.length ? `find cut_of for ${counted(cuts, "cut")}` :
                                   "");
    this.spacer.style.height = `${this.view.length * ROW}px`;
    this.drawn = "";
    this.draw();
  }

  draw() {
    if (!this.data) return;
    const top = this.scroller.scrollTop, first = Math.max(0, Math.floor(top / ROW) - AROUND);
    const last = Math.min(this.view.length, Math.ceil((top + this.scroller.clientHeight) / ROW) + AROUND);
    const key = `${first} ${last} ${this.arranged} ${this.place.trace} ${this.place.build}`;
    if (key === this.drawn) return;
    this.drawn = key;
    this.rows.style.transform = `translateY(${first * ROW + this.head.offsetHeight}px)`;
    fill(
        this.rows,
        ...this.view.slice(first, last)
            .map((one, i) => (typeof one === "number" ? this.rowOf(one, first + i) : this.groupOf(one))));
  }

  /** @param {{name: string, of: number[]}} group */
  groupOf(group) {
    const bad = group.of.filter((r) => this.red?.has(this.worst[r])).length;
    return h(
        "div", {class: "grid row group", role: "row"},
        h("span", {class: "name"}, h("b", {text: group.name || `without ${this.place.by}`}),
          h("i", {text: `${number(group.of.length)}${bad ? ` · ${number(bad)} red` : ""}`})));
  }

  /** @param {number} r @param {number} place */
  rowOf(r, place) {
    const [trace, file, frames, tags] = this.data.rows[r], {labels, columns, builds} = this.data;
    const cells = columns.map((c, i) => {
      const images = labels[c.images[r]], speed = labels[c.speed[r]];
      const chosen = trace === this.place.trace && builds[i].key === this.place.build;
      const [glyph, tone] = images ? sign(images) : ["", "soft"];
      const word = images && !SIGNS[images] ? images : "";
      const told = [
        builds[i].name, images ?? "not played", speed && `speed: ${speed}, ${percent(c.effect[r])}`,
        speed === "unknown" && `${percent(c.detectable[r])} would have shown`
      ].filter(Boolean).join("\n");
      return h(
          "span", {
            class: `cell ${chosen ? "chosen" : ""}`,
            role: "gridcell",
            "aria-selected": String(chosen),
            title: told,
            data: {build: builds[i].key}
          },
          h("b", {class: tone, text: `${glyph}${word ? ` ${word}` : ""}`, "aria-label": images ?? "not played"}),
          speed && h("span", {
            class: speed === "regression" ? "red" :
                speed === "faster"        ? "good" :
                                            "soft",
            text: speed === "unknown" ? "speed ?" : percent(c.effect[r], 1)
          }));
    });
    const text = Object.entries(tags).map(([n, v]) => `${n}=${v}`).join(" ");
    return h(
        "div", {
          class: `grid row ${trace === this.place.trace ? "chosen" : ""}`,
          role: "row",
          "aria-rowindex": place + 1,
          data: {trace}
        },
        h("span", {class: "name", role: "rowheader", title: `${file}\n${trace}\n${number(frames)} frames\n${text}`},
          h("b", {text: file}), h("i", {text: trace.slice(0, 12)}), h("i", {text})),
        ...cells);
  }

  /** @param {Event} event */
  click(event) {
    const target = event.target;
    const row = target.closest("[data-trace]"), cell = target.closest("[data-build]");
    if (row)
      this.go({
        trace: String(row.dataset.trace),
        build: String(cell?.dataset.build ?? this.worstBuild(String(row.dataset.trace))),
        tab: "cell"
      });
  }

  /** The build of a recording that has the worst label. @param {string} trace */
  worstBuild(trace) {
    const {rows, columns, builds} = this.data, r = rows.findIndex((row) => row[0] === trace);
    const rank = (c) => Math.min(...[c.images[r], c.speed[r]].filter((one) => one >= 0), Infinity);
    let best = builds.length - 1;
    columns.forEach((c, i) => {
      if (rank(c) < rank(columns[best])) best = i;
    });
    return builds[best]?.key ?? "";
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const {builds, rows} = this.data, seen = this.view.filter((one) => typeof one === "number");
    const r = seen.findIndex((one) => rows[one][0] === this.place.trace),
          c = builds.findIndex((b) => b.key === this.place.build);
    const row = placeBy(event.key, r, PAGE, seen.length - 1), sideways = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if ((row === undefined && !sideways) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    if (!seen.length || !builds.length) return;
    const column = c < 0 ? builds.length - 1 : Math.min(Math.max(c + (sideways ?? 0), 0), builds.length - 1);
    this.select(seen[r < 0 ? 0 : row ?? r], builds[column].key);
  }

  /** @param {number} r @param {string} build */
  select(r, build) {
    const place = this.view.indexOf(r), top = place * ROW, seen = this.scroller.clientHeight - this.head.offsetHeight;
    if (top < this.scroller.scrollTop)
      this.scroller.scrollTop = top;
    else if (top + ROW > this.scroller.scrollTop + seen)
      this.scroller.scrollTop = top + ROW - seen;
    this.go({trace: this.data.rows[r][0], build, tab: "cell"});
  }

  /** To the next cell that is red, or the one before. @param {number} way */
  nextRed(way) {
    const {columns, builds, rows} = this.data, found = [];
    for (const one of this.view)
      if (typeof one === "number")
        columns.forEach((c, i) => {
          if (this.red?.has(c.images[one]) || this.red?.has(c.speed[one])) found.push([one, builds[i].key]);
        });
    if (!found.length) return say("nothing is red here");
    const now = found.findIndex(([r, key]) => rows[r][0] === this.place.trace && key === this.place.build);
    const [r, key] = found[now < 0 ? (way > 0 ? 0 : found.length - 1) : (now + way + found.length) % found.length];
    this.select(r, key);
  }

  // ---- a cell ------------------------------------------------------------------------------------------------------

  async show() {
    this.asking?.abort();
    const {signal} = (this.asking = new AbortController()), {tab, trace, build} = this.place;
    chooseTab(tab);
    const panel = element("panel"), isFarm = tab === "farm";
    panel.dataset.ready = "";
    if (panel.dataset.tab !== tab) fill(panel);  // words of another tab
    panel.dataset.tab = tab;
    try {
      const answer = await (isFarm ? this.source.machines() : trace && this.source.cell(trace, build, signal));
      if (signal.aborted) return;
      if (isFarm)
        fill(panel, this.farm(answer));
      else if (!trace)
        fill(panel, h("p", {text: this.nextStep()}), this.legend());
      else
        fill(panel, ...this.detail(answer, signal));
    } catch (error) {
      if (signal.aborted) return;
      fill(panel, ...failure(error));
    }
    panel.dataset.ready = "yes";
  }

  /** The words of the panel where no cell is chosen. */
  nextStep() {
    const {rows, builds} = this.data;
    if (!rows.length) return "The corpus has no recording yet: drawtap corpus add puts some in.";
    if (!builds.length) return "No build has played these recordings yet: drawtap corpus replay plays them on builds.";
    return "Choose a cell: what the build draws, how fast it is, and how to see it here.";
  }

  legend() {
    const told = {
      approved: "somebody approved these images",
      same: "as the build that it was compared with",
      differs: "other images than those",
      rejected: "somebody rejected these images",
      flaky: "a few pixels change from run to run",
      unknown: "nobody has said what is right",
      played: "played, and not judged",
      regression: "it takes more time, and fresh pairs confirm that",
      faster: "it takes less time than with the build that it was compared with"
    };
    const line = ([glyph, tone], text) => h("li", {}, h("b", {class: tone, text: glyph}), h("span", {text}));
    return h(
        "ul", {class: "meaning"},
        ...Object.entries(told).map(([label, text]) => line(sign(label), `${label}: ${text}`)),
        line(sign("crash"), "crash, hang, oom, device-lost, gl-error, skipped-calls: how the run failed"),
        line(
            sign("timeout"),
            "unsupported, timeout, infrastructure, machine-lost: the run says nothing about the build"));
  }

  /** @param {any[]} machines */
  farm(machines) {
    if (!machines.length)
      return h("p", {text: "No machine has measured pairs yet: drawtap corpus verdict --speed does."});
    const rows = machines.map(
        (m) => [h("td", {class: "mono", text: m.name || "unnamed"}), n(number(m.pairs)), n(spread(m)), when(m.last)]);
    return h(
        "div", {}, title("Machines that measured pairs"), h("p", {
          text: "The spread is the median distance of a pair from the median of its recording and builds. " +
              "Where it is large, more pairs are needed."
        }),
        h("div", {class: "scroll"}, sheet(["machine", "pairs", "spread", "last"], rows)));
  }

  /** @param {any} cell @param {AbortSignal} signal */
  detail(cell, signal) {
    const row = this.data.rows.find((one) => one[0] === cell.trace);
    const {run, speed, build, history} = cell;
    return [
      title(
          row ? row[1] : cell.trace.slice(0, 12), `on ${build.name}${cell.base ? `, compared with ${cell.base}` : ""}`),
      facts(
          [
            ["images", cell.label && h("span", {}, labelled(cell.label), ` ${cell.detail ?? ""}`)],
            [
              "run",
              run &&
                  [
                    `${cell.outcome}${run.detail ? `: ${run.detail}` : ""}`, duration(1e9 * run.seconds),
                    when(run.started)
                  ].join(", ")
            ],
            [
              cell.draw ? "first draw that differs" : "call",
              cell.call !== null &&
                  h("span", {}, `call ${number(cell.call)} ${cell.function ?? ""} `,
                    this.opener("open in the viewer", cell.trace, build))
            ],
            [
              "its frame alone",
              cell.cut &&
                  h("span", {}, h("code", {text: cell.cut.slice(0, 12)}), " ", this.opener("open it", cell.cut, build))
            ],
            ["also drawn so by", cell.shown_by.join(", ")],
            [
              "build",
              [build.renderer, build.version, `family ${build.family || "unknown"}`, build.key.slice(0, 12)]
                  .filter(Boolean)
                  .join(" · ")
            ],
          ],
          "wrap", {class: "facts"}),
      ...(cell.frame !== null && (cell.got || cell.right) ? this.pictures(cell, signal) : []),
      cell.got && this.deciding(cell),
      cell.decisions.length > 0 && decisions(cell.decisions),
      ...(speed ? this.speed(cell) : []),
      ...(history?.builds.length > 1 ?
              [
                title(
                    "Builds",
                    history.metric ? `${history.metric}, slower than ${history.base}` : "no pairs were measured"),
                historyPlot(history, build.key, (key) => this.go({build: key, trace: cell.trace}))
              ] :
                                     []),
      title("Repeat it here"),
      ...cell.commands.map(
          (text) =>
              h("div", {class: "command"}, h("pre", {text: `$ ${text}`}),
                button("copy", () => copy(text, "copied", say), {"aria-label": `copy ${text}`}))),
    ];
  }

  /**
   * A button for the viewer, where this page may play. @param {string} text @param {string} trace @param {any} build
   */
  opener(text, trace, build) { return this.data.may.play && button(text, () => void this.open(trace, build.key)); }

  /** @param {any} cell @param {AbortSignal} signal */
  pictures(cell, signal) {
    // An image that no verdict kept is played only when somebody wants to see it: keys may pass over many cells.
    const lies = (/** @type {string} */ what) => !cell.kept || cell.kept.includes(cell[what]);
    const figure = (/** @type {string} */ what, /** @type {string} */ name) => {
      const box = h("figure", {data: {what}}, h("figcaption", {text: name}));
      const lacks = (/** @type {string} */ text) => box.prepend(h("p", {class: "lacks", text}));
      const known = what === "difference" ? cell.right && cell.got : cell[what];
      if (!known)
        lacks(
            what === "right"   ? "nobody has said what is right" :
                what === "got" ? "there is no image" :
                                 "there is nothing to compare");
      else if (what === "difference" && cell.right === cell.got)
        lacks("both are equal");
      else if (what === "difference" ? !lies("right") || !lies("got") : !lies(what)) {
        const play = button(`play up to frame ${cell.frame}`, async () => {
          play.setAttribute("disabled", "");
          try {
            await this.source.picture(cell, what, signal);
            if (!signal.aborted) await this.show();
          } catch (error) {
            if (!signal.aborted) play.replaceWith(error.message);
          }
        });
        box.prepend(
            h("p", {class: "lacks"}, what === "difference" ? "needs both pictures" : "no picture was kept",
              what !== "difference" && play));
      } else
        void this.source.picture(cell, what, signal)
            .then(
                (url) => signal.aborted || box.prepend(h("img", {
                  src: url,
                  alt: `frame ${cell.frame}: ${name}`,
                  on: {click: () => box.classList.toggle("large"), load: () => (box.dataset.ready = "yes")}
                })),
                (error) => signal.aborted || lacks(error.message));
      return box;
    };
    return [
      title(`Frame ${cell.frame}`, "press a picture to see it larger"),
      h("div", {class: "three"}, figure("right", cell.right_is), figure("got", `drawn by ${cell.build.name}`),
        figure("difference", "difference, amplified; striped: changes from run to run"))
    ];
  }

  deciding(cell) {
    if (!this.source.live || !this.data.may.decide)
      return quiet(
          this.source.live ? "This server takes no decisions: it is for reading, " +
                  "or the corpus asks for signatures and the server has no key." :
                             "drawtap corpus approve and reject decide, or the page that drawtap corpus serve shows.");
    const why = h("input", {
      type: "text",
      class: "why",
      placeholder: "the reason; it stays beside the decision",
      "aria-label": "reason",
      maxlength: "2000"
    });
    const scope = select("which frames", [["frame", `frame ${cell.frame}`], ["all", "all frames of the run"]]);
    const family = select("family", familiesOf(cell.build.family).map((one) => [one, `for ${one}`]));
    const decide = async (/** @type {string} */ label) => {
      if (!why.value.trim()) {
        why.focus();
        return say("a decision needs a reason", true);
      }
      try {
        await post("fleet/decide", JSON.stringify({
          trace: cell.trace,
          engine: cell.build.key,
          frame: scope.value === "all" ? null : cell.frame,
          family: family.value,
          label,
          why: why.value
        }));
      } catch (error) {
        return fail(error);
      }
      say(`${label}: written`);
      await this.renew();
    };
    return h(
        "div", {class: "tools", id: "decide"}, scope, family, why, button("approve", () => void decide("approved")),
        button("reject", () => void decide("rejected")),
        button("may change", () => void decide("flaky"), {title: "these frames may look different from run to run"}));
  }

  speed(cell) {
    const {speed} = cell;
    const share = (/** @type {number|null} */ one) => (one === null ? "–" : percent(100 * one));
    const told = [
      `slower by ${share(speed.effect)}`, `interval ${share(speed.low)} … ${share(speed.high)}`, `${speed.pairs} pairs`,
      speed.q !== null && `false findings to be counted with: ${(100 * speed.q).toPrecision(2)} %`,
      speed.label === "unknown" && `${share(speed.detectable)} would have shown`, speed.detail
    ].filter(Boolean);
    return [
      title("Speed", speed.metric ?? ""), h("p", {}, labelled(speed.label), ` ${told.join(" · ")}`),
      ...(cell.pairs.length && speed.effect !== null ? [pairPlot(cell), this.aboutPairs(cell)] : [])
    ];
  }

  /** Explain the dots and the band of a plot of pairs. @param {any} cell */
  aboutPairs({threshold, machines}) {
    const of = machines.map((m) => `Machine ${m.name || "unnamed"}: ${m.pairs} pairs, spread ${spread(m)}.`);
    return quiet(
        `A dot is a pair: filled, the base was played first. Band: ±${(100 * (threshold ?? 0)).toFixed(1)} %, ` +
        `which counts as nothing. ${of.join(" ")}`);
  }

  /**
   * Open a recording in the viewer, on this build and on the one that it is compared with. @param {string}
   * trace @param {string} engine
   */
  async open(trace, engine) {
    say("the recording is opened …");
    try {
      const {place} = await post("fleet/open", JSON.stringify({trace, engine, of: this.place.trace}));
      history.pushState(null, "", `#${place}`);
      location.reload();
    } catch (error) {
      fail(error);
    }
  }

  /** Read the corpus again, and show it. */
  async renew() {
    await this.load(true);
    this.read();
  }

  commands() {
    return [
      {name: "find recordings", keys: ["/"], run: () => this.find.focus()},
      {name: "next red cell", keys: ["n"], run: () => this.nextRed(1)},
      {name: "previous red cell", keys: ["N"], run: () => this.nextRed(-1)}, {
        name: "only what is red, or all",
        keys: ["h"],
        run: () => this.go({label: this.place.label === "red" ? "" : "red"})
      },
      {name: "into the list", keys: ["l"], run: () => this.scroller.focus()},
      {name: "into the panel", keys: ["o"], run: () => element("panel").focus()},
      {name: "this cell", keys: ["1"], run: () => this.go({tab: "cell"})},
      {name: "machines", keys: ["2"], run: () => this.go({tab: "farm"})}, {
        name: "open the recording in the viewer",
        keys: ["v"],
        run: () => this.data.may.play && this.place.trace && this.open(this.place.trace, this.place.build)
      },
      {name: "decide about the images", keys: ["a"], run: () => document.querySelector("#decide .why")?.focus()},
      {name: "read the corpus again", keys: ["r"], run: () => this.renew()},
      {name: "undo: back to where I was", keys: ["u"], run: () => history.back()}, ...aboutKeys(() => this.keys)
    ];
  }
}

/** @param {number} ns since 1970 */
const when = (ns) => (ns ? new Date(ns / 1e6).toISOString().slice(0, 16).replace("T", " ") : "");

/** The spread of a machine's pairs. @param {any} machine */
const spread = (machine) => `${(100 * machine.spread).toFixed(2)} %`;

/** A label with its sign. @param {string} label */
const labelled = (label) => h("b", {class: sign(label)[1], text: `${sign(label)[0]} ${label}`});

/** The decisions about a cell's images, the newest first. @param {any[]} all */
function decisions(all) {
  const [{label, family}] = all, count = all.length === 1 ? "1 decision" : `${all.length} decisions, the newest`;
  const line = (d) => `${when(d.decided)} ${d.who}: ${d.label} for ${d.family}, ${d.frames} frames: ${d.why}`;
  return h(
      "details", {}, h("summary", {text: `${count}: ${label} for ${family}`}),
      h("ul", {}, ...all.map((one) => h("li", {text: line(one)}))));
}

/** A family and those that it belongs to. @param {string} family */
function familiesOf(family) {
  const found = [];
  for (let one = family; one; one = one.slice(0, Math.max(0, one.lastIndexOf("/")))) found.push(one);
  return found;
}
