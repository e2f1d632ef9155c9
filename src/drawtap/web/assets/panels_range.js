// A range of bytes of a buffer: how it is chosen, who wrote it and who reads it.
import {button, h, number} from "./dom.js";
import {get, stoppable} from "./net.js";
import {bad, quiet, title} from "./parts.js";
import {link, table} from "./table.js";

/**
 * The first and the last chosen byte; null: none. @param {string} text @param {number} size @returns {[number,
 * number]|null}
 */
export function rangeOf(text, size) {
  const match = text.match(/^(\d{1,15})-(\d{1,15})$/);
  if (!match || !size) return null;
  const first = Number(match[1]), last = Math.min(Number(match[2]), size - 1);
  return first > last ? null : [first, last];
}

/**
 * Two fields for the bytes. @param {[number, number]|null} range @param {number} size @param {(from: number, to:
 * number)
 * => void} pick
 */
export function chooser(range, size, pick) {
  const field = (/** @type {string} */ name, /** @type {number} */ value) => {
    return h("input", {
      type: "number",
      min: "0",
      max: String(size - 1),
      value: String(value),
      "aria-label": name,
      on: {keydown: (/** @type {KeyboardEvent} */ {key}) => key === "Enter" && choose()}
    });
  };
  const first = field("first byte of the range", range?.[0] ?? 0);
  const last = field("last byte of the range", range?.[1] ?? size - 1);
  const choose = () => {
    const from = Math.floor(Number(first.value)), to = Math.floor(Number(last.value));
    pick(Math.max(Math.min(from, to), 0), Math.max(from, to, 0));
  };
  return h(
      "div", {class: "tools"}, h("i", {text: "bytes"}), first, h("i", {text: "to"}), last,
      button("who wrote and reads them", choose, {title: "Enter"}),
      h("i", {text: "a click on a field, or bytes that you select, choose them too"}));
}

/**
 * The calls that wrote the range and those that read it. @param {any} ctx @param {string} path @param {[number,
 * number]} range @param {string} shown the buffer's name
 */
export async function touches(ctx, path, [first, last], shown) {
  const of = `${path}/range?first=${first}&end=${last + 1}&query=${stoppable(ctx.recording.number, ctx.signal)}`;
  let found;
  try {
    found = await get(of, ctx.signal);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return bad(`${error.message}${error.hint ? `: ${error.hint}` : ""}`);
  }
  const listed = (/** @type {"writers"|"readers"} */ which, /** @type {string} */ none) => found[which].rows.length ?
      table(ctx, found[which], {name: `buffer-${shown}-bytes-${first}-${last}-${which}`, plain: true}) :
      quiet(none);
  const call = (/** @type {number} */ seq) => link(number(seq), () => ctx.go(seq));
  return h(
      "section", {"aria-label": "who wrote and reads the bytes"},
      title(`Who wrote bytes ${number(first)} to ${number(last)}`, `up to call ${number(found.at)}, the newest first`),
      listed("writers", "no call up to here wrote them"), title("Who reads them"),
      h("p", {}, h("i", {text: "from call "}), call(found.since), h("i", {text: " to call "}), call(found.until - 1)),
      listed("readers", "no call is known that reads them"),
      quiet(
          `${found.said.join(" ")} “maybe”: the call may leave these bytes alone. A dash: the call does not tell ` +
          "which bytes, or where they end."));
}
