// One call: its arguments with what they point to, and the same as text, SQL, Python.
import {button, bytes, duration, fill, h, number, numbered} from "./dom.js";
import {get, getBytes} from "./net.js";
import {bad, copy, facts, failure, named, quiet, saver, title} from "./parts.js";
import {link, saving, table} from "./table.js";

const FORMATS = ["list", "matrix", "hex", "struct"];

export const callPanel = {
  id: "call",
  name: "Call",
  needsCall: true,
  async show(ctx) {
    const {recording, place, element} = ctx;
    const call = await get(`${recording.number}/call/${place.call}`, ctx.signal);
    const copied = (/** @type {string} */ name, /** @type {string} */ text) =>
        button(name, () => copy(text, `copied as ${name}`, ctx.say));
    fill(
        element,
        title(call.name, `call ${number(call.seq)}, frame ${number(call.frame)}`),
        h("pre", {class: "wrap", text: `${call.signature};`}),
        h("div", {class: "tools"}, h("i", {text: "copy as"}), copied("text", call.text), copied("C", `${call.c};`),
          copied("SQL", call.sql), copied("Python", call.python), copied("JSON", JSON.stringify(call, null, 1))),
        call.args.length > 0 && h("h2", {text: "Arguments"}),
        saving({
          name: `${call.name}-${call.seq}`,
          file: (/** @type {string} */ form) => `${recording.number}/call/${call.seq}/save/${form}`
        }),
        ...call.args.map((argument) => argumentView(ctx, call, argument)),
        h("h2", {text: "The call"}),
        about(call),
        ...(call.kinds.length > 0 ?
                [title("What the function does", "a word shows all such calls"), kinds(ctx, call.kinds)] :
                []),
    );
  },
};

const about = (call) => facts([
  ["result", call.result ?? "none"],
  ["time in the driver", duration(call.duration)],
  ["thread", call.thread],
  ["context", call.context || "none"],
  ["API", call.api || "–"],
  ["provided by", call.provided_by?.replaceAll(",", ", ") || "–"],
  ["documented at", call.pages.join("\n") || "–"],
]);

/** The words that the filter has for such functions, and what they mean. @param {any} ctx @param {string[][]} all */
const kinds = (ctx, all) => {
  const calls = (word) => link(`is:${word}`, () => ctx.store.set({filter: `is:${word}`, mode: "dim"}));
  return facts(all.map(([word, meaning]) => [calls(word), meaning]), "wrap");
};

function argumentView(ctx, call, argument) {
  const value = argument.class &&
          ["texture", "buffer", "program", "framebuffer", "vertex array"].includes(argument.class) &&
          /^[1-9]\d*$/.test(argument.value) ?
      link(
          `${argument.value}`,
          () => ctx.store.set({filter: `uses:${argument.class.replace(" ", "_")}=${argument.value}`, mode: "dim"})) :
      argument.value;
  const group = ctx.recording.overview.contexts.find((one) => one.context === call.context)?.share_group;
  const content = argument.class === "buffer" && group !== undefined && /^[1-9]\d*$/.test(argument.value) &&
      link("content",
           () => ctx.store.set(
               {tab: "buffer", object: `buffer/${group}/${argument.value}`, fields: "", from: 0, range: ""}));
  const head = named(
      argument.name, h("td", {class: "mono wrap"}, value, content && " ", content),
      h("i", {text: argument.class ?? argument.group ?? argument.type ?? argument.kind}));
  const made = h("div", {}, h("table", {class: "argument"}, head));
  if (argument.array !== undefined)
    made.append(arrayView(ctx, call, argument));
  else if (argument.missing)
    made.append(quiet(argument.missing));
  return made;
}

