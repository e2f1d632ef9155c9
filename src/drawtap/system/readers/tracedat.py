"""trace.dat, versions 6 and 7: what trace-cmd and KernelShark write.

Source of the layout: trace-cmd's manual pages trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5).
"""

from __future__ import annotations

import contextlib
import mmap
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from drawtap.errors import InputError
from drawtap.system import eventformat
from drawtap.system.eventformat import Format
from drawtap.system.native import COMPRESSIONS, NativeTrace, Plan, decompress
from drawtap.system.reader import Clock, KernelTrace, Problem, reader
from drawtap.system.tracedat import MAGIC, PROCESSES

_LARGEST_SECTION = 1 << 30

# Options; others are skipped by their length.
_DONE, _BUFFER, _TRACECLOCK, _UNAME, _OFFSET, _CPUCOUNT, _TSC2NSEC = 0, 3, 4, 5, 7, 8, 14
_VERSION, _STRINGS, _HEADER_INFO, _FTRACE_EVENTS, _EVENT_FORMATS, _CMDLINES = 9, 15, 16, 17, 18, 21


@dataclass(frozen=True, slots=True)
class _Stream:
    """The data of one CPU of one buffer."""

    buffer: str
    cpu: int
    offset: int
    size: int
    compressed: bool


@dataclass
class Formats:
    """Descriptions of events: their format files, the format of the kernel's pages, names of threads."""

    formats: list[Format] = field(default_factory=list)
    page: str = ""
    long_size: int = 8
    threads: dict[int, tuple[str, int | None]] = field(default_factory=dict)

    def unique(self) -> list[Format]:
        """Return one format for each number of an event."""
        return list({f.id: f for f in self.formats}.values())


@dataclass
class _Contents(Formats):
    """The contents of the file, gathered section by section."""

    processes: dict[int, int] = field(default_factory=dict)
    streams: list[_Stream] = field(default_factory=list)
    clock: str = "local"
    environment: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    multiply: int = 1
    shift: int = 0
    add: int = 0
    page_size: int = 4096


class Cursor:
    """Read items from bytes in the file's byte order; past the end is a CutError."""

    def __init__(self, data: bytes | mmap.mmap, order: str, at: int = 0) -> None:
        self.data = data
        self.order = order
        self.at = at

    def bytes(self, count: int) -> bytes:
        """Return the next bytes."""
        if count < 0 or self.at + count > len(self.data):
            raise CutError
        content = self.data[self.at : self.at + count]
        self.at += count
        return content

    def number(self, size: int) -> int:
        """Return an unsigned integer of `size` bytes."""
        code = {1: "B", 2: "H", 4: "I", 8: "Q"}[size]
        return int(struct.unpack(self.order + code, self.bytes(size))[0])

    def word(self, what: str, limit: int = 4096) -> str:
        """Return text up to a zero; `what` it is, for the error where there is none."""
        end = self.data.find(b"\0", self.at, self.at + limit)
        if end < 0:
            raise InputError(f"{what} has no end")
        return self.bytes(end + 1 - self.at)[:-1].decode(errors="replace")

    def left(self) -> int:
        """Return how many bytes are left."""
        return len(self.data) - self.at


class CutError(Exception):
    """Say that the data ends before what is read."""


def _is_tracedat(path: Path, head: bytes) -> bool:
    return head.startswith(MAGIC) and head[len(MAGIC) : len(MAGIC) + 1].isdigit() and head[10:12] != b"0."


@reader("tracedat", _is_tracedat)
def open_tracedat(path: Path) -> KernelTrace:
    """trace.dat of trace-cmd, versions 6 and 7, compressed or not.

    Unknown options are skipped by their length. Other tools use some numbers for something else: the content decides.
    The kernel's pages count the losses.
    """
    with _mapped(path) as data:
        version, cursor, long_size, contents = _start(path, data)
        try:
            if version == 6:
                _version6(cursor, contents)
            else:
                _version7(cursor, contents)
        except CutError:
            contents.problems.append(Problem("truncated", "metadata", f"the file ends at {len(data)} bytes"))
        if not contents.formats:
            if any(p.kind == "truncated" for p in contents.problems):
                raise InputError(
                    f"{path} is cut off: it describes no events",
                    hint=f"it ends at {len(data)} bytes, inside its metadata; version 7 has that at its end",
                )
            raise InputError(f"{path} describes no events", hint="it is broken, or of a tracer without events")
        return _trace(path, cursor.order, long_size, contents)


