// Plots of numbers over an axis, alike on all pages: the reports and the viewer share this. Needs uPlot.
import {axis, css} from "./units.js";

// An axis: its `size` in pixels, `format` for the numbers at it, and what else uPlot takes.
const worded = ({size, format, ...more}) =>
    Object.assign(axis(size), {values: (plot, splits) => splits.map(v => format(v))}, more);

// A plot of `data` (x, then an array for each of `series`) in an element. `x` and `y` have size, format, range, and
// what else uPlot takes for an axis; `first` is about x in a legend; all else goes to uPlot as it is.
export function chart(host, {height, data, x, y, series, first = {}, ...more}) {
  const {range: across, ...below} = x, {range: up, ...beside} = y;
  const scales = {x: {time: false}, y: {}};
  if (across) scales.x.range = across;
  if (up) scales.y.range = up;
  const options = {width: Math.max(host.clientWidth, 120), height, scales, axes: [worded(below), worded(beside)]};
  return new uPlot({...options, series: [first, ...series], ...more}, data, host);
}

// A line that keeps its value until the next one; `align` -1: it had the value since the one before.
export const stepped = (label, stroke, {align = 1, ...more} = {}) =>
    ({label, stroke, width: 1.5, points: {show: false}, paths: uPlot.paths.stepped({align}), ...more});

// Bars without gaps to speak of. `size`, `align`: as uPlot's bars have them.
export const bars = (label, fill, {size = [0.9, Infinity], align = 1, ...more} = {}) =>
    ({label, fill, width: 0, points: {show: false}, paths: uPlot.paths.bars({size, align}), ...more});

// A dashed line across a plot, with words above its end; `left`: above its begin.
export function level(plot, value, text, color, left) {
  const y = plot.valToPos(value, "y", true), box = plot.bbox, ctx = plot.ctx, ratio = devicePixelRatio || 1;
  if (y < box.top || y > box.top + box.height) return;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.lineWidth = ratio;
  ctx.setLineDash([5 * ratio, 4 * ratio]);
  ctx.beginPath();
  ctx.moveTo(box.left, y);
  ctx.lineTo(box.left + box.width, y);
  ctx.stroke();
  ctx.font = 11 * ratio + "px system-ui, sans-serif";
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  const wide = ctx.measureText(text).width;
  const right = left ? box.left + wide + 8 * ratio : box.left + box.width - 4 * ratio;
  ctx.globalAlpha = 0.85;
  ctx.fillStyle = css("--card");
  ctx.fillRect(right - wide - 3 * ratio, y - 15 * ratio, wide + 6 * ratio, 13 * ratio);
  ctx.globalAlpha = 1;
  ctx.fillStyle = color;
  ctx.fillText(text, right, y - 2 * ratio);
  ctx.restore();
}
