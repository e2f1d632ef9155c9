"use strict";
(async function () {
  const { css, duration, bytes, count, axis, sortable } = units;
  const $ = id => document.getElementById(id);
  sortable();

  // ---- the data: one compressed block, a header and columns of whole numbers in planes of bytes ---------------------
  async function unpacked() {
    const text = $("data").textContent.trim();
    const raw = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    $("data").textContent = "";
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
    const all = new Uint8Array(await new Response(stream).arrayBuffer());
    const size = new DataView(all.buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + size)));
    let at = 4 + size;
    head.columns = head.columns.map(([n, planes, kind]) => {
      const part = all.subarray(at, at + n * planes);
      at += n * planes;
      return column(part, n, planes, kind);
    });
    return head;
  }
  function column(part, n, planes, kind) {
    if (kind === "f") {
      const whole = new Uint8Array(n * 8);
      for (let p = 0; p < 8; p++) for (let i = 0, k = p * n; i < n; i++) whole[i * 8 + p] = part[k + i];
      return new Float64Array(whole.buffer);
    }
    const out = new Float64Array(n);
    for (let p = planes - 1; p >= 0; p--) for (let i = 0, k = p * n; i < n; i++) out[i] = out[i] * 256 + part[k + i];
    for (let i = 0; i < n; i++) out[i] = out[i] % 2 ? -(out[i] + 1) / 2 : out[i] / 2;
    if (kind === "d") for (let i = 1; i < n; i++) out[i] += out[i - 1];
    return out;
  }
  if (typeof DecompressionStream === "undefined") {
    $("state").textContent = "This browser cannot unpack the data of this page (DecompressionStream is missing).";
    return;
  }
  const data = await unpacked();
  const total = data.length, columns = data.columns;

  // ---- levels: from the finest buckets up, neighbours added ----------------------------------------------------------
  function pyramid(values, width) {
    const levels = [{ values, width }];
    while (levels[levels.length - 1].values.length > 64) {
      const fine = levels[levels.length - 1], half = new Float64Array(Math.ceil(fine.values.length / 2));
      for (let i = 0; i < fine.values.length; i++) half[i >> 1] += fine.values[i];
      levels.push({ values: half, width: fine.width * 2 });
    }
    return levels;
  }
  // The finest level that has no more buckets in the view than there are pixels to draw them with.
  const level = (levels, span, pixels) => levels.find(l => span / l.width <= pixels) || levels[levels.length - 1];
  // Sum over [a, b): whole buckets exactly, the two at the edges by their share.
  function sum(levels, a, b) {
    const fine = levels[0], w = fine.width;
    let s = 0;
    const first = Math.max(0, Math.floor(a / w)), last = Math.min(fine.values.length - 1, Math.ceil(b / w) - 1);
    for (let i = first; i <= last; i++) {
      const lo = Math.max(a, i * w), hi = Math.min(b, (i + 1) * w, total);
      const whole = Math.min((i + 1) * w, total) - i * w;
      s += hi - lo >= whole ? fine.values[i] : fine.values[i] * Math.max(0, hi - lo) / whole;
    }
    return s;
  }
  const load = l => pyramid(columns[l.column], l.width);

  // ---- what is looked at ---------------------------------------------------------------------------------------------
  let view = { a: 0, b: total }, pending = false, cursor = null;
  const drawers = [], least = 50;
  function schedule() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; for (const d of drawers) d(); });
  }
  function look(a, b) {
    const span = Math.min(Math.max(b - a, Math.min(least, total)), total);
    const from = Math.min(Math.max(a, 0), total - span);
    view = { a: from, b: from + span };
    schedule();
  }
  const zoom = (factor, at) => { const c = at ?? (view.a + view.b) / 2; look(c - (c - view.a) * factor, c + (view.b - c) * factor); };
  const pan = share => { const d = (view.b - view.a) * share; look(view.a + d, view.b + d); };
  const near = (at, width) => { const w = width ?? Math.min(view.b - view.a, total / 20); look(at - w / 2, at + w / 2); };
  function inDetail() { return data.detail.some(([a, b]) => a <= view.a && view.b <= b); }
  function clock(t, step) {
    const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9) - 1e-6)));
    return (t / 1e9).toFixed(places) + " s";
  }

  // ---- colours -------------------------------------------------------------------------------------------------------
  const palette = ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7"];
  let paint = {};
  function repaint() {
    const names = [...palette, "--ink", "--soft", "--line", "--hair", "--card", "--page", "--track", "--blue", "--blue-fill",
      "--red", "--green", "--orange", "--queue", "--blocked", "--ring", "--other"];
    paint = Object.fromEntries(names.map(n => [n, css(n)]));
  }
  repaint();
  const hue = new Map(data.clients.map((c, i) => [c, palette[i] || "--other"]));
  // One colour for one owner on all of the page; who has none takes what is left in this picture.
  function colorsOf(labels) {
    const mine = new Map(), taken = new Set();
    for (const l of labels) { const c = hue.get(l); if (c && !mine.has(l) && (c === "--other" || !taken.has(c))) { mine.set(l, c); taken.add(c); } }
    const free = palette.filter(p => !taken.has(p));
    return labels.map(l => mine.get(l) || free.shift() || "--other");
  }
  const others = /^others \(\d+\)$/, owners = data.owners.filter(o => !others.test(o));
  colorsOf(owners).forEach((c, i) => hue.set(owners[i], c));
  const ownerOf = i => data.spans.owners[data.spans.bases[S.base[i]]];
  const kinds = { running: "--green", guest: "--c0", preempted: "--red", waking: "--orange", queued: "--queue", "vgpu queue": "--queue",
    blocked: "--blocked", ring: "--ring", notify: "--other", current: "--c2", "fence wait": "--blocked", mark: "--ink", execution: "--c0",
    frame: "--c4", call: "--c5", "guest queue": "--queue", "guest notice": "--other", "guest request": "--c3" };
  const order = ["frame", "call", "execution", "running", "guest", "current", "guest queue", "guest request", "queued", "vgpu queue", "blocked", "ring", "notify", "guest notice", "fence wait", "preempted", "waking", "mark"];
  const pale = new Set(["queued", "vgpu queue", "guest queue", "guest request", "blocked", "ring", "notify", "guest notice", "fence wait"]);
  const clientOf = text => text.replace(/ #$/, "");

  // ---- spans: per track and lane, so that those of a lane do not overlap ----------------------------------------------
  const S = Object.fromEntries(Object.entries(data.spans.columns).map(([n, c]) => [n, columns[c]]));
  const spans = S.begin ? S.begin.length : 0;
  const lanesOf = data.rows.map(() => []), mostLanes = 24;
  for (let i = 0; i < spans; i++) {
    const lanes = lanesOf[S.track[i]], b = S.begin[i], e = b + S.length[i];
    let k = 0;
    while (k < lanes.length && lanes[k].end > b) k++;
    if (k === mostLanes) { lanes.over = (lanes.over || 0) + 1; continue; }
    if (k === lanes.length) lanes.push({ at: [], end: 0 });
    lanes[k].at.push(i);
    lanes[k].end = Math.max(e, lanes[k].end);
  }
  const laneNumber = new Uint8Array(spans);
  for (const lanes of lanesOf) lanes.forEach((l, k) => { l.at = Int32Array.from(l.at); for (const i of l.at) laneNumber[i] = k; });
  const waysOf = (function () {
    let sorted = null;
    return function (request) {
      if (!sorted) sorted = Int32Array.from({ length: spans }, (_, i) => i).filter(i => S.request[i] >= 0)
        .sort((x, y) => S.request[x] - S.request[y] || S.begin[x] - S.begin[y] || S.length[x] - S.length[y]);
      let lo = 0, hi = sorted.length;
      while (lo < hi) { const m = (lo + hi) >> 1; if (S.request[sorted[m]] < request) lo = m + 1; else hi = m; }
      const out = [];
      for (; lo < sorted.length && S.request[sorted[lo]] === request; lo++) out.push(sorted[lo]);
      return out;
    };
  })();
  const label = i => { const base = data.spans.bases[S.base[i]]; return S.number[i] >= 0 ? base + S.number[i] : base; };
  const kindOf = i => data.spans.kinds[S.kind[i]];
  function firstAfter(at, t) { // the first span of a lane that ends after t
    let lo = 0, hi = at.length;
    while (lo < hi) { const m = (lo + hi) >> 1; if (S.begin[at[m]] + S.length[at[m]] < t) lo = m + 1; else hi = m; }
    return lo;
  }
  function firstFrom(at, t) {
    let lo = 0, hi = at.length;
    while (lo < hi) { const m = (lo + hi) >> 1; if (S.begin[at[m]] < t) lo = m + 1; else hi = m; }
    return lo;
  }
  const A = Object.fromEntries(Object.entries(data.arrows).map(([n, c]) => [n, columns[c]]));

  // ---- rows of the time graph ----------------------------------------------------------------------------------------
  const rows = data.rows.map((r, i) => Object.assign(r, {
    index: i, lanes: lanesOf[i], levels: r.levels.map(l => ({ kind: l.kind, client: l.client, steps: load(l) })),
  }));
  for (const r of rows) {
    r.levels.sort((x, y) => order.indexOf(x.kind) - order.indexOf(y.kind));
    r.parts = r.levels.filter(l => l.kind !== "mark");
    r.marks = r.levels.find(l => l.kind === "mark");
    const n = Math.min(Math.max(r.lanes.length, 1), 8);
    r.high = r.shape === "queue" ? Math.max(24, n * 8 + 4) : r.shape === "engine" ? 28 : r.shape === "cpu" ? 22 : 18;
  }
  const groups = [];
  for (const r of rows) {
    if (!groups.length || groups[groups.length - 1].name !== r.group) groups.push({ name: r.group, rows: [], open: true });
    groups[groups.length - 1].rows.push(r);
  }
  const gutter = 262;
  const box = $("graph"), canvas = $("graph-canvas"), spacer = $("graph-space"), ctx = canvas.getContext("2d");
  let places = [], content = 0, chosen = -1, hovered = null;
  function arrange() {
    places = []; content = 0;
    for (const g of groups) {
      places.push({ group: g, y: content, high: 22 }); content += 22;
      if (g.open) for (const r of g.rows) { places.push({ row: r, y: content, high: r.high + 4 }); content += r.high + 4; r.y = places[places.length - 1].y; }
      else for (const r of g.rows) r.y = null;
    }
    box.style.height = Math.min(content, 620) + "px";
    spacer.style.height = content + "px";
  }
  function fit(c, w, h) {
    const ratio = devicePixelRatio || 1;
    if (c.width !== Math.round(w * ratio) || c.height !== Math.round(h * ratio)) {
      c.width = Math.round(w * ratio); c.height = Math.round(h * ratio); c.style.width = w + "px"; c.style.height = h + "px";
    }
    c.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  let wide = 0;
  const X = t => gutter + (t - view.a) / (view.b - view.a) * (wide - gutter);
  const T = x => view.a + (x - gutter) / (wide - gutter) * (view.b - view.a);
  function color(name) { return paint[name] || paint["--other"]; }
  function spanColor(i) {
    const kind = kindOf(i);
    if (rows[S.track[i]].shape === "cpu") return color(hue.get(ownerOf(i)) || "--other");
    return kind === "execution" ? color(hue.get(clientOf(data.spans.bases[S.base[i]])) || "--other") : color(kinds[kind] || "--other");
  }
  let perRow = 0;
  function visible(r) { // how many spans of a row the view has; Infinity where not all of them are in the page
    if (!whole) return Infinity;
    let n = 0;
    for (const l of r.lanes) n += firstFrom(l.at, view.b) - firstAfter(l.at, view.a);
    return r.lanes.over ? Infinity : n;
  }
  let whole = true, drawn = [], summed = 0, single = 0;
  function drawRow(r, y) {
    const n = visible(r), high = r.high;
    if (n <= perRow && r.lanes.length <= 8 * 3) {
      single += n;
      const lanes = Math.max(r.lanes.length, 1), each = high / lanes;
      r.lanes.forEach((l, k) => {
        const stop = firstFrom(l.at, view.b), top = y + k * each, h = lanes > 1 ? Math.max(each - 1, 1) : each;
        for (let j = firstAfter(l.at, view.a); j < stop; j++) {
          const i = l.at[j], x0 = Math.max(X(S.begin[i]), gutter), x1 = Math.min(X(S.begin[i] + S.length[i]), wide);
          const w = x1 - x0;
          ctx.fillStyle = spanColor(i);
          if (S.length[i] === 0) { ctx.fillRect(x0, y + 1, 1, high - 2); continue; }
          ctx.globalAlpha = chosen >= 0 && S.request[i] >= 0 && S.request[i] !== chosen ? 0.45 : 1;
          ctx.fillRect(x0, top, Math.max(w - (w > 4 ? 1 : 0), 0.6), h);
          ctx.globalAlpha = 1;
          if (S.request[i] === chosen && chosen >= 0) { ctx.strokeStyle = paint["--ink"]; ctx.lineWidth = 1.5; ctx.strokeRect(x0 + 0.5, top + 0.5, Math.max(w - 1, 1), h - 1); }
          if (w > 34 && h >= 13) {
            ctx.fillStyle = pale.has(kindOf(i)) ? paint["--ink"] : paint["--page"];
            const text = label(i), room = Math.floor((w - 8) / 6.1);
            ctx.fillText(text.length > room ? text.slice(0, Math.max(room - 1, 0)) + "…" : text, x0 + 4, top + h / 2 + 0.5);
          }
        }
      });
      return;
    }
    summed++;
    const pixels = wide - gutter;
    if (r.parts.length) {
      const span = view.b - view.a, steps = r.parts.map(p => level(p.steps, span, pixels)), w = steps[0].width;
      const first = Math.max(0, Math.floor(view.a / w)), last = Math.min(steps[0].values.length - 1, Math.ceil(view.b / w));
      let most = 1;
      if (r.shape === "queue") for (let i = first; i <= last; i++) { let s = 0; for (const st of steps) s += st.values[i] / w; if (s > most) most = s; }
      for (let i = first; i <= last; i++) {
        const x0 = Math.max(X(i * w), gutter), x1 = Math.min(X((i + 1) * w), wide), long = Math.min((i + 1) * w, total) - i * w;
        let base = y + high;
        for (let p = 0; p < steps.length; p++) {
          const v = steps[p].values[i];
          if (!v) continue;
          const h = Math.min(v / long / most, 1) * high;
          ctx.fillStyle = color(r.parts[p].client !== undefined ? hue.get(r.parts[p].client) || "--other" : kinds[r.parts[p].kind] || "--other");
          ctx.fillRect(x0, base - h, Math.max(x1 - x0, 0.7), h);
          base -= h;
        }
      }
      if (r.shape === "queue" && most > 1.5) { ctx.fillStyle = paint["--soft"]; ctx.textAlign = "right"; ctx.fillText("↑ " + most.toFixed(most < 10 ? 1 : 0), gutter - 6, y + 7); ctx.textAlign = "left"; }
    }
    if (r.marks) {
      const st = level(r.marks.steps, view.b - view.a, pixels / 2);
      ctx.fillStyle = paint["--ink"];
      for (let i = Math.max(0, Math.floor(view.a / st.width)); i <= Math.min(st.values.length - 1, Math.ceil(view.b / st.width)); i++)
        if (st.values[i]) { ctx.globalAlpha = Math.min(1, 0.25 + st.values[i] / 8); ctx.fillRect(Math.max(X(i * st.width), gutter), y + 2, Math.max(X((i + 1) * st.width) - X(i * st.width) - 0.5, 1), high - 4); }
      ctx.globalAlpha = 1;
    }
  }
  function middle(i) { // where an arrow touches a span
    const r = rows[S.track[i]];
    if (r.y == null) return null;
    const lanes = Math.max(r.lanes.length, 1);
    return r.y - box.scrollTop + (laneNumber[i] + 0.5) * (r.high / lanes);
  }
  function arrow(x0, y0, x1, y1, shade, strong) {
    if (Math.max(x0, x1) < gutter || Math.min(x0, x1) > wide) return;
    ctx.strokeStyle = ctx.fillStyle = shade; ctx.lineWidth = strong ? 1.8 : 1; ctx.globalAlpha = strong ? 1 : 0.5;
    const bend = Math.min(Math.max(Math.abs(x1 - x0) / 2, 10), 60);
    ctx.beginPath(); ctx.moveTo(x0, y0); ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 4, y1); ctx.stroke();
    const s = strong ? 5 : 3.5;
    ctx.beginPath(); ctx.moveTo(x1, y1); ctx.lineTo(x1 - s * 1.5, y1 - s); ctx.lineTo(x1 - s * 1.5, y1 + s); ctx.fill();
    ctx.globalAlpha = 1;
  }
  function drawWay(request, strong) {
    const way = waysOf(request);
    // Ways that are a few pixels long would only blacken the picture.
    if (!strong && (way.length < 2 || X(S.begin[way[way.length - 1]]) - X(S.begin[way[0]]) + X(S.begin[way[0]] + S.length[way[0]]) - X(S.begin[way[0]]) < 24)) return;
    for (let k = 1; k < way.length; k++) {
      const y0 = middle(way[k - 1]), y1 = middle(way[k]);
      if (y0 != null && y1 != null) arrow(X(S.begin[way[k - 1]] + S.length[way[k - 1]]), y0, X(S.begin[way[k]]), y1, paint["--ink"], strong);
    }
  }
  const rowMiddle = n => rows[n].y == null ? null : rows[n].y - box.scrollTop + rows[n].high / 2;
  function drawArrows() {
    ctx.save(); ctx.beginPath(); ctx.rect(gutter, 0, wide - gutter, box.clientHeight); ctx.clip();
    if ($("ways").checked && whole) {
      const seen = new Set();
      for (const r of rows) {
        if (r.shape !== "engine" || r.y == null || seen.size > 160) continue;
        for (const l of r.lanes) {
          const stop = firstFrom(l.at, view.b);
          for (let j = firstAfter(l.at, view.a); j < stop && seen.size <= 160; j++) if (S.request[l.at[j]] >= 0) seen.add(S.request[l.at[j]]);
        }
      }
      if (seen.size <= 160) for (const request of seen) if (request !== chosen) drawWay(request, false);
    }
    const n = A.kind ? A.kind.length : 0, wakes = $("wakes").checked && whole;
    let shown = 0;
    for (let i = 0; i < n && shown < 800; i++) {
      const mine = chosen >= 0 && A.request[i] === chosen;
      if (!mine && !(A.kind[i] === 2 && wakes && A.to_ns[i] >= view.a && A.from_ns[i] <= view.b)) continue;
      const y0 = rowMiddle(A.from[i]);
      let y1 = rowMiddle(A.to[i]);
      if (mine && A.kind[i] === 0) { const way = waysOf(chosen); if (way.length) y1 = middle(way[0]); }
      if (y0 == null || y1 == null) continue;
      arrow(X(A.from_ns[i]), y0, X(A.to_ns[i]), y1, A.kind[i] === 2 ? paint["--orange"] : paint["--blue"], mine);
      shown++;
    }
    if (chosen >= 0) drawWay(chosen, true);
    ctx.restore();
  }
  function drawGraph() {
    wide = box.clientWidth;
    const high = box.clientHeight, top = box.scrollTop;
    fit(canvas, wide, high);
    whole = inDetail();
    single = summed = 0;
    ctx.clearRect(0, 0, wide, high);
    ctx.font = "11px system-ui, sans-serif"; ctx.textBaseline = "middle"; ctx.textAlign = "left";
    drawn = places.filter(p => p.y + p.high > top && p.y < top + high);
    perRow = Math.max(300, Math.min(4000, Math.floor(16000 / Math.max(drawn.length, 1))));
    for (const p of drawn) {
      const y = p.y - top;
      if (p.group) {
        ctx.fillStyle = paint["--soft"]; ctx.font = "600 11.5px system-ui, sans-serif";
        ctx.fillText((p.group.open ? "▾ " : "▸ ") + p.group.name, 0, y + 12);
        ctx.font = "11px system-ui, sans-serif";
        ctx.fillStyle = paint["--line"]; ctx.fillRect(0, y + 21, wide, 1);
        continue;
      }
      ctx.fillStyle = paint["--hair"]; ctx.fillRect(gutter, y + p.row.high + 1.5, wide - gutter, 1);
      ctx.fillStyle = paint["--ink"];
      const text = p.row.label;
      ctx.fillText(text.length > 42 ? text.slice(0, 41) + "…" : text, 8, y + Math.min(p.row.high / 2, 14) + 0.5);
      drawRow(p.row, y);
    }
    drawArrows();
    if (cursor != null && cursor >= view.a && cursor <= view.b) { ctx.fillStyle = paint["--soft"]; ctx.fillRect(X(cursor), 0, 1, high); }
    if (drag && drag.where === "graph" && Math.abs(drag.x1 - drag.x0) > 3) { ctx.fillStyle = paint["--blue-fill"]; ctx.fillRect(Math.min(drag.x0, drag.x1), 0, Math.abs(drag.x1 - drag.x0), high); }
    drawTicks();
  }
  function drawTicks() {
    const c = $("ticks"), g = c.getContext("2d");
    fit(c, wide, 22);
    g.clearRect(0, 0, wide, 22);
    const span = view.b - view.a, rough = span / Math.max((wide - gutter) / 110, 1), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= rough);
    g.fillStyle = paint["--soft"]; g.font = "11px system-ui, sans-serif"; g.textBaseline = "middle";
    for (let t = Math.ceil(view.a / step) * step; t <= view.b; t += step) {
      const x = X(t), text = clock(t, step);
      g.fillRect(x, 0, 1, 4);
      g.textAlign = x > wide - 30 ? "right" : x < gutter + 30 ? "left" : "center";
      g.fillText(text, x, 13);
    }
  }

  // ---- overview: all of the time, what is in detail, what is looked at -------------------------------------------------
  const engines = data.usage.engines.map(s => Object.assign(s, { steps: load(s) }));
  function drawOverview() {
    const c = $("overview"), g = c.getContext("2d"), w = c.parentElement.clientWidth, h = 44;
    fit(c, w, h);
    g.clearRect(0, 0, w, h);
    const all = kind => rows.flatMap(r => [...r.parts, r.marks]).filter(p => p && p.kind === kind);
    const onCpus = rows.filter(r => r.shape === "cpu");
    const parts = engines.length ? engines : onCpus.length ? onCpus.flatMap(r => r.parts) : all("mark");
    if (parts.length) {
      const st = parts.map(p => level(p.steps, total, w)), one = st[0];
      g.fillStyle = paint["--blue"]; g.globalAlpha = 0.55;
      let top = engines.length ? 1 : onCpus.length;
      const sums = Array.from({ length: one.values.length }, (_, i) => { const v = st.reduce((s, l) => s + l.values[i], 0) / (Math.min((i + 1) * one.width, total) - i * one.width); top = Math.max(top, v); return v; });
      sums.forEach((v, i) => g.fillRect(i * one.width / total * w, h - 8 - v / top * (h - 10), one.width / total * w + 0.3, v / top * (h - 10)));
      g.globalAlpha = 1;
    }
    g.fillStyle = paint["--track"]; g.fillRect(0, h - 6, w, 4);
    g.fillStyle = paint["--green"];
    for (const [a, b] of data.detail) g.fillRect(a / total * w, h - 6, Math.max((b - a) / total * w, 2), 4);
    const x0 = view.a / total * w, x1 = view.b / total * w;
    g.fillStyle = paint["--page"]; g.globalAlpha = 0.62;
    g.fillRect(0, 0, x0, h - 7); g.fillRect(x1, 0, w - x1, h - 7);
    g.globalAlpha = 1; g.strokeStyle = paint["--blue"]; g.lineWidth = 1.5;
    g.strokeRect(Math.min(x0 + 0.75, w - 3), 0.75, Math.max(x1 - x0 - 1.5, 2), h - 8.5);
    const span = view.b - view.a;
    $("window").textContent = `${clock(view.a, span / 100)} – ${clock(view.b, span / 100)} (${duration(span)})`;
    $("state").textContent = inDetail()
      ? "every span of this time is in the page" + (summed ? `; ${summed} row${summed > 1 ? "s" : ""} too dense to draw singly` : "")
      : `sums of ${duration(data.width)} here; single spans only where the bar is green`;
  }

  // ---- curves --------------------------------------------------------------------------------------------------------
  const curves = [];
  function plot(host, series, format, range, height, incrs) {
    const u = new uPlot({
      width: host.clientWidth, height, padding: [8, 0, 0, 0],
      cursor: { sync: { key: "system" }, points: { size: 6 }, drag: { x: true, y: false, setScale: false }, bind: { dblclick: () => () => { look(0, total); return null; } } },
      legend: { show: false },
      scales: { x: { time: false, range: () => [view.a, view.b] }, y: { range } },
      axes: [Object.assign(axis(26), { values: (v, splits, n, space, step) => splits.map(t => t > view.b - (view.b - view.a) * 0.03 ? "" : clock(t, step)), space: 110 }),
             Object.assign(axis(72), { values: (v, splits) => splits.map(format), space: 20 }, incrs && { incrs })],
      series: [{}, ...series],
      hooks: {
        setSelect: [v => { if (v.select.width > 3) { const a = v.posToVal(v.select.left, "x"), b = v.posToVal(v.select.left + v.select.width, "x"); v.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false); look(a, b); } }],
        setCursor: [v => { const t = v.cursor.left >= 0 ? v.posToVal(v.cursor.left, "x") : null; if (t !== cursor) { cursor = t; schedule(); } }],
      },
    }, [[0], ...series.map(() => [0])], host);
    u.over.addEventListener("wheel", wheel, { passive: false });
    u.root.dataset.plot = "1";
    return u;
  }
  // Shares of time per bucket for the view, every series cut into the same buckets.
  function shares(series, pixels) {
    const span = view.b - view.a;
    const st = series.map(s => level(s.steps, span, pixels)), w = st.length ? st[0].width : span;
    const first = Math.max(0, Math.floor(view.a / w)), last = st.length ? Math.min(st[0].values.length - 1, Math.ceil(view.b / w)) : -1;
    const x = [], ys = series.map(() => []);
    for (let i = first; i <= last; i++) {
      const long = Math.min((i + 1) * w, total) - i * w;
      x.push(i * w);
      st.forEach((l, k) => ys[k].push(100 * l.values[i] / long));
    }
    if (last >= first) { x.push(Math.min((last + 1) * w, total)); ys.forEach(y => y.push(y[y.length - 1])); }
    return [x, ...ys];
  }
  // The same from the executions themselves, where they are in the page and a bucket is too wide; null where they are
  // not, or too many. What overlaps is added up.
  function exact(series, bins) {
    if (!inDetail() || (view.b - view.a) / data.width > bins / 2 || usage.at === "guests") return null;
    const w = (view.b - view.a) / bins, x = Array.from({ length: bins + 1 }, (_, i) => view.a + i * w), sums = series.map(() => new Float64Array(bins));
    let seen = 0;
    for (const r of rows) {
      if (r.shape !== "engine") continue;
      if (r.lanes.over) return null;
      for (const l of r.lanes) {
        const stop = firstFrom(l.at, view.b);
        for (let j = firstAfter(l.at, view.a); j < stop; j++) {
          if (++seen > 20000) return null;
          const i = l.at[j], owner = usage.at === "clients" ? clientOf(data.spans.bases[S.base[i]]) : usage.at === "vgpus" ? "vGPU " + S.vgpu[i] : null;
          const k = series.findIndex(s => s.track === r.track && (owner == null || s.owner === owner));
          if (k < 0 || S.length[i] === 0) continue;
          const b = Math.max(S.begin[i], view.a) - view.a, e = Math.min(S.begin[i] + S.length[i], view.b) - view.a;
          for (let n = Math.floor(b / w); n < Math.min(Math.ceil(e / w), bins); n++) sums[k][n] += Math.min(e, (n + 1) * w) - Math.max(b, n * w);
        }
      }
    }
    return [x, ...sums.map(s => { const y = Array.from(s, v => 100 * Math.min(v / w, 1)); y.push(y[bins - 1]); return y; })];
  }
  function chips(host, items) {
    host.replaceChildren(...items.map(({ name, color: c, value }) => {
      const row = document.createElement("div"), key = document.createElement("i"), text = document.createElement("span"), b = document.createElement("b");
      key.style.background = `var(${c})`; text.textContent = name; text.title = name; b.textContent = value;
      row.append(key, text, b);
      return row;
    }));
  }
  const tabs = $("usage-tabs"), usage = { at: null, plot: null, series: [] };
  const names = { engines: "engine", clients: "process", vgpus: "virtual GPU", guests: "guest" };
  function showUsage(which) {
    usage.at = which;
    for (const b of tabs.children) b.classList.toggle("on", b.dataset.group === which);
    if (usage.plot) usage.plot.destroy();
    const shown = colorsOf(data.usage[which].map(s => s.owner));
    usage.series = data.usage[which].map((s, i) => Object.assign(s, { steps: s.steps || load(s), color: shown[i] }));
    const seen = new Set();
    usage.plot = plot($("usage-plot"), usage.series.map(s => ({
      label: s.label, stroke: () => paint[s.color], width: 1.5, dash: seen.has(s.color) ? [5, 3] : (seen.add(s.color), undefined), points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) })),
      v => v + " %", (u, lo, hi) => [0, Math.max(hi > 100.5 ? hi * 1.05 : 105, 10)], 190);
    schedule();
  }
  if (Object.values(data.usage).some(l => l.length)) {
    for (const which of Object.keys(data.usage)) {
      if (!data.usage[which].length) continue;
      const b = document.createElement("button");
      b.textContent = names[which]; b.dataset.group = which; b.onclick = () => showUsage(which);
      tabs.append(b);
    }
    showUsage(data.usage.vgpus.length > 1 ? "vgpus" : data.usage.clients.length > 1 ? "clients" : "engines");
    drawers.push(() => {
      const u = usage.plot;
      u.setData(exact(usage.series, 240) || shares(usage.series, 240));
      chips($("usage-key"), usage.series.map(s => ({ name: s.label, color: s.color, value: (100 * sum(s.steps, view.a, view.b) / (view.b - view.a)).toFixed(1) + " %" })));
    });
  }
  const cpus = rows.filter(r => r.shape === "cpu");
  if (cpus.length) { // who has how many CPUs: the rows of the CPUs, added up
    const lines = data.owners.map(name => {
      const parts = cpus.flatMap(r => r.parts.filter(p => p.client === name)).map(p => p.steps[0]);
      return { label: name, color: others.test(name) ? "--other" : hue.get(name), steps: pyramid(parts[0].values.map((_, i) => parts.reduce((s, p) => s + p.values[i], 0)), parts[0].width) };
    });
    const u = plot($("cpus-plot"), lines.map(s => ({ label: s.label, stroke: () => paint[s.color], width: 1.4, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) })),
      v => String(+(v / 100).toFixed(2)), (w, lo, hi) => [0, Math.max((hi ?? 0) * 1.08, 10)], 165);
    drawers.push(() => {
      u.setData(shares(lines, 240));
      chips($("cpus-key"), lines.map(s => ({ name: s.label, color: s.color, value: (sum(s.steps, view.a, view.b) / (view.b - view.a)).toFixed(2) })));
    });
    curves.push(u);
  }
  const formats = { count: v => Number.isInteger(v) ? count(v) : v == null ? "–" : v.toFixed(2), bytes, ns: duration, Hz: v => count(v) + " Hz", percent: v => v + " %" };
  const powersOfTwo = Array.from({ length: 60 }, (_, i) => 2 ** i); // sizes have round numbers there
  for (const panel of data.counters) {
    const format = formats[panel.unit] || count, shown = colorsOf(panel.series.map(s => s.label)), lines = panel.series.map((s, i) => ({ mean: columns[s.mean], top: columns[s.top], t: s.t == null ? null : columns[s.t], v: s.v == null ? null : columns[s.v], label: s.label, color: shown[i] }));
    const u = plot($(panel.id), lines.map(s => ({ label: s.label, stroke: () => paint[s.color], width: 1.4, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) })),
      panel.unit === "count" ? v => Number.isInteger(v) ? count(v) : "" : format, (w, lo, hi) => [Math.min(0, lo ?? 0) * 1.05, Math.max(hi ?? 0, panel.unit === "count" ? 1 : 0.001) * 1.08], 130, panel.unit === "bytes" ? powersOfTwo : undefined);
    drawers.push(() => {
      // Steps where they are in the page and not too many; else the largest value of the buckets a pixel has.
      const real = inDetail() && lines.every(s => s.t && between(s.t) <= 6000);
      u.setData(real ? steps(lines) : tops(lines, Math.max(300, u.width - 60)));
      chips($(panel.id + "-key"), lines.map(s => ({ name: s.label, color: s.color, value: "ø " + format(meanOf(s, panel.unit)) })));
    });
    curves.push(u);
  }
  function from(t, at) { let lo = 0, hi = t.length; while (lo < hi) { const m = (lo + hi) >> 1; if (t[m] <= at) lo = m + 1; else hi = m; } return lo; }
  const between = t => from(t, view.b) - from(t, view.a);
  function steps(lines) {
    const all = lines.map(s => {
      const lo = Math.max(from(s.t, view.a) - 1, 0), hi = from(s.t, view.b), x = Array.from(s.t.subarray(lo, hi)), y = Array.from(s.v.subarray(lo, hi));
      if (x.length && x[0] < view.a) x[0] = view.a;
      if (x.length) { x.push(view.b); y.push(y[y.length - 1]); }
      return [x, y];
    });
    return all.length === 1 ? all[0] : joined(all);
  }
  function joined(all) { // on common times each series keeps its value until its next step
    const x = [...new Set(all.flatMap(([t]) => t))].sort((p, q) => p - q);
    return [x, ...all.map(([t, v]) => { let k = -1; return x.map(at => { while (k + 1 < t.length && t[k + 1] <= at) k++; return k < 0 ? null : v[k]; }); })];
  }
  function tops(lines, pixels) {
    const w = data.width, first = Math.max(0, Math.floor(view.a / w)), last = Math.min(lines[0].top.length - 1, Math.ceil(view.b / w));
    const step = Math.max(1, Math.ceil((last - first + 1) / pixels)), x = [], ys = lines.map(() => []);
    for (let i = first; i <= last; i += step) {
      x.push(i * w);
      lines.forEach((s, k) => {
        let m = null;
        for (let j = i; j < Math.min(i + step, s.top.length); j++) if (!Number.isNaN(s.top[j]) && (m == null || Math.abs(s.top[j]) > Math.abs(m))) m = s.top[j];
        ys[k].push(m);
      });
    }
    if (x.length) { x.push(Math.min((last + 1) * w, total)); ys.forEach(y => y.push(y[y.length - 1])); }
    return [x, ...ys];
  }
  // Over the time in which the value is known; nobody waits in a queue before the first one does.
  function meanOf(s, unit) {
    const w = data.width;
    let area = 0, time = 0;
    for (let i = Math.max(0, Math.floor(view.a / w)); i < s.mean.length && i * w < view.b; i++) {
      if (Number.isNaN(s.mean[i])) continue;
      const part = Math.min(view.b, (i + 1) * w) - Math.max(view.a, i * w);
      area += s.mean[i] * part; time += part;
    }
    return unit === "count" ? area / (view.b - view.a) : time ? area / time : null;
  }

  // ---- histograms ----------------------------------------------------------------------------------------------------
  const H = data.histograms.map(h => ({ ...h, bucket: columns[h.bucket], step: columns[h.step], n: columns[h.n] }));
  const bars = {};
  if (H.length) {
    const pick = $("histogram-of");
    for (const [value, text] of lengths.choices(H)) { const o = document.createElement("option"); o.value = value; o.textContent = text; pick.append(o); }
    pick.onchange = schedule;
    for (const measure of lengths.MEASURES) bars[measure] = lengths.chart($("histogram-" + measure), measure);
    drawers.push(() => {
      const w = data.histogram_width, lo = Math.floor(view.a / w), hi = Math.ceil(view.b / w) - 1;
      for (const measure of Object.keys(bars)) {
        const bins = lengths.bins(H, measure, pick.value, bucket => bucket >= lo && bucket <= hi);
        $("histogram-" + measure + "-n").textContent = lengths.text(bins);
        lengths.show(bars[measure], bins);
      }
    });
  }

  // ---- events --------------------------------------------------------------------------------------------------------
  const E = { ...data.events, ...Object.fromEntries(["t", "event", "cpu", "tid", "comm"].map(n => [n, columns[data.events[n]]])) }, body = $("events-body"), filter = $("events-filter");
  let found = [];
  function search() {
    const text = filter.value.trim().toLowerCase();
    const words = text ? text.split(/\s+/) : [], here = $("events-here").checked;
    found = [];
    for (let i = 0; i < E.t.length; i++) {
      if (here && (E.t[i] < view.a || E.t[i] > view.b)) continue;
      if (words.length) { const line = `${E.names[E.event[i]]} ${E.comms[E.comm[i]]} ${E.tid[i]} cpu${E.cpu[i]} ${E.text[i]}`.toLowerCase(); if (!words.every(w => line.includes(w))) continue; }
      found.push(i);
    }
    $("events-count").textContent = `${count(found.length)} of ${count(E.t.length)} events`;
    lines();
  }
  const list = $("events-list"), lineHigh = 22;
  function lines() {
    const first = Math.max(0, Math.floor(list.scrollTop / lineHigh) - 5), shown = found.slice(first, first + 32);
    body.style.height = Math.min(found.length * lineHigh, 8e6) + "px";
    body.replaceChildren(...shown.map((i, k) => {
      const row = document.createElement("div");
      row.style.top = (first + k) * lineHigh + "px";
      row.tabIndex = 0; row.dataset.t = E.t[i];
      for (const [name, text] of [["t", (E.t[i] / 1e9).toFixed(6)], ["c", E.cpu[i] < 0 ? "" : "cpu " + E.cpu[i]], ["w", E.comms[E.comm[i]] + (E.tid[i] >= 0 ? ` (${E.tid[i]})` : "")], ["e", E.names[E.event[i]]], ["x", E.text[i]]]) {
        const cell = document.createElement("span"); cell.className = name; cell.textContent = text; cell.title = text; row.append(cell);
      }
      return row;
    }));
  }
  const jump = row => { if (row) { cursor = +row.dataset.t; near(cursor, Math.min(view.b - view.a, total / 10)); cursor = +row.dataset.t; } };
  body.addEventListener("click", e => jump(e.target.closest("div[data-t]")));
  body.addEventListener("keydown", e => { if (e.key === "Enter") jump(e.target.closest("div[data-t]")); });
  list.addEventListener("scroll", lines);
  filter.addEventListener("input", search);
  $("events-here").addEventListener("change", search);
  let last = "";
  drawers.push(() => { const now = view.a + " " + view.b; if ($("events-here").checked && now !== last) { clearTimeout(search.timer); search.timer = setTimeout(search, 120); } last = now; });
  search();

  // ---- hand and mouse ------------------------------------------------------------------------------------------------
  let drag = null;
  function wheel(e) {
    if (!(e.ctrlKey || e.metaKey || e.shiftKey || e.altKey)) return;
    e.preventDefault();
    const rect = box.getBoundingClientRect(), at = T(Math.min(Math.max(e.clientX - rect.left, gutter), wide));
    if (e.shiftKey && !e.ctrlKey) pan((e.deltaY || e.deltaX) / 800); else zoom(Math.exp(e.deltaY / 350), at);
  }
  box.addEventListener("wheel", wheel, { passive: false });
  box.addEventListener("scroll", schedule);
  function under(e) {
    const rect = canvas.getBoundingClientRect(), x = e.clientX - rect.left, y = e.clientY - rect.top + box.scrollTop;
    const p = places.find(q => y >= q.y && y < q.y + q.high);
    if (!p || !p.row) return { x, place: p, span: -1 };
    const r = p.row, t = T(x), slack = (view.b - view.a) / (wide - gutter) * 2;
    if (x >= gutter && visible(r) <= perRow) {
      const k = Math.min(Math.floor((y - p.y) / (r.high / Math.max(r.lanes.length, 1))), r.lanes.length - 1), l = r.lanes[k];
      if (l) for (let j = firstAfter(l.at, t - slack), stop = firstFrom(l.at, t + slack); j < stop; j++) return { x, place: p, span: l.at[j] };
    }
    return { x, place: p, span: -1 };
  }
  canvas.addEventListener("mousedown", e => { if (e.button) return; const u = under(e); if (u.x >= gutter) drag = { where: "graph", x0: u.x, x1: u.x, span: u.span, start: { ...view }, pan: e.shiftKey }; else if (u.place && u.place.group) { u.place.group.open = !u.place.group.open; arrange(); schedule(); } });
  addEventListener("mousemove", e => {
    if (drag && drag.where === "graph") {
      drag.x1 = Math.min(Math.max(e.clientX - canvas.getBoundingClientRect().left, gutter), wide);
      if (drag.pan) { const d = (drag.x0 - drag.x1) / (wide - gutter) * (drag.start.b - drag.start.a); look(drag.start.a + d, drag.start.b + d); }
      schedule();
    } else if (drag && drag.where === "overview") brush(e);
  });
  addEventListener("mouseup", () => {
    if (!drag) return;
    const d = drag;
    drag = null;
    if (d.where !== "graph" || d.pan) return;
    if (Math.abs(d.x1 - d.x0) > 4) look(T(Math.min(d.x0, d.x1)), T(Math.max(d.x0, d.x1)));
    else select(d.span >= 0 ? S.request[d.span] : -1);
  });
  canvas.addEventListener("dblclick", () => look(0, total));
  const tip = $("tip");
  canvas.addEventListener("mousemove", e => {
    const u = under(e);
    cursor = u.x >= gutter ? T(u.x) : null;
    schedule();
    hovered = u.span;
    if (drag || !u.place || !u.place.row) { tip.hidden = true; return; }
    const said = [];
    if (u.span >= 0) {
      const i = u.span;
      said.push(["", label(i)], [kindOf(i) === "mark" ? "at" : kindOf(i), kindOf(i) === "mark" ? clock(S.begin[i], 1000) : duration(S.length[i])], ["from", clock(S.begin[i], 1000)], ["row", u.place.row.label]);
      if (u.place.row.shape === "cpu" && ownerOf(i) && ownerOf(i) !== label(i)) said.push(["of", ownerOf(i)]);
    } else {
      said.push(["", u.place.row.label]);
      for (const p of u.place.row.parts) { const v = sum(p.steps, view.a, view.b); if (v) said.push([p.client ?? p.kind, u.place.row.shape === "queue" ? "ø " + (v / (view.b - view.a)).toFixed(2) : (100 * v / (view.b - view.a)).toFixed(1) + " %"]); }
    }
    tip.replaceChildren(...said.map(([k, v]) => { const d = document.createElement("div"), b = document.createElement(k ? "span" : "b"); b.textContent = k || v; d.append(b); if (k) d.append(" " + v); return d; }));
    tip.hidden = false;
    const right = e.clientX + 260 > innerWidth;
    tip.style.left = (right ? e.clientX - tip.offsetWidth - 14 : e.clientX + 14) + "px"; tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 6) + "px";
  });
  canvas.addEventListener("mouseleave", () => { tip.hidden = true; cursor = null; schedule(); });
  function select(request) {
    chosen = request;
    const way = request >= 0 ? waysOf(request) : [];
    $("way").hidden = !way.length;
    if (way.length) {
      const first = S.begin[way[0]], end = Math.max(...way.map(i => S.begin[i] + S.length[i]));
      const name = way.map(i => label(i))[0];
      $("way-title").textContent = `Way of ${name}: ${duration(end - first)}`;
      $("way-steps").replaceChildren(...way.map(i => {
        const li = document.createElement("li"), key = document.createElement("i"), text = document.createElement("span"), b = document.createElement("b");
        key.style.background = spanColor(i); b.textContent = duration(S.length[i]);
        text.textContent = `${{ execution: "on the engine", queued: "waits in the queue", "vgpu queue": "waits in the hypervisor", blocked: "waits for a dependency", ring: "handed over, not begun", notify: "done, not yet told", "guest queue": "waits in the guest", "guest notice": "done, the guest does not know" }[kindOf(i)] || kindOf(i)} (${rows[S.track[i]].label})`;
        li.append(key, text, b);
        return li;
      }));
      $("way-zoom").onclick = () => look(first - (end - first) * 0.1, end + (end - first) * 0.1);
    }
    schedule();
  }
  const over = $("overview");
  function brush(e) { const r = over.getBoundingClientRect(), t = (e.clientX - r.left) / r.width * total; const s = view.b - view.a; if (drag.fresh) look(Math.min(drag.t, t), Math.max(drag.t, t)); else look(t - s * drag.hold, t - s * drag.hold + s); }
  over.addEventListener("mousedown", e => {
    const r = over.getBoundingClientRect(), t = (e.clientX - r.left) / r.width * total, s = view.b - view.a;
    const inside = t >= view.a && t <= view.b && s < total * 0.98;
    drag = { where: "overview", fresh: !inside, t, hold: inside ? (t - view.a) / s : 0 };
  });
  over.addEventListener("dblclick", () => look(0, total));
  addEventListener("keydown", e => {
    if (/input|select|textarea/i.test(e.target.tagName) || e.ctrlKey || e.metaKey) return;
    const act = { w: () => zoom(0.7, cursor), "+": () => zoom(0.7, cursor), s: () => zoom(1 / 0.7, cursor), "-": () => zoom(1 / 0.7, cursor), a: () => pan(-0.2), d: () => pan(0.2), 0: () => look(0, total), Escape: () => select(-1) }[e.key];
    if (act) { act(); e.preventDefault(); }
  });
  $("zoom-in").onclick = () => zoom(0.5);
  $("zoom-out").onclick = () => zoom(2);
  $("zoom-all").onclick = () => look(0, total);
  for (const b of document.querySelectorAll("button[data-at]")) b.onclick = () => { cursor = +b.dataset.at; near(+b.dataset.at, Math.max(+b.dataset.span * 3, 1000)); $("time").scrollIntoView({ behavior: "smooth" }); };
  $("ways").onchange = $("wakes").onchange = schedule;
  if (data.detail.length && !(data.detail[0][0] <= 0 && data.detail[0][1] >= total)) {
    const b = $("zoom-detail");
    b.hidden = false;
    let next = 0;
    b.onclick = () => { const [a, z] = data.detail[next++ % data.detail.length]; look(a, z); };
  }

  drawers.push(drawGraph, drawOverview);
  arrange();
  addEventListener("resize", () => {
    for (const u of [usage.plot, ...curves].filter(Boolean)) u.setSize({ width: u.root.parentElement.clientWidth, height: u.height });
    for (const u of Object.values(bars)) u.setSize({ width: u.root.parentElement.clientWidth, height: u.height });
    schedule();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { repaint(); schedule(); });
  $("loading").remove();
  // For those who drive the page: tests and measurements.
  window.systemReport = { look, select, view: () => view, draw: () => { for (const d of drawers) d(); }, data, spans, sum, usage: () => usage, detail: inDetail, counts: () => ({ single, summed }) };
  look(0, total);
  const wanted = /^#t=(\d+),(\d+)(?:,r=(\d+))?$/.exec(location.hash);
  if (wanted) { look(+wanted[1], +wanted[2]); if (wanted[3]) select(+wanted[3]); }
  for (const d of drawers) d();
})();
