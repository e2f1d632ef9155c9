// The framebuffer after the call, attachment by attachment; and the content of a texture then.
import {button, download, fill, h, number} from "./dom.js";
import {cameFrom, Film} from "./film.js";
import {pixelHistory} from "./history.js";
import {headed, imageView, ImageView, values} from "./image.js";
import {getBytes, insist} from "./net.js";
import {overlays} from "./overlays.js";
import {choice} from "./panels_more.js";
import {bad, quiet, saver, title, toggle} from "./parts.js";
import {revisions} from "./revisions.js";

export const KINDS = {
  4: ["|u1", "rgba"],
  2: ["<u2", "d"],
  1: ["|u1", "s"]
};
const PROOFS = {
  equal: ", which draw the same as all",
  unknown: "",
  differs: "",
};

/**
 * The last pictures by recording, call and attachment: steps between them need no question, and what differs from one
 * of them is less than a whole one. @type {Map<string, {recording: number, of: string, head: any, image: any}>}
 */
const seen = new Map();
const MOST = 32, MOST_BYTES = 128e6;
/**
 * Their painted canvases: to fill a new canvas takes longer than all the rest of a step.
 * @type {WeakMap<object, import("./image.js").Painted>}
 */
const painted = new WeakMap();
const QUIET = 150;  // ms at a picture that was seen, before the page asks whether something has become known about it

/** @param {any} recording @param {number} seq @param {string} of */
const keyOf = (recording, seq, of) => `${recording.number}/${seq}/${of}`;

/** A picture that the page has. @param {any} recording @param {number} seq @param {string} of */
function had(recording, seq, of) {
  const exact = seen.get(keyOf(recording, seq, of)), colour = seen.get(keyOf(recording, seq, ""));
  // Where the draw has no such attachment, its colour is shown.
  return exact ?? (colour?.head.names.includes(of) ? undefined : colour);
}

/** Tell whether nothing more can become known about a picture. @param {any} head */
const proven = ({cut, proof}) => !cut || proof === "equal";

/** @param {any} recording @param {number} seq @param {string} of @param {AbortSignal} signal */
async function picture(recording, seq, of, signal) {
  const key = keyOf(recording, seq, of);
  const base =
      seen.get(key) ?? [...seen.values()].findLast((one) => one.recording === recording.number && one.of === of);
  const answer = await getBytes(
      `${recording.number}/picture/${seq}?of=${encodeURIComponent(of)}${base ? `&on=${base.head.number}` : ""}`,
      signal);
  const {head, at} = headed(answer);
  const [type, channels] = KINDS[head.bytes];
  const {width, height, first, rows} = head, length = width * channels.length;
  let data = values(answer, at, type, rows * length);
  if (base && rows < height) {
    const changed = data;
    data = rows ? base.image.data.slice() : base.image.data;
    data.set(changed, first * length);
  }
  return keep(key, {recording: recording.number, of, head, image: {width, height, channels, data}});
}

/** The bytes of a picture, with its canvas. @param {any} image */
const sizeOf = ({data, width, height}) => data.byteLength + 4 * width * height;

/** Keep a picture as the newest one, and forget the oldest. @template T @param {string} key @param {T} one */
function keep(key, one) {
  seen.delete(key);
  seen.set(key, one);
  let bytes = [...seen.values()].reduce((sum, {image}) => sum + sizeOf(image), 0);
  for (const [oldest, {image}] of seen) {
    if (oldest === key || (bytes <= MOST_BYTES && seen.size <= MOST)) break;
    seen.delete(oldest);
    bytes -= sizeOf(image);
  }
  return one;
}

const SOON = 80;  // ms: pictures that are there already come sooner

/**
 * Show a small picture that the page has, until the exact one comes. An exact picture of the same frame stays: steps
 * between neighbouring draws are fast. @param {any} ctx @param {number} seq
 */
