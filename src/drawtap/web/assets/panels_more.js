// Panels that are one question each: objects of the run, findings of the checklist; and what was written down.
import {button, bytes, fill, h, number} from "./dom.js";
import {ask, get} from "./net.js";
import {n, quiet, sheet, sieve, title, wrap} from "./parts.js";
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
        ctx.element, quiet(key === "findings" ? "the rules of the checklist run …" : "asking …"),
        button("stop", () => ctx.abort()));
    kept.set(name, await ask(ctx.recording.number, "sql", query, ctx.signal));
  }
  return kept.get(name);
}

/** A handle as the calls have it. @param {number} value */
const handle = (value) => (value ? `0x${value.toString(16)}` : "–");

/** The kinds of objects whose contents the page shows, with their names in addresses. */
const SHOWN = {
  texture: "texture",
  renderbuffer: "renderbuffer",
  vg_image: "vg_image",
  buffer: "buffer",
  VkImage: "image",
  VkBuffer: "buffer"
};


/** The panel of an object before one is chosen. @param {any} ctx @param {string[]} classes @param {string} what */
export async function choice(ctx, classes, what) {
  const answer = await once(ctx, "objects", ctx.recording.overview.vulkan ? VULKAN_OBJECTS : OBJECTS);
  const rows = answer.rows.filter((row) => classes.includes(row[0]));
  fill(
      ctx.element, title(`Choose a ${what}`, `${number(rows.length)} in the run`),
      rows.length ? listed(ctx, {...answer, rows}) : quiet(`the program makes no ${what}`));
}

/** Objects as a table whose names lead to their contents. @param {any} ctx @param {any} answer @param {string} [sql] */
function listed(ctx, answer, sql) {
  const {vulkan, calls} = ctx.recording.overview, {call} = ctx.place;
  const show = (/** @type {any[]} */ row) => {
    const of = Object.fromEntries(answer.columns.map((column, i) => [column, row[i]])), kind = SHOWN[of.class];
    if (!kind) return null;
    const created = of.created_seq, deleted = (vulkan ? of.destroyed_seq : of.deleted_seq) ?? null;
    // Where it is not there after the selected call, the page shows its last use, or its end where that is unknown.
    const lives = call !== null && call >= created && (deleted === null || call < deleted);
    const last = vulkan ? (deleted ?? calls) - 1 : of.last_use_seq ?? created;
    return () => ctx.store.set({
      tab: kind === "buffer" ? "buffer" : "texture",
      object: `${kind}/${vulkan ? 0 : of.share_group}/${of.name}`,
      layer: "",
      fields: "",
      from: 0,
      range: "",
      ...(lives ? {} : {call: last})
    });
  };
  return table(ctx, answer, {
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
  async show(ctx) {
    const sql = ctx.recording.overview.vulkan ? VULKAN_OBJECTS : OBJECTS;
    const answer = await once(ctx, "objects", sql);
    const [search, out] = sieve(
        "search the objects", "texture, RGBA8, a label …", answer.rows,
        (rows, some) => listed(ctx, {...answer, rows}, some ? undefined : sql));
    fill(ctx.element, title("Objects of the run", number(answer.rows.length)), h("div", {class: "tools"}, search), out);
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
  async show(ctx) {
    const answer = await once(ctx, "findings", FINDINGS);
    const rules = await get(`${ctx.recording.number}/rules`, ctx.signal);
    const mark = {error: "✕ error", warning: "▲ warning", note: "● note"};
    const rows = answer.rows.flatMap(
        ([severity, rule, count, , first, example]) => [
            [
              mark[severity] ?? severity, link(rule, () => ctx.store.set({filter: `finding:${rule}`, mode: "hide"})),
              n(number(count)), n(first === null ? "–" : link(String(first), () => ctx.go(first))), wrap(example ?? "")
            ],
            ["", h("td", {class: "wrap", colspan: 4}, rules[rule] ? advice(rules[rule]) : "")]]);
    fill(
        ctx.element, title("Findings of the checklist", "a rule leads to its calls"),
        rows.length > 0 && saving({
          name: "findings",
          whole: {recording: ctx.recording.number, sql: "SELECT * FROM findings"},
          rows: () => answer
        }),
        rows.length ? sheet(["severity", "rule", "found", "first call", "for example"], rows) :
                      h("p", {text: "no rule found anything"}));
  },
};

export const notesPanel = {
  id: "notes",
  name: "Notes",
  async show(ctx) {
    const {notes} = ctx;
    const entry = (mark, /** @type {number} */ i) => {
      const change = () => {
        mark.text = input.value;
        notes.save(ctx);
      };
      const input =
          h("input", {type: "text", value: mark.text, "aria-label": `note at call ${mark.seq}`, on: {change}});
      return h(
          "tr", {}, n(link(String(mark.seq), () => ctx.go(mark.seq))), h("td", {}, input),
          h("td", {}, button("remove", () => notes.remove("bookmarks", i, ctx))));
    };
    const texts = (/** @type {"filters"|"queries"} */ kind, /** @type {(text: string) => void} */ use) =>
        notes.data[kind].map(
            (text, i) =>
                h("tr", {}, h("td", {class: "mono wrap"}, link(text, () => use(text))),
                  h("td", {}, button("remove", () => notes.remove(kind, i, ctx)))));
    const section =
        (/** @type {string} */ name, /** @type {HTMLElement[]} */ rows,
         /** @type {string} */ empty) => [title(name), rows.length ? h("table", {}, ...rows) : quiet(empty)];
    fill(
        ctx.element, ...section("Bookmarks", notes.data.bookmarks.map(entry), "b keeps the selected call"),
        ...section(
            "Filters", texts("filters", (text) => ctx.store.set({filter: text})),
            "the star beside the filter keeps it"),
        ...section(
            "Questions", texts("queries", (text) => ctx.store.set({tab: "sql", sql: text})),
            "“keep” beside a question keeps it"),
        quiet(`They stand in ${ctx.recording.overview.name}.notes.json beside the recording.`));
  },
};
