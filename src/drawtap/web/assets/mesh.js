// The vertices of a draw: what goes in, what comes out, what becomes of each primitive; as tables and in space.
import {button, counted, fill, h, number} from "./dom.js";
import {headed, values} from "./image.js";
import {getBytes} from "./net.js";
import {bad, failure, n, patch, rowed, saver, sheet, title, toggle} from "./parts.js";
import {link, saving} from "./table.js";

/** By the server's number: name, colour. @type {[string, number[]][]} */
export const FATES = [
  ["degenerate", [150, 90, 220]], ["frustum", [130, 130, 130]], ["backface", [255, 140, 0]],
  ["discarded", [200, 170, 0]], ["rasterised", [40, 170, 80]], ["clipped", [40, 130, 230]]
];
const MEANS = {
  degenerate: "no area",
  frustum: "outside of the view",
  backface: "culled: it faces away",
  discarded: "nothing of it is kept",
  rasterised: "drawn",
  clipped: "drawn, and cut at the view's border"
};
const ROWS = 200;
const END = 0xffffffff;
const NEAR = 12;  // so near, in pixels, a click is of a corner

/** @param {any} ctx @param {number} seq */
export async function fetchMesh(ctx, seq) {
  const answer = await getBytes(`${ctx.recording.number}/mesh/${seq}`, ctx.signal);
  const {head, at} = headed(answer);
  const array = (/** @type {string} */ name) =>
      values(answer, at + head.arrays[name].at, head.arrays[name].type, head.arrays[name].length);
  const inputs = head.inputs.map((one, i) => ({...one, values: array(`input${i}`)}));
  return {
    head,
    inputs,
    positions: array("positions"),
    areas: array("areas"),
    indices: array("indices"),
    places: array("places"),
    vertices: array("vertices"),
    fates: array("fates")
  };
}

/** Fetch the output of all draws of a call's pass. @param {any} ctx @param {number} seq */
async function fetchPass(ctx, seq) {
  const answer = await getBytes(`${ctx.recording.number}/pass/${seq}/mesh`, ctx.signal);
  const {head, at} = headed(answer);
  return {
    head,
    positions: values(answer, at, "<f4", head.corners * 4),
    fates: values(answer, at + head.corners * 16, "|u1", head.primitives)
  };
}

/**
 * One instance of a draw: its primitives, and what it has of attributes with a divisor. For all instances (null),
 * attributes come from the first. @param {any} mesh @param {number|null} instance
 */
function ofInstance(mesh, instance) {
  const {head} = mesh, {corners} = head;
  const inputs = mesh.inputs.map((one) => {
    if (!one.divisor || !one.values.length) return one;
    const row = Math.min(Math.floor((instance ?? 0) / one.divisor), one.values.length / one.size - 1);
    return {...one, values: one.values.subarray(row * one.size, (row + 1) * one.size)};
  });
  if (instance === null || !mesh.places.length) return {...mesh, inputs};
  const each = mesh.places.length / corners, first = instance * each, end = first + each;
  const fates = mesh.fates.subarray(first, end);
  const counts = Object.fromEntries(FATES.map(([name], i) => [name, fates.filter((fate) => fate === i).length]));
  return {
    ...mesh,
    inputs,
    fates,
    areas: mesh.areas.subarray(first, end),
    positions: mesh.positions.subarray(first * corners * 4, end * corners * 4),
    head: {...head, counts, more: head.more && fates.length < each}
  };
}