function preview(ctx, seq) {
  const {recording, place, element} = ctx, frame = recording.frameOf(seq);
  if (frameIn(element) === `${recording.number}/${frame}`) return;
  element.querySelector(".preview")?.remove();
  if (place.of) return;  // small pictures are of the colour
  const own = cameFrom(`${recording.number}/small/${seq}`), canvas = own ?? ctx.smallOf(frame);
  if (!canvas) return;
  const what = own ? "this call" : "the whole frame";
  canvas.style.width = `${4 * canvas.width}px`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `preview of frame ${frame}: ${what}, small`);
  fill(
      element,
      h("section", {class: "preview"},
        title(`Frame ${number(frame)}`, `the player is on its way to call ${number(seq)}`),
        quiet(`preview: ${what}, small`), canvas));
}

export const picturePanel = {
  /** Tell whether the page has the picture to show. @param {any} recording @param {any} place */
  has: (recording, place) => had(recording, beforeSwap(recording, place.call), place.of) !== undefined,
  async show(ctx) {
    const {recording, place: {call, of}} = ctx, seq = beforeSwap(recording, call);
    const known = had(recording, seq, of);
    if (known) {
      keep(keyOf(recording, seq, known.of), known);
      if (!proven(known.head)) setTimeout(() => void renewed(ctx, seq, known), QUIET);
      return paint(ctx, seq, known);
    }
    const waiting = setTimeout(() => ctx.signal.aborted || preview(ctx, seq), SOON);
    const exact = picture(recording, seq, of, ctx.signal).catch((error) => {
      // Another draw has other attachments: its colour is shown, and the choice stays in the address.
      if (of && error.status === 400) return picture(recording, seq, "", ctx.signal);
      throw error;
    });
    await paint(ctx, seq, await exact.finally(() => clearTimeout(waiting)));
  },
};

/**
 * Show what has become known about a picture since it was seen. @param {any} ctx @param {number} seq @param {any}
 * known
 */
async function renewed(ctx, seq, known) {
  if (ctx.signal.aborted) return;
  try {
    const now = await insist(() => picture(ctx.recording, seq, known.of, ctx.signal), ctx.signal);
    const same = now.image.data === known.image.data &&
        ["cut", "calls", "proof", "why"].every((key) => now.head[key] === known.head[key]);
    if (!same && !ctx.signal.aborted) await paint(ctx, seq, now);
  } catch (error) {
    ctx.fail(error);
  }
}

/**
 * The picture that is there, and what its tools were made for. Where a step changes none of that, the step changes the
 * picture and its words alone.
 * @type {{as: string, seq: number, view: ImageView|null, of: string, names: HTMLElement|null}}
 */
const now = {
  as: "",
  seq: 0,
  view: null,
  of: "",
  names: null
};

/** @param {any} ctx @param {number} seq @param {{head: any, image: any}} of */
async function paint(ctx, seq, {head, image}) {
  const {recording, place: {of, over, px}, element} = ctx, {channels, width, height} = image;
  const shown = channels === "rgba" ? (head.names.includes(of) && of !== "depth" ? of : "") :
      channels === "d"              ? "depth" :
                                      "stencil";
  const by = head.cut ? `played ${number(head.calls)} of ${number(recording.calls)} calls${PROOFS[head.proof]}` :
                        "played every call before it";
  const name = `picture after call ${seq}`, words = `After call ${number(seq)}`,
        small = `${head.width} × ${head.height}, ${head.bytes === 2 ? 16 : 8} bits a channel; ${by}`;
  const frame = `${recording.number}/${recording.frameOf(seq)}`;
  if (!painted.has(image.data)) painted.set(image.data, {});
  const drawn = painted.get(image.data);
  const as = JSON.stringify([frame, shown, width, height, channels, over, px]);
  const {view} = now, stays = view !== null && now.as === as && !over && !px && element.contains(view.element);
  Object.assign(now, {as, seq});
  if (stays) {
    view.change(image, name, drawn);
    const heading = element.querySelector("h2[data-frame]");
    heading.firstChild.data = words;
    (heading.lastChild.firstChild).data = small;
    nextFrame(() => {
      if (now.seq !== seq || now.view !== view) return;
      view.changeRest();
      attachments(ctx, shown, head);
    });
    return await draws(ctx, element.querySelector(":scope > .draws"), frame);
  }
  // Within a frame the film stays where it is: what is taken out of a page forgets how far it was scrolled.
  const film = frameIn(element) === frame && element.querySelector(":scope > .draws") || h("div", {class: "draws"});
  for (const child of [...element.children])
    if (child !== film) child.remove();
  if (!film.isConnected) element.append(film);
  film.before(h("h2", {text: words, data: {frame}}, h("small", {text: small})));
  film.after(...below(ctx, seq, shown, {head, image, name, drawn}));
  await draws(ctx, film, frame);
}

