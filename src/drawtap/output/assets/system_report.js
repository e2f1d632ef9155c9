import {button, fill, h} from "./dom.js";
import * as lengths from "./lengths.js";
import {level, placeOf, pyramid, sumOver, unpacked} from "./packed.js";
import {chart, stepped} from "./plots.js";
import {eventList} from "./system_events.js";
import {inLanes, swatch, TimeGraph} from "./timegraph.js";
import {fitted} from "./timepaint.js";
import {bytes, clock, count, css, duration, firstPlace, sortable} from "./units.js";

const $ = id => document.getElementById(id);
sortable();

if (typeof DecompressionStream === "undefined") {
  $("state").textContent = "This browser cannot unpack the data of this page (DecompressionStream is missing).";
  throw new Error("DecompressionStream is missing");
}
const data = await unpacked($("data"));
const total = data.length, columns = data.columns;

const sum = (levels, a, b) => sumOver(levels, a, b, total);
const load = l => pyramid(columns[l.column], l.width);

// ---- colours: one for one owner on all of the page -----------------------------------------------------------------
const palette = ["--t0", "--t1", "--t2", "--t3", "--t4", "--t5", "--t6", "--t7"];
const hue = new Map(data.clients.map((c, i) => [c, palette[i] || "--other"]));
// A label without a colour takes one that is left in this picture.
function colorsOf(labels) {
  const mine = new Map(), taken = new Set();
  for (const l of labels) {
    const c = hue.get(l);
    if (c && !mine.has(l) && (c === "--other" || !taken.has(c))) {
      mine.set(l, c);
      taken.add(c);
    }
  }
  const free = palette.filter(p => !taken.has(p));
  return labels.map(l => mine.get(l) || free.shift() || "--other");
}
const others = /^others \(\d+\)$/, owners = data.owners.filter(o => !others.test(o));
colorsOf(owners).forEach((c, i) => hue.set(owners[i], c));
const clientOf = text => text.replace(/ #$/, "");

// ---- spans: by row, and in a row by begin --------------------------------------------------------------------------
const S = Object.fromEntries(Object.entries(data.spans.columns).map(([n, c]) => [n, columns[c]]));
const spans = S.begin ? S.begin.length : 0, most = 4000;  // that a row shows singly
const firsts = new Int32Array(data.rows.length + 1),
      ends = new Float64Array(spans);  // the latest end so far in its row
for (let i = 0; i < spans; i++) {
  const row = S.track[i], end = S.begin[i] + S.length[i];
  firsts[row + 1] = i + 1;
  ends[i] = i > 0 && S.track[i - 1] === row ? Math.max(ends[i - 1], end) : end;
}
for (let row = 0; row < data.rows.length; row++) firsts[row + 1] = Math.max(firsts[row + 1], firsts[row]);
// Spans of a row that touch a stretch of time are among these.
const among =
    (row, a, b) => [placeOf(ends, firsts[row], firsts[row + 1], a), placeOf(S.begin, firsts[row], firsts[row + 1], b)];
const waysOf = (function() {
  let sorted = null;
  return function(request) {
    if (!sorted)
      sorted = Int32Array.from({length: spans}, (_, i) => i)
                   .filter(i => S.request[i] >= 0)
                   .sort((x, y) => S.request[x] - S.request[y] || S.begin[x] - S.begin[y] || S.length[x] - S.length[y]);
    const first = firstPlace(0, sorted.length, m => S.request[sorted[m]] >= request);
    return [...sorted.subarray(first, firstPlace(first, sorted.length, m => S.request[sorted[m]] > request))];
  };
})();
const label = i => {
  const base = data.spans.bases[S.base[i]];
  return S.number[i] >= 0 ? base + S.number[i] : base;
};
const kindOf = i => data.spans.kinds[S.kind[i]];
const A = Object.fromEntries(Object.entries(data.arrows).map(([n, c]) => [n, columns[c]]));

// ---- rows of the time graph, with the levels that are in the page ---------------------------------------------------
const order = [
  "frame", "call", "execution", "running", "guest", "current", "guest queue", "guest request", "queued", "vgpu queue",
  "blocked", "ring", "notify", "guest notice", "fence wait", "preempted", "waking", "mark"
];
const rows = data.rows.map((r, index) => {
  const levels = [...r.levels]
                     .sort((x, y) => order.indexOf(x.kind) - order.indexOf(y.kind))
                     .map(l => ({kind: l.kind, client: l.client, steps: load(l)}));
  // Spans have parts by kind, behind the parts of sums: an engine has sums by client.
  const kinds = [...new Set(levels.map(l => l.kind))];
  return {
    id: index,
    index,
    track: r.track,
    group: r.group,
    label: r.label,
    levels,
    kinds,
    of: r.shape,
    shape: kinds.join() === "mark" ? "marks" : r.shape,
    leads: "",
    unit: "",
    sql: "",
    parts: [...levels.map(l => l.kind), ...kinds],
    names: levels.map(l => l.client ?? null)
  };
});
const detailOf = v => data.detail.find(([a, b]) => a <= v.a && v.b <= b);
const inDetail = () => Boolean(detailOf(graph.view));
const fewIn = (row, v) => {
  const [lo, hi] = among(row.index, v.a, v.b);
  return hi - lo <= most;
};
let single = 0, summed = 0;
function levelOf(row, from, to, px) {
  const here = detailOf(graph.view);
  if (here && fewIn(row, graph.view)) {
    // As much around the view as is in the page, and not too much.
    const wide = {a: Math.max(from, here[0]), b: Math.min(to, here[1])};
    return spansOf(row, fewIn(row, wide) ? wide : graph.view);
  }
  const steps = row.levels.map(l => level(l.steps, to - from, Math.max(px, 16))),
        width = steps.length ? steps[0].width : total;
  const first = Math.max(0, Math.floor(from / width)), last = Math.max(first + 1, Math.ceil(to / width)),
        n = last - first;
  const finest = !row.levels.length || width === row.levels[0].steps[0].width;
  const values = steps.map(s => {
    const out = new Float64Array(n);
    out.set(s.values.subarray(first, Math.min(last, s.values.length)));
    return out;
  });
  return {
    begin: first * width,
    step: width,
    steps: n,
    end: last * width,
    single: false,
    lanes: 1,
    lane: [],
    parts: values.map(
        (busy, part) => row.levels[part].kind === "mark" ? {part, as: "sums", busy: new Float64Array(n), count: busy} :
                                                           {part, as: "sums", busy}),
    stale: (view, step) =>
        (width > step && !finest) || width * 4 <= step || (Boolean(detailOf(view)) && fewIn(row, view))
  };
}
function spansOf(row, {a, b}) {
  const [lo, hi] = among(row.index, a, b), found = row.kinds.map(() => []), base = row.levels.length;
  for (let i = lo; i < hi; i++)
    if (S.begin[i] + S.length[i] >= a) found[row.kinds.indexOf(kindOf(i))]?.push(i);
  const parts = found.map((at, k) => ({ part: base + k, as: "spans", begin: at.map(i => S.begin[i]),
    length: at.map(i => S.length[i]), id: at, name: at.map((_, n) => n), names: at.map(label) }));
  return {begin: a, end: b, step: 1, steps: 0, single: true, parts, ...inLanes(parts)};
}
function arrowsOf(a, b) {
  const kinds = ["asks", "waits", "wakes"], out = [], n = A.kind ? A.kind.length : 0, ways = $("ways").checked;
  if (!inDetail()) return out;
  for (let i = 0; i < n && out.length < 800; i++)
    if ((A.kind[i] === 2 ? graph.wakes : ways) && A.to_ns[i] >= a && A.from_ns[i] <= b)
      out.push([A.from[i], A.from_ns[i], A.to[i], A.to_ns[i], kinds[A.kind[i]], A.request[i]]);
  return out;
}

// ---- what is looked at ---------------------------------------------------------------------------------------------
let pending = false;
const drawers = [];
function schedule() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    for (const d of drawers) d();
  });
}
const graph = new TimeGraph(
    $("graph"), {
      local: (ids, a, b, px) => new Map(ids.map(id => [id, levelOf(rows[id], a, b, px)])),
      owner: name => data.spans.owners[name],
      select: span => select(span ? S.request[span.id] : -1),
      area: (a, b) => {
        graph.area = null;
        look(a, b);
      },
      beside: (id, at, step) => {
        const lo = placeOf(S.begin, firsts[id], firsts[id + 1], at), i = step > 0 ? lo : lo - 1;
        return i >= firsts[id] && i < firsts[id + 1] ? [i, S.begin[i], S.begin[i] + S.length[i], label(i)] : null;
      },
      moved: () => {
        graph.arrows = arrowsOf(graph.view.a, graph.view.b);
        schedule();
      },
      fail: error => {
        throw error;
      },
    },
    262);