/** A choice of an instance, and the note beside it. @param {any} ctx @param {any} mesh @param {number|null} instance */
function instances(ctx, mesh, instance) {
  const {instances: count, base_instance: base} = mesh.head;
  if (count <= 1) return null;
  const shared = mesh.inputs.filter((one) => one.divisor).map((one) => one.name);
  const chosen = h("input", {
    type: "number",
    min: "0",
    max: String(count - 1),
    value: String(instance ?? ""),
    "aria-label": "instance",
    placeholder: "all",
    on: {
      change: ({target: {value}}) =>
          ctx.store.set({instance: value === "" ? null : Math.max(0, Math.min(count - 1, Math.floor(Number(value))))})
    }
  });
  const of = shared.length ? `; ${shared.join(", ")} ${instance === null ? "as instance 0 has" : "as it has"} ${
                                 shared.length > 1 ? "them" : "it"}` :
                             "";
  const whole =
      instance !== null && !mesh.places.length ? "; primitives are of all: which are its own is not known" : "";
  return h(
      "div", {class: "tools"}, h("label", {}, "instance ", chosen),
      toggle("all", () => ctx.store.set({instance: null}), instance === null), h("span", {
        id: "instance",
        text: `${
            instance === null ? `all ${number(count)} instances` : `instance ${number(instance)} of ${number(count)}`}${
            base ? `, base instance ${number(base)}` : ""}${of}${whole}`
      }));
}

/**
 * Corners of a primitive in pixels from the lower left; null: one lies behind the eye. @param {any}
 * mesh @param {number} i
 */
export function projected(mesh, i) {
  const {corners, viewport} = mesh.head, found = [];
  for (let k = 0; k < corners; k++) {
    const [x, y, , w] = mesh.positions.subarray((i * corners + k) * 4, (i * corners + k) * 4 + 4);
    if (!(w > 0)) return null;
    found.push([viewport[0] + ((x / w + 1) / 2) * viewport[2], viewport[1] + ((y / w + 1) / 2) * viewport[3]]);
  }
  return found;
}

/** @param {number[]} a @param {number[]} b @param {number[]} c */
const determinant = (a, b, c) =>
    a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) + c[0] * (a[1] * b[2] - a[2] * b[1]);

/**
 * Tell whether a triangle has a point at a place of the view, before the volume cuts it. @param {number[][]} c of x, y,
 * z, w @param {number} x @param {number} y in normalised device coordinates
 */
function triangleCovers(c, x, y) {
  const [p, q, r] = c.map((v) => [v[0], v[1], v[3]]), eye = [x, y, 1], whole = determinant(p, q, r);
  if (!whole) return false;
  const parts = [determinant(eye, q, r) / whole, determinant(p, eye, r) / whole, determinant(p, q, eye) / whole];
  const z = parts.reduce((sum, part, k) => sum + part * c[k][2], 0);
  return parts.every((part) => part >= 0) && Math.abs(z) <= 1;
}

/**
 * Tell whether a line or a point touches a pixel. @param {number[][]} c in pixels @param {number} x @param {number} y
 */
function lineTouches(c, x, y) {
  const [ax, ay] = c[0], [bx, by] = c.at(-1) ?? c[0], long = (bx - ax) ** 2 + (by - ay) ** 2;
  const t = long ? Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / long)) : 0;
  return Math.max(Math.abs(ax + t * (bx - ax) - x), Math.abs(ay + t * (by - ay) - y)) <= 0.5;
}

/**
 * The primitives that cover the centre of a pixel, whatever becomes of them. @param {any} mesh @param {number}
 * px @param {number} py from the lower left
 */
export function covering(mesh, px, py) {
  const {corners, viewport} = mesh.head, found = [];
  const x = ((px + 0.5 - viewport[0]) / viewport[2]) * 2 - 1, y = ((py + 0.5 - viewport[1]) / viewport[3]) * 2 - 1;
  if (Math.abs(x) > 1 || Math.abs(y) > 1) return [];
  for (let i = 0; i < mesh.fates.length; i++) {
    if (corners < 3) {
      const c = projected(mesh, i);
      if (c && lineTouches(c, px + 0.5, py + 0.5)) found.push(i);
    } else {
      const at = i * corners * 4;
      const c = [0, 4, 8].map((k) => Array.from(mesh.positions.subarray(at + k, at + k + 4)));
      if (triangleCovers(c, x, y)) found.push(i);
    }
  }
  return found;
}

/**
 * The pixel of a corner, from the lower left; null where it lies outside of the view. @param {any} mesh @param
 * {number} n
 */
