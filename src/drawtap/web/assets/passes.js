// The passes of a frame, and what each has from another: a graph that goes down as time does, pictures, and a table.
import {button, counted, fill, h, number} from "./dom.js";
import {Film} from "./film.js";
import {ask} from "./net.js";
import {quiet, svg, title} from "./parts.js";
import {link, table} from "./table.js";

const MOST = 120;  // passes in the graph; the table has all
const BOX = {
  width: 204,
  height: 46,
  across: 16,
  down: 44,
  margin: 12
};
const LETTER = 6;  // pixels: the width of a letter of a label, at most on average


/**
 * @typedef {object} Pass
 * @property {number} number @property {string} kind @property {number|null} framebuffer
 * @property {number} first @property {number} last @property {number} draws @property {number} clears
 * @property {number} dispatches @property {number} calls @property {number|null} width @property {number|null} height
 * @property {string[]} targets @property {number} frame @property {string|null} group
 */

export const passesPanel = {
  async show(ctx) {
    const {recording, place, element} = ctx, frame = recording.frameOf(place.call);
    if (recording.overview.vulkan)
      return fill(
          element,
          h("p", {}, "Passes are those of OpenGL and OpenVG. The table ", h("code", {text: "executed"}),
            " has the render passes of Vulkan: its column pass_number."));
    const columns = "pass_number AS number, kind, framebuffer, first_seq AS first, last_seq AS last, draws, clears, " +
        "dispatches, calls, width, height, targets, frame";
    const own = `SELECT ${columns}, (SELECT max_by(m.text, m.depth) FROM markers m WHERE m.kind = 'group'
      AND m.seq <= p.first_seq AND m.end_seq > p.first_seq) AS "group" FROM passes p WHERE frame = ${
        frame} ORDER BY pass_number`;
    const links = `SELECT l.from_pass, l.to_pass, l.kind, l.class, l.name, l.path, l.seq, f.frame, t.frame, f.kind,
      f.framebuffer, f.last_seq FROM pass_links l JOIN passes f ON f.pass_number = l.from_pass
      JOIN passes t ON t.pass_number = l.to_pass WHERE f.frame = ${frame} OR t.frame = ${frame} ORDER BY l.seq, l.path`;
    const [passes, edges] = await Promise.all(
        [ask(recording.number, "sql", own, ctx.signal), ask(recording.number, "sql", links, ctx.signal)]);
    /** @type {Pass[]} */
    const all = passes.rows.map((row) => Object.fromEntries(passes.columns.map((column, i) => [column, row[i]])));
    const joined = bundled(edges.rows);
    const here = all.findLastIndex((one) => one.first <= place.call);
    const go = (/** @type {Pass} */ pass) => ctx.go(pass.last);
    const steps =
        h("div", {class: "tools"}, button("previous frame", () => step(ctx, frame - 1), {disabled: frame === 0}),
          button("next frame", () => step(ctx, frame + 1), {disabled: frame + 1 >= recording.frameCount}));
    if (!all.length)
      return fill(
          element, title(`Passes of frame ${number(frame)}`), steps,
          quiet("nothing is drawn, copied or shown in this frame"));
    const film = new Film(
        all.map((pass) => ({
                  seq: pass.last,
                  title: `${titleOf(pass)}: after call ${number(pass.last)}`,
                  text: titleOf(pass),
                  path: pass.kind === "draw" ? `${recording.number}/small/${pass.last}` : null
                })),
        {label: "what each pass draws: arrows choose, Enter goes there", chosen: here, go: (item) => ctx.go(item.seq)});
    fill(
        element,
        title(`Passes of frame ${number(frame)}`, `${number(all.length)} passes; a box leads to the end of its pass`),
        steps, film.element, legend(joined),
        h("div", {class: "flow", tabindex: "-1"}, graph(all.slice(0, MOST), joined, frame, here, go, ctx.go)),
        all.length > MOST && quiet(`the graph shows the first ${MOST} passes; the table has all`),
        rowsOf(ctx, all, joined, frame));
  },
};

/** To the same panel in another frame. @param {any} ctx @param {number} frame */
function step(ctx, frame) { ctx.go(ctx.recording.frames.end[frame] - 1); }

/** @param {{kind: string, framebuffer: number|null}} pass */
function titleOf({kind, framebuffer}) {
  if (kind === "draw") return framebuffer ? `framebuffer ${framebuffer}` : "window";
  return {dispatch: "compute", copy: "copy", readback: "read back", show: "shown"}[kind] ?? kind;
}

/** @param {Pass} pass */
function aboutOf(pass) {
  const made = [
    pass.draws && counted(pass.draws, "draw"), pass.clears && counted(pass.clears, "clear"),
    pass.dispatches && counted(pass.dispatches, "dispatch", "dispatches")
  ].filter(Boolean).join(", ");
  return [made || pass.calls && counted(pass.calls, "call"), pass.width ? `${pass.width} × ${pass.height}` : ""]
      .filter(Boolean)
      .join(", ");
}

