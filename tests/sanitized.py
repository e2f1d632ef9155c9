"""Build C++ of the project with AddressSanitizer and UBSan."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

FLAGS = (
    "-std=c++20",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-Wall",
    "-Wextra",
)


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
    libraries: Sequence[str],
    flags: Sequence[str] = (*FLAGS, "-Werror"),
    includes: Iterable[Path] = (),
    level: Callable[[Path], str] = lambda _: "-O1",
    link: Sequence[str] = (),
    with_: str | None = None,
) -> Path:
    """Compile the sources, two at a time, into the program's folder, and link them; `level` optimises each."""
    tool = with_ or compiler()
    rooms = [f"-I{room}" for room in includes]

    def compile_one(source: Path) -> str:
        target = program.parent / f"{source.parent.name}_{source.name}.o"
        subprocess.run([tool, *flags, level(source), *rooms, "-c", str(source), "-o", str(target)], check=True)
        return str(target)

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compile_one, sources))
    names = [f"-l{name}" for name in libraries]
    subprocess.run([tool, *flags, *link, *objects, "-o", str(program), *names], check=True)
    return program
