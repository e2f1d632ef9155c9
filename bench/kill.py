"""kill -9 at random moments: how many calls that had returned are missing from the trace."""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.measure import BenchError, Drain, apitrace_wrapper, run_process
from bench.row import Goal, Row
from bench.setup import Setup, drawtap

_FUNCTION = "glVertexAttrib4f"


def rows(setup: Setup) -> Iterator[Row]:
    """Kill a calling program at random moments; compare what it had completed with what the trace has."""
    own, others = (8, 1) if setup.quick else (100, 10)
    chance = random.Random(os.getpid())
    completed, lost = _trials(setup, own, chance, _killed_with_drawtap)
    theirs = _trials(setup, others, chance, _killed_with_apitrace) if setup.apitrace else None
    note = f"{own} kills, {sum(completed):,} calls completed; {sum(1 for n in lost if n)} kills lost any"
    if theirs:
        note += f"; apitrace: {others} kills, {min(theirs[1]):,} to {max(theirs[1]):,} lost each"
    yield Row(
        "kill -9", "completed calls lost", "a kill", max(lost), _mean(theirs[1]) if theirs else None,
        goal=Goal(most=0), note=note, samples={"drawtap": lost, "apitrace": theirs[1] if theirs else []},
    )  # fmt: skip


def _mean(values: list[int]) -> float:
    return sum(values) / len(values)


def _trials(
    setup: Setup, count: int, chance: random.Random, trial: Callable[[Setup, float], tuple[int, int]]
) -> tuple[list[int], list[int]]:
    # Mostly short lives: the first chunks of a program are where a start could go wrong.
    results = [trial(setup, chance.choice((0.002, 0.02, 0.3)) * chance.random()) for _ in range(count)]
    return [done for done, _ in results], [max(0, done - found) for done, found in results]


def _killed_with_drawtap(setup: Setup, seconds: float) -> tuple[int, int]:
    trace = setup.scratch / "killed.dtap"
    trace.unlink(missing_ok=True)
    with Drain(trace) as drain:
        done = _kill_after(setup, seconds, drain.environment, drain.watch)
        drain.finish(-signal.SIGKILL)
    query = f'SELECT count(*) AS n FROM "{_FUNCTION}"'
    answer = json.loads(run_process(drawtap("sql", str(trace), query, "--json")).output)
    for leftover in setup.scratch.glob("killed.dtap*"):
        leftover.unlink()
    return done, int(answer[0]["n"])


def _killed_with_apitrace(setup: Setup, seconds: float) -> tuple[int, int]:
    trace = setup.scratch / "killed.trace"
    trace.unlink(missing_ok=True)
    done = _kill_after(setup, seconds, {"LD_PRELOAD": str(apitrace_wrapper()), "TRACE_FILE": str(trace)})
    found = run_process(["bash", "-c", f"apitrace dump --color=never {trace} | grep -c {_FUNCTION}"], check=False)
    return done, int(found.output or 0)


def _kill_after(
    setup: Setup, seconds: float, environment: Mapping[str, str], on_start: Callable[[int], None] = lambda pid: None
) -> int:
    counter = setup.scratch / "counter"
    software = {"LP_NUM_THREADS": "0", "EGL_PLATFORM": "surfaceless"}
    command = [setup.program("counted_calls"), str(counter)]
    return kill_after(command, counter, seconds, software | dict(environment), on_start)


def kill_after(
    command: Sequence[str],
    counter: Path,
    seconds: float,
    environment: Mapping[str, str],
    on_start: Callable[[int], None],
) -> int:
    """Kill a program some time after its first call; return the calls that it had completed, by its file `counter`."""
    counter.unlink(missing_ok=True)
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, **environment})
    on_start(child.pid)
    until = time.monotonic() + 20
    while not _completed(counter):
        if child.poll() is not None or time.monotonic() > until:
            child.kill()
            raise BenchError("the program to be killed did not start")
        time.sleep(0.0005)
    time.sleep(seconds)
    child.kill()
    child.wait()
    return _completed(counter)


def _completed(counter: Path) -> int:
    try:
        with counter.open("rb") as file:
            return int(struct.unpack("<Q", file.read(8))[0])
    except (FileNotFoundError, struct.error):
        return 0
