"""Figure 11 of Tsuboi et al. on a GPU: a program of class high comes beside one of low class; neither has a display.

The programs store when their frames end, so nothing else has to be read. Each is sized to show a known rate alone.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from bench.figure11 import GROUP, PROGRAMS, TARGET, Run, is_reached
from bench.managed import alone, manager, tap
from bench.measure import BenchError, program_environment
from bench.row import Goal, Row
from bench.setup import Setup

_ALONE_FPS = {"highone": 3 * TARGET, "lowone": 7 * TARGET}
_SIZE = "512x512"
_FIRST_WORK, _MOST_WORK = 200, 4_000_000
_PROBE_S, _BEGIN_S, _END_S, _SECONDS = 1.5, 3.0, 10.0, 11.0
_POLICIES = ("none", "static", "adaptive")


def rows(setup: Setup) -> Iterator[Row]:
    """Run both programs under each policy and count the runs in which the high one reached its target."""
    work = {name: _fitting(setup, name) for name in _ALONE_FPS}
    rounds = 1 if setup.quick else 3
    found: dict[str, list[Run]] = {name: [] for name in _POLICIES}
    for _ in range(rounds):
        for policy in _POLICIES:
            found[policy].append(_run(setup, policy, work))
    for policy, runs in found.items():
        high = [run.fps("highone", *run.contended) for run in runs]
        low = [run.fps("lowone", *run.contended) for run in runs]
        goal = Goal(least=rounds) if policy != "none" else Goal()
        note = (
            f"high {np.median(high):.1f} FPS ({min(high):.1f} to {max(high):.1f}), low {np.median(low):.1f}; "
            f"alone {_ALONE_FPS['highone']:g} and {_ALONE_FPS['lowone']:g}, "
            f"with {work['highone']} and {work['lowone']} rounds"
        )
        reached = float(sum(map(is_reached, high)))
        title = f"{policy}: high one at {TARGET:g} FPS"
        yield Row(GROUP, title, f"of {rounds} runs", reached, goal=goal, note=note, samples={"high": high, "low": low})


def _program(setup: Setup, name: str) -> Path:
    # A file of its own: programs are told apart by the file that runs.
    path = setup.scratch / name
    if not path.exists():
        shutil.copy(setup.program("gpu_scene"), path)
    return path


def _started(setup: Setup, name: str, work: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    words = [str(_program(setup, name)), "fill", _SIZE, str(work), "600", str(_times(setup, name))]
    null = subprocess.DEVNULL
    return subprocess.Popen(words, env=program_environment(environment), stdout=null, stderr=null)


def _times(setup: Setup, name: str) -> Path:
    return setup.scratch / f"{name}.times"


def _frames(setup: Setup, name: str) -> np.ndarray:
    data = _times(setup, name).read_bytes()
    return np.frombuffer(data[: len(data) // 8 * 8], dtype=np.int64) / 1e9


def _fitting(setup: Setup, name: str) -> int:
    """Return the rounds a pixel at which the program alone shows `_ALONE_FPS`."""
    work = _FIRST_WORK
    for _ in range(4):
        child = _started(setup, name, work, dict(alone()))
        try:
            time.sleep(_PROBE_S)
        finally:
            child.kill()
            child.wait()
        times = _frames(setup, name)
        if len(times) < 10:
            raise BenchError(f"{name} showed {len(times)} frames in {_PROBE_S:g} s")
        fps = (len(times) - 1) / float(times[-1] - times[0])
        if 0.9 < fps / _ALONE_FPS[name] < 1.1:
            break
        work = max(1, min(round(work * fps / _ALONE_FPS[name]), _MOST_WORK))
    return work


def _run(setup: Setup, policy: str, work: Mapping[str, int]) -> Run:
    options = () if policy == "none" else ("--policy", policy)
    running: list[subprocess.Popen[bytes]] = []
    with manager(setup.scratch / "contention", PROGRAMS, *options) as managed:
        environment = {**managed, "LD_PRELOAD": tap()}
        start = time.monotonic()
        try:
            running.append(_started(setup, "lowone", work["lowone"], environment))
            time.sleep(_BEGIN_S)
            running.append(_started(setup, "highone", work["highone"], environment))
            time.sleep(_END_S - _BEGIN_S)
            running[1].kill()
            time.sleep(_SECONDS - _END_S)
            if running[0].poll() is not None:
                raise BenchError(f"lowone ended with {running[0].returncode}")
        finally:
            for child in running:
                child.kill()
                child.wait()
    frames = {name: _frames(setup, name) - start for name in work}
    if any(len(times) < 30 for times in frames.values()):
        raise BenchError(f"a program showed no frames: { {n: len(t) for n, t in frames.items()} }")
    return Run(policy, frames, dict.fromkeys(work, _SIZE))
