// Panels of two recordings at both cursors: calls, state, pictures, objects; and the findings of drawtap compare when
// both are played.
import {button, counted, fill, h, number} from "./dom.js";
import {headed, imageView, values} from "./image.js";
import {get, getBytes} from "./net.js";
import {beforeSwap, KINDS} from "./panels_picture.js";
import {bad, n, quiet, sheet, sieve, title, toggle, wrap} from "./parts.js";
import {link, table} from "./table.js";
import {timePanel} from "./time.js";

const FLICKER_MS = 500;  // two flashes a second: less than harms anybody
const POLL_MS = 700;
const VIEWS = [["", "A beside B"], ["a", "A"], ["b", "B"], ["difference", "difference"], ["flicker", "flicker"]];


const where = (ctx) => `A ${number(ctx.place.call)}, B ${number(ctx.place.callb)}`;

export const pairCallPanel = {
  id: "call",
  name: "Calls",
  needsCall: true,
  async show(ctx) {
    const {recording, other, place, element, row} = ctx;
    const [a, b] = await Promise.all([
      get(`${recording.number}/call/${place.call}`, ctx.signal), get(`${other.number}/call/${place.callb}`, ctx.signal)
    ]);
    const alone = row?.type === "call" && (row.hasA ? (row.hasB ? "" : "B") : "A");
    const sides = ([["A", a], ["B", b]]).filter(([side]) => side !== alone);
    const names = [...new Set(sides.flatMap(([, call]) => call.args.map((one) => one.name)))];
    const of = (call, /** @type {string} */ name) => {
      const found = call.args.find((one) => one.name === name);
      if (!found) return "–";
      const array = found.array === undefined ?
          "" :
          `  ${typeof found.array === "string" ? found.array : found.array.join(", ")}`;
      return `${found.value}${array}`;
    };
    const line = (/** @type {string} */ name, /** @type {(call: any) => string} */ value) => {
      const texts = sides.map(([, call]) => value(call)), differs = texts.length > 1 && texts[0] !== texts[1];
      return h(
          "tr", {class: differs ? "differs" : ""}, h("th", {scope: "row", text: name}),
          h("td", {text: differs ? "≠" : "", title: differs ? "differs" : null}),
          ...texts.map((text) => h("td", {class: "mono wrap", text: text.slice(0, 2000)})));
    };
    fill(
        element, title([...new Set(sides.map(([, call]) => call.name))].join(" and "), where(ctx)),
        alone &&
            h("p", {text: `Only ${sides[0][0]} makes this call. The cursor in ${alone} stands at the call before it.`}),
        sheet(
            ["", "", ...sides.map(([side]) => side)],
            [
              line("frame", (call) => String(call.frame)), line("function", (call) => call.name),
              ...names.map((name) => line(name, (call) => of(call, name))),
              line("result", (call) => String(call.result ?? "none"))
            ],
            {class: "both"}),
        quiet(
            "Objects are the same where aligned calls made them, whatever their numbers: " +
            "then the list counts the calls as equal."),
        h("div", {class: "tools"},
          ...[["A", recording, place.call], ["B", other, place.callb]].map(
              ([name, one, call]) => button(
                  `open ${name} alone here`, () => ctx.store.set({rec: one.number, with: null, callb: null, call})))));
  },
};

export const pairStatePanel = {
  id: "state",
  name: "State",
  needsCall: true,
  async show(ctx) {
    const answer = await get(`${ctx.pair.path}/states?a=${ctx.place.call}&b=${ctx.place.callb}`, ctx.signal);
    const [search, out] = sieve(
        "search the state", "words in path or value", answer.rows,
        (rows) => table(ctx, {...answer, rows}, {name: "state-a-b"}));
    const count = answer.rows.length;
    fill(
        ctx.element, title("State after both calls", where(ctx)), h("p", {
          text: count ? `${counted(count, "variable differs", "variables differ")}; ` +
                  "– stands for a variable that one side does not have." :
                        "No variable differs."
        }),
        count > 0 && h("div", {class: "tools"}, search), count > 0 && out);
  },
};

