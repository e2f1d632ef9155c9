"""Perfetto's traces, as far as they hold events of ftrace, or tell of a GPU."""

from __future__ import annotations

from pathlib import Path

from drawtap.system.eventformat import TYPES
from drawtap.system.native import NativeTrace, Plan
from drawtap.system.reader import Clock, KernelTrace, reader

_TABLE = Path(__file__).parents[1] / "perfetto_ftrace.txt"


def _is_perfetto(path: Path, head: bytes) -> bool:
    # A trace is packets: field 1, a length, then the packet's own fields. All that begin here must look like it.
    at = 0
    while at < len(head):
        if head[at] != 0x0A:
            return False
        length, inside = _varint(head, at + 1)
        if not inside:
            return at > 0
        tag, behind = _varint(head, inside)
        if length and behind and (tag & 7 not in (0, 1, 2, 5) or not 0 < tag >> 3 < 1000):
            return False
        at = inside + length
    return at > 2


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            return 0, 0
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if not byte & 128:
            return value, at
    return 0, 0


@reader("perfetto", _is_perfetto)
def open_perfetto(path: Path) -> KernelTrace:
    """Perfetto's traces: bundles of ftrace events, compact scheduling, compressed packets, names of threads.

    GPU data of producers becomes events too: gpu_render_stage, gpu_counter, vulkan_queue_submit, vulkan_memory,
    vulkan_object_name, gpu_log and gpu_mem_total. Their clocks are tied to the others by the trace's snapshots; a
    problem counts the events of a clock that none ties, and counters whose descriptor is interned, which are not read.

    Events of Perfetto 0.59 are known by number, newer ones where the trace describes them itself. Times are
    CLOCK_BOOTTIME in the file and become CLOCK_MONOTONIC by its snapshots of the clocks; a problem says where there are
    none.
    """
    events = [line.split() for line in _TABLE.read_text().splitlines() if line and not line.startswith("#")]
    plan, numbers = Plan().number(len(events)), Plan().number(len(events))
    for index, (number, name, *fields) in enumerate(events):
        plan.text(name).number(-1, -1, -1, -1, len(fields))
        numbers.number(int(number), index, len(fields))
        for field in fields:
            key, label, kind = field.split(":")
            plan.text(label).number(TYPES["boolean" if kind == "bool" else kind.replace("z", "i")])
            numbers.number(int(key), kind.startswith("z"))
    plan.add(numbers).text(bytes(path))
    native = NativeTrace("perfetto", plan)
    clock = Clock("boottime", monotonic=True, note="CLOCK_BOOTTIME, made CLOCK_MONOTONIC by the trace's snapshots")
    if any(p["where"] == "clock" for p in native.problems()):
        clock = Clock("boottime", monotonic=False, note="CLOCK_BOOTTIME: with the time that the machine slept")
    return KernelTrace(path, "perfetto", native, clock=clock)