for (const [name, color] of hue) graph.painter.hues.set(name, color);
const names = [...new Set(rows.map(r => r.group))];
graph.show({length: total, groups: names.map(name => ({name, tracks: rows.filter(r => r.group === name)}))});
const high = () => {
  $("graph").style.height = Math.min(graph.space.offsetHeight + 24, 640) + "px";
};
high();
const look = (a, b) => graph.look(a, b);
const near = (at, width) => {
  const w = width ?? Math.min(graph.view.b - graph.view.a, total / 20);
  look(at - w / 2, at + w / 2);
};
function select(request) {
  const way = request >= 0 ? waysOf(request) : [];
  graph.way = way.map(i => [S.track[i], i, S.begin[i], S.begin[i] + S.length[i], kindOf(i), label(i)]);
  $("way").hidden = !way.length;
  if (way.length) {
    const steps = graph.steps(), first = steps[0].begin, end = Math.max(...steps.map(s => s.begin + s.length));
    $("way-title").textContent = `Way of ${label(way[0])}: ${duration(end - first)}`;
    fill(
        $("way-steps"),
        ...steps.map(s => h("li", {}, swatch("", s.colour), h("span", {text: `${s.what} (${s.row})`}), h("b", {
                              text: duration(s.length)
                            }))));
    $("way-zoom").onclick = () => look(first - (end - first) * 0.1, end + (end - first) * 0.1);
  }
  graph.draw();
}
function tell() {  // how the graph was drawn
  const shown = graph.visible().filter(p => p.row).map(p => graph.kept.get(p.row.id)).filter(Boolean);
  single = shown.filter(l => l.single).reduce((n, l) => n + l.parts.reduce((m, p) => m + p.begin.length, 0), 0);
  summed = shown.filter(l => !l.single).length;
  const legend = graph.legend(), text = legend.join();
  if (text !== $("keys").dataset.of)
    fill($("keys"), ...legend.map(([text, color]) => h("span", {}, swatch("key", color), text)));
  $("keys").dataset.of = text;
}