@contextlib.contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield data


def _start(path: Path, data: mmap.mmap) -> tuple[int, Cursor, int, _Contents]:
    cursor = Cursor(data, "<", len(MAGIC))
    version = cursor.word(f"{path}: the version", 16)
    if version not in ("6", "7"):
        raise InputError(f"{path} is trace.dat of version {version}", hint="versions 6 and 7 are read")
    contents = _Contents()
    try:
        cursor.order = ">" if cursor.number(1) else "<"
        long_size = cursor.number(1)
        contents.page_size = cursor.number(4)
    except CutError:
        raise InputError(f"{path} ends inside its header") from None
    contents.environment["format_version"] = version
    return int(version), cursor, long_size, contents


# ---- version 6: sections stand one behind the other ----------------------------------------------------------


def _version6(cursor: Cursor, contents: _Contents) -> None:
    _header_info(cursor, contents)
    _ftrace_formats(cursor, contents)
    _event_formats(cursor, contents)
    cursor.bytes(cursor.number(4))  # kallsyms
    cursor.bytes(cursor.number(4))  # formats of trace_printk
    _cmdlines(cursor, contents)
    cpus = cursor.number(4)
    kind = cursor.bytes(10)
    buffers: list[tuple[int, str]] = []
    if kind == b"options  \0":
        while (option := cursor.number(2)) != _DONE:
            data = cursor.bytes(cursor.number(4))
            if option == _BUFFER and len(data) > 8:
                buffers.append(
                    (Cursor(data, cursor.order).number(8), data[8:].split(b"\0")[0].decode(errors="replace"))
                )
            else:
                _option(option, data, cursor.order, contents)
        kind = cursor.bytes(10)
    _cpu_table(cursor, kind, cpus, "", contents)
    for offset, name in buffers:
        inside = Cursor(cursor.data, cursor.order, offset)
        try:
            _cpu_table(inside, inside.bytes(10), cpus, name, contents)
        except CutError:
            contents.problems.append(Problem("truncated", f"buffer {name}", "it stands behind the end of the file"))


def _cpu_table(cursor: Cursor, kind: bytes, cpus: int, name: str, contents: _Contents) -> None:
    if kind == b"latency  \0":
        raise InputError("this trace.dat holds text of a latency tracer", hint="trace-cmd report prints it")
    if kind != b"flyrecord\0":
        raise InputError("the part with the events is missing or broken")
    if cpus > 1 << 16:
        raise InputError(f"{cpus} CPUs: the file is broken")
    for cpu in range(cpus):
        offset, size = cursor.number(8), cursor.number(8)
        if size:
            contents.streams.append(_Stream(name, cpu, offset, size, compressed=False))


def read_tracing_data(cursor: Cursor) -> Formats:
    """Read what perf keeps of the events: the first sections of this format. Incomplete parts are left out."""
    if cursor.bytes(len(MAGIC)) != MAGIC:
        raise InputError("the descriptions of the events are broken")
    cursor.word("the version of the descriptions", 16)
    cursor.order = ">" if cursor.number(1) else "<"
    formats = Formats(long_size=cursor.number(1))
    cursor.number(4)
    with contextlib.suppress(CutError):
        _header_info(cursor, formats)
        _ftrace_formats(cursor, formats)
        _event_formats(cursor, formats)
    if formats.long_size not in (4, 8):
        formats.long_size = 8
    return formats


# ---- version 7: options say where sections are ----------------------------------------------------------------


