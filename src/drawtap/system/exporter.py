"""Hand on what the kernel saw: one file a format in `exports/`, and timelines as all of them need them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.plugins import Registry
from drawtap.system.native import Plan, write

if TYPE_CHECKING:
    from drawtap.system.model import KernelModel
    from drawtap.system.reader import KernelTrace


@dataclass(frozen=True, slots=True)
class Window:
    """The part to write: events from `begin` on and before `end`, and whole spans that touch that time."""

    begin: int
    end: int

    def touches(self, begin: str = "begin_ns", end: str = "end_ns") -> str:
        """Return a condition in SQL: what lasts from column `begin` to column `end` has a part in the window."""
        return f"({begin} < {self.end} AND {end} >= {self.begin})"

    def counters(self) -> str:
        """Return a query for the counters: their steps in the window, and the one before that still holds."""
        return self._steps("counters", "track")

    def memory(self) -> str:
        """Return a query for the memory of processes and machines: as `counters`, of the table memory_use."""
        return self._steps("memory_use", "device, basis, client, CASE WHEN client IS NULL THEN vm END")

    def _steps(self, table: str, key: str) -> str:
        return (
            "SELECT * EXCLUDE (until_ns) FROM "
            f"(SELECT *, coalesce(lead(t_ns) OVER (PARTITION BY {key} ORDER BY t_ns), 9223372036854775807) AS until_ns "
            f"FROM {table}) WHERE t_ns < {self.end} AND until_ns > {self.begin}"
        )


Write = Callable[["KernelTrace", "KernelModel", Path, Window | None], int]


@dataclass(frozen=True)
class Export:
    """A format; `suffix` is "" where it is a folder."""

    name: str
    suffix: str
    function: Write

    def write(self, trace: KernelTrace, model: KernelModel, path: Path, window: Window | None = None) -> int:
        """Write a window of a trace, or all of it, and return the bytes."""
        return self.function(trace, model, path, window)

    @property
    def help(self) -> str:
        """Return the documentation of the format."""
        return self.function.__doc__ or ""


EXPORTS: Registry[Export] = Registry("format of kernel timelines", "drawtap.system.exports")


def export(name: str, suffix: str) -> Callable[[Write], Write]:
    """Register the decorated function as the writer of a format."""

    def add(function: Write) -> Write:
        EXPORTS.register(name)(Export(name, suffix, function))
        return function

    return add


@dataclass(frozen=True, slots=True)
class _Track:
    path: str
    name: str
    parent: int
    unit: str | None  # of a counter


# The parts of a timeline that stand on top.
_ORDER = ("api", "gpu", "card", "vgpu", "crtc", "vcpu", "thread")
_SPANS = """
SELECT n AS track, lane, begin_ns, end_ns, name, kind, id, request
FROM {spans} JOIN (SELECT unnest($paths::VARCHAR[]) AS track, unnest($numbers::BIGINT[]) AS n) USING (track)
ORDER BY begin_ns, end_ns DESC
"""
_COUNTERS = """
SELECT n AS track, t_ns, value
FROM ({counters}) JOIN (SELECT unnest($paths::VARCHAR[]) AS track, unnest($numbers::BIGINT[]) AS n) USING (track)
ORDER BY t_ns
"""
_ARROWS = """
SELECT from_id AS from_span, to_id AS to_span FROM links
WHERE from_kind = 'span' AND to_kind = 'span' {inside} ORDER BY from_ns
"""


def write_timeline(form: str, trace: KernelTrace, model: KernelModel, path: Path, window: Window | None = None) -> int:
    """Write spans, counters and arrows of a model natively, as `perfetto` or `chrome`; return the bytes written."""
    chosen = f"(SELECT * FROM spans WHERE {window.touches()})" if window else "spans"
    steps = window.counters() if window else "SELECT * FROM counters"
    # An arrow has both of its ends in the file.
    ids = f"(SELECT id FROM {chosen})"
    inside = f"AND from_id IN {ids} AND to_id IN {ids}" if window else ""
    tracks = _tracks(model)
    plan = Plan().number(len(tracks))
    for track in tracks:
        plan.text(track.name).number(track.parent, track.unit is not None).text(track.unit or "")
    clock = trace.clock.name + (f" ({trace.clock.note})" if trace.clock.note else "")
    plan.number(window.begin if window else model.window[0]).text(clock)
    numbered = list(enumerate(tracks))
    spans = [(t.path, n) for n, t in numbered if t.unit is None]
    counters = [(t.path, n) for n, t in numbered if t.unit is not None]
    # Each query on a connection of its own: they are read side by side.
    tables = [
        _relation(model, _SPANS.format(spans=chosen), spans),
        _relation(model, _COUNTERS.format(counters=steps), counters),
        _relation(model, _ARROWS.format(inside=inside)),
    ]
    part = path.with_name(f".{path.name}.part")
    try:
        written = write(form, plan, tables, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return written


def _relation(model: KernelModel, sql: str, tracks: Sequence[tuple[str, int]] | None = None) -> object:
    if tracks is None:
        return model.connection.cursor().sql(sql)
    parameters = {"paths": [path for path, _ in tracks], "numbers": [number for _, number in tracks]}
    return model.connection.cursor().sql(sql, params=parameters)


def _tracks(model: KernelModel) -> list[_Track]:
    """Return the tracks as a tree, parents first."""
    spans = {str(row[0]) for row in model.query("SELECT DISTINCT track FROM spans").fetchall()}
    units = "SELECT track, any_value(unit) FROM counters GROUP BY track"
    counters: dict[str, str | None] = dict(model.query(units).fetchall())
    names = _names(model)
    inner = {parent for path in (*spans, *counters) for parent in _parents(path)}
    tracks: list[_Track] = []
    numbers: dict[str, int] = {}
    for path in sorted(spans | inner, key=_position):
        above = path.rpartition("/")[0]
        numbers[path] = len(tracks)
        name = names.get(path) or path.rpartition("/")[2] or path
        tracks.append(_Track(path, name, numbers.get(above, -1), None))
    for path, unit in sorted(counters.items()):
        above, _, name = path.rpartition("/")
        tracks.append(_Track(path, name or path, numbers.get(above, -1), str(unit or "")))
    return tracks


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _position(path: str) -> tuple[object, ...]:
    parts = path.split("/")
    known = next((i for i, word in enumerate(_ORDER) if parts[0].startswith(word)), len(_ORDER) // 2)
    # Numbers in order of their value.
    return (known, *((0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts))


def _names(model: KernelModel) -> dict[str, str]:
    names = {"thread": "threads", "vcpu": "vCPUs", "api": "API calls"}
    for tid, comm, vm, vcpu in model.query("SELECT tid, comm, vm, vcpu FROM threads").fetchall():
        names[f"thread/{tid}"] = names[f"api/{tid}"] = f"{comm} ({tid})" if comm else str(tid)
        if vm:
            names[f"vcpu/{tid}"] = f"{vm} vCPU {vcpu} ({tid})"
    return names
