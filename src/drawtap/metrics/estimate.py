"""Estimated shader work of each draw: operations of the shaders' texts times their runs.

The model: a run of a shader asks for what `analysis.glsl.cost` counts in its text (each operator and each built-in
function is one operation, a texture read too; both sides of a branch; loops without plain bounds once). Vertex shaders
run once for each vertex that a cache of 32 does not have, where geometry:vertices/transformed_fifo_32 was measured with
it, else for each vertex that the draw is given; fragment shaders once for each fragment that was generated, hidden or
not. Geometry and tessellation shaders run as often as the driver says (gl:pipeline); where that was not measured with
it, the draw has no total. It orders draws; it is no time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from drawtap.analysis import glsl
from drawtap.analysis.shaders import shaders

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

FRAGMENTS = "fragments:count/generated"
VERTICES = "geometry:vertices/transformed_fifo_32"
VERTEX, FRAGMENT, TESSELLATION, GEOMETRY, TOTAL = IDS = (
    "estimate:operations/vertex",
    "estimate:operations/fragment",
    "estimate:operations/tessellation",
    "estimate:operations/geometry",
    "estimate:operations/total",
)
#: The measure of how often the stages between run, by stage. A control shader runs once for each vertex of a patch.
RUNS = {
    "tessellation control": "gl:pipeline/tess_control_patches",
    "tessellation evaluation": "gl:pipeline/tess_evaluation_invocations",
    "geometry": "gl:pipeline/geometry_shader_invocations",
}
FIXED = "fixed function: there is no text to count in"
_PATCH = re.compile(r"\bvertices\s*=\s*(\d+)\s*[,)]")
UNKNOWN = "how many fragments it generates could not be counted"


@dataclass(frozen=True, slots=True)
class DrawCost:
    """Operations of one draw, None where `why` says why. `between` has those of TESSELLATION and GEOMETRY where its
    program has such stages."""

    seq: int
    vertex: int | None
    fragment: int | None
    why: str = ""
    between: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def total(self) -> int | None:
        """Return the operations of all stages, None where one is not known."""
        parts = (self.vertex, self.fragment, *self.between.values())
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None


def draw_costs(
    trace: Trace,
    fragments: Mapping[int, float | None],
    vertices: Mapping[int, float | None],
    runs_between: Mapping[str, Mapping[int, float | None]] | None = None,
) -> list[DrawCost]:
    """Return the estimate of the draws that `fragments` has, by call; what it has none of is no draw of primitives.

    `runs_between` has the metrics of RUNS by their names, each by call.
    """
    texts = _Texts(trace)
    costs = []
    for seq, program, given in trace.sql(
        "SELECT d.seq, coalesce(d.program, 0), d.vertices * greatest(coalesce(d.instances, 1), 1) FROM draws d "
        "WHERE d.kind = 'draw' ORDER BY d.seq"
    ).fetchall():
        at = int(seq)
        if at not in fragments:
            continue
        runs, transformed = fragments[at], vertices.get(at)
        each = {stage: texts.operations(int(program), stage, at) for stage in ("vertex", "fragment")}
        if each["vertex"] is None and each["fragment"] is None:
            costs.append(DrawCost(at, None, None, FIXED))
            continue
        many = float(given) if transformed is None and given is not None else transformed
        vertex = None if many is None or each["vertex"] is None else round(many) * each["vertex"]
        fragment = None if runs is None or each["fragment"] is None else round(runs) * each["fragment"]
        why = "" if vertex is not None and fragment is not None else UNKNOWN if runs is None else FIXED
        if many is None and each["vertex"] is not None:
            why = "how many vertices it draws is not known"
        between, lacks = _between(texts, int(program), at, runs_between or {})
        costs.append(DrawCost(at, vertex, fragment, why or lacks, between))
    return costs


def _between(
    texts: _Texts, program: int, seq: int, runs: Mapping[str, Mapping[int, float | None]]
) -> tuple[dict[str, int | None], str]:
    """Return the operations of the stages between that the program has, and why one is not known."""
    counts: dict[str, int | None] = {}
    why = ""
    for stage, metric in RUNS.items():
        operations = texts.operations(program, stage, seq)
        if operations is None:
            continue
        part = GEOMETRY if stage == "geometry" else TESSELLATION
        many = runs.get(metric, {}).get(seq)
        times = texts.patch(program, seq) if stage == "tessellation control" else 1
        if many is None or times is None:
            counts[part] = None
            why = f"{metric} counts the runs of its {stage} shader, and was not measured with it"
            if times is None:
                why = "its tessellation control shader does not give the number of vertices of its patches"
        elif counts.get(part, 0) is not None:
            counts[part] = (counts.get(part) or 0) + round(many) * times * operations
    return counts, why


def rows(costs: Iterable[DrawCost]) -> list[tuple[int, str, float | None, str | None]]:
    """Return rows (seq, metric, value, note) of the table `metrics`."""
    rows_: list[tuple[int, str, float | None, str | None]] = []
    for cost in costs:
        parts = {VERTEX: cost.vertex, FRAGMENT: cost.fragment, **cost.between, TOTAL: cost.total}
        for id_, value in parts.items():
            rows_.append((cost.seq, id_, value, None if value is not None else cost.why))
    return rows_


class _Texts:
    """Operations of a run of each program's shaders, as its sources were at a call."""

    def __init__(self, trace: Trace) -> None:
        self._known: dict[tuple[int, str], tuple[list[int], list[int]]] = {}
        self._patches: dict[tuple[int, int], int | None] = {}
        operations = cache(lambda text: glsl.cost(text).operations)
        for shader in shaders(trace, most=1 << 20):
            for program in shader.programs:
                seqs, counts = self._known.setdefault((program, shader.stage), ([], []))
                seqs.append(shader.seq)
                counts.append(operations(shader.source))
                if shader.stage == "tessellation control":
                    vertices = _PATCH.search(" ".join(glsl.preprocessed(shader.source)))
                    self._patches[program, shader.seq] = int(vertices[1]) if vertices else None

    def operations(self, program: int, stage: str, seq: int) -> int | None:
        """Return the operations of the newest source given before a call, None where there is no source."""
        seqs, counts = self._known.get((program, stage), ([], []))
        at = bisect_right(seqs, seq)
        return counts[at - 1] if at else None

    def patch(self, program: int, seq: int) -> int | None:
        """Return how many vertices the newest tessellation control shader before a call puts out."""
        seqs, _ = self._known.get((program, "tessellation control"), ([], []))
        at = bisect_right(seqs, seq)
        return self._patches[program, seqs[at - 1]] if at else None
