"""The largest index of draws whose indices stand in a buffer, however they got there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from drawtap.errors import DrawtapError
from drawtap.trace.result import Row
from drawtap.trace.snapshot import Computed

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_DTYPES = {5121: "u1", 5123: "<u2", 5125: "<u4"}
_MOST_BYTES = 256 << 20  # of content that is looked at
_Buffer = tuple[object, object]  # share group and name

# The changes, in order, of buffers that indices are read from or copied from, and which part of which version draws
# read. A version is the call that changed the buffer last.
_READ = """
WITH reads AS (
    SELECT x.seq, g.share_group, d.index_buffer AS buffer, x.type, x.count, x.start
    FROM index_draws x JOIN draws d ON d.seq = x.seq JOIN contexts g ON g.context = x.context
    WHERE d.index_buffer <> 0 AND x.count > 0
), wanted AS (
    SELECT DISTINCT r.share_group, r.buffer FROM reads r
    UNION SELECT DISTINCT c.share_group, c.source FROM buffer_changes c WHERE c.source IS NOT NULL
), versions AS (
    SELECT w.seq, r.share_group, r.buffer, r.type, r.count, r.start
    FROM reads r ASOF JOIN buffer_changes w
      ON w.share_group = r.share_group AND w.buffer = r.buffer AND w.seq <= r.seq
    GROUP BY ALL
)
SELECT c.seq, 0 AS reads, c.share_group, c.buffer, c.kind, c.start, c.bytes, c.source, c.source_start, c.blob, c.data
FROM buffer_changes c JOIN wanted n ON n.share_group = c.share_group AND n.buffer = c.buffer
UNION ALL
SELECT v.seq, 1, v.share_group, v.buffer, v.type::VARCHAR, v.start, v.count, NULL, NULL, NULL, NULL FROM versions v
ORDER BY 1, 2, CASE kind WHEN 'mapped' THEN 0 ELSE 1 END
"""


def _last(trace: Trace, rows: Sequence[Row]) -> Iterator[Row]:
    contents = _Contents(trace)
    for row in rows:
        seq, reads, share, buffer, kind, start, number = row[:7]
        if not reads:
            contents.change(row)
            continue
        data = contents.of.get((share, buffer))
        dtype = _DTYPES.get(int(kind))
        if data is None or dtype is None:
            continue
        first, count, size = int(start), int(number), np.dtype(dtype).itemsize
        part = bytes(data[first : first + count * size])
        indices = np.frombuffer(part[: len(part) // size * size], dtype)
        # All ones may mean that a strip begins anew.
        indices = indices[indices != np.iinfo(dtype).max]
        last = int(indices.max()) if len(indices) else -1
        yield seq, share, buffer, int(kind), count, first, last, first + count * size


class _Contents:
    """The known contents of buffers, while changes are gone through in order."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._read = 0
        self.of: dict[_Buffer, bytearray | None] = {}

    def change(self, row: Row) -> None:
        seq, _, share, buffer, kind, start, size, source, source_start, blob, data = row
        key = (share, buffer)
        length, at = int(size or 0), int(start or 0)
        if kind == "copied":
            origin = self.of.get((share, source))
            first = int(source_start or 0)
            self._put(key, at, None if origin is None else bytes(origin[first : first + length]))
        elif kind == "mapped":
            self._put(key, at, self._mapped(blob, data))
        elif kind == "part":
            self._put(key, at, self._given(int(seq)))
        elif kind == "whole":
            # Without content it has none: what a draw reads then is no index to complain of.
            given = self._given(int(seq), empty=b"")
            self.of[key] = (
                None if given is None or length > _MOST_BYTES else bytearray(given[:length].ljust(length, b"\0"))
            )
        else:
            self.of[key] = None

    def _put(self, key: _Buffer, at: int, content: bytes | None) -> None:
        target = self.of.get(key)
        if target is None or content is None or at + len(content) > len(target):
            self.of[key] = None
        else:
            target[at : at + len(content)] = content

    def _mapped(self, blob: object, data: object) -> bytes | None:
        if isinstance(data, bytes):
            return data
        try:
            return self._counted(self._trace.blob(blob)) if isinstance(blob, str) else None
        except DrawtapError:
            return None

    def _given(self, seq: int, empty: bytes | None = None) -> bytes | None:
        try:
            data = self._trace.calls[seq].args.get("data")
        except DrawtapError:
            return None
        return empty if data is None else self._counted(data) if isinstance(data, bytes) else None

    def _counted(self, content: bytes) -> bytes | None:
        self._read += len(content)
        return content if self._read <= _MOST_BYTES else None


#: (seq, share_group, buffer, type, count, start): the largest index in a version of a buffer, and how many bytes of the
#: buffer the indices themselves reach.
INDEX_ENDS = Computed(
    _READ,
    "seq BIGINT, share_group BIGINT, buffer BIGINT, type BIGINT, count BIGINT, start BIGINT, last BIGINT, "
    "needed BIGINT",
    _last,
)
