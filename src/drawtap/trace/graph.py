"""Bind the graph of which calls need which (`native/extract/graph.h`).

Sets of calls are numpy arrays of booleans, one element a call; they cross to the core as bits.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from drawtap.parts import STATE, part
from drawtap.trace.core import Part
from drawtap.trace.library import Handle, Library, Signature

if TYPE_CHECKING:
    from drawtap.trace.opened import OpenRecording

Calls: TypeAlias = npt.NDArray[np.bool_]

APPLIED, SETS, SAME, DRAWS, UPLOADS, REPEATS, COPIES, READS_BACK = (1 << bit for bit in range(8))
SHOWS, ENDS_FRAME, ASKS, MAKES, ENDS, COMPILES, FLUSHES, CHANGES = (1 << bit for bit in range(8, 16))

_LEAN = 1
EVERYWHERE = 2**32 - 1
ALWAYS = 2**64 - 1

# A guess: what is drawn to a content (EVERYWHERE: to any) paints over what was there when the frame that begins with a
# call (ALWAYS: any frame) began. As (content, call).
Fresh: TypeAlias = tuple[int, int]
_MOST_CROSSED = 4096


class _CFresh(ctypes.Structure):
    _fields_ = (("from", c_uint64), ("location", c_uint32), ("reserved", c_uint32))


class Stop:
    """A wish that the making of a graph ends; `set` it from any thread."""

    def __init__(self) -> None:
        self.flag = c_uint32()

    def set(self) -> None:
        """Let whoever makes the graph end soon, with Cancelled."""
        self.flag.value = 1


class Graph(Handle):
    """The graph of needs between the calls of a trace.

    `lean`: calls that set what was set already, or upload what was there already, are nobody's need. Making one walks
    the whole trace once; it raises Cancelled once `stop` is set.
    """

    CLOSE, WHAT, HINT = "dt_graph_close", "the graph", "make it again"

    def __init__(self, trace: OpenRecording, *, lean: bool = True, stop: Stop | None = None) -> None:
        library = _library()
        path, rule = os.fsencode(trace.path), trace.frame_end.encode()
        flag = (stop or Stop()).flag
        super().__init__(library, library.dt_graph_make, path, rule, _LEAN if lean else 0, byref(flag))
        flags, count = POINTER(c_uint16)(), c_uint64()
        library.dt_graph_flags(self.handle, byref(flags), byref(count))
        self.calls = count.value
        #: what is known of each call: the bits above.
        self.flags: npt.NDArray[np.uint16] = (
            np.ctypeslib.as_array(flags, (self.calls,)) if self.calls else np.zeros(0, np.uint16)
        )

    def close(self) -> None:
        """Free it; `flags` stay."""
        if self._handle is not None:
            self.flags = self.flags.copy()
        super().close()

    def __del__(self) -> None:
        """Free it without a copy of `flags`, which nobody can ask for any more."""
        self.flags = np.zeros(0, np.uint16)
        super().__del__()

    def frame_roots(self, frames: range) -> list[int]:
        """Return the calls that make the images of frames what they are."""
        room = 2 * len(frames) + 2
        roots, count = (c_uint64 * room)(), c_uint64(room)
        self._lib.dt_graph_frame_roots(self.handle, frames.start, frames.stop, roots, byref(count))
        return list(roots[: count.value])

    def last_draw(self, seq: int) -> int | None:
        """Return the last call at or before `seq` that drew in the context that was current there."""
        draw = c_uint64()
        any_draw = self._lib.dt_graph_last_draw(self.handle, seq, byref(draw))
        return draw.value if any_draw else None

    def closure(
        self,
        roots: Sequence[int] | npt.NDArray[np.uint64],
        without: Calls | None = None,
        fresh: Sequence[Fresh] = (),
    ) -> Calls:
        """Return all calls that the roots need, and the roots.

        Those of `without` are left out, with all that need an object that they make; who reads what they wrote
        depends on who had written it before. `fresh` are guesses to go by.
        """
        guesses = (_CFresh * len(fresh))(*(_CFresh(call, content, 0) for content, call in fresh))
        wanted = np.ascontiguousarray(roots, np.uint64)
        keep = np.zeros((self.calls + 7) // 8 or 1, np.uint8)
        left_out = None if without is None else _pointer(packed(without))
        self._lib.dt_graph_closure(
            self.handle, _roots(wanted), len(wanted), left_out, guesses, len(fresh), _pointer(keep)
        )
        return self._unpacked(keep)

    def map_writes(self, keep: Calls) -> npt.NDArray[np.uint8]:
        """Return which rows of `map_writes` a trace of these calls has, one bit a row, the lowest of a byte first.

        Those are the rows that its calls need, and those right before them. Empty: there is no such row.
        """
        bits, count = _pointer(packed(keep)), c_uint64(0)
        self._lib.dt_graph_map_writes(self.handle, bits, None, byref(count))
        rows = np.zeros(count.value, np.uint8)
        if count.value:
            self._lib.dt_graph_map_writes(self.handle, bits, _pointer(rows), byref(count))
        return rows

    def part(self, trace: OpenRecording, keep: Calls, *, images: Calls) -> Part:
        """Return these calls to be written, with what was stored through mappings for them.

        `images`: the calls whose image is still the program's.
        """
        stored = self.map_writes(keep)
        return Part(
            trace.core,
            keep=packed(keep).tobytes(),
            keep_map_writes=stored.tobytes() if len(stored) else None,
            keep_images=packed(images).tobytes(),
        )

    def crossed(self, roots: Sequence[int]) -> list[int]:
        """Return the contents that are drawn over from frame to frame, among what the roots need."""
        wanted = np.ascontiguousarray(roots, np.uint64)
        locations, count = (c_uint32 * _MOST_CROSSED)(), c_uint64(_MOST_CROSSED)
        self._lib.dt_graph_crossed(self.handle, _roots(wanted), len(wanted), locations, byref(count))
        return list(locations[: min(count.value, _MOST_CROSSED)])

    def waste(self, *, answers: bool = False) -> npt.NDArray[np.uint8]:
        """Return for each call what it did for nothing, as `dt_graph_waste` numbers it; 0: nothing known.

        `answers`: what the program asked the driver for counts as needed.
        """
        kinds = np.zeros(max(self.calls, 1), np.uint8)
        self._lib.dt_graph_waste(self.handle, int(answers), _pointer(kinds))
        return kinds[: self.calls]

    def programs(self) -> npt.NDArray[np.uint64]:
        """Return rows of (seq, program): from that call on calls are about that program.

        It is the one that a call sets something of, else the one in use; 0: none.
        """
        count = c_uint64(0)
        self._lib.dt_graph_programs(self.handle, None, byref(count))
        pairs = np.zeros((count.value, 2), np.uint64)
        self._lib.dt_graph_programs(self.handle, _roots(pairs), byref(count))
        return pairs

    def needs(self, seq: int) -> list[int]:
        """Return the calls that a call needs directly."""
        count = c_uint64(0)
        self._lib.dt_graph_needs(self.handle, seq, None, byref(count))
        calls = (c_uint64 * max(count.value, 1))()
        self._lib.dt_graph_needs(self.handle, seq, calls, byref(count))
        return list(calls[: count.value])

    def size(self) -> dict[str, int]:
        """Return how large it is: `edges`, `gatherings`, `locations`; and `looks` at locations that its edges took."""
        numbers = (c_uint64 * 4)()
        self._lib.dt_graph_size(self.handle, numbers)
        return dict(zip(("edges", "gatherings", "locations", "looks"), numbers, strict=True))

    def _unpacked(self, bits: npt.NDArray[np.uint8]) -> Calls:
        return np.unpackbits(bits, bitorder="little")[: self.calls].astype(np.bool_)


def waste_table(kinds: npt.NDArray[np.uint8], programs: npt.NDArray[np.uint64]) -> object:
    """Return the table `redundancy` of `Graph.waste` and `Graph.programs`, as a capsule "arrow_array_stream"."""
    library = _library()
    return library.stream(library.dt_graph_waste_table, _pointer(kinds), len(kinds), _roots(programs), len(programs))


def packed(calls: Calls) -> npt.NDArray[np.uint8]:
    """Return one bit a call, the lowest of a byte first, as the core and the player take it."""
    bits = np.packbits(calls, bitorder="little")
    return bits if len(bits) else np.zeros(1, np.uint8)


def _pointer(bits: npt.NDArray[np.uint8]) -> ctypes._Pointer[c_uint8]:
    return bits.ctypes.data_as(POINTER(c_uint8))


def _roots(calls: npt.NDArray[np.uint64]) -> ctypes._Pointer[c_uint64]:
    return calls.ctypes.data_as(POINTER(c_uint64))


@functools.cache
def _library() -> Library:
    u64s, u8s = POINTER(c_uint64), POINTER(c_uint8)
    coded: dict[str, Signature] = {
        "dt_graph_make": (c_char_p, c_char_p, c_uint32, POINTER(c_uint32), POINTER(c_void_p)),
        "dt_graph_flags": (c_void_p, POINTER(POINTER(c_uint16)), u64s),
        "dt_graph_frame_roots": (c_void_p, c_uint64, c_uint64, u64s, u64s),
        "dt_graph_closure": (c_void_p, u64s, c_uint64, u8s, POINTER(_CFresh), c_uint64, u8s),
        "dt_graph_map_writes": (c_void_p, u8s, u8s, u64s),
        "dt_graph_crossed": (c_void_p, u64s, c_uint64, POINTER(c_uint32), u64s),
        "dt_graph_needs": (c_void_p, c_uint64, u64s, u64s),
        "dt_graph_size": (c_void_p, u64s),
        "dt_graph_waste": (c_void_p, c_uint32, u8s),
        "dt_graph_programs": (c_void_p, u64s, u64s),
        "dt_graph_waste_table": (u8s, c_uint64, u64s, c_uint64, c_void_p),
    }
    plain: dict[str, tuple[object, Signature]] = {
        "dt_graph_last_draw": (c_int, (c_void_p, c_uint64, u64s)),
        "dt_graph_close": (None, (c_void_p,)),
    }
    return Library(part(STATE), "dt_graph", coded, plain)
