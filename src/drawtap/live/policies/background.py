"""Limits for what nobody looks at: programs without the focus, and those of class background."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drawtap.live.policy import Decision, Snapshot, policy
from drawtap.live.program import Importance, Limit


@dataclass(frozen=True)
class _Memory:
    since_ns: Mapping[int, int] = field(default_factory=dict)


@policy("background")
@dataclass(frozen=True)
class Background:
    """Hold programs whose window has not had the focus for `after_s` to `fps`, those of class background always.

    Programs of class critical are left alone. A program gets its rate back with the focus, at once. Where nobody tells
    which window has the focus, only the class counts, and the decision says so.
    """

    fps: float = 15.0
    class_fps: float = 30.0
    after_s: float = 2.0

    def decide(self, seen: Snapshot, memory: object) -> Decision:
        """Hold what has no focus."""
        before = memory.since_ns if isinstance(memory, _Memory) else {}
        since: dict[int, int] = {}
        limits: dict[int, Limit] = {}
        for program in seen.programs:
            if program.importance is Importance.CRITICAL or program.focused:
                continue
            if program.focused is False:
                since[program.id] = before.get(program.id, seen.now_ns)
                if seen.now_ns - since[program.id] >= self.after_s * 1e9:
                    limits[program.id] = Limit(self.fps, "its window does not have the focus", chosen=True)
                    continue
            if program.importance is Importance.BACKGROUND:
                limits[program.id] = Limit(self.class_fps, "its class is background", chosen=True)
        unknown = bool(seen.programs) and all(p.focused is None for p in seen.programs)
        return Decision(limits, _Memory(since), ("nobody tells which window has the focus",) if unknown else ())
