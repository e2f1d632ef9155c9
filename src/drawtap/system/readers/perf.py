"""perf.data: what `perf record -e TRACEPOINTS` writes, to a file or to a pipe.

Source of the layout: the kernel's tools/perf/Documentation/perf.data-file-format.txt and its header
include/uapi/linux/perf_event.h.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from dataclasses import dataclass, field
from pathlib import Path

from drawtap.errors import InputError
from drawtap.system import eventformat
from drawtap.system.native import NativeTrace, Plan
from drawtap.system.reader import Clock, KernelTrace, Problem, reader
from drawtap.system.readers.tracedat import Cursor, CutError, Formats, read_tracing_data

_MAGIC, _MAGIC_SWAPPED = b"PERFILE2", b"2ELIFREP"
_TRACING_DATA, _HOSTNAME, _OSRELEASE, _VERSION, _CMDLINE, _EVENT_DESC = 1, 3, 4, 5, 11, 12
_RECORD_ATTR, _RECORD_TRACING_DATA, _RECORD_FEATURE = 64, 66, 80
_TRACEPOINT = 2
_SAMPLE_ID_ALL, _USE_CLOCKID = 1 << 18, 1 << 25
_CLOCKS = {0: "realtime", 1: "monotonic", 4: "monotonic_raw", 7: "boottime"}


@dataclass
class _Attribute:
    """A perf_event_attr as far as samples depend on it, and the ids that samples name it by."""

    type: int
    config: int
    sample_type: int
    read_format: int
    flags: int
    clock: int
    ids: list[int] = field(default_factory=list)
    name: str = ""


@dataclass
class _Contents:
    attributes: list[_Attribute] = field(default_factory=list)
    formats: Formats = field(default_factory=Formats)
    environment: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    begin: int = 0
    size: int = 0


def _is_perf(path: Path, head: bytes) -> bool:
    return head[:8] in (_MAGIC, _MAGIC_SWAPPED)


@reader("perf", _is_perf)
def open_perf(path: Path) -> KernelTrace:
    """perf.data with tracepoints (`perf record -k CLOCK_MONOTONIC -e sched:sched_switch -a`), also written to a pipe.

    With `-k CLOCK_MONOTONIC` the times are those of API recordings; without, perf's own clock. Events of other kinds
    (cycles, ...) have the fields `ip` and `period`.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        order = "<" if data[:8] == _MAGIC else ">"
        contents = _Contents()
        try:
            size = Cursor(data, order, 8).number(8)
            if size == 16:
                _pipe(data, order, contents)
            else:
                _file(data, order, contents)
        except CutError:
            raise InputError(f"{path} ends inside its header") from None
        return _trace(path, order, contents)


