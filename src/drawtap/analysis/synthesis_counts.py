"""Counts of a request that a recording gives without being played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from drawtap.analysis.synthesis_request import FEATURES
from drawtap.errors import UsageError
from drawtap.units import as_float

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

#: Counts of a recording that a synthetic program does not repeat: drawtap says so to the user who makes one.
NOT_REPEATED = (
    "client_bytes",
    "matrix_operations",
    "framebuffer_binds",
    "dispatches",
    "indirect_draws",
    "readbacks",
    "queries",
    "waits",
    "flushes",
    "compiles",
    "links",
    "created_objects",
    "deleted_objects",
    "list_calls",
    "path_segments",
)


def counted(trace: Trace, frames: range | None = None) -> dict[str, float]:
    """Return the features of a recording that its calls tell, as means over `frames` (None: all but those that load).

    Raises UsageError where there are no such frames.
    """
    from drawtap.analysis import content

    rows = content.frame_stats(trace)
    chosen = rows[content.loading(rows) :] if frames is None else rows[frames.start : frames.stop]
    if not chosen:
        raise UsageError(f"{trace.path.name} has no such frames", hint="drawtap frames lists them")
    means = {}
    for feature in FEATURES.values():
        if feature.counts:
            total = sum(as_float(row.get(name)) for row in chosen for name in feature.counts)
            means[feature.name] = total / len(chosen)
    means["texture_memory"] = float(content.texture_memory(trace))
    return means


def not_repeated(trace: Trace, frames: range | None = None) -> dict[str, float]:
    """Return what the frames of a recording have beside the features, as means: titles with values."""
    from drawtap.analysis import content

    rows = content.frame_stats(trace)
    chosen = rows[content.loading(rows) :] if frames is None else rows[frames.start : frames.stop]
    means = {}
    if chosen and (points := _points_and_lines(trace, chosen)):
        means["draws of points and lines"] = points / len(chosen)
    for name in NOT_REPEATED:
        mean = sum(as_float(row.get(name)) for row in chosen) / max(len(chosen), 1)
        if mean:
            means[content.SERIES[name][0]] = mean
    return means


def _points_and_lines(trace: Trace, chosen: Sequence[Mapping[str, object]]) -> int:
    """Return how many draws of some frames draw points or lines: a synthetic program draws triangles alone."""
    modes = "starts_with(mode, 'GL_POINT') OR starts_with(mode, 'GL_LINE')"
    numbers = f"frame BETWEEN {chosen[0]['frame']} AND {chosen[-1]['frame']}"
    question = f"SELECT count(*) FROM draws WHERE kind = 'draw' AND ({modes}) AND {numbers}"
    return int(trace.sql(question).fetchall()[0][0])