def _version7(cursor: Cursor, contents: _Contents) -> None:
    algorithm = cursor.word("the name of the compression")
    cursor.word("the version of the compression")
    if algorithm not in COMPRESSIONS:
        raise InputError(f"trace.dat is compressed with {algorithm}", hint=f"known: {', '.join(COMPRESSIONS)}")
    method = COMPRESSIONS[algorithm]
    contents.environment["compression"] = algorithm
    offset = cursor.number(8)
    seen: set[int] = set()
    sections: list[tuple[int, int]] = []
    end = 0
    while offset and offset not in seen:
        seen.add(offset)
        options = _section(cursor, offset, method)
        end = max(end, _section_end(cursor, offset))
        offset = 0
        while options.left() >= 6:
            option = options.number(2)
            data = options.bytes(options.number(4))
            inner = Cursor(data, cursor.order)
            if option == _DONE:
                offset = inner.number(8) if len(data) >= 8 else 0
                break
            if option == _BUFFER:
                _buffer(inner, cursor, contents)
            elif option in _SECTIONS and len(data) >= 8:
                sections.append((option, inner.number(8)))
            else:
                _option(option, data, cursor.order, contents)
    _check_tail(cursor, end, contents)
    for option, where in sections:
        try:
            _SECTIONS[option](_section(cursor, where, method), contents)
        except (CutError, InputError) as error:
            why = "it is cut off" if isinstance(error, CutError) else error.message
            contents.problems.append(Problem("corrupt", f"section {option}", why))


def _section_end(cursor: Cursor, offset: int) -> int:
    return offset + 16 + Cursor(cursor.data, cursor.order, offset + 8).number(8)


def _check_tail(cursor: Cursor, at: int, contents: _Contents) -> None:
    """Follow the sections behind the last options to the end of the file, and say so where one reaches over it."""
    size = len(cursor.data)
    while at < size and any(cursor.data[at : at + 16]):
        at = _section_end(cursor, at) if at + 16 <= size else at + 16
    if at > size:
        contents.problems.append(
            Problem("truncated", "tail", f"the file ends at {size} bytes, inside its last section")
        )


def _section(cursor: Cursor, offset: int, method: int) -> Cursor:
    head = Cursor(cursor.data, cursor.order, offset)
    head.number(2)
    flags = head.number(2)
    head.number(4)  # its description
    size = head.number(8)
    if flags & 1:
        packed, plain = head.number(4), head.number(4)
        if plain > _LARGEST_SECTION:
            raise InputError(f"a section of {plain} bytes: the file is broken")
        return Cursor(decompress(method, head.bytes(packed), plain), cursor.order)
    return Cursor(head.bytes(min(size, _LARGEST_SECTION)), cursor.order)


def _buffer(option: Cursor, file: Cursor, contents: _Contents) -> None:
    where = option.number(8)
    name = option.word("the name of a buffer")
    contents.clock = option.word("the clock of a buffer") or contents.clock
    contents.page_size = option.number(4) or contents.page_size
    compressed = bool(Cursor(file.data, file.order, where + 2).number(2) & 1)
    for _ in range(option.number(4)):
        cpu, offset, size = option.number(4), option.number(8), option.number(8)
        if size and cpu < 1 << 20:
            # The size of compressed data leaves out the number of chunks in front of them.
            contents.streams.append(_Stream(name, cpu, offset, size + 4 * compressed, compressed))


# ---- what both have -------------------------------------------------------------------------------------------


def _header_info(cursor: Cursor, contents: Formats) -> None:
    if cursor.bytes(12) != b"header_page\0":
        raise InputError("the description of the kernel's pages is missing")
    contents.page = cursor.bytes(cursor.number(8)).decode(errors="replace")
    if cursor.bytes(13) != b"header_event\0":
        raise InputError("the description of the kernel's records is missing")
    cursor.bytes(cursor.number(8))


def _ftrace_formats(cursor: Cursor, contents: Formats) -> None:
    for _ in range(cursor.number(4)):
        _add_format(cursor.bytes(cursor.number(8)), "ftrace", contents)


def _event_formats(cursor: Cursor, contents: Formats) -> None:
    for _ in range(cursor.number(4)):
        system = cursor.word("the name of an event system")
        for _ in range(cursor.number(4)):
            _add_format(cursor.bytes(cursor.number(8)), system, contents)


def _add_format(data: bytes, system: str, contents: Formats) -> None:
    parsed = eventformat.parse(data.decode(errors="replace"), system)
    if parsed is not None and parsed.id < 1 << 20:
        contents.formats.append(parsed)


def _cmdlines(cursor: Cursor, contents: Formats) -> None:
    for line in cursor.bytes(cursor.number(8)).decode(errors="replace").splitlines():
        tid, _, comm = line.strip("\0").partition(" ")
        if tid.isdigit():
            contents.threads[int(tid)] = (comm, None)


