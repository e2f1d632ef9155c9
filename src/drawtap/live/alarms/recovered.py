"""A program that missed its target or stood still is well again."""

from dataclasses import dataclass

from drawtap.live.alarm import Look, alarm
from drawtap.live.program import Program


@alarm("recovered")
@dataclass(frozen=True)
class Recovered:
    """A program that was below `share` of its target for `bad_s` has reached it for `good_s` since.

    It happens once for each bad time, and says how long that was. A limit that is lower on purpose takes the place of
    the target. A program without a target is bad while it shows nothing.
    """

    share: float = 0.95
    bad_s: float = 1.0
    good_s: float = 1.0

    def look(self, program: Program, now_ns: int, memory: object) -> Look:
        """Follow bad and good times; `memory` is (bad since, bad until, good since), 0 for none."""
        bad_since, bad_until, good_since = memory if isinstance(memory, tuple) else (0, 0, 0)
        if not program.surfaces:
            return Look()
        fps = program.fps(now_ns, 500_000_000)
        wanted = self.share * program.goal_fps if program.goal_fps else 0.5
        if fps < wanted:
            return Look(memory=(bad_since or now_ns, now_ns, 0))
        if not bad_since:
            return Look(memory=(0, 0, 0))
        good_since = good_since or now_ns
        if now_ns - good_since < self.good_s * 1e9:
            return Look(memory=(bad_since, bad_until, good_since))
        length = (good_since - bad_since) / 1e9
        if length < self.bad_s:
            return Look(memory=(0, 0, 0))
        return Look(memory=(0, 0, 0), happened=(f"{fps:.1f} FPS again after {length:.1f} s",))
