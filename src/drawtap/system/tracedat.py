"""Write trace.dat, version 6, from pages of the kernel's ring buffer.

Source of the layout: trace-cmd's manual page trace-cmd.dat.v6(5).
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"\x17\x08\x44tracing"
_ORDER = "<" if sys.byteorder == "little" else ">"
_CPUSTAT, _TRACECLOCK, _UNAME, _CPUCOUNT = 2, 4, 5, 8
PROCESSES = 0x6474  # an option of ours, skipped by others: `tid process` lines
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Contents:
    """The head in front of the pages: descriptions, names of threads, and remarks."""

    header_page: str
    header_event: str
    ftrace: tuple[str, ...]
    formats: tuple[tuple[str, str], ...]  # system, format file
    threads: Mapping[int, tuple[str, int | None]]
    clock: str
    uname: str
    statistics: tuple[str, ...] = ()


def write(path: Path, contents: Contents, pages: Mapping[int, Path]) -> int:
    """Write the file from the pages of each CPU and return its size. Appears whole or not at all."""
    sizes = {cpu: file.stat().st_size if file.exists() else 0 for cpu, file in pages.items()}
    cpus = max(pages, default=-1) + 1
    head = _head(contents, cpus)
    at = _page_up(len(head) + 16 * cpus)
    table, places = b"", []
    for cpu in range(cpus):
        size = sizes.get(cpu, 0)
        table += _numbers("QQ", at, size)
        places.append((cpu, at, size))
        at = _page_up(at + size)
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as out:
            out.write(head + table)
            for cpu, offset, size in places:
                if size:
                    out.seek(offset)
                    _copy(pages[cpu], out.fileno(), size, offset)
            out.truncate(max(at, out.tell()))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path.stat().st_size


def _copy(source: Path, target: int, size: int, offset: int) -> None:
    with source.open("rb") as file:
        done = 0
        while done < size:
            count = os.sendfile(target, file.fileno(), done, size - done)
            if not count:
                raise OSError(f"{source} became shorter")
            done += count


def _head(contents: Contents, cpus: int) -> bytes:
    parts = [MAGIC, b"6\0", bytes([_ORDER == ">", struct.calcsize("l")]), _numbers("I", _page_size(contents))]
    parts += [b"header_page\0", _sized("Q", contents.header_page)]
    parts += [b"header_event\0", _sized("Q", contents.header_event)]
    parts += [_numbers("I", len(contents.ftrace)), *(_sized("Q", text) for text in contents.ftrace)]
    systems: dict[str, list[str]] = {}
    for system, text in contents.formats:
        systems.setdefault(system, []).append(text)
    parts.append(_numbers("I", len(systems)))
    for system, texts in systems.items():
        parts += [system.encode() + b"\0", _numbers("I", len(texts)), *(_sized("Q", text) for text in texts)]
    parts += [_numbers("I", 0), _numbers("I", 0)]  # kernel symbols, formats of trace_printk
    parts.append(_sized("Q", "".join(f"{tid} {comm}\n" for tid, (comm, _) in sorted(contents.threads.items()))))
    parts += [_numbers("I", cpus), b"options  \0"]
    for number, data in _options(contents, cpus):
        parts += [_numbers("HI", number, len(data)), data]
    return b"".join([*parts, _numbers("H", 0), b"flyrecord\0"])


def _options(contents: Contents, cpus: int) -> Iterator[tuple[int, bytes]]:
    for text in contents.statistics:
        yield _CPUSTAT, text.encode() + b"\0"
    yield _TRACECLOCK, contents.clock.encode() + b"\0"
    yield _UNAME, contents.uname.encode() + b"\0"
    yield _CPUCOUNT, _numbers("I", cpus)
    known = ((tid, pid) for tid, (_, pid) in sorted(contents.threads.items()) if pid is not None)
    yield PROCESSES, "".join(f"{tid} {pid}\n" for tid, pid in known).encode() + b"\0"


def _page_size(contents: Contents) -> int:
    # The kernel's pages may be larger than those of memory: what stands in front of the data, and the data.
    for line in contents.header_page.splitlines():
        if " data;" in line:
            words = dict(word.split(":") for word in line.replace("\t", "").split(";") if word.count(":") == 1)
            return int(words["offset"]) + int(words["size"])
    return _PAGE


def _page_up(at: int) -> int:
    return (at + _PAGE - 1) // _PAGE * _PAGE


def _numbers(form: str, *values: int) -> bytes:
    return struct.pack(_ORDER + form, *values)


def _sized(form: str, text: str) -> bytes:
    data = text.encode(errors="replace")
    return _numbers(form, len(data)) + data
