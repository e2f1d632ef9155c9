"""Read what the dynamic linker would read of an ELF file: class, machine, interpreter, libraries."""

from __future__ import annotations

import shutil
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_MACHINES = {3: "x86", 40: "arm", 62: "x86-64", 183: "aarch64", 243: "riscv", 21: "ppc64", 22: "s390x"}
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_STRTAB, _DT_SONAME, _DT_RPATH, _DT_STRSZ, _DT_RUNPATH = 1, 5, 14, 15, 10, 29


@dataclass(frozen=True, slots=True)
class Elf:
    """The facts of an ELF file. `run_path` has RUNPATH, or RPATH where there is none."""

    path: Path
    bits: int
    machine: str
    interpreter: str | None
    dynamic: bool
    needed: tuple[str, ...] = ()
    soname: str | None = None
    run_path: tuple[str, ...] = ()


def read_elf(path: Path) -> Elf | None:
    """Return what `path` says, or None where it is no ELF file or a broken one. Raises OSError."""
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
        try:
            return _read(path, file)
        except (struct.error, ValueError, IndexError):
            return None


def is_musl(elf: Elf) -> bool:
    """Tell whether the program is linked to musl, whose dynamic linker cannot load what is made for glibc."""
    return elf.interpreter is not None and "musl" in Path(elf.interpreter).name


def behind_scripts(path: Path) -> tuple[Path, tuple[Path, ...]]:
    """Return the program that runs when `path` is started, and the scripts that lead to it. Raises OSError."""
    wrappers: list[Path] = []
    for _ in range(4):
        with path.open("rb") as file:
            line = file.readline(512)
        if not line.startswith(b"#!"):
            break
        words = line[2:].decode(errors="replace").split()
        if words and Path(words[0]).name == "env":
            words = [w for w in words[1:] if not w.startswith("-") and "=" not in w]
        interpreter = shutil.which(words[0]) if words else None
        if not interpreter:
            break
        wrappers.append(path)
        path = Path(interpreter)
    return path, tuple(wrappers)


def _read(path: Path, file: BinaryIO) -> Elf:
    file.seek(4)
    klass, order = file.read(2)
    bits = {1: 32, 2: 64}[klass] if klass in (1, 2) else 0
    if not bits or order not in (1, 2):
        raise ValueError("unknown ELF class")
    end = "<" if order == 1 else ">"
    file.seek(16)
    _type, machine, _version = struct.unpack(end + "HHI", file.read(8))
    if bits == 64:
        _entry, phoff, _shoff, _flags, _ehsize, phentsize, phnum = struct.unpack(end + "QQQIHHH", file.read(34))
    else:
        _entry, phoff, _shoff, _flags, _ehsize, phentsize, phnum = struct.unpack(end + "IIIIHHH", file.read(22))
    segments = []
    for i in range(min(phnum, 512)):
        file.seek(phoff + i * phentsize)
        if bits == 64:
            kind, _f, offset, address, _p, size = struct.unpack(end + "IIQQQQ", file.read(40))
        else:
            kind, offset, address, _p, size = struct.unpack(end + "IIIII", file.read(20))
        segments.append((kind, offset, address, size))
    interpreter = None
    tags: list[tuple[int, int]] = []
    for kind, offset, _address, size in segments:
        if kind == _PT_INTERP:
            file.seek(offset)
            interpreter = file.read(min(size, 4096)).split(b"\0")[0].decode(errors="replace")
        elif kind == _PT_DYNAMIC:
            file.seek(offset)
            pair = struct.Struct(end + ("qQ" if bits == 64 else "iI"))
            for tag, value in pair.iter_unpack(file.read(min(size, 1 << 20) // pair.size * pair.size)):
                if tag == 0:
                    break
                tags.append((tag, value))
    strings = _strings(file, segments, dict(tags))

    def texts(tag: int) -> tuple[str, ...]:
        return tuple(
            strings[value:].split(b"\0", 1)[0].decode(errors="replace") for t, value in tags if t == tag and strings
        )

    run_path = texts(_DT_RUNPATH) or texts(_DT_RPATH)
    return Elf(
        path,
        bits,
        _MACHINES.get(machine, f"machine {machine}"),
        interpreter,
        bool(tags),
        texts(_DT_NEEDED),
        next(iter(texts(_DT_SONAME)), None),
        tuple(entry for paths in run_path for entry in paths.split(":") if entry),
    )


def _strings(file: BinaryIO, segments: list[tuple[int, int, int, int]], tags: dict[int, int]) -> bytes:
    address, size = tags.get(_DT_STRTAB), tags.get(_DT_STRSZ, 0)
    if address is None:
        return b""
    for kind, offset, start, length in segments:
        if kind == _PT_LOAD and start <= address < start + length:
            file.seek(offset + address - start)
            return file.read(min(size, 16 << 20))
    return b""
