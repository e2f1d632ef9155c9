"""What playing a trace again costs, beside eglretrace, and how much memory it takes."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Apitrace, BenchError, Drawtap, run_process
from bench.row import Goal, Row
from bench.setup import Setup
from drawtap.replay import player

_RENDERED = re.compile(r"Rendered \d+ frames in ([\d.]+) secs")
# Mode of many_calls, calls a round, and what is wanted: state-heavy traces show what the player itself costs.
_MODES = (("state", 1_000_000, Goal(ratio=12)), ("rand", 1_000_000, Goal()), ("client", 50_000, Goal()))
_ROUNDS = 5


def rows(setup: Setup) -> Iterator[Row]:
    """Record each mode with both, then play the traces alternately; times are those that the players report."""
    for mode, calls, goal in _MODES:
        count = calls // 10 if setup.quick else calls
        program = [setup.program("many_calls"), mode, str(count), str(_ROUNDS)]
        ours, theirs = setup.scratch / "replay.dtap", setup.scratch / "replay.trace"
        made = Drawtap().run(program, ours).calls
        if setup.apitrace:
            Apitrace().run(program, theirs)
        with setup.display() as display:
            yield from _played(setup, _Traces(mode, made, goal, ours, theirs), display)
        ours.unlink()
        theirs.unlink(missing_ok=True)


@dataclass(frozen=True)
class _Traces:
    mode: str
    calls: int
    goal: Goal
    ours: Path
    theirs: Path


def _played(setup: Setup, traces: _Traces, display: dict[str, str]) -> Iterator[Row]:
    peak = setup.scratch / "peak"
    watched = [setup.program("peak_memory"), str(peak)]
    seconds: dict[str, list[float]] = {"drawtap": [], "apitrace": []}
    memory: dict[str, list[float]] = {"drawtap": [], "apitrace": []}
    for _ in range(3 if setup.quick else 5):
        run = run_process([*watched, str(player.program()), str(traces.ours)])
        seconds["drawtap"].append(_own_seconds(run.output))
        memory["drawtap"].append(int(peak.read_text()) / 1000)
        if setup.apitrace:
            run = run_process([*watched, "eglretrace", "-b", str(traces.theirs)], display)
            found = _RENDERED.search(run.output)
            if not found:
                raise BenchError(f"eglretrace did not say how long it took: {run.output[-300:]!r}")
            seconds["apitrace"].append(float(found[1]))
            memory["apitrace"].append(int(peak.read_text()) / 1000)
    for unit, samples, wanted in (("s", seconds, traces.goal), ("MB", memory, Goal())):
        own, other = samples["drawtap"], samples["apitrace"]
        pace = f"{traces.calls / statistics.median(own) / 1e6:.1f} M calls/s" if unit == "s" else ""
        name = f"{traces.mode}, {traces.calls / 1e6:.1f} M calls" + (": memory" if unit == "MB" else "")
        median = statistics.median(other) if other else None
        yield Row("replay", name, unit, statistics.median(own), median, goal=wanted, note=pace, samples=samples)


def _own_seconds(output: str) -> float:
    for line in output.splitlines():
        if '"kind": "result"' in line:
            return float(json.loads(line)["seconds"])
    raise BenchError(f"the player reported nothing: {output[-300:]!r}")
