"""`drawtap shaders`: what shaders ask for, and how much of it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawtap.commands import command
from drawtap.view.result import Rows

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
    ),
)
def shaders(trace: Trace) -> Rows:
    """Print what the shaders of each program ask for, and how much its draws make of it.

    operations are counted in the text of one run: each operator and each call of a built-in function is one, both sides
    of a branch count, loops with plain bounds count as often as they run, others (unbounded) once. fetches are those of
    them that read textures and images. spirv has the instructions that glslangValidator makes of it, where it is
    installed and takes the version (GLSL 3.30, ES 3.10 and later). No driver's compiler is asked: it is an estimate to
    compare shaders by.

    runs are the vertices that draws with the program submit, and the fragments that they generate where
    fragments:count/generated was measured for draws; total is operations times runs. Where a shader was given several
    sources the newest is shown; programs of one name in contexts that share nothing are one here.
    """
    from drawtap.analysis.shader_cost import shader_costs

    found = shader_costs(trace)
    rows = []
    for one in found:
        cost, spirv = one.cost, one.spirv
        cells = (cost.operations, cost.fetches, cost.branches, cost.loops, cost.unbounded, cost.discards)
        rows.append(
            (one.program, one.stage, one.shader, one.lines, *cells, spirv.instructions, spirv.fetches, one.draws,
             one.runs, one.total, spirv.why)
        )  # fmt: skip
    unknown = any(one.stage == "fragment" and one.runs is None for one in found)
    note = "drawtap profile -m fragments:count/generated --per draw measures the runs of fragment shaders"
    units = {"operations": "count", "runs": "count", "total": "count"}
    return Rows(_COLUMNS, rows, units, note=note if unknown else None)
