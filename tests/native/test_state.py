"""Build and run the C++ tests of the tap's GL knowledge: sizes, client arrays, maps, contexts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import sanitized

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
SOURCES = (
    *sorted((NATIVE / "mirror").glob("*.cc")),
    *(NATIVE / "runtime" / name for name in ("maps.cc", "natives.cc")),
)


def _compiler() -> str:
    for name in ("g++", "clang++", "c++"):
        if shutil.which(name):
            return name
    pytest.skip("no C++ compiler on this machine")


@pytest.mark.parametrize("sanitize", [False, True], ids=["plain", "sanitized"])
def test_state(tmp_path: Path, sanitize: bool) -> None:
    program = tmp_path / "test_state"
    flags = ["-fsanitize=address,undefined", "-O1"] if sanitize else ["-O2"]
    command = [_compiler(), "-std=c++20", "-g", "-Wall", "-Wextra", f"-I{sanitized.enum_headers()}", *flags]
    command += [str(ROOT / "tests" / "native" / "test_state.cc"), f"-I{NATIVE / 'mirror'}", *map(str, SOURCES)]
    built = subprocess.run([*command, "-o", str(program)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    run = subprocess.run([str(program)], capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stdout) == (0, "ok\n"), run.stdout + run.stderr