function arrayView(ctx, call, argument) {
  const box = h("pre");
  const size = h("i", {text: `${bytes(argument.bytes)} of ${argument.element}`});
  const path = `${ctx.recording.number}/content/${call.seq}/${argument.name}`;
  const save = saver(
      ctx, "save",
      async () => [`${call.name}-${call.seq}-${argument.name}.bin`, await getBytes(path), "application/octet-stream"]);
  const untyped = argument.element === "bytes";
  if (!untyped && typeof argument.array === "string" ||
      Array.isArray(argument.array) && typeof argument.array[0] === "string" &&
          Number.isNaN(Number(argument.array[0]))) {
    const text = Array.isArray(argument.array) ? argument.array.join("\n") : argument.array;
    box.textContent = numbered(text);
    return h("div", {}, h("div", {class: "tools"}, size, save), box);
  }
  const out = h("div", {}, box);
  const draw = async (/** @type {string} */ form) => {
    buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.textContent === form)));
    if (form === "struct") return fill(out, fields(ctx, path));
    const raw = untyped || form === "hex" ? await getBytes(path) : null;
    const all = untyped && raw ? Array.from(new Float32Array(raw, 0, raw.byteLength >> 2), short) : argument.array;
    box.textContent = form === "hex" ? hex(new Uint8Array(raw)) : form === "matrix" ? matrix(all) : lines(all, 8);
    fill(out, box);
  };
  const show = (/** @type {string} */ form) => void draw(form).catch(ctx.fail);
  const buttons =
      (untyped ? ["hex", "floats", "matrix", "struct"] : FORMATS).map((form) => button(form, () => show(form)));
  show(untyped ? "hex" : argument.array.length === 16 || argument.array.length === 9 ? "matrix" : "list");
  return h("div", {}, h("div", {class: "tools"}, size, ...buttons, save), out);
}

/** The bytes as fields of a format that somebody types. @param {any} ctx @param {string} path */
function fields(ctx, path) {
  const rows = h("div");
  const format = h("input", {
    type: "text",
    size: "40",
    "aria-label": "format of the fields",
    placeholder: "every 20; float3 position; ubyte4n color",
    title: "Enter applies it",
    on: {keydown: (/** @type {KeyboardEvent} */ {key}) => key === "Enter" && void apply()}
  });
  const apply = async () => {
    try {
      const {fields: names, rows: found, why} =
          await get(`${path}/fields?format=${encodeURIComponent(format.value)}`, ctx.signal);
      fill(rows, why ? bad(why) : table(ctx, {columns: names, rows: found}, {name: "fields"}));
    } catch (error) {
      if (error.name !== "AbortError") fill(rows, ...failure(error));
    }
  };

  return h("div", {}, h("div", {class: "tools"}, format, button("apply", () => void apply())), rows);
}

const short = (/** @type {number} */ v) => String(Number(v.toPrecision(7)));

/** @param {any[]} values @param {number} width */
function lines(values, width) {
  const found = [];
  for (let i = 0; i < values.length; i += width)
    found.push(`${String(i).padStart(6)}  ${values.slice(i, i + width).join(", ")}`);
  return found.join("\n");
}

/** Rows of a matrix; OpenGL stores columns one after the other. @param {number[]} values */
export function matrix(values) {
  const side = values.length % 16 === 0 ? 4 : values.length % 9 === 0 ? 3 : 0;
  if (!side) return lines(values, 4);
  const found = [];
  for (let m = 0; m < values.length; m += side * side) {
    for (let row = 0; row < side; row++)
      found.push(
          Array.from({length: side}, (_, column) => Number(values[m + column * side + row]).toPrecision(6).padStart(13))
              .join(""));
    found.push("");
  }
  return found.join("\n").trimEnd();
}

/** @param {Uint8Array} data */
function hex(data) {
  const found = [];
  for (let at = 0; at < Math.min(data.length, 65536); at += 16) {
    const part = [...data.subarray(at, at + 16)];
    found.push(`${at.toString(16).padStart(8, "0")}  ${
        part.map((b) => b.toString(16).padStart(2, "0")).join(" ").padEnd(48)} ${
        part.map((b) => (b > 31 && b < 127 ? String.fromCharCode(b) : ".")).join("")}`);
  }
  if (data.length > 65536) found.push(`… ${number(data.length - 65536)} bytes more: save the content to see all`);
  return found.join("\n");
}
