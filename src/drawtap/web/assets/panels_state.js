// The state after a call: what differs from the beginning, stage by stage or as a tree, since which call, against a
// pin.
import {button, fill, h, number} from "./dom.js";
import {ask, get} from "./net.js";
import {quiet, title, toggle} from "./parts.js";
import {link, saving, table} from "./table.js";

const open = new Set(["context", "share", "vg_context", "vg_share", "draw"]);
let everything = false;
let used = false;  // whether objects that the draw does not use are left out
let words = "";

export const statePanel = {
  async show(ctx) {
    const {recording, place, element, store} = ctx;
    const pinned = place.pin !== null && place.pin !== place.call;
    const state = await get(`${recording.number}/state/${place.call}${everything || pinned ? "?all" : ""}`, ctx.signal);
    const difference =
        pinned ? await get(`${recording.number}/difference?a=${place.pin}&b=${place.call}`, ctx.signal) : null;
    const differs = new Map((difference?.rows ?? []).map((row) => [row[0], row]));
    const always = new Set(state.always);
    const uses = used && !recording.overview.vulkan ? await usesOf(ctx, state.rows) : null;
    const shown = (row) => (everything || row[4] || always.has(row[0]) || differs.has(row[0])) &&
        (!place.stage || row[3] === place.stage) && (!uses || uses(row[0])) &&
        words.split(" ").every((word) => row[0].toLowerCase().includes(word) || row[1].toLowerCase().includes(word));
    const count = (/** @type {string} */ stage) => state.rows.filter((row) => row[3] === stage && row[4]).length;
    const stages = state.stages.map(
        ([key, name]) => toggle(
            `${name} ${count(key)}`, () => store.set({stage: place.stage === key ? "" : key}), place.stage === key,
            {title: `${count(key)} variables differ from their first value`}));

    const tree = h("div", {class: "tree"});
    const draw = () => {
      const rows = state.rows.filter(shown);
      fill(
          tree,
          rows.length ? branch(nest(rows), "", ctx, differs) :
                        quiet("nothing differs here; “all” shows every variable"));
    };
    const input = () => {
      words = search.value.toLowerCase();
      draw();
    };
    const search = h("input", {
      type: "search",
      placeholder: "words in path or value",
      "aria-label": "search the state",
      value: words,
      on: {input}
    });
    const again = (/** @type {() => void} */ change) => () => {
      change();
      void this.show(ctx).catch(ctx.fail);
    };
    const all = toggle(
        "all", again(() => (everything = !everything)), everything,
        {title: "also variables that are as in the beginning"});
    const draws = toggle(
        "used by the draw", again(() => (used = !used)), used,
        {title: "without textures, buffers, programs and others that this draw does not use"});
    const pin = place.pin === null ? button(
                                         "pin", () => store.set({pin: place.call}),
                                         {title: "compare the state after other calls with this one (p)"}) :
                                     toggle(`unpin ${number(place.pin)}`, () => store.set({pin: null}), true);
    fill(
        element,
        title(
            `State after call ${number(place.call)}`,
            `${everything ? `${number(state.variables)} variables` : "what differs from the beginning"}; ` +
                "on the right the call that set it"),
        // OpenVG has no such stages.
        state.rows.some((row) => row[3]) &&
            h("div", {class: "stages", role: "toolbar", "aria-label": "stages of the pipeline"}, ...stages),
        state.incomplete.length > 0 && (!place.stage || place.stage === "textures") && incompleteTextures(ctx, state),
        h("div", {class: "tools"}, search, all, !recording.overview.vulkan && draws, pin, saving({
            name: `state-${place.call}`,
            rows: () => ({
              columns: ["path", "value", "since_seq"],
              rows: state.rows.filter(shown).map(([path, value, since]) => [path, plain(value, Infinity), since])
            })
          })),
        difference && title(`Changed against call ${number(place.pin)}`, `${number(difference.rows.length)} variables`),
        difference && difference.rows.length > 0 &&
            table(
                ctx, {columns: ["path", `after ${place.pin}`, `after ${place.call}`], rows: difference.rows},
                {name: "state-difference"}),
        tree,
    );
    draw();
  },
};

