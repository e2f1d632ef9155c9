"""Priority classes: caps beside more important programs, and floors when those miss their targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drawtap.live.policy import Decision, Snapshot, policy
from drawtap.live.program import Importance, Limit, Program


@dataclass(frozen=True)
class _Memory:
    level: int = 0  # how many classes, from the least important up, are down at their floors
    missed_ns: int | None = None  # since when a target is missed
    reached_ns: int | None = None  # since when all are reached


@policy("classes")
@dataclass(frozen=True)
class Classes:
    """Give every class a cap that holds while a more important program draws, and a floor for bad times.

    If a program misses its target for `miss_s`, the least important class goes down to its floor, then the next, but
    never the program's own class or a higher one. Once all targets were reached for `recover_s`, they come back one
    class at a time. A target counts as missed below `missed` of it, as reached above `reached`.
    """

    caps: Mapping[str, float] = field(default_factory=lambda: {"normal": 120.0, "background": 30.0})
    floors: Mapping[str, float] = field(default_factory=lambda: {"high": 30.0, "normal": 20.0, "background": 5.0})
    missed: float = 0.95
    reached: float = 0.99
    miss_s: float = 1.0
    recover_s: float = 5.0

    def decide(self, seen: Snapshot, memory: object) -> Decision:
        """Hold classes by what is drawing and by what misses its target."""
        drawing = seen.drawing()
        before = memory if isinstance(memory, _Memory) else _Memory()
        now = self._level(seen, drawing, before)
        highest = min((p.importance.rank for p in drawing), default=len(Importance))
        worst = self._worst(seen, drawing)
        limits: dict[int, Limit] = {}
        for program in seen.programs:
            rank = program.importance.rank
            if rank <= highest:
                continue
            down = rank >= len(Importance) - now.level and (worst is None or rank > worst.importance.rank)
            if down:
                floor = self.floors.get(program.importance, 1.0)
                said = f"{worst.name} misses {worst.goal_fps:g} FPS" if worst else "targets were missed until just now"
                limits[program.id] = Limit(floor, f"{said}: class {program.importance} is at its floor")
            elif program.importance in self.caps:
                first = min(drawing, key=lambda p: (p.importance.rank, p.id))
                reason = f"{first.name} ({first.importance}) draws: class {program.importance} has a cap"
                limits[program.id] = Limit(self.caps[program.importance], reason)
        return Decision(limits, now)

    def _worst(self, seen: Snapshot, drawing: tuple[Program, ...]) -> Program | None:
        missing = [p for p in drawing if p.goal_fps and p.fps(seen.now_ns) < self.missed * p.goal_fps]
        return min(missing, key=lambda p: (p.importance.rank, p.id), default=None)

    def _level(self, seen: Snapshot, drawing: tuple[Program, ...], before: _Memory) -> _Memory:
        now = seen.now_ns
        worst = self._worst(seen, drawing)
        if worst is not None:
            since = before.missed_ns if before.missed_ns is not None else now
            most = len(Importance) - 1 - worst.importance.rank
            if now - since >= self.miss_s * 1e9 and before.level < most:
                return _Memory(before.level + 1, now)
            return _Memory(min(before.level, most), since)
        with_target = [p for p in drawing if p.target_fps]
        if not all(p.fps(now) >= self.reached * (p.goal_fps or 0) for p in with_target):
            return _Memory(before.level)
        since = before.reached_ns if before.reached_ns is not None else now
        if before.level and (now - since >= self.recover_s * 1e9 or not with_target):
            return _Memory(before.level - 1, None, now)
        return _Memory(before.level, None, since)
