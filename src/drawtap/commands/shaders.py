"""`drawtap shaders`: what shaders ask for, and how much of it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
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
        "drawtap shaders game.dtap --draws 20",
    ),
)
def shaders(
    trace: Trace,
    *,
    draws: Annotated[int | None, Opt("Instead of shaders, the N draws with the most shader work.", metavar="N")] = None,
) -> Rows:
    """Print what shaders ask for, and how much draws make of it.

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
    if draws is not None:
        return _draws(trace, draws)
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
    note = "drawtap profile -m fragments:count/generated --per draw measures the runs of fragment shaders, all frames"
    units = {"operations": "count", "runs": "count", "total": "count"}
    return Rows(_COLUMNS, rows, units, note=note if unknown else None)


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

    if count < 1:
        raise UsageError(f"--draws {count} makes no sense", hint="--draws 20 shows twenty")
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