/** Run after the next frame, which shows what is more urgent. @param {() => void} run */
const nextFrame = (run) => void requestAnimationFrame(() => setTimeout(run));

/**
 * The tools of a picture, the picture, and the history of its pixel. The tools are of the picture that is there, which
 * may be another one later. @param {any} ctx @param {number} seq @param {string} shown @param {{head: any, image: any,
 * name: string, drawn: import("./image.js").Painted}} of
 */
function below(ctx, seq, shown, {head, image, name, drawn}) {
  const {recording, place, store} = ctx;
  const save = saver(
      ctx, "save",
      async () =>
          [`call-${now.seq}${shown && `-${shown}`}.png`,
              await getBytes(`${recording.number}/picture/${now.seq}/png?of=${shown}`), "image/png"]);
  const upon = overlays(ctx, seq, image.width, image.height);
  now.view = new ImageView(image, {
    painted: drawn,
    over: upon.over,
    tell: upon.tell,
    name,
    tools: [save],
    chosen: place.px,
    pick: (x, y) => store.set({px: `${x},${y}`})
  });
  return [
    attachments(ctx, shown, head), upon.tools, upon.legend, now.view.element,
    ...(/^\d+,\d+$/.test(place.px) ? [pixelHistory(ctx, seq, shown, place.px)] : [])
  ];
}

/**
 * Buttons for the attachments that a picture is of; they stay where these are the same. @param {any} ctx @param
 * {string} shown @param {any} head
 */
function attachments(ctx, shown, {names, why}) {
  const of = JSON.stringify([names, why]);
  if (now.of === of && now.names && ctx.element.contains(now.names)) return now.names;
  const buttons = names.map((one) => toggle(one || "color", () => ctx.store.set({of: one}), one === shown));
  const made =
      h("div", {class: "tools", role: "toolbar", "aria-label": "attachments"}, ...buttons, why && h("i", {text: why}));
  if (now.names && ctx.element.contains(now.names)) now.names.replaceWith(made);
  return Object.assign(now, {of, names: made}).names;
}

/** The frame whose picture an element has. @param {HTMLElement} element */
const frameIn = (element) => element.querySelector("h2[data-frame]")?.dataset.frame;

/** The film of the frame that was shown last. @type {{frame: string, film: Film|null}} */
let last = {frame: "", film: null};

/**
 * Small pictures after the draws and clears of the frame. @param {any} ctx @param {Element} box @param {string} frame
 */
async function draws(ctx, box, frame) {
  const {recording, place} = ctx;
  const {seqs, kinds} = await recording.outline(recording.frameOf(place.call));
  if (ctx.signal.aborted) return;
  const chosen = (items) => items.findLastIndex(({seq}) => seq <= place.call);
  if (last.frame === frame && last.film?.element.parentElement === box)
    return last.film.choose(chosen(last.film.items));
  const items = seqs.flatMap(
      (seq, i) => ["draw", "clear"].includes(kinds[i]) ? [{
        seq,
        title: `${kinds[i]}, call ${number(seq)}`,
        text: `${kinds[i]} ${number(seq)}`,
        path: `${recording.number}/small/${seq}`
      }] :
                                                         []);
  if (items.length < 2) return fill(box);
  const label = "draws of the frame: arrows choose, Enter goes to the call";
  last = {frame, film: new Film(items, {label, chosen: chosen(items), go: (item) => ctx.go(item.seq)})};
  fill(box, last.film.element);
}

/** After a swap the picture is gone: the one before it is meant. @param {any} recording @param {number} seq */
export function beforeSwap(recording, seq) {
  const frame = recording.frameOf(seq);
  return seq === recording.frames.end[frame] - 1 && seq > recording.frames.first[frame] ? seq - 1 : seq;
}

