"""The two pages that the manager shares with a program: native/common/live.h in Python.

The manager makes and writes the control page; the program makes and writes the page of statistics. Neither is mapped
before its seals say that it cannot shrink: a page that the other side truncates would end this process.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import struct
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from drawtap.errors import InputError, UnavailableError
from drawtap.live.program import Limit, Pacing, Surface

VERSION = 1
CONTROL_MAGIC = 0x314C544350415444
STATS_MAGIC = 0x3154535450415444
SURFACES = 16
RING = 1024

CONTROL_BYTES = 4096
_WORD, _LEASE, _INTERVAL, _PACING, _SPIN, _LETTERS, _LIMITS = 12, 16, 24, 32, 36, 40, 48
STATS_HEADER = 4096
_FRAME = struct.Struct("<QII")  # shown_ns wait_ns swap_ns
SURFACE_BYTES = 4096 + RING * _FRAME.size
STATS_BYTES = STATS_HEADER + SURFACES * SURFACE_BYTES
_RECORDING, _ALL_FRAMES, _SEEN_WORD = 16, 24, 32
_SURFACE = struct.Struct("<QIIQQiiiIQQQQ")  # key generation kind display handle width height interval tid frames ...
_FRAMES_AT = 48  # of dt_live_surface.frames in its slot
_NO_KEY = bytes(8)
_COUNT = (1 << 62) - 1  # a count beyond it is nonsense, and does not fit numpy's numbers
KINDS = {1: "egl", 2: "glx"}

# Sent as they are in memory: natural alignment, no padding inside.
MAGIC = 0x4556494C
HELLO = struct.Struct("<IIII1024s32s")
WELCOME = struct.Struct("<IIII")
LETTER = struct.Struct("<IIII112s")
LETTER_TRACE, LETTER_STOP, LETTER_BEGUN, LETTER_REFUSED, LETTER_OVER, LETTER_MARK = 1, 2, 3, 4, 5, 6
HELLO_RECORDING = 1

_F_ADD_SEALS, _F_GET_SEALS = 1033, 1034
SEAL_SEAL, SEAL_SHRINK, SEAL_GROW, SEAL_FUTURE_WRITE = 1, 2, 4, 16

_FUTEX = {"x86_64": 202, "aarch64": 98}
_FUTEX_WAKE = 1
_libc = ctypes.CDLL(None, use_errno=True)


def futex_wake(address: int) -> None:
    """Wake everybody who sleeps on the 32-bit word at `address`."""
    number = _FUTEX.get(platform.machine())
    if number is not None:
        _libc.syscall(
            ctypes.c_long(number), ctypes.c_void_p(address), ctypes.c_int(_FUTEX_WAKE), ctypes.c_int(2**31 - 1)
        )


class ControlPage:
    """The page through which the manager tells one program what holds. `fd` is what the program is given."""

    def __init__(self) -> None:
        try:
            self.fd = os.memfd_create("drawtap-control", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError as error:
            raise UnavailableError(f"no page can be made for a program: {error.strerror}") from error
        os.ftruncate(self.fd, CONTROL_BYTES)
        self._map = mmap.mmap(self.fd, CONTROL_BYTES)
        self._bytes = (ctypes.c_char * CONTROL_BYTES).from_buffer(self._map)
        self._word = ctypes.c_uint32.from_buffer(self._map, _WORD)
        self._lease = ctypes.c_uint64.from_buffer(self._map, _LEASE)
        self._interval = ctypes.c_uint64.from_buffer(self._map, _INTERVAL)
        self._pacing = ctypes.c_uint32.from_buffer(self._map, _PACING)
        self._spin = ctypes.c_uint32.from_buffer(self._map, _SPIN)
        self._letters = ctypes.c_uint32.from_buffer(self._map, _LETTERS)
        self._surfaces = (ctypes.c_uint64 * (2 * SURFACES)).from_buffer(self._map, _LIMITS)
        struct.pack_into("<QI", self._bytes, 0, CONTROL_MAGIC, VERSION)
        seals = SEAL_SHRINK | SEAL_GROW | SEAL_FUTURE_WRITE
        try:
            fcntl.fcntl(self.fd, _F_ADD_SEALS, seals | SEAL_SEAL)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            # Before Linux 5.1 a page cannot be kept from being written: a program can only mislead itself with it.
            fcntl.fcntl(self.fd, _F_ADD_SEALS, SEAL_SHRINK | SEAL_GROW | SEAL_SEAL)

    def renew(self, lease_ns: int) -> None:
        """Let what stands here hold until `lease_ns`."""
        self._lease.value = lease_ns

    def hold(self, limit: Limit | None, *, spin_ns: int = 0) -> None:
        """Set the program's limit, None for none. Takes effect at once, also for a frame that is waiting."""
        interval = limit.interval_ns if limit else 0
        pacing = 1 if limit and limit.pacing == Pacing.LATE else 0
        if (interval, pacing, spin_ns) == (self._interval.value, self._pacing.value, self._spin.value):
            return
        self._pacing.value = pacing
        self._spin.value = spin_ns
        self._interval.value = interval
        self._changed()

    def hold_surface(self, key: int, limit: Limit | None) -> bool:
        """Set the limit of one surface in place of the program's, None for that again. False: no more can be told."""
        keys = list(self._surfaces[::2])
        place = keys.index(key) if key in keys else keys.index(0) if 0 in keys and limit else -1
        if place < 0:
            return limit is None
        self._surfaces[2 * place + 1] = limit.interval_ns if limit else 0
        self._surfaces[2 * place] = key if limit else 0
        self._changed()
        return True

    def announce_letter(self) -> None:
        """Tell the program that a packet was sent to it."""
        self._letters.value += 1
        self._changed()

    @property
    def letters(self) -> int:
        """Return the packets announced so far."""
        return int(self._letters.value)

    @property
    def word(self) -> int:
        """Return the number of changes so far."""
        return int(self._word.value)

    def _changed(self) -> None:
        self._word.value = (self._word.value + 1) & 0xFFFFFFFF
        futex_wake(ctypes.addressof(self._word))

    def close(self) -> None:
        """Free the program and give the page up."""
        if self.fd < 0:
            return
        self._lease.value = 0
        self._interval.value = 0
        self._changed()
        del self._bytes, self._word, self._lease, self._interval, self._pacing, self._spin, self._letters
        del self._surfaces
        self._map.close()
        os.close(self.fd)
        self.fd = -1


