// The program in use: its sources at linking, and the values of its uniforms at the call. For Vulkan the pipeline: the
// text of its SPIR-V, and the bindings of its descriptor sets.
import {button, counted, download, fill, h, number, numbered} from "./dom.js";
import {get} from "./net.js";
import {matrix} from "./panels_call.js";
import {n, named, sheet, title} from "./parts.js";
import {link, saving} from "./table.js";
import {amount} from "./units.js";

export const shaderPanel = {
  async show(ctx) {
    const {recording, place, element, store} = ctx;
    const program = await get(`${recording.number}/program/${place.call}`, ctx.signal);
    const {vulkan} = program, call = (/** @type {number} */ seq) => link(String(seq), () => ctx.go(seq));
    const section = (/** @type {string} */ name, /** @type {any[][]} */ rows, /** @type {string} */ what) =>
        rows.length === 0 ? [] : [
          title(name, number(rows.length)),
          h("div", {class: "scroll"},
            sheet(
                ["name", "set by call", what],
                rows.map(
                    ([name, value, since, text = written(value)]) => named(
                        name, n(since === null ? "–" : call(since)),
                        h("td", {class: "whole"},
                          h("pre", {class: text.includes("\n") ? "value" : "value wrap", text}))))))
        ];
    const cost = h("div", {id: "cost", "aria-live": "polite"});
    const ask = async () => {
      try {
        fill(cost, h("p", {text: "adding up …"}));
        fill(cost, ...costs(await get(`${recording.number}/program/${place.call}/cost`, ctx.signal)));
      } catch (error) {
        if (!ctx.signal.aborted) ctx.fail(error);
      }
    };
    fill(
        element,
        title(
            `${vulkan ? "Pipeline" : "Program"} ${program.name}${program.label ? ` “${program.label}”` : ""}`,
            ...(program.linked === null ? [] : [vulkan ? "made by call " : "linked by call ", call(program.linked)])),
        !vulkan &&
            h("div", {class: "tools"},
              button("its draws", () => store.set({filter: `uses:program=${program.name}`, mode: "hide"})),
              button("its cost", () => void ask())),
        cost,
        saving({
          name: `program-${program.name}-call-${place.call}`,
          rows: () => ({
            columns: ["kind", "name", "value", "since_seq"],
            rows: ["uniforms", "attributes"].flatMap(
                (kind) => program[kind].map(
                    ([name, value, since]) => [kind.slice(0, -1), name, JSON.stringify(value), since]))
          })
        }),
        ...section(vulkan ? "Descriptors and constants" : "Uniforms", program.uniforms, "value"),
        ...section("Attributes", program.attributes, vulkan ? "format" : "location"),
        ...program.shaders.flatMap(
            (shader) =>
                [title(
                     `${shader.stage.replace("GL_", "").replaceAll("_", " ").toLowerCase()} ${shader.name}`,
                     ...(shader.seq === null ? ["no source in the recording"] :
                                               [vulkan ? "SPIR-V of call " : "source of call ", call(shader.seq)])),
                 shader.source !== null &&
                     h("div", {class: "tools"}, button("edit", () => store.set({tab: "whatif", edit: shader.seq}), {
                         title: "change it and see what the draw becomes"
                       }),
                       button(
                           "save",
                           () => download(
                               `shader-${String(shader.name).replace(" ", "-")}.${vulkan ? "spvasm" : "glsl"}`,
                               shader.source, "text/plain"))),
                 shader.source !== null && h("pre", {text: numbered(shader.source)}),
    ]),
    );
  },
};

/** The cost of a program's draws, and how to measure more. @param {any} cost */
function costs({draws, sums, measured, command}) {
  return [
    sheet(
        ["", counted(draws, "draw"), "of all draws"],
        sums.map(
            ([name, unit, value, share]) =>
                named(name, n(amount(value, unit)), n(share === null ? "–" : `${(100 * share).toFixed(1)} %`)))),
    !measured && h("p", {}, "No metric of draws was measured. This command measures one: ", h("code", {text: command}))
  ];
}

/** A matrix as rows, anything else on a line. @param {any} value */
function written(value) {
  if (!Array.isArray(value)) return String(value);
  if ([9, 16].includes(value.length) && typeof value[0] === "number") return matrix(value);
  return value.map((v) => (Array.isArray(v) ? `[${v.join(", ")}]` : v)).join(", ");
}
