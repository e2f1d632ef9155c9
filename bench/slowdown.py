"""Is a driver that is 3 % slower found? A module makes every call of a replay longer; `corpus verdict --speed` judges.

The module is bench/modules/burner.py in the player's process, on both sides: with turns of a loop on one, with none on
the other. A measurement of its own, with so many turns that the share is large, says how many turns are 3 %. The
metric is the best that the machine has: retired instructions, or processor time of the player's process. Neither grows
because others use the machine, as wall time does; but other programs on a core make instructions take longer.
"""

from __future__ import annotations

import math
import shutil
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.live import built
from bench.measure import BenchError, run_process
from bench.row import Goal, Row
from bench.setup import ROOT, Setup, drawtap

_SHARE = 0.03
_PAIRS = 20
_MANY_TURNS = 20_000  # of the loop in each call: the share is large
_SCENE = "build:nframes=200"  # every frame makes the same calls
_GROUP = "slowdown of 3 %"


def rows(setup: Setup) -> Iterator[Row]:
    """Judge a build that is slower, and one that is equal, again and again."""
    if not shutil.which("glmark2-es2"):
        yield Row(_GROUP, "not measured", "", note="glmark2-es2 is not installed")
        return
    from drawtap.corpus.adding import Adder
    from drawtap.corpus.store import create

    folder = setup.scratch / "slowdown"
    folder.mkdir()
    path = folder / "scene.dtap"
    with setup.display() as environment:
        program = ["glmark2-es2", "--off-screen", "-s", "64x64", "-b", _SCENE]
        run_process(drawtap("record", "-q", "-o", str(path), "--", *program), environment=environment)
    store = create(str(folder / "store"))
    trials = _Trials(str(Adder(store).add(path).id), store, folder, built(setup, ROOT / "bench/modules/burner.py"))
    times = 3 if setup.quick else 10
    turns = trials.turns()
    put_in = trials.share(10 * turns, "ten times the turns") / 10
    found = [trials.judged(turns, n) for n in range(times)]
    equal = [trials.judged(0, n) for n in range(times)]
    yield from _said(trials.metric, put_in, found, equal)


def _said(
    metric: str, put_in: float, found: Sequence[tuple[str, float]], equal: Sequence[tuple[str, float]]
) -> Iterator[Row]:
    seen = [100 * effect for label, effect in found if label == "regression"]
    note = f"{metric}; {100 * put_in:.2f} % by ten times the turns; {_PAIRS} pairs, {len(found)} verdicts"
    share = 100 * len(seen) / len(found)
    yield Row(_GROUP, "verdicts that find it", "%", share, goal=Goal(least=90, unit="%"), note=note)
    if seen:
        told = f"{min(seen):.2f} to {max(seen):.2f} %"
        yield Row(_GROUP, "what they find, median", "%", statistics.median(seen), note=told, samples={"found": seen})
    alarms = sum(label == "regression" for label, _ in equal)
    told = ", ".join(f"{100 * effect:+.2f}" for _, effect in equal) + " % seen"
    yield Row(_GROUP, "verdicts about an equal build with an alarm", "", alarms, goal=Goal(most=0, unit=""), note=told)


class _Trials:
    """A recording, and builds that differ in the turns of the loop."""

    def __init__(self, trace: str, store: Any, folder: Path, library: str) -> None:
        self._trace, self._store, self._folder, self._library = trace, store, folder, library
        self._builds = 0
        self.metric = ""

    def _timer(self, turns: int) -> Any:
        """Return what measures pairs: without turns, and with so many, as builds of their own."""
        from drawtap.corpus import engines
        from drawtap.corpus.playing import Files
        from drawtap.corpus.timing import Timer

        self._builds += 1
        own = {
            "LD_PRELOAD": self._library,
            "EGL_PLATFORM": "surfaceless",
            "LP_NUM_THREADS": "0",  # all work in one thread: its processor time is all there is
        }
        sides = {"base": {"DRAWTAP_BURN": "0"}, "new": {"DRAWTAP_BURN": str(turns), "BUILD": str(self._builds)}}
        lines = []
        for name, more in sides.items():
            words = ", ".join(f'{key} = "{value}"' for key, value in (own | more).items())
            lines.append(f'["{name}"]\nbase = "llvmpipe"\nenv = {{ {words} }}\n')
        file = self._folder / "engines.toml"
        file.write_text("".join(lines))
        base, new = engines.named(["base", "new"], file)
        return Timer(Files(self._store, self._folder), new, base)

    def share(self, turns: int, what: str) -> float:
        """Return by which share so many turns are slower, measured in pairs that are judged by nobody."""
        timer = self._timer(turns)
        found = [timer.pair(self._trace, n % 2 == 0) for n in range(8)]
        kept = [one for one in found if one is not None]
        if len(kept) < 6:
            raise BenchError(f"{what}: pairs were lost: {timer.lost}")
        self.metric = timer.metric
        return math.expm1(statistics.median(kept))

    def turns(self) -> int:
        """Return how many turns make the share that is to be found."""
        return round(_MANY_TURNS * _SHARE / self.share(_MANY_TURNS, "many turns"))

    def judged(self, turns: int, seed: int) -> tuple[str, float]:
        """Return the verdict about a build with so many turns, and by which share it is slower."""
        from drawtap.corpus.speed import Judge, Rule
        from drawtap.corpus.timing import threshold_of

        timer = self._timer(turns)
        timer.choose(self._trace)
        rule = Rule(threshold_of(timer.metric), _PAIRS, seed=seed)
        (one,) = Judge(timer.pair, rule).run([self._trace])
        return one.label, one.effect or 0.0
