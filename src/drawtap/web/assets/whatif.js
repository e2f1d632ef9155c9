// The recording with changes: calls left out, arguments set; the old picture beside the new one, the times of both,
// saved as a recording.
import {button, counted, duration, fill, h, number} from "./dom.js";
import {headed, imageView, values} from "./image.js";
import {get, getBytes, insist, post, postForBytes, worded} from "./net.js";
import {bad, editing, n, named, saver, sheet, title} from "./parts.js";

const ROUNDS = 8;  // each plays both recordings; the first one is left out

export const whatifPanel = {
  async show(ctx) {
    const {recording, place, element, store} = ctx;
    const apply = () => store.set({what: area.value.trim()});
    const area = editing({"aria-label": "changes, one a line", class: "mono", text: place.what}, apply);
    const add = (/** @type {string} */ line) => {
      area.value = `${area.value.trim()}\n${line}`.trim();
      apply();
    };

    const logs = h("div", {"aria-live": "polite"});
    const pictures = h("div", {class: "parts beside", "aria-live": "polite"});
    const save = saver(
        ctx, "save as a recording",
        async () =>
            ["changed.dtap", await postForBytes(`${recording.number}/whatif`, place.what), "application/octet-stream"],
        {disabled: !place.what});
    const times = h("div", {id: "times", "aria-live": "polite"});
    const measure = button("times of both", async () => {
      measure.disabled = true;
      try {
        fill(times, h("p", {text: "playing both …"}));
        for (let round = 0, done = 0; round < ROUNDS; round++) {
          const found =
              await post(`${recording.number}/whatif/${place.call}/times?done=${done}`, place.what, ctx.signal);
          done = found.done;
          fill(times, ...compared(found));
        }
      } catch (error) {
        if (!ctx.signal.aborted) fill(times, refused(error));
      }
      measure.disabled = false;
    }, {disabled: !place.what, title: "plays the frame with and without the changes, in turns"});
    fill(
        element,
        title(
            `What if, at call ${number(place.call)}`,
            "drop CALL, pixel CALL, or set CALL NAME = VALUE: values as the list shows them"),
        area, await editor(ctx, area, apply),
        h("div", {class: "tools"}, button("apply", apply, {title: "Ctrl-Enter"}),
          button("without this call", () => add(`drop ${place.call}`)),
          button("one pixel of this draw", () => add(`pixel ${place.call}`)),
          button(
              "as it was",
              () => {
                area.value = "";
                apply();
              },
              {disabled: !place.what}),
          measure, save),
        times, logs, pictures);
    const old = await getBytes(`${recording.number}/picture/${place.call}`, ctx.signal);
    const before = shown(old, "as it was");
    fill(pictures, before);
    if (!place.what) return;
    try {
      const changed = await insist(
          () => postForBytes(`${recording.number}/whatif/${place.call}`, place.what, ctx.signal), ctx.signal);
      fill(logs, ...headed(changed).head.logs.map(said));
      fill(pictures, before, shown(changed, "with the changes", old));
    } catch (error) {
      if (error.name !== "AbortError") fill(pictures, before, refused(error));
    }
  },
};

const refused = (error) => bad(worded(error));

/** The frame's processor times, of both recordings. @param {any} found */
function compared(found) {
  const {before, after, ratio, rounds} = found;
  const about = `Frame ${number(found.frame)}, ${number(rounds)} rounds, each plays both in turns. Processor time of all
    threads of the player on ${found.engine}, each draw finished before the next one: ${
      found.software ? "a software renderer, whose drawing is in it" : "the time of the GPU is not in it"}.`;
  if (!ratio) return [h("p", {text: `${about} Times stand here from the second round on; the first one warms up.`})];
  const row = (/** @type {string} */ name, one, /** @type {(v: number) => string} */ shown) =>
      named(name, n(shown(one.value)), n(`${shown(Math.max(one.least, 0))} to ${shown(one.most)}`));
  const times = (/** @type {number} */ v) => v.toFixed(3);
  const says = ratio.most < 1 ? "The changes make it faster." :
      ratio.least > 1         ? "The changes make it slower." :
                                "No difference is certain.";
  return [
    sheet(
        ["", "mean", "lies there, 95 % certain"],
        [row("as it was", before, duration), row("with the changes", after, duration), row("ratio", ratio, times)]),
    h("p", {text: `${says} ${about}`})
  ];
}