export const texturePanel = {
  async show(ctx) {
    const {recording, place, element} = ctx;
    if (!/^(texture|renderbuffer|vg_image|image)\/\d+\/\d+$/.test(place.object))
      return await choice(ctx, ["texture", "renderbuffer", "vg_image", "VkImage"], "texture");
    const answer = await getBytes(`${recording.number}/texture/${place.call}/${place.object}`, ctx.signal);
    const {head, at} = headed(answer);
    const sampled = place.sampled === "yes";
    const vulkan = head.target.startsWith("VK_");  // whose first row is the highest
    const name = vulkan ? `0x${Number(head.name).toString(16)}` : head.name;
    const images = head.parts.flatMap((part) => layers(answer, at, part, !vulkan))
                       .map((one) => sampled ? {...one, image: asSampled(one.image, head.swizzle, head.format)} : one);
    const chosen = Math.min(Number(place.layer) || 0, Math.max(images.length - 1, 0));
    const missing = head.parts.filter((part) => part.why);
    const past = h("div");
    const notes = [...new Set(head.parts.flatMap((p) => [p.source && `from: ${p.source}`, p.lost]).filter(Boolean))];
    fill(
        element,
        title(
            `${head.kind} ${name}${head.label ? ` “${head.label}”` : ""}`,
            `${head.format} ${head.target}, after call ${number(place.call)}`),
        past,
        ...notes.map((text) => quiet(text)),
        head.why && h("p", {text: head.why}),
        ...missing.map((part) => bad(`${part.suffix || "level 0"}: ${part.why}`)),
        images.length > 1 &&
            h("div", {class: "parts", role: "listbox", "aria-label": "levels, faces and layers"},
              ...crossed(images.map((one, i) => smallOf(ctx, one, i, i === chosen, vulkan)), images)),
        images.length > 0 && imageView(images[chosen].image, {
          name: images[chosen].name,
          tools: [
            head.kind === "texture" && !place.object.startsWith("renderbuffer") &&
                toggle(
                    `as sampled: ${head.swizzle.toUpperCase()}`, () => ctx.store.set({sampled: sampled ? "" : "yes"}),
                    sampled, {
                      title: "what shaders get as red, green, blue and alpha: " +
                          "the format's channels, then GL_TEXTURE_SWIZZLE"
                    }),
            button(
                "save PNG", () => void shownAsPng(element, `${head.kind}-${name}-${images[chosen].name}.png`),
                {title: "this image as it is shown: channels and range"}),
            saver(
                ctx, "save KTX",
                async () =>
                    [`${head.kind}-${name}.ktx`,
                        await getBytes(`${recording.number}/texture/${place.call}/${place.object}/ktx`), "image/ktx"],
                {title: "all levels, faces and layers"}),
            saver(
                ctx, "save numbers",
                async () =>
                    [`${head.kind}-${name}-${images[chosen].name}.bin`, images[chosen].image.data,
                        "application/octet-stream"],
                {title: "the values as they are, the first row that of t = 0"}),
          ]
        }),
    );
    fill(past, await revisions(ctx));
  },
};

/**
 * One of the images to choose from. @param {any} ctx @param {any} one @param {number} i @param {boolean} chosen @param
 * {boolean} vulkan
 */
function smallOf(ctx, {name, image}, i, chosen, vulkan) {
  const face = faceOf(name), choose = () => ctx.store.set({layer: String(i)});
  const words = face ? face.replace(/(.).*_(.)/, (_, sign, axis) => (sign === "p" ? "+" : "−") + axis.toUpperCase()) :
                       `${name} ${image.width} × ${image.height}`;
  return h(
      "figure", {
        role: "option",
        tabindex: "0",
        "aria-selected": String(chosen),
        title: name,
        style: face && {gridArea: FACES[face]},
        on: {click: choose, keydown: (/** @type {KeyboardEvent} */ {key}) => key === "Enter" && choose()}
      },
      // The rows of a face go down, so that its neighbours in the cross go on where it ends.
      imageView({...image, bottomFirst: !face && !vulkan}, {name, small: true}), h("figcaption", {text: words}));
}

