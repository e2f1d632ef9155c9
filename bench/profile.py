"""How long it takes to find the passes for ten thousand counters, and what measuring costs a replay.

The counters are those of a driver of ours (tests/gl/fake_counters), which has a limit of counters per group and refuses
what goes beyond it, as the extension says: what is timed is the planner with all its questions.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.exact import DEFAULT_BENCHMARKS, SIZE
from bench.measure import BenchError, Drawtap
from bench.row import Goal, Row
from bench.setup import ROOT, Setup
from drawtap.metrics import listing, passes, profile
from drawtap.replay import player
from drawtap.trace.trace import open_trace

_COUNTERS = 10_000
_ROUNDS = 3
_ENVIRONMENT = {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}


def rows(setup: Setup) -> Iterator[Row]:
    """Plan ten thousand counters with a room of 4 and of 64 a group; measure draws of a program with few metrics."""
    trace = setup.scratch / "profile.dtap"
    Drawtap().run([setup.program("many_calls"), "client", "2000", "5"], trace)
    driver = _driver(setup.scratch)
    for room in (4, 64):
        environment = {**_ENVIRONMENT, "LD_PRELOAD": str(driver), "FAKE_MANY": str(_COUNTERS), "FAKE_ROOM": str(room)}
        yield _planned(trace, environment, room, 1 if setup.quick else 3)
    yield from _costs(trace)
    yield from _instrumented(setup)


def _driver(folder: Path) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        raise BenchError("there is no C compiler")
    made = folder / "libfake_counters.so"
    source = ROOT / "tests" / "gl" / "fake_counters" / "fake_counters.c"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(made), str(source), "-ldl", "-lEGL"], check=True)
    return made


def _planned(trace: Path, environment: Mapping[str, str], room: int, runs: int) -> Row:
    wanted = listing.chosen(listing.metrics(trace, environment=environment), ["amd:many/*"])
    made = [passes.plan(trace, wanted, ["frame"], environment=environment) for _ in range(runs)]
    seconds = [plan.planned_ns * 1e-9 for plan in made]
    note = f"{len(made[0].passes)} passes, {made[0].questions} questions"
    name = f"plan of {_COUNTERS:,} counters, {room} at once"
    return Row("profile", name, "s", statistics.median(seconds), goal=Goal(most=1, unit="s"), note=note)


def _costs(trace: Path) -> Iterator[Row]:
    plain = statistics.median(player.play(trace, environment=_ENVIRONMENT).seconds for _ in range(3))
    for name, ids in (
        ("clocks", ["cpu:time/*"]),
        ("time stamps", ["gl:time/elapsed"]),
        ("counts", ["gl:samples/any_samples"]),
    ):
        with open_trace(trace) as opened:
            wanted = listing.chosen(listing.metrics(trace, environment=_ENVIRONMENT), ids)
            plan = passes.plan(trace, wanted, ["draw"], environment=_ENVIRONMENT)
            done = profile.profile(
                opened, plan, profile.ProfileOptions(images=False, repeat=3), environment=_ENVIRONMENT
            )
        per_cut = profile.cost_per_cut(done)
        note = f"{done.costs[0].cuts:,} draws; a plain replay takes {plain:.2f} s"
        yield Row("profile", f"measuring a draw: {name}", "ns", per_cut, note=note)


def _instrumented(setup: Setup) -> Iterator[Row]:
    # The dearest pass of a back-end with all its metrics, of frames and draws, against the same replay without any.
    if not shutil.which("glmark2-es2"):
        yield Row("profile", "instrumented replay: not measured", "", note="glmark2-es2 is not installed")
        return
    scenes = DEFAULT_BENCHMARKS[::6] if setup.quick else DEFAULT_BENCHMARKS
    ratios: dict[str, dict[str, float]] = {"geometry": {}, "fragments": {}}
    with setup.display() as display:
        for scene in scenes:
            trace = setup.scratch / "scene.dtap"
            # As long as it takes for the compilation of shaders to be a small part, as in what people measure.
            line = ["glmark2-es2", "-s", SIZE, "-b", f"{scene}:duration={2 if setup.quick else 4}"]
            Drawtap(tuple(display.items())).run(line, trace)
            for backend, found in ratios.items():
                found[scene] = _ratio(trace, backend, setup.scratch / "request")
    for backend, found in ratios.items():
        worst = max(found, key=lambda scene: found[scene])
        over = sum(ratio > 3 for ratio in found.values())
        note = f"{len(found)} scenes of glmark2-es2; most: {worst.split(':')[0]} {found[worst]:.2f}x; over 3x: {over}"
        name = f"replay that counts all of {backend}:*, times a plain one"
        yield Row("profile", name, "x", statistics.median(found.values()), goal=Goal(most=3, unit="x"), note=note)


def _ratio(trace: Path, backend: str, request: Path) -> float:
    wanted = listing.chosen(listing.metrics(trace, environment=_ENVIRONMENT), [f"{backend}:*"])
    plan = passes.plan(trace, wanted, ["frame", "draw"], environment=_ENVIRONMENT)
    plain, counting = [], []
    for _ in range(_ROUNDS):
        plain.append(player.play(trace, environment=_ENVIRONMENT).seconds)
        spent = 0.0
        for one in plan.passes:
            metrics = list(one.metrics)
            request.write_text(passes.request_text(metrics, one.per, passes=[one]), encoding="utf-8")
            rows = ["--measure", str(request), "--measured", str(request.with_suffix(".csv"))]
            spent = max(spent, player.play(trace, rows, environment=_ENVIRONMENT).seconds)
        counting.append(spent)
    return statistics.median(counting) / statistics.median(plain)