function pixelOf(mesh, n) {
  const {viewport} = mesh.head, p = mesh.positions.subarray(n * 4, n * 4 + 4);
  const at = [0, 1].map((c) => Math.floor(viewport[c] + ((p[c] / p[3] + 1) / 2) * viewport[c + 2]));
  // A view of a negative height hangs down from its upper edge.
  const low = [viewport[0], Math.min(viewport[1], viewport[1] + viewport[3])];
  return p[3] > 0 && at.every((v, c) => v >= low[c] && v < low[c] + Math.abs(viewport[c + 2])) ? at : null;
}

export const meshPanel = {
  async show(ctx) {
    const {recording, place, element} = ctx;
    if (place.mesh === "pass") return showPass(ctx);
    const all = await fetchMesh(ctx, place.call);
    const instance =
        place.instance === null || all.head.instances <= 1 ? null : Math.min(place.instance, all.head.instances - 1);
    const mesh = ofInstance(all, instance);
    const {head} = mesh;
    const side = place.mesh === "in" ? "in" : "out";
    const save = saver(
        ctx, "OBJ",
        async () =>
            [`call-${place.call}.obj`, await getBytes(`${recording.number}/mesh/${place.call}/obj`), "text/plain"],
        {title: "primitives that come out"});
    const why = side === "in" ? head.why_in : head.why;
    const pixel = /^\d+,\d+$/.test(place.px) ? place.px.split(",").map(Number) : null;
    const marked = pixel && !head.why ? covering(mesh, pixel[0], pixel[1]) : [];
    const view = space(mesh, side, new Set(marked), (/** @type {number} */ one) => choose(one));
    const rows = why ? null : side === "in" ? inTable(mesh, ctx, (one) => choose(one)) : outTable(mesh, ctx, choose);
    /** @param {number} one a primitive that comes out, or a vertex that goes in */
    function choose(one) {
      view.choose(one);
      rows?.mark([one]);
    }
    fill(
        element,
        title(
            `Draw ${number(place.call)}`,
            `${counted(mesh.fates.length, "primitive")}, ${verticesIn(mesh)}${
                head.more ? "; it has more than are shown" : ""}`),
        toolbar(ctx, side, save),
        instances(ctx, all, instance),
        h("ul", {class: "legend"},
          ...FATES.filter(([name]) => head.counts[name])
              .map(([name, colour]) => patch(colour, `${number(head.counts[name])} ${name}: ${MEANS[name]}`))),
        why ? bad(why) : view.element,
        pixel && covers(ctx, mesh, side, pixel, marked, choose),
        rows && saving({
          name: `mesh-${place.call}-${side}`,
          rows: () => side === "in" ? inRecords(mesh, instance ?? 0) : outRecords(mesh, instance)
        }),
        rows && rows.element,
    );
    view.draw();
    rows?.mark(side === "out" ? marked : marked.flatMap((i) => (mesh.places.length ? verticesOf(mesh, i) : [])));
  },
};

/** The number of vertices that go in, or that it is not known. @param {any} mesh */
function verticesIn({head, vertices}) {
  const parts = [
    vertices.length && counted(vertices.length, "vertex", "vertices"),
    head.given && `${counted(head.given, "vertex", "vertices")} given one by one`
  ].filter(Boolean);
  return parts.join(" and ") || (head.why_in ? "vertices not known" : "no vertices");
}

/** @param {any} ctx @param {string} shows @param {...(HTMLElement|null)} more */
function toolbar(ctx, shows, ...more) {
  const sides = [
    ["out", "out: behind the last stage"], ["in", "in: as the program gave them"],
    ["pass", "whole pass: out, all draws"]
  ].map(([key, name]) => toggle(name, () => ctx.store.set({mesh: key === "out" ? "" : key}), shows === key));
  return h("div", {class: "tools", role: "toolbar", "aria-label": "mesh"}, ...sides, ...more);
}

const SELECTED = [215, 60, 30], OTHER = [110, 130, 165];

/** The target of a pass; of Vulkan, the call that submits it. @param {any} head */
function target({submit, framebuffer}) {
  if (submit !== null) return `submitted by call ${number(submit)}`;
  return framebuffer ? `framebuffer ${framebuffer}` : "window";
}

