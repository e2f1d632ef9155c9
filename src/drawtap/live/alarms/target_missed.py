"""A program does not reach its target."""

from dataclasses import dataclass

from drawtap.live.alarm import Look, alarm
from drawtap.live.program import Program


@alarm("target-missed")
@dataclass(frozen=True)
class TargetMissed:
    """A program with a target showed less than `share` of it for `seconds`.

    It is over when `recover_share` was shown for as long. Each look uses the rate of the last half second. A
    program that is held lower on purpose (by `drawtap limit`, a profile, its cap, for want of the focus) is measured
    by that limit in place of its target; one that a policy holds back for the sake of others does miss its target.
    """

    seconds: float = 2.0
    share: float = 0.95
    recover_share: float = 0.98

    def look(self, program: Program, now_ns: int, memory: object) -> Look:
        """Compare the rate with the target; `memory` is (whether it is on, since when it speaks for the other)."""
        target = program.goal_fps
        if not target or not program.surfaces:
            return Look()
        on, since = memory if isinstance(memory, tuple) else (False, 0)
        fps = program.fps(now_ns, 500_000_000)
        against = fps >= self.recover_share * target if on else fps < self.share * target
        since = (since or now_ns) if against else 0
        if against and now_ns - since >= self.seconds * 1e9:
            on, since = not on, 0
        return Look(on, f"{fps:.1f} of {target:g} FPS{_held(program, target)}", (on, since))


def _held(program: Program, goal: float) -> str:
    if program.target_fps == goal:
        return ""
    limit = program.held
    by = limit.origin if limit and limit.chosen and limit.fps == goal else "its cap"
    return f", limited to {goal:g} by {by}; the target is {program.target_fps:g}"