// ---- overview: all of the time, what is in detail, what is looked at
// -------------------------------------------------
const engines = data.usage.engines.map(s => Object.assign(s, {steps: load(s)}));
function drawOverview() {
  const c = $("overview"), {view} = graph, w = c.parentElement.clientWidth, h = 44, g = fitted(c, w, h),
        color = name => graph.painter.colour(name);
  const onCpus = rows.filter(r => r.shape === "cpu");
  const parts = engines.length ? engines :
      onCpus.length            ? onCpus.flatMap(r => r.levels) :
                                 rows.flatMap(r => r.levels).filter(l => l.kind === "mark");
  if (parts.length) {
    const st = parts.map(p => level(p.steps, total, w)), one = st[0];
    g.fillStyle = color("--blue");
    g.globalAlpha = 0.55;
    let top = engines.length ? 1 : onCpus.length;
    const sums = Array.from({length: one.values.length}, (_, i) => {
      const v = st.reduce((s, l) => s + l.values[i], 0) / (Math.min((i + 1) * one.width, total) - i * one.width);
      top = Math.max(top, v);
      return v;
    });
    sums.forEach(
        (v, i) => g.fillRect(
            i * one.width / total * w, h - 8 - v / top * (h - 10), one.width / total * w + 0.3, v / top * (h - 10)));
    g.globalAlpha = 1;
  }
  g.fillStyle = color("--track");
  g.fillRect(0, h - 6, w, 4);
  g.fillStyle = color("--green");
  for (const [a, b] of data.detail) g.fillRect(a / total * w, h - 6, Math.max((b - a) / total * w, 2), 4);
  const x0 = view.a / total * w, x1 = view.b / total * w;
  g.fillStyle = color("--page");
  g.globalAlpha = 0.62;
  g.fillRect(0, 0, x0, h - 7);
  g.fillRect(x1, 0, w - x1, h - 7);
  g.globalAlpha = 1;
  g.strokeStyle = color("--blue");
  g.lineWidth = 1.5;
  g.strokeRect(Math.min(x0 + 0.75, w - 3), 0.75, Math.max(x1 - x0 - 1.5, 2), h - 8.5);
  const span = view.b - view.a;
  $("window").textContent = `${clock(view.a, span / 100)} – ${clock(view.b, span / 100)} (${duration(span)})`;
  $("state").textContent = inDetail() ?
      "every span of this time is in the page" +
          (summed ? `; ${summed} row${summed > 1 ? "s" : ""} too dense to draw singly` : "") :
      `sums of ${duration(data.width)} here; single spans only where the bar is green`;
}

