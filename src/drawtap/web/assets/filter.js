// The filter of the calls: its words, the set that they choose, and what the page shows of both.
import {element, h, number} from "./dom.js";
import {modal} from "./keys.js";
import {ask, fresh, get} from "./net.js";

const LOOK_MS = 300;  // between two looks at what a filter has found so far

/**
 * The help as paragraphs and a table: lines that begin with blanks have a word and its meaning. @param {string} text
 */
function helpOf(text) {
  const plain = (/** @type {string} */ part) => part.replaceAll("`", "");
  return text.trim().split(/\n\n+/).map((part) => {
    const rows = part.split("\n").map((line) => line.match(/^ {4}(\S.*?) {2,}(\S.*)$/));
    if (rows.some((row) => !row)) return h("p", {text: plain(part.replaceAll("\n", " "))});
    return h(
        "table", {},
        ...rows.map(
            (row) =>
                h("tr", {}, h("th", {class: "mono", scope: "row", text: row?.[1]}),
                  h("td", {class: "wrap", text: plain(row?.[2] ?? "")}))));
  });
}

export class Filter {
  constructor(page) {
    this.page = page;
    /** @type {AbortController|undefined} */
    this.asking = undefined;
    /** @type {Promise<void>|undefined} */
    this.pairing = undefined;  // the rows of two recordings
    this.density = h("canvas", {id: "density", "aria-hidden": "true"});
    element("list").append(this.density);
    this.listen();
    this.showMode();
  }

  listen() {
    const {page} = this;
    const input = element("filter-text");
    element("filter").addEventListener("submit", (event) => {
      event.preventDefault();
      page.store.set({filter: input.value.trim()});
      page.list.scroller.focus();
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        input.value = "";
        page.store.set({filter: ""});
        page.list.scroller.focus();
      }
    });
    element("filter-mode").addEventListener("click", () => this.toggleMode());
    element("filter-sql").addEventListener("click", () => page.store.set({tab: "sql", sql: page.set?.sql ?? ""}));
    element("filter-save")
        .addEventListener(
            "click",
            () => void page.notes.add(
                "filters", page.store.place.filter, page.context(element("panel"), new AbortController())));
    element("filter-help").addEventListener("click", async () => {
      page.recording.schema ??= get(`${page.recording.number}/schema`);
      modal(h("h2", {text: "Words of the filter"}), ...helpOf((await page.recording.schema).help));
    });
  }

  toggleMode() {
    const {store} = this.page;
    store.set({mode: store.place.mode === "hide" ? "dim" : "hide"});
  }

  /** @param {import("./store.js").Place} place */
  async apply(place) {
    const {page} = this;
    const input = element("filter-text");
    if (document.activeElement !== input) input.value = place.filter;
    this.asking?.abort();
    const {signal} = (this.asking = new AbortController());
    const answer = element("filter-answer");
    answer.className = "";
    page.set = undefined;
    let sets = "";
    if (!page.pair) page.strip.density = [];
    if (place.filter.trim()) {
      answer.textContent = "looking …";
      const done = new AbortController();
      try {
        const sides = [page.recording, page.pair && page.other].filter(Boolean).map(
            (one) => ({number: one.number, name: fresh()}));
        void this.watch(sides, AbortSignal.any([signal, done.signal]));
        const [a, b] =
            await Promise.all(sides.map(({number: of, name}) => ask(of, "filter", place.filter, signal, name)));
        done.abort();
        page.set = a;
        answer.textContent = b ? `${number(a.count)} calls of A, ${number(b.count)} of B` : `${number(a.count)} calls`;
        if (page.pair)
          sets = `&seta=${a.id}&setb=${b.id}`;
        else
          page.strip.density = await get(`${page.recording.number}/set/${page.set.id}/density?buckets=1024`, signal);
      } catch (error) {
        if (signal.aborted) return;
        const e = error;
        if (!page.pair) page.strip.density = [];  // of what was found before the mistake
        answer.className = "bad";
        answer.textContent = e.message;
        page.say(e.hint ?? "");
      } finally {
        done.abort();
      }
    } else
      answer.textContent = "";
    if (page.pair) return await (this.pairing = this.pair(sets, signal));
    page.recording.markBy(page.set && place.mode === "dim" ? page.set.id : "");
    page.model();
    page.strip.draw();
    this.drawDensity();
    this.showMode();
    const {call} = page.store.place;
    if (call !== null) await page.list.reveal(call);
  }

  /**
   * Say what questions of a filter have found so far, again and again until they end.
   * @param {{number: number, name: string}[]} sides by recording @param {AbortSignal} ended
   */
  async watch(sides, ended) {
    const {page} = this, answer = element("filter-answer");
    for (;;) {
      await new Promise((done) => setTimeout(done, LOOK_MS));
      if (ended.aborted) return;
      const found =
          await Promise.all(sides.map(({number: of, name}) => get(`${of}/filter/${name}?buckets=1024`, ended)))
              .catch(() => []);
      if (ended.aborted) return;
      const known = found.filter((one) => one.until);  // there is none before the first piece
      if (!known.length) continue;
      const sum = (/** @type {"count"|"until"|"of"} */ key) => known.reduce((all, one) => all + one[key], 0);
      answer.textContent =
          `${number(sum("count"))} so far, in ${Math.floor((100 * sum("until")) / sum("of"))} % of the calls …`;
      if (page.pair) continue;
      page.strip.density = known[0].density;
      page.strip.draw();
      this.drawDensity(true);
    }
  }

  /** @param {string} sets @param {AbortSignal} signal */
  async pair(sets, signal) {
    const {page} = this;
    await page.pair.filter(sets, signal, page.store.place.mode === "hide");
    page.pairFurniture();
    this.showMode();
    page.model();
    const {call, callb} = page.store.place;
    if (call !== null && callb !== null) await page.list.reveal(call);
  }

  showMode() {
    const {page} = this;
    const {place} = page.store;
    const mode = element("filter-mode");
    mode.textContent = place.mode === "hide" ? "others hidden" : "others dimmed";
    mode.title = "hide or dim the other calls";
    for (const id of ["filter-mode", "filter-sql", "filter-save"])
      element(id).hidden = !page.set || (id === "filter-mode" && Boolean(page.pair));
  }

  /** Draw where the filter's calls are. @param {boolean} [looks] whether the filter still runs */
  drawDensity(looks = false) {
    const {page} = this;
    const canvas = this.density;
    const dims = (page.set || looks) && page.store.place.mode === "dim" && page.store.place.list === "flat";
    canvas.hidden = !dims;
    if (!dims) return;
    const counts = page.strip.density;
    canvas.width = 10;
    canvas.height = counts.length;
    canvas.style.height = "100%";
    const context = canvas.getContext("2d");
    const most = Math.max(...counts, 1);
    counts.forEach((count, i) => {
      if (!context || !count) return;
      context.fillStyle = `rgba(122, 69, 184, ${0.3 + (0.7 * count) / most})`;
      context.fillRect(0, i, 10, 1);
    });
  }

  /** @param {1|-1} step */
  async match(step) {
    const {page} = this;
    if (page.pair) return page.differing(step);
    if (!page.set) return page.say("there is no filter: / begins one");
    const place = await get(`${page.recording.number}/set/${page.set.id}/place?seq=${page.store.place.call ?? 0}`);
    const found = step > 0 ? place.next : place.previous;
    if (found === null)
      page.say(step > 0 ? "no call of the filter behind this one" : "no call of the filter before this one");
    else
      page.go(found);
  }
}
