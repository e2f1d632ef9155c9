"""A model of programs that share one GPU, to try policies on: what would every program have shown?

The GPU works on the frames of all programs at once, each at an equal rate (or by weights). Processors do so for
software rendering, and so do GPUs with time slices. The cost of a frame comes from a distribution or, frame by frame,
from a recording. Programs draw one frame after the other and wait in the limiter of native/runtime/live.cc: absolute
deadlines, a new start after more than one interval of delay.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from drawtap.live.policy import Policy, Snapshot, decide
from drawtap.live.program import Importance, Limit, Program, Surface
from drawtap.live.signal import Signals

_SECOND = 1_000_000_000
_KEEP_NS = 4 * _SECOND


@dataclass(frozen=True)
class Load:
    """A program of the model: when it runs, and what its frames cost.

    `cost_ms` is what a frame takes of the whole GPU, scattered log-normally by `jitter` (0.1: about 10 %), and
    `heavy_every` th frame takes `heavy` times that. `costs_ns`, frame by frame and over again, take its place where a
    recording gives them. `cpu_ms` is time of its own in which it does not need the GPU. `own_fps` is a limit that the
    program sets itself, at even distances; `retrace_hz` shows frames at vertical retraces only, one at each at most: a
    frame that comes late waits for the next.
    """

    name: str
    cost_ms: float = 5.0
    importance: Importance = Importance.NORMAL
    target_fps: float | None = None
    weight: float = 1.0
    floor_fps: float = 1.0
    cap_fps: float | None = None
    start_s: float = 0.0
    end_s: float = math.inf
    jitter: float = 0.15
    heavy: float = 1.0
    heavy_every: int = 0
    cpu_ms: float = 0.0
    own_fps: float | None = None
    retrace_hz: float | None = None
    focused: bool | None = None
    costs_ns: tuple[int, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """Loads that share a GPU for `seconds`."""

    name: str
    loads: tuple[Load, ...]
    seconds: float = 20.0
    seed: int = 1
    about: str = ""


@dataclass(frozen=True)
class ProgramRun:
    """The run of one program: times of its frames, and its limits as (time, FPS or None, reason)."""

    load: Load
    shown_ns: NDArray[np.int64]
    limits: tuple[tuple[int, float | None, str], ...]

    def fps(self, begin_s: float, end_s: float) -> float:
        """Return frames a second between two times."""
        first, last = np.searchsorted(self.shown_ns, (begin_s * 1e9, end_s * 1e9))
        return float(last - first) / max(end_s - begin_s, 1e-9)

    def frame_ns(self, begin_s: float, end_s: float) -> NDArray[np.int64]:
        """Return the frame times between two times."""
        first, last = np.searchsorted(self.shown_ns, (begin_s * 1e9, end_s * 1e9))
        times: NDArray[np.int64] = np.diff(self.shown_ns[first:last])
        return times

    def rates(self, seconds: float, window_s: float = 0.5) -> list[tuple[float, float]]:
        """Return (time in s, frames a second) window by window."""
        edges = np.arange(0, seconds + window_s / 2, window_s)
        counts = np.histogram(self.shown_ns / 1e9, edges)[0]
        return [(float(t), float(c) / window_s) for t, c in zip(edges[:-1], counts, strict=True)]

    def swing(self, begin_s: float, end_s: float) -> float:
        """Return by how much the limit went to and fro between two times: 0.5 where it fell (or rose) by half and more,
        and came back by half.

        A limit that goes one way to where it stays does not swing, however far it goes. Where there is none, it counts
        as the most that the program shows.
        """
        free = max((fps for _, fps in self.rates(end_s)), default=0.0) or 1.0
        begin, end = begin_s * 1e9, end_s * 1e9
        before = [fps for t, fps, _ in self.limits if t < begin]
        inside = [fps for t, fps, _ in self.limits if begin <= t < end]
        logs = np.log([fps or free for fps in ([before[-1]] if before else [None]) + inside])
        most = 0.0
        for heights in (logs, -logs):
            # The deepest valley: how far down from the highest before it, and up to the highest after it.
            left = np.maximum.accumulate(heights)
            right = np.maximum.accumulate(heights[::-1])[::-1]
            most = max(most, float(np.max(np.minimum(left, right) - heights)))
        return math.exp(most) - 1


@dataclass
class _Running:
    load: Load
    id: int
    costs: Iterator[float]
    random: random.Random
    state: str = "absent"  # absent, cpu, gpu, wait
    left_ns: float = 0.0  # of what it does now
    own_ns: int = 0  # when its own limit lets the frame go
    due_ns: int = 0  # and when the limiter does
    wait_began_ns: int = 0
    shown: list[int] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    used_ns: float = 0.0
    limit: Limit | None = None
    limits: list[tuple[int, float | None, str]] = field(default_factory=list)


def simulate(
    scenario: Scenario, chosen: Policy | None, name: str = "none", *, period_s: float = 0.25, warm: bool = True
) -> tuple[ProgramRun, ...]:
    """Run the model under a policy (None: no limits), which looks every `period_s`; the same seed, the same frames."""
    model = _Model(scenario)
    end = round(scenario.seconds * _SECOND)
    period = round(period_s * _SECOND)
    memory: object = None
    at = 0
    while at < end:
        at = min(at + period, end)
        model.run_until(at)
        if chosen is None:
            continue
        decision = decide(chosen, name, model.snapshot(), memory)
        memory = decision.memory
        model.apply(decision.limits)
    return tuple(ProgramRun(r.load, np.array(r.shown, np.int64), tuple(r.limits)) for r in model.running)


class _Model:
    def __init__(self, scenario: Scenario) -> None:
        self.now = 0
        self._looked = 0
        self.running = [
            _Running(load, i + 1, _costs(load, random.Random(scenario.seed * 7919 + i)), random.Random(i))
            for i, load in enumerate(scenario.loads)
        ]

    def run_until(self, end: int) -> None:
        """Go from event to event: a frame is done, a wait is over, a program begins or ends."""
        while self.now < end:
            self._begin_and_end()
            busy = [r for r in self.running if r.state == "gpu"]
            share = 1.0 / len(busy) if busy else 0.0
            step = end - self.now
            for r in self.running:
                if r.state == "gpu":
                    step = min(step, math.ceil(r.left_ns / share))
                elif r.state == "cpu":
                    step = min(step, math.ceil(r.left_ns))
                elif r.state == "wait":
                    step = min(step, max(_until(r) - self.now, 0))
                for edge in (r.load.start_s, r.load.end_s):
                    if math.isfinite(edge) and round(edge * _SECOND) > self.now:
                        step = min(step, round(edge * _SECOND) - self.now)
            self.now += step
            for r in self.running:
                if r.state == "gpu":
                    r.left_ns -= step * share
                    r.used_ns += step * share
                elif r.state == "cpu":
                    r.left_ns -= step
            for r in self.running:
                self._advance(r)

    def _begin_and_end(self) -> None:
        for r in self.running:
            active = r.load.start_s * _SECOND <= self.now < r.load.end_s * _SECOND
            if active and r.state == "absent":
                self._frame(r)
            elif not active:
                r.state = "absent"

    def _frame(self, r: _Running) -> None:
        r.state, r.left_ns = ("cpu", r.load.cpu_ms * 1e6) if r.load.cpu_ms else ("gpu", next(r.costs))

    def _advance(self, r: _Running) -> None:
        if r.state == "cpu" and r.left_ns <= 0.5:
            r.state, r.left_ns = "gpu", next(r.costs)
        elif r.state == "gpu" and r.left_ns <= 0.5:
            r.own_ns = self._due(r, r.own_ns, r.load.own_fps)
            r.wait_began_ns = max(self.now, r.own_ns)
            r.due_ns = self._due(r, r.due_ns, r.limit.fps if r.limit else None)
            r.state = "wait"
        if r.state == "wait" and self.now >= _until(r):
            r.shown.append(self.now)
            r.waits.append(max(min(self.now, r.due_ns) - r.wait_began_ns, 0))
            self._frame(r)

    def _due(self, r: _Running, before: int, fps: float | None) -> int:
        interval = round(_SECOND / fps) if fps else 0
        last = r.shown[-1] if r.shown else self.now
        due = before + interval
        return self.now if not interval or due + interval < self.now or due > last + 2 * interval else due

    def snapshot(self) -> Snapshot:
        """Return what the manager would see."""
        span = max(self.now - self._looked, 1)
        programs = tuple(self._program(r) for r in self.running if r.state != "absent")
        busy = {r.id: r.used_ns / span for r in self.running if r.state != "absent"}
        signals = Signals(busy=busy, cpu=busy, devices={"gpu": min(1.0, sum(busy.values()))})
        self._looked = self.now
        for r in self.running:
            r.used_ns = 0.0
        return Snapshot(self.now, programs, signals)

    def _program(self, r: _Running) -> Program:
        first = int(np.searchsorted(r.shown, self.now - _KEEP_NS)) if r.shown else 0
        shown = np.array(r.shown[first:], np.int64)
        waits = np.array(r.waits[first:], np.int64)
        surface = Surface(r.id, frames=len(r.shown), shown_ns=shown, wait_ns=waits, swap_ns=np.zeros_like(shown))
        load = r.load
        return Program(
            r.id, r.id, load.name, surfaces=(surface,), importance=load.importance, weight=load.weight,
            target_fps=load.target_fps, floor_fps=load.floor_fps, cap_fps=load.cap_fps, limit=r.limit,
            focused=load.focused,
        )  # fmt: skip

    def apply(self, limits: Mapping[int, Limit]) -> None:
        """Let limits hold; one that is lower or gone takes effect in a frame that waits."""
        for r in self.running:
            limit = limits.get(r.id)
            if (limit.fps if limit else None) != (r.limit.fps if r.limit else None):
                r.limits.append((self.now, limit.fps if limit else None, limit.reason if limit else ""))
                if r.state == "wait":
                    interval = round(_SECOND / limit.fps) if limit else 0
                    r.due_ns = min(r.due_ns, max(self.now, (r.shown[-1] if r.shown else self.now) + interval))
            r.limit = limit


def _until(r: _Running) -> int:
    """Return when the frame that waits is shown: its own limit and the limiter let it go, and a retrace comes."""
    due = max(r.own_ns, r.due_ns, r.wait_began_ns)
    if not r.load.retrace_hz:
        return due
    last = r.shown[-1] if r.shown else -1
    number = math.ceil(due * r.load.retrace_hz / _SECOND - 1e-6)
    at = round(number * _SECOND / r.load.retrace_hz)
    return at if at > last else round((number + 1) * _SECOND / r.load.retrace_hz)


def _costs(load: Load, source: random.Random) -> Iterator[float]:
    number = 0
    while True:
        if load.costs_ns:
            yield float(load.costs_ns[number % len(load.costs_ns)])
        else:
            cost = load.cost_ms * 1e6 * math.exp(source.gauss(0.0, load.jitter) - load.jitter**2 / 2)
            yield cost * (load.heavy if load.heavy_every and number % load.heavy_every == load.heavy_every - 1 else 1)
        number += 1


# Costs in ms of the whole GPU. "figure11" has the shape of Figure 11 of Tsuboi et al. A light program of low class runs
# without limits. A heavy one of high class, which should show 60, comes and goes.
SCENARIOS: Mapping[str, Scenario] = {
    s.name: s
    for s in (
        Scenario(
            "figure11",
            (
                Load("terrain", 10.0, Importance.HIGH, 60.0, start_s=5, end_s=15),
                Load("refract", 4.0, Importance.BACKGROUND),
            ),
            about="A heavy program of class high comes beside a light one of class background, and goes again.",
        ),
        Scenario(
            "slowing",
            (
                Load("drive", 6.0, Importance.HIGH, 60.0, jitter=0.35, heavy=2.5, heavy_every=40),
                Load("maps", 5.0, Importance.NORMAL),
                Load("player", 3.0, Importance.BACKGROUND, start_s=6),
            ),
            30.0,
            about="A program with heavy frames now and then, beside two others.",
        ),
        Scenario(
            "hopeless",
            (Load("game", 22.0, Importance.HIGH, 60.0), Load("chat", 4.0, Importance.BACKGROUND)),
            about="The target cannot be reached even alone.",
        ),
        Scenario(
            "equals",
            (Load("one", 5.0, weight=3.0), Load("two", 5.0), Load("three", 2.0, cap_fps=30.0)),
            about="Three of one class with weights 3, 1 and 1; the third wants no more than 30 FPS.",
        ),
    )
}
