"""A frame took much longer than those before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drawtap.live.alarm import Look, alarm
from drawtap.live.program import Program

_FEWEST = 8  # frames that tell what is usual


@alarm("hitch")
@dataclass(frozen=True)
class Hitch:
    """A frame took more than `times` the median of the `frames` before it, and at least `least_ms` more.

    Time in the limiter does not count, so a limit that is set or changed is no hitch. Where a surface stood still for
    longer than `most_ms` it is a stall, not a hitch.
    """

    times: float = 3.0
    least_ms: float = 15.0
    most_ms: float = 1000.0
    frames: int = 60

    def look(self, program: Program, now_ns: int, memory: object) -> Look:
        """Look at the frames since the last look; `memory` is the time of the last frame that was seen, by surface."""
        seen: dict[int, int] = dict(memory) if isinstance(memory, dict) else {}
        lines = []
        for surface in program.surfaces:
            last = seen.get(surface.key)
            seen[surface.key] = surface.last_ns
            if last is None:
                continue
            shown = surface.shown_ns
            first = max(int(shown.searchsorted(last, "right")) - 1, _FEWEST)
            if first + 1 >= len(shown):
                continue
            # Most looks see nothing that took so long at all, and need not know what is usual.
            new = shown[first + 1 :] - shown[first:-1]
            new -= surface.wait_ns[first + 1 :]
            if new.max() < self.least_ms * 1e6:
                continue
            work = surface.work_ns
            # The usual time is not below the least one: most looks need no closer one.
            least = work.min() + self.least_ms * 1e6
            if work[first:].max() < least:
                continue
            long = first + np.flatnonzero(work[first:] >= least)
            for i, usual in zip(long, self._usual(work, long), strict=True):
                if usual * self.times < work[i] <= self.most_ms * 1e6 and work[i] - usual >= self.least_ms * 1e6:
                    lines.append(f"a frame took {work[i] / 1e6:.1f} ms, {usual / 1e6:.1f} ms are usual")
        return Look(memory=seen, happened=tuple(lines[-3:]))

    def _usual(self, work: NDArray[np.int64], chosen: NDArray[np.intp]) -> list[float]:
        """Return the median of the frames before each of `chosen`: the upper one of the two middle ones."""
        # The answer is short, since each frame took longer than `least_ms`: lists are sorted sooner than an array is
        # cut up.
        before = work.tolist()
        lists = (sorted(before[max(0, i - self.frames) : i]) for i in chosen.tolist())
        return [float(ordered[len(ordered) // 2]) for ordered in lists]
