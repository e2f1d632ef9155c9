// Panels that are one question each: objects of the run, findings of the checklist; and what was written down.
import {button, bytes, fill, h, number} from "./dom.js";
import {ask, get} from "./net.js";
import {link, saving, table} from "./table.js";

const OBJECTS = `SELECT class, name, label, format, width, height, bytes, uses, writes, created_seq, first_use_seq,
  last_use_seq, deleted_seq, uploads, target, share_group FROM resources ORDER BY bytes DESC NULLS LAST, created_seq`;
const FINDINGS =
    `SELECT severity, rule, count(*) AS rows, sum(n) AS times, min(seq) AS first_seq, any_value(what) AS example
  FROM findings GROUP BY severity, rule
  ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, rows DESC`;
const VULKAN_OBJECTS =
    `SELECT type AS class, handle AS name, name AS label, parent, bytes, memory, created_by, created_seq,
  destroyed_seq, info FROM objects ORDER BY created_seq`;
/** @type {Map<string, any>} */
const kept = new Map();

/** @param {any} ctx @param {string} key @param {string} query */
async function once(ctx, key, query) {
  const name = `${ctx.recording.number} ${key}`;
  if (!kept.has(name)) {
    fill(
        ctx.element, h("p", {}, h("i", {text: key === "findings" ? "the rules of the checklist run …" : "asking …"})),
        button("stop", () => ctx.abort()));
    kept.set(name, await ask(ctx.recording.number, "sql", query, ctx.signal));
  }
  return kept.get(name);
}

/** A handle as the calls have it. @param {number} value */
const handle = (value) => (value ? `0x${value.toString(16)}` : "–");

/** Show an object of Vulkan after a click. @param {any} ctx @param {any[]} row */
function vulkanObject(ctx, row) {
  const [kind, name] = row;
  const [created, deleted] = row.slice(-3);
  if (!["VkImage", "VkBuffer"].includes(kind)) return null;
  const {call} = ctx.place;
  // Where it is not there after the selected call, it is shown just before its end.
  const lives = call !== null && call >= created && (deleted === null || call < deleted);
  const last = deleted === null ? ctx.recording.overview.calls - 1 : deleted - 1;
  const image = kind === "VkImage";
  return () => ctx.store.set({
    tab: image ? "texture" : "buffer",
    object: `${image ? "image" : "buffer"}/0/${name}`,
    layer: "",
    fields: "",
    from: 0,
    range: "",
    ...(lives ? {} : {call: last})
  });
}

/** The panel of an object before one is chosen. @param {any} ctx @param {string[]} classes @param {string} what */
export async function choice(ctx, classes, what) {
  const answer = await once(ctx, "objects", ctx.recording.overview.vulkan ? VULKAN_OBJECTS : OBJECTS);
  const rows = answer.rows.filter((row) => classes.includes(row[0]));
  fill(
      ctx.element, h("h2", {text: `Choose a ${what}`}, h("small", {text: `${number(rows.length)} in the run`})),
      rows.length ? listed(ctx, {...answer, rows}) : h("p", {}, h("i", {text: `the program makes no ${what}`})));
}

/** Objects as a table whose names lead to their contents. @param {any} ctx @param {any} answer @param {string} [sql] */
function listed(ctx, answer, sql) {
  const {vulkan} = ctx.recording.overview;
  const show = (row) => {
    if (vulkan) return vulkanObject(ctx, row);
    const [kind, name, created, used, deleted, group] = [
      "class", "name", "created_seq", "last_use_seq", "deleted_seq", "share_group"
    ].map((column) => row[answer.columns.indexOf(column)]);
    if (!["texture", "renderbuffer", "vg_image", "buffer"].includes(kind)) return null;
    const {call} = ctx.place;
    // Where it is not there after the selected call, its last use is shown.
    const lives = call !== null && call >= created && (deleted === null || call < deleted);
    return () => ctx.store.set({
      tab: kind === "buffer" ? "buffer" : "texture",
      object: `${kind}/${group}/${name}`,
      layer: "",
      fields: "",
      from: 0,
      range: "",
      ...(lives ? {} : {call: used ?? created})
    });
  };
  return table(answer, {
    go: ctx.go,
    goFrame: ctx.goFrame,
    name: "objects",
    whole: sql ? {recording: ctx.recording.number, sql} : undefined,
    links: {name: show},
    written: vulkan ? {name: handle, parent: handle, memory: handle} : {bytes},
    lean: true,
    plain: true
  });
}

