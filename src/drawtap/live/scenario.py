"""Scenarios for policies from files and from recordings, and what came of running them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from drawtap.errors import InputError, UsageError, did_you_mean, read_toml
from drawtap.live.contention import SCENARIOS, Load, ProgramRun, Scenario, simulate
from drawtap.live.policy import checked_settings, make_policy
from drawtap.live.program import Importance


def load_scenario(name: str) -> Scenario:
    """Return the scenario of that name, or of a TOML file.

    A file has `seconds`, `seed` and `about`, and a table `[[program]]` for each program with the fields of `Load`;
    `trace` names a recording whose frames give the costs. Raises UsageError, InputError.
    """
    if name in SCENARIOS:
        return SCENARIOS[name]
    path = Path(name)
    if not path.is_file():
        hint = did_you_mean(name, SCENARIOS) or f"there are: {', '.join(SCENARIOS)}; or a TOML file"
        raise UsageError(f"there is no scenario {name!r}", hint=hint)
    text = read_toml(path)
    programs = text.get("program")
    unknown = sorted(set(text) - {"program", "seconds", "seed", "about"})
    if unknown:
        raise InputError(f"{path}: unknown: {', '.join(unknown)}", hint="seconds, seed, about and [[program]]")
    if not isinstance(programs, list) or not programs or not all(isinstance(p, dict) for p in programs):
        raise InputError(f"{path} has no programs", hint="[[program]] with name and cost_ms, one for each")
    try:
        loads = tuple(_load(p, f"{path}: program {i + 1}", path.parent) for i, p in enumerate(programs))
        seconds, seed = float(text.get("seconds", 20.0)), int(text.get("seed", 1))
    except UsageError as error:
        raise InputError(error.message, hint=error.hint) from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None
    return checked(Scenario(path.stem, loads, seconds, seed, str(text.get("about", ""))))


def load_of(text: str) -> Load:
    """Return the program that a text like `name=terrain,trace=terrain.dtap,class=high,target=60,start=5` describes.

    Raises UsageError for what makes no sense, InputError for a recording that cannot be read.
    """
    given: dict[str, object] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{part!r} is no KEY=VALUE", hint="name=terrain,cost=10,class=high,target=60")
        given[key.strip()] = value.strip()
    return _load(given, text, Path())


_SHORT = {"class": "importance", "cost": "cost_ms", "target": "target_fps", "floor": "floor_fps", "cap": "cap_fps",
          "start": "start_s", "end": "end_s", "cpu": "cpu_ms", "own": "own_fps", "retrace": "retrace_hz"}  # fmt: skip


def _load(given: Mapping[str, object], what: str, folder: Path) -> Load:
    named = {_SHORT.get(key, key): value for key, value in given.items()}
    trace = named.pop("trace", None)
    importance = named.pop("importance", None)
    if "name" not in named:
        named["name"] = Path(str(trace)).stem if trace else "program"
    if "costs_ns" in named:
        raise UsageError(f"{what}: costs_ns comes from a trace", hint="trace=FILE.dtap")
    load = Load(**checked_settings(Load, what, named, {field: name for name, field in _SHORT.items()}))
    if importance is not None:
        if importance not in list(Importance):
            raise UsageError(f"{what}: there is no class {importance!r}", hint=f"classes: {', '.join(Importance)}")
        load = replace(load, importance=Importance(str(importance)))
    return replace(load, costs_ns=recorded_costs(folder / str(trace))) if trace else load


def recorded_costs(path: Path) -> tuple[int, ...]:
    """Return what each frame of a recording took, in ns, from its first call to the end of its last.

    It is what the frame needs of the shared GPU or processor if the program ran alone and did not wait for anything.
    The first frame, in which a program loads, is left out. Raises InputError for a trace without frames.
    """
    from drawtap.trace.trace import open_trace

    with open_trace(path) as trace:
        rows = trace.sql("SELECT duration FROM frames WHERE duration > 0 ORDER BY frame").fetchall()
        costs = tuple(int(row[0]) for row in rows)
    if len(costs) < 2:
        raise InputError(f"{path} has no frames to take costs from", hint="at least two frames")
    return costs[1:]


def checked(scenario: Scenario) -> Scenario:
    """Return the scenario. Raises UsageError where it cannot be run."""
    if not scenario.loads:
        raise UsageError("a scenario without programs")
    if not 0.5 <= scenario.seconds <= 600:
        raise UsageError(f"{scenario.seconds:g} s cannot be simulated", hint="from 0.5 to 600")
    for load in scenario.loads:
        if not load.costs_ns and not 0.01 <= load.cost_ms <= 10_000:
            raise UsageError(f"{load.name}: a frame cannot take {load.cost_ms:g} ms", hint="from 0.01 to 10000")
        if load.jitter > 2:
            raise UsageError(f"{load.name}: a jitter of {load.jitter:g} is too much", hint="0.1 scatters by 10 %")
        if load.start_s >= scenario.seconds:
            raise UsageError(
                f"{load.name} would start at {load.start_s:g} s, when the scenario is over",
                hint=f"the scenario takes {scenario.seconds:g} s; --seconds makes it longer",
            )
        if load.end_s <= load.start_s:
            raise UsageError(f"{load.name} would end at {load.end_s:g} s and start at {load.start_s:g} s")
        if load.cap_fps is not None and load.floor_fps > load.cap_fps:
            raise UsageError(f"{load.name}: its floor, {load.floor_fps:g} FPS, is above its cap, {load.cap_fps:g}")
    return scenario


_REACHED = 0.98  # of its target: what counts as reached


@dataclass(frozen=True)
class Outcome:
    """The result of one program under one policy, in the time in which all programs ran (`window_s`).

    `alone_fps` is what it shows without the others and without limits; None where it reached its target or has none.
    """

    policy: str
    program: str
    importance: str
    target_fps: float | None
    fps: float
    reached: bool | None
    p50_ns: float
    p99_ns: float
    swing: float
    limit_changes: int
    reason: str
    rates: tuple[tuple[float, float], ...]
    limits: tuple[tuple[float, float | None], ...]
    window_s: tuple[float, float]
    alone_fps: float | None = None

    @property
    def result(self) -> str:
        """Return whether the target was reached, and whether it can be."""
        if self.reached is None or self.target_fps is None:
            return ""
        if self.reached:
            return "reached"
        if self.alone_fps is not None and self.alone_fps < _REACHED * self.target_fps:
            return f"not reachable: alone it shows {self.alone_fps:.1f}"
        return "missed"


def outcomes(scenario: Scenario, name: str, settings: Mapping[str, object]) -> list[Outcome]:
    """Run a scenario under a policy ("none": without) and return what each program came to.

    The window is the time in which all programs run, less two seconds in which a policy may find its limits; where
    they never all run, the whole time.
    """
    chosen = None if name == "none" else make_policy(name, settings)
    shown = simulate(scenario, chosen, name)
    window = contended(scenario)
    return [_outcome(name, s, scenario, window) for s in shown]


def contended(scenario: Scenario) -> tuple[float, float]:
    """Return the window in which all programs run, less its first two seconds (or its first half)."""
    begin, end = _together(scenario)
    if end <= begin:
        return 0.0, scenario.seconds
    return begin + min(2.0, (end - begin) / 2), end


def never_together(scenario: Scenario) -> bool:
    """Return whether there is no time in which all programs run."""
    begin, end = _together(scenario)
    return end <= begin


def _together(scenario: Scenario) -> tuple[float, float]:
    return max(p.start_s for p in scenario.loads), min(scenario.seconds, *(p.end_s for p in scenario.loads))


def _outcome(name: str, shown: ProgramRun, scenario: Scenario, window: tuple[float, float]) -> Outcome:
    times = shown.frame_ns(*window)
    p50, p99 = np.percentile(times, (50, 99)) if len(times) else (float("nan"),) * 2
    fps = shown.fps(*window)
    target = shown.load.target_fps
    reached = None if target is None else fps >= _REACHED * target
    alone = _alone(shown.load, scenario, window) if reached is False else None
    inside = [reason for t, _, reason in shown.limits if reason and t < window[1] * 1e9]
    return Outcome(
        name, shown.load.name, shown.load.importance, target, fps, reached,
        float(p50), float(p99), shown.swing(*window), len(shown.limits), inside[-1] if inside else "",
        tuple(shown.rates(scenario.seconds)), tuple((t / 1e9, f) for t, f, _ in shown.limits), window, alone,
    )  # fmt: skip


def _alone(load: Load, scenario: Scenario, window: tuple[float, float]) -> float:
    (shown,) = simulate(replace(scenario, loads=(load,)), None)
    return shown.fps(*window)
