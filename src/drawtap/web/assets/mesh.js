// The vertices of a draw: what goes in, what comes out, what becomes of each primitive; as tables and in space.
import {button, download, fill, h, number} from "./dom.js";
import {headed, values} from "./image.js";
import {getBytes} from "./net.js";
import {link} from "./table.js";

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

/** Primitives that cover a pixel. @param {any} mesh @param {number} px @param {number} py */
function covering(mesh, px, py) {
  const found = [], x = px + 0.5, y = py + 0.5;
  for (let i = 0; i < mesh.fates.length; i++) {
    const c = projected(mesh, i);
    if (!c || c.length < 3) continue;
    const side = (/** @type {number} */ a, /** @type {number} */ b) =>
        (c[b][0] - c[a][0]) * (y - c[a][1]) - (c[b][1] - c[a][1]) * (x - c[a][0]);
    const s = [side(0, 1), side(1, 2), side(2, 0)];
    if (s.every((v) => v >= 0) || s.every((v) => v <= 0)) found.push(i);
  }
  return found;
}

export const meshPanel = {
  id: "mesh",
  name: "Mesh",
  key: "m",
  needsCall: true,
  /** @param {any} ctx */
  async show(ctx) {
    const {recording, place, element, store} = ctx;
    const mesh = await fetchMesh(ctx, place.call);
    const {head} = mesh;
    const side = place.mesh === "in" ? "in" : "out";
    const sides = [["out", "out: behind the last stage"], ["in", "in: as the program gave them"]].map(
        ([key, name]) =>
            button(name, () => store.set({mesh: key === "out" ? "" : key}), {"aria-pressed": String(side === key)}));
    const save = (/** @type {string} */ kind) => button(
        kind.toUpperCase(),
        async () => download(
            `call-${place.call}.${kind}`, await getBytes(`${recording.number}/mesh/${place.call}/${kind}`),
            "text/plain"),
        {title: kind === "csv" ? "vertices that go in" : "primitives that come out"});
    const why = side === "in" ? head.why_in : head.why;
    const pixel = /^\d+,\d+$/.test(place.px) ? place.px.split(",").map(Number) : null;
    const marked = new Set(pixel && !head.why ? covering(mesh, pixel[0], pixel[1]) : []);
    const view = space(mesh, side, marked);
    fill(
        element,
        h("h2", {text: `Draw ${number(place.call)}`}, h("small", {
            text: `${number(mesh.fates.length)} primitives, ${number(mesh.vertices.length)} vertices${
                head.more ? "; it has more than are shown" : ""}`
          })),
        h("div", {class: "tools", role: "toolbar", "aria-label": "mesh"}, ...sides, save("csv"), save("obj")),
        h("ul", {class: "legend"},
          ...FATES.filter(([name]) => head.counts[name])
              .map(
                  ([name, colour]) =>
                      h("li", {},
                        h("span",
                          {class: "patch", "aria-hidden": "true", style: {background: `rgb(${colour.join(" ")})`}}),
                        `${number(head.counts[name])} ${name}: ${MEANS[name]}`))),
        why ? h("p", {class: "bad", text: why}) : view.element,
        pixel &&
            h("p", {}, `${number(marked.size)} primitives cover pixel ${pixel.join(", ")}, drawn bold `,
              link("picture", () => store.set({tab: "picture"}))),
        !why && (side === "in" ? inTable(mesh, view) : outTable(mesh, view, ctx)),
    );
    view.draw();
  },
};

