"""What `drawtap system record` costs the programs that it watches: five programs, with and without, interleaved."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import BenchError
from bench.row import Goal, Row
from bench.setup import ROOT, Setup

_MOST_PERCENT = 1.0
_SOURCES, _SOURCE = ROOT / "tests/gl/programs", "many_calls.c"
# A switch of threads every few microseconds, each an event: not in the mean, since no program lives like that.
_WORST = "worst: two that only wake each other"

# On one CPU: which CPUs two threads share changes what they cost by more than any recorder.
# Runs a program and says how much CPU it had and how often it was off it, without the recorder's own start and end.
_INSIDE = """
import json, os, resource, subprocess, sys
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
subprocess.run(sys.argv[2:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
switches = used.ru_nvcsw + used.ru_nivcsw
json.dump({"cpu": used.ru_utime + used.ru_stime, "switches": switches}, open(sys.argv[1], "w"))
"""
_COMPUTE = "x = 0\nfor i in range(12_000_000): x = (x * 31 + i) % 1000003"
_SORT = "import random; random.seed(1); v = [random.random() for _ in range(1_500_000)]; v.sort(); v.sort(reverse=True)"
_PACK = "import random, zlib; random.seed(1); zlib.compress(bytes(random.choices(b'abcdefgh', k=1_500_000)), 9)"
_PIPES = """
import os
a, b = os.pipe(), os.pipe()
if os.fork() == 0:
    for _ in range(40_000): os.read(a[0], 1); os.write(b[1], b"x")
    os._exit(0)
for _ in range(40_000): os.write(a[1], b"x"); os.read(b[0], 1)
os.wait()
"""


@dataclass(frozen=True)
class _Used:
    """What a run took: seconds of CPU, and how often its threads left their CPU."""

    cpu: float
    switches: int


def rows(setup: Setup) -> Iterator[Row]:
    """Yield the CPU time that recording adds to each program, their mean, and bytes an event."""
    environment = dict(os.environ, EGL_PLATFORM="surfaceless")
    python = (sys.executable, "-c")
    programs: dict[str, Sequence[str]] = {
        "GL calls": (setup.program("many_calls"), "mix", "200000", "10"),
        "computing": (*python, _COMPUTE),
        "sorting": (*python, _SORT),
        "compressing": (*python, _PACK),
        "compiling": ("cc", "-O2", "-c", "-o", str(setup.scratch / "o.o"), f"-I{_SOURCES}", str(_SOURCES / _SOURCE)),
        _WORST: (*python, _PIPES),
    }
    runs = 5 if setup.quick else 15
    pairs: dict[str, list[tuple[_Used, _Used]]] = {}
    events = size = 0
    # One run of every program after the other, and over again: what else the machine does falls on all alike.
    for turn in range(runs):
        for name, program in programs.items():
            trace = setup.scratch / "cost.dat"
            found = [_run(setup.scratch, program, environment, where) for where in _order(turn, trace)]
            pairs.setdefault(name, []).append((found[0], found[1]) if turn % 2 == 0 else (found[1], found[0]))
            some, length = _volume(trace)
            events, size = events + some, size + length
    yield from _evaluated(pairs)
    yield Row("systemcost", "size of an event", "B", drawtap=size / max(events, 1))


def _order(turn: int, trace: Path) -> tuple[Path | None, Path | None]:
    # With and without in turn first: a machine that slows down or speeds up favours neither.
    return (None, trace) if turn % 2 == 0 else (trace, None)


def _evaluated(pairs: dict[str, list[tuple[_Used, _Used]]]) -> Iterator[Row]:
    for name, own in pairs.items():
        plain, watched = [p.cpu for p, _ in own], [w.cpu for _, w in own]
        percent = statistics.median(_percents(own))
        before = statistics.median(plain)
        yield Row(
            "systemcost", f"{name}: CPU time", "s", native=before, drawtap=before * percent / 100,
            note=f"{percent:+.2f} % (median of pairs), {_switches(own):,.0f} switches",
            samples={"native": plain, "drawtap": watched},
        )  # fmt: skip
    five = {name: own for name, own in pairs.items() if name != _WORST}
    goal = Goal(most=_MOST_PERCENT, unit="%")
    low, high = _interval(list(five.values()))
    yield Row(
        "systemcost", "mean of the five", "%", drawtap=_mean(list(five.values())), goal=goal,
        note=f"95 % of resampled means lie between {low:+.2f} and {high:+.2f} %",
    )  # fmt: skip
    # Events are made where a thread leaves its CPU, and where it wakes another. What that costs is measured where it
    # happens most, and there every switch comes with a wake-up.
    worst = pairs[_WORST]
    price = statistics.median(w.cpu - p.cpu for p, w in worst) / _switches(worst)
    shares = [100 * _switches(own) * price / statistics.median(p.cpu for p, _ in own) for own in five.values()]
    yield Row("systemcost", "a switch with a wake-up", "us", drawtap=price * 1e6)
    yield Row(
        "systemcost", "mean of the five, by their switches", "%", drawtap=statistics.mean(shares), goal=goal,
        note=f"the most of one: {max(shares):.3f} %",
    )  # fmt: skip


def _switches(pairs: Sequence[tuple[_Used, _Used]]) -> float:
    return statistics.median(w.switches for _, w in pairs)


def _percents(pairs: Sequence[tuple[_Used, _Used]]) -> list[float]:
    return [100 * (watched.cpu - plain.cpu) / plain.cpu for plain, watched in pairs]


def _mean(programs: Sequence[Sequence[tuple[_Used, _Used]]]) -> float:
    return statistics.mean(statistics.median(_percents(own)) for own in programs)


def _interval(programs: Sequence[Sequence[tuple[_Used, _Used]]], times: int = 2000) -> tuple[float, float]:
    chance = random.Random(1)
    means = sorted(_mean([chance.choices(own, k=len(own)) for own in programs]) for _ in range(times))
    return means[times // 40], means[-times // 40 - 1]


def _run(folder: Path, program: Sequence[str], environment: dict[str, str], trace: Path | None) -> _Used:
    answer = folder / "cost.json"
    inside = [sys.executable, "-c", _INSIDE, str(answer), *program]
    command = inside
    if trace is not None:
        command = [sys.executable, "-m", "drawtap", "system", "record", "-o", str(trace), "--force", "--", *inside]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{' '.join(command[:5])} ...: {done.stderr[-600:]}")
    return _Used(**json.loads(answer.read_text()))


def _volume(trace: Path) -> tuple[int, int]:
    done = subprocess.run(
        [sys.executable, "-m", "drawtap", "system", "info", str(trace), "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(json.loads(done.stdout)["events"]), trace.stat().st_size