/**
 * Tell whether a variable is of the context, or of an object that the draw uses. Calls that draw nothing have all
 * variables. @param {any} ctx @param {any[][]} rows
 * @returns {Promise<((path: string) => boolean)|null>}
 */
async function usesOf(ctx, rows) {
  const {rows: [draw]} = await ask(
      ctx.recording.number, "sql",
      `SELECT textures, buffers, index_buffer, program, framebuffer FROM draws WHERE seq = ${ctx.place.call}`,
      ctx.signal);
  if (!draw) return null;
  const [textures, buffers, index, program, framebuffer] = draw;
  const bound = rows.find(([path]) => path === "context.GL_VERTEX_ARRAY_BINDING");
  const units =
      new Set(rows.filter(([path, value]) => /\.GL_TEXTURE_BINDING_/.test(path) && textures?.includes(Number(value)))
                  .map(([path]) => path.match(/texture_units\[(\d+)\]/)?.[1]));
  const known = {
    textures: (name) => textures?.includes(Number(name)),
    buffers: (name) => buffers?.includes(Number(name)) || Number(name) === index,
    programs: (name) => Number(name) === program,
    shaders: () => false,
    framebuffers: (name) => Number(name) === framebuffer,
    vertex_arrays: (name) => name === bound?.[1],
    texture_units: (name) => units.has(name),
  };
  return (path) => {
    const [, kind, name] = path.match(/^(?:context|share)\.(\w+)\[(\d+)\]/) ?? [];
    return known[kind]?.(name) ?? true;
  };
}

/** Bound textures that shaders read black from, why, and what helps. @param {any} ctx @param {any} state */
function incompleteTextures(ctx, state) {
  const row = ([group, unit, target, name, why, mend, read]) =>
      h("li", {}, h("b", {class: "bad", text: "▲ "}),
        link(`texture ${name}`, () => ctx.store.set({tab: "texture", object: `texture/${group}/${name}`, layer: ""})),
        ` (unit ${unit}, ${target}${
            read === null ? "" :
                read      ? ", read by this draw" :
                            ", not read by this draw"}): ${why}. `,
        h("i", {text: `${mend[0].toUpperCase()}${mend.slice(1)}.`}));
  return h(
      "section", {"aria-label": "incomplete textures"}, title("Incomplete textures", "shaders read black from them"),
      h("ul", {class: "incomplete"}, ...state.incomplete.map(row)));
}

/** Rows as a tree by the parts of their paths. @param {any[][]} rows */
function nest(rows) {
  /** @type {Map<string, any>} */
  const root = new Map();
  for (const row of rows) {
    const parts = row[0].match(/[^.[]+|\[[^\]]*\]/g) ?? [row[0]];
    let at = root;
    for (const part of parts.slice(0, -1)) {
      if (!(at.get(part) instanceof Map)) at.set(part, new Map(at.has(part) ? [["", at.get(part)]] : []));
      at = at.get(part);
    }
    at.set(parts.at(-1), row);
  }
  return root;
}

/** @param {Map<string, any>} nodes @param {string} path @param {any} ctx @param {Map<any, any>} differs */
function branch(nodes, path, ctx, differs) {
  const made = h("div");
  for (const [name, node] of nodes) {
    const whole = path && !name.startsWith("[") ? `${path}.${name}` : path + name;
    if (!(node instanceof Map)) {
      const [, value, since] = node;
      made.append(
          h("div", {class: "leaf mono"},
            h("span", {text: name || "value", title: node[0], class: differs.has(node[0]) ? "changed" : ""}),
            h("span", {text: plain(value)}), since === null ? h("span") : link(String(since), () => ctx.go(since))));
      continue;
    }
    const details =
        h("details", {open: open.has(whole) || nodes.size === 1 || node.size <= 4 || null},
          h("summary", {}, name, h("i", {text: ` ${node.size}`})));
    details.addEventListener("toggle", () => (details.open ? open.add(whole) : open.delete(whole)));
    details.append(branch(node, whole, ctx, differs));
    made.append(details);
  }
  return made;
}

/** @param {string} json @param {number} [most] characters */
function plain(json, most = 300) {
  return json.startsWith('"') && json.endsWith('"') ? JSON.parse(json) :
      json.length > most                            ? `${json.slice(0, most)}…` :
                                                      json;
}
