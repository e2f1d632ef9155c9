// One object says what the page shows. It stands in the fragment of the address: a link leads to exactly this place,
// and the browser's back button undoes a step.

/** The place where a page begins: texts, and numbers, which are null where there is none. */
const FIRST = {
  rec: 0,          // the recording
  call: null,      // the selected call
  filter: "",      // text of the filter
  mode: "hide",    // what becomes of the other calls
  list: "tree",    // frames with their draws, or all calls
  tab: "call",     // the panel
  pin: null,       // the call that states are compared with
  stage: "",       // the stage of the pipeline in the state panel
  sql: "",         // the question in the SQL panel
  of: "",          // the attachment in the picture panel: "", "color1", "depth", "stencil"
  px: "",          // the pixel whose history is shown, "X,Y" from the lower left corner
  over: "",        // what lies upon the picture: names with commas between them
  mesh: "",        // "in": the vertices that go into the draw; "pass": what comes out of all draws of its pass
  instance: null,  // the instance of the draw that the mesh panel shows alone
  what: "",        // changes of the what-if panel, one a line
  edit: null,      // the call whose shader's source the what-if panel edits
  object: "",      // what the texture and buffer panels show: "texture/GROUP/NAME"
  layer: "",       // which of its images
  sampled: "",     // whether a texture's channels stand as shaders get them
  fields: "",      // the format of a buffer's fields; "": what the program declares, "bytes": bytes
  from: 0,         // the first row, or byte, of a buffer that is shown
  range: "",       // the chosen bytes of a buffer, "FIRST-LAST"
  bars: "",        // the series of the bars; "": the frames' times
  time: "",        // "open": the timeline is there
  view: "",        // the window of the timeline, "FROM,TO" in ns
  area: "",        // the chosen stretch of time, the same
  ab: "",          // the markers A and B, the same; each may be missing
  own: "",         // the questions of the user's own rows, a list in JSON
  with: null,      // the recording that is compared with this one, B
  callb: null,     // the selected call of B
  hold: "",        // the cursor that stays where it is
  side: "",        // which pictures of both are shown; "": beside each other
  page: "",        // of a server that shows what runs, or a corpus: "recording" shows one of there
  prog: null,      // the chosen program, by the manager's number
};
/** @typedef {Record<keyof typeof FIRST, any>} Place */
const CHOICES = {
  mode: ["hide", "dim"],
  list: ["tree", "flat"],
  hold: ["", "a", "b"],
  sampled: ["", "yes"],
  page: ["", "recording"],
  side: ["", "a", "b", "difference", "flicker"]
};

/** @param {string} text @returns {Place} */
export function parse(text) {
  const place = {...FIRST};
  for (const [key, value] of new URLSearchParams(text)) {
    if (!Object.hasOwn(FIRST, key)) continue;
    if (typeof FIRST[key] !== "string") {
      if (/^\d{1,15}$/.test(value)) place[key] = Number(value);
    } else if (!Object.hasOwn(CHOICES, key) || CHOICES[key].includes(value))
      place[key] = value;
  }
  return place;
}

/** Places do not change; a step asks for the text of each several times. @type {WeakMap<Place, string>} */
const texts = new WeakMap();

/** @param {Place} place */
export function format(place) {
  let text = texts.get(place);
  if (text === undefined) {
    const parts = new URLSearchParams();
    for (const [key, value] of Object.entries(place)) {
      if (value !== FIRST[key] && value !== null) parts.set(key, String(value));
    }
    texts.set(place, text = parts.toString());
  }
  return text;
}

// Milliseconds until the address follows the page. A browser repaints its own window for each change of the address.
// After 200 changes within 30 seconds it ignores the page's, and a key that is held down makes more.
const ADDRESS_MS = 160;

export class Store {
  constructor() {
    /** @type {{text: string, push: boolean}|null} */
    this.owed = null;  // what the address does not say yet
    this.place = parse(location.hash.slice(1));
    /** @type {Set<(place: Place, before: Place) => void>} */
    this.listeners = new Set();
    addEventListener("popstate", () => {
      this.owed = null;  // the browser is elsewhere already
      this.apply(parse(location.hash.slice(1)));
    });
    addEventListener("pagehide", () => this.settle());
  }

  /** @param {(place: Place, before: Place) => void} run */
  subscribe(run) { this.listeners.add(run); }

  /** Change something. Steps through the list replace each other in the history. @param {Partial<Place>} change */
  set(change, {replace = false} = {}) {
    const next = {...this.place, ...change};
    const text = `#${format(next)}`;
    if (text === `#${format(this.place)}`) return;
    const recently = performance.now() - (this.moved ?? -1e9) < 1500;
    const push = !replace && !(recently && /^call(,callb)?$|^callb$/.test(Object.keys(change).join()));
    if (push) this.settle();
    this.owed = {text, push: push || Boolean(this.owed?.push)};
    this.timer ??= setTimeout(() => this.settle(), ADDRESS_MS);
    this.moved = performance.now();
    this.apply(next);
  }

  /** Write the place into the address now, before somebody reads the address or leaves the page. */
  settle() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.owed) history[this.owed.push ? "pushState" : "replaceState"](null, "", this.owed.text);
    this.owed = null;
  }

  /** Go to another page of the server. @param {string} place */
  leave(place) {
    this.settle();
    history.pushState(null, "", `#${place}`);
    location.reload();
  }

  /** Undo the last step. */
  back() {
    this.settle();
    history.back();
  }

  /** Take back an undo. */
  forward() {
    this.settle();
    history.forward();
  }

  /** @param {Place} next */
  apply(next) {
    const before = this.place;
    this.place = next;
    for (const run of this.listeners) run(next, before);
  }
}
