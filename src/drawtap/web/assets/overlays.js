// Layers upon a picture: fragments of the draw that reached it, tests that kept others away, wires, overdraw.
import {counted, h, number} from "./dom.js";
import {headed, values} from "./image.js";
import {getBytes, insist} from "./net.js";
import {patch, toggle} from "./parts.js";

/** Name, colour (red, green, blue) and what the legend says. */
const MASKS = {
  drawn: ["highlight", [255, 64, 220], "fragments pass all tests"],
  culled: ["cull", [255, 140, 0], "fragments face away and are culled"],
  discarded: ["discard", [250, 220, 40], "fragments are discarded"],
  stencil: ["stencil fail", [0, 200, 255], "fragments fail the stencil test"],
  depth: ["depth fail", [255, 40, 40], "fragments fail the depth test"],
};
const OTHERS = {
  wire: "wireframe",
  size: "triangle size",
  boxes: "viewport, scissor",
  overdraw: "overdraw"
};
const SIZES = [1, 4, 16, 64, 256, 1024];

/**
 * Buttons, canvases and a legend for the overlays that the place names.
 * @param {any} ctx @param {number} seq @param {number} width @param {number} height
 */
export function overlays(ctx, seq, width, height) {
  const named = (place) => new Set(place.over.split(",").filter((key) => MASKS[key] || OTHERS[key]));
  const chosen = named(ctx.place);
  const change = (/** @type {string} */ key) => {
    const now = named(ctx.store.place);  // which this picture may not show yet
    now.has(key) ? now.delete(key) : now.add(key);
    ctx.store.set({over: [...now].join()});
  };
  const names = {...Object.fromEntries(Object.entries(MASKS).map(([key, [name]]) => [key, name])), ...OTHERS};
  const tools =
      h("div", {class: "tools", role: "toolbar", "aria-label": "overlays"}, h("i", {text: "upon it"}),
        ...Object.entries(names).map(([key, name]) => toggle(name, () => change(key), chosen.has(key))));
  const legend = h("ul", {class: "legend", "aria-live": "polite"});
  /** @type {((x: number, y: number) => string)[]} */
  const tells = [];
  const say = (/** @type {string} */ text, /** @type {number[]|null} */ colour) => legend.append(patch(colour, text));
  /** @type {Record<string, HTMLCanvasElement>} */
  const over = {};
  // Wires lie upon masks.
  for (const key of ["overdraw", ...Object.keys(MASKS), "size", "boxes", "wire"])
    if (chosen.has(key)) over[key] = h("canvas", {width, height, "aria-hidden": "true"});
  const of = {ctx, seq, width, height, over, say, tells};
  const wanted = [...chosen];
  const parts = [
    wanted.some((key) => MASKS[key] || key === "boxes") && masks, chosen.has("overdraw") && overdraw,
    wanted.some((key) => key === "wire" || key === "size") && wires
  ];
  void (async () => {
    for (const part of parts) {
      if (!part) continue;
      try {
        await insist(() => part(of), ctx.signal);
      } catch (error) {
        if (error.name !== "AbortError") say(error.message, null);
      }
    }
    legend.dataset.ready = "yes";
  })();
  return {
    tools,
    legend,
    over: Object.values(over),
    tell: (/** @type {number} */ x, /** @type {number} */ y) => tells.map((one) => one(x, y)).join("")
  };
}

async function masks({ctx, seq, width, height, over, say, tells}) {
  const answer = await getBytes(`${ctx.recording.number}/masks/${seq}`, ctx.signal);
  const {head, at} = headed(answer);
  // Where no mask could be taken nobody knows how large the target is: each says why.
  if (head.names.length && (head.width !== width || head.height !== height))
    return say("the draw goes to a target of another size", null);
  for (const [key, [name, colour, words]] of Object.entries(MASKS)) {
    if (!over[key]) continue;
    const place = head.names.indexOf(key);
    if (place < 0) {
      say(`${name}: ${head.why[key]}`, null);
      continue;
    }
    const counts = new Uint8Array(answer, at + place * width * height, width * height);
    say(`${name}: ${number(head.sums[key])} ${words}`, colour);
    tells.push((x, y) => (counts[y * width + x] ? `, ${name} ${counts[y * width + x]}` : ""));
    paint(over[key], width, height, (i) => (counts[i] ? [...colour, 150] : null));
  }
  if (over.boxes) boxes(over.boxes, head, height, say);
}

/**
 * @param {HTMLCanvasElement} canvas @param {any} head @param {number} height @param {(text: string, colour:
 *     number[]|null) => void} say
 */
function boxes(canvas, head, height, say) {
  const context = canvas.getContext("2d");
  if (!context) return;
  for (const [name, box, colour] of [
           ["viewport", head.viewport, [60, 220, 90]], ["scissor", head.scissor, [255, 255, 255]]]) {
    say(box ? `${name} ${box[2]} × ${box[3]} at ${box[0]}, ${box[1]}` : `${name}: off`, box ? colour : null);
    if (!box) continue;
    context.strokeStyle = `rgb(${colour.join(" ")})`;
    context.setLineDash(name === "scissor" ? [4, 3] : []);
    context.strokeRect(box[0] + 0.5, height - box[1] - box[3] + 0.5, box[2] - 1, box[3] - 1);
  }
}

