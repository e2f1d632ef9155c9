"""How exactly frame rates are held, beside the algorithms of MangoHud and GLACI from their descriptions."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.live import built
from bench.managed import alone, tap
from bench.measure import BenchError
from bench.row import Goal, Row
from bench.setup import ROOT, Setup

GROUP = "limiter"
_RATES = ((30, 6000), (60, 4000), (90, 3000), (144, 2000))  # FPS, us of work in each frame


@dataclass(frozen=True)
class _Method:
    name: str
    library: str
    variable: str


def rows(setup: Setup) -> Iterator[Row]:
    """Run frames of busy work at each rate, method after method, as SCHED_FIFO on one core where that is allowed.

    The times are taken in the driver. Mean error is that of the rate over the whole run, the 99th percentile that of
    single frame times against the interval. What is reported is the median of the runs.
    """
    seconds, runs = (3.0, 3) if setup.quick else (6.0, 5)
    methods = (
        _Method("drawtap", tap(), "DRAWTAP_LIMIT"),
        _Method("MangoHud", built(setup, ROOT / "bench/modules/mangohud_limiter.py"), "DRAWTAP_FPS"),
        _Method("GLACI", built(setup, ROOT / "bench/modules/glaci_limiter.py"), "DRAWTAP_FPS"),
    )
    for fps, work_us in _RATES:
        found: dict[str, list[tuple[float, float]]] = {m.name: [] for m in methods}
        for _ in range(runs):
            for method in methods:
                found[method.name].append(_errors(_times(setup, method, fps, work_us, seconds), fps))
        mean = {name: statistics.median(abs(m) for m, _ in figures) for name, figures in found.items()}
        late = {name: statistics.median(p for _, p in figures) for name, figures in found.items()}
        others = [m.name for m in methods[1:]]
        yield Row(GROUP, f"{fps} FPS, mean error", "%", mean["drawtap"], goal=Goal(most=0.05, unit="%"),
                  note=", ".join(f"{n}'s algorithm {mean[n]:.3g} %" for n in others),
                  samples={n: [m for m, _ in f] for n, f in found.items()})  # fmt: skip
        yield Row(GROUP, f"{fps} FPS, error of a frame time, 99 %", "us", late["drawtap"],
                  goal=Goal(most=100, unit="us"),
                  note=", ".join(f"{n}'s algorithm {late[n]:,.0f} us" for n in others),
                  samples={n: [p for _, p in f] for n, f in found.items()})  # fmt: skip


def _errors(times: np.ndarray, fps: float) -> tuple[float, float]:
    interval = 1e9 / fps
    steady = times[len(times) // 10 :]  # the schedule has begun
    if len(steady) < 20:
        raise BenchError(f"only {len(times)} frames at {fps} FPS")
    mean = (steady[-1] - steady[0]) / (len(steady) - 1)
    frames = np.abs(np.diff(steady) - interval) / 1e3
    return float(100 * (interval / mean - 1)), float(np.percentile(frames, 99))


def _times(setup: Setup, method: _Method, fps: float, work_us: int, seconds: float) -> np.ndarray:
    file = setup.scratch / "times"
    file.unlink(missing_ok=True)
    settings = {"LD_PRELOAD": method.library, method.variable: str(fps), "BENCH_TIMES": str(file)}
    program = [setup.program("paced"), "frames", str(seconds), str(work_us), str(work_us)]
    run_alone(program, dict(alone()) | settings)
    return np.fromfile(file, np.int64)


def run_alone(program: Sequence[str], settings: dict[str, str], *, core: int | None = None) -> None:
    """Run a program on the last core before everybody else (SCHED_FIFO), or as it is where that is not allowed."""
    cores = sorted(os.sched_getaffinity(0))

    def first() -> None:
        os.sched_setaffinity(0, {cores[-1] if core is None else core})
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

    environment = {k: v for k, v in {**os.environ, **settings}.items() if v}
    done = subprocess.run(list(program), env=environment, capture_output=True, text=True, check=False, preexec_fn=first)
    if done.returncode:
        raise BenchError(f"{Path(program[0]).name} ended with {done.returncode}: {done.stderr[-300:]}")