/** Rows that become more. @param {string[]} heads @param {number} count @param {(i: number) => HTMLElement} row */
function growing(heads, count, row) {
  const body = h("tbody");
  const more = h("p");
  let shown = 0;
  const grow = () => {
    for (const end = Math.min(count, shown + ROWS); shown < end; shown++) body.append(row(shown));
    fill(more, shown < count && button(`more (${number(count - shown)})`, grow));
  };
  grow();
  return h(
      "div", {},
      h("div", {class: "scroll"},
        h("table", {}, h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", {text, scope: "col"})))), body)),
      more);
}

const short = (/** @type {number} */ v) => (Number.isInteger(v) ? String(v) : String(Number(v.toPrecision(7))));
const cells = (/** @type {ArrayLike<number>} */ all) =>
    Array.from(all, (v) => h("td", {class: "n mono", text: short(v)}));

/** @param {any} mesh @param {any} view */
function inTable(mesh, view) {
  const at = new Map(Array.from(mesh.vertices, (v, i) => [v, i]));
  const heads = [
    "place", "vertex",
    ...mesh.inputs.flatMap(
        (/** @type {any} */ one) => Array.from({length: one.size}, (_, i) => `${one.name}.${"xyzw"[i]}`))
  ];
  const lost = mesh.inputs.filter((/** @type {any} */ one) => one.why);
  return h(
      "div", {}, ...lost.map((/** @type {any} */ one) => h("p", {class: "bad", text: `${one.name}: ${one.why}`})),
      growing(heads, mesh.indices.length, (i) => {
        const vertex = mesh.indices[i];
        if (vertex === END)
          return h("tr", {}, h("td", {class: "n", text: String(i)}), h("td", {}, h("i", {text: "ends"})));
        const row = /** @type {number} */ (at.get(vertex));
        return h(
            "tr", {}, h("td", {class: "n"}, link(String(i), () => view.choose(vertex))),
            h("td", {class: "n", text: String(vertex)}),
            ...mesh.inputs.flatMap(
                (/** @type {any} */ one) => cells(
                    one.values.length > one.size ? one.values.subarray(row * one.size, (row + 1) * one.size) :
                                                   one.values)));
      }));
}

/** @param {any} mesh @param {any} view @param {any} ctx */
function outTable(mesh, view, ctx) {
  const {corners, viewport} = mesh.head;
  return growing(["primitive", "becomes", "vertex", "x", "y", "z", "w", "pixel"], mesh.fates.length * corners, (n) => {
    const i = Math.floor(n / corners);
    const p = mesh.positions.subarray(n * 4, n * 4 + 4);
    const place = mesh.places.length ? mesh.places[n % mesh.places.length] : -1;
    const x = Math.floor(viewport[0] + ((p[0] / p[3] + 1) / 2) * viewport[2]),
          y = Math.floor(viewport[1] + ((p[1] / p[3] + 1) / 2) * viewport[3]);
    const seen = p[3] > 0 && x >= viewport[0] && y >= viewport[1] && x < viewport[0] + viewport[2] &&
        y < viewport[1] + viewport[3];
    return h(
        "tr", {}, h("td", {class: "n"}, n % corners ? "" : link(String(i), () => view.choose(i))),
        h("td", {text: n % corners ? "" : FATES[mesh.fates[i]][0]}),
        h("td", {class: "n", text: place < 0 ? "" : String(mesh.indices[place])}), ...cells(p),
        h("td", {class: "n"}, seen && link(`${x}, ${y}`, () => ctx.store.set({tab: "picture", px: `${x},${y}`}))));
  });
}

/**
 * Lines in space: turned by dragging or arrows, nearer by wheel, + and -. @param {any} mesh @param {"in"|"out"}
 * side @param {Set<number>} marked
 */
function space(mesh, side, marked) {
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
        const named = (side === "out" && (marked.has(i) || i === chosen)) ||
            (side === "in" && chosen >= 0 && found.corner(i).includes(chosen));
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
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    canvas.onpointermove = (move) => {
      turn += move.movementX / 120;
      tilt += move.movementY / 120;
      draw();
    };
    canvas.onpointerup = () => (canvas.onpointermove = null);
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
      canvas.scrollIntoView({block: "nearest"});
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
  const corner = (/** @type {number} */ i) =>
      (mesh.places.length ? Array.from({length: corners}, (_, k) => mesh.indices[mesh.places[i * corners + k]]) :
                            [mesh.vertices[i]]);
  return {
    points,
    count: mesh.places.length ? per : count,
    middle: least.map((v, c) => (v + most[c]) / 2),
    reach: Math.max(...most.map((v, c) => (v - least[c]) / 2), 1e-9),
    corner,
    places: (/** @type {number} */ i) => corner(i).map((v) => /** @type {number} */ (at.get(v)))
  };
}
