"""Frames of a recording as columns: thousands of them are read before the page has its first row."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from drawtap.trace.trace import Trace

    _Column: TypeAlias = tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_]]

_SHOWN = ("first_seq", "end_seq", "t_start", "duration", "draws", "upload_bytes")


class Frames:
    """The rows of the table `frames`; calls behind the last frame end stand in one more row, like a frame."""

    def __init__(self, trace: Trace) -> None:
        self._columns = _read(trace, (*_SHOWN, "t_end"))
        first, end = (self._columns[name][0].tolist() for name in ("first_seq", "end_seq"))
        self._whole, calls = len(end), trace.info["calls"]
        behind = end[-1] if end else 0
        rest = [(behind, calls)] if behind < calls else []
        self._ranges: list[tuple[int, int]] = [*zip(first, end, strict=True), *rest]

    def __len__(self) -> int:
        return len(self._ranges)

    def range_of(self, frame: int) -> tuple[int, int]:
        """Return the first call of a frame, and the one behind its last. Raises IndexError where there is none."""
        return self._ranges[frame]

    def of(self, seq: int) -> int:
        """Return the frame that a call is in."""
        return bisect.bisect_right(self._ranges, seq, key=lambda of: of[1])

    def spans(self) -> list[list[int]]:
        """Return three columns of the frames with times: number, beginning and end in ns; without the calls behind."""
        (begin, begun), (end, ended) = self._columns["t_start"], self._columns["t_end"]
        timed = begun & ended
        return [np.flatnonzero(timed).tolist(), begin[timed].tolist(), end[timed].tolist()]

    def content(self) -> bytes:
        """Return columns one after the other as little-endian doubles; NaN where there is no value.

        first_seq, end_seq, t_start, duration (ns), draws, upload_bytes.
        """
        found = np.full((len(_SHOWN), len(self)), np.nan, "<f8")
        for column, name in zip(found, _SHOWN, strict=True):
            values, known = self._columns[name]
            column[: self._whole][known] = values[known]
        found[:2, self._whole :] = np.array(self._ranges[self._whole :], "<f8").reshape(-1, 2).T
        return found.tobytes()


def _read(trace: Trace, names: tuple[str, ...]) -> dict[str, _Column]:
    """Return columns of numbers of the table `frames`: values, and whether there is one."""
    import nanoarrow

    stream = nanoarrow.c_array_stream(trace.core.table("frames"))
    schema = stream.get_schema()
    places = {schema.child(i).name: i for i in range(schema.n_children)}
    found: dict[str, _Column] = {name: (np.zeros(0, np.int64), np.zeros(0, bool)) for name in names}
    for batch in stream:  # one, or none where there are no rows
        view = batch.view()
        for name in names:
            column = view.child(places[name])
            bits, values = (np.array(column.buffer(i)) for i in range(2))  # a view dies with its batch
            known = np.unpackbits(bits, count=column.length, bitorder="little").astype(bool)
            found[name] = values, known if len(bits) else np.ones(column.length, bool)
    return found