/** Row and column of a cube's face in a cross. @type {Record<string, string>} */
const FACES = {
  positive_y: "1 / 2",
  negative_x: "2 / 1",
  positive_z: "2 / 2",
  positive_x: "2 / 3",
  negative_z: "2 / 4",
  negative_y: "3 / 2"
};

/** The face that an image is of, "" where it is of none. @param {string} name */
const faceOf = (name) => name.match(/^(positive|negative)_[xyz]/)?.[0] ?? "";

/** Faces of a level become a cross. @param {HTMLElement[]} figures @param {any[]} images */
function crossed(figures, images) {
  /** @type {Map<string, HTMLElement>} */
  const crosses = new Map();
  return figures.flatMap((figure, i) => {
    if (!faceOf(images[i].name)) return [figure];
    const level = images[i].name.slice(faceOf(images[i].name).length);
    const cross = crosses.get(level);
    if (cross) return cross.append(figure), [];
    const made =
        h("div", {class: "cross", role: "group", "aria-label": `faces${level.replace("-", " of ")}: rows go down`},
          figure);
    crosses.set(level, made);
    return [made];
  });
}

/**
 * A format's 1: the largest value of normalized integers. @param {any} data @param {string} format @param {number}
 * channel
 */
function one(data, format, channel) {
  if (data instanceof Float32Array || data instanceof Float64Array || /(?:8|16|32|2)U?I(?:_EXT)?$/.test(format))
    return 1;
  if (/DEPTH24_STENCIL8/.test(format)) return 2 ** 24 - 1;
  if (/10_A2|2_10_10_10/.test(format)) return channel === 3 ? 3 : 1023;
  return 2 ** (8 * data.BYTES_PER_ELEMENT - (/^Int/.test(data.constructor.name) ? 1 : 0)) - 1;
}

/**
 * The four values that a shader gets of each texel: what the format has not is 0, alpha 1; depth stands as red.
 * @param {any} image @param {string} swizzle @param {string} format
 */
function asSampled(image, swizzle, format) {
  const {channels, data, width, height} = image, n = channels.length;
  /** @param {string} letter */
  const place = (letter) => {
    const at = channels.indexOf(letter);
    return at >= 0 || letter === "a" ? at : channels[0] === "l" ? 0 : letter === "r" ? channels.indexOf("d") : -1;
  };
  const from = [...swizzle].map((letter) => "01".includes(letter) ? -1 : place(letter));
  const fixed =
      [...swizzle].map((letter, c) => letter === "1" || (letter === "a" && from[c] < 0) ? one(data, format, c) : 0);
  const out = new data.constructor(width * height * 4);
  for (let i = 0, to = 0, at = 0; i < width * height; i++, at += n)
    for (let c = 0; c < 4; c++, to++) out[to] = from[c] < 0 ? fixed[c] : data[at + from[c]];
  return {...image, channels: "rgba", data: out};
}

/** @param {HTMLElement} element @param {string} name */
async function shownAsPng(element, name) {
  const canvas = [...element.querySelectorAll(".stack canvas")][0];
  const image = await new Promise((done) => canvas.toBlob(done, "image/png"));
  if (image) download(name, image, "image/png");
}

/** @param {ArrayBuffer} answer @param {number} at @param {any} part @param {boolean} bottomFirst */
function layers(answer, at, part, bottomFirst) {
  if (!part.shape) return [];
  const [count, height, width, channels] = part.shape;
  const size = height * width * channels;
  const bytes = Number(part.type.slice(-1));
  return Array
      .from(
          {length: count},
          (_, i) => {
            const data = values(answer, at + part.at + i * size * bytes, part.type, size);
            return data && {
              name: part.suffix === "samples" ? `sample ${i}` :
                                                `${part.suffix || "level 0"}${count > 1 ? ` layer ${i}` : ""}`,
              image: {width, height, channels: part.channels.slice(0, channels), data, bottomFirst}
            };
          })
      .filter(Boolean);
}
