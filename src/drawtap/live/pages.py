"""The two pages that the manager shares with a program: native/common/live.h in Python.

The manager makes and writes the control page; the program makes and writes the page of statistics. Neither is mapped
before its seals say that it cannot shrink: a page that the other side truncates would end this process.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import functools
import math
import mmap
import os
import platform
import struct
import time
from collections.abc import Callable
from ctypes import c_int64, c_uint64, c_void_p
from typing import cast

import numpy as np
from numpy.typing import NDArray

from drawtap.errors import InputError, UnavailableError
from drawtap.live.program import Limit, Pacing, Surface, Value
from drawtap.parts import core
from drawtap.trace.library import Library, Signature

VERSION = 1
CONTROL_MAGIC = 0x314C544350415444
STATS_MAGIC = 0x3154535450415444
SURFACES = 16
RING = 1024
VALUES = 32

CONTROL_BYTES = 4096
_WORD, _LEASE, _INTERVAL, _PACING, _SPIN, _LETTERS, _LIMITS = 12, 16, 24, 32, 36, 40, 48
STATS_HEADER = 4096
_FRAME = struct.Struct("<QII")  # shown_ns wait_ns swap_ns
SURFACE_BYTES = 4096 + RING * _FRAME.size
STATS_BYTES = STATS_HEADER + SURFACES * SURFACE_BYTES
_RECORDING, _ALL_FRAMES, _SEEN_WORD, _OWN_INTERVAL, _OWN_PACING = 16, 24, 32, 40, 48
_SURFACE = struct.Struct("<QIIQQiiiIQQQQ")  # key generation kind display handle width height interval tid frames ...
_VALUES = 1024
_VALUE = struct.Struct("<40sQQd")  # name set_ns sets value
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
        """Set the limit of one surface in place of the program's, None for that again. False: the page has no more."""
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


class _Counts(ctypes.Structure):
    _fields_ = (("frames", c_uint64), ("lost", c_uint64), ("begin", c_uint64), ("end", c_uint64))


@functools.cache
def _reader() -> Callable[..., int]:
    arguments: Signature = (c_void_p, c_void_p, c_void_p, c_uint64, c_int64, c_int64)
    library = Library(core(), "dt", {}, {"dt_live_frames": (c_uint64, arguments)}, streams=False)
    return cast("Callable[..., int]", library.dt_live_frames)


class _Seen:
    """The frames of a surface that were read so far. Rows that were handed out never change.

    New frames come behind, and where there is no more room the rest moves to new rows.
    """

    def __init__(self, key: int, generation: int) -> None:
        self.key, self.generation = key, generation
        self.counts = _Counts()
        self._counts_at = ctypes.addressof(self.counts)
        self._make_rows(RING)

    def _make_rows(self, room: int) -> None:
        self._rows = np.empty((3, room), np.int64)
        self._room, self._rows_at = room, self._rows.ctypes.data

    def read(self, surface_at: int, now_ns: int, oldest_ns: int) -> NDArray[np.int64]:
        """Read what is new; return shown, wait and swap of the last frames as three rows."""
        counts = self.counts
        while lacking := _reader()(surface_at, self._counts_at, self._rows_at, self._room, now_ns, oldest_ns):
            kept = self._rows[:, counts.begin : counts.end]
            self._make_rows(max(RING, 2 * (kept.shape[1] + lacking)))
            counts.begin, counts.end = 0, kept.shape[1]
            self._rows[:, : counts.end] = kept
        return self._rows[:, counts.begin : counts.end]


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
        self._at = np.frombuffer(self._map, np.uint8).ctypes.data
        self._seen: dict[int, _Seen] = {}
        self._all_frames = -1
        self._used = 0
        self._surfaces: tuple[Surface, ...] = ()

    @property
    def recording(self) -> bool:
        """Tell whether the program's calls are recorded now."""
        return bool(struct.unpack_from("<I", self._map, _RECORDING)[0])

    @property
    def own_limit(self) -> Limit | None:
        """Return the limit that the program was started with."""
        interval_ns, pacing = struct.unpack_from("<QI", self._map, _OWN_INTERVAL)
        if not 100_000 <= interval_ns <= 1_000_000_000:
            return None
        fps = round(1e9 / interval_ns, 2)
        return Limit(fps, "it was started with that", "start", Pacing.LATE if pacing else Pacing.EARLY, chosen=True)

    @property
    def frames(self) -> int:
        """Return the number of frames of all surfaces."""
        return int(struct.unpack_from("<Q", self._map, _ALL_FRAMES)[0])

    def values(self, now_ns: int) -> dict[str, Value]:
        """Return the program's own numbers by name; none that are no numbers, or were set in the future."""
        values_: dict[str, Value] = {}
        for at in range(_VALUES, _VALUES + VALUES * _VALUE.size, _VALUE.size):
            name, set_ns, sets, value = _VALUE.unpack_from(self._map, at)
            if not set_ns:
                break  # places are taken in order
            if math.isfinite(value) and set_ns <= max(now_ns, time.monotonic_ns()):
                text = name.partition(b"\0")[0].decode(errors="replace")
                values_[text] = Value(value, set_ns, sets & _COUNT)
        return values_

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
        seen = self._seen.get(index)
        if seen is None or (seen.key, seen.generation) != (key, generation) or frames & _COUNT < seen.counts.frames:
            seen = self._seen[index] = _Seen(key, generation)
        rows = seen.read(self._at + at, now_ns, now_ns - self._keep_ns)
        return Surface(
            key,
            KINDS.get(kind, "other"),
            handle,
            max(width, 0),
            max(height, 0),
            interval if interval >= 0 else None,
            seen.counts.frames,
            seen.counts.lost,
            *rows,
        )

    def close(self) -> None:
        """Give the page up."""
        self._map.close()