/** All draws of the pass, in one view. @param {any} ctx */
async function showPass(ctx) {
  const {recording, place, element} = ctx;
  let pass;
  try {
    pass = await fetchPass(ctx, place.call);
  } catch (error) {
    if (ctx.signal.aborted || error.status === 409) throw error;
    return fill(element, title(`Pass of call ${number(place.call)}`), toolbar(ctx, "pass"), ...failure(error));
  }
  const {draws, left_out: left} = pass.head;
  const known = draws.filter((one) => !one.why), lost = draws.length - known.length;
  const selected = draws.findIndex((one) => one.call === place.call);
  const sum = (/** @type {string} */ of) => known.reduce((all, one) => all + one[of], 0);
  const views = new Set(known.map((one) => one.viewport.join()));
  const near = h("p", {id: "nearest", role: "status"});
  const found = shownOfPass(pass);
  const own = {
    has: (/** @type {number} */ i) => found.drawOf(i) === selected,
    size: selected < 0 ? 0 : draws[selected].primitives
  };
  const view = space({...pass, found}, "out", own, (primitive) => {
    const at = found.drawOf(primitive), {call, primitive: first} = draws[at];
    view.choose(primitive);
    rows.mark([at]);
    fill(near, `primitive ${number(primitive - first)} of draw `, link(String(call), () => ctx.go(call)));
  }, (i) => own.has(i) ? SELECTED : OTHER);
  const rows = passTable(ctx, draws);
  const save = saver(
      ctx, "OBJ",
      async () =>
          [`pass-${pass.head.pass}.obj`, await getBytes(`${recording.number}/pass/${place.call}/mesh/obj`),
              "text/plain"],
      {title: "primitives that come out of all draws, a group by draw"});

  fill(
      element,
      title(
          `Pass ${number(pass.head.pass)}`,
          `${target(pass.head)}: ${counted(draws.length + left, "draw")}, ${
              counted(sum("primitives"), "primitive")}, ` +
              counted(sum("vertices"), "vertex", "vertices")),
      toolbar(ctx, "pass", save),
      h("ul", {class: "legend"}, selected >= 0 && patch(SELECTED, `▶ selected: draw ${number(place.call)}`),
        (selected < 0 || draws.length > 1) && patch(OTHER, selected < 0 ? "draws of the pass" : "other draws"),
        selected < 0 && h("li", {text: `call ${number(place.call)} is no draw of it`})),
      left > 0 &&
          bad(`cut off: ${number(left)} more draws of the pass are left out; the view has ${
              number(draws.length)} about the call`),
      lost > 0 && bad(`${number(lost)} draws are not in the view; the table has the reasons`),
      views.size > 1 && h("p", {text: `the draws have ${views.size} viewports: each fills the view`}), view.element,
      near, saving({name: `pass-${pass.head.pass}-out`, rows: () => passRecords(pass)}), rows.element);
  view.draw();
  if (selected >= 0) rows.mark([selected]);
}

/** @param {any} ctx @param {any[]} draws */
function passTable(ctx, draws) {
  const heads = ["", "call", "function", "primitives", "vertices", "instances", "becomes"];
  return growing(heads, draws.length, (i) => {
    const one = draws[i], is = one.call === ctx.place.call;
    const becomes =
        FATES.filter(([name]) => one.counts?.[name]).map(([name]) => `${number(one.counts[name])} ${name}`).join(", ");
    const count = (/** @type {number|undefined} */ sum) => n(one.why ? "" : number(sum ?? 0));
    return [
      is ? "▶ selected" : "", n(link(String(one.call), () => ctx.go(one.call))),
      h("td", {class: "mono", text: one.function}), count(one.primitives), count(one.vertices), count(one.instances),
      one.why || becomes + (one.more ? "; it has more primitives than these" : "")
    ];
  }, (i) => i);
}

