"""Measurements, read back: series over the frames, and the most expensive draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drawtap.trace import measured

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Series:
    """A metric over the frames; `values` by the number of the frame."""

    name: str
    unit: str
    engine: str
    values: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Draw:
    """A draw and what one metric says of it; `share` of all draws together."""

    seq: int
    frame: int
    function: str
    value: float
    share: float


def series(trace: Trace) -> list[Series]:
    """Return what was measured for frames, each by the last run that has it, without time stamps; none where nothing
    was measured."""
    if not measured.files(trace.path):
        return []
    entries: dict[str, tuple[str, str, dict[int, float]]] = {}
    for name, unit, engine, frame, value in trace.sql(
        "SELECT name, unit, engine, frame, value FROM metrics WHERE per = 'frame' AND value IS NOT NULL AND "
        "name NOT LIKE '%/start' QUALIFY run = max(run) OVER (PARTITION BY name) ORDER BY name, frame"
    ):
        entry = entries.setdefault(str(name), (str(unit), str(engine), {}))
        entry[2][int(frame)] = float(value)
    return [Series(name, *entry) for name, entry in entries.items()]


#: The metrics that say how much a draw costs, the best first.
COSTS = (
    "gl:time/elapsed",
    "vk:time/elapsed",
    "cpu:time/wall",
    "cpu:time/thread",
    "gl:samples/samples_passed",
    "vk:samples/samples_passed",
    "estimate:operations/total",
)


def costly(trace: Trace, count: int = 12) -> tuple[str, str, Sequence[Draw]]:
    """Return the draws with most of the first of COSTS that was measured for draws, by the last run that has it: its
    name, its unit, the draws."""
    if not measured.files(trace.path):
        return "", "", ()
    there = {
        str(name): str(unit)
        for name, unit in trace.sql("SELECT name, any_value(unit) FROM metrics WHERE per = 'draw' GROUP BY name")
    }
    name = next((cost for cost in COSTS if cost in there), None)
    if name is None:
        return "", "", ()
    rows = trace.sql(
        "SELECT m.seq, m.frame, c.name, m.value, m.value / nullif(sum(m.value) OVER (), 0) AS share "
        "FROM metrics m JOIN calls c ON c.seq = m.seq WHERE m.per = 'draw' AND m.name = $name AND m.value > 0 "
        "AND m.run = (SELECT max(run) FROM metrics WHERE per = 'draw' AND name = $name) "
        "ORDER BY m.value DESC, m.seq LIMIT $count",
        {"name": name, "count": count},
    )
    draws = [
        Draw(int(seq), int(frame), str(function), float(value), float(share or 0))
        for seq, frame, function, value, share in rows
    ]
    return name, there[name], draws
