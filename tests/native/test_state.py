"""Build and run the C++ tests of the tap's GL knowledge: sizes, client arrays, maps, contexts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import sanitized

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
SOURCES = (
    *sorted((NATIVE / "mirror").glob("*.cc")),
    *(NATIVE / "runtime" / name for name in ("maps.cc", "natives.cc", "watch.cc")),
    ROOT / "tests/native/test_state.cc",
)


def test_state(tmp_path: Path) -> None:
    program = sanitized.build(tmp_path / "test_state", SOURCES, includes=(NATIVE / "mirror",))
    _runs(program)


@pytest.mark.exhaustive  # another way to compile the same
def test_state_as_it_is_optimised(tmp_path: Path) -> None:
    flags = ("-std=c++20", "-O2", "-Wall", "-Wextra")
    program = sanitized.build(tmp_path / "test_state", SOURCES, includes=(NATIVE / "mirror",), flags=flags)
    _runs(program)


def _runs(program: Path) -> None:
    run = subprocess.run([str(program)], capture_output=True, text=True, timeout=300, check=False)
    assert (run.returncode, run.stdout) == (0, "ok\n"), run.stdout + run.stderr
