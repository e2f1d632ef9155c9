// The content of a buffer after the call: fields as the program declares them or as a format says, bytes, and changes.
import {button, bytes, fill, h, number} from "./dom.js";
import {headed} from "./image.js";
import {getBytes} from "./net.js";
import {choice} from "./panels_more.js";
import {chooser, rangeOf, touches} from "./panels_range.js";
import {bad, editing, quiet, saver, sheet, title, toggle} from "./parts.js";
import {revisions} from "./revisions.js";
import {link, saving} from "./table.js";

const ROWS = 100, BYTES = 4096, LINE = 16;
const PLACE = 10;  // characters before the bytes of a line

export const bufferPanel = {
  async show(ctx) {
    const {recording, place, element, store} = ctx;
    if (!/^buffer\/\d+\/\d+$/.test(place.object)) return await choice(ctx, ["buffer", "VkBuffer"], "buffer");
    const path = `${recording.number}/buffer/${place.call}/${place.object.slice(7)}`;
    const against = place.pin === null || place.pin === place.call ? "" : place.pin;
    const ask = async (/** @type {string} */ fields) => {
      const raw = fields === "bytes" || !fields;
      return getBytes(
          `${path}?format=${raw ? "" : encodeURIComponent(fields)}&against=${against}&first=${place.from}&count=${
              raw ? BYTES : ROWS}`,
          ctx.signal);
    };
    let answer = await ask(place.fields), {head, at} = headed(answer);
    // The first declaration of the program is shown unless somebody chose another.
    const fields = place.fields || head.uses[0]?.[1] || "bytes";
    if (fields !== place.fields && fields !== "bytes") ({head, at} = headed((answer = await ask(fields))));
    const shows = fields !== "bytes";
    const shown = recording.overview.vulkan ? `0x${Number(head.name).toString(16)}` : head.name;
    const name = `buffer-${shown}-call-${head.call}`;
    const choose = (/** @type {string} */ text) => store.set({fields: text, from: 0});
    const apply = () => choose(format.value.trim() || "bytes");
    const format = editing({rows: "4", "aria-label": "format of the fields", text: shows ? fields : ""}, apply);
    const raw = async () => [`${name}.bin`, await getBytes(`${path}/raw`), "application/octet-stream"];
    const past = h("div"), touched = h("div"), range = rangeOf(place.range, head.bytes);
    const pick = (/** @type {number} */ from, /** @type {number} */ to) => store.set({range: `${from}-${to}`});
    fill(
        element,
        title(
            `buffer ${shown}${head.label ? ` “${head.label}”` : ""}`,
            `${bytes(head.bytes)}, after call ${number(head.call)}`),
        h("div", {class: "tools", role: "toolbar", "aria-label": "what is shown"},
          ...head.uses.map(([name, text]) => toggle(name, () => choose(text), fields === text)),
          toggle("bytes", () => choose("bytes"), !shows), saver(ctx, "save raw", raw)),
        shows &&
            saving(
                {name, rows: async () => rowsOf(await getBytes(`${path}/csv?format=${encodeURIComponent(fields)}`))}),
        !head.uses.length && !recording.overview.vulkan &&
            h("p", {}, h("i", {text: "the context of this call reads nothing from it"}), ...lives(ctx, head)),
        h("details", {open: shows && !head.uses.some((use) => use[1] === fields)}, h("summary", {text: "format"}),
          format,
          h("div", {class: "tools"}, button("apply", apply, {title: "Ctrl-Enter"}),
            h("i", {text: "for example: at 0 every 20; float3 position; ubyte4n color; half2 uv"}))),
        changes(ctx, head, shows), writes(ctx, head),
        pages(ctx, shows ? head.all : head.bytes, shows ? ROWS : BYTES, shows ? "row" : "byte"),
        head.why  ? bad(head.why) :
            shows ? table(head, pick) :
                    hex(new Uint8Array(answer, at), head.first, range, pick),
        chooser(range, head.bytes, pick), touched, past);
    if (range) fill(touched, await touches(ctx, path, range, shown));
    fill(past, await revisions(ctx));
  },
};

/** Text with commas and no quotes as a table. @param {ArrayBuffer} text */
function rowsOf(text) {
  const [columns, ...rows] = new TextDecoder().decode(text).trimEnd().split("\n").map((line) => line.split(","));
  return {
    columns,
    rows: rows.map((row) => row.map((value) => (value === "" || Number.isNaN(Number(value)) ? value : Number(value))))
  };
}

/** Where it is used instead. @param {any} ctx @param {any} head */
function lives(ctx, head) {
  const {first_use_seq: first, last_use_seq: last} = head.life;
  return first === null ? [" (no draw uses it)"] : [
    " (its first use is ", link(String(first), () => ctx.go(first)), ", its last one ",
    link(String(last), () => ctx.go(last)), ")"
  ];
}

/** @param {any} ctx @param {any} head @param {boolean} shows */
function changes(ctx, head, shows) {
  if (head.against === null)
    return quiet("nothing was written before: all of it is new; a pin (p) compares with its call");
  const size = head.old_bytes === head.bytes ? "" : `, and it had ${bytes(head.old_bytes)} then`;
  const ranges = head.ranges.map(
      ([from, end]) => link(
          end - from > 1 ? `${from}–${end - 1}` : String(from),
          () => ctx.store.set({fields: "bytes", from: from - (from % LINE)})));
  return h(
      "p", {class: "ranges"}, `${number(head.differs)} bytes differ from those after call `,
      link(number(head.against), () => ctx.go(head.against)),
      ctx.place.pin === null ? " (before the last write)" : " (pinned)", `${size}${head.ranges.length ? ": " : ""}`,
      ...ranges.flatMap((one) => [one, " "]), head.ranges.length === 64 && "…",
      shows && head.differs > 0 && h("i", {text: " marked ≠ below"}));
}

