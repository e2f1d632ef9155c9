"""Adaptive control: hold others back just enough that targets are reached, by frame-time percentiles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from drawtap.live.policy import Decision, Snapshot, policy
from drawtap.live.program import Importance, Limit, Program

_SMALL = 0.08  # an error beyond the missed target that may be an accident


@dataclass(frozen=True)
class _Memory:
    limits: Mapping[int, float] = field(default_factory=dict)  # FPS by id; empty: the others are free
    changed_ns: int = 0
    missed_ns: int = 0  # since when the target is missed, 0: it is not
    calm_ns: int = 0  # since when it is reached without room to spare
    roomy_ns: int = 0  # since when there is room to spare
    probe_s: float = 0.0  # how long a calm must last before a little more is tried
    good: Mapping[int, float] = field(default_factory=dict)  # the limits before the last try


@policy("adaptive")
@dataclass(frozen=True)
class Adaptive:
    """Lower everybody below a program that misses its target, and give back what turns out not to be needed.

    The controlled figure is the worse of two, for the program that misses its target most: its rate against `aim`
    times its target over `window_s`, and the `percentile` of its frame times over twice that, against `tolerance`
    frame times of the target. Below the target itself by more than `missed` the others go down by the error (at most to
    a third at once), but only after the window shows what the last step did, and for a small error only if it lasts: a
    program that shows its target and no more (vertical retrace, a limit) is content.
    Above `aim` by more than `room` for two windows (one, where it is much) they rise by half the room, below twice the
    target by a third at most. In between nothing
    moves, except that after `probe_s` of calm `probe` more is tried. What costs the target is taken back exactly, and
    the next try comes after twice the time. So it settles, and swings ever less.
    """

    percentile: float = 90.0
    tolerance: float = 1.3
    aim: float = 1.04
    window_s: float = 1.0
    missed: float = 0.006
    room: float = 0.08
    probe: float = 0.04
    probe_s: float = 4.0
    longest_probe_s: float = 120.0
    floor_fps: float = 5.0

    def decide(self, seen: Snapshot, memory: object) -> Decision:
        """Move the others' common factor by the error of the worst target."""
        before = memory if isinstance(memory, _Memory) else _Memory()
        drawing = seen.drawing()
        wanting = [p for p in drawing if p.target_fps and p.importance.rank <= Importance.NORMAL.rank]
        others = self._others(drawing, wanting)
        if not wanting or not others:
            return Decision()
        errors = {p.id: error for p in wanting if (error := self._error(seen, p)) is not None}
        if not errors:
            return self._limits(seen, wanting[0], others, before)
        worst = max((p for p in wanting if p.id in errors), key=lambda p: (errors[p.id], -p.importance.rank))
        now = self._moved(seen, errors[worst.id], others, before)
        return self._limits(seen, worst, others, now)

    def _others(self, drawing: tuple[Program, ...], wanting: list[Program]) -> list[Program]:
        highest = min((p.importance.rank for p in wanting), default=0)
        return [p for p in drawing if p.importance.rank > highest]

    def _error(self, seen: Snapshot, program: Program) -> float | None:
        """Return log of how far the target is missed: 0 reached exactly, negative with room to spare."""
        surface, target = program.surface, program.goal_fps
        if surface is None or not target:
            return None
        window = round(self.window_s * 1e9)
        if not len(surface.shown_ns) or int(surface.shown_ns[0]) > seen.now_ns - window:
            return None  # a program that begins is slow by nature
        fps = max(surface.fps(seen.now_ns, window), 0.1)
        (slow,) = surface.percentiles(self.percentile, now_ns=seen.now_ns, window_ns=2 * window)
        by_rate = math.log(target * self.aim / fps)
        by_time = math.log(slow * target / 1e9 / self.tolerance) if slow > 0 else by_rate  # NaN: no frames
        return max(by_rate, by_time)

    def _moved(self, seen: Snapshot, error: float, others: list[Program], before: _Memory) -> _Memory:
        now, window = seen.now_ns, self.window_s * 1e9
        limits = {p.id: before.limits.get(p.id) or self._shown(seen, p) for p in others} if before.limits else {}
        state = replace(before, limits=limits, probe_s=before.probe_s or self.probe_s)
        settled = not state.limits or now - state.changed_ns >= window  # does the last step show?
        # The aim is for those who can reach it: nobody is held back for more than the target.
        most = self.missed + max(math.log(self.aim), 0.0)
        if error > most:
            since = state.missed_ns or now
            state = replace(state, missed_ns=since, roomy_ns=0, calm_ns=0)
            # A large error is no accident; a small one has to last.
            if not settled or (error < most + _SMALL and now - since < window):
                return state
            if state.good:
                longer = min(state.probe_s * 2, self.longest_probe_s)
                return replace(state, limits=state.good, good={}, probe_s=longer, changed_ns=now, missed_ns=0)
            # Large errors take larger steps: what is freed goes to others too.
            factor = math.exp(-min(error * (1.5 if error > 0.06 else 1.0), math.log(3)))
            lower = {p.id: min(limits.get(p.id, math.inf), self._shown(seen, p)) * factor for p in others}
            return replace(state, limits=lower, changed_ns=now, missed_ns=0)
        state = replace(state, missed_ns=0)
        if not state.limits:
            return state
        if error < -self.room:
            since = state.roomy_ns or now
            # Much room is given back fast.
            if now - since < (1 if error < -3 * self.room else 2) * window or not settled:
                return replace(state, roomy_ns=since, calm_ns=0)
            if all(self._shown(seen, p) < 0.7 * limits[p.id] for p in others):
                return _Memory()  # limits far above what is shown are none
            # Where twice the target is shown, a step that is too large can be taken back before it hurts.
            more = _times(limits, min(-error / 2, 0.3) if error > -math.log(2) else -error / 2)
            return replace(state, good=limits, limits=more, changed_ns=now, roomy_ns=0)
        since = state.calm_ns or now
        if now - since >= state.probe_s * 1e9:
            # Calm for so long: what was tried last holds, and a little more is tried.
            more = _times(limits, self.probe)
            return replace(state, good=limits, limits=more, changed_ns=now, calm_ns=now, roomy_ns=0)
        return replace(state, calm_ns=since, roomy_ns=0)

    def _shown(self, seen: Snapshot, program: Program) -> float:
        return max(program.fps(seen.now_ns, 250_000_000), self.floor_fps)

    def _limits(self, seen: Snapshot, worst: Program, others: list[Program], now: _Memory) -> Decision:
        fps, target = worst.fps(seen.now_ns), worst.goal_fps or 0.0
        reason = f"{worst.name} shows {fps:.0f} of {target:g} FPS" + (
            ", this rises again" if fps > 1.5 * target else ""
        )
        floor = self.floor_fps
        limits = {p.id: Limit(max(now.limits[p.id], floor), reason) for p in others if p.id in now.limits}
        return Decision(limits, now)


def _times(limits: Mapping[int, float], log: float) -> dict[int, float]:
    return {key: fps * math.exp(log) for key, fps in limits.items()}
