"""A real program: what recording takes from glmark2's frame rate."""

from __future__ import annotations

import re
import shutil
import statistics
from collections.abc import Iterator

from bench.measure import BenchError, Run, interleaved
from bench.row import Goal, Row
from bench.setup import Setup

_FPS = re.compile(r"FPS: (\d+)")


def texture_scene(frames: int) -> list[str]:
    """Return the command line for a fixed number of small frames: the calls weigh, not the pixels."""
    return ["glmark2-es2", "--off-screen", "-s", "64x64", "-b", f"texture:nframes={frames}"]


def rows(setup: Setup) -> Iterator[Row]:
    """Measure the frames per second that glmark2-es2 loses and the CPU time that it needs more."""
    if not shutil.which("glmark2-es2"):
        yield Row("glmark2", "not measured", "", note="glmark2-es2 is not installed")
        return
    frames, runs = (15_000, 5) if setup.quick else (60_000, 5)
    with setup.display() as environment:
        variants = setup.variants(environment=environment)
        results = interleaved(variants, runs, texture_scene(frames))
    fps = {name: [frames_per_second(run) for run in measured] for name, measured in results.items()}
    lost = {
        name: statistics.median(100 * (1 - value / base) for value, base in zip(fps[name], fps["native"], strict=True))
        for name in fps
    }
    note = f"texture 64x64, {frames:,} frames, {statistics.median(fps['native']):,.0f} FPS alone"
    yield Row("glmark2", "FPS lost", "%", lost["drawtap"], lost.get("apitrace"), None, Goal(10), note, fps)
    yield _more("program's CPU more", {name: [run.cpu_s for run in measured] for name, measured in results.items()})
    yield _more("all CPU more", {name: [run.all_cpu_s for run in measured] for name, measured in results.items()})


def _more(what: str, cpu: dict[str, list[float]]) -> Row:
    more = {
        name: statistics.median(100 * (v / base - 1) for v, base in zip(cpu[name], cpu["native"], strict=True))
        for name in cpu
    }
    return Row("glmark2", what, "%", more["drawtap"], more.get("apitrace"), samples=cpu)


def frames_per_second(run: Run) -> float:
    """Return what glmark2 printed at its end. Raises BenchError where it printed nothing."""
    found = _FPS.search(run.output)
    if not found:
        raise BenchError(f"glmark2 did not print its frame rate: {run.output[-300:]}")
    return float(found[1])
