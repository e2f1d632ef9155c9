"""The tracks of the page: which there are, and what each has in a stretch of time.

A track is a row of the timeline. Its parts are series of one source (`web.levels`), and every source is a question in
SQL, so that a track of the user's own is one more question.
"""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from drawtap.errors import UsageError
from drawtap.web.levels import Columns, CounterSource, SpanSource, Window

Answer = dict[str, object]
MOST_TRACKS = 64  # of one answer
MOST_STEPS = 16_384
_BYTES = 16  # of a step and track at most
_SPAN_BYTES = 24
_NAMES = 12  # of a track in the sums of an area


@dataclass(frozen=True)
class Track:
    """A row: its group, name and shape, and the series of its source that it shows, each with a word for its colour.

    `shape`: spans, engine, queue (what overlaps is stacked), marks, or counter. `leads`: what the ids of its spans are:
    call, frame, or nothing. `sql` is a question for the page that has what it shows.
    """

    group: str
    label: str
    shape: str
    source: SpanSource | CounterSource
    parts: tuple[tuple[str, str], ...]
    leads: str = ""
    unit: str = "ns"
    sql: str = ""


@dataclass
class Tracks:
    """All tracks of one clock. `zero` is its begin, `length` how long it goes, both in ns."""

    zero: int
    length: int
    tracks: list[Track] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    arrows: Callable[[int, int], list[list[object]]] | None = None
    way: Callable[[int], list[list[object]]] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, tracks: Iterable[Track]) -> None:
        """Add rows behind the others; the numbers of those stay."""
        with self._lock:
            self.tracks += tracks

    def listing(self) -> Answer:
        """Return the groups with their rows; a row's `id` is its number."""
        groups: dict[str, list[Answer]] = {}
        for number, track in enumerate(self.tracks):
            row: Answer = {"id": number, "label": track.label, "shape": track.shape, "leads": track.leads}
            row |= {"parts": [kind for _, kind in track.parts], "unit": track.unit, "sql": track.sql}
            groups.setdefault(track.group, []).append(row)
        named = [{"name": name, "tracks": rows} for name, rows in groups.items()]
        return {"zero": self.zero, "length": self.length, "groups": named, "notes": self.notes}

    def _of(self, ids: Sequence[int]) -> list[Track]:
        if len(ids) > MOST_TRACKS:
            raise UsageError(f"{len(ids)} tracks are more than an answer has", hint=f"at most {MOST_TRACKS}")
        for number in ids:
            if number >= len(self.tracks):
                raise UsageError(f"there is no track {number}", hint=f"there are {len(self.tracks)}")
        return [self.tracks[number] for number in ids]

    def levels(self, ids: Sequence[int], begin: int, end: int, pixels: int) -> bytes:
        """Return the content of rows in a window of `pixels` pixels: a JSON head, then arrays.

        At most 16 bytes a pixel and row. A row with few spans has each of them (`spans`: begin, length as doubles; id,
        number of the name as u32); any other has sums (`sums`: busy ns as double, count and longest id as u32; of
        several parts busy ns alone, as f32). A counter has its least and largest value (`values`, doubles). Times are
        ns since `zero`; the head says where the first step begins and how long a step is.
        """
        if not 0 <= begin < end <= 1 << 62:
            raise UsageError("the window is empty", hint="t0 is less than t1")
        window = Window.of(begin, end, max(16, min(pixels, MOST_STEPS)))
        tracks = self._of(ids)
        packed = _Packed()
        sums, spans = self._answers(tracks, window)
        for number, track in zip(ids, tracks, strict=True):
            packed.add(number, track, sums, spans)
        head: Answer = {"begin": window.begin, "step": 1 << window.shift, "steps": window.count}
        return packed.headed(head)

    def _answers(self, tracks: Sequence[Track], window: Window) -> tuple[dict[Any, Any], dict[Any, Columns]]:
        # One question a source for the sums of all its rows, and one for the spans of the rows that have few.
        sums: dict[Any, Any] = {}
        spans: dict[Any, Columns] = {}
        bound = window.count * _BYTES // _SPAN_BYTES
        for source in {id(track.source): track.source for track in tracks}.values():
            mine = [track for track in tracks if track.source is source]
            series = list(dict.fromkeys(name for track in mine for name, _ in track.parts))
            if isinstance(source, CounterSource):
                sums |= {(id(source), name): held for name, held in source.extremes(window, series).items()}
                continue
            summed = source.sums(window, series)
            sums |= {(id(source), name): of_part for name, of_part in summed.items()}
            few = [
                name
                for track in mine
                if sum(int(summed[n].count.sum()) + 1 for n, _ in track.parts if n in summed) <= bound
                for name, _ in track.parts
                if name in summed and (summed[name].busy.any() or summed[name].count.any())
            ]
            if few:
                by_name = source.spans(window, few, bound)
                spans |= {(id(source), name): columns for name, columns in by_name.items()}
        return sums, spans

    def area(self, ids: Sequence[int], begin: int, end: int) -> Answer:
        """Return the sums of a stretch of time, row by row, from the rows themselves."""
        if not 0 <= begin < end:
            raise UsageError("the area is empty", hint="t0 is less than t1")
        rows: list[list[object]] = []
        for number, track in zip(ids, self._of(ids), strict=True):
            series = [name for name, _ in track.parts]
            kinds = dict(track.parts)
            if isinstance(track.source, CounterSource):
                for _, n, low, mean, high in track.source.totals(begin, end, series):
                    rows.append([number, track.label, "values", n, None, None, None, low, mean, high])
                continue
            for name, text, n, busy, longest, key in track.source.totals(begin, end, series, _NAMES):
                rows.append([number, track.label, text or kinds[name], n, busy, longest, key, None, None, None])
        columns = ["track", "row", "what", "spans", "busy", "longest", "id", "least", "mean", "largest"]
        return {"columns": columns, "rows": rows}

    def beside(self, number: int, at: int, step: int) -> Answer:
        """Return the first span of a row that begins from a time on, or the last one before it."""
        (track,) = self._of([number])
        if isinstance(track.source, CounterSource):
            return {"span": None}
        spans = [span for name, _ in track.parts if (span := track.source.beside(name, at, step)) is not None]
        best = min(spans, key=lambda span: span[1] * step, default=None)
        return {"span": None if best is None else list(best)}

    def arrowed(self, begin: int, end: int) -> list[list[object]]:
        """Return what leads to what in a window: (from row, ns, to row, ns, kind, request or call)."""
        return self.arrows(begin, end) if self.arrows else []

    def steps(self, span: int) -> list[list[object]]:
        """Return the steps of the request that a span of the kernel is of: row, id, begin, end (ns), kind, name."""
        return self.way(span) if self.way else []


