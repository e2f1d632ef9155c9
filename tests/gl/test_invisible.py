"""What a program can find out about itself is the same with and without the tap."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drawtap.parts import TAP, part

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl


def test_results_errors_threads_signals_and_descriptors_are_the_same(traps: Bench, tmp_path: Path) -> None:
    plain = traps.plain(["invisible"])
    assert plain.returncode == 0, plain.stdout + plain.stderr
    seen = traps.recorded(["invisible"], tmp_path)
    assert seen.result.returncode == 0, seen.result.stdout + seen.result.stderr
    assert _stable(seen.result.stdout) == _stable(plain.stdout)
    # It was under the tap, and each call was seen once.
    assert seen.count("glDrawElements") == 1
    assert seen.count("glDrawArrays") == 1
    assert seen.count("glFlush") == 1


def test_programs_run_the_same_twice(traps: Bench) -> None:
    # Otherwise the comparison above would prove nothing.
    first, second = traps.plain(["invisible"]), traps.plain(["invisible"])
    assert _stable(first.stdout) == _stable(second.stdout)
    assert "checksum" in first.stdout


def _stable(output: str) -> list[str]:
    # The shell's own variables may count how deep it is nested.
    return [line for line in output.splitlines() if not line.startswith(("environment _=", "environment SHLVL="))]


_ENTRY = """
import ctypes
ctypes.CDLL("libGLESv2.so.2", mode=ctypes.RTLD_GLOBAL)
called = ctypes.CDLL(None).glGetError
entry = ctypes.cast(called, ctypes.c_void_p).value
code = ctypes.string_at(entry, 6)
assert code[:2] == b"\\xff\\x25", code.hex()  # jmp *distance(%rip)
place = ctypes.c_uint64.from_address(entry + 6 + int.from_bytes(code[2:], "little", signed=True))

def library():
    for line in open("/proc/self/maps"):
        first, last = (int(word, 16) for word in line.split()[0].split("-"))
        if first <= place.value < last:
            return line.split("/")[-1].strip()

before = library()
called()
print(before, library())
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86 instructions")
def test_while_nothing_is_recorded_a_call_is_one_jump_to_the_drivers_function() -> None:
    environment = dict(os.environ, LD_PRELOAD=str(part(TAP)), DRAWTAP_SOCKET="/nonexistent/drawtap", DRAWTAP_QUIET="1")
    done = subprocess.run([sys.executable, "-c", _ENTRY], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, after = done.stdout.split()
    assert before == "libdrawtap-tap.so"
    assert after.startswith("libGL"), after
