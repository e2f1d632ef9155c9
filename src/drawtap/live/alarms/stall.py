"""A program that drew shows nothing any more."""

from dataclasses import dataclass

from drawtap.live.alarm import Look, alarm
from drawtap.live.program import Program


@alarm("stall")
@dataclass(frozen=True)
class Stall:
    """No surface of a program showed a frame for `seconds`, though one had shown `frames` or more.

    It is over with the next frame. Programs that draw only when something changes stall by nature: name others in
    `programs`.
    """

    seconds: float = 2.0
    frames: int = 10

    def look(self, program: Program, now_ns: int, memory: object) -> Look:
        """Look at the newest frame of all surfaces."""
        newest = max((s.last_ns for s in program.surfaces), default=0)
        drew = any(s.frames >= self.frames for s in program.surfaces)
        on = bool(newest) and drew and now_ns - newest >= self.seconds * 1e9
        return Look(on, f"nothing shown for {(now_ns - newest) / 1e9:.1f} s" if on else "it shows frames again")