def _file(data: mmap.mmap, order: str, contents: _Contents) -> None:
    head = Cursor(data, order, 16)
    attr_size = head.number(8)
    attrs_at, attrs_size, contents.begin, contents.size = (head.number(8) for _ in range(4))
    head.bytes(16)  # event types
    flags = head.number(8)
    if attr_size < 80 or attrs_size > len(data):
        raise InputError("the attributes of perf.data are broken")
    for at in range(attrs_at, attrs_at + attrs_size // attr_size * attr_size, attr_size):
        entry = Cursor(data, order, at)
        attribute = _attribute(entry.bytes(attr_size - 16), order)
        ids_at, ids_size = entry.number(8), entry.number(8)
        attribute.ids = _ids(data, order, ids_at, ids_size)
        contents.attributes.append(attribute)
    if not contents.size:
        contents.problems.append(
            Problem("truncated", "header", "perf was interrupted: the size of the data is unknown")
        )
    # Their places stand behind the data, one a bit that is set.
    table = Cursor(data, order, contents.begin + contents.size)
    for bit in range(64):
        if flags >> bit & 1:
            try:
                at, size = table.number(8), table.number(8)
                _feature(bit, Cursor(Cursor(data, order, at).bytes(size), order), contents)
            except (CutError, InputError):
                contents.problems.append(Problem("truncated", f"header feature {bit}", "it is cut off or broken"))


def _pipe(data: mmap.mmap, order: str, contents: _Contents) -> None:
    contents.begin = 16
    at = 16
    # Descriptions come first; features and names may follow them.
    while at + 8 <= len(data):
        kind, _, size = struct.unpack_from(order + "IHH", data, at)
        body = data[at + 8 : at + size]
        if size < 8 or len(body) < size - 8:
            return
        at += size
        if kind == _RECORD_ATTR and len(body) >= 64:
            own = struct.unpack_from(order + "I", body, 4)[0]
            attribute = _attribute(body[:own], order)
            attribute.ids = [
                i[0] for i in struct.iter_unpack(order + "Q", body[own : own + (len(body) - own) // 8 * 8])
            ]
            contents.attributes.append(attribute)
        elif kind == _RECORD_TRACING_DATA:
            length = struct.unpack_from(order + "I", body)[0]
            _feature(_TRACING_DATA, Cursor(data[at : at + length], order), contents)
            at += (length + 7) & ~7
        elif kind == _RECORD_FEATURE and len(body) >= 8:
            with contextlib.suppress(CutError):
                _feature(struct.unpack_from(order + "Q", body)[0], Cursor(body[8:], order), contents)
        elif kind < 64:
            return


def _attribute(data: bytes, order: str) -> _Attribute:
    data = data.ljust(96, b"\0")
    kind, _, config, _, sample_type, read_format, flags = struct.unpack_from(order + "IIQQQQQ", data)
    return _Attribute(kind, config, sample_type, read_format, flags, struct.unpack_from(order + "i", data, 92)[0])


def _ids(data: mmap.mmap, order: str, at: int, size: int) -> list[int]:
    content = Cursor(data, order, at).bytes(size)
    return [i[0] for i in struct.iter_unpack(order + "Q", content[: len(content) // 8 * 8])]


def _feature(bit: int, cursor: Cursor, contents: _Contents) -> None:
    if bit == _TRACING_DATA:
        contents.formats = read_tracing_data(cursor)
    elif bit in (_HOSTNAME, _OSRELEASE, _VERSION):
        name = {_HOSTNAME: "hostname", _OSRELEASE: "kernel_release", _VERSION: "tracer"}[bit]
        contents.environment[name] = ("perf " if bit == _VERSION else "") + _string(cursor)
    elif bit == _CMDLINE:
        contents.environment["cmdline"] = " ".join(_string(cursor) for _ in range(min(cursor.number(4), 10_000)))
    elif bit == _EVENT_DESC:
        count, size = cursor.number(4), cursor.number(4)
        for index in range(count):
            cursor.bytes(size)
            ids = cursor.number(4)
            name = _string(cursor)
            cursor.bytes(8 * ids)
            if index < len(contents.attributes):
                contents.attributes[index].name = name


def _string(cursor: Cursor) -> str:
    return cursor.bytes(cursor.number(4)).split(b"\0")[0].decode(errors="replace")


def _trace(path: Path, order: str, contents: _Contents) -> KernelTrace:
    if not contents.attributes:
        raise InputError(f"{path} describes no events")
    formats = contents.formats.unique()
    long_size = contents.formats.long_size
    others = [a for a in contents.attributes if a.type != _TRACEPOINT]
    plan = Plan().number(len(formats) + len(others))
    plan.add(eventformat.plan_fields(formats, long_size))
    for index, attribute in enumerate(others):
        plan.text(attribute.name or f"event_{index}").number(-1, -1, -1, -1, 2)
        plan.text("ip").number(eventformat.TYPES["u64"]).text("period").number(eventformat.TYPES["u64"])
    plan.number(order == ">").add(eventformat.plan_events(formats, long_size, {}))
    plan.number(len(contents.attributes))
    for attribute in contents.attributes:
        plan.number(attribute.sample_type, attribute.read_format, bool(attribute.flags & _SAMPLE_ID_ALL))
        own = next((i for i, other in enumerate(others) if other is attribute), None)
        plan.number(-1 if own is None else len(formats) + own, len(attribute.ids), *attribute.ids)
    plan.text(bytes(path)).number(contents.begin, contents.size)
    return KernelTrace(
        path,
        "perf",
        NativeTrace("perf", plan),
        clock=_clock(contents.attributes),
        environment=contents.environment,
        problems=contents.problems,
    )


def _clock(attributes: list[_Attribute]) -> Clock:
    first = attributes[0]
    note: str | None
    if not first.flags & _USE_CLOCKID:
        note = "perf's clock: not comparable with API recordings; record with -k CLOCK_MONOTONIC"
        return Clock("perf", monotonic=False, note=note)
    name = _CLOCKS.get(first.clock, f"clock {first.clock}")
    note = None if first.clock == 1 else "not comparable with API recordings; record with -k CLOCK_MONOTONIC"
    return Clock(name, monotonic=first.clock == 1, epoch_offset_ns=0 if first.clock == 0 else None, note=note)
