"""The tap sees the calls however the program finds them, and the program does not see the tap.

Each program of `traps/` finds GL functions in one way and prints what a trace of it must contain.
"""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drawtap
from drawtap.replay import player

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

FULL_SONAME = "libGL.so.1.7.0"
NEEDS_DISPLAY = frozenset({"glx_window"})


@dataclass(frozen=True)
class Trap:
    """One way to a GL function: a program and its arguments; `{}` is the folder of the programs."""

    name: str
    argv: tuple[str, ...]


def _trap(name: str, *arguments: str) -> Trap:
    return Trap("-".join((name, *(word.replace("{}/", "") for word in arguments))), (name, *arguments))


PLUGINS = ("{}/libplugin_lazy.so", "{}/libplugin_now.so", "{}/libplugin_symbolic.so")

CASES = (
    # direct links
    _trap("link_gl"),
    _trap("link_opengl_glx"),
    _trap("link_gles2"),
    _trap("link_gles1"),
    _trap("address"),
    _trap("weak"),
    _trap("address_sanitizer"),
    _trap("address_sanitizer_library"),
    _trap("address_sanitizer_options"),
    _trap("thread_sanitizer"),
    # dlopen and dlsym
    _trap("open", "libGL.so.1", "lazy"),
    _trap("open", "libGL.so.1", "now", "global"),
    _trap("open", "libGL.so.1", "now", "deepbind"),
    _trap("open", "libGL.so.1", "now", "noload"),
    _trap("open", "libOpenGL.so.0", "now"),
    _trap("open", "libGLESv2.so.2", "now"),
    _trap("open", "libGLESv1_CM.so.1", "lazy"),
    _trap("open", FULL_SONAME, "lazy"),
    _trap("open", "ABSOLUTE", "now"),
    _trap("open_null"),
    _trap("default_linked"),
    _trap("default_unlinked"),
    _trap("next_library"),
    _trap("versioned"),
    _trap("namespace_base"),
    _trap("namespace_new"),
    _trap("lookup_glx"),
    _trap("lookup_egl"),
    _trap("glx_window"),
    # libraries opened after start
    *(_trap("use_plugin", plugin, mode) for plugin in PLUGINS for mode in ("lazy", "now")),
    *(_trap("use_plugin", plugin, mode, "deepbind") for plugin in PLUGINS for mode in ("lazy", "now")),
    _trap("use_plugin", "{}/libplugin_lazy.so", "lazy", "global"),
    _trap("runpath", "program", "hidden_program.so"),
    _trap("runpath", "library", "hidden_library.so"),
    _trap("runpath", "program", "hidden_library.so"),
    _trap("runpath", "library", "hidden_program.so"),
    # several libraries with the same names
    _trap("several", "{}/libfakegl.so"),
    _trap("several", "{}/libfakegl_symbolic.so"),
    _trap("several_linked", "{}/libfakegl.so"),
    _trap("two_local", "{}/libfake_user.so", "{}/libplain_plugin.so", "now"),
    _trap("two_local", "{}/libfake_user.so", "{}/libplain_plugin.so", "lazy"),
    _trap("reopen", "{}/libfakegl.so"),
    _trap("threads", "{}/libplain_plugin.so", "{}/libfakegl.so"),
    # out of a call without returning from it
    _trap("leaving"),
    _trap("leaving", "altstack"),
    _trap("leaving", "thread"),
    # descriptors that the program closes or puts others in the place of
    *(_trap("closing", way) for way in ("close", "range", "replace")),
    # a context before any library with functions of OpenGL
    *(_trap("late_driver", way) for way in ("address", "library")),
    # what is not there
    _trap("nulls"),
    # processes
    _trap("fork_both"),
    _trap("fork_child"),
    *(_trap("start", way, "{}/link_gl") for way in ("vfork", "spawn", "system", "exec")),
)


def announced(output: str) -> dict[str, int]:
    """Return what a trap program says that it called."""
    lines = (line.split() for line in output.splitlines() if line.startswith("calls "))
    return {name: int(count) for _, name, count in lines}


def absolute_libgl() -> str:
    """Return the absolute path of libGL as the loader finds it."""
    command = ["sh", "-c", "ldconfig -p 2>/dev/null || /sbin/ldconfig -p"]
    listing = subprocess.run(command, capture_output=True, text=True).stdout
    paths = [line.split("=> ")[1] for line in listing.splitlines() if "libGL.so.1 (" in line and "x86-64" in line]
    paths += [str(p) for p in Path("/usr/lib").glob("*/libGL.so.1")]
    assert paths, "libGL.so.1 is not installed"
    return paths[0].strip()