export const objectsPanel = {
  id: "objects",
  name: "Objects",
  /** @param {any} ctx */
  async show(ctx) {
    const sql = ctx.recording.overview.vulkan ? VULKAN_OBJECTS : OBJECTS;
    const answer = await once(ctx, "objects", sql);
    const search =
        h("input", {type: "search", placeholder: "texture, RGBA8, a label …", "aria-label": "search the objects"});
    const out = h("div");
    const draw = () => {
      const words = search.value.toLowerCase().split(" ");
      const rows = answer.rows.filter((row) => words.every((word) => row.join(" ").toLowerCase().includes(word)));
      fill(out, listed(ctx, {...answer, rows}, search.value.trim() ? undefined : sql));
    };
    search.addEventListener("input", draw);
    fill(
        ctx.element, h("h2", {text: "Objects of the run"}, h("small", {text: `${number(answer.rows.length)}`})),
        h("div", {class: "tools"}, search), out);
    draw();
  },
};

/**
 * The title of a rule; a click unfolds the reason and the advice. @param {{title: string, why: string, fix: string}}
 * of
 */
function advice({title, why, fix}) {
  return h(
      "details", {}, h("summary", {text: title}), h("p", {text: why.replaceAll("\n\n", " ").replaceAll("\n", " ")}),
      h("p", {}, h("b", {text: "What to do: "}), fix));
}

export const findingsPanel = {
  id: "findings",
  name: "Findings",
  /** @param {any} ctx */
  async show(ctx) {
    const answer = await once(ctx, "findings", FINDINGS);
    const rules = await get(`${ctx.recording.number}/rules`, ctx.signal);
    const mark = {error: "✕ error", warning: "▲ warning", note: "● note"};
    const rows = answer.rows.flatMap(
        ([severity, rule, count, , first, example]) =>
            [h("tr", {}, h("td", {text: mark[/** @type {"error"} */ (severity)] ?? severity}),
               h("td", {}, link(rule, () => ctx.store.set({filter: `finding:${rule}`, mode: "hide"}))),
               h("td", {class: "n", text: number(count)}),
               h("td", {class: "n"}, first === null ? "–" : link(String(first), () => ctx.go(first))),
               h("td", {class: "wrap", text: example ?? ""})),
             h("tr", {}, h("td"), h("td", {class: "wrap", colspan: 4}, rules[rule] ? advice(rules[rule]) : ""))]);
    fill(
        ctx.element, h("h2", {text: "Findings of the checklist"}, h("small", {text: "a rule leads to its calls"})),
        rows.length > 0 && saving({
          name: "findings",
          whole: {recording: ctx.recording.number, sql: "SELECT * FROM findings"},
          rows: () => answer
        }),
        rows.length ?
            h("table", {},
              h("thead", {},
                h("tr", {},
                  ...["severity", "rule", "found", "first call", "for example"].map((text) => h("th", {text})))),
              h("tbody", {}, ...rows)) :
            h("p", {text: "no rule found anything"}));
  },
};

export const notesPanel = {
  id: "notes",
  name: "Notes",
  /** @param {any} ctx */
  async show(ctx) {
    const {notes} = ctx;
    const entry = (mark, /** @type {number} */ i) => {
      const input = h("input", {type: "text", value: mark.text, "aria-label": `note at call ${mark.seq}`});
      input.addEventListener("change", () => {
        mark.text = input.value;
        notes.save(ctx);
      });
      return h(
          "tr", {}, h("td", {class: "n"}, link(String(mark.seq), () => ctx.go(mark.seq))), h("td", {}, input),
          h("td", {}, button("remove", () => notes.remove("bookmarks", i, ctx))));
    };
    const texts = (/** @type {"filters"|"queries"} */ kind, /** @type {(text: string) => void} */ use) =>
        notes.data[kind].map(
            (text, i) =>
                h("tr", {}, h("td", {class: "mono wrap"}, link(text, () => use(text))),
                  h("td", {}, button("remove", () => notes.remove(kind, i, ctx)))));
    const section = (/** @type {string} */ title, /** @type {HTMLElement[]} */ rows, /** @type {string} */ empty) =>
        [h("h2", {text: title}), rows.length ? h("table", {}, ...rows) : h("p", {}, h("i", {text: empty}))];
    fill(
        ctx.element, ...section("Bookmarks", notes.data.bookmarks.map(entry), "b keeps the selected call"),
        ...section(
            "Filters", texts("filters", (text) => ctx.store.set({filter: text})),
            "the star beside the filter keeps it"),
        ...section(
            "Questions", texts("queries", (text) => ctx.store.set({tab: "sql", sql: text})),
            "“keep” beside a question keeps it"),
        h("p", {}, h("i", {text: `They stand in ${ctx.recording.overview.name}.notes.json beside the recording.`})));
  },
};
