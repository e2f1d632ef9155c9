"""A set of calls as bits: one bit a call, so that 50 million calls take 6 MB and any position is found at once."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

_BLOCK = 4096  # calls counted together; a multiple of 8


class CallSet:
    """The calls that a filter keeps, in order. Positions count from 0."""

    def __init__(self, size: int, seqs: npt.NDArray[np.generic]) -> None:
        """`size`: calls of the recording. `seqs`: calls in any order; numbers beyond `size` are left out."""
        growing = Growing(size)
        growing.add(seqs, size)
        self._keep(size, growing.bits)

    def _keep(self, size: int, bits: npt.NDArray[np.bool_]) -> None:
        self.size = size
        self._before = np.concatenate(([0], np.cumsum(bits.reshape(-1, _BLOCK).sum(axis=1, dtype=np.int64))))
        self._bytes = np.packbits(bits, bitorder="little")

    def __len__(self) -> int:
        return int(self._before[-1])

    def __contains__(self, seq: int) -> bool:
        return 0 <= seq < self.size and bool(self._bytes[seq >> 3] >> (seq & 7) & 1)

    def rank(self, seq: int) -> int:
        """Return how many calls of the set stand before `seq`."""
        seq = min(max(seq, 0), self.size)
        block = seq // _BLOCK
        return int(self._before[block]) + int(self._bits(block)[: seq - block * _BLOCK].sum())

    def within(self, first: int, end: int) -> npt.NDArray[np.int64]:
        """Return the numbers of the set's calls from `first` to before `end`."""
        first, end = max(first, 0), min(end, self.size)
        begin = first >> 3
        bits = np.unpackbits(self._bytes[begin : -(-max(end, first) // 8)], bitorder="little")
        return np.flatnonzero(bits[first - 8 * begin : max(end, first) - 8 * begin]) + first

    def select(self, position: int, count: int) -> list[int]:
        """Return the numbers of at most `count` calls from `position` on."""
        end = min(position + count, len(self))
        numbers: list[int] = []
        block = int(np.searchsorted(self._before, position, side="right")) - 1
        while position < end:
            seqs = np.flatnonzero(self._bits(block)) + block * _BLOCK
            skipped = position - int(self._before[block])
            part = seqs[skipped : skipped + end - position]
            numbers += part.tolist()
            position += len(part)
            block += 1
        return numbers

    def beside(self, seq: int, step: int) -> int | None:
        """Return the nearest call of the set behind `seq` (`step` 1) or before it (-1); None where there is none."""
        position = self.rank(seq + 1) if step > 0 else self.rank(seq) - 1
        return self.select(position, 1)[0] if 0 <= position < len(self) else None

    def density(self, buckets: int) -> list[int]:
        """Return how many calls of the set lie in each of `buckets` equal parts of the recording."""
        edges = [self.rank(self.size * i // buckets) for i in range(buckets + 1)]
        return [b - a for a, b in itertools.pairwise(edges)]

    def _bits(self, block: int) -> npt.NDArray[np.uint8]:
        start = block * _BLOCK // 8
        return np.unpackbits(self._bytes[start : start + _BLOCK // 8], bitorder="little")


class Growing:
    """The calls of a filter that still runs, of the first `until` calls. Other threads may look meanwhile."""

    def __init__(self, size: int) -> None:
        """`size`: calls of the recording."""
        self.size = size
        self.bits = np.zeros(-(-max(size, 1) // _BLOCK) * _BLOCK, dtype=bool)
        self.count = 0
        self.until = 0

    def add(self, seqs: npt.NDArray[np.generic], until: int) -> None:
        """Add calls that were not there, in any order, and say up to which call all are known now."""
        numbers = np.asarray(seqs).astype(np.intp)
        numbers = numbers[numbers < self.size]
        self.bits[numbers] = True
        self.count += len(numbers)
        self.until = until

    def density(self, buckets: int) -> list[int]:
        """Return how many calls lie in each of `buckets` equal parts of the recording, as far as they are known."""
        edges = [self.size * i // buckets for i in range(buckets + 1)]
        return [int(np.count_nonzero(self.bits[a:b])) for a, b in itertools.pairwise(edges)]

    def whole(self) -> CallSet:
        """Return the set, once all calls are known."""
        made = CallSet.__new__(CallSet)
        made._keep(self.size, self.bits)
        return made
