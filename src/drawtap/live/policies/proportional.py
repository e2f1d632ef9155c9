"""Proportional share: everybody gets time by weight, and what somebody does not use goes to the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drawtap.live.policy import Decision, Snapshot, policy
from drawtap.live.program import Limit, Program, percentiles

_LEAST_FRAMES = 8


@dataclass(frozen=True)
class _Memory:
    cost_s: Mapping[int, float] = field(default_factory=dict)  # seconds of the shared thing that a frame takes
    fps: Mapping[int, float] = field(default_factory=dict)  # limits given out


@policy("proportional")
@dataclass(frozen=True)
class Proportional:
    """Divide `capacity` of the shared GPU among the programs that draw, by their weights.

    A program's cost is the GPU time of a frame, from the signals (fdinfo, NVML) if they have it. With `cpu` (software
    rendering) it is processor time. Otherwise it is the shortest frame time without waiting. A program that wants less
    than its share (`target`, a cap, a limit that somebody chose) leaves the rest to the others. Limits move by at least
    `least_change`, costs are averaged over about `smooth` looks: so neither jitters.
    """

    capacity: float = 0.95
    smooth: float = 6.0
    least_change: float = 0.06
    cpu: bool = False

    def decide(self, seen: Snapshot, memory: object) -> Decision:
        """Divide by weight."""
        before = memory if isinstance(memory, _Memory) else _Memory()
        costs = {
            p.id: cost for p in seen.drawing() if (cost := self._cost(seen, p, before.cost_s.get(p.id))) is not None
        }
        programs = [p for p in seen.programs if p.id in costs]
        if len(programs) < 2:
            return Decision({}, _Memory(costs))
        shares = _filled(
            {p.id: max(p.weight, 1e-6) for p in programs},
            {p.id: _wanted(p) * costs[p.id] for p in programs},
            self.capacity,
        )
        limits: dict[int, Limit] = {}
        for program in programs:
            fps = shares[program.id] / costs[program.id]
            old = before.fps.get(program.id)
            if old is not None and abs(fps / old - 1) < self.least_change:
                fps = old
            if fps >= _wanted(program):
                continue
            share = program.weight / sum(p.weight for p in programs)
            reason = (
                f"weight {program.weight:g} is {share:.0%}, a frame takes {costs[program.id] * 1e3:.2g} ms of the GPU"
            )
            limits[program.id] = Limit(fps, reason)
        return Decision(limits, _Memory(costs, {key: limit.fps for key, limit in limits.items()}))

    def _cost(self, seen: Snapshot, program: Program, before: float | None) -> float | None:
        known = seen.signals.cpu if self.cpu else seen.signals.busy
        fps = program.fps(seen.now_ns)
        if program.pid in known and fps > 0:
            now = known[program.pid] / fps
        else:
            surface = program.surface
            if surface is None or len(surface.shown_ns) < _LEAST_FRAMES:
                return before
            # Frames that met nobody are the shortest; a tenth of them is left for outliers.
            now = percentiles(surface.work_ns, 10)[0] / 1e9
        if now <= 0:
            return before
        return now if before is None else before + (now - before) / max(self.smooth, 1.0)


def _wanted(program: Program) -> float:
    # Frames a second beyond which a program has no use for more.
    return min(program.target_fps or float("inf"), program.chosen_fps)


def _filled(weights: Mapping[int, float], wanted: Mapping[int, float], capacity: float) -> dict[int, float]:
    """Share `capacity` by weight, nobody getting more than is wanted (water filling)."""
    shares: dict[int, float] = {}
    left, open_ = capacity, dict(weights)
    while open_:
        total = sum(open_.values())
        full = [key for key, weight in open_.items() if wanted[key] <= left * weight / total]
        if not full:
            return shares | {key: left * weight / total for key, weight in open_.items()}
        for key in full:
            shares[key] = wanted[key]
            left -= wanted[key]
            del open_[key]
    return shares