/** The message of a compiler or a linker. @param {any} log */
function said(log) {
  return h(
      "div", {class: "log"}, h("p", {
        class: log.good ? "" : "bad",
        text: `${log.good ? "✓" : "✕"} ${log.kind} ${log.name} ${
            log.kind === "shader" ? (log.good ? "is compiled" : "cannot be compiled") :
                log.good          ? "is linked" :
                                    "cannot be linked"}`
      }),
      log.text && h("pre", {class: "wrap", text: log.text}));
}

const SUFFIXES = {
  VERTEX: "vert",
  TESSELLATION_CONTROL: "tesc",
  TESSELLATION_EVALUATION: "tese",
  GEOMETRY: "geom",
  FRAGMENT: "frag",
  COMPUTE: "comp"
};

/**
 * The source of a shader, how it stands in a change, and how it is found there; null where the call has none.
 *  @param {any} ctx
 */
async function sourceOf(ctx) {
  const {recording, place} = ctx;
  if (!recording.overview.vulkan) {
    const {args} = await get(`${recording.number}/call/${place.edit}`, ctx.signal);
    const string = args.find((one) => one.name === "string");
    if (!Array.isArray(string?.array)) return null;
    return {
      source: string.array.join(""),
      about: "",
      found: /string = \{(".*")\}/,
      change: (/** @type {string} */ text) => `count = 1, string = {${JSON.stringify(text)}}, length = NULL`
    };
  }
  const {shaders} = await get(`${recording.number}/program/${place.call}`, ctx.signal);
  const shader = shaders.find((one) => one.seq === place.edit);
  const suffix = SUFFIXES[shader?.stage] || "frag";
  return shader && shader.source !== null ? {
    source: shader.source,
    about: ": assembly of SPIR-V, or GLSL that begins with #version",
    found: /pCode = (?:spirv|glsl)\((?:"\w+", )?(".*")\)/,
    change: (/** @type {string} */ text) => {
      const word = JSON.stringify(text);
      return `pCreateInfo.pCode = ${
          text.trimStart().startsWith("#version") ? `glsl("${suffix}", ${word})` : `spirv(${word})`}`;
    }
  } :
                                            null;
}

/** A place for the source of a shader. @param {any} ctx @param {HTMLTextAreaElement} area @param {() => void} apply */
async function editor(ctx, area, apply) {
  const {place, store} = ctx;
  if (place.edit === null) return null;
  const of = await sourceOf(ctx);
  if (!of) return bad(`call ${place.edit} gives no source`);
  const lines = area.value.split("\n"), mine = new RegExp(`^\\s*set\\s+${place.edit}\\s`);
  const line = lines.find((one) => mine.test(one)), set = line && of.found.exec(line);
  const source = set ? JSON.parse(set[1]) : of.source;
  const rows = String(Math.min(Math.max(source.split("\n").length + 1, 5), 16));
  const text = editing({class: "mono", "aria-label": "source of the shader", rows, text: source}, () => use(true));
  const use = (/** @type {boolean} */ changed) => {
    const rest = lines.filter((one) => !mine.test(one));
    area.value = [...rest, ...(changed ? [`set ${place.edit} ${of.change(text.value)}`] : [])].join("\n").trim();
    apply();
  };

  return h(
      "div", {}, title("Source of the shader", `call ${number(place.edit)}${of.about}`), text,
      h("div", {class: "tools"}, button("compile and draw", () => use(true), {title: "Ctrl-Enter"}),
        button("source as it was", () => use(false), {disabled: !line}),
        button("close", () => store.set({edit: null}))));
}

/** @param {ArrayBuffer} answer @param {string} name @param {ArrayBuffer} [old] what it is compared with */
function shown(answer, name, old) {
  const {head, at} = headed(answer);
  const size = head.width * head.height * 4;
  const data = values(answer, at, "|u1", size);
  let other = "";
  if (old) {
    const was = headed(old);
    if (was.head.width !== head.width || was.head.height !== head.height)
      other = ": another size";
    else {
      const then = values(old, was.at, "|u1", size);
      let pixels = 0;
      for (let i = 0; i < size; i += 4)
        if (data[i] !== then[i] || data[i + 1] !== then[i + 1] || data[i + 2] !== then[i + 2] ||
            data[i + 3] !== then[i + 3])
          pixels++;
      other = `: ${counted(pixels, "pixel differs", "pixels differ")}`;
    }
  }
  return h(
      "figure", {data: {name}}, h("figcaption", {text: name + other}),
      imageView({width: head.width, height: head.height, channels: "rgba", data}, {name, plain: true}));
}
