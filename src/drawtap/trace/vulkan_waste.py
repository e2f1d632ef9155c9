"""Calls of Vulkan that did nothing, and the native library that knows (`native/extract/past.h`)."""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import POINTER, byref, c_char_p, c_uint8, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from drawtap.parts import CORE, part
from drawtap.tables.recording import FrameRow
from drawtap.trace.graph import packed
from drawtap.trace.library import Library

if TYPE_CHECKING:
    import numpy.typing as npt

    from drawtap.trace.opened import OpenRecording


@dataclass(frozen=True)
class VulkanWaste:
    """The calls of a recording that did nothing: for each call 0, or a number as `dt_past_waste` has it.

    `stored` are rows of `memory_writes` and `device_writes` that the other calls need, one bit a row. `whole` says why
    only repeated commands are among them; "": all calls were followed.
    """

    kinds: npt.NDArray[np.uint8]
    stored: tuple[bytes, bytes]
    whole: str = ""


_OF_COMMANDS = (1, 5)  # kinds that a command buffer alone decides
_ABOUT_OTHERS = 6
NO_PROGRAMS = np.zeros((0, 2), np.uint64)  # of `dt_graph_waste_table`: Vulkan has none


def vulkan_waste(trace: OpenRecording) -> VulkanWaste:
    """Return the calls that did nothing for the image of any frame, nor for what the program asked for."""
    count = trace.core.count()
    ends = [int(row["end_seq"]) - 1 for row in trace.core.table_rows(FrameRow) if row["end_function"]]
    kinds, wanted = np.zeros(max(count, 1), np.uint8), np.array(ends, np.uint64)
    past = c_void_p()
    library().dt_past_waste(
        os.fsencode(trace.path), wanted.ctypes.data_as(POINTER(c_uint64)), len(wanted),
        kinds.ctypes.data_as(POINTER(c_uint8)), byref(past),
    )  # fmt: skip
    _, memory, device, whole = taken(past)
    kinds = kinds[:count]
    # A call that lacks something without these is one of them.
    kept = kinds == 0
    left = trace.core.close_over(packed(kept).tobytes())
    lacking = kept & ~np.unpackbits(np.frombuffer(left, np.uint8), bitorder="little")[:count].astype(np.bool_)
    if lacking[ends].any():
        kinds[~np.isin(kinds, _OF_COMMANDS)] = 0
        return VulkanWaste(kinds, (memory, device), "a frame would lack what ends it")
    kinds[lacking] = _ABOUT_OTHERS
    return VulkanWaste(kinds, (memory, device), whole)


def taken(past: c_void_p) -> tuple[bytes, bytes, bytes, str]:
    """Return the bits of calls and of rows, and why all calls are kept; the past is closed."""
    try:
        sets = []
        for which in range(3):
            bits, length = POINTER(c_uint8)(), c_uint64()
            library().dt_past_bits(past, which, byref(bits), byref(length))
            sets.append(ctypes.string_at(bits, length.value))
        whole = library().dt_past_whole(past).decode()
    finally:
        library().dt_past_close(past)
    return sets[0], sets[1], sets[2], whole


@functools.cache
def library() -> Library:
    """Return the functions of `native/extract/past.h`."""
    coded = {
        "dt_past_make": (c_char_p, c_uint64, c_uint64, POINTER(c_void_p)),
        "dt_past_waste": (c_char_p, POINTER(c_uint64), c_uint64, POINTER(c_uint8), POINTER(c_void_p)),
        "dt_past_bits": (c_void_p, c_uint32, POINTER(POINTER(c_uint8)), POINTER(c_uint64)),
    }
    plain = {"dt_past_whole": (c_char_p, (c_void_p,)), "dt_past_close": (None, (c_void_p,))}
    return Library(part(CORE), "dt_past", coded, plain, streams=False)
