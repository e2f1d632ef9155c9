// One call: its arguments with what they point to, and the same as text, SQL, Python.
import {button, bytes, download, duration, fill, h, number, numbered} from "./dom.js";
import {get, getBytes} from "./net.js";
import {link} from "./table.js";

const FORMATS = ["list", "matrix", "hex"];

export const callPanel = {
  id: "call",
  name: "Call",
  needsCall: true,
  /** @param {any} ctx */
  async show(ctx) {
    const {recording, place, element} = ctx;
    const call = await get(`${recording.number}/call/${place.call}`, ctx.signal);
    const copy = (/** @type {string} */ name, /** @type {string} */ text) => button(name, async () => {
      await navigator.clipboard.writeText(text).then(
          () => ctx.say(`copied as ${name}`), () => ctx.say("the browser refuses to copy"));
    });
    fill(
        element,
        h("h2", {text: call.name}, h("small", {text: `call ${number(call.seq)}, frame ${number(call.frame)}`})),
        h("pre", {class: "wrap", text: `${call.signature};`}),
        h("div", {class: "tools"}, h("i", {text: "copy as"}), copy("text", call.text), copy("C", `${call.c};`),
          copy("SQL", call.sql), copy("Python", call.python), copy("JSON", JSON.stringify(call, null, 1))),
        call.args.length > 0 && h("h2", {text: "Arguments"}),
        ...call.args.map((/** @type {any} */ argument) => argumentView(ctx, call, argument)),
        h("h2", {text: "The call"}),
        facts(call),
    );
  },
};

/** @param {any} call */
function facts(call) {
  const rows = [
    ["result", call.result ?? "none"],
    ["time in the driver", duration(call.duration)],
    ["thread", call.thread],
    ["context", call.context || "none"],
    ["kind", call.flags || "–"],
    ["provided by", call.provided_by || "–"],
  ];
  return h(
      "table", {},
      ...rows.map(
          ([name, value]) =>
              h("tr", {}, h("th", {text: name, scope: "row"}), h("td", {class: "mono wrap", text: String(value)}))));
}

/** @param {any} ctx @param {any} call @param {any} argument */
function argumentView(ctx, call, argument) {
  const value = argument.class &&
          ["texture", "buffer", "program", "framebuffer", "vertex array"].includes(argument.class) &&
          /^[1-9]\d*$/.test(argument.value) ?
      link(
          `${argument.value}`,
          () => ctx.store.set({filter: `uses:${argument.class.replace(" ", "_")}=${argument.value}`, mode: "dim"})) :
      argument.value;
  const group =
      ctx.recording.overview.contexts.find((/** @type {any} */ one) => one.context === call.context)?.share_group;
  const content = argument.class === "buffer" && group !== undefined && /^[1-9]\d*$/.test(argument.value) &&
      link("content",
           () => ctx.store.set({tab: "buffer", object: `buffer/${group}/${argument.value}`, fields: "", from: 0}));
  const head =
      h("tr", {}, h("th", {text: argument.name, scope: "row"}),
        h("td", {class: "mono wrap"}, value, content && " ", content),
        h("td", {}, h("i", {text: argument.class ?? argument.kind})));
  const made = h("div", {}, h("table", {class: "argument"}, head));
  if (argument.array !== undefined)
    made.append(arrayView(ctx, call, argument));
  else if (argument.missing)
    made.append(h("p", {}, h("i", {text: argument.missing})));
  return made;
}

/** @param {any} ctx @param {any} call @param {any} argument */
function arrayView(ctx, call, argument) {
  const box = h("pre");
  const size = h("i", {text: `${bytes(argument.bytes)} of ${argument.element}`});
  const save = button("save", async () => {
    download(
        `${call.name}-${call.seq}-${argument.name}.bin`,
        await getBytes(`${ctx.recording.number}/content/${call.seq}/${argument.name}`), "application/octet-stream");
  });
  if (typeof argument.array === "string" ||
      Array.isArray(argument.array) && typeof argument.array[0] === "string" &&
          Number.isNaN(Number(argument.array[0]))) {
    const text = Array.isArray(argument.array) ? argument.array.join("\n") : argument.array;
    box.textContent = numbered(text);
    return h("div", {}, h("div", {class: "tools"}, size, save), box);
  }
  const draw = async (/** @type {string} */ form) => {
    buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.textContent === form)));
    if (form === "hex")
      box.textContent =
          hex(new Uint8Array(await getBytes(`${ctx.recording.number}/content/${call.seq}/${argument.name}`)));
    else
      box.textContent = form === "matrix" ? matrix(argument.array) : lines(argument.array, 8);
  };
  const buttons = FORMATS.map((form) => button(form, () => void draw(form)));
  void draw(argument.array.length === 16 || argument.array.length === 9 ? "matrix" : "list");
  return h("div", {}, h("div", {class: "tools"}, size, ...buttons, save), box);
}

/** @param {any[]} values @param {number} width */
function lines(values, width) {
  const found = [];
  for (let i = 0; i < values.length; i += width)
    found.push(`${String(i).padStart(6)}  ${values.slice(i, i + width).join(", ")}`);
  return found.join("\n");
}

/** Rows of a matrix; OpenGL stores columns one after the other. @param {number[]} values */
function matrix(values) {
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
