"""Levels of detail of spans and numbers over time, made by SQL for any window and any step.

A step is a power of two of nanoseconds, so that all tracks and all windows cut time at the same places. Sums of the
whole time in steps of one width are made once; coarser steps add neighbours, and finer ones ask the rows of the window
alone. Sums are exact at every step: what a span has in a step is clipped at its borders.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from drawtap.trace.sql_text import quote_text

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Columns = Mapping[str, npt.NDArray[Any]]
#: Answers a question with its columns.
Run = Callable[[str], Columns]
#: SQL of the rows between two ids; NULLs stand for "from the first" and "to the last".
Rows = Callable[[int | None, int | None], str]

_STEPS = 65_536  # of a source in the sums that are kept
_CELLS = 1 << 21  # of all its series
_NOBODY = -1


@dataclass(frozen=True)
class Sums:
    """One series in steps: busy time in ns, spans that begin, and the id of the longest one that does (-1: none)."""

    busy: Ints
    count: Ints
    longest: Ints
    length: Ints

    def coarser(self) -> Sums:
        """Return the same in steps of twice the width; the number of steps is even."""
        length = self.length.reshape(-1, 2)
        at = np.argmax(length, axis=1)
        rows = np.arange(len(length))
        longest = self.longest.reshape(-1, 2)[rows, at]
        return Sums(
            self.busy.reshape(-1, 2).sum(axis=1), self.count.reshape(-1, 2).sum(axis=1), longest, length[rows, at]
        )

    def part(self, first: int, count: int) -> Sums:
        """Return steps from `first` on; what lies outside has nothing."""
        lo, hi = max(first, 0), max(min(first + count, len(self.busy)), first, 0)

        def cut(values: Ints, empty: int) -> Ints:
            out = np.full(count, empty, np.int64)
            out[lo - first : hi - first] = values[lo:hi]
            return out

        return Sums(cut(self.busy, 0), cut(self.count, 0), cut(self.longest, _NOBODY), cut(self.length, _NOBODY))


@dataclass(frozen=True)
class Window:
    """Steps of `1 << shift` ns; the first one begins at `first << shift` ns after the begin of the whole time."""

    shift: int
    first: int
    count: int

    @classmethod
    def of(cls, begin: int, end: int, most: int) -> Window:
        """Cut a window into at most `most` steps, at most twice as long as they had to be."""
        shift = max(0, (max(end - begin, 1) // max(most - 1, 1)).bit_length())
        first = begin >> shift
        return cls(shift, first, -(-end >> shift) - first)

    @property
    def begin(self) -> int:
        """Where the first step begins, in ns."""
        return self.first << self.shift

    @property
    def end(self) -> int:
        """Where the last step ends, in ns."""
        return (self.first + self.count) << self.shift


class SpanSource:
    """Spans of several series, from one question with the columns track, id, b, e (ns) and name.

    `rows` gives the question; where ids follow time closely, as numbers of calls do, it takes bounds for them.
    """

    def __init__(self, run: Run, rows: Rows, zero: int, length: int, *, series: int = 1) -> None:
        self._run = run
        self._rows = rows
        self._zero = zero
        steps = max(min(_STEPS, _CELLS // max(series, 1)), 256)
        self._shift = max(0, (max(length, 1) // steps).bit_length())
        whole = (length >> self._shift) + 1
        self._whole = Window(self._shift, 0, 1 << (whole - 1).bit_length())  # a power of two: all halves are even
        self._kept: list[dict[str, Sums]] = []
        self._ids: tuple[Ints, Ints] | None = None  # per step: least and largest id of what touches it
        self._lock = threading.Lock()

    def sums(self, window: Window, series: Sequence[str]) -> dict[str, Sums]:
        """Return the sums of some series in a window; one that has nothing at all is left out."""
        with self._lock:
            if not self._kept:
                summed, ids = self._summed(self._whole, self._rows(None, None))
                self._ids, self._kept = ids, [summed]
            while window.shift >= self._shift + len(self._kept) and len(self._kept) <= self._whole.count.bit_length():
                last = self._kept[-1]
                if any(len(sums.busy) == 1 for sums in last.values()):
                    break
                self._kept.append({name: sums.coarser() for name, sums in last.items()})
        if window.shift < self._shift:
            summed, _ = self._summed(window, self._between(window), series)
            return summed
        level = self._kept[min(window.shift - self._shift, len(self._kept) - 1)]
        return {name: level[name].part(window.first, window.count) for name in series if name in level}

    def _between(self, window: Window) -> str:
        assert self._ids is not None
        first, last = self._ids
        lo = min(max(window.begin >> self._shift, 0), len(first) - 1)
        hi = min(max((window.end - 1) >> self._shift, lo), len(first) - 1)
        least, most = int(first[lo : hi + 1].min()), int(last[lo : hi + 1].max())
        return self._rows(least, max(most, least) + 1) if most >= 0 else self._rows(0, 0)

    def _touching(self, window: Window) -> str:
        with self._lock:
            known = self._ids is not None
        return self._between(window) if known else self._rows(None, None)

    def _inside(self, window: Window, rows: str, series: Sequence[str]) -> str:
        a, b = window.begin, window.end
        among = f" AND track IN ({', '.join(map(quote_text, series))})" if series else ""
        return (
            f"SELECT track, id, b - {self._zero} AS b, e - {self._zero} AS e, name FROM ({rows}) "
            f"WHERE b < {b + self._zero} AND (e > {a + self._zero} OR b >= {a + self._zero}){among}"
        )

    def _summed(
        self, window: Window, rows: str, series: Sequence[str] = ()
    ) -> tuple[dict[str, Sums], tuple[Ints, Ints]]:
        a, w = window.begin, window.shift
        columns = self._run(
            f"""
            WITH clipped AS (
              SELECT track, id, greatest(b, {a}) AS t, b, least(e, {window.end}) AS e, e - b AS length
              FROM ({self._inside(window, rows, series)})
            )
            SELECT track::VARCHAR AS track, (t >> {w}) - {window.first} AS step,
                   count(*) FILTER (b >= {a})::BIGINT AS n,
                   sum(least(e, ((t >> {w}) + 1) << {w}) - t)::BIGINT AS busy,
                   arg_max(id, length)::BIGINT AS longest, max(length)::BIGINT AS length,
                   min(id)::BIGINT AS least, max(id)::BIGINT AS most,
                   list(e) FILTER (e > (((t >> {w}) + 1) << {w})) AS beyond
            FROM clipped GROUP BY ALL
            """
        )
        names, which = np.unique(columns["track"].astype(str), return_inverse=True)
        made = {
            str(name): Sums(*(np.full(window.count, v, np.int64) for v in (0, 0, _NOBODY, _NOBODY))) for name in names
        }
        ids = np.full(window.count, np.iinfo(np.int64).max), np.full(window.count, _NOBODY)
        order = [*made.values()]
        for number, sums in enumerate(order):
            mine = np.flatnonzero(which == number)
            _fill(sums, ids, window, {name: values[mine] for name, values in columns.items()})
        return made, ids

    def spans(self, window: Window, series: Sequence[str], most: int) -> dict[str, Columns]:
        """Return the spans themselves, by series and begin: id, b, e (ns of the whole time), name; `most` of each."""
        rows = self._touching(window)
        columns = self._run(
            f"SELECT track::VARCHAR AS track, id::BIGINT AS id, b, e, name FROM "
            f"({self._inside(window, rows, series)}) QUALIFY row_number() OVER (PARTITION BY track ORDER BY b, e) "
            f"<= {most} ORDER BY b, e"
        )
        track = columns["track"].astype(str)
        return {name: {key: values[track == name] for key, values in columns.items()} for name in series}

    def totals(self, begin: int, end: int, series: Sequence[str], most: int) -> list[tuple[Any, ...]]:
        """Return what a stretch of time has, longest first: (series, name, spans, busy ns inside, longest ns, its id).

        At most `most` names of each series.
        """
        window = Window(0, begin, end - begin)
        rows = self._touching(window)
        columns = self._run(
            f"""
            WITH inside AS (
              SELECT track::VARCHAR AS track, coalesce(name, '') AS name, id, b, e
              FROM ({self._inside(window, rows, series)})
            ), summed AS (
              SELECT track, name, count(*)::BIGINT AS n, sum(least(e, {end}) - greatest(b, {begin}))::BIGINT AS busy,
                     max(e - b)::BIGINT AS longest, arg_max(id, e - b)::BIGINT AS id
              FROM inside GROUP BY track, name
            )
            SELECT * FROM summed
            QUALIFY row_number() OVER (PARTITION BY track ORDER BY busy DESC, n DESC, name) <= {most}
            ORDER BY track, busy DESC, n DESC, name
            """
        )
        return list(
            zip(*(columns[key].tolist() for key in ("track", "name", "n", "busy", "longest", "id")), strict=True)
        )

    def beside(self, series: str, at: int, step: int) -> tuple[int, int, int, str] | None:
        """Return the first span of a series that begins from `at` ns on (`step` 1), or the last one before (-1)."""
        begin, order = (">=", "ASC") if step > 0 else ("<", "DESC")
        rows = self._rows(None, None)
        columns = self._run(
            f"SELECT id::BIGINT AS id, b - {self._zero} AS b, e - {self._zero} AS e, name FROM ({rows}) "
            f"WHERE track = {quote_text(series)} AND b {begin} {at + self._zero} ORDER BY b {order}, id {order} LIMIT 1"
        )
        if not len(columns["id"]):
            return None
        return int(columns["id"][0]), int(columns["b"][0]), int(columns["e"][0]), str(columns["name"][0])


def _fill(sums: Sums, ids: tuple[Ints, Ints], window: Window, columns: Columns) -> None:
    """Put rows of one series, one a step, into its sums; what reaches over the end of its step goes on behind it."""
    step = columns["step"].astype(np.int64)
    sums.busy[step] = columns["busy"]
    sums.count[step] = columns["n"]
    sums.longest[step] = columns["longest"]
    sums.length[step] = columns["length"]
    np.minimum.at(ids[0], step, columns["least"].astype(np.int64))
    np.maximum.at(ids[1], step, columns["most"].astype(np.int64))
    lists = columns["beyond"]
    there = np.flatnonzero(~np.ma.getmaskarray(lists) & np.array([x is not None for x in np.ma.getdata(lists)], bool))
    if not len(there):
        return
    ends = [np.asarray(np.ma.getdata(lists)[i], np.int64) for i in there]
    begin = np.repeat(step[there], [len(x) for x in ends])
    end = np.concatenate(ends) - window.begin
    last = np.minimum(end >> window.shift, window.count - 1)
    heights = np.zeros(window.count + 1, np.int64)
    np.add.at(heights, begin + 1, 1)
    np.add.at(heights, last, -1)
    sums.busy[:] += np.cumsum(heights)[:-1] << window.shift
    np.add.at(sums.busy, last, end - (last << window.shift))
    for i, far in zip(there, ends, strict=True):
        stop = min(int((int(far.max()) - window.begin) >> window.shift), window.count - 1) + 1
        reach = slice(int(step[i]) + 1, stop)
        ids[0][reach] = np.minimum(ids[0][reach], int(columns["least"][i]))
        ids[1][reach] = np.maximum(ids[1][reach], int(columns["most"][i]))


class CounterSource:
    """Numbers that hold until the next one: a question with the columns track, t (ns) and value."""

    def __init__(self, run: Run, rows: str, zero: int) -> None:
        self._run = run
        self._rows = rows
        self._zero = zero

    def extremes(self, window: Window, series: Sequence[str]) -> dict[str, tuple[Floats, Floats]]:
        """Return the least and the largest value in each step, the one that holds at its begin too; NaN before any."""
        end = window.end + self._zero
        among = ", ".join(map(quote_text, series))
        step = f"((t - {self._zero}) >> {window.shift}) - {window.first}"
        columns = self._run(
            f"""
            SELECT track::VARCHAR AS track, greatest({step}, -1) AS step,
                   min(value)::DOUBLE AS low, max(value)::DOUBLE AS high, arg_max(value, t)::DOUBLE AS last
            FROM ({self._rows}) WHERE t < {end} AND track IN ({among}) GROUP BY ALL ORDER BY step
            """
        )
        track = columns["track"].astype(str)
        return {name: _held(window.count, {k: v[track == name] for k, v in columns.items()}) for name in series}

    def totals(self, begin: int, end: int, series: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return what a stretch of time has: (series, values in it, least, mean over time, largest)."""
        a, b = begin + self._zero, end + self._zero
        among = ", ".join(map(quote_text, series))
        columns = self._run(
            f"""
            WITH held AS (
              SELECT track::VARCHAR AS track, t, value, lead(t, 1, {b}) OVER (PARTITION BY track ORDER BY t) AS until
              FROM ({self._rows}) WHERE t < {b} AND track IN ({among})
            )
            SELECT track, count(*) FILTER (t >= {a})::BIGINT AS n, min(value)::DOUBLE AS low,
                   (sum(value * (until - greatest(t, {a}))) / sum(until - greatest(t, {a})))::DOUBLE AS mean,
                   max(value)::DOUBLE AS high
            FROM held WHERE until > {a} GROUP BY track ORDER BY track
            """
        )
        return list(zip(*(columns[key].tolist() for key in ("track", "n", "low", "mean", "high")), strict=True))


def _held(count: int, columns: Columns) -> tuple[Floats, Floats]:
    low, high, last = (np.full(count + 1, np.nan) for _ in range(3))
    at = columns["step"].astype(np.int64) + 1  # the first cell is what held before
    low[at], high[at], last[at] = columns["low"], columns["high"], columns["last"]
    known = np.where(np.isnan(last), 0, np.arange(count + 1))
    held = last[np.maximum.accumulate(known)]
    before = held[:-1]
    return np.fmin(low[1:], before), np.fmax(high[1:], before)