// ---- curves --------------------------------------------------------------------------------------------------------
const curves = [];
function plot(host, series, format, range, height, incrs) {
  const u = chart(host, {
    height,
    padding: [8, 0, 0, 0],
    cursor: {
      sync: {key: "system"},
      points: {size: 6},
      drag: {x: true, y: false, setScale: false},
      bind: {
        dblclick: () => () => {
          look(0, total);
          return null;
        }
      }
    },
    legend: {show: false},
    x: {
      size: 26,
      range: () => [graph.view.a, graph.view.b],
      values: (v, splits, n, space, step) =>
          splits.map(t => t > graph.view.b - (graph.view.b - graph.view.a) * 0.03 ? "" : clock(t, step)),
      space: 110
    },
    y: {size: 72, format, range, space: 20, ...(incrs ? {incrs} : {})},
    series,
    hooks: {
      setSelect: [v => {
        if (v.select.width > 3) {
          const a = v.posToVal(v.select.left, "x"), b = v.posToVal(v.select.left + v.select.width, "x");
          v.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
          look(a, b);
        }
      }],
      setCursor: [v => {
        const t = v.cursor.left >= 0 ? v.posToVal(v.cursor.left, "x") : null;
        if (t !== graph.pointer) {
          graph.pointer = t;
          graph.draw();
        }
      }],
    },
    data: [[0], ...series.map(() => [0])],
  });
  u.over.addEventListener("wheel", e => {
    if (e.ctrlKey || e.metaKey || e.shiftKey) {
      e.preventDefault();
      if (e.shiftKey)
        graph.pan((e.deltaY || e.deltaX) / 800);
      else
        graph.zoom(Math.exp(e.deltaY / 350));
    }
  }, {passive: false});
  u.root.dataset.plot = "1";
  return u;
}
// Shares of time per bucket for the view, every series cut into the same buckets.
function shares(series, pixels) {
  const span = graph.view.b - graph.view.a;
  const st = series.map(s => level(s.steps, span, pixels)), w = st.length ? st[0].width : span;
  const first = Math.max(0, Math.floor(graph.view.a / w)),
        last = st.length ? Math.min(st[0].values.length - 1, Math.ceil(graph.view.b / w)) : -1;
  const x = [], ys = series.map(() => []);
  for (let i = first; i <= last; i++) {
    const long = Math.min((i + 1) * w, total) - i * w;
    x.push(i * w);
    st.forEach((l, k) => ys[k].push(100 * l.values[i] / long));
  }
  if (last >= first) {
    x.push(Math.min((last + 1) * w, total));
    ys.forEach(y => y.push(y[y.length - 1]));
  }
  return [x, ...ys];
}
// The same from the executions themselves, where they are in the page and a bucket is too wide; null where they are
// not, or too many. Values that overlap are added up.
function exact(series, bins) {
  if (!inDetail() || (graph.view.b - graph.view.a) / data.width > bins / 2 || usage.at === "guests") return null;
  const w = (graph.view.b - graph.view.a) / bins, x = Array.from({length: bins + 1}, (_, i) => graph.view.a + i * w),
        sums = series.map(() => new Float64Array(bins));
  let seen = 0;
  for (const r of rows) {
    if (r.of !== "engine") continue;
    const [lo, hi] = among(r.index, graph.view.a, graph.view.b);
    seen += hi - lo;
    if (seen > 20000) return null;
    for (let i = lo; i < hi; i++) {
      const owner = usage.at === "clients" ? clientOf(data.spans.bases[S.base[i]]) :
          usage.at === "vgpus"             ? "vGPU " + S.vgpu[i] :
                                             null;
      const k = series.findIndex(s => s.track === r.track && (owner == null || s.owner === owner));
      if (k < 0 || S.length[i] === 0) continue;
      const b = Math.max(S.begin[i], graph.view.a) - graph.view.a,
            e = Math.min(S.begin[i] + S.length[i], graph.view.b) - graph.view.a;
      for (let n = Math.floor(b / w); n < Math.min(Math.ceil(e / w), bins); n++)
        sums[k][n] += Math.min(e, (n + 1) * w) - Math.max(b, n * w);
    }
  }
  return [
    x, ...sums.map(s => {
      const y = Array.from(s, v => 100 * Math.min(v / w, 1));
      y.push(y[bins - 1]);
      return y;
    })
  ];
}
function chips(host, items) {
  fill(
      host,
      ...items.map(
          ({name, color, value}) =>
              h("div", {}, h("i", {style: {background: `var(${color})`}}), h("span", {text: name, title: name}),
                h("b", {text: value}))));
}
const tabs = $("usage-tabs"), usage = {
  at: null,
  plot: null,
  series: []
};
const by = {
  engines: "engine",
  clients: "process",
  vgpus: "virtual GPU",
  guests: "guest"
};
function showUsage(which) {
  usage.at = which;
  for (const b of tabs.children) b.classList.toggle("on", b.dataset.group === which);
  if (usage.plot) usage.plot.destroy();
  const shown = colorsOf(data.usage[which].map(s => s.owner));
  usage.series = data.usage[which].map((s, i) => Object.assign(s, {steps: s.steps || load(s), color: shown[i]}));
  const seen = new Set();
  usage.plot = plot(
      $("usage-plot"), usage.series.map(s => stepped(s.label, () => css(s.color), {
                                          dash: seen.has(s.color) ? [5, 3] : (seen.add(s.color), undefined)
                                        })),
      v => v + " %", (u, lo, hi) => [0, Math.max(hi > 100.5 ? hi * 1.05 : 105, 10)], 190);
  schedule();
}
if (Object.values(data.usage).some(l => l.length)) {
  for (const which of Object.keys(data.usage)) {
    if (!data.usage[which].length) continue;
    tabs.append(button(by[which], () => showUsage(which), {data: {group: which}}));
  }
  showUsage(data.usage.vgpus.length > 1 ? "vgpus" : data.usage.clients.length > 1 ? "clients" : "engines");
  drawers.push(() => {
    const u = usage.plot;
    u.setData(exact(usage.series, 240) || shares(usage.series, 240));
    chips(
        $("usage-key"),
        usage.series.map(
            s => ({
              name: s.label,
              color: s.color,
              value: (100 * sum(s.steps, graph.view.a, graph.view.b) / (graph.view.b - graph.view.a)).toFixed(1) + " %"
            })));
  });
}
const cpus = rows.filter(r => r.shape === "cpu");
if (cpus.length) {  // who has how many CPUs: the rows of the CPUs, added up
  const lines = data.owners.map(name => {
    const parts = cpus.flatMap(r => r.levels.filter(p => p.client === name)).map(p => p.steps[0]);
    return {
      label: name,
      color: others.test(name) ? "--other" : hue.get(name),
      steps: pyramid(parts[0].values.map((_, i) => parts.reduce((s, p) => s + p.values[i], 0)), parts[0].width)
    };
  });
  const u = plot(
      $("cpus-plot"), lines.map(s => stepped(s.label, () => css(s.color), {width: 1.4})),
      v => String(+(v / 100).toFixed(2)), (w, lo, hi) => [0, Math.max((hi ?? 0) * 1.08, 10)], 165);
  drawers.push(() => {
    u.setData(shares(lines, 240));
    chips(
        $("cpus-key"),
        lines.map(s => ({
                    name: s.label,
                    color: s.color,
                    value: (sum(s.steps, graph.view.a, graph.view.b) / (graph.view.b - graph.view.a)).toFixed(2)
                  })));
  });
  curves.push(u);
}
const formats = {
  count: v => Number.isInteger(v) ? count(v) :
      v == null                   ? "–" :
                                    v.toFixed(2),
  bytes,
  ns: duration,
  Hz: v => count(v) + " Hz",
  percent: v => v + " %"
};
const powersOfTwo = Array.from({length: 60}, (_, i) => 2 ** i);  // sizes have round numbers there
for (const panel of data.counters) {
  const format = formats[panel.unit] || count, shown = colorsOf(panel.series.map(s => s.label)),
        lines = panel.series.map((s, i) => ({
                                   mean: columns[s.mean],
                                   top: columns[s.top],
                                   t: s.t == null ? null : columns[s.t],
                                   v: s.v == null ? null : columns[s.v],
                                   label: s.label,
                                   color: shown[i]
                                 }));
  const u = plot(
      $(panel.id), lines.map(s => stepped(s.label, () => css(s.color), {width: 1.4})),
      panel.unit === "count" ? v => Number.isInteger(v) ? count(v) : "" : format,
      (w, lo, hi) => [Math.min(0, lo ?? 0) * 1.05, Math.max(hi ?? 0, panel.unit === "count" ? 1 : 0.001) * 1.08], 130,
      panel.unit === "bytes" ? powersOfTwo : undefined);
  drawers.push(() => {
    // Steps where they are in the page and not too many; else the largest value of the buckets a pixel has.
    const real = inDetail() && lines.every(s => s.t && between(s.t) <= 6000);
    u.setData(real ? steps(lines) : tops(lines, Math.max(300, u.width - 60)));
    chips(
        $(panel.id + "-key"),
        lines.map(s => ({name: s.label, color: s.color, value: "ø " + format(meanOf(s, panel.unit))})));
  });
  curves.push(u);
}
const from = (t, at) => firstPlace(0, t.length, m => t[m] > at);
const between = t => from(t, graph.view.b) - from(t, graph.view.a);
function steps(lines) {
  const all = lines.map(s => {
    const lo = Math.max(from(s.t, graph.view.a) - 1, 0), hi = from(s.t, graph.view.b),
          x = Array.from(s.t.subarray(lo, hi)), y = Array.from(s.v.subarray(lo, hi));
    if (x.length && x[0] < graph.view.a) x[0] = graph.view.a;
    if (x.length) {
      x.push(graph.view.b);
      y.push(y[y.length - 1]);
    }
    return [x, y];
  });
  return all.length === 1 ? all[0] : joined(all);
}
function joined(all) {  // on common times each series keeps its value until its next step
  const x = [...new Set(all.flatMap(([t]) => t))].sort((p, q) => p - q);
  return [
    x, ...all.map(([t, v]) => {
      let k = -1;
      return x.map(at => {
        while (k + 1 < t.length && t[k + 1] <= at) k++;
        return k < 0 ? null : v[k];
      });
    })
  ];
}
function tops(lines, pixels) {
  const w = data.width, first = Math.max(0, Math.floor(graph.view.a / w)),
        last = Math.min(lines[0].top.length - 1, Math.ceil(graph.view.b / w));
  const step = Math.max(1, Math.ceil((last - first + 1) / pixels)), x = [], ys = lines.map(() => []);
  for (let i = first; i <= last; i += step) {
    x.push(i * w);
    lines.forEach((s, k) => {
      let m = null;
      for (let j = i; j < Math.min(i + step, s.top.length); j++)
        if (!Number.isNaN(s.top[j]) && (m == null || Math.abs(s.top[j]) > Math.abs(m))) m = s.top[j];
      ys[k].push(m);
    });
  }
  if (x.length) {
    x.push(Math.min((last + 1) * w, total));
    ys.forEach(y => y.push(y[y.length - 1]));
  }
  return [x, ...ys];
}
// Over the time in which the value is known; nobody waits in a queue before the first one does.
function meanOf(s, unit) {
  const w = data.width;
  let area = 0, time = 0;
  for (let i = Math.max(0, Math.floor(graph.view.a / w)); i < s.mean.length && i * w < graph.view.b; i++) {
    if (Number.isNaN(s.mean[i])) continue;
    const part = Math.min(graph.view.b, (i + 1) * w) - Math.max(graph.view.a, i * w);
    area += s.mean[i] * part;
    time += part;
  }
  return unit === "count" ? area / (graph.view.b - graph.view.a) : time ? area / time : null;
}