/** The object of a link, in few words. @param {string} cls @param {number} name @param {string} path */
const objectOf = (cls, name, path) => cls === "surface" ? `window ${path.split(".").at(-1)}` : `${cls} ${name}`;

/**
 * Links of the same two passes as one. @param {any[][]} rows
 * @returns {{from: number, to: number, fromFrame: number, toFrame: number, kept: boolean, read: boolean, what:
 *     string[], title: string, seq: number, fromTitle: string, fromLast: number}[]}
 */
function bundled(rows) {
  /** @type {Map<string, any>} */
  const found = new Map();
  for (const [from, to, kind, cls, name, path, seq, fromFrame, toFrame, fromKind, fromBuffer, fromLast] of rows) {
    const key = `${from} ${to}`;
    const one = found.get(key) ?? {
      from,
      to,
      fromFrame,
      toFrame,
      fromTitle: titleOf({kind: fromKind, framebuffer: fromBuffer}),
      fromLast,
      seq,
      read: false,
      kept: false,
      what: []
    };
    one[kind] = true;
    const what = objectOf(cls, name, path);
    if (!one.what.includes(what)) one.what.push(what);
    found.set(key, one);
  }
  return [...found.values()];
}

/** @param {any[]} links */
function legend(links) {
  return h(
      "p", {class: "legend"}, h("i", {text: "── reads what the pass above wrote"}), "  ",
      links.some((one) => one.kept) && h("i", {text: "╌╌ draws over a part of it"}));
}

/** @param {string} text @param {number} most */
const short = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

/**
 * Rows by how many passes a pass stands behind, so that every link goes down; earlier frames stand above all.
 * @param {Pass[]} all @param {any[]} links @param {number} frame
 */
function placed(all, links, frame) {
  /** @type {Map<number, any>} */
  const nodes = new Map();
  const before = links.filter((one) => one.fromFrame < frame && one.toFrame === frame);
  for (const one of before)
    if (!nodes.has(one.from))
      nodes.set(
          one.from,
          {key: one.from, earlier: one, row: 0, title: one.fromTitle, about: `of frame ${number(one.fromFrame)}`});
  const first = nodes.size ? 1 : 0;
  for (const pass of all) {
    const row = Math.max(
        first,
        ...links.filter((one) => one.to === pass.number && one.fromFrame === frame)
            .map((one) => (nodes.get(one.from)?.row ?? 0) + 1));
    nodes.set(pass.number, {key: pass.number, pass, row, title: titleOf(pass), about: aboutOf(pass)});
  }
  // An earlier pass stands right above the first one that uses it.
  for (const node of nodes.values())
    if (node.earlier)
      node.row =
          Math.min(...before.filter((one) => one.from === node.key).map((one) => nodes.get(one.to)?.row ?? 1)) - 1;
  const top = Math.min(...[...nodes.values()].map((node) => node.row));
  for (const node of nodes.values()) node.row -= top;
  /** @type {Map<number, any[]>} */
  const rows = new Map();
  for (const node of nodes.values()) rows.set(node.row, [...(rows.get(node.row) ?? []), node]);
  const widest = Math.max(...[...rows.values()].map((row) => row.length));
  const {width, height, across, down, margin} = BOX;
  const wide = widest * (width + across) - across;
  for (const [row, list] of rows) {
    // A pass stands near those that it reads.
    const wish = (node) => {
      const from = links.filter((one) => one.to === node.key)
                       .map((one) => nodes.get(one.from)?.x)
                       .filter((x) => x !== undefined);
      return from.length ? from.reduce((a, b) => a + b, 0) / from.length : wide / 2;
    };
    const sorted = row ? [...list].sort((a, b) => wish(a) - wish(b) || a.key - b.key) : list;
    const left = (wide - (sorted.length * (width + across) - across)) / 2;
    sorted.forEach(
        (node, i) => Object.assign(node, {x: margin + left + i * (width + across), y: margin + row * (height + down)}));
  }
  return {nodes, width: wide + 2 * margin, height: Math.max(...rows.keys()) * (height + down) + height + 2 * margin};
}

/**
 * @param {Pass[]} all @param {any[]} links @param {number} frame @param {number} here @param {(pass: Pass) => void}
 * go @param {(seq: number) => void} goCall
 */
