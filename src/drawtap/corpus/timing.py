"""Measure a recording on two builds right after each other, frame against frame.

Retired instructions say most and vary least; where the machine does not count them, processor time of all threads is
measured, else wall time. The first frame is left out: it loads and compiles. Frames have the same content on both
sides, so each frame is compared with itself, and the median over the frames is the pair's value.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from drawtap.corpus import rows
from drawtap.corpus.engines import machine
from drawtap.errors import ChildError, InputError, UnavailableError, UsageError, did_you_mean
from drawtap.metrics import listing, passes, profile
from drawtap.trace.trace import open_trace

if TYPE_CHECKING:
    from drawtap.corpus.engines import Engine
    from drawtap.corpus.playing import Files

#: The metrics to take unless the user names one, the best first, with the share that counts as a slowdown.
METRICS = {"perf:hardware/instructions": 0.005, "cpu:time/process": 0.01, "cpu:time/wall": 0.02}
THRESHOLD = 0.01  # of other metrics


@dataclass(frozen=True)
class Pair:
    """A recording that was measured on two engines: medians over its frames, and of log(new / base)."""

    base_value: float
    value: float
    ratio: float
    frames: int


class Timer:
    """Measures recordings of a corpus on two engines."""

    def __init__(self, files: Files, new: Engine, base: Engine, metric: str | None = None) -> None:
        self._files, self._new, self._base, self._wanted = files, new, base, metric
        self._metric: str | None = metric
        self._plans: dict[tuple[str, str], passes.Plan] = {}
        self.lost: dict[str, str] = {}
        self.kept: dict[str, list[tuple[object, ...]]] = {}  # rows of `readings`, by recording

    @property
    def metric(self) -> str:
        """The metric that was measured; "" before the first pair."""
        return self._metric or ""

    def choose(self, trace: str) -> str:
        """Choose the metric, which both engines can measure with this recording.

        Raises UsageError where the wanted one is none, UnavailableError where nothing can be measured.
        """
        path = self._files.get(trace)
        sides = [listing.metrics(path, environment=one.environment) for one in (self._new, self._base)]
        have = [{m.id for m in side if not m.missing} for side in sides]
        both = have[0] & have[1]
        if self._wanted is not None and self._wanted not in both:
            known = {m.id: m.missing for side in sides for m in side}
            why = known.get(self._wanted)
            if why:
                raise UnavailableError(f"{self._wanted} cannot be measured here: {why}")
            hint = did_you_mean(self._wanted, both) or "drawtap profile --list lists what can be measured"
            raise UsageError(f"there is no metric {self._wanted}", hint=hint)
        metric = self._wanted or next((name for name in METRICS if name in both), None)
        if metric is None:
            raise UnavailableError("nothing can be measured on both engines", hint="drawtap profile --list says why")
        self._metric = metric
        return metric

    def pair(self, trace: str, base_first: bool, *, keep: bool = False) -> float | None:
        """Measure a pair, write it into the corpus, and return log(new / base); None: it was lost.

        `keep` keeps the values of its frames in `kept`.
        """
        order = (self._base, self._new) if base_first else (self._new, self._base)
        started = time.time_ns()
        try:
            values = {one.key: self._frames(trace, one) for one in order}
        except (ChildError, InputError, UnavailableError) as error:
            self.lost[trace] = error.message
            return None
        pairs = paired(values[self._base.key], values[self._new.key])
        if pairs is None:
            self.lost[trace] = "no frame could be measured on both engines"
            return None
        task = self._write(trace, pairs, started, base_first)
        if keep:
            sides = ("base", values[self._base.key]), ("new", values[self._new.key])
            self.kept.setdefault(trace, []).extend(
                (task, trace, frame, side, self._metric, value) for side, of in sides for frame, value in of.items()
            )
        return pairs.ratio

    def again(self, trace: str) -> float | None:
        """Measure a recording on the base twice, and return log(second / first); None: it was lost."""
        try:
            first, second = (self._frames(trace, self._base) for _ in range(2))
        except (ChildError, InputError, UnavailableError):
            return None
        pairs = paired(first, second)
        return None if pairs is None else pairs.ratio

    def _frames(self, trace: str, one: Engine) -> Mapping[int, float]:
        path, metric = self._files.get(trace), self._metric or self.choose(trace)
        with open_trace(path) as opened:
            plan = self._plans.get((trace, one.key))
            if plan is None:
                known = [m for m in listing.metrics(path, environment=one.environment) if m.id == metric]
                plan = passes.plan(path, known, ["frame"], environment=one.environment, frame_end=opened.frame_end)
                self._plans[trace, one.key] = plan
            wanted = profile.ProfileOptions(images=False)
            readings, _ = profile.readings(opened, plan, wanted, environment=one.environment)
        return {r.number: r.value for r in readings if r.per == "frame" and r.metric == metric and r.value is not None}

    def _write(self, trace: str, one: Pair, started: int, base_first: bool) -> str:
        new, base = self._new, self._base
        row: dict[str, object] = {
            "task": hashlib.sha256(f"pair {trace} {new.key} {base.key} {machine()} {started}".encode()).hexdigest(),
            "trace": trace,
            "engine": new.key,
            "name": new.name,
            "base": base.key,
            "base_name": base.name,
            "machine": machine(),
            "metric": self._metric,
            "started": started,
            "base_first": base_first,
            **asdict(one),
        }
        rows.write_row(self._files.store, "pairs", row)
        return str(row["task"])


def paired(base: Mapping[int, float], new: Mapping[int, float]) -> Pair | None:
    """Return the pair of two measurements by frame, None where no frame has a value on both sides."""
    both = sorted(n for n in base.keys() & new.keys() if base[n] > 0 and new[n] > 0)
    both = both[1:] if len(both) > 1 else both
    if not both:
        return None
    sides = [np.array([side[n] for n in both]) for side in (base, new)]
    ratio = float(np.median(np.log(sides[1] / sides[0])))
    return Pair(float(np.median(sides[0])), float(np.median(sides[1])), ratio, len(both))


def threshold_of(metric: str) -> float:
    """Return the share from which on a slowdown in this metric counts."""
    return METRICS.get(metric, THRESHOLD)
