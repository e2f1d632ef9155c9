"""What the shaders of each draw are asked for, estimated: operations of their texts times how often they run.

The model: a run of a shader asks for what `analysis.glsl.cost` counts in its text (each operator and each built-in
function is one operation, a texture read too; both sides of a branch; loops without plain bounds once). Vertex shaders
run once for each vertex that a cache of 32 does not have, where geometry:vertices/transformed_fifo_32 was measured with
it, else for each vertex that the draw is given; fragment shaders once for each fragment that was generated, hidden or
not. It orders draws; it is no time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from drawtap.analysis import glsl
from drawtap.analysis.shaders import shaders

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

FRAGMENTS = "fragments:count/generated"
VERTICES = "geometry:vertices/transformed_fifo_32"
VERTEX, FRAGMENT, TOTAL = IDS = (
    "estimate:operations/vertex",
    "estimate:operations/fragment",
    "estimate:operations/total",
)
FIXED = "fixed function: there is no text to count in"
UNKNOWN = "how many fragments it generates could not be counted"


@dataclass(frozen=True, slots=True)
class DrawCost:
    """Operations of one draw, None where `why` says why. `total` is the sum of both."""

    seq: int
    vertex: int | None
    fragment: int | None
    why: str = ""

    @property
    def total(self) -> int | None:
        """Return the operations of both stages, None where one is not known."""
        return None if self.vertex is None or self.fragment is None else self.vertex + self.fragment


def draw_costs(
    trace: Trace, fragments: Mapping[int, float | None], vertices: Mapping[int, float | None]
) -> list[DrawCost]:
    """Return the estimate of the draws that `fragments` has, by call; what it has none of is no draw of primitives."""
    texts = _Texts(trace)
    found = []
    for seq, program, given in trace.sql(
        "SELECT d.seq, coalesce(d.program, 0), d.vertices * greatest(coalesce(d.instances, 1), 1) FROM draws d "
        "WHERE d.kind = 'draw' ORDER BY d.seq"
    ).fetchall():
        at = int(str(seq))
        if at not in fragments:
            continue
        runs, transformed = fragments[at], vertices.get(at)
        each = {stage: texts.operations(int(str(program)), stage, at) for stage in ("vertex", "fragment")}
        if each["vertex"] is None and each["fragment"] is None:
            found.append(DrawCost(at, None, None, FIXED))
            continue
        many = float(str(given)) if transformed is None and given is not None else transformed
        vertex = None if many is None or each["vertex"] is None else round(many) * each["vertex"]
        fragment = None if runs is None or each["fragment"] is None else round(runs) * each["fragment"]
        why = "" if vertex is not None and fragment is not None else UNKNOWN if runs is None else FIXED
        if many is None and each["vertex"] is not None:
            why = "how many vertices it draws is not known"
        found.append(DrawCost(at, vertex, fragment, why))
    return found


def rows(costs: Iterable[DrawCost]) -> list[tuple[int, str, float | None, str | None]]:
    """Return rows (seq, metric, value, note) of the table `metrics`."""
    found: list[tuple[int, str, float | None, str | None]] = []
    for cost in costs:
        for id_, value in ((VERTEX, cost.vertex), (FRAGMENT, cost.fragment), (TOTAL, cost.total)):
            found.append((cost.seq, id_, value, None if value is not None else cost.why))
    return found


class _Texts:
    """Operations of a run of each program's shaders, as its sources were at a call."""

    def __init__(self, trace: Trace) -> None:
        self._known: dict[tuple[int, str], tuple[list[int], list[int]]] = {}
        operations = cache(lambda text: glsl.cost(text).operations)
        for shader in shaders(trace, most=1 << 20):
            for program in shader.programs:
                seqs, counts = self._known.setdefault((program, shader.stage), ([], []))
                seqs.append(shader.seq)
                counts.append(operations(shader.source))

    def operations(self, program: int, stage: str, seq: int) -> int | None:
        """Return those of the newest source that was given before a call, None where there is none."""
        seqs, counts = self._known.get((program, stage), ([], []))
        at = bisect_right(seqs, seq)
        return counts[at - 1] if at else None
