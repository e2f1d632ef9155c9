"""Instructions that a tracer adds to a call: exact on every machine, loaded or not (valgrind's callgrind)."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.measure import BenchError, Run, Variant
from bench.row import Goal, Row
from bench.setup import Setup

_SHORT, _LONG = 50_000, 150_000
_MOST_OFF = 14
_COLLECTED = re.compile(r"Collected : (\d+)")


@dataclass(frozen=True)
class _Work:
    variant: Variant
    mode: str
    calls: int


def rows(setup: Setup) -> Iterator[Row]:
    """Count the program's instructions in two runs of different length; their difference is what calls cost.

    Python's part of the tracing, the drainer, is another process and not counted; apitrace compresses in the
    calling thread and so is.
    """
    if not shutil.which("valgrind"):
        yield Row("instructions", "not measured", "", note="valgrind is not installed")
        return
    modes = ("state",) if setup.quick else ("enable", "uniform", "mat4", "bindtex", "state", "rand")
    variants = setup.variants(off=True)
    work = [_Work(variant, mode, calls) for mode in modes for variant in variants for calls in (_SHORT, _LONG)]
    program = setup.program("many_calls")
    # Counts do not depend on what else runs, so all cores may count at once.
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        counts = dict(zip(work, pool.map(lambda item: _collected(item, program), work), strict=True))
    for mode in modes:
        per_call = {v.name: _slope(counts, v, mode) for v in variants}
        native = per_call["native"]
        apitrace = per_call["apitrace"] - native if "apitrace" in per_call else None
        yield Row("instructions", mode, "a call", per_call["drawtap"] - native, apitrace, native, Goal(30))
        goal = Goal(most=_MOST_OFF, unit="")
        off = per_call["off"] - native
        yield Row("instructions", f"{mode}, loaded but off", "a call", off, native=native, goal=goal)


def per_call(setup: Setup, variants: Sequence[Variant], mode: str) -> dict[str, float] | None:
    """Return the instructions of a call in each variant, by name; None without valgrind."""
    if not shutil.which("valgrind"):
        return None
    work = [_Work(variant, mode, calls) for variant in variants for calls in (_SHORT, _LONG)]
    program = setup.program("many_calls")
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        counts = dict(zip(work, pool.map(lambda item: _collected(item, program), work), strict=True))
    return {v.name: _slope(counts, v, mode) for v in variants}


def _slope(counts: dict[_Work, int], variant: Variant, mode: str) -> float:
    return (counts[_Work(variant, mode, _LONG)] - counts[_Work(variant, mode, _SHORT)]) / (_LONG - _SHORT)


def _collected(work: _Work, program: str) -> int:
    callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    run = _Under(work.variant).run([*callgrind, program, work.mode, str(work.calls), "1"])
    found = _COLLECTED.search(run.output)
    if not found:
        raise BenchError(f"callgrind did not say what it counted: {run.output[-300:]}")
    return int(found[1])


@dataclass(frozen=True)
class _Under:
    # valgrind reports on standard error, which a run keeps only on failure: have the shell join the two.
    variant: Variant

    def run(self, program: Sequence[str], trace: Path | None = None) -> Run:
        return self.variant.run(["bash", "-c", 'exec "$@" 2>&1', "bash", *program], trace)
