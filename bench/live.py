"""What a managed program pays: calls with everything off, the hook at a frame's end, probes nobody listens to."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.instructions import per_call
from bench.managed import Preloaded, alone, manager, tap
from bench.measure import BenchError, Native, added, interleaved
from bench.row import Goal, Row
from bench.setup import ROOT, Setup
from bench.sides import added as added_to_calls

GROUP = "live: what a program pays"
_MODES = {"enable": "glEnable", "state": "state calls", "rand": "irregular calls"}


def rows(setup: Setup) -> Iterator[Row]:
    """Measure CPU of the application's thread, and count instructions where valgrind is there."""
    yield from _off(setup)
    yield from _frames(setup)
    yield from _probes(setup)


def _off(setup: Setup) -> Iterator[Row]:
    off = Preloaded("off", (tap(),), alone())
    with manager(setup.scratch / "live-idle") as managed:
        for mode, name in _MODES.items():
            for what, environment in (("loaded, all off", dict(alone())), ("under a manager", managed)):
                cost = added_to_calls(setup, mode, tap(), environment)
                yield Row(GROUP, f"{name}, {what}", "ns/call", cost.more, native=cost.native,
                          goal=Goal(most=1.5, unit="ns"), note=str(cost))  # fmt: skip
    for mode, name in list(_MODES.items())[: 1 if setup.quick else None]:
        counted = per_call(setup, [Native(), off], mode)
        if counted is None:
            yield Row(GROUP, "instructions", "", note="valgrind is not installed")
            return
        yield Row(GROUP, f"{name}, loaded, all off", "instructions", counted["off"] - counted["native"],
                  native=counted["native"], goal=Goal(most=14, unit=""))  # fmt: skip


def _frames(setup: Setup) -> Iterator[Row]:
    swaps, runs = (100_000, 5) if setup.quick else (500_000, 7)
    program = [setup.program("paced"), "swaps", str(swaps), "5"]
    with manager(setup.scratch / "live-frames") as watching:
        off = Preloaded("off", (tap(),), alone())
        managed = Preloaded("managed", (tap(),), tuple(watching.items()))
        results = interleaved([Native(), off, managed], runs, program)
    samples = {variant: [run.thread_ns for run in found] for variant, found in results.items()}
    row = Row(GROUP, "", "ns/frame", native=statistics.median(samples["native"]), samples=samples)
    for variant, name, goal in (
        ("off", "frame hook, all off", Goal()),
        ("managed", "frame hook, watched by a manager", Goal(most=150, unit="ns")),
    ):
        yield replace(row, name=name, drawtap=added(samples[variant], samples["native"]), goal=goal)


def _probes(setup: Setup) -> Iterator[Row]:
    bare, probes = (
        added_to_calls(setup, "enable", built(setup, module), dict(alone()))
        for module in (ROOT / "bench/modules/bare.py", "probes")
    )
    # Two probes a call; what hooks cost at all is in both modules.
    yield Row(GROUP, "a USDT probe nobody listens to", "ns/probe", (probes.more - bare.more) / 2, native=bare.native,
              goal=Goal(most=1.0, unit="ns"))  # fmt: skip


def built(setup: Setup, module: str | Path) -> str:
    """Return a module compiled for OpenGL ES 2: one of drawtap's by name, or a script of the benchmarks."""
    library = setup.scratch / f"lib{Path(str(module)).stem}.so"
    if not library.exists():
        command = ["build", str(module), "--api", "gles2", "--version", "2.0", "-o", str(library)]
        done = subprocess.run([sys.executable, "-m", "drawtap", *command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise BenchError(f"{module} does not compile: {done.stderr[-500:]}")
    return str(library)
