// The lengths of requests, as bars: the report of a kernel trace and the viewer share this. Needs uPlot. Rows have
// measure, engine, client, and arrays: bucket of time, step (lengths from 2^(step/4) ns on), n.
import * as plots from "./plots.js";
import {count, css, duration} from "./units.js";

export const MEASURES = ["wait", "execution", "latency"];
// The choices: everything, an engine, a client; as [value, text].
export function choices(rows) {
  const named = (letter, field, text) => [...new Set(rows.map(row => row[field]))].filter(Boolean).slice(0, 100).map(
      name => [letter + name, text(name)]);
  return [
    ["", "all requests"], ...named("e", "engine", name => "engine " + name), ...named("c", "client", name => name)
  ];
}
// Steps without a gap, and how many requests each has; of the buckets that `inside` keeps.
export function bins(rows, measure, of, inside) {
  const found = new Map();
  for (const row of rows) {
    if (row.measure !== measure || (of[0] === "e" && row.engine !== of.slice(1)) ||
        (of[0] === "c" && row.client !== of.slice(1)))
      continue;
    for (let i = 0; i < row.n.length; i++)
      if (inside(row.bucket[i])) found.set(row.step[i], (found.get(row.step[i]) || 0) + row.n[i]);
  }
  const steps = [...found.keys()].sort((a, b) => a - b), x = [], y = [];
  if (steps.length)
    for (let step = steps[0]; step <= steps[steps.length - 1]; step++) {
      x.push(step);
      y.push(found.get(step) || 0);
    }
  return {x, y};
}
export function text({x, y}) {
  const n = y.reduce((sum, v) => sum + v, 0);
  let left = n / 2, k = 0;
  while (k < y.length - 1 && left > y[k]) left -= y[k++];
  return n ? `${count(n)} ended in this time, half of them in less than ${duration(2 ** ((x[k] + 1) / 4))}` :
             "none ended in this time";
}
export function chart(host, measure) {
  return plots.chart(host, {
    height: 150,
    padding: [8, 22, 0, 0],
    legend: {show: false},
    cursor: {drag: {x: false, y: false}, points: {show: false}},
    x: {size: 26, format: v => duration(2 ** (v / 4)), incrs: [4, 8, 12, 16, 20, 24, 32, 40], space: 64},
    y: {size: 60, format: v => Number.isInteger(v) ? count(v) : "", range: (u, lo, hi) => [0, (hi || 1) * 1.08]},
    series: [plots.bars(measure, () => css("--blue"))],
    data: [[0], [0]],
  });
}
export const show = (plot, {x, y}) => plot.setData(x.length ? [x, y] : [[0], [null]], true);
