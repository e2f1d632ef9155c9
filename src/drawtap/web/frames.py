"""Frames of a recording as columns: thousands of them are read before the page has its first row."""

from __future__ import annotations

import bisect
import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from drawtap.trace.trace import Trace, open_trace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Column: TypeAlias = tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_]]

_STOP_S = 10  # how long reading may go on after it was stopped
_SHOWN = ("first_seq", "end_seq", "t_start", "duration", "draws", "upload_bytes")


class Opening:
    """A recording that is open, and its frames, which are read by a thread of their own after `begin`.

    So the frames are read while the modules of the server are loaded. Raises what `open_trace` raises; `close` it.
    """

    def __init__(self, path: Path, frame_end: str | None = None) -> None:
        self.trace = open_trace(path, frame_end=frame_end)
        self._batches: list[Any] | None = None
        self._reading = threading.Thread(target=self._read, daemon=True)

    def begin(self) -> Opening:
        """Begin to read the frames, once; return this."""
        self._reading.start()
        return self

    def _read(self) -> None:
        with contextlib.suppress(Exception):  # whoever wants the frames meets the same error, and says so
            self._batches = _batches(self.trace)

    def frames(self) -> Frames:
        """Return the frames; wait for them if they are being read. Raises what reading them raises."""
        if self._reading.ident is not None:
            self._reading.join()
        batches, self._batches = self._batches, None
        return Frames(self.trace, batches)

    def close(self) -> None:
        """Read no further, and close the recording."""
        if self._reading.is_alive():
            self.trace.cancel()
            self._reading.join(_STOP_S)
        self.trace.close()


class Frames:
    """The rows of the table `frames`; calls behind the last frame end stand in one more row, like a frame.

    `batches` are the rows as Arrow, where they are read already.
    """

    def __init__(self, trace: Trace, batches: list[Any] | None = None) -> None:
        self._columns = _columns(_batches(trace) if batches is None else batches, (*_SHOWN, "t_end"))
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
        import numpy as np

        (begin, begun), (end, ended) = self._columns["t_start"], self._columns["t_end"]
        timed = begun & ended
        return [np.flatnonzero(timed).tolist(), begin[timed].tolist(), end[timed].tolist()]

    def content(self) -> bytes:
        """Return columns one after the other as little-endian doubles; NaN where there is no value.

        first_seq, end_seq, t_start, duration (ns), draws, upload_bytes.
        """
        import numpy as np

        columns = np.full((len(_SHOWN), len(self)), np.nan, "<f8")
        for column, name in zip(columns, _SHOWN, strict=True):
            values, known = self._columns[name]
            column[: self._whole][known] = values[known]
        columns[:2, self._whole :] = np.array(self._ranges[self._whole :], "<f8").reshape(-1, 2).T
        return columns.tobytes()


def _batches(trace: Trace) -> list[Any]:
    """Return the rows of the table `frames` as Arrow: one batch, or none where there are no rows."""
    import nanoarrow

    return list(nanoarrow.c_array_stream(trace.core.table("frames")))


def _columns(batches: list[Any], names: tuple[str, ...]) -> dict[str, _Column]:
    """Return columns of numbers by name: values, and whether there is one."""
    import numpy as np

    columns: dict[str, _Column] = {name: (np.zeros(0, np.int64), np.zeros(0, bool)) for name in names}
    for batch in batches:
        schema, view = batch.schema, batch.view()
        places = {schema.child(i).name: i for i in range(schema.n_children)}
        for name in names:
            column = view.child(places[name])
            bits, values = (np.array(column.buffer(i)) for i in range(2))  # a view dies with its batch
            known = np.unpackbits(bits, count=column.length, bitorder="little").astype(bool)
            columns[name] = values, known if len(bits) else np.ones(column.length, bool)
    return columns