class _Packed:
    """Arrays one behind the other, each at a multiple of eight bytes, and a head that says where they are."""

    def __init__(self) -> None:
        self._rows: list[Answer] = []
        self._parts: list[bytes] = []
        self._at = 0

    def add(self, number: int, track: Track, sums: dict[Any, Any], spans: dict[Any, Columns]) -> None:
        """Add a row."""
        parts: list[Answer] = []
        for place, (name, _) in enumerate(track.parts):
            key = id(track.source), name
            if key in spans:
                parts.append({"part": place, **self._spans(spans[key])})
            elif key not in sums:
                continue
            elif isinstance(track.source, CounterSource):
                low, high = sums[key]
                parts.append(
                    {"part": place, "as": "values", "at": self._put(low, "<f8"), "high": self._put(high, "<f8")}
                )
            elif (summed := sums[key]).busy.any() or summed.count.any():
                if len(track.parts) > 1:
                    parts.append({"part": place, "as": "shares", "at": self._put(summed.busy, "<f4")})
                else:
                    at = self._put(summed.busy, "<f8")
                    ids = np.where(summed.longest < 0, 0xFFFFFFFF, summed.longest)
                    counts = self._put(np.concatenate((summed.count, ids)), "<u4")
                    parts.append(
                        {"part": place, "as": "sums", "at": at, "count": counts, "longest": counts + 4 * len(ids)}
                    )
        self._rows.append({"id": number, "parts": parts})

    def _spans(self, columns: Columns) -> Answer:
        names, which = np.unique(np.ma.filled(columns["name"], "").astype(str), return_inverse=True)
        return {
            "as": "spans",
            "n": len(which),
            "at": self._put(columns["b"], "<f8"),
            "length": self._put(columns["e"] - columns["b"], "<f8"),
            "id": self._put(columns["id"], "<u4"),
            "name": self._put(which, "<u4"),
            "names": [str(name) for name in names],
        }

    def _put(self, values: Any, kind: str) -> int:
        at = self._at
        raw = np.ascontiguousarray(np.ma.filled(values, 0), dtype=kind).tobytes()
        raw += b"\0" * (-len(raw) % 8)
        self._parts.append(raw)
        self._at += len(raw)
        return at

    def headed(self, head: Answer) -> bytes:
        """Return the length of the head, the head as JSON, and the arrays."""
        text = json.dumps({**head, "tracks": self._rows}).encode()
        text += b" " * (-(len(text) + 4) % 8)
        return b"".join((struct.pack("<I", len(text)), text, *self._parts))