/** Corners that come out of a pass, as a table of columns. @param {any} pass */
function passRecords(pass) {
  const rows = [];
  for (const one of pass.head.draws)
    for (let n = 0; n < one.primitives * (one.corners ?? 0); n++) {
      const i = Math.floor(n / one.corners), at = (one.corner + n) * 4;
      rows.push([
        one.call, i, one.each ? Math.floor(i / one.each) : null, FATES[pass.fates[one.primitive + i]][0],
        ...pass.positions.subarray(at, at + 4)
      ]);
    }
  return {columns: ["call", "primitive", "instance", "becomes", "x", "y", "z", "w"], rows};
}

const LISTED = 12;

/** The numbers of a primitive's vertices. @param {any} mesh @param {number} i @returns {number[]} */
function verticesOf(mesh, i) {
  const {corners} = mesh.head, all = mesh.places.length / corners;
  return Array.from({length: corners}, (_, k) => mesh.indices[mesh.places[(i % all) * corners + k]]);
}

/**
 * List the primitives that cover the chosen pixel: a link chooses each. @param {any} ctx @param {any} mesh @param
 * {"in"|"out"} side @param {number[]} pixel @param {number[]} marked @param {(one: number) => void} choose
 */
function covers(ctx, mesh, side, pixel, marked, choose) {
  const one = marked.length === 1;
  return h(
      "p", {id: "covering"},
      `${number(marked.length)} ${one ? "primitive covers" : "primitives cover"} pixel ${pixel.join(", ")}${
          marked.length ? `, drawn bold:` : ""} `,
      ...marked.slice(0, LISTED).flatMap(
          (i) =>
              [side === "out" ? link(String(i), () => choose(i)) : h("b", {text: String(i)}),
               ` ${FATES[mesh.fates[i]][0]}, `,
  ]),
      marked.length > LISTED && `… `, link("picture", () => ctx.store.set({tab: "picture"})));
}

/**
 * Rows that become more. `mark` shows those of some keys, and makes them the current ones. @param {string[]}
 * heads @param {number} count @param {(i: number) => any[]} row @param {(key: number) => number} rowOf the first
 * row of a key, -1 where it has none @param {number} [each] rows of a key
 */