export const pairPicturePanel = {
  id: "picture",
  name: "Pictures",
  needsCall: true,
  async show(ctx) {
    const {recording, other, place, element, store} = ctx;
    const at = [beforeSwap(recording, place.call), beforeSwap(other, place.callb)];
    const answer = await getBytes(
        `${ctx.pair.path}/pictures?a=${at[0]}&b=${at[1]}&of=${encodeURIComponent(place.of)}`, ctx.signal);
    const {head, at: start} = headed(answer);
    let offset = start;
    const images = head.sides.map((side) => {
      if (!side.width) return null;
      const [type, channels] = KINDS[side.bytes], size = side.width * side.height;
      // A view needs its numbers at an even place; depth behind an odd number of bytes is copied there.
      const data = values(answer.slice(offset, offset + size * side.bytes), 0, type, size * channels.length);
      offset += size * side.bytes;
      return {width: side.width, height: side.height, channels, data};
    });
    const names = head.names.map((name) => toggle(name || "color", () => store.set({of: name}), name === head.of));
    const views = VIEWS.map(([key, name]) => toggle(name, () => store.set({side: key}), key === place.side));
    const played = (side, one) =>
        side.cut ? `${number(side.calls)} of ${number(one.calls)} calls` : "every call before it";
    fill(
        element,
        title(
            "After both calls",
            `A ${number(at[0])}, B ${number(at[1])}; A played ${played(head.sides[0], recording)}, ` +
                `B ${played(head.sides[1], other)}`),
        h("p", {class: "apart", role: "status", text: apart(head)}),
        h("div", {class: "tools"}, h("span", {class: "tools", role: "toolbar", "aria-label": "view"}, ...views),
          names.length > 1 && h("span", {class: "tools", role: "toolbar", "aria-label": "attachments"}, ...names)),
        ...head.sides.map(
            (side, i) => !images[i] && bad(`${"AB"[i]}: ${side.why || "there is nothing to read back here"}`)),
        shown(ctx, images));
  },
};

function apart(head) {
  if (head.exact === undefined) return "There is no picture on one side: choose a draw that both make.";
  if (head.sizes) return `The sizes differ: ${head.sizes}.`;
  if (head.exact) return "The pictures are equal.";
  return `${counted(head.pixels, "pixel differs", "pixels differ")}; largest difference ${head.largest}, RMSE ${
      head.rmse.toFixed(3)}${head.ssim === null ? "" : `, SSIM ${head.ssim.toFixed(5)}`}`;
}

/** @param {any} ctx @param {any[]} images */
function shown(ctx, images) {
  const {side} = ctx.place, [a, b] = images;
  const figure = (image, /** @type {string} */ name) =>
      h("figure", {data: {name}}, h("figcaption", {text: name}),
        imageView(image, {name: `${name} after the call`, plain: true}));
  if (side === "a" || side === "b")
    return (side === "a" ? a : b) ? imageView(side === "a" ? a : b, {name: side.toUpperCase()}) : h("p");
  if (!a || !b || side === "")
    return h("div", {class: "parts beside"}, ...[a && figure(a, "A"), b && figure(b, "B")].filter(Boolean));
  if (a.width !== b.width || a.height !== b.height)
    return h("div", {class: "parts beside"}, figure(a, "A"), figure(b, "B"));
  if (side === "flicker") return flicker(figure(a, "A"), figure(b, "B"));
  const data = a.data.map((v, i) => Math.abs(v - b.data[i]));
  // Colours alone: a difference of alpha is counted, and shown by its button.
  return imageView({...a, data}, {name: "difference of A and B", fit: true});
}

/** @param {HTMLElement} a @param {HTMLElement} b */
function flicker(a, b) {
  const box = h("div", {class: "parts beside", data: {flicker: "a"}}, a, b);
  const turn = () => {
    const now = box.dataset.flicker === "a" ? "b" : "a";
    box.dataset.flicker = now;
    a.hidden = now === "b";
    b.hidden = now === "a";
  };
  b.hidden = true;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return h("div", {}, button("the other one", turn), box);
  const timer = setInterval(() => (box.isConnected ? turn() : clearInterval(timer)), FLICKER_MS);
  return box;
}

/** Properties with the first digits of hashes; the cell's title has all of them. @param {string} text */
const shortHashes = (text) =>
    text.replaceAll("content_hash", "content").replace(/\b([0-9a-f]{8})[0-9a-f]{24}\b/g, "$1…");

export const pairObjectsPanel = {
  id: "objects",
  name: "Objects",
  async show(ctx) {
    const answer = await get(`${ctx.pair.path}/resources`, ctx.signal);
    const count = answer.rows.length;
    fill(
        ctx.element, title("Objects that differ", "− only A has it, + only B, ~ another content or other properties"),
        h("p", {
          text: count ? `${counted(count, "object differs", "objects differ")}; A and B are its names there.` :
                        "The objects of both are the same."
        }),
        count > 0 &&
            table(
                ctx, {...answer, rows: answer.rows.map((row) => [row[0] === "-" ? "−" : row[0], ...row.slice(1)])},
                {name: "objects-a-b", written: {what: shortHashes}}));
  },
};

