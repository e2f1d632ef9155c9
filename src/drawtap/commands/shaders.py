"""`drawtap shaders`: what shaders ask for, and how much of it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.output.result import Rows, Text
from drawtap.trace import apis

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_COLUMNS = (
    "program", "stage", "shader", "lines", "operations", "fetches", "branches", "loops", "unbounded", "discards",
    "spirv", "spirv_fetches", "draws", "runs", "total", "note",
)  # fmt: skip


@command(
    section="ask",
    examples=(
        "drawtap shaders game.dtap",
        "drawtap profile game.dtap -m fragments:count/generated --per draw && drawtap shaders game.dtap",
        "drawtap shaders game.dtap --draws 20",
        "drawtap profile cube.dtap -m 'vk:pipeline/*' --per draw && drawtap shaders cube.dtap --draws 20",
        "drawtap shaders cube.dtap --code 0x55d0c8    # of Vulkan: the text of a module",
    ),
)
def shaders(
    trace: Trace,
    *,
    draws: Annotated[int | None, Opt("Instead of shaders, the N draws with the most shader work.", metavar="N")] = None,
    code: Annotated[str, Opt("Print the text of this shader module of Vulkan instead.", metavar="SHADER")] = "",
) -> Rows | Text:
    """Print what shaders ask for, and how much draws make of it.

    A recording of Vulkan has its shader modules listed: entry points, instructions in the functions of the SPIR-V,
    pipelines that were made of each, and their draws and dispatches. --code prints a module as spirv-dis
    writes it, or, where this tool is missing, its entry points, names and bindings. --draws has one row for each
    executed draw or dispatch: instructions of a run times runs. `drawtap profile -m 'vk:pipeline/*' --per draw`
    measures the runs. Without a measurement, vertices and workgroups come from the calls, and runs of other stages are
    not known. The rest here is about OpenGL.

    operations counts the text of one run: each operator and each call of a built-in function is one, and both sides of
    a branch count. Loops with plain bounds count as often as they run, others (unbounded) once. fetches counts reads of
    textures and images. spirv has the instructions of glslangValidator, if it is installed and takes the version (GLSL
    3.30, ES 3.10 and later). No driver's compiler is involved: use the estimate to compare shaders.

    runs are the vertices that draws with the program submit, and the fragments that they generate where
    fragments:count/generated was measured for draws; total is operations times runs. Where a shader was given several
    sources the newest is shown; programs of one name in contexts that share nothing are one here.

    With --draws the estimate is one per draw: operations of a run times vertices and fragments. If
    geometry:vertices/transformed_fifo_32 was measured with the fragments, only vertices outside of a cache count.
    drawtap profile puts the estimate into the table metrics (estimate:operations/vertex, fragment, tessellation,
    geometry, total). Stages between run as often as gl:pipeline/* says; without this measurement, a draw with such
    stages has no total.
    """
    if apis.is_vulkan(trace):
        return _of_vulkan(trace, draws, code)
    if code:
        raise UsageError("--code is for recordings of Vulkan", hint="drawtap state FILE CALL share.shaders has sources")
    if draws is not None:
        return _draws(trace, draws)
    from drawtap.analysis.shader_cost import shader_costs

    costs = shader_costs(trace)
    rows = []
    for one in costs:
        cost, spirv = one.cost, one.spirv
        cells = (cost.operations, cost.fetches, cost.branches, cost.loops, cost.unbounded, cost.discards)
        rows.append(
            (one.program, one.stage, one.shader, one.lines, *cells, spirv.instructions, spirv.fetches, one.draws,
             one.runs, one.total, spirv.why)
        )  # fmt: skip
    unknown = any(one.stage == "fragment" and one.runs is None for one in costs)
    note = "drawtap profile -m fragments:count/generated --per draw measures the runs of fragment shaders, all frames"
    units = {"operations": "count", "runs": "count", "total": "count"}
    return Rows(_COLUMNS, rows, units, note=note if unknown else None)


def _of_vulkan(trace: Trace, draws: int | None, code: str) -> Rows | Text:
    from drawtap.analysis.spirv import modules

    if draws is not None:
        return _executed(trace, draws)
    if not code:
        rows = [
            (f"{one.handle:#x}", one.name, one.seq, ", ".join(one.entry_points), one.size, one.instructions,
             one.pipelines, one.draws) for one in modules(trace)
        ]  # fmt: skip
        columns = ("shader", "name", "seq", "entry_points", "bytes", "instructions", "pipelines", "draws")
        return Rows(columns, rows, {"instructions": "count", "draws": "count"})
    try:
        handle = int(code, 0)
    except ValueError:
        raise UsageError(f"{code!r} is no shader module", hint="drawtap shaders FILE lists them: 0x55d0c8") from None
    shown = modules(trace, f"s.shader = {handle}")
    if not shown:
        raise UsageError(f"there is no shader module {handle:#x}", hint="drawtap shaders FILE lists them")
    texts = [one.text or "; the recording does not have its code\n" for one in shown]
    if len(shown) > 1:  # handles are used again
        texts = [f"; made by call {one.seq}\n{text}" for one, text in zip(shown, texts, strict=True)]
    return Text("".join(texts).rstrip("\n"), {"shader": handle, "modules": texts})


def _executed(trace: Trace, count: int) -> Rows:
    from drawtap.analysis.vulkan_cost import STAGES, UNMEASURED, executed_costs

    _check(count)
    costs = executed_costs(trace, count)
    rows = [
        (one.seq, one.submit_seq, one.frame, one.function, one.pipeline, *(one.by_stage[stage] for stage in STAGES),
         one.total, one.share, one.why or None) for one in costs
    ]  # fmt: skip
    columns = ("seq", "submit_seq", "frame", "function", "pipeline", *STAGES, "total", "share", "note")
    units = dict.fromkeys((*STAGES, "total"), "count") | {"share": "percent"}
    unknown = any(one.why == UNMEASURED for one in costs)
    note = "drawtap profile -m 'vk:pipeline/*' --per draw measures the runs of shaders" if unknown else None
    return Rows(columns, rows, units, note=note)


def _check(count: int) -> None:
    if count < 1:
        raise UsageError(f"--draws {count} makes no sense", hint="--draws 20 shows twenty")


_MOST = """
SELECT e.seq, e.frame, c.name, d.program, e.vertex, e.tessellation, e.geometry, e.fragment, e.total,
       round(100 * e.total / sum(e.total) OVER (), 2)
FROM (SELECT seq, any_value(frame) AS frame, any_value(value) FILTER (name = 'estimate:operations/vertex') AS vertex,
             any_value(value) FILTER (name = 'estimate:operations/fragment') AS fragment,
             any_value(value) FILTER (name = 'estimate:operations/tessellation') AS tessellation,
             any_value(value) FILTER (name = 'estimate:operations/geometry') AS geometry,
             any_value(value) FILTER (name = 'estimate:operations/total') AS total
      FROM (FROM metrics WHERE name LIKE 'estimate:operations/%' AND per = 'draw' QUALIFY run = max(run) OVER ())
      GROUP BY seq) e
JOIN calls c USING (seq) LEFT JOIN draws d USING (seq)
ORDER BY e.total DESC NULLS LAST, e.seq LIMIT $count
"""


def _draws(trace: Trace, count: int) -> Rows:
    from drawtap.trace import measured

    _check(count)
    rows = trace.sql(_MOST, {"count": count}).fetchall() if measured.files(trace.path) else []
    shown = [(*row[:4], *(None if cell is None else round(float(cell)) for cell in row[4:9]), row[9]) for row in rows]
    note = "drawtap profile -m fragments:count/generated --per draw measures what it takes" if not rows else None
    columns = (
        "seq",
        "frame",
        "function",
        "program",
        "vertex",
        "tessellation",
        "geometry",
        "fragment",
        "total",
        "share",
    )
    return Rows(columns, shown, dict.fromkeys(columns[4:9], "count") | {"share": "percent"}, note=note)