function writes(ctx, head) {
  if (!head.writes.length) return null;
  return h(
      "p", {class: "ranges"}, "written by calls ",
      ...head.writes.flatMap(
          (seq) => [seq === ctx.place.call ? h("b", {text: number(seq)}) : link(number(seq), () => ctx.go(seq)), " "]),
      !ctx.recording.overview.vulkan &&
          link("its draws", () => ctx.store.set({filter: `uses:buffer=${head.name}`, mode: "hide"})));
}

/** @param {any} ctx @param {number} all @param {number} size @param {string} what */
function pages(ctx, all, size, what) {
  const {from} = ctx.place;
  if (all <= size && !from) return null;
  const go = (/** @type {number} */ to) => ctx.store.set({from: Math.max(0, Math.min(to, Math.max(all - 1, 0)))});
  const input =
      h("input", {type: "number", min: "0", max: String(all - 1), value: String(from), "aria-label": `first ${what}`});
  input.addEventListener("change", () => go(Math.floor(Number(input.value) || 0)));
  return h(
      "div", {class: "tools"}, button("↑", () => go(from - size), {disabled: from === 0, title: `the ${what}s before`}),
      h("i", {text: what}), input, h("i", {text: `to ${number(Math.min(from + size, all) - 1)} of ${number(all)}`}),
      button("↓", () => go(from + size), {disabled: from + size >= all, title: `the ${what}s behind`}));
}

/** @param {any} head @param {(from: number, to: number) => void} pick chooses bytes */
function table(head, pick) {
  const differs = new Set(head.changed.map(([row, column]) => `${row} ${column}`));
  const single = !head.every;
  const cells = (row, /** @type {number} */ i) => row.map((value, k) => {
    const changed = differs.has(`${i} ${k}`), nested = Array.isArray(value) && Array.isArray(value[0]);
    const [offset, size] = head.places[single ? i : k];
    const from = single ? offset : head.at + (head.first + i) * head.every + offset;
    return h("td", {
      class: `pick ${typeof value === "number" ? "n" : "mono"}${changed ? " changed" : ""}`,
      text: nested ? value.map(written).join("; ") : written(value),
      title: `${changed ? "differs; " : ""}bytes ${from} to ${from + size - 1}: a click shows who wrote and reads them`,
      on: {click: () => pick(from, from + size - 1)}
    });
  });
  const placed = (/** @type {number} */ i) =>
      h("td",
        {class: "n", text: number(head.first + i), title: `byte ${number(head.at + (head.first + i) * head.every)}`});
  const rows = head.rows.map((row, i) => [...(single ? [] : [placed(i)]), ...cells(row, i)]);
  const heads = head.fields.map((name, i) => [name, head.types[i] && h("i", {text: ` ${head.types[i]}`})]);
  return h("div", {class: "scroll"}, sheet([...(single ? [] : ["row"]), ...heads], rows, {class: "fields"}));
}

/** Numbers short on the page; what is no number as it stands. @param {any} value @returns {string} */
function written(value) {
  if (Array.isArray(value)) return value.map(written).join(", ");
  return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(7))) : String(value);
}

/**
 * Bytes, then a 1 for each that differs. @param {Uint8Array} data @param {number} first @param {[number, number]|null}
 * range the chosen bytes @param {(from: number, to: number) => void} pick chooses those that somebody selects
 */
function hex(data, first, range, pick) {
  const count = data.length / 2, differs = data.subarray(count);
  const box = h("pre", {class: "hex"});
  box.addEventListener("pointerup", () => {
    const chosen = selectedIn(box);
    if (chosen) pick(first + Math.min(chosen[0], count - 1), first + Math.min(chosen[1], count - 1));
  });
  for (let at = 0; at < count; at += LINE) {
    box.append(`${(first + at).toString(16).padStart(8, "0")}  `);
    let text = "";
    for (let i = at; i < at + LINE; i++) {
      if (i >= count) {
        box.append("   ");
        continue;
      }
      const byte = data[i], word = byte.toString(16).padStart(2, "0");
      text += byte > 31 && byte < 127 ? String.fromCharCode(byte) : ".";
      const shown = differs[i] ? h("b", {class: "changed", text: word}) : word;
      box.append(range && first + i >= range[0] && first + i <= range[1] ? h("mark", {}, shown) : shown, " ");
    }
    box.append(` ${text}\n`);
  }
  return box;
}

/** The first and last byte that somebody selected in lines of bytes. @param {HTMLElement} box */
function selectedIn(box) {
  const selection = getSelection();
  if (!selection?.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  if (!box.contains(range.startContainer) || !box.contains(range.endContainer)) return null;
  const byteAt = (/** @type {Node} */ node, /** @type {number} */ offset, /** @type {boolean} */ last) => {
    const before = document.createRange();
    before.setStart(box, 0);
    before.setEnd(node, offset);
    const lines = before.toString().split("\n"), column = lines[lines.length - 1].length - PLACE;
    const at = last ? Math.ceil(column / 3) - 1 : Math.floor(column / 3);
    return (lines.length - 1) * LINE + Math.max(last ? -1 : 0, Math.min(at, LINE - (last ? 1 : 0)));
  };
  const from = byteAt(range.startContainer, range.startOffset, false);
  const to = byteAt(range.endContainer, range.endOffset, true);
  return to < from ? null : [from, to];
}
