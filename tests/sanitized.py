"""Build C++ of the project with AddressSanitizer and UBSan: each source once, whichever programs it is in.

Sources of one room become one translation unit: most of an object is what templates of the C++ library become, and a
unit has that once. Objects lie in `build/sanitized`, named by compiler, flags and sources. Beside each stands the list
of the files that the compiler read, with their digests: an object is used again as long as they all are as they were.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from join_sources import Unit, joined

from drawtap.instrument import generate_flags, generate_headers, generate_tables
from shared import WHOLE

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "build/sanitized"
KEPT_DAYS = 14
FLAGS = (
    "-std=c++20",
    # Lines of a report's functions cost a tenth of the compilation: make test names functions alone.
    *(("-g1",) if WHOLE else ("-g0",)),
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-Wall",
    "-Wextra",
    "-Werror",
    # With checks of pointers the compilation takes half as long again. A use of null is a fault without them, so is one
    # of an address that overflowed, and x86 does not mind where an object lies: make test-all looks for what they alone
    # find.
    *(() if WHOLE else ("-fno-sanitize=null,alignment,object-size,pointer-overflow,vptr",)),
    # Uses of what a block left behind cost a fifth: make test looks for them in what reads files (SHARED) alone.
    *(() if WHOLE else ("-fno-sanitize-address-use-after-scope",)),
)
# Programs that read damaged files may hold so much at once: the sanitizer reserves much address space. What make test
# frees is kept from being used again for less long, so that a small program meets fewer new pages.
OPTIONS = "hard_rss_limit_mb=1024:allocator_may_return_null=1:detect_leaks=1"
OPTIONS += "" if WHOLE else ":quarantine_size_mb=16"
SCOPES = "-fsanitize-address-use-after-scope"
# Sources in these folders include by relative path alone. They are compiled alike for all programs.
ALIKE = ("common", "core", "drain", "system")
# The headers of all units together are a fourth of the work. More in a unit, and a compiler needs more than 1.5 GB.
UNIT_BYTES = 4_000_000
# Each part of the hash is compiled for other processors.
HASH = tuple(ROOT / f"native/common/{name}.cc" for name in ("hash", "hash_avx2", "hash_avx512"))
# One includes the system's EGL headers, another those that are made for the player, the third names enumerants of EGL.
ALONE = (
    *(ROOT / f"{name}.cc" for name in ("native/player/windows", "native/player/special", "tests/native/fuzz_player")),
    *HASH,
)
# The player includes the system's EGL headers, and its hooks would hide names of the mirror. The program that tests the
# runtime has a macro of several lines.
APART = ("mirror", "player", "runtime")
# These are in several programs, so they are a unit of their own.
READER = ("arrow", "chunk", "frames", "markers", "order", "signature", "structures", "text", "trace", "tree_text")
READER += ("vulkan",)
SHARED = (*(ROOT / f"native/core/{name}.cc" for name in READER), *HASH)
# What reads damaged files in loops: -Og runs as fast as -O1, and -O1 compiles half as long again. Large generated code
# takes longer to optimise than it runs.
HOT = ("common", "core", "drain", "openvg", "system")
# A compiler of much memory need not look for what it may forget. Clang has no such parameters.
GCC_FLAGS = ("--param=ggc-min-expand=300", "--param=ggc-min-heapsize=600000")


def compiler() -> str:
    """Return the C++ compiler; the test is skipped where there is none."""
    found = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if found is None:
        pytest.skip("no C++ compiler on this machine")
    return found


def build(
    program: Path,
    sources: Iterable[Path],
    *,
    libraries: Sequence[str] = (),
    flags: Sequence[str] = FLAGS,
    own: Sequence[str] = (),
    includes: Iterable[Path] = (),
    link: Sequence[str] = (),
    with_: str | None = None,
    cache: Path = CACHE,
) -> Path:
    """Compile the sources, two at a time, and link them.

    `own` flags and `includes` are for the sources outside of the folders that are ALIKE.
    """
    tool = with_ or compiler()
    cache.mkdir(parents=True, exist_ok=True)
    _prune(cache)
    enums = enum_headers(cache)
    rooms = (*includes, enums)
    faster = GCC_FLAGS if "Free Software Foundation" in _version(tool) else ()

    def compile_all(found: Unit) -> list[str]:
        unit = found.sources
        alike = _room(unit[0]) in ALIKE
        scopes = (SCOPES,) if shared.issuperset(unit) and flags == FLAGS else ()
        made = _Unit(tool, unit, found.text(), (_speed(unit[0]), *faster, *flags, *scopes), program.parent, cache)
        own_here, rooms_here = ((), (enums,)) if alike else (tuple(own), rooms)
        try:
            return [str(made.built(own_here, rooms_here))]
        except subprocess.CalledProcessError as error:
            if len(unit) == 1:
                raise
            # Two of them may have a helper of the same name; what else is wrong, each says for itself.
            names = ", ".join(source.name for source in unit)
            warnings.warn(f"compiled one by one, which takes longer: {names}: {error.stderr[-1000:]}", stacklevel=2)
            return [str(replace(made, sources=(source,)).built(own_here, rooms_here)) for source in unit]

    sources = list(sources)
    shared = set(SHARED) if set(SHARED) <= set(sources) else set()
    # Rooms that are compiled alike are one unit, and so are most others: each would read the same headers again.
    units = joined(
        sources,
        UNIT_BYTES,
        alone=ALONE,
        key=lambda one: (_group(one), _speed(one), one.suffix, one in shared),
    )
    with ThreadPoolExecutor(2) as pool:
        objects = [name for names in pool.map(compile_all, units) for name in names]
    names = [f"-l{name}" for name in libraries]
    subprocess.run([tool, *flags, *link, *objects, "-o", str(program), *names], check=True)
    return program


def _group(source: Path) -> str:
    room = _room(source)
    return "alike" if room in ALIKE else room if room in APART else ""


def _speed(source: Path) -> str:
    # With -Og functions that are always inlined are not, where a pointer leads to them.
    return "-O1" if source in HASH else "-Og" if _room(source) in HOT else "-O0"


def _room(source: Path) -> str:
    return source.parent.name if source.parent.parent == ROOT / "native" else ""


def enum_headers(cache: Path = CACHE) -> Path:
    """Return the folder of the generated headers for all rooms; other workers may be compiling with them."""
    folder = cache / "khronos"
    folder.mkdir(parents=True, exist_ok=True)
    made = (generate_headers.headers(), generate_flags.headers(), generate_tables.headers())
    for name, text in (pair for headers in made for pair in headers.items()):
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text:
            (scratch := folder / f"{name}.{os.getpid()}").write_text(text, encoding="utf-8")
            scratch.replace(folder / name)
    return folder


@dataclass(frozen=True)
class _Unit:
    """Sources to compile for a program; generated files lie in the program's folder, which has a new name each run."""

    tool: str
    sources: tuple[Path, ...]
    text: str  # of a unit of several sources
    flags: tuple[str, ...]
    folder: Path
    cache: Path

    def built(self, own: tuple[str, ...], rooms: tuple[Path, ...]) -> Path:
        """Return the object, compiled if none in the cache was made of the same files."""
        flags = (*self.flags, *own)
        told = (_version(self.tool), *flags, *map(self._name, (*self.sources, *rooms)), *map(_digest, self.sources))
        key = hashlib.sha256("\0".join(told).encode()).hexdigest()[:32]
        target, read = self.cache / f"{key}.o", self.cache / f"{key}.read"
        with (self.cache / f"{key}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a compiler ends, so does the wait
            if target.exists() and read.exists() and self._fresh(read):
                os.utime(target)
                return target
            read.unlink(missing_ok=True)
            rule = self.cache / f"{key}.d"
            command = [self.tool, *flags, *(f"-I{room}" for room in rooms), "-MMD", "-MF", str(rule), "-c"]
            whole = self.sources[0]
            if len(self.sources) > 1:
                whole = self.cache / f"{key}{whole.suffix}"
                command.insert(-1, "-Wno-subobject-linkage")  # it is about headers, and takes sources for such
                whole.write_text(self.text, encoding="utf-8")
            done = subprocess.run([*command, str(whole), "-o", str(target)], capture_output=True, text=True)
            if done.returncode:
                sys.stderr.write(done.stderr)
                raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
            words = re.split(r"(?<!\\)\s+", rule.read_text(encoding="utf-8").replace("\\\n", " ").split(": ", 1)[1])
            files = [Path(word.replace("\\ ", " ")).resolve() for word in words if word]
            rule.unlink()
            read.write_text("".join(f"{_digest(file)} {self._name(file)}\n" for file in files), encoding="utf-8")
        return target

    def _name(self, path: Path) -> str:
        path, folder = path.resolve(), self.folder.resolve()
        return f"@{path.relative_to(folder)}" if path.is_relative_to(folder) else str(path)

    def _fresh(self, read: Path) -> bool:
        for line in read.read_text(encoding="utf-8").splitlines():
            digest, name = line.split(" ", 1)
            path = self.folder / name[1:] if name.startswith("@") else Path(name)
            if not path.is_file() or _digest(path) != digest:
                return False
        return True


@functools.cache
def _version(tool: str) -> str:
    return subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _prune(cache: Path) -> None:
    old = time.time() - KEPT_DAYS * 86400
    for target in cache.glob("*.o"):
        # Another worker may remove the same.
        try:
            if target.stat().st_mtime < old:
                target.with_suffix(".read").unlink(missing_ok=True)
                target.unlink(missing_ok=True)
        except FileNotFoundError:
            continue
