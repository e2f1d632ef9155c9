// Plots of a recording on a build: its pairs, and the builds that played it. The page gives the colours.
import {svg} from "./parts.js";
import {percent, ticks} from "./units.js";

const WIDE = 640, LEFT = 58, EDGE = 8;
const RED_OUTCOMES = ["crash", "hang", "oom", "device-lost", "gl-error"];

/** @param {number[]} values what has to be seen @param {number} height */
function axis(values, height) {
  const low = Math.min(0, ...values), high = Math.max(0, ...values), room = (high - low || 1) * 0.08;
  const y = (/** @type {number} */ value) =>
      EDGE + ((high + room - value) / (high - low + 2 * room || 1)) * (height - 2 * EDGE);
  const lines = ticks(low - room, high + room)
                    .map(
                        (at) =>
                            svg("g", {class: at === 0 ? "zero" : "grid"},
                                svg("line", {x1: LEFT, x2: WIDE - EDGE, y1: y(at), y2: y(at)}), svg("text", {
                                  x: LEFT - 6,
                                  y: y(at) + 4,
                                  "text-anchor": "end",
                                  text: percent(
                                      at,
                                      high - low < 2      ? 2 :
                                          high - low < 20 ? 1 :
                                                            0)
                                })));
  return {y, lines, low: low - room, high: high + room};
}

/** The middle of numbers. @param {number[]} values */
const middle = (values) => {
  const all = [...values].sort((a, b) => a - b);
  return all.length % 2 ? all[all.length >> 1] : (all[all.length / 2 - 1] + all[all.length / 2]) / 2;
};

/**
 * Every pair as a dot, the threshold as a band, the estimate with its interval.
 * @param {any} cell
 */
export function pairPlot(cell) {
  const height = 200, shares = cell.pairs.map((one) => 100 * Math.expm1(one[0]));
  const {effect, low, high} = cell.speed, bound = 100 * (cell.threshold ?? 0);
  // One pair that was disturbed may not press all others into a line: it stands at the edge.
  const far = middle(shares.map((s) => Math.abs(s - middle(shares)))) * 8 + 2 * bound;
  const near = shares.map((s) => Math.max(middle(shares) - far, Math.min(middle(shares) + far, s)));
  const {y, lines} =
      axis([...near, bound, -bound, ...[low, high].filter((v) => v !== null).map((v) => 100 * v)], height);
  const x = (/** @type {number} */ i) => LEFT + 10 + ((i + 0.5) / shares.length) * (WIDE - LEFT - 20 - EDGE);
  return svg(
      "svg", {
        viewBox: `0 0 ${WIDE} ${height}`,
        class: "plot",
        role: "img",
        "aria-label": `${shares.length} pairs; slower by ${percent(100 * effect)}`
      },
      svg("rect",
          {class: "band", x: LEFT, width: WIDE - EDGE - LEFT, y: y(bound), height: Math.max(1, y(-bound) - y(bound))}),
      ...lines, low !== null && svg("rect", {
                  class: "interval",
                  x: LEFT,
                  width: WIDE - EDGE - LEFT,
                  y: y(100 * high),
                  height: Math.max(2, y(100 * low) - y(100 * high))
                }),
      effect !== null &&
          svg("line", {class: "estimate", x1: LEFT, x2: WIDE - EDGE, y1: y(100 * effect), y2: y(100 * effect)}),
      ...near.map(
          (share, i) => svg(
              "circle", {
                class: `dot ${cell.pairs[i][1] ? "" : "hollow"} ${share === shares[i] ? "" : "far"}`,
                cx: x(i),
                cy: y(share),
                r: 3.5
              },
              svg("title", {
                text: `pair ${i + 1}: ${percent(shares[i])}, ${
                    cell.pairs[i][1] ? "the base" :
                                       "the new build"} first, machine ${cell.machines[cell.pairs[i][2]]?.name ?? ""}`
              }))));
}

/**
 * Builds in the order in which they came: how much slower than the base, and where that changes.
 * @param {any} history @param {string} chosen key of a build @param {(key: string) => void} go
 */
export function historyPlot(history, chosen, go) {
  const {builds} = history, timed = builds.filter((b) => b.effect !== null);
  const height = timed.length ? 170 : 56, foot = 26;
  const {y, lines} = axis(timed.map((b) => 100 * b.effect), height - foot);
  const x = (/** @type {number} */ i) => LEFT + 14 + ((i + 0.5) / builds.length) * (WIDE - LEFT - 28 - EDGE);
  const every = Math.ceil(builds.length / 9);
  const path =
      builds.map((b, i) => (b.effect === null ? null : `${x(i)},${y(100 * b.effect)}`)).filter(Boolean).join(" ");
  const changeAt = (b, /** @type {number} */ i) => {
    const at = (x(i) + x(Math.max(0, i - 1))) / 2, left = 2 * i < builds.length;  // words stay inside
    const words = {x: at + (left ? 4 : -4), y: EDGE + 10, "text-anchor": left ? "start" : "end"};
    return [
      svg("line", {class: "change", x1: at, x2: at, y1: EDGE, y2: height - foot}),
      svg("text", {class: "change", ...words, text: percent(100 * b.change)})
    ];
  };
  const markOf = (b, /** @type {number} */ i) => {
    const red = RED_OUTCOMES.includes(b.outcome) || ["differs", "rejected"].includes(b.images);
    const speed = b.effect === null ? "" : `, ${percent(100 * b.effect)} (${b.pairs} pairs)`;
    return svg(
        "g", {class: `build ${b.key === chosen ? "chosen" : ""} ${red ? "red" : ""}`, on: {click: () => go(b.key)}},
        svg("circle", {cx: x(i), cy: b.effect === null ? height - foot - EDGE : y(100 * b.effect), r: 5}),
        svg("title", {text: `${b.name}: ${b.outcome}${b.images ? `, images ${b.images}` : ""}${speed}`}));
  };
  const nameOf = (b, /** @type {number} */ i) => {
    const text = b.name.length > 12 ? `${b.name.slice(0, 11)}…` : b.name;
    const cls = b.key === chosen ? "name chosen" : "name";
    return svg("text", {class: cls, x: x(i), y: height - 8, "text-anchor": "middle", text});
  };
  return svg(
      "svg", {viewBox: `0 0 ${WIDE} ${height}`, class: "plot", role: "img", "aria-label": `${builds.length} builds`},
      ...(timed.length ? lines : []), svg("polyline", {class: "course", points: path}),
      ...builds.flatMap(
          (b, i) => [...(b.change === null ? [] : changeAt(b, i)), markOf(b, i), i % every === 0 && nameOf(b, i)]));
}
