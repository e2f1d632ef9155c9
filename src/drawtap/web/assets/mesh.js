// The vertices of a draw: what goes in, what comes out, what becomes of each primitive; as tables and in space.
import {button, download, fill, h, number} from "./dom.js";
import {headed, values} from "./image.js";
import {getBytes} from "./net.js";
import {link, saving} from "./table.js";

/** By the server's number: name, colour. @type {[string, number[]][]} */
export const FATES = [
  ["degenerate", [150, 90, 220]], ["frustum", [130, 130, 130]], ["backface", [255, 140, 0]],
  ["discarded", [200, 170, 0]], ["rasterised", [40, 170, 80]], ["clipped", [40, 130, 230]]
];
const MEANS = /** @type {Record<string, string>} */ ({
  degenerate: "no area",
  frustum: "outside of the view",
  backface: "culled: it faces away",
  discarded: "nothing of it is kept",
  rasterised: "drawn",
  clipped: "drawn, and cut at the view's border"
});
const ROWS = 200;
const END = 0xffffffff;
const NEAR = 12;  // so near, in pixels, a click is of a corner

/** @param {any} ctx @param {number} seq */
export async function fetchMesh(ctx, seq) {
  const answer = await getBytes(`${ctx.recording.number}/mesh/${seq}`, ctx.signal);
  const {head, at} = headed(answer);
  const array = (/** @type {string} */ name) =>
      values(answer, at + head.arrays[name].at, head.arrays[name].type, head.arrays[name].length);
  const inputs =
      head.inputs.map((/** @type {any} */ one, /** @type {number} */ i) => ({...one, values: array(`input${i}`)}));
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

/**
 * One instance of a draw: its primitives, and what it has of attributes with a divisor. Of all instances (null)
 * attributes are those of the first. @param {any} mesh @param {number|null} instance
 */
export function ofInstance(mesh, instance) {
  const {head} = mesh, {corners} = head;
  const inputs = mesh.inputs.map((/** @type {any} */ one) => {
    if (!one.divisor || !one.values.length) return one;
    const row = Math.min(Math.floor((instance ?? 0) / one.divisor), one.values.length / one.size - 1);
    return {...one, values: one.values.subarray(row * one.size, (row + 1) * one.size)};
  });
  if (instance === null || !mesh.places.length) return {...mesh, inputs};
  const each = mesh.places.length / corners, first = instance * each, end = first + each;
  const fates = mesh.fates.subarray(first, end);
  const counts = Object.fromEntries(
      FATES.map(([name], i) => [name, fates.filter((/** @type {number} */ fate) => fate === i).length]));
  return {
    ...mesh,
    inputs,
    fates,
    areas: mesh.areas.subarray(first, end),
    positions: mesh.positions.subarray(first * corners * 4, end * corners * 4),
    head: {...head, counts, more: head.more && fates.length < each}
  };
}

/** A choice of an instance, and what is said of it. @param {any} ctx @param {any} mesh @param {number|null} instance */
function instances(ctx, mesh, instance) {
  const {instances: count, base_instance: base} = mesh.head;
  if (count <= 1) return null;
  const shared = mesh.inputs.filter((/** @type {any} */ one) => one.divisor).map((/** @type {any} */ one) => one.name);
  const chosen = /** @type {HTMLInputElement} */ (h("input", {
    type: "number",
    min: "0",
    max: String(count - 1),
    value: String(instance ?? ""),
    "aria-label": "instance",
    placeholder: "all"
  }));
  chosen.addEventListener("change", () => {
    const wanted = Number(chosen.value);
    ctx.store.set({instance: chosen.value === "" ? null : Math.max(0, Math.min(count - 1, Math.floor(wanted)))});
  });
  const of = shared.length ? `; ${shared.join(", ")} ${instance === null ? "as instance 0 has" : "as it has"} ${
                                 shared.length > 1 ? "them" : "it"}` :
                             "";
  const whole =
      instance !== null && !mesh.places.length ? "; primitives are of all: which are its own is not known" : "";
  return h(
      "div", {class: "tools"}, h("label", {}, "instance ", chosen),
      button("all", () => ctx.store.set({instance: null}), {"aria-pressed": String(instance === null)}), h("span", {
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
 * Whether a triangle has a point at a place of the view, before the volume cuts it. @param {number[][]} c of x, y, z,
 * w @param {number} x @param {number} y in normalised device coordinates
 */
function triangleCovers(c, x, y) {
  const [p, q, r] = c.map((v) => [v[0], v[1], v[3]]), eye = [x, y, 1], whole = determinant(p, q, r);
  if (!whole) return false;
  const parts = [determinant(eye, q, r) / whole, determinant(p, eye, r) / whole, determinant(p, q, eye) / whole];
  const z = parts.reduce((sum, part, k) => sum + part * c[k][2], 0);
  return parts.every((part) => part >= 0) && Math.abs(z) <= 1;
}

/** Whether a line or a point touches a pixel. @param {number[][]} c in pixels @param {number} x @param {number} y */
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
  return p[3] > 0 && at.every((v, c) => v >= viewport[c] && v < viewport[c] + viewport[c + 2]) ? at : null;
}

export const meshPanel = {
  id: "mesh",
  name: "Mesh",
  key: "m",
  needsCall: true,
  /** @param {any} ctx */
  async show(ctx) {
    const {recording, place, element, store} = ctx;
    const all = await fetchMesh(ctx, place.call);
    const instance =
        place.instance === null || all.head.instances <= 1 ? null : Math.min(place.instance, all.head.instances - 1);
    const mesh = ofInstance(all, instance);
    const {head} = mesh;
    const side = place.mesh === "in" ? "in" : "out";
    const sides = [["out", "out: behind the last stage"], ["in", "in: as the program gave them"]].map(
        ([key, name]) =>
            button(name, () => store.set({mesh: key === "out" ? "" : key}), {"aria-pressed": String(side === key)}));
    const save = button(
        "OBJ",
        async () => download(
            `call-${place.call}.obj`, await getBytes(`${recording.number}/mesh/${place.call}/obj`), "text/plain"),
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
        h("h2", {text: `Draw ${number(place.call)}`}, h("small", {
            text: `${number(mesh.fates.length)} primitives, ${number(mesh.vertices.length)} vertices${
                head.more ? "; it has more than are shown" : ""}`
          })),
        h("div", {class: "tools", role: "toolbar", "aria-label": "mesh"}, ...sides, save),
        instances(ctx, all, instance),
        h("ul", {class: "legend"},
          ...FATES.filter(([name]) => head.counts[name])
              .map(
                  ([name, colour]) =>
                      h("li", {},
                        h("span",
                          {class: "patch", "aria-hidden": "true", style: {background: `rgb(${colour.join(" ")})`}}),
                        `${number(head.counts[name])} ${name}: ${MEANS[name]}`))),
        why ? h("p", {class: "bad", text: why}) : view.element,
        pixel && covers(ctx, mesh, side, pixel, marked, choose),
        rows &&
            saving(
                {name: `mesh-${place.call}-${side}`, rows: () => side === "in" ? inRecords(mesh) : outRecords(mesh)}),
        rows && rows.element,
    );
    view.draw();
    rows?.mark(side === "out" ? marked : marked.flatMap((i) => (mesh.places.length ? verticesOf(mesh, i) : [])));
  },
};

const LISTED = 12;

/** The numbers of a primitive's vertices. @param {any} mesh @param {number} i @returns {number[]} */
function verticesOf(mesh, i) {
  const {corners} = mesh.head, all = mesh.places.length / corners;
  return Array.from({length: corners}, (_, k) => mesh.indices[mesh.places[(i % all) * corners + k]]);
}

/**
 * Which primitives cover the chosen pixel: each is chosen by a link. @param {any} ctx @param {any} mesh @param
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
 * heads @param {number} count @param {(i: number) => HTMLElement} row @param {(key: number) => number} rowOf the first
 * row of a key, -1 where it has none @param {number} [each] rows of a key
 */
function growing(heads, count, row, rowOf, each = 1) {
  const body = h("tbody");
  const more = h("p");
  let shown = 0;
  const grow = (upTo = shown + ROWS) => {
    for (const end = Math.min(count, upTo); shown < end; shown++) body.append(row(shown));
    fill(more, shown < count && button(`more (${number(count - shown)})`, () => grow()));
  };
  const scroll =
      h("div", {class: "scroll rows-of-mesh"},
        h("table", {}, h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", {text, scope: "col"})))), body));
  grow();
  const mark = (/** @type {number[]} */ keys) => {
    for (const old of body.querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
    const places = keys.slice(0, ROWS).map(rowOf).filter((n) => n >= 0);
    if (!places.length) return;
    grow(Math.max(...places) + each);
    for (const n of places)
      for (let k = 0; k < each; k++) body.children[n + k]?.setAttribute("aria-current", "true");
    const first = /** @type {HTMLElement} */ (body.children[Math.min(...places)]);
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

/** @param {any} mesh @param {any} ctx @param {(vertex: number) => void} choose */
function inTable(mesh, ctx, choose) {
  const at = new Map(Array.from(mesh.vertices, (v, i) => [v, i]));
  /** By vertex: the first corner that comes of it; by vertex: its first row. @type {Map<number, number>[]} */
  const [corner, first] = [new Map(), new Map()];
  mesh.places.forEach((/** @type {number} */ place, /** @type {number} */ n) => {
    if (!corner.has(mesh.indices[place])) corner.set(mesh.indices[place], n);
  });
  mesh.indices.forEach((/** @type {number} */ v, /** @type {number} */ i) => {
    if (!first.has(v)) first.set(v, i);
  });
  const heads = [
    "place", "vertex",
    ...mesh.inputs.flatMap(
        (/** @type {any} */ one) => Array.from({length: one.size}, (_, i) => `${one.name}.${"xyzw"[i]}`)),
    "pixel"
  ];
  const lost = mesh.inputs.filter((/** @type {any} */ one) => one.why);
  const rows = growing(heads, mesh.indices.length, (i) => {
    const vertex = mesh.indices[i], out = corner.get(vertex);
    if (vertex === END) return h("tr", {}, h("td", {class: "n", text: String(i)}), h("td", {}, h("i", {text: "ends"})));
    const row = /** @type {number} */ (at.get(vertex));
    return h(
        "tr", {}, h("td", {class: "n"}, link(String(i), () => choose(vertex))),
        h("td", {class: "n", text: String(vertex)}),
        ...mesh.inputs.flatMap(
            (/** @type {any} */ one) => cells(
                one.values.length > one.size ? one.values.subarray(row * one.size, (row + 1) * one.size) : one.values)),
        pixelCell(ctx, out === undefined || mesh.head.why ? null : pixelOf(mesh, out)));
  }, (vertex) => first.get(vertex) ?? -1);
  return {
    element:
        h("div", {}, ...lost.map((/** @type {any} */ one) => h("p", {class: "bad", text: `${one.name}: ${one.why}`})),
          rows.element),
    mark: rows.mark
  };
}

/** Vertices that go in, as a table of columns. @param {any} mesh */
function inRecords(mesh) {
  const at = new Map(Array.from(mesh.vertices, (v, i) => [v, i]));
  const inputs = mesh.inputs.filter((/** @type {any} */ one) => one.values.length);
  const rows = [];
  mesh.indices.forEach((/** @type {number} */ vertex, /** @type {number} */ place) => {
    if (vertex === END) return;
    const row = /** @type {number} */ (at.get(vertex));
    rows.push([
      place, vertex, ...inputs.flatMap((/** @type {any} */ {values, size}) => {
        const first = values.length > size ? row * size : 0;
        return Array.from(values.subarray(first, first + size));
      })
    ]);
  });
  const names =
      inputs.flatMap((/** @type {any} */ one) => Array.from({length: one.size}, (_, i) => `${one.name}.${"xyzw"[i]}`));
  return {columns: ["place", "vertex", ...names], rows};
}

/** Corners of primitives that come out, as a table of columns. @param {any} mesh */
function outRecords(mesh) {
  const {corners} = mesh.head;
  return {
    columns: ["primitive", "becomes", "vertex", "x", "y", "z", "w"],
    rows: Array.from(
        {length: mesh.fates.length * corners},
        (_, n) => {
          const i = Math.floor(n / corners), place = mesh.places.length ? mesh.places[n % mesh.places.length] : -1;
          return [
            i, FATES[mesh.fates[i]][0], place < 0 ? null : mesh.indices[place],
            ...mesh.positions.subarray(n * 4, n * 4 + 4)
          ];
        })
  };
}

/** @param {any} mesh @param {any} ctx @param {(primitive: number) => void} choose */
function outTable(mesh, ctx, choose) {
  const {corners} = mesh.head;
  return growing(["primitive", "becomes", "vertex", "x", "y", "z", "w", "pixel"], mesh.fates.length * corners, (n) => {
    const i = Math.floor(n / corners);
    const place = mesh.places.length ? mesh.places[n % mesh.places.length] : -1;
    return h(
        "tr", {}, h("td", {class: "n"}, n % corners ? "" : link(String(i), () => choose(i))),
        h("td", {text: n % corners ? "" : FATES[mesh.fates[i]][0]}),
        h("td", {class: "n", text: place < 0 ? "" : String(mesh.indices[place])}),
        ...cells(mesh.positions.subarray(n * 4, n * 4 + 4)), pixelCell(ctx, pixelOf(mesh, n)));
  }, (primitive) => primitive * corners, corners);
}

/**
 * Lines in space: turned by dragging or arrows, nearer by wheel, + and -. @param {any} mesh @param {"in"|"out"}
 * side @param {Set<number>} marked primitives @param {(one: number) => void} picked what a click does: its nearest
 * primitive that comes out, or vertex that goes in
 */
function space(mesh, side, marked, picked) {
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", {
    class: "space",
    width: 560,
    height: 360,
    tabindex: "0",
    role: "img",
    "aria-label": `${mesh.fates.length} primitives in space; arrows turn them, + and - zoom, 0 looks from the front`
  }));
  const found = side === "in" ? given(mesh) : shown(mesh);
  let turn = side === "in" ? 0.5 : 0, tilt = side === "in" ? 0.35 : 0, zoom = 1, chosen = -1;
  const context = canvas.getContext("2d");
  const point = (/** @type {number} */ k) => {
    const [x, y, z] = [0, 1, 2].map((c) => (found.points[k * 3 + c] - found.middle[c]) / found.reach);
    const x2 = x * Math.cos(turn) + z * Math.sin(turn), z2 = z * Math.cos(turn) - x * Math.sin(turn);
    const scale = zoom * Math.min(canvas.width, canvas.height) * 0.45;
    return [canvas.width / 2 + x2 * scale, canvas.height / 2 - (y * Math.cos(tilt) - z2 * Math.sin(tilt)) * scale];
  };
  const draw = () => {
    if (!context) return;
    context.clearRect(0, 0, canvas.width, canvas.height);
    const step = Math.max(1, Math.ceil(found.count / 40_000));
    for (const bold of [false, true]) {
      for (let i = 0; i < found.count; i += bold ? 1 : step) {
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
        context.strokeStyle = `rgb(${FATES[mesh.fates[i] ?? 4][1].join(" ")})`;
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
    const acts = /** @type {Record<string, () => void>} */ ({
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
    });
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

/** What comes out, in normalised device coordinates. @param {any} mesh */
function shown(mesh) {
  const {corners} = mesh.head;
  const points = new Float64Array((mesh.positions.length / 4) * 3);
  for (let k = 0; k < mesh.positions.length / 4; k++)
    for (let c = 0; c < 3; c++)
      points[k * 3 + c] = (c === 2 ? -1 : 1) * mesh.positions[k * 4 + c] / (mesh.positions[k * 4 + 3] || 1);
  const before = (/** @type {number} */ k) => mesh.positions[k * 4 + 3] > 0;
  return {
    points,
    count: mesh.fates.length,
    middle: [0, 0, 0],
    reach: 1,
    corner: () => /** @type {number[]} */ ([]),
    places: (/** @type {number} */ i) => {
      const all = Array.from({length: corners}, (_, k) => i * corners + k);
      return all.every(before) ? all : [];
    }
  };
}

/** What goes in: the input that is a place most likely. @param {any} mesh */
function given(mesh) {
  const {corners} = mesh.head;
  const able = mesh.inputs.filter((/** @type {any} */ one) => one.size >= 2 && one.values.length > one.size);
  const input = able.find((/** @type {any} */ one) => /pos|vert|place|coord3|^p$/i.test(one.name)) ?? able[0] ??
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
    places: (/** @type {number} */ i) => corner(i).map((v) => /** @type {number} */ (at.get(v)))
  };
}
