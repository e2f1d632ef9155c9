// Functions that the scripts of all pages share: numbers as text, colours of the page, axes of plots, tables that sort
// themselves. A page that is one file has the modules of this folder in one script (output/document.py); the viewer
// loads them.
export const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const digits = v => v === 0 ? "0" : Number(v.toPrecision(3)).toString();
export function duration(ns) {
  if (ns == null || Number.isNaN(ns)) return "–";
  if (ns === 0) return "0";
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  for (const [scale, unit] of units)
    if (Math.abs(ns) >= scale * 0.9995) return digits(ns / scale) + " " + unit;
  return digits(ns) + " ns";
}
export function bytes(n) {
  if (n == null) return "–";
  const units = [[1073741824, "GiB"], [1048576, "MiB"], [1024, "KiB"]];
  for (const [scale, unit] of units)
    if (n >= scale) return digits(n / scale) + " " + unit;
  return Math.round(n) + " B";
}
export const count = n => n == null ? "–" : Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
/** A time with as many digits as a step needs. @param {number} t @param {number} step */
export function clock(t, step) {
  const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9) - 1e-6)));
  return `${(t / 1e9).toFixed(places)} s`;
}

/** @param {number|null} value @param {string} unit */
export function amount(value, unit) {
  if (value === null || Number.isNaN(value)) return "–";
  if (unit === "ns") return duration(value);
  const short = Math.abs(value) >= 1e6 ? value.toExponential(3) : Number(value.toPrecision(5)).toString();
  return unit && unit !== "count" ? `${short} ${unit}` : short;
}
/** A percentage with a sign. @param {number|null|undefined} value @param {number} [digits] */
export function percent(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  const text = Math.abs(value).toFixed(digits);
  return `${Number(text) === 0 ? "" : value > 0 ? "+" : "−"}${text} %`;
}
/** Round places between two numbers. @param {number} low @param {number} high */
export function ticks(low, high) {
  const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? power;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step)
    found.push(Math.abs(at) < step / 1e6 ? 0 : at);
  return found;
}
/**
 * The empty context of a canvas that is drawn in pixels of the page, and sharp at any density. @param
 * {HTMLCanvasElement} canvas @param {number} width @param {number} height
 */
export function sharp(canvas, width, height) {
  const ratio = devicePixelRatio || 1, context = canvas.getContext("2d");
  const [wide, high] = [width, height].map(size => Math.round(size * ratio));
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, {width: wide, height: high});
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  return context;
}

/**
 * The first place from `low` on that is reached, `high` where none is; all places behind a reached one are
 * too. @param {number} low @param {number} high @param {(place: number) => boolean} reached
 */
export function firstPlace(low, high, reached) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (reached(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}
export const axis = size => ({
  stroke: () => css("--soft"),
  grid: {stroke: () => css("--hair"), width: 1},
  ticks: {stroke: () => css("--line"), width: 1},
  font: "12px system-ui, sans-serif",
  size
});
export function sortable() {
  for (const table of document.querySelectorAll("table.sortable")) {
    const most = 25;
    if (table.tBodies[0].rows.length > most + 5) {
      const button = document.createElement("button");
      button.className = "below";
      button.textContent = `show all ${table.tBodies[0].rows.length}`;
      button.onclick = () => {
        table.classList.remove("folded");
        button.remove();
      };
      table.classList.add("folded");
      table.parentElement.after(button);
    }
    table.tHead.addEventListener("click", event => {
      const head = event.target.closest("th");
      if (!head || head.classList.contains("bar")) return;
      const down = head.getAttribute("aria-sort") === "descending" ? false :
          head.getAttribute("aria-sort") === "ascending"           ? true :
                                                                     head.classList.contains("n");
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = row => {
        const cell = row.cells[head.cellIndex];
        return cell.dataset.v !== undefined ? +cell.dataset.v : cell.textContent;
      };
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const x = key(a), y = key(b);
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
      table.tBodies[0].append(...rows);
    });
  }
}
