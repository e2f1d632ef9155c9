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
_C_FRAMES = re.compile(r"(\d+) frames in ([\d.]+) s")
_ENGINE = {"LIBGL_ALWAYS_SOFTWARE": "1"}
_NO_DISPLAY = {**_ENGINE, "EGL_PLATFORM": "surfaceless"}


@dataclass(frozen=True)
class _Scene:
    name: str
    trace: Path
    program: Path  # the compiled C source
    frames: int
    loops: int
    display: dict[str, str]

    def rate(self, who: str) -> float:
        """Frames a second from the sixth frame on."""
        if who == "player":
            return _player_rate(self.trace, f"{_FIRST}:{self.frames - 1}", self.loops)
        # What the first frames take is in a short run and in a long one; the difference is without it.
        measured = self._original if who == "original" else self._c_source
        few, short = measured(few=True)
        many, long = measured(few=False)
        return (many - few) / (long - short)

    def _original(self, *, few: bool) -> tuple[int, float]:
        frames = _FIRST if few else self.frames
        output = run_process(_command(self.name, frames), self.display).output
        return frames, frames * float(_match(_FRAME_TIME, output)[1]) / 1000

    def _c_source(self, *, few: bool) -> tuple[int, float]:
        loops = 1 if few else 1 + self.loops
        command = [str(self.program), "--loop", str(loops), "--frames-per-second"]
        found = _match(_C_FRAMES, run_process(command, _NO_DISPLAY).output)
        return int(found[1]), float(found[2])


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
            yield from _measured(scene, f"{kind} ({name})", turns)
    yield from _looped(setup)


def _command(name: str, frames: int) -> list[str]:
    # Scenes end after ten seconds where nothing else is said.
    scene = f"{name}:nframes={frames}:duration=1000"
    return ["glmark2-es2", "--off-screen", "--frame-end", "finish", "-s", _SIZE, "-b", scene]


def _made(setup: Setup, name: str, frames: int, display: dict[str, str]) -> _Scene:
    folder = setup.scratch / f"figure39-{name}"
    folder.mkdir()
    trace = folder / "t.dtap"
    Drawtap(tuple(display.items())).run(_command(name, frames), trace)
    run_process(drawtap("export", str(trace), "--format", "c", "-o", str(folder / "c")))
    build = str(folder / "c" / "build")
    run_process(["cmake", "-S", str(folder / "c"), "-B", build, "-DCMAKE_BUILD_TYPE=Release"])
    run_process(["cmake", "--build", build, "-j2"])
    return _Scene(name, trace, Path(build) / "play", frames, 2, display)


def _measured(scene: _Scene, name: str, turns: int) -> Iterator[Row]:
    rates: dict[str, list[float]] = {"original": [], "player": [], "C": []}
    for turn in range(turns):
        for who in list(rates)[turn % 3 :] + list(rates)[: turn % 3]:
            rates[who].append(scene.rate(who))
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


def _match(pattern: re.Pattern[str], output: str) -> re.Match[str]:
    match = pattern.search(output)
    if not match:
        raise BenchError(f"no frame rate in {output[-300:]!r}")
    return match
