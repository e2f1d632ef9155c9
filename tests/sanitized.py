"""Build C++ of the project with AddressSanitizer and UBSan: each source once, whichever programs it is in.

Objects lie in `build/sanitized`, named by compiler, flags and source. Beside each stands the list of the files that the
compiler read, with their digests: an object is used again as long as all of them are as they were.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from drawtap.instrument import generate_headers, generate_tables
from shared import WHOLE

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "build/sanitized"
KEPT_DAYS = 14
FLAGS = (
    "-std=c++20",
    "-g1",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-Wall",
    "-Wextra",
    "-Werror",
    # Checks of pointers take a quarter of the compilation. A use of null is a fault without them, and x86
    # does not mind where an object lies: make test-all looks for what they alone find.
    *(() if WHOLE else ("-fno-sanitize=null,alignment,object-size,vptr",)),
)
# Sources in these folders include by relative path alone. They are compiled alike for all programs.
ALIKE = ("common", "core", "drain", "edit", "export", "system")
# What reads damaged files in loops. The rest takes longer to optimise than it runs.
HOT = ("common", "core", "drain", "openvg", "system")


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

    def compile_one(source: Path) -> str:
        room = source.parent.name if source.parent.parent == ROOT / "native" else ""
        alike = room in ALIKE
        unit = _Unit(tool, source, (*flags, "-O1" if room in HOT else "-O0"), program.parent, cache)
        return str(unit.built((), (enums,)) if alike else unit.built(tuple(own), rooms))

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compile_one, sources))
    names = [f"-l{name}" for name in libraries]
    subprocess.run([tool, *flags, *link, *objects, "-o", str(program), *names], check=True)
    return program


def enum_headers(cache: Path = CACHE) -> Path:
    """Return the folder of the generated headers for all rooms; other workers may be compiling with them."""
    folder = cache / "khronos"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {**generate_headers.headers(), **generate_tables.headers()}.items():
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text:
            (scratch := folder / f"{name}.{os.getpid()}").write_text(text, encoding="utf-8")
            scratch.replace(folder / name)
    return folder


@dataclass(frozen=True)
class _Unit:
    """A source to compile for a program; generated files lie in the program's folder, which has a new name each run."""

    tool: str
    source: Path
    flags: tuple[str, ...]
    folder: Path
    cache: Path

    def built(self, own: tuple[str, ...], rooms: tuple[Path, ...]) -> Path:
        """Return the object, compiled if none in the cache was made of the same files."""
        flags = (*self.flags, *own)
        told = (_version(self.tool), *flags, *map(self._name, (self.source, *rooms)), _digest(self.source))
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
            subprocess.run([*command, str(self.source), "-o", str(target)], check=True)
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