function graph(all, links, frame, here, go, goCall) {
  const {nodes, width, height} = placed(all, links, frame);
  const shown = links.filter((one) => one.toFrame === frame && nodes.has(one.from) && nodes.has(one.to));
  const drawing = svg("svg", {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: "group",
    "aria-label": `${all.length} passes and ${shown.length} links; Tab goes from pass to pass, Enter to its calls`
  });
  drawing.append(svg(
      "defs", {},
      svg("marker", {id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto"},
          svg("path", {d: "M0 0 L8 4 L0 8 z", class: "tip"}))));
  const labels = [];
  for (const one of shown) {
    const a = nodes.get(one.from), b = nodes.get(one.to);
    const x0 = a.x + BOX.width / 2, y0 = a.y + BOX.height, x1 = b.x + BOX.width / 2, y1 = b.y;
    // Links that pass by a row go beside its boxes.
    const far = b.row - a.row > 1 ? (x1 >= x0 ? 1 : -1) * 24 : 0;
    const path =
        svg("path", {
          d: `M${x0} ${y0} C${x0 + far} ${y0 + BOX.down * 0.8}, ${x1 + far} ${y1 - BOX.down * 0.8}, ${x1} ${y1 - 1}`,
          class: `edge${one.read ? "" : " kept"}`,
          "marker-end": "url(#tip)"
        },
            svg("title", {},
                `${a.title} → ${b.title}: ${one.what.join(", ")} (${one.read ? "read" : ""}${
                    one.read && one.kept ? ", " : ""}${one.kept ? "drawn over" : ""})`));
    drawing.append(path);
    // A longer link has its words below the box that it comes from: what lies between are other boxes.
    labels.push(
        far ? {one, x: x0 + (x1 - x0) * 0.12 + far * 0.3, y: y0 + BOX.down * 0.55} :
              {one, x: (x0 + x1) / 2, y: (y0 + y1) / 2 + 3});
  }
  for (const node of nodes.values()) drawing.append(box(node, all[here]?.number === node.key, shown, go, goCall));
  // Words stand above all lines; several at one place go up.
  /** @type {{x: number, y: number}[]} */
  const taken = [];
  for (const {one, x, y} of labels) {
    let at = y;
    while (taken.some((other) => Math.abs(other.x - x) < 70 && Math.abs(other.y - at) < 11)) at -= 11;
    taken.push({x, y: at});
    const text = `${short(one.what[0], 18)}${one.what.length > 1 ? ` +${one.what.length - 1}` : ""}`;
    drawing.style.minWidth = `${Math.round(width * 0.8)}px`;
    const wide = text.length * LETTER + 6;
    drawing.append(
        svg("rect", {x: x - wide / 2, y: at - 10, width: wide, height: 13, rx: 3, class: "behind"}),
        svg("text", {x, y: at, class: "what", "text-anchor": "middle"}, text));
  }
  return drawing;
}

/**
 * @param {any} node @param {boolean} chosen @param {any[]} links @param {(pass: Pass) => void} go @param {(seq:
 *     number) => void} goCall
 */
function box(node, chosen, links, go, goCall) {
  const {pass, earlier, x, y} = node;
  const from = links.filter((one) => one.to === node.key).flatMap((one) => one.what);
  const act = () => (pass ? go(pass) : goCall(earlier.fromLast));
  const keydown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  const words = `${node.title}, ${node.about}${pass?.group ? `, ${pass.group}` : ""}${
      from.length ? `; has ${from.join(", ")}` : ""}`;
  return svg(
      "g", {
        class: `pass ${pass?.kind ?? "earlier"}${chosen ? " chosen" : ""}`,
        tabindex: 0,
        role: "link",
        "aria-label": words,
        "aria-current": chosen ? "true" : null,
        transform: `translate(${x} ${y})`,
        on: {click: act, keydown}
      },
      svg("title", {}, words), svg("rect", {width: BOX.width, height: BOX.height, rx: 6}),
      svg("text", {x: 10, y: 19, class: "name"}, short(pass?.group ? `${node.title} · ${pass.group}` : node.title, 26)),
      svg("text", {x: 10, y: 36, class: "about"}, short(node.about, 32)));
}

/** The same as a table. @param {any} ctx @param {Pass[]} all @param {any[]} links @param {number} frame */
function rowsOf(ctx, all, links, frame) {
  const named = (one, /** @type {number} */ other, /** @type {number} */ of) =>
      `${one.what.join(", ")} ${other === frame ? "" : `(frame ${number(other)}) `}of pass ${of}`;
  const rows = all.map(
      (pass) =>
          [pass.number, titleOf(pass), pass.group, pass.first, pass.last, pass.draws, pass.clears, pass.dispatches,
           pass.targets.map((path) => path.replace(/^(vg_)?shares\[\d+\]\./, "")).join(", "),
           links.filter((one) => one.to === pass.number).map((one) => named(one, one.fromFrame, one.from)).join("; "),
           links.filter((one) => one.from === pass.number)
               .map((one) => `${one.toFrame === frame ? "" : `frame ${number(one.toFrame)}, `}pass ${one.to}`)
               .join("; ")]);
  const columns = [
    "pass", "target", "group", "first_seq", "last_seq", "draws", "clears", "dispatches", "writes", "has from",
    "is used by"
  ];
  return table(ctx, {columns, rows}, {
    name: "passes",
    plain: true,
    whole: {recording: ctx.recording.number, sql: `SELECT * FROM passes WHERE frame = ${frame} ORDER BY pass_number`},
    links: {pass: (row) => () => ctx.go(row[4])}
  });
}
