// What the framebuffer holds after the call: zoom, channels, range, and the exact value below the pointer.
import { button, download, fill, h, number } from "./dom.js";
import { getBytes } from "./net.js";

let zoom = 1;
let channels = "RGB";
let low = 0, high = 255;

export const picturePanel = {
  id: "picture",
  name: "Picture",
  needsCall: true,
  /** @param {any} ctx */
  async show(ctx) {
    const { recording, place, element } = ctx;
    const seq = await before(ctx, place.call);
    const data = await getBytes(`${recording.number}/picture/${seq}`, ctx.signal);
    // Bare pixels: an image element would multiply colours with alpha and round them.
    const [width, height] = new Uint32Array(data, 0, 2);
    const exact = { width, height, data: new Uint8ClampedArray(data, 8) };
    const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { width, height, role: "img", "aria-label": `picture after call ${seq}`, tabindex: "0" }));
    const value = h("code", { text: "point at a pixel" });
    const draw = () => {
      canvas.style.width = `${width * zoom}px`;
      canvas.getContext("2d")?.putImageData(seen(exact), 0, 0);
      for (const b of tools) b.setAttribute("aria-pressed", String(b.textContent === channels || b.textContent === `${zoom}×`));
    };
    const pick = (/** @type {string} */ name) => button(name, () => { channels = channels === name ? "RGB" : name; draw(); });
    const scale = (/** @type {number} */ by) => button(`${by}×`, () => { zoom = by; draw(); });
    const limit = (/** @type {number} */ now, /** @type {(v: number) => void} */ set, /** @type {string} */ name) => {
      const input = /** @type {HTMLInputElement} */ (h("input", { type: "number", min: "0", max: "255", value: String(now), "aria-label": name }));
      input.addEventListener("input", () => { set(Number(input.value)); draw(); });
      return input;
    };
    const tools = [pick("R"), pick("G"), pick("B"), pick("A"), scale(0.5), scale(1), scale(2), scale(4), scale(8)];
    canvas.addEventListener("mousemove", (event) => {
      const x = Math.floor((event.offsetX / canvas.clientWidth) * width), y = Math.floor((event.offsetY / canvas.clientHeight) * height);
      if (x < 0 || y < 0 || x >= width || y >= height) return;
      const at = (y * width + x) * 4;
      value.textContent = `x ${x}, y ${height - 1 - y} from below: ${[...exact.data.subarray(at, at + 4)].join(" ")}`;
    });
    fill(
      element,
      h("h2", { text: `After call ${number(seq)}` }, h("small", { text: `${width} × ${height}, 8 bits a channel` })),
      h("div", { class: "tools" }, ...tools, h("i", { text: "range" }), limit(low, (v) => (low = v), "darkest value"), limit(high, (v) => (high = v), "brightest value"),
        button("save", async () => download(`call-${seq}.png`, await getBytes(`${recording.number}/picture/${seq}/png`), "image/png"))),
      h("div", { class: "picture" }, canvas),
      h("p", {}, value),
      h("canvas", { width: 256, height: 60, "aria-label": "histogram", role: "img", id: "histogram" }),
    );
    histogram(/** @type {HTMLCanvasElement} */ (element.querySelector("#histogram")), exact.data);
    draw();
  },
};

/** After a swap the picture is gone: the one before it is meant. @param {any} ctx @param {number} seq */
async function before(ctx, seq) {
  const frame = ctx.recording.frameOf(seq);
  return seq === ctx.recording.frames.end[frame] - 1 && seq > ctx.recording.frames.first[frame] ? seq - 1 : seq;
}

/** @param {{width: number, height: number, data: Uint8ClampedArray}} exact */
function seen(exact) {
  const made = new ImageData(exact.width, exact.height);
  const only = "RGBA".indexOf(channels);
  const spread = 255 / Math.max(high - low, 1);
  for (let i = 0; i < exact.data.length; i += 4) {
    for (let c = 0; c < 3; c++) made.data[i + c] = (exact.data[i + (channels.length === 1 ? only : c)] - low) * spread;
    made.data[i + 3] = 255;
  }
  return made;
}

/** @param {HTMLCanvasElement} canvas @param {Uint8ClampedArray} data */
function histogram(canvas, data) {
  const counts = [new Uint32Array(256), new Uint32Array(256), new Uint32Array(256)];
  for (let i = 0; i < data.length; i += 4) for (let c = 0; c < 3; c++) counts[c][data[i + c]]++;
  const context = canvas.getContext("2d");
  if (!context) return;
  const most = Math.log1p(Math.max(...counts.map((one) => Math.max(...one))));
  ["#d33", "#2a2", "#36d"].forEach((colour, c) => {
    context.strokeStyle = colour;
    context.beginPath();
    counts[c].forEach((n, x) => context.lineTo(x + 0.5, 60 - (Math.log1p(n) / most) * 58));
    context.stroke();
  });
}
