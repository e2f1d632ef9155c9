"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const digits = v => v === 0 ? "0" : Number(v.toPrecision(3)).toString();
  function duration(ns) {
    if (ns == null) return "–";
    if (ns === 0) return "0";
    const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
    for (const [scale, unit] of units) if (Math.abs(ns) >= scale * 0.9995) return digits(ns / scale) + " " + unit;
    return digits(ns) + " ns";
  }
  function bytes(n) {
    if (n == null) return "–";
    const units = [[1073741824, "GiB"], [1048576, "MiB"], [1024, "KiB"]];
    for (const [scale, unit] of units) if (n >= scale) return digits(n / scale) + " " + unit;
    return Math.round(n) + " B";
  }
  const count = n => n == null ? "–" : Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");

  const plots = [];
  function level(plot, value, text, color, left) {
    const y = plot.valToPos(value, "y", true), box = plot.bbox, ctx = plot.ctx, ratio = devicePixelRatio || 1;
    if (y < box.top || y > box.top + box.height) return;
    ctx.save();
    ctx.strokeStyle = color; ctx.fillStyle = color; ctx.lineWidth = ratio; ctx.setLineDash([5 * ratio, 4 * ratio]);
    ctx.beginPath(); ctx.moveTo(box.left, y); ctx.lineTo(box.left + box.width, y); ctx.stroke();
    ctx.font = 11 * ratio + "px system-ui, sans-serif"; ctx.textAlign = "right"; ctx.textBaseline = "bottom";
    const wide = ctx.measureText(text).width;
    const right = left ? box.left + wide + 8 * ratio : box.left + box.width - 4 * ratio;
    ctx.globalAlpha = 0.85; ctx.fillStyle = css("--card");
    ctx.fillRect(right - wide - 3 * ratio, y - 15 * ratio, wide + 6 * ratio, 13 * ratio);
    ctx.globalAlpha = 1; ctx.fillStyle = color;
    ctx.fillText(text, right, y - 2 * ratio);
    ctx.restore();
  }
  const powers = Array.from({ length: 48 }, (_, i) => 2 ** i);
  function draw(id, series, format, color, levels) {
    const host = document.getElementById(id);
    if (!host || !data.frames.number.length) return;
    const few = data.frames.number.length <= 400;
    const axis = size => ({ stroke: () => css("--soft"), grid: { stroke: () => css("--hair"), width: 1 },
      ticks: { stroke: () => css("--line"), width: 1 }, font: "12px system-ui, sans-serif", size });
    const top = series.reduce((m, v) => v > m ? v : m, 0) || 1;
    // A few frames far above the others (the first one loads everything) would press the rest flat.
    const ordered = series.filter(v => v != null).sort((a, b) => a - b);
    const usual = 1.3 * (ordered[Math.floor(ordered.length * 0.99)] || 0) || top;
    const above = ordered.filter(v => v > usual).length;
    let clipped = top > 2.5 * usual && above > 0;
    const plot = new uPlot({
      width: host.clientWidth, height: 210,
      cursor: { sync: { key: "frames" }, points: { size: 7 }, drag: { x: true, y: false } },
      legend: { live: true },
      scales: { x: { time: false }, y: { range: (u, low, high) => {
        const need = high == null || high <= 0 ? top : high;
        return [0, (clipped ? Math.min(need, usual) : need) * 1.08];
      } } },
      axes: [Object.assign(axis(34), { values: (u, splits) => splits.map(v => Number.isInteger(v) ? count(v) : "") }),
             Object.assign(axis(78), { values: (u, splits) => splits.map(format) }, format === bytes ? { incrs: powers } : {})],
      series: [{ label: "frame", value: (u, v) => count(v) },
               { label: host.dataset.label, stroke: () => css("--" + color), fill: () => css("--" + color + "-fill"),
                 width: few ? 1.5 : 1, points: { show: data.frames.number.length <= 60, size: 5 },
                 paths: few ? uPlot.paths.stepped({ align: 0 }) : undefined, value: (u, v) => format(v) }],
      hooks: { draw: [u => { for (const l of levels || []) level(u, l.value, l.text, css(l.color), l.left); }] },
    }, [data.frames.number, series], host);
    plots.push([plot, host]);
    if (clipped) {
      const button = document.createElement("button");
      const label = () => { button.textContent = clipped ? `${count(above)} above the plot: show all` : "show the usual range"; };
      button.onclick = () => { clipped = !clipped; label(); plot.redraw(false, true); plot.setData(plot.data); };
      label();
      host.parentElement.querySelector("h2").append(button);
    }
  }
  const levels = [];
  if (data.levels.p50 != null) levels.push({ value: data.levels.p50, text: "median " + duration(data.levels.p50), color: "--soft", left: true });
  if (data.levels.p99 != null && data.levels.p99 > 1.15 * data.levels.p50)
    levels.push({ value: data.levels.p99, text: "99 % " + duration(data.levels.p99), color: "--red" });
  draw("frame-times", data.frames.duration, duration, "blue", levels);
  draw("frame-calls", data.frames.calls, count, "green");
  draw("frame-uploads", data.frames.uploads, bytes, "orange");

  const resize = () => { for (const [plot, host] of plots) plot.setSize({ width: host.clientWidth, height: 210 }); };
  addEventListener("resize", resize);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const [plot] of plots) plot.redraw(false, true); });

  for (const table of document.querySelectorAll("table.sortable")) {
    const most = 25;
    if (table.tBodies[0].rows.length > most + 5) {
      const button = document.createElement("button");
      button.className = "below";
      button.textContent = `show all ${table.tBodies[0].rows.length}`;
      button.onclick = () => { table.classList.remove("folded"); button.remove(); };
      table.classList.add("folded");
      table.parentElement.after(button);
    }
    table.tHead.addEventListener("click", event => {
      const head = event.target.closest("th");
      if (!head || head.classList.contains("bar")) return;
      const down = head.getAttribute("aria-sort") === "descending" ? false
        : head.getAttribute("aria-sort") === "ascending" ? true : head.classList.contains("n");
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = row => { const cell = row.cells[head.cellIndex]; return cell.dataset.v !== undefined ? +cell.dataset.v : cell.textContent; };
      const rows = [...table.tBodies[0].rows].sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1); });
      table.tBodies[0].append(...rows);
    });
  }
})();