export const comparedPanel = {
  id: "compared",
  name: "First draw",
  async show(ctx) {
    const out = h("div"), engines = h("div");
    fill(ctx.element, title("What both draw", "plays both from the beginning, as drawtap compare does"), out, engines);
    this.engines(ctx, engines);
    let answer = await get(`${ctx.pair.path}/compared`, ctx.signal);
    const begin = button(
        "play both and find the first draw that differs",
        () => void this.watch(ctx, out, true).catch((error) => ctx.fail(error)));
    if (answer.state === "none") return fill(out, h("div", {class: "tools"}, begin));
    await this.watch(ctx, out, false);
  },

  /** @param {any} ctx @param {HTMLElement} out @param {boolean} begin */
  async watch(ctx, out, begin) {
    for (let first = begin; !ctx.signal.aborted; first = false) {
      const answer = await get(`${ctx.pair.path}/compared${first ? "?begin=1" : ""}`, ctx.signal);
      const again = h("p", {}, h("i", {text: "the same on the command line: "}), h("code", {text: answer.command}));
      if (answer.state === "done") return fill(out, ...found(ctx, answer.found), again);
      if (answer.state === "failed") return fill(out, bad(answer.why.join(" ")), again);
      fill(out, h("p", {role: "status"}, h("i", {text: "both are played …"})), again);
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  },

  /** Other engines to play on, with the command. @param {any} ctx @param {HTMLElement} out */
  engines(ctx, out) {
    const ask = async () => {
      const answers = await get("engines", ctx.signal);
      fill(
          out, title("Engines of this machine"),
          sheet(
              ["engine", "works", "what it is"],
              answers.map((e) => [e.name, e.works ? "yes" : "no", wrap(e.works ? e.renderer : e.reason)])),
          h("p", {}, "One recording on two engines: ",
            h("code", {text: `drawtap view ${quoted(ctx.recording.overview.name)} --on llvmpipe --on softpipe`})));
    };
    fill(
        out,
        h("div", {class: "tools"},
          button("engines of this machine", () => void ask().catch((error) => ctx.fail(error)))));
  },
};

/** @param {string} name */
const quoted = (name) => (/^[\w.\/-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);

/** @param {any} ctx @param {any} answer of drawtap compare --json @returns {(HTMLElement|false)[]} */
function found(ctx, answer) {
  const differing = answer.frames.filter((f) => !f.same);
  const draw = answer.first_draw;
  const go = () => ctx.store.set({call: draw.a.call, callb: draw.b.call, tab: "picture"});
  const sum = `${number(answer.frames.length)} frames compared, ${number(differing.length)} differ`;
  const frame = (f) => () => {
    const end = (one) => Math.max(one.frames.end[Math.min(f.frame, one.frameCount - 1)] - 1, 0);
    ctx.store.set({call: end(ctx.recording), callb: end(ctx.other), tab: "picture"});
  };
  return [
    h("p", {text: answer.same ? `All frames are the same: ${sum}.` : `${sum}.`}),
    h("p", {}, h("i", {text: `A: ${answer.a}`}), h("br"), h("i", {text: `B: ${answer.b}`})),
    draw &&
        h("div", {}, title(
              "The first draw that differs", `in frame ${answer.first_frame}${
                             draw.at_start ? ", which differs already before its first draw" : ""}`),
          h("pre", {class: "wrap", text: `A  ${draw.a.call}  ${draw.a.text}\nB  ${draw.b.call}  ${draw.b.text}`}),
          h("p", {
            text: `before: ${
                !draw.before      ? "unknown" :
                draw.before.exact ? "equal" :
                                    `largest difference ${draw.before.max_difference}`}; after: largest difference ${
                draw.after.max_difference}, RMSE ${draw.after.rmse.toFixed(3)}`
          }),
          button("show this draw", go)),
    answer.no_draw && h("p", {text: `The first draw that differs: ${answer.no_draw}`}),
    differing.length > 0 &&
        sheet(
            ["frame", "largest", "RMSE", "SSIM", "pixels"], differing.slice(0, 500).map((f) => [
              n(link(String(f.frame), frame(f))),
              ...(f.only ? [`only in ${f.only.toUpperCase()}`, "", "", ""] :
                           [
                             f.max_difference, f.rmse.toFixed(3), f.ssim === null ? "–" : f.ssim.toFixed(5),
                             `${(100 * f.pixels).toFixed(2)} %`
                           ]).map(n)
            ])),
  ];
}

export const PAIR_PANELS =
    [pairCallPanel, pairStatePanel, pairPicturePanel, pairObjectsPanel, comparedPanel, timePanel];