// ---- histograms ----------------------------------------------------------------------------------------------------
const H = data.histograms.map(h => ({...h, bucket: columns[h.bucket], step: columns[h.step], n: columns[h.n]}));
const bars = {};
if (H.length) {
  const pick = $("histogram-of");
  for (const [value, text] of lengths.choices(H)) pick.append(h("option", {value, text}));
  pick.onchange = schedule;
  for (const measure of lengths.MEASURES) bars[measure] = lengths.chart($("histogram-" + measure), measure);
  drawers.push(() => {
    const w = data.histogram_width, lo = Math.floor(graph.view.a / w), hi = Math.ceil(graph.view.b / w) - 1;
    for (const measure of Object.keys(bars)) {
      const bins = lengths.bins(H, measure, pick.value, bucket => bucket >= lo && bucket <= hi);
      $("histogram-" + measure + "-n").textContent = lengths.text(bins);
      lengths.show(bars[measure], bins);
    }
  });
}

// ---- events --------------------------------------------------------------------------------------------------------
const ofEvents = ["t", "event", "cpu", "tid", "comm"].map(name => [name, columns[data.events[name]]]);
drawers.push(eventList({...data.events, ...Object.fromEntries(ofEvents)}, () => graph.view, t => {
  graph.pointer = t;
  near(t, Math.min(graph.view.b - graph.view.a, total / 10));
}));

