"""The work of a recording's shaders: per run, and in its draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drawtap.analysis import glsl
from drawtap.analysis.shaders import shaders
from drawtap.trace import measured
from drawtap.units import as_int

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

FRAGMENTS = "fragments:count/generated"


@dataclass(frozen=True)
class ShaderCost:
    """One shader of one program. `cost` is of one run, `spirv` what glslang makes of it.

    `draws` use the program; `runs` are the vertices that they submit, or the fragments that they generate where that
    was measured (`drawtap profile -m fragments:count/generated --per draw`), None elsewhere. `total` is operations
    times runs.
    """

    program: int
    shader: int
    stage: str
    seq: int
    lines: int
    cost: glsl.Cost
    spirv: glsl.Spirv
    draws: int
    runs: int | None
    total: int | None


_DRAWS = """
SELECT d.program, count(*), sum(d.vertices * greatest(coalesce(d.instances, 1), 1))
FROM draws d WHERE d.kind = 'draw' GROUP BY d.program
"""
# A draw of which it was not counted makes the sum unknown.
_MEASURED = f"""
SELECT d.program, CASE WHEN count(m.value) = count(*) THEN sum(m.value) END
FROM draws d LEFT JOIN (SELECT seq, any_value(value) AS value FROM metrics
                        WHERE name = '{FRAGMENTS}' AND per = 'draw' GROUP BY seq) m USING (seq)
WHERE d.kind = 'draw' GROUP BY d.program
"""


def shader_costs(trace: Trace, *, most: int = 1000) -> list[ShaderCost]:
    """Return the newest source of each stage of each program, by program; at most `most` sources are looked at."""
    draws = {as_int(p): (as_int(count), as_int(vertices)) for p, count, vertices in trace.sql(_DRAWS).fetchall()}
    fragments = _fragments(trace)
    costs: dict[tuple[int, str], ShaderCost] = {}
    for shader in shaders(trace, most=most):
        cost, spirv = glsl.cost(shader.source), glsl.spirv(shader.source, shader.stage)
        for program in shader.programs:
            count, vertices = draws.get(program, (0, 0))
            runs = vertices if shader.stage == "vertex" else None
            if shader.stage == "fragment":
                runs = fragments.get(program, None if count else 0)
            costs[program, shader.stage] = ShaderCost(
                program, shader.name, shader.stage, shader.seq, shader.lines, cost, spirv, count, runs,
                None if runs is None else runs * cost.operations,
            )  # fmt: skip
    return [costs[key] for key in sorted(costs)]


def _fragments(trace: Trace) -> Mapping[int, int]:
    if not measured.files(trace.path):
        return {}
    return {as_int(p): as_int(n) for p, n in trace.sql(_MEASURED).fetchall() if n is not None}