def concrete(trap: Trap, bench: Bench) -> tuple[str, ...]:
    """Return the trap's arguments for this machine; skips where it lacks what the trap is about."""
    if trap.argv[0] in NEEDS_DISPLAY and bench.display is None:
        pytest.skip("Xvfb is not installed")
    if "_sanitizer" in trap.argv[0] and not (bench.programs / trap.argv[0]).exists():
        pytest.skip(f"the compiler has no {trap.argv[0]}")
    if FULL_SONAME in trap.argv and ctypes.util.find_library("GL") is None:
        pytest.skip("libGL is not installed")
    return tuple(absolute_libgl() if word == "ABSOLUTE" else word for word in trap.argv)


@pytest.mark.sample(7)
@pytest.mark.parametrize("trap", CASES, ids=lambda trap: trap.name)
def test_every_call_is_seen_and_nothing_else_changes(trap: Trap, traps: Bench, tmp_path: Path) -> None:
    argv = concrete(trap, traps)
    plain = traps.plain(argv)
    assert plain.returncode == 0, plain.stdout + plain.stderr
    assert plain.stdout.endswith("EXIT-SUCCESS\n")
    seen = traps.recorded(argv, tmp_path)
    assert seen.result.returncode == plain.returncode, seen.result.stdout + seen.result.stderr
    assert seen.result.stdout == plain.stdout
    expected = announced(plain.stdout)
    assert expected
    assert {name: seen.count(name) for name in expected} == expected


@pytest.mark.parametrize("way", ["address", "library"])
def test_a_context_that_comes_before_the_functions_is_known(way: str, traps: Bench, tmp_path: Path) -> None:
    # What a context is tells how much a draw reads, and how a frame is read back.
    trace = traps.record(["late_driver", way], tmp_path / "t.dtap", "--hash-frames")
    played = player.play(trace, ["--verify"], environment=traps.environment())
    assert (played.frames, played.compared, played.different) == (3, 3, 0)
    assert played.findings == ()


def test_every_program_has_a_case() -> None:
    built = {line.split("(")[1].split()[0].rstrip(")\n") for line in _cmake_lines() if line.startswith("trap(")}
    built |= {"address_sanitizer", "thread_sanitizer"}
    assert built - {trap.argv[0] for trap in CASES} == {"invisible"}


def _cmake_lines() -> list[str]:
    return (Path(__file__).parent / "traps" / "CMakeLists.txt").read_text().splitlines()


def test_calls_that_a_program_leaves_are_said_and_no_others_are_lost(traps: Bench, tmp_path: Path) -> None:
    seen = traps.recorded(["leaving"], tmp_path)
    assert "left by longjmp or an exception, and so have no duration and no outputs: 6" in seen.result.stderr
    assert "had not returned" not in seen.result.stderr
    with drawtap.open(seen.traces[0]) as trace:
        unended = trace.sql("SELECT name, count(*) FROM calls WHERE duration IS NULL GROUP BY name").fetchall()
    assert unended == [("glEnable", 6)]


@pytest.mark.parametrize("way", ["call", "jump"])
def test_a_handler_strikes_between_any_two_instructions_of_the_tap(way: str, traps: Bench, tmp_path: Path) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("this processor is not stepped by a flag")
    seen = traps.recorded(["stepped", way], tmp_path)
    said = dict(line.rsplit(" ", 1) for line in seen.result.stdout.splitlines() if " " in line)
    strikes = int(said["strikes"])
    assert strikes > 40, seen.result.stdout
    assert said["error"] == "0x0"  # no call got to another function
    with drawtap.open(seen.traces[0]) as trace:
        counts = dict(trace.sql("SELECT name, count(*) FROM calls GROUP BY name").fetchall())
        boxes = trace.sql("SELECT count(DISTINCT x) FROM glScissor").fetchall()
    assert counts["glLineWidth"] == 10 * strikes + 1  # what comes later is recorded, whatever was left
    if way == "call":
        assert int(said["right"]) == strikes
        assert counts["glScissor"] == strikes + 2
        assert boxes == [(strikes + 1,)]


def test_a_program_for_another_c_library_runs_without_the_tap(traps: Bench, tmp_path: Path) -> None:
    if shutil.which("musl-gcc") is None:
        pytest.skip("musl-gcc is not installed")
    program, script = tmp_path / "other", tmp_path / "script"
    program.with_suffix(".c").write_text('#include <stdio.h>\nint main(void) { puts("runs"); return 7; }\n')
    subprocess.run(["musl-gcc", "-o", program, program.with_suffix(".c")], check=True)
    script.write_text(f"#!{program}\n")
    script.chmod(0o755)
    for path in (program, script):
        seen = traps.recorded([str(path)], tmp_path)
        assert (seen.result.returncode, seen.result.stdout) == (7, "runs\n"), seen.result.stderr
        assert "linked to musl" in seen.result.stderr
        assert "the program runs without it" in seen.result.stderr
    # A recorded program starts it: the tap is in its environment.
    seen = traps.recorded(["start", "spawn", str(program)], tmp_path)
    assert (seen.result.returncode, seen.result.stdout) == (7, "runs\n"), seen.result.stderr
    assert "programs that are not for glibc ran without the tap: other" in " ".join(seen.result.stderr.split())