// ---- hand and keys -------------------------------------------------------------------------------------------------
let drag = null;
const over = $("overview");
function brush(e) {
  const r = over.getBoundingClientRect(), t = (e.clientX - r.left) / r.width * total, s = graph.view.b - graph.view.a;
  if (drag.fresh)
    look(Math.min(drag.t, t), Math.max(drag.t, t));
  else
    look(t - s * drag.hold, t - s * drag.hold + s);
}
over.addEventListener("mousedown", e => {
  const r = over.getBoundingClientRect(), t = (e.clientX - r.left) / r.width * total, s = graph.view.b - graph.view.a;
  const inside = t >= graph.view.a && t <= graph.view.b && s < total * 0.98;
  drag = {where: "overview", fresh: !inside, t, hold: inside ? (t - graph.view.a) / s : 0};
});
over.addEventListener("dblclick", () => look(0, total));
addEventListener("mousemove", e => {
  if (drag) brush(e);
});
addEventListener("mouseup", () => {
  drag = null;
});
// The graph hears its keys when it has the focus; these everywhere.
addEventListener("keydown", e => {
  if (/input|select|textarea/i.test(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey ||
      !"wsad+-0".includes(e.key) && e.key !== "Escape")
    return;
  graph.acts()[e.key]();
  e.preventDefault();
});
$("zoom-in").onclick = () => graph.zoom(0.5);
$("zoom-out").onclick = () => graph.zoom(2);
$("zoom-all").onclick = () => look(0, total);
for (const b of document.querySelectorAll("button[data-at]"))
  b.onclick = () => {
    graph.pointer = +b.dataset.at;
    near(+b.dataset.at, Math.max(+b.dataset.span * 3, 1000));
    $("time").scrollIntoView({behavior: "smooth"});
  };
$("ways").onchange = $("wakes").onchange = () => {
  graph.wakes = $("wakes").checked;
  graph.on.moved();
  graph.draw();
};
if (data.detail.length && !(data.detail[0][0] <= 0 && data.detail[0][1] >= total)) {
  const b = $("zoom-detail");
  b.hidden = false;
  let next = 0;
  b.onclick = () => {
    const [a, z] = data.detail[next++ % data.detail.length];
    look(a, z);
  };
}

drawers.push(tell, drawOverview);
graph.box.addEventListener("scroll", schedule);
addEventListener("resize", () => {
  for (const u of [usage.plot, ...curves, ...Object.values(bars)].filter(Boolean))
    u.setSize({width: u.root.parentElement.clientWidth, height: u.height});
  schedule();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", schedule);
$("loading").remove();
// For those who drive the page: tests and measurements.
window.systemReport = {
  look,
  select,
  graph,
  view: () => graph.view,
  draw: () => {
    graph.drawNow();
    for (const d of drawers) d();
  },
  data,
  spans,
  sum,
  usage: () => usage,
  detail: inDetail,
  counts: () => ({single, summed})
};
look(0, total);
const wanted = /^#t=(\d+),(\d+)(?:,r=(\d+))?$/.exec(location.hash);
if (wanted) {
  look(+wanted[1], +wanted[2]);
  if (wanted[3]) select(+wanted[3]);
}
window.systemReport.draw();
