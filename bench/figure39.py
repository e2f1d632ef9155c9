"""Kyostila's Figure 39 again: frames per second of a program, of our player, and of the C source of its recording."""

from __future__ import annotations

import json
import re
import shutil
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.measure import BenchError, Drawtap, run_process
from bench.row import Goal, Row
from bench.setup import Setup, drawtap
from drawtap.replay import player

# Scenes of glmark2-es2, off the screen: nothing but drawing is measured.
_SCENES = (("simple", "build"), ("medium", "bump"), ("complex", "jellyfish"))
_SIZE = "320x240"
_FIRST = 5  # frames that warm up: shaders are compiled in them
_FRAME_TIME = re.compile(r"FrameTime: ([\d.]+) ms")
_C_RATE = re.compile(r"([\d.]+) frames a second")
_ENGINE = {"LIBGL_ALWAYS_SOFTWARE": "1"}
_NO_DISPLAY = {**_ENGINE, "EGL_PLATFORM": "surfaceless"}


@dataclass(frozen=True)
class _Scene:
    command: list[str]
    trace: Path
    program: Path  # the compiled C source
    frames: int
    loops: int


def rows(setup: Setup) -> Iterator[Row]:
    """Measure the three in turns, so that a busy machine is busy for all of them; ratios are medians of the turns."""
    for tool in ("glmark2-es2", "cmake", "cc"):
        if not shutil.which(tool):
            yield Row("figure39", "not measured", "", note=f"{tool} is not installed")
            return
    frames, turns = (60, 3) if setup.quick else (300, 7)
    with setup.display() as display:
        for kind, name in _SCENES:
            scene = _made(setup, name, frames, {**display, **_ENGINE})
            yield from _measured(scene, f"{kind} ({name})", turns, {**display, **_ENGINE})
    yield from _looped(setup)


def _made(setup: Setup, name: str, frames: int, display: dict[str, str]) -> _Scene:
    folder = setup.scratch / f"figure39-{name}"
    folder.mkdir()
    trace = folder / "t.dtap"
    command = ["glmark2-es2", "--off-screen", "--frame-end", "finish", "-s", _SIZE, "-b", f"{name}:nframes={frames}"]
    Drawtap(tuple(display.items())).run(command, trace)
    run_process(drawtap("export", str(trace), "--format", "c", "-o", str(folder / "c")))
    build = str(folder / "c" / "build")
    run_process(["cmake", "-S", str(folder / "c"), "-B", build, "-DCMAKE_BUILD_TYPE=Release"])
    run_process(["cmake", "--build", build, "-j2"])
    return _Scene(command, trace, Path(build) / "play", frames, 2)


def _measured(scene: _Scene, name: str, turns: int, display: dict[str, str]) -> Iterator[Row]:
    rates: dict[str, list[float]] = {"original": [], "player": [], "C": []}
    for _ in range(turns):
        rates["original"].append(1000 / _found(_FRAME_TIME, run_process(scene.command, display).output))
        rates["player"].append(_player_rate(scene.trace, f"{_FIRST}:{scene.frames - 1}", scene.loops))
        run = run_process([str(scene.program), "--loop", str(scene.loops), "--frames-per-second"], _NO_DISPLAY)
        rates["C"].append(_found(_C_RATE, run.output))
    pace = ", ".join(f"{key} {statistics.median(values):,.0f}" for key, values in rates.items())
    for key, least in (("player", 0.97), ("C", 1.0)):
        ratios = [one / base for one, base in zip(rates[key], rates["original"], strict=True)]
        note = f"frames a second: {pace}"
        yield Row("figure39", f"{name}: {key} to original", "x", statistics.median(ratios), goal=Goal(least=least),
                  note=note, samples=rates)  # fmt: skip


def _player_rate(trace: Path, frames: str, loops: int) -> float:
    command = [str(player.program()), "--preload", "--frames", frames, "--loop", str(loops), "--benchmark", str(trace)]
    times = _result(run_process(command, _NO_DISPLAY).output)["frame_times_ns"]
    if not isinstance(times, list) or not times:
        raise BenchError("the player measured no frames")
    return len(times) * 1e9 / sum(float(t) for t in times)


def _looped(setup: Setup) -> Iterator[Row]:
    """Show that frames that are played again are not decoded again: CPU of all threads a call, looped and in one go."""
    calls = 200_000 if setup.quick else 1_000_000
    trace = setup.scratch / "looped.dtap"
    Drawtap().run([setup.program("many_calls"), "state", str(calls), "1"], trace)
    once = run_process([str(player.program()), str(trace)], _NO_DISPLAY)
    made = int(str(_result(once.output)["calls"]))
    loops = 20
    again = run_process([str(player.program()), "--frames", "0:", "--loop", str(loops), str(trace)], _NO_DISPLAY)
    total = int(str(_result(again.output)["calls"]))
    per_call = (again.cpu_s - once.cpu_s) * 1e9 / max(total - made, 1)
    note = f"{once.cpu_s * 1e9 / made:.1f} ns in one go, start and decoding included"
    yield Row("figure39", "a call that is played again, CPU of all threads", "ns", per_call, note=note)
    trace.unlink()


def _result(output: str) -> dict[str, object]:
    for line in output.splitlines():
        if '"kind": "result"' in line:
            found = json.loads(line)
            assert isinstance(found, dict)
            return found
    raise BenchError(f"the player reported nothing: {output[-300:]!r}")


def _found(pattern: re.Pattern[str], output: str) -> float:
    match = pattern.search(output)
    if not match:
        raise BenchError(f"no frame rate in {output[-300:]!r}")
    return float(match[1])
