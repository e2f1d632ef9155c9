"""The observer: frames of programs that were not started under drawtap, and what is said where it cannot see them."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drawtap.errors import UnavailableError
from drawtap.live import bpf
from drawtap.live.observer import SHOWERS, Observer, function_offsets

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl


@pytest.fixture
def observer() -> Iterator[Observer]:
    try:
        made = Observer()
    except UnavailableError as error:
        pytest.skip(f"no observer here: {error}")
    yield made
    made.close()


@contextlib.contextmanager
def _running(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    program = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield program
    finally:
        program.kill()
        program.wait()


def _until(observer: Observer, done: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        observer.poll(0.1)


def test_frames_of_a_program_that_nobody_started_under_drawtap(programs: Bench, observer: Observer) -> None:
    command = [str(programs.programs / "two_draws"), "100000000", "0"]
    with _running(command, programs.environment()) as one, _running(command, programs.environment()) as two:

        def found() -> dict[int, int]:
            shown = observer.programs(time.monotonic_ns())
            return {p.pid: p.surfaces[0].frames for p in shown if p.pid in (one.pid, two.pid)}

        _until(observer, lambda: len(found()) == 2 and min(found().values()) > 100)
        [program] = [p for p in observer.programs(time.monotonic_ns()) if p.pid == one.pid]
        assert program.name == "two_draws" and program.exe == programs.programs / "two_draws" and program.id == -one.pid
        [surface] = program.surfaces
        assert surface.kind == "egl" and surface.fps(time.monotonic_ns()) > 1
        assert all(later >= earlier for earlier, later in zip(surface.shown_ns, surface.shown_ns[1:], strict=False))
    assert not [p for p in observer.programs(time.monotonic_ns()) if p.pid in (one.pid, two.pid)]  # gone with them


def test_every_frame_is_seen_once(programs: Bench, observer: Observer) -> None:
    # A program that shows a known number of frames, by GLX through libGL and libGLX.
    glmark = shutil.which("glmark2")
    if glmark is None or programs.display is None:
        pytest.skip("glmark2 and Xvfb are needed")
    environment = programs.environment()
    environment["EGL_PLATFORM"] = "x11"
    command = [glmark, "--size", "64x64", "-b", "build:nframes=40"]
    seen = 0
    with _running(command, environment) as program:
        while program.poll() is None:
            observer.poll(0.1)
            own = [p for p in observer.programs(time.monotonic_ns()) if p.pid == program.pid]
            seen = max([seen, *(p.surfaces[0].frames for p in own)])
        observer.poll()
        seen = max([seen, *(s.frames for (pid, _, _), s in observer._surfaces.items() if pid == program.pid)])
    assert 40 <= seen <= 43  # glmark2 shows a few of its own before and after


def test_the_command(programs: Bench, observer: Observer) -> None:
    observer.close()
    command = [sys.executable, "-m", "drawtap", "top", "--observe", "--seconds", "1.5"]
    with _running([str(programs.programs / "two_draws"), "100000000", "0"], programs.environment()) as program:
        done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        [row] = [r for r in json.loads(done.stdout) if r["pid"] == program.pid]
        assert row["api"] == "egl" and row["fps"] > 1 and row["p50"] <= row["p99"] <= row["worst"]
        done = subprocess.run([*command, "--follow", "--interval", "0.5"], capture_output=True, text=True, timeout=300)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert program.pid in {line["pid"] for line in lines}


def test_without_rights_it_says_so() -> None:
    setpriv = shutil.which("setpriv")
    if os.geteuid() == 0 and setpriv is None:
        pytest.skip("setpriv is needed to give rights up")
    drop = [setpriv or "", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*drop, sys.executable, "-m", "drawtap", "top", "--observe", "--seconds", "0.1"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 3, done.stdout
    assert "CAP_BPF" in done.stderr or "Linux 6.6" in done.stderr
    assert "Traceback" not in done.stderr


def test_two_capabilities_are_enough(programs: Bench, observer: Observer) -> None:
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("root and setpriv are needed")
    observer.close()
    capabilities = "+bpf,+perfmon"
    drop = [setpriv, "--inh-caps=-all," + capabilities, "--ambient-caps=-all," + capabilities,
            "--bounding-set=-all," + capabilities]  # fmt: skip
    command = [*drop, sys.executable, "-m", "drawtap", "top", "--observe", "--seconds", "1", "--json"]
    with _running([str(programs.programs / "two_draws"), "100000000", "0"], programs.environment()) as program:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert program.pid in {row["pid"] for row in json.loads(done.stdout)}


def test_the_program_reads_two_registers_and_writes_to_nobody() -> None:
    code = bpf._instructions(5, "x86_64")
    calls = {struct.unpack_from("<BBhi", code, at)[3] for at in range(0, len(code), 8) if code[at] == 0x85}
    # ktime_get_ns, get_current_pid_tgid, ringbuf_reserve, ringbuf_submit, get_attach_cookie
    assert calls == {5, 14, 131, 132, 174}


@pytest.mark.parametrize(("number", "said"), [(1, "CAP_PERFMON"), (22, "Linux 6.6"), (12, "cannot be made")])
def test_what_the_kernel_refuses_is_said(monkeypatch: pytest.MonkeyPatch, number: int, said: str) -> None:
    monkeypatch.setattr(bpf, "_bpf", lambda command, attributes: -number)
    with pytest.raises(UnavailableError) as raised:
        bpf.Watcher()
    assert said in str(raised.value)


def test_functions_are_found_in_libraries(tmp_path: Path) -> None:
    library = next(
        (p for p in map(Path, ("/usr/lib/x86_64-linux-gnu/libEGL.so.1", "/usr/lib64/libEGL.so.1")) if p.exists()), None
    )
    if library is None:
        pytest.skip("libEGL.so.1 is not where it usually is")
    found = function_offsets(library, {s.name for s in SHOWERS})
    loaded = ctypes.CDLL(str(library))
    address = ctypes.cast(loaded.eglSwapBuffers, ctypes.c_void_p).value
    lines = [
        line.split() for line in Path("/proc/self/maps").read_text().splitlines() if str(library.resolve()) in line
    ]
    begin, offset = next(
        (int(w[0].partition("-")[0], 16), int(w[2], 16)) for w in lines if "x" in w[1] and address is not None
    )
    assert address is not None and found["eglSwapBuffers"] == address - begin + offset
    broken = tmp_path / "broken.so"
    whole = library.read_bytes()
    for cut in (0, 5, 63, 64, 500, len(whole) // 2, len(whole) - 100):
        broken.write_bytes(whole[:cut])
        assert isinstance(function_offsets(broken, {"eglSwapBuffers"}), dict)
