import {button, fill, h} from "./dom.js";
import * as shared from "./plots.js";
import {bytes, count, css, duration, sortable} from "./units.js";

const data = JSON.parse(document.getElementById("data").textContent);

const plots = [];
const powers = Array.from({length: 48}, (_, i) => 2 ** i);
// Steps of an axis for whole things: there is no half of a draw.
const wholes = Array.from({length: 45}, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3));
const formats = {
  ns: duration,
  bytes,
  count
};
function stacked(all) {
  const sums = [];
  for (const values of all) {
    const below = sums[sums.length - 1];
    sums.push(values.map((v, i) => (v || 0) + (below ? below[i] : 0)));
  }
  return sums;
}
// `series`: [{ label, color, values }]; stacked where there are bars.
function draw(id, series, unit, options) {
  const host = document.getElementById(id);
  if (!host || !data.frames.number.length) return null;
  const {levels = [], bars = false, height = 210, hooks = {}} = options || {};
  const format = formats[unit], few = data.frames.number.length <= 400;
  const shown = bars ? stacked(series.map(s => s.values)) : series.map(s => s.values);
  const whole = unit === "count" && series.every(s => s.values.every(v => v == null || Number.isInteger(v)));
  const highest =
      bars ? shown[shown.length - 1] : shown[0].map((_, i) => Math.max(...shown.map(values => values[i] || 0)));
  const top = shown.reduce((m, values) => values.reduce((n, v) => v > n ? v : n, m), 0) || 1;
  // A few frames far above the others (the first one loads everything) would press the rest flat.
  const ordered = highest.filter(v => v != null).sort((a, b) => a - b);
  const outliers = Math.max(1, Math.ceil(ordered.length * 0.01));
  const usual = 1.3 * (ordered[ordered.length - 1 - outliers] || 0) || top;
  const above = ordered.filter(v => v > usual).length;
  let clipped = top > 2.5 * usual && above > 0;
  const line = (s, i) => {
    const value = (u, v, k, at) => at == null ? "–" : format(s.values[at]), color = () => css("--" + s.color);
    if (bars) return shared.bars(s.label, color, {size: [0.9, Infinity, 1], align: 0, stroke: color, value});
    const made = shared.stepped(s.label, color, {
      align: 0,
      value,
      width: few ? 1.5 : 1,
      fill: i ? undefined : () => css("--" + s.color + "-fill"),
      points: {show: data.frames.number.length <= 60, size: 5}
    });
    return few ? made : {...made, paths: undefined};
  };
  const lines = series.map(line);
  // The top of a stack is drawn first, and the lower parts cover it.
  const order = bars ? lines.map((_, i) => lines.length - 1 - i) : lines.map((_, i) => i);
  const plot = shared.chart(host, {
    height,
    cursor: {sync: {key: "frames"}, points: {size: 7, show: !bars}, drag: {x: true, y: false}},
    legend: {live: true},
    x: {size: 34, format: v => Number.isInteger(v) ? count(v) : ""},
    y: {
      size: 78,
      format,
      range: (u, low, high) => {
        const need = high == null || high <= 0 ? top : high;
        return [0, (clipped ? Math.min(need, usual) : need) * 1.08];
      },
      ...(unit === "bytes" ? {incrs: powers} :
              whole        ? {incrs: wholes} :
                             {})
    },
    first: {label: "frame", value: (u, v) => count(v)},
    series: order.map(i => lines[i]),
    hooks: {
      draw: [u => {
        for (const l of levels) shared.level(u, l.value, l.text, css(l.color), l.left);
      }],
      ...hooks
    },
    data: [data.frames.number, ...order.map(i => shown[i])],
  });
  plots.push([plot, host]);
  if (clipped) {
    const words = () => clipped ? `${count(above)} off the scale: show all` : "show the usual range";
    const turn = button(words(), () => {
      clipped = !clipped;
      turn.textContent = words();
      plot.redraw(false, true);
      plot.setData(plot.data);
    });
    host.parentElement.querySelector("h2").append(turn);
  }
  return plot;
}

// Pictures of frames above the plot, each over its frame; as many as fit, and others after a zoom.
const strip = document.getElementById("strip");
let images = null;
function place(u) {
  if (!strip || !data.strip.length) return;
  if (!images)
    images = data.strip.map(([frame, url]) => {
      const name = "frame " + count(frame), tick = h("i", {hidden: true});
      const image = h("img", {src: url, alt: name, title: name, hidden: true});
      strip.append(image, tick);
      return {frame, image, tick};
    });
  const ratio = devicePixelRatio || 1, left = u.bbox.left / ratio, width = u.bbox.width / ratio,
        size = strip.clientHeight - 6;
  const wide = Math.max(...images.slice(0, 4).map(
      p => p.image.naturalWidth && p.image.naturalHeight ? size * p.image.naturalWidth / p.image.naturalHeight : size));
  let free = 0;
  for (const {frame, image, tick} of images) {
    const x = left + u.valToPos(frame, "x"), inside = x >= left - 1 && x <= left + width + 1;
    const start = Math.min(Math.max(x - wide / 2, 0), strip.clientWidth - wide);
    const fits = inside && start >= free;
    image.hidden = tick.hidden = !fits;
    if (!fits) continue;
    // Shares of the width, so that they stay in place where paper is narrower than the screen.
    const share = v => 100 * v / strip.clientWidth + "%";
    image.style.left = share(start);
    image.style.width = share(wide);
    tick.style.left = share(x);
    free = start + wide + 4;
  }
}
const levels = [];
if (data.levels.p50 != null)
  levels.push({value: data.levels.p50, text: "median " + duration(data.levels.p50), color: "--soft", left: true});