async function overdraw({ctx, seq, width, height, over, say, tells}) {
  const answer = await getBytes(`${ctx.recording.number}/overdraw/${seq}`, ctx.signal);
  const {head, at} = headed(answer);
  if (head.width !== width || head.height !== height) return say("overdraw: the target has another size", null);
  const counts = values(answer, at, "<u4", width * height);
  say(`overdraw: ${number(head.sum)} fragments of ${counted(head.draws, "draw")} up to here, at most ${
          number(
              head.most)} on a pixel${head.unknown ? `; ${number(head.unknown)} draws are missing: ${head.why}` : ""}`,
      heat(head.most, head.most));
  tells.push((x, y) => `, drawn over ${counts[y * width + x]} times`);
  paint(over.overdraw, width, height, (i) => (counts[i] ? [...heat(counts[i], head.most), 200] : null));
}

/** From blue over green and yellow to red, by the logarithm. @param {number} n @param {number} most */
function heat(n, most) {
  const t = most > 1 ? Math.log(n) / Math.log(most) : 0;
  return [
    Math.round(255 * Math.min(1, 2 * t)), Math.round(255 * Math.min(1, 2 - 2 * t) * (0.4 + 0.6 * t)),
    Math.round(200 * (1 - t))
  ];
}

async function wires({ctx, seq, width, height, over, say}) {
  const {fetchMesh, FATES, projected} = await import("./mesh.js");
  const mesh = await fetchMesh(ctx, seq);
  if (mesh.head.why) return say(`wireframe: ${mesh.head.why}`, null);
  if (over.wire) {
    say("wireframe, by what becomes of the primitives:", null);
    FATES.forEach(([name, colour], i) => {
      if (mesh.head.counts[name]) say(`${number(mesh.head.counts[name])} ${name}`, colour);
    });
  }
  const draw = (/** @type {number} */ by) => {
    // As fine as the screen shows it: lines stay thin however near one looks.
    const fine = Math.max(1, Math.min(by * devicePixelRatio, 4096 / Math.max(width, height)));
    for (const key of ["wire", "size"]) {
      const canvas = over[key], context = canvas?.getContext("2d");
      if (!context) continue;
      Object.assign(canvas, {width: Math.round(width * fine), height: Math.round(height * fine)});
      context.lineWidth = mesh.fates.length > 20_000 ? 0.4 : 1;
      for (let i = 0; i < mesh.fates.length; i++) {
        if (key === "size" && mesh.fates[i] < 4) continue;
        const corners = projected(mesh, i);
        if (!corners) continue;
        context.beginPath();
        for (const [x, y] of corners) context.lineTo(x * fine, (height - y) * fine);
        context.closePath();
        if (key === "wire") {
          context.strokeStyle = `rgb(${FATES[mesh.fates[i]][1].join(" ")})`;
          context.stroke();
        } else {
          context.fillStyle = `rgb(${sizeColour(mesh.areas[i]).join(" ")} / 70%)`;
          context.fill();
        }
      }
    }
  };
  for (const key of ["wire", "size"])
    if (over[key]) over[key].drawAt = draw;
  draw(over.wire ? parseFloat(over.wire.style.width) / width || 1 : parseFloat(over.size.style.width) / width || 1);
  if (over.size) {
    const counts = [...SIZES, Infinity].map(
        (limit, k) =>
            mesh.areas.filter((a, i) => mesh.fates[i] >= 4 && a < limit && (k === 0 || a >= SIZES[k - 1])).length);
    counts.forEach((n, k) => {
      if (n)
        say(`${number(n)} of ${
                k === 0                ? "less than 1" :
                    k === SIZES.length ? `${SIZES[k - 1]} and more` :
                                         `${SIZES[k - 1]} to ${SIZES[k]}`} pixels`,
            sizeColour(k === SIZES.length ? 2000 : SIZES[k] - 0.5));
    });
  }
}

/** @param {number} area */
function sizeColour(area) {
  const k = SIZES.findIndex((limit) => area < limit);
  return [
    [230, 30, 30], [240, 110, 20], [240, 190, 30], [140, 200, 50], [50, 170, 110], [50, 130, 200], [90, 90, 190]
  ][k < 0 ? 6 : k];
}

/**
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {(i: number) => number[]|null}
 *     colour of a pixel, the lowest row first
 */
function paint(canvas, width, height, colour) {
  const made = new ImageData(width, height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const c = colour(y * width + x);
      if (c) made.data.set(c, ((height - 1 - y) * width + x) * 4);
    }
  }
  canvas.getContext("2d")?.putImageData(made, 0, 0);
}
