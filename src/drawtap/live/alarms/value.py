"""A number of a program's own is too large, too small, or too old."""

import math
from dataclasses import dataclass

from drawtap.live.alarm import Look, alarm
from drawtap.live.program import Program


@alarm("value")
@dataclass(frozen=True)
class OutOfRange:
    """The number `name`, which the program sets with DRAWTAP_VALUE, was above `above` or below `below` for `seconds`.

    With `silent_s`, it is also on while the program has not set the number for that many seconds. It is over with the
    first look at a number in range. Programs that never set the number have no such alarm.
    """

    name: str = ""
    above: float = math.inf
    below: float = -math.inf
    seconds: float = 0.0
    silent_s: float = math.inf

    def look(self, program: Program, now_ns: int, memory: object) -> Look:
        """Compare the number with its bounds; `memory` is since when it is out of them."""
        seen = program.values.get(self.name)
        if seen is None:
            return Look()
        silent = now_ns - seen.set_ns >= self.silent_s * 1e9
        if not silent and self.below <= seen.value <= self.above:
            return Look(text=f"{self.name} is {seen.value:g}")
        since = memory if isinstance(memory, int) else now_ns
        text = f"{self.name} was not set for {(now_ns - seen.set_ns) / 1e9:.1f} s" if silent else self._said(seen.value)
        return Look(silent or now_ns - since >= self.seconds * 1e9, text, since)

    def _said(self, value: float) -> str:
        bound = f"above {self.above:g}" if value > self.above else f"below {self.below:g}"
        return f"{self.name} is {value:g}, {bound}"
