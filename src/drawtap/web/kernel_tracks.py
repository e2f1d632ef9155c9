"""Rows of a kernel trace: engines, queues, virtual GPUs, CPUs, threads, counters, and arrows between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from drawtap.output.kernel_page import named_threads, order_of, placed, thread_of
from drawtap.system import cpus, levels
from drawtap.trace.sql_text import quote_text
from drawtap.web.levels import Columns, CounterSource, SpanSource
from drawtap.web.tracks import Track, Tracks

if TYPE_CHECKING:
    from drawtap.system.model import KernelModel

MOST_THREADS = 64  # that get a row
_ARROWS = 400
_TAB = "chr(9)"
# The spans that are drawn, but for the CPUs: their rows are another question over the same spans.
_SPANS = f"""
    SELECT track || {_TAB} || kind AS track, id, begin_ns AS b, end_ns AS e, name FROM spans WHERE {levels.DRAWN}
"""
_CPUS = f"SELECT track || {_TAB} || kind AS track, id, begin_ns AS b, end_ns AS e, name FROM ({cpus.SPANS})"
_COUNTERS = """
    SELECT track, t_ns AS t, value FROM counters
    UNION ALL SELECT 'memory of ' || coalesce(client, vm) || ' (' || basis || ') ' || device, t_ns, bytes::DOUBLE
    FROM memory_use
"""
_UNITS = f"""
    SELECT track, any_value(unit) AS unit FROM counters GROUP BY track
    UNION ALL SELECT DISTINCT track, 'bytes' FROM ({_COUNTERS}) WHERE track LIKE 'memory of %'
"""


class KernelRows:
    """The rows of a model on a clock that begins at `tracks.zero`; they stand behind those that `tracks` has."""

    def __init__(self, model: KernelModel, tracks: Tracks, calls: Mapping[int, int] | None = None) -> None:
        """`calls`: by kernel thread id, the row that has its API calls; the model then has links from calls."""
        self._model = model
        self._zero = tracks.zero
        self._calls = calls or {}
        self._numbers: dict[str, int] = {}
        base = len(tracks.tracks)
        named, hidden = self._rows(tracks.length)
        for number, (name, _) in enumerate(named):
            self._numbers.setdefault(name, base + number)
        tracks.add(track for _, track in named)
        if hidden:
            tracks.notes.append(f"{hidden:,} threads that ran less have no row; ask for them in SQL")
        tracks.arrows, tracks.way = self.arrows, self.way

    def run(self, sql: str) -> Columns:
        """Answer a question about the model."""
        return self._model.query(sql).numpy()

    def _rows(self, length: int) -> tuple[list[tuple[str, Track]], int]:
        names, hidden = named_threads(self._model, self._model.window, MOST_THREADS)
        kinds: dict[str, list[str]] = {}
        for track, kind in self._model.query(
            f"SELECT track, kind FROM ({levels.SHOWN}) GROUP BY ALL ORDER BY track, min(begin_ns), kind"
        ).fetchall():
            if not _is_thread(track) or thread_of(track) in names:
                kinds.setdefault(str(track), []).append(str(kind))
        series = sum(map(len, kinds.values()))
        spans = SpanSource(self.run, lambda *_: _SPANS, self._zero, length, series=series)
        on_cpus = SpanSource(self.run, lambda *_: _CPUS, self._zero, length, series=len(kinds))
        named: list[tuple[str, Track]] = []
        for track in sorted(kinds, key=lambda name: order_of(name, list(names))):
            row = placed(track, [{"kind": kind} for kind in kinds[track]], names)
            shape = {"line": "spans", "cpu": "spans"}.get(str(row["shape"]), str(row["shape"]))
            if kinds[track] == ["mark"]:
                shape = "marks"
            on_cpu = track.startswith("cpu/")
            parts = tuple((f"{track}\t{kind}", kind) for kind in kinds[track])
            where = f"cpu = {track[4:]} AND kind = 'running'" if on_cpu else f"track = {quote_text(track)}"
            sql = f"SELECT begin_ns, end_ns, kind, name, request FROM spans WHERE {where} ORDER BY begin_ns LIMIT 1000"
            source = on_cpus if on_cpu else spans
            named.append((track, Track(str(row["group"]), str(row["label"]), shape, source, parts, sql=sql)))
        return named + self._counters(), hidden

    def _counters(self) -> list[tuple[str, Track]]:
        source = CounterSource(self.run, _COUNTERS, self._zero)
        rows = self._model.query(f"{_UNITS} ORDER BY track").fetchall()
        return [
            (str(name), Track("Counters", str(name), "counter", source, ((str(name), "counter"),), "", str(unit)))
            for name, unit in rows
        ]

    def arrows(self, begin: int, end: int) -> list[list[object]]:
        """Return what leads to what in a window: (from row, ns, to row, ns, kind, request or call).

        Kinds: asks, waits, wakes, and submits from an API call to its request.
        """
        kept = list(self._numbers)
        numbers = [self._numbers[name] for name in kept]
        columns = levels.arrows(self._model, [(begin + self._zero, end + self._zero)], self._zero, kept, _ARROWS)
        kinds = ("asks", "waits", "wakes")
        rows: list[list[object]] = [
            [numbers[a], at, numbers[b], to, kinds[kind], request]
            for kind, a, at, b, to, request in zip(
                *(columns[name].tolist() for name in ("kind", "from", "from_ns", "to", "to_ns", "request")), strict=True
            )
        ]
        return rows + (self._from_calls(begin, end) if self._calls else [])

    def way(self, span: int) -> list[list[object]]:
        """Return the spans of the request that a span is of, in their order: row, id, begin, end (ns), kind, name."""
        stations = self._model.query(
            f"""
            SELECT track, id, begin_ns - {self._zero}, end_ns - {self._zero}, kind, name FROM spans
            WHERE request = (SELECT request FROM spans WHERE id = {span}) ORDER BY begin_ns, end_ns LIMIT {_ARROWS}
            """
        ).fetchall()
        return [[self._numbers[track], *rest] for track, *rest in stations if track in self._numbers]

    def _from_calls(self, begin: int, end: int) -> list[list[object]]:
        rows = self._model.query(
            f"""
            WITH asked AS (
              SELECT c.tid, l.from_id AS seq, l.from_ns, l.to_id AS request FROM links l
              JOIN api_calls c ON c.seq = l.from_id
              WHERE l.from_kind = 'call' AND l.to_kind = 'request' AND l.kind = 'submits'
                AND l.to_ns >= {begin + self._zero} AND l.from_ns < {end + self._zero}
              ORDER BY l.from_ns LIMIT {_ARROWS}
            )
            SELECT a.tid, a.from_ns, arg_min(s.track, s.begin_ns), min(s.begin_ns), a.seq FROM asked a
            JOIN spans s ON s.request = a.request WHERE s.track NOT LIKE 'thread/%'
            GROUP BY a.tid, a.from_ns, a.seq, a.request ORDER BY a.from_ns
            """
        ).fetchall()
        return [
            [self._calls[tid], at - self._zero, self._numbers[track], to - self._zero, "submits", seq]
            for tid, at, track, to, seq in rows
            if tid in self._calls and track in self._numbers
        ]


def _is_thread(track: str) -> bool:
    parts = track.split("/")
    return parts[0] in ("thread", "vcpu") or (parts[0] == "guest" and len(parts) > 2 and parts[2] == "thread")