function growing(heads, count, row, rowOf, each = 1) {
  const more = h("p"),
        made = (/** @type {number} */ from, /** @type {number} */ end) =>
            Array.from({length: end - from}, (_, i) => rowed(row(from + i)));
  let shown = Math.min(count, ROWS);
  const all = sheet(heads, made(0, shown)), [body] = all.tBodies;
  const grow = (upTo = shown + ROWS) => {
    body.append(...made(shown, Math.max(Math.min(count, upTo), shown)));
    shown = body.rows.length;
    fill(more, shown < count && button(`more (${number(count - shown)})`, () => grow()));
  };
  const scroll = h("div", {class: "scroll rows-of-mesh"}, all);
  grow(shown);
  const mark = (/** @type {number[]} */ keys) => {
    for (const old of body.querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
    const places = keys.slice(0, ROWS).map(rowOf).filter((n) => n >= 0);
    if (!places.length) return;
    grow(Math.max(...places) + each);
    for (const n of places)
      for (let k = 0; k < each; k++) body.children[n + k]?.setAttribute("aria-current", "true");
    const first = body.children[Math.min(...places)];
    scroll.scrollTop = first.offsetTop - first.offsetHeight * 2;
  };
  return {element: h("div", {}, scroll, more), mark};
}

const short = (/** @type {number} */ v) => (Number.isInteger(v) ? String(v) : String(Number(v.toPrecision(7))));
const cells = (/** @type {ArrayLike<number>} */ all) =>
    Array.from(all, (v) => h("td", {class: "n mono", text: short(v)}));

/** @param {any} ctx @param {number[]|null} at */
const pixelCell = (ctx, at) =>
    h("td", {class: "n", title: at && "mark it in the picture"},
      at && link(at.join(", "), () => ctx.store.set({tab: "picture", px: at.join()})));

/** The names of the attributes' numbers. @param {any[]} inputs */
const partsOf = (inputs) => inputs.flatMap(({name, size}) => [..."xyzw"].slice(0, size).map((c) => `${name}.${c}`));

/** @param {any} mesh @param {any} ctx @param {(vertex: number) => void} choose */
function inTable(mesh, ctx, choose) {
  const at = new Map(Array.from(mesh.vertices, (v, i) => [v, i]));
  /** By vertex: the first corner that comes of it; by vertex: its first row. @type {Map<number, number>[]} */
  const [corner, first] = [new Map(), new Map()];
  mesh.places.forEach((place, n) => {
    if (!corner.has(mesh.indices[place])) corner.set(mesh.indices[place], n);
  });
  mesh.indices.forEach((v, i) => {
    if (!first.has(v)) first.set(v, i);
  });
  const heads = ["place", "vertex", ...partsOf(mesh.inputs), "pixel"];
  const lost = mesh.inputs.filter((one) => one.why);
  const rows = growing(heads, mesh.indices.length, (i) => {
    const vertex = mesh.indices[i], out = corner.get(vertex);
    if (vertex === END) return [n(i), h("i", {text: "ends"})];
    const row = at.get(vertex);
    return [
      n(link(String(i), () => choose(vertex))), n(vertex),
      ...mesh.inputs.flatMap(
          (one) => cells(
              one.values.length > one.size ? one.values.subarray(row * one.size, (row + 1) * one.size) : one.values)),
      pixelCell(ctx, out === undefined || mesh.head.why ? null : pixelOf(mesh, out))
    ];
  }, (vertex) => first.get(vertex) ?? -1);
  return {element: h("div", {}, ...lost.map((one) => bad(`${one.name}: ${one.why}`)), rows.element), mark: rows.mark};
}

/** Vertices that go into an instance, as a table of columns. @param {any} mesh @param {number} [instance] */
function inRecords(mesh, instance = 0) {
  const at = new Map(Array.from(mesh.vertices, (v, i) => [v, i]));
  const inputs = mesh.inputs.filter((one) => one.values.length);
  const rows = [];
  mesh.indices.forEach((vertex, place) => {
    if (vertex === END) return;
    const row = at.get(vertex);
    rows.push([
      place, vertex, instance, ...inputs.flatMap(({values, size}) => {
        const first = values.length > size ? row * size : 0;
        return Array.from(values.subarray(first, first + size));
      })
    ]);
  });
  return {columns: ["place", "vertex", "instance", ...partsOf(inputs)], rows};
}

/**
 * Corners of primitives that come out, as a table of columns. @param {any} mesh @param {number|null} instance the one
 * that all are of
 */
function outRecords(mesh, instance) {
  const {corners, instances: count} = mesh.head, each = mesh.places.length / corners;
  const instanceOf = (/** @type {number} */ i) => each ? instance ?? Math.floor(i / each) : count > 1 ? null : 0;
  return {
    columns: ["primitive", "becomes", "vertex", "instance", "x", "y", "z", "w"],
    rows: Array.from(
        {length: mesh.fates.length * corners},
        (_, n) => {
          const i = Math.floor(n / corners), place = mesh.places.length ? mesh.places[n % mesh.places.length] : -1;
          return [
            i, FATES[mesh.fates[i]][0], place < 0 ? null : mesh.indices[place], instanceOf(i),
            ...mesh.positions.subarray(n * 4, n * 4 + 4)
          ];
        })
  };
}

/** @param {any} mesh @param {any} ctx @param {(primitive: number) => void} choose */
function outTable(mesh, ctx, choose) {
  const {corners} = mesh.head;
  return growing(["primitive", "becomes", "vertex", "x", "y", "z", "w", "pixel"], mesh.fates.length * corners, (c) => {
    const i = Math.floor(c / corners);
    const place = mesh.places.length ? mesh.places[c % mesh.places.length] : -1;
    return [
      n(c % corners ? "" : link(String(i), () => choose(i))), c % corners ? "" : FATES[mesh.fates[i]][0],
      n(place < 0 ? "" : mesh.indices[place]), ...cells(mesh.positions.subarray(c * 4, c * 4 + 4)),
      pixelCell(ctx, pixelOf(mesh, c))
    ];
  }, (primitive) => primitive * corners, corners);
}

/**
 * Lines in space: turned by dragging or arrows, nearer by wheel, + and -. @param {any} mesh @param {"in"|"out"}
 * side @param {{has: (i: number) => boolean, size: number}} marked primitives @param {(one: number) => void} picked
 * what a click does: its nearest primitive that comes out, or vertex that goes in @param {(primitive: number) =>
 * number[]} [colour]
 */
function space(mesh, side, marked, picked, colour = (i) => FATES[mesh.fates[i] ?? 4][1]) {
  const canvas = h("canvas", {
    class: "space",
    width: 560,
    height: 360,
    tabindex: "0",
    role: "img",
    "aria-label": `${mesh.fates.length} primitives in space; arrows turn them, + and - zoom, 0 looks from the front`
  });
  const found = mesh.found ?? (side === "in" ? given(mesh) : shown(mesh));
  let turn = side === "in" ? 0.5 : 0, tilt = side === "in" ? 0.35 : 0, zoom = 1, chosen = -1;
  const context = canvas.getContext("2d");
  const up = side === "out" && mesh.head.viewport?.[3] < 0 ? -1 : 1;  // y of Vulkan's positions points down
  const point = (/** @type {number} */ k) => {
    const [x, down, z] = [0, 1, 2].map((c) => (found.points[k * 3 + c] - found.middle[c]) / found.reach);
    const y = down * up;
    const x2 = x * Math.cos(turn) + z * Math.sin(turn), z2 = z * Math.cos(turn) - x * Math.sin(turn);
    const scale = zoom * Math.min(canvas.width, canvas.height) * 0.45;
    return [canvas.width / 2 + x2 * scale, canvas.height / 2 - (y * Math.cos(tilt) - z2 * Math.sin(tilt)) * scale];
  };
  const draw = () => {
    if (!context) return;
    context.clearRect(0, 0, canvas.width, canvas.height);
    const step = Math.max(1, Math.ceil(found.count / 40_000));
    for (const bold of [false, true]) {
      for (let i = 0; i < found.count; i += bold && marked.size < 40_000 ? 1 : step) {
        const named =
            marked.has(i) || (side === "out" ? i === chosen : chosen >= 0 && found.corner(i).includes(chosen));
        if (bold !== named) continue;
        const corners = found.places(i);
        if (!corners.length) continue;
        context.beginPath();
        corners.forEach((k) => {
          const [x, y] = point(k);
          context.lineTo(x, y);
        });
        context.closePath();
        context.lineWidth = bold ? 3 : found.count > 20_000 ? 0.4 : 1;
        context.strokeStyle = `rgb(${colour(i).join(" ")})`;
        context.stroke();
        if (corners.length === 1) {
          const [x, y] = point(corners[0]);
          context.fillStyle = context.strokeStyle;
          context.fillRect(x - 1.5, y - 1.5, 3, 3);
        }
      }
    }
  };
  /** The corner that lies next to a place of the canvas. @param {number} x @param {number} y */
  const nearest = (x, y) => {
    let least = NEAR ** 2, near = -1;
    for (let i = 0; i < found.count; i++)
      found.places(i).forEach((k, c) => {
        const at = point(k), far = (at[0] - x) ** 2 + (at[1] - y) ** 2;
        if (far < least) [least, near] = [far, side === "out" ? i : found.corner(i)[c]];
      });
    return near;
  };
  canvas.addEventListener("pointerdown", (event) => {
    let moved = 0;
    canvas.setPointerCapture(event.pointerId);
    canvas.onpointermove = (move) => {
      moved += Math.abs(move.movementX) + Math.abs(move.movementY);
      turn += move.movementX / 120;
      tilt += move.movementY / 120;
      draw();
    };
    canvas.onpointerup = (up) => {
      canvas.onpointermove = null;
      const by = canvas.width / canvas.clientWidth, near = moved > 3 ? -1 : nearest(up.offsetX * by, up.offsetY * by);
      if (near >= 0) picked(near);
    };
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom *= event.deltaY < 0 ? 1.15 : 1 / 1.15;
    draw();
  }, {passive: false});
  canvas.addEventListener("keydown", (event) => {
    const acts = {
      ArrowLeft: () => (turn -= 0.1),
      ArrowRight: () => (turn += 0.1),
      ArrowUp: () => (tilt -= 0.1),
      ArrowDown: () => (tilt += 0.1),
      "+": () => (zoom *= 1.2),
      "-": () => (zoom /= 1.2),
      0: () => {
        turn = tilt = 0;
        zoom = 1;
      }
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.key]();
    draw();
  });
  return {
    element: canvas,
    draw,
    choose: (/** @type {number} */ one) => {
      chosen = one;
      draw();
    }
  };
}

/** @param {Float32Array} positions in clip coordinates; normalised device coordinates that look along z come back */
function normalised(positions) {
  const points = new Float64Array((positions.length / 4) * 3);
  for (let k = 0; k < positions.length / 4; k++)
    for (let c = 0; c < 3; c++)
      points[k * 3 + c] = (c === 2 ? -1 : 1) * positions[k * 4 + c] / (positions[k * 4 + 3] || 1);
  return points;
}

/**
 * The output, in normalised device coordinates. @param {any} mesh @param {(i: number) => [number, number]} [at] the
 * first corner of a primitive, and how many it has
 */
function shown(mesh, at = (i) => [i * mesh.head.corners, mesh.head.corners]) {
  const before = (/** @type {number} */ k) => mesh.positions[k * 4 + 3] > 0;
  return {
    points: normalised(mesh.positions),
    count: mesh.fates.length,
    middle: [0, 0, 0],
    reach: 1,
    corner: () => ([]),
    places: (/** @type {number} */ i) => {
      const [first, corners] = at(i), all = Array.from({length: corners}, (_, k) => first + k);
      return all.every(before) ? all : [];
    }
  };
}

/** The output of all draws of a pass, and the draw that each primitive belongs to. @param {any} pass */
function shownOfPass(pass) {
  const {draws} = pass.head, drawOf = new Uint32Array(pass.fates.length);
  draws.forEach((one, n) => {
    if (one.primitives) drawOf.fill(n, one.primitive, one.primitive + one.primitives);
  });
  const found = shown(pass, (i) => {
    const one = draws[drawOf[i]];
    return [one.corner + (i - one.primitive) * one.corners, one.corners];
  });
  return {...found, drawOf: (/** @type {number} */ i) => drawOf[i]};
}

/** The input: the attribute that is most likely a place. @param {any} mesh */
function given(mesh) {
  const {corners} = mesh.head;
  const able = mesh.inputs.filter((one) => one.size >= 2 && one.values.length > one.size);
  const input = able.find((one) => /pos|vert|place|coord3|^p$/i.test(one.name)) ?? able[0] ??
      {size: 3, values: new Float64Array()};
  const count = mesh.vertices.length, points = new Float64Array(count * 3);
  const least = [Infinity, Infinity, Infinity], most = [-Infinity, -Infinity, -Infinity];
  for (let k = 0; k < count; k++) {
    for (let c = 0; c < 3; c++) {
      const v = c < input.size ? input.values[k * input.size + c] ?? 0 : 0;
      points[k * 3 + c] = v;
      least[c] = Math.min(least[c], v);
      most[c] = Math.max(most[c], v);
    }
  }
  const at = new Map(Array.from(mesh.vertices, (v, i) => [v, i]));
  const per = mesh.places.length / corners;
  const corner = (/** @type {number} */ i) => (mesh.places.length ? verticesOf(mesh, i) : [mesh.vertices[i]]);
  return {
    points,
    count: mesh.places.length ? per : count,
    middle: least.map((v, c) => (v + most[c]) / 2),
    reach: Math.max(...most.map((v, c) => (v - least[c]) / 2), 1e-9),
    corner,
    places: (/** @type {number} */ i) => corner(i).map((v) => at.get(v))
  };
}