if (data.levels.p99 != null && data.levels.p99 > 1.15 * data.levels.p50)
  levels.push({value: data.levels.p99, text: "99 % " + duration(data.levels.p99), color: "--red"});
const times = draw(
    "frame-times", [{label: "frame time", color: "blue", values: data.frames.duration}], "ns",
    {levels, hooks: {setScale: [u => place(u)], ready: [u => place(u)]}});
if (times && strip)
  for (const {image} of images || []) image.onload = () => place(times);
for (const plot of data.plots) draw("plot-" + plot.id, plot.series, plot.unit, {bars: plot.bars, height: 170});

// Draws by frames, each cell coloured by a metric; colours go by the logarithm, so that small and large are both seen.
const heat = data.heat, map = document.getElementById("heat-map");
const shades = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const shade = share => {
  const at = Math.min(Math.max(share, 0), 1) * (shades.length - 1), i = Math.min(Math.floor(at), shades.length - 2);
  return "rgb(" + shades[i].map((v, k) => Math.round(v + (shades[i + 1][k] - v) * (at - i))).join(",") + ")";
};
let chosen = 0, colour = () => {};
if (heat && map) {
  const select = document.getElementById("heat-metric"), at = document.getElementById("heat-at");
  const most = Math.max(...heat.functions.map(column => column.length), 1);
  heat.layers.forEach((layer, i) => select.append(new Option(layer.title, i)));
  colour = () => {
    const layer = heat.layers[chosen], all = layer.cells.flat().filter(v => v != null && v > 0);
    const low = all.reduce((m, v) => Math.min(m, v), Infinity), high = all.reduce((m, v) => Math.max(m, v), 0);
    const share = v => v <= 0 || !all.length ? 0 : high === low ? 1 : Math.log(v / low) / Math.log(high / low);
    const ratio = devicePixelRatio || 1, wide = map.clientWidth, high_ = Math.min(Math.max(most * 14, 60), 420);
    map.style.height = high_ + "px";
    map.width = wide * ratio;
    map.height = high_ * ratio;
    const ctx = map.getContext("2d"), across = map.width / heat.frames.length, tall = map.height / most;
    const gap = across > 5 * ratio && tall > 5 * ratio ? ratio : 0;
    layer.cells.forEach((column, x) => column.forEach((v, y) => {
      ctx.fillStyle = v == null ? css("--track") : shade(share(v));
      ctx.fillRect(x * across, y * tall, Math.max(across - gap, 1), Math.max(tall - gap, 1));
    }));
    const format = formats[layer.unit] || count;
    const background = `linear-gradient(90deg,${shades.map(c => `rgb(${c})`)})`;
    fill(
        document.getElementById("heat-scale"),
        ...all.length ? [format(low), h("i", {class: "scale", style: {background}}), format(high)] : []);
    at.textContent = "";
  };
  select.onchange = () => {
    chosen = +select.value;
    colour();
  };
  map.onmousemove = event => {
    const box = map.getBoundingClientRect(), layer = heat.layers[chosen];
    const x = Math.floor((event.clientX - box.left) / box.width * heat.frames.length),
          y = Math.floor((event.clientY - box.top) / box.height * most);
    const column = layer.cells[x];
    if (!column || y >= column.length) {
      at.textContent = "";
      return;
    }
    const [frames, draws] = heat.folded, frame = heat.frames[x], draw = y * draws;
    const where = `frame ${count(frame)}${frames > 1 ? "–" + count(frame + frames - 1) : ""}, draw ${count(draw)}${
        draws > 1 ? "–" + count(draw + draws - 1) : ""}`;
    const v = column[y];
    at.textContent =
        `${where}: ${heat.names[heat.functions[x][y]]} ${v == null ? "–" : (formats[layer.unit] || count)(v)}`;
  };
  colour();
}

const resize = () => {
  for (const [plot, host] of plots) plot.setSize({width: host.clientWidth, height: plot.height});
  if (times) place(times);
  colour();
};
addEventListener("resize", resize);
addEventListener("beforeprint", () => {
  for (const d of document.querySelectorAll("details.check")) d.open = true;
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const [plot] of plots) plot.redraw(false, true);
  colour();
});

sortable();
