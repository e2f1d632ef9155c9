"""Bind the chooser of earlier calls of Vulkan that still matter (`native/extract/vulkan_past.h`)."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Sequence
from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from drawtap.tables.recording import DeviceWriteRow, FunctionRow, MemoryWriteRow
from drawtap.trace.core import Part
from drawtap.trace.graph import packed
from drawtap.trace.vulkan_waste import library, taken

if TYPE_CHECKING:
    from drawtap.trace.graph import Calls
    from drawtap.trace.trace import Trace


# The calls that map memory, with the column that names it.
_MAPS = {
    "vkMapMemory": "memory",
    "vkMapMemory2": "pMemoryMapInfo.memory",
    "vkMapMemory2KHR": "pMemoryMapInfo.memory",
}


@dataclass(frozen=True)
class Past:
    """The calls that a part of a recording is made of.

    `stored` are rows of `memory_writes` and `device_writes` that come with them, one bit a row. `whole` says why all
    earlier calls are among them; "": they are not.
    """

    keep: Calls
    stored: tuple[bytes, bytes]
    whole: str = ""

    def part(self, trace: Trace, *, images: Calls) -> Part:
        """Return these calls of their trace, to be written. `images`: calls whose image is still the program's."""
        return Part(
            trace.core,
            keep=packed(self.keep).tobytes(),
            keep_images=packed(images).tobytes(),
            stored=self.stored,
        )


class StoredRows:
    """The rows of `memory_writes` and `device_writes` that come with a set of calls: those whose memory is there."""

    def __init__(self, trace: Trace) -> None:
        made = trace.sql("SELECT handle, created_seq FROM objects WHERE type = 'VkDeviceMemory'").fetchall()
        mapped: list[tuple[object, ...]] = []
        there = {function["name"] for function in trace.table(FunctionRow)}
        for name in there & _MAPS.keys():
            mapped += trace.sql(f"SELECT {_MAPS[name]}, seq FROM {name}").fetchall()
        self._needs = []
        for table in (MemoryWriteRow, DeviceWriteRow):
            rows = [(int(row["memory"]), int(row["seq"])) for row in trace.table(table)]
            self._needs.append([_last_before(calls, rows) for calls in (made, mapped)])
        self.count = sum(len(needs[0]) for needs in self._needs)  # rows of both tables

    def of(self, keep: Calls) -> tuple[bytes, bytes]:
        """Return one bit a row of each table for the calls of `keep`."""
        return self._bits(keep, 2)

    def of_made(self, keep: Calls) -> tuple[bytes, bytes]:
        """Return the same for all rows whose memory is made, whether it is mapped or not."""
        return self._bits(keep, 1)

    def _bits(self, keep: Calls, kinds: int) -> tuple[bytes, bytes]:
        memory, device = (
            packed(np.logical_and.reduce([(calls < 0) | keep[calls] for calls in needs[:kinds]])).tobytes()
            for needs in self._needs
        )
        return memory, device


def _last_before(calls: Sequence[tuple[object, ...]], rows: Sequence[tuple[int, int]]) -> npt.NDArray[np.int64]:
    """Return for each row (memory, call) the last call about the memory that stands before; -1: there is none."""
    by_memory: dict[int, list[int]] = {}
    for memory, seq in sorted((int(str(memory)), int(str(seq))) for memory, seq in calls):
        by_memory.setdefault(memory, []).append(seq)
    last = []
    for memory, seq in rows:
        known = by_memory.get(memory, [])
        at = bisect_left(known, seq)
        last.append(known[at - 1] if at else -1)
    return np.array(last, np.int64)


def vulkan_past(trace: Trace, cut: int, end: int) -> Past:
    """Return the calls from `cut` to before `end`, and the earlier ones that they need. It walks the trace once."""
    count = trace.core.count()
    past = c_void_p()
    library().dt_past_make(os.fsencode(trace.path), cut, end, byref(past))
    calls, memory, device, whole = taken(past)
    keep = np.unpackbits(np.frombuffer(calls, np.uint8), bitorder="little")[:count].astype(np.bool_)
    return Past(keep, (memory, device), whole)


def all_before(trace: Trace, end: int) -> Past:
    """Return all calls before `end`, with all that was stored."""
    keep = np.zeros(trace.core.count(), np.bool_)
    keep[:end] = True
    rows = vulkan_past(trace, 0, end).stored
    return Past(keep, rows)
