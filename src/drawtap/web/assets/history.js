// The history of a pixel: what wrote it in the frame, and which test kept other draws from it.
import {button, counted, fill, h, number} from "./dom.js";
import {get, insist} from "./net.js";
import {failure, quiet, sheet, title} from "./parts.js";
import {link, saving} from "./table.js";

const MARKS = {
  wrote: "✓ wrote",
  failed: "✕ failed",
  masked: "○ masked",
  same: "= same",
  unknown: "? unknown"
};
const STEPS = {
  covers: "cover it",
  culling: "face the eye",
  scissor: "in the scissor box",
  discard: "not discarded",
  coverage: "alpha, coverage",
  stencil: "stencil",
  depth: "depth"
};

/**
 * A section that fills itself. @param {any} ctx @param {number} seq @param {string} of @param {string} px "X,Y" from
 * below
 */
export function pixelHistory(ctx, seq, of, px) {
  const [x, y] = px.split(",").map(Number);
  const name = `History of pixel ${x}, ${y}`;
  const box =
      h("section", {id: "history", "aria-label": name, "aria-busy": "true"}, title(name, "playing the frame …"));
  const close = button("close", () => ctx.store.set({px: ""}), {"aria-label": "close the history"});
  const path = `${ctx.recording.number}/picture/${seq}/pixel?of=${of}&x=${x}&y=${y}`;
  insist(() => get(path, ctx.signal), ctx.signal)
      .then(
          (found) => {
            const wrote = found.events.filter((e) => e.outcome === "wrote").length;
            const rest = found.events.length - wrote;
            fill(
                box,
                h("div", {class: "tools"},
                  title(
                      name,
                      `${counted(wrote, "call")} wrote it in this frame, ${number(rest)} covered it without writing`),
                  close),
                found.events.length ? h("div", {}, table(ctx, found),
                                        saving({name: `pixel-${x}-${y}-call-${seq}`, rows: () => records(found)})) :
                                      quiet("no call of this frame wrote or covered it"));
          },
          (error) => {
            if (error.name !== "AbortError")
              fill(box, h("div", {class: "tools"}, title(name), close), ...failure(error));
          })
      .finally(() => box.removeAttribute("aria-busy"));
  return box;
}

function table(ctx, found) {
  const rows = found.events.map((event) => row(ctx, event, found.format));
  return h("div", {class: "scroll"}, sheet(["call", "what became of it", "value"], rows));
}

/** The history as a table of columns. @param {any} found */
function records({events}) {
  const values = ["before", "after"].flatMap(
      (when) => ["color", "depth", "stencil"].map((part) => [`${part}_${when}`, when, part]));
  return {
    columns: ["seq", "name", "outcome", "reason", ...values.map(([name]) => name)],
    rows: events.map(
        (event) =>
            [event.call, event.name, event.outcome, event.reason,
             ...values.map(([, when, part]) => event[when][part]?.map(short).join(" ") ?? null)])
  };
}

/** @param {any} ctx @param {any} event @param {string} format */
function row(ctx, event, format) {
  const tests = steps(event);
  return h(
      "tr", {class: `event ${event.outcome}`},
      h("td", {title: event.text}, link(number(event.call), () => ctx.go(event.call)), ` ${event.name}`),
      h("td", {class: "wrap"}, h("b", {class: event.outcome, text: MARKS[event.outcome]}),
        event.outcome === "wrote" ? ` ${event.reason.replace("wrote ", "")}` : `: ${event.reason}`,
        tests && h("div", {class: "steps", text: tests}),
        event.kind === "draw" && !ctx.recording.overview.vulkan &&
            h("div", {}, link("its primitives here", () => ctx.store.set({call: event.call, tab: "mesh"})))),
      h("td", {class: "mono"}, ...values(event, format)));
}

/** The changes, as before → after; else what is there. @param {any} event @param {string} format */
function values(event, format) {
  const {changed, before, after} = event;
  const lines = ["color", "depth", "stencil"].filter(
      (part) => after[part] && (changed.includes(part) || (!changed.length && part === "color")));
  return lines.map(
      (part) => h(
          "div", {}, ...(part === "color" ? [] : [`${part} `]),
          ...(changed.includes(part) ?
                  [
                    ...(before[part] || event.submit === null ? one(part, before[part], format) : ["undefined"]), " → "
                  ] :
                  []),
          ...one(part, after[part], format)));
}

/** @param {string} part @param {any} v @param {string} format @returns {(Node|string)[]} */
function one(part, v, format) {
  if (!v) return ["not played"];
  if (part !== "color") return [short(v[0])];
  const scale = format === "unorm8" ? 1 : 255;
  const [r, g, b] = v.map((n) => Math.max(0, Math.min(255, Math.round(Number(n) * scale))) || 0);
  const patch = h("span", {class: "patch", style: {background: `rgb(${r} ${g} ${b})`}, "aria-hidden": "true"});
  return [h("span", {class: "whole"}, patch, v.map(short).join(" "))];
}

const short = (v) => (typeof v === "number" && !Number.isInteger(v) ? String(Number(v.toPrecision(6))) : String(v));

/** The number of fragments that each test lets through, where the driver counts them. @param {any} event */
function steps(event) {
  if (!event.tests || event.kind !== "draw" || event.any) return "";
  const all = Object.entries(event.tests);
  const end = all.findIndex(([, left]) => left === 0);
  return all.slice(0, end < 0 ? all.length : end + 1).map(([test, left]) => `${left} ${STEPS[test]}`).join(" → ");
}
