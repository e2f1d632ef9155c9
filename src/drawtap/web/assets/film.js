// A row of any number of small pictures. The page gets those in view alone, one after the other.
import {h} from "./dom.js";
import {drawn, opaque} from "./image.js";
import {getBytes} from "./net.js";
import {placeBy} from "./parts.js";

const WIDE = 112;    // pixels: a picture with its words, as in app.css
const QUIET = 120;   // ms without scrolling before any question
const KEPT = 600;    // pictures
const AGAIN = 1000;  // ms until an overtaken question is sent again

/** @typedef {{seq: number, title: string, text: string, path: string|null}} Item `path`: where its picture is */

/** The answers, by path: an image, or why there is none. @type {Map<string, ImageData|string>} */
const known = new Map();
/** @type {Set<Film>} */
const films = new Set();
let asking = false;

/** One question at a time: whoever looks at a call must not wait for a row of them. */
async function work() {
  if (asking) return;
  asking = true;
  try {
    for (;;) {
      for (const film of films)
        if (!film.element.isConnected) films.delete(film);
      const film = [...films].find((one) => one.wanted);
      if (!film) return;
      await film.load();
    }
  } finally {
    asking = false;
  }
}

export class Film {
  /**
   * @param {Item[]} items @param {{label: string, chosen: number, go: (item: Item) => void}} on
   * `chosen`: the one that is marked and in view, -1 for none
   */
  constructor(items, on) {
    this.items = items;
    this.on = on;
    this.focus = Math.max(on.chosen, 0);
    this.inner = h("div", {style: {width: `${items.length * WIDE}px`}});
    this.element =
        h("div", {
          class: "film",
          role: "listbox",
          tabindex: "0",
          "aria-orientation": "horizontal",
          "aria-label": on.label,
          on: {scroll: () => this.scrolled(), keydown: (/** @type {KeyboardEvent} */ event) => this.key(event)}
        },
          this.inner);
    /** @type {Map<number, HTMLElement>} */
    this.made = new Map();
    this.quiet = true;
    films.add(this);
    // Where it is shown, it has a width.
    this.part = {left: 0, wide: 0};
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  resized() {
    this.measure();
    if (this.begun)
      this.draw();
    else
      this.begin();
  }

  begin() {
    if (!this.element.clientWidth) return;
    this.begun = true;
    this.scrollTo((this.focus + 0.5) * WIDE - this.element.clientWidth / 2);
    this.moved();  // whoever steps on at once needs none of these pictures
  }

  /** Mark another item, and bring it into view. @param {number} chosen */
  choose(chosen) {
    if (chosen === this.on.chosen) return;
    for (const i of [this.on.chosen, chosen]) this.made.get(i)?.setAttribute("aria-selected", String(i === chosen));
    this.on.chosen = chosen;
    this.focus = Math.max(chosen, 0);
    if (!this.begun) return;  // then `begin` brings it there
    this.bring();
    this.moved();
  }

  bring() {
    const {left, wide} = this.part, at = this.focus * WIDE;
    if (at < left || at + WIDE > left + wide) this.scrollTo(at + WIDE / 2 - wide / 2);
  }

  /** @param {number} left */
  scrollTo(left) {
    this.element.scrollLeft = left;
    this.measure();
  }

  /** Keep which part is in view: to ask the element costs a layout of the page each time. */
  measure() { this.part = {left: this.element.scrollLeft, wide: this.element.clientWidth}; }

  /** The items in view: first and end. */
  get view() {
    const {left, wide} = this.part;
    return {
      first: Math.max(Math.floor(left / WIDE), 0),
      end: Math.min(Math.ceil((left + wide) / WIDE), this.items.length)
    };
  }

  /** The first item in view whose picture is not there. @returns {Item|undefined} */
  get wanted() {
    if (!this.quiet || document.hidden) return undefined;
    const {first, end} = this.view;
    return this.items.slice(first, end).find(({path}) => path !== null && !known.has(path));
  }

  async load() {
    const path = this.wanted?.path;
    const running = this.running = new AbortController();
    this.asked = path;
    try {
      known.set(path, opaque(await getBytes(path, running.signal)));
    } catch (error) {
      const {status, message} = error;
      if (running.signal.aborted) return;
      if (status === 409)
        await new Promise((done) => setTimeout(done, AGAIN));
      else
        known.set(path, message);
    } finally {
      this.running = undefined;
    }
    while (known.size > KEPT) known.delete(known.keys().next().value);
    this.made.forEach((figure, i) => {
      if (this.items[i].path === path) figure.remove(), this.made.delete(i);
    });
    this.draw();
  }

  scrolled() {
    this.measure();
    this.moved();
  }

  moved() {
    this.quiet = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.quiet = true;
      void work();
    }, QUIET);
    this.draw();
  }

  draw() {
    const {first, end} = this.view;
    const seen = this.items.slice(first, end);
    if (this.running && !seen.some(({path}) => path === this.asked)) this.running.abort();
    for (const [i, figure] of this.made)
      if (i < first || i >= end) figure.remove(), this.made.delete(i);
    for (let i = first; i < end; i++)
      if (!this.made.has(i)) {
        const figure = this.figure(i);
        this.made.set(i, figure);
        this.inner.append(figure);
      }
    if (this.made.has(this.focus))
      this.element.setAttribute("aria-activedescendant", this.made.get(this.focus).id);
    else
      this.element.removeAttribute("aria-activedescendant");
    this.made.forEach((figure, i) => figure.classList.toggle("focus", i === this.focus));
    if (this.quiet) void work();
  }

  /** @param {number} i */
  figure(i) {
    const item = this.items[i], image = item.path === null ? "" : known.get(item.path);
    const chosen = i === this.on.chosen;
    return h(
        "figure", {
          role: "option",
          id: `film-${item.seq}-${i}`,
          "aria-selected": String(chosen),
          "aria-posinset": i + 1,
          "aria-setsize": this.items.length,
          title: typeof image === "string" && image ? `${item.title}: ${image}` : item.title,
          style: {left: `${i * WIDE}px`},
          on: {click: () => this.on.go(item)}
        },
        image instanceof ImageData ? drawn(image) : h("span", {
          text: item.path === null ? "nothing to show" :
              image                ? `no picture: ${image}` :
                                     "…"
        }),
        h("figcaption", {text: item.text}));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const page = Math.max(Math.floor(this.element.clientWidth / WIDE) - 1, 1), last = this.items.length - 1;
    const to = placeBy(event.key, this.focus, page, last, ["ArrowLeft", "ArrowRight"]);
    if (event.key === "Enter")
      this.on.go(this.items[this.focus]);
    else if (to === undefined)
      return;
    else {
      this.focus = to;
      this.bring();
      this.draw();
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

/** A canvas with the small picture of a path, where it came already. @param {string} path */
export function cameFrom(path) {
  const image = known.get(path);
  return image instanceof ImageData ? drawn(image) : undefined;
}
