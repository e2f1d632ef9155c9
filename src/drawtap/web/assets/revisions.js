// The changes of an object's content over its life: which calls made them, with pictures of images.
import {bytes, counted, h, number} from "./dom.js";
import {Film} from "./film.js";
import {ask} from "./net.js";
import {quiet, title} from "./parts.js";
import {table} from "./table.js";

const MOST = 2000;  // changes on each side of the selected call

/**
 * The revisions of the object that the address names, around the selected call: a film of an image's, and all of them
 * as a table. @param {any} ctx
 */
export async function revisions(ctx) {
  const {recording, place} = ctx;
  const [kind, group, name] = place.object.split("/");
  // The table has the changes that calls of OpenGL make.
  if (recording.overview.vulkan)
    return kind === "buffer" ? null : quiet("the page lists no changes of images of Vulkan");
  const of = `class = '${kind}' AND name = ${name} AND coalesce(share_group, context) = ${group}`;
  const life =
      `${of} AND created_seq = (SELECT max(created_seq) FROM revisions WHERE ${of} AND created_seq <= ${place.call})`;
  const columns = "kind, seq, last_seq, frame, calls, pass_number, bytes AS uploaded, content_hash, path";
  const around = (/** @type {string} */ where) =>
      `(SELECT ${columns} FROM revisions WHERE ${life} AND seq ${where} LIMIT ${MOST})`;
  const at = place.call;
  const answer = await ask(
      recording.number, "sql",
      `SELECT * FROM (${around(`<= ${at} ORDER BY seq DESC`)} UNION ALL ${
          around(`> ${at} ORDER BY seq`)}) ORDER BY seq, path`,
      ctx.signal);
  const {rows} = answer;
  if (!rows.length) return quiet("no call changed its content");
  const chosen = rows.findLastIndex((row) => row[1] <= at);
  const whole = `SELECT ${columns} FROM revisions WHERE ${life} ORDER BY seq, path`;
  const listed =
      h("details", {open: kind === "buffer" || null}, h("summary", {text: "as a table"}),
        table(ctx, answer, {name: "revisions", whole: {recording: recording.number, sql: whole}}));
  const words = ([change, seq, , frame, calls, , size]) => `${change}${
      size ? ` ${bytes(size)}` :
          calls > 1 ? ` × ${number(calls)}` :
                      ""}, frame ${number(frame)}, call ${number(seq)}`;
  const film = kind === "buffer" ?
      null :
      new Film(
          rows.map((row) => ({
                     seq: row[2],
                     title: words(row),
                     text: `${row[0]} ${number(row[1])}`,
                     // New storage holds nothing that could be shown.
                     path: row[0] === "other" ?
                         null :
                         `${recording.number}/small/${row[2]}/${place.object}?path=${encodeURIComponent(row[8])}`
                   })),
          {label: "revisions: arrows choose, Enter goes to the call", chosen, go: (item) => ctx.go(item.seq)});
  return h(
      "div", {},
      title("Revisions", `${counted(rows.length, "change")} of its content, ${number(chosen + 1)} up to here`),
      film?.element, listed);
}
