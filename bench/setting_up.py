"""How long until a new user has seen the demo: in a fresh clone, and from a wheel in a fresh folder."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.measure import BenchError
from bench.row import Goal, Row
from bench.setup import ROOT, Setup

_FIRST_ANSWER = "Which functions does it call"  # of examples/demo: the first recording is there
_CLONE_S, _WHEEL_S = 120, 60


def rows(setup: Setup) -> Iterator[Row]:
    """Yield the seconds of `make demo` in a clone, and of installing and trying the wheel in dist/.

    Debian's packages have to be there; Python's come from the registry or pip's cache, as on any machine. No compiler
    cache is used.
    """
    yield from _from_a_clone(setup.scratch / "clone")
    yield from _from_the_wheel(setup.scratch / "wheel")


def _from_a_clone(folder: Path) -> Iterator[Row]:
    _checked(["git", "clone", "--quiet", str(ROOT), str(folder)], ROOT)
    before = _processor_s()
    seconds, first = _timed(["make", "demo"], folder, _FIRST_ANSWER)
    yield Row("setup", "clone: first answer", "s", drawtap=first)
    yield Row("setup", "clone: make demo", "s", drawtap=seconds, goal=Goal(most=_CLONE_S, unit="s"))
    note = "of all processors together: it hardly depends on what else the machine does"
    yield Row("setup", "clone: processor time", "s", drawtap=_processor_s() - before, note=note)


def _from_the_wheel(folder: Path) -> Iterator[Row]:
    wheel = fresh_wheel()
    if wheel is None:
        raise BenchError("dist/ has no wheel of these sources: make wheel builds it")
    folder.mkdir()
    tools = folder / "venv" / "bin"
    started = time.monotonic()
    _checked([sys.executable, "-m", "venv", str(folder / "venv")], folder)
    _checked([str(tools / "pip"), "install", "--quiet", str(wheel)], folder)
    installed = time.monotonic() - started
    seconds, _ = _timed([str(tools / "drawtap"), "demo", "--no-open"], folder, "")
    yield Row("setup", "wheel: drawtap demo alone", "s", drawtap=seconds)
    goal = Goal(most=_WHEEL_S, unit="s")
    yield Row("setup", "wheel: install and demo", "s", drawtap=installed + seconds, goal=goal)


def fresh_wheel(root: Path = ROOT) -> Path | None:
    """Return the wheel in dist/ that was made of the sources as they are, None where there is none."""
    wheels = sorted((root / "dist").glob("drawtap-*-manylinux_*.whl"))
    made_of = root / "dist" / "SOURCES"
    if len(wheels) != 1 or not made_of.exists():
        return None
    done = subprocess.run([str(root / ".ci" / "sources")], capture_output=True, text=True, check=True)
    return wheels[0] if done.stdout == made_of.read_text() else None


def _processor_s() -> float:
    """Return the processor seconds of all ended children of this process."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _timed(command: Sequence[str], folder: Path, first: str) -> tuple[float, float]:
    """Return the seconds of a command, and those until it printed `first`."""
    started = time.monotonic()
    seen = 0.0
    said: list[str] = []
    child = subprocess.Popen(
        command, cwd=folder, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert child.stdout is not None
    with child:
        for line in child.stdout:
            said.append(line)
            if not seen and first and first in line:
                seen = time.monotonic() - started
    if child.returncode:
        raise BenchError(f"{' '.join(command)} ended with {child.returncode}: {''.join(said[-8:])}")
    if first and not seen:
        raise BenchError(f"{' '.join(command)} did not print {first!r}")
    return time.monotonic() - started, seen


def _checked(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-400:]}")


def _environment() -> Mapping[str, str]:
    # As in a new user's shell: no compiler cache, and nothing of this drawtap.
    unwanted = ("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS")
    kept = {name: value for name, value in os.environ.items() if name not in (*unwanted, "MAKELEVEL", "MFLAGS")}
    return {**kept, "CCACHE_DISABLE": "1"}