@dataclass
class _Seen:
    key: int = 0
    generation: int = -1
    frames: int = 0
    lost: int = 0
    # Shown, wait and swap; what is remembered stands in the columns from `begin` to `end`. What was handed out of them
    # never changes: new frames come behind, and where there is no more room the rest moves to new rows.
    rows: NDArray[np.int64] = field(default_factory=lambda: np.empty((3, RING), np.int64))
    begin: int = 0
    end: int = 0

    def room(self, count: int) -> NDArray[np.int64]:
        """Return `count` columns behind `end`."""
        if self.end + count > self.rows.shape[1]:
            kept = self.rows[:, self.begin : self.end]
            self.rows = np.empty((3, max(RING, 2 * (kept.shape[1] + count))), np.int64)
            self.begin, self.end = 0, kept.shape[1]
            self.rows[:, : self.end] = kept
        return self.rows[:, self.end : self.end + count]


class StatsPage:
    """A program's own page, read only. Nothing on it is believed: times are sorted out, counts are taken modulo."""

    def __init__(self, fd: int, *, keep_ns: int = 4_000_000_000) -> None:
        """Map the page behind `fd`, which stays the caller's. Raises InputError for one that is not safe to map."""
        self._keep_ns = keep_ns
        try:
            seals = fcntl.fcntl(fd, _F_GET_SEALS)
        except OSError as error:
            raise InputError("the page of a program is no memfd") from error
        if not (seals & SEAL_SHRINK and seals & SEAL_SEAL):
            raise InputError("the page of a program is not sealed against shrinking")
        if os.fstat(fd).st_size != STATS_BYTES:
            raise InputError(f"the page of a program has {os.fstat(fd).st_size} bytes, not {STATS_BYTES}")
        self._map = mmap.mmap(fd, STATS_BYTES, prot=mmap.PROT_READ)
        magic, version, self.inner_pid = struct.unpack_from("<QII", self._map, 0)
        if (magic, version) != (STATS_MAGIC, VERSION):
            self._map.close()
            raise InputError("the page of a program has another layout", hint="both sides must be of one version")
        self._seen = [_Seen() for _ in range(SURFACES)]
        self._rings: dict[int, tuple[NDArray[np.int64], NDArray[np.uint32]]] = {}
        self._all_frames = -1
        self._used = 0
        self._surfaces: tuple[Surface, ...] = ()

    @property
    def recording(self) -> bool:
        """Tell whether the program's calls are recorded now."""
        return bool(struct.unpack_from("<I", self._map, _RECORDING)[0])

    @property
    def frames(self) -> int:
        """Return the number of frames of all surfaces."""
        return int(struct.unpack_from("<Q", self._map, _ALL_FRAMES)[0])

    def surfaces(self, now_ns: int) -> tuple[Surface, ...]:
        """Return the surfaces with their frames of the last seconds, the one shown first in front."""
        frames = self.frames
        if frames != self._all_frames:
            self._all_frames = frames
            # Places are taken in order, and never given back: behind the first free one there is nothing.
            while self._used < SURFACES and self._map[(at := self._place(self._used)) : at + 8] != _NO_KEY:
                self._used += 1
            self._surfaces = tuple([s for i in range(self._used) if (s := self._surface(i, now_ns))])
        return self._surfaces

    def _place(self, index: int) -> int:
        return STATS_HEADER + index * SURFACE_BYTES

    def _surface(self, index: int, now_ns: int) -> Surface | None:
        at = self._place(index)
        key, generation, kind, _, handle, width, height, interval, _, frames, *_ = _SURFACE.unpack_from(self._map, at)
        if not key:
            return None
        frames &= _COUNT
        seen = self._seen[index]
        if (seen.key, seen.generation) != (key, generation) or frames < seen.frames:
            seen = self._seen[index] = _Seen(key, generation)
        if frames > seen.frames:
            self._read(seen, at, frames, now_ns)
        rows, chosen = seen.rows, slice(seen.begin, seen.end)
        return Surface(
            key,
            KINDS.get(kind, "other"),
            handle,
            max(width, 0),
            max(height, 0),
            interval if interval >= 0 else None,
            frames,
            seen.lost,
            rows[0, chosen],
            rows[1, chosen],
            rows[2, chosen],
        )

    def _ring(self, at: int) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return the times of a surface's frames as they stand in its ring, and the lengths of wait and swap."""
        if at not in self._rings:
            words = np.frombuffer(self._map, "<i8", 2 * RING, at + 4096)
            self._rings[at] = (words[::2], words.view("<u4").reshape(RING, 4)[:, 2:].T)
        return self._rings[at]

    def _read(self, seen: _Seen, at: int, frames: int, now_ns: int) -> None:
        # 64 programs are read four times a second: every call of numpy's that is not made counts.
        first = max(seen.frames, frames - RING)
        count = frames - first
        oldest = now_ns - self._keep_ns
        seen.begin += int(seen.rows[0, seen.begin : seen.end].searchsorted(oldest))
        new = seen.room(count)
        times, lengths = self._ring(at)
        begin, end = first % RING, (frames - 1) % RING + 1
        if begin < end:
            new[0], new[1:] = times[begin:end], lengths[:, begin:end]
        else:
            new[0, : RING - begin], new[1:, : RING - begin] = times[begin:], lengths[:, begin:]
            new[0, RING - begin :], new[1:, RING - begin :] = times[:end], lengths[:, :end]
        after = struct.unpack_from("<Q", self._map, at + _FRAMES_AT)[0] & _COUNT
        # What was written while we read may be mixed: the place of frame `after` is being filled now.
        torn = min(max(0, after + 1 - RING - first), count)
        seen.lost += first - seen.frames + torn
        seen.frames = frames
        last = int(seen.rows[0, seen.end - 1]) if seen.end > seen.begin else 0
        # Others were read since the look began: what was shown in between is no frame of the future.
        now_ns = max(now_ns, time.monotonic_ns())
        shown = new[0].tolist()
        if torn or not max(last, oldest + 1) <= shown[0] <= shown[-1] <= now_ns or shown != sorted(shown):
            count = self._set_right(new, torn, last, oldest, now_ns)
        seen.end += count

    @staticmethod
    def _set_right(new: NDArray[np.int64], torn: int, last: int, oldest: int, now_ns: int) -> int:
        """Bring what is left of `new` without what cannot be to its front, in order; return how much that is."""
        whole = new[:, torn:]
        times = whole[0]
        if (times[1:] < times[:-1]).any() or (len(times) and not (oldest < times[0] and times[-1] <= now_ns)):
            whole = whole[:, (times > oldest) & (times <= now_ns)]
            np.maximum.accumulate(whole[0], out=whole[0])
        count = int(whole.shape[1])
        new[:, :count] = whole.copy()
        np.maximum(new[0, :count], last, out=new[0, :count])
        return count

    def close(self) -> None:
        """Give the page up."""
        self._rings.clear()
        self._map.close()