_SECTIONS = {
    _HEADER_INFO: _header_info,
    _FTRACE_EVENTS: _ftrace_formats,
    _EVENT_FORMATS: _event_formats,
    _CMDLINES: _cmdlines,
}


def _option(option: int, data: bytes, order: str, contents: _Contents) -> None:
    text = data.split(b"\0")[0].decode(errors="replace").strip()
    if option == _TRACECLOCK:
        chosen = re.search(r"\[([^\]]+)\]", text)
        contents.clock = chosen[1] if chosen else text or contents.clock
    elif option == _UNAME:
        words = text.split()
        names = ("sysname", "hostname", "kernel_release")
        contents.environment.update(zip(names, words, strict=False))
    elif option == _VERSION:
        contents.environment["tracer"] = f"trace-cmd {text}"
    elif option == _OFFSET:
        with contextlib.suppress(ValueError):
            contents.add += int(text, 0)
    elif option == PROCESSES or (option == _CPUCOUNT and len(data) > 4):
        _saved_processes(text, contents)
    elif option == _TSC2NSEC and len(data) == 16:
        contents.multiply, contents.shift, offset = struct.unpack(order + "IIq", data)
        contents.add -= offset


def _saved_processes(text: str, contents: _Contents) -> None:
    # Number 8 is the number of CPUs, except in files of Valve's trace-cmd: lines of thread and process.
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and all(word.isdigit() for word in words):
            contents.processes[int(words[0])] = int(words[1])


def _trace(path: Path, order: str, long_size: int, contents: _Contents) -> KernelTrace:
    for tid, pid in contents.processes.items():
        contents.threads[tid] = (contents.threads.get(tid, ("", None))[0], pid)
    kernel_long, commit, data_at = _page_layout(contents.page, long_size)
    formats = contents.unique()
    plan = Plan()
    plan.add(eventformat.plan_classes(formats, kernel_long))
    plan.number(order == ">", kernel_long, contents.page_size, commit, data_at)
    multiply, shift = (contents.multiply, contents.shift) if contents.multiply else (1, 0)
    plan.number(multiply, min(shift, 63), contents.add)
    plan.add(eventformat.plan_events(formats, kernel_long, contents.threads))
    plan.text(str(path)).number(len(contents.streams))
    method = COMPRESSIONS[contents.environment.get("compression", "none")]
    for stream in contents.streams:
        name = f"CPU {stream.cpu}" + (f" of buffer {stream.buffer}" if stream.buffer else "")
        plan.text(name).number(stream.cpu, stream.offset, stream.size, method if stream.compressed else 0)
    return KernelTrace(
        path,
        "tracedat",
        NativeTrace("ring", plan),
        clock=ftrace_clock(contents.clock),
        environment=contents.environment,
        threads=contents.threads,
        problems=contents.problems,
    )


def _page_layout(text: str, long_size: int) -> tuple[int, int, int]:
    """Return the size of the kernel's long, where the commit word stands and where data begins."""
    places: dict[str, tuple[int, int]] = {}
    for match in re.finditer(r"field:\s*[^;]*?(\w+);\s*offset:(\d+);\s*size:(\d+);", text):
        places.setdefault(match[1], (int(match[2]), int(match[3])))
    commit = places.get("commit", (8, long_size))
    data_at = places.get("data", (commit[0] + commit[1], 0))[0]
    if commit[1] not in (4, 8) or not 8 <= commit[0] < 4096 or not commit[0] + commit[1] <= data_at < 4096:
        return long_size if long_size in (4, 8) else 8, 8, 16
    return commit[1], commit[0], data_at


def ftrace_clock(name: str) -> Clock:
    """Return what ftrace's clock of this name counts."""
    if name in ("mono", "mono_raw"):
        note = None if name == "mono" else "CLOCK_MONOTONIC_RAW: drifts from CLOCK_MONOTONIC"
        return Clock(name, monotonic=name == "mono", note=note)
    if name == "boot":
        return Clock(name, monotonic=False, note="CLOCK_BOOTTIME: with the time that the machine slept")
    notes = {
        "counter": "counts events, no time",
        "local": "the scheduler's clock: not comparable with API recordings; record with the clock mono",
        "global": "the scheduler's clock: not comparable with API recordings; record with the clock mono",
    }
    return Clock(name, monotonic=False, note=notes.get(name, "not comparable with API recordings"))
