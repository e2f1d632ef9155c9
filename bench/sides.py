"""What a preloaded library adds to a call, within one process: rounds of calls through it beside rounds past it.

Two runs of a program differ by several nanoseconds a call before anything is compared. bench/programs/sides.c changes
the addresses that the linker put into the program, so both sides run the same code in the same memory, tenths of a
millisecond apart: hundredths of a nanosecond can be told, on a loaded machine too.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bench.measure import BenchError, run_process
from bench.setup import Setup

_CALLS = 2400  # of a round: 200 of the state calls' groups, two ends of frames


@dataclass(frozen=True)
class Added:
    """CPU ns a call past a library, and what it adds: medians of the processes, and the least and most of one."""

    native: float
    more: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.least:.2f} to {self.most:.2f} in single processes"


def added(setup: Setup, mode: str, library: str, environment: Mapping[str, str]) -> Added:
    """Run `many_calls` in `mode` with `library` preloaded, on both sides."""
    rounds, processes = (500, 3) if setup.quick else (1500, 9)
    preload = {"LD_PRELOAD": f"{setup.library('sides')} {library}"}
    program = [setup.program("many_calls"), mode, str(_CALLS), str(rounds)]
    native, more = [], []
    # Where memory lies differs from process to process, and with it which branches the processor mistakes.
    for _ in range(processes):
        run = run_process(program, {**environment, **preload})
        lines = run.output.splitlines()
        if len(lines) < 2:
            raise BenchError(f"the program did not go both ways: {run.output[-300:]!r}")
        # Of two rounds in a row each side was first once.
        pairs = np.array(lines[1].split(), dtype=np.float64).reshape(-1, 2).mean(axis=1)
        native.append(run.thread_ns)
        more.append(float(np.median(pairs)))
    return Added(statistics.median(native), statistics.median(more), min(more), max(more))
