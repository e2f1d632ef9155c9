"""The manager's knowledge of running programs, as values: policies, rules and views read nothing else.

Times are int64 ns of CLOCK_MONOTONIC. A simulation can make the same values from a recording.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class Importance(StrEnum):
    """The class of a program, the most important first."""

    CRITICAL = "critical"
    HIGH = "high"
    NORMAL = "normal"
    BACKGROUND = "background"

    @property
    def rank(self) -> int:
        """Return 0 for the most important class, one more for each below."""
        return _RANKS[self]


_RANKS = {importance: rank for rank, importance in enumerate(Importance)}


class Pacing(StrEnum):
    """Where a frame that is too early waits.

    `early` before it is shown: frames come at even distances. `late` after it was shown: the next frame begins with
    fresher input.
    """

    EARLY = "early"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Limit:
    """Hold a program's surfaces to `fps` frames a second; `reason` says to people why, `origin` who asked for it.

    `origin` is `user`, `profile`, `start` (drawtap run --fps), or the name of the policy. `chosen` marks a rate chosen
    for this program (by a person, a profile, a cap), unlike a policy's rate for the sake of others. With a chosen rate,
    no target is missed.
    """

    fps: float
    reason: str = ""
    origin: str = "user"
    pacing: Pacing = Pacing.EARLY
    chosen: bool = False

    @property
    def interval_ns(self) -> int:
        """Return the least time between two frames; never more than a second, so that nothing stands still."""
        return min(1_000_000_000, round(1e9 / self.fps)) if self.fps > 0 else 0


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm that is on: the name of its rule, since when, what it found."""

    rule: str
    since_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class Value:
    """A number that the program gave a name (DRAWTAP_VALUE, or `drawtap::metric` in a module).

    `set_ns` is when it was set last, `sets` how often it was set so far.
    """

    value: float
    set_ns: int
    sets: int = 1


def _no_times() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass(slots=True)  # values, but not frozen: hundreds are made every second, and that would take four times as long
class Surface:
    """One surface (window, pbuffer) of a program and its frames of the last seconds.

    `shown_ns` are the times at which the last frames were shown, ascending; `wait_ns` how long the limiter held each
    back, `swap_ns` how long the driver took to show it; the three have one length. `frames` counts all since the
    program began, `lost` those that were shown faster than they could be read. `swap_interval` is None where the
    program set none, `width` and `height` are 0 where they are not known. `limit` holds in place of the program's
    (0 FPS: none does), None where the program's does.
    """

    key: int
    kind: str = "egl"
    handle: int = 0
    width: int = 0
    height: int = 0
    swap_interval: int | None = None
    frames: int = 0
    lost: int = 0
    shown_ns: NDArray[np.int64] = field(default_factory=_no_times)
    wait_ns: NDArray[np.int64] = field(default_factory=_no_times)
    swap_ns: NDArray[np.int64] = field(default_factory=_no_times)
    limit: Limit | None = None

    def since(self, time_ns: int) -> Surface:
        """Return the same surface with the frames that were shown after `time_ns` and the one before them."""
        first = max(0, int(np.searchsorted(self.shown_ns, time_ns, "right")) - 1)
        return Surface(
            self.key,
            self.kind,
            self.handle,
            self.width,
            self.height,
            self.swap_interval,
            self.frames,
            self.lost,
            self.shown_ns[first:],
            self.wait_ns[first:],
            self.swap_ns[first:],
            self.limit,
        )

    @property
    def frame_ns(self) -> NDArray[np.int64]:
        """Return the times between the frames, one less than there are frames."""
        times: NDArray[np.int64] = self.shown_ns[1:] - self.shown_ns[:-1]
        return times

    @property
    def work_ns(self) -> NDArray[np.int64]:
        """Return the frame times without what the limiter waited: what the program would take on its own."""
        times: NDArray[np.int64] = np.maximum(self.frame_ns - self.wait_ns[1:], 0)
        return times

    @property
    def last_ns(self) -> int:
        """Return when the last frame was shown, 0 where none was."""
        return int(self.shown_ns[-1]) if len(self.shown_ns) else 0

    def fps(self, now_ns: int, window_ns: int = 1_000_000_000) -> float:
        """Return the frames a second over the last `window_ns`.

        Whole frames are counted over the time that they took; a surface that stopped goes towards 0.
        """
        times = self.shown_ns[np.searchsorted(self.shown_ns, now_ns - window_ns, "left") :]
        if len(times) < 2:
            return len(times) * 1e9 / window_ns
        length = int(times[-1] - times[0])
        mean = length / (len(times) - 1)
        # A pause that is longer than the frames were counts as the frame that it is going to be.
        pause = now_ns - int(times[-1])
        return (len(times) - 1) * 1e9 / (length + pause) if pause > 2 * mean else 1e9 / mean

    def percentiles(self, *which: float, now_ns: int = 0, window_ns: int = 0) -> tuple[float, ...]:
        """Return percentiles of the frame times in ns (of the last `window_ns` where given), NaN without frames."""
        chosen = self.since(now_ns - window_ns) if window_ns else self
        times = chosen.frame_ns
        return percentiles(times, *which) if len(times) else tuple(float("nan") for _ in which)


def percentiles(values: NDArray[np.int64], *which: float) -> tuple[float, ...]:
    """Return the percentiles of one value or more, between two values in proportion.

    As numpy.percentile does, which takes 50 times as long for the frames of a second: managers ask often.
    """
    ordered = np.sort(values).tolist()
    percentiles_ = []
    for percent in which:
        place = (len(ordered) - 1) * percent / 100
        at = int(place)
        low, high = ordered[at], ordered[min(at + 1, len(ordered) - 1)]
        percentiles_.append(low + (high - low) * (place - at))
    return tuple(percentiles_)


@dataclass(slots=True)  # values, but not frozen: hundreds are made every second, and that would take four times as long
class Program:
    """One running program under the manager.

    `id` is the manager's own number: pids are used again. `surfaces` are in the order in which they were first shown,
    without those that were not shown for a while. `target_fps` is what the program should reach, None where nobody
    said; `floor_fps` and `cap_fps` bound what a policy may limit it to; `weight` is its share among equals. `limit` is
    what holds now; `freed` says who wants nothing to hold it ("": nobody). `focused` is None where nobody tells.
    `profile` names the section of the configuration that matched it. `frames` are all that it has shown since it is
    known, surfaces that are gone included. `values` are numbers of its own, by name.
    """

    id: int
    pid: int
    name: str
    exe: Path = Path()
    uid: int = 0
    command: tuple[str, ...] = ()
    cgroup: str = ""
    started_ns: int = 0
    surfaces: tuple[Surface, ...] = ()
    importance: Importance = Importance.NORMAL
    weight: float = 1.0
    target_fps: float | None = None
    floor_fps: float = 1.0
    cap_fps: float | None = None
    limit: Limit | None = None
    freed: str = ""
    focused: bool | None = None
    recording: bool = False
    profile: str = ""
    alarms: tuple[Alarm, ...] = ()
    frames: int = 0
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def goal_fps(self) -> float | None:
        """Return what the program can be expected to reach: its target, or less where it is held lower on purpose."""
        if not self.target_fps:
            return None
        return min(self.target_fps, self.chosen_fps)

    @property
    def held(self) -> Limit | None:
        """Return what holds for the surface that shows most: a limit of its own, else the program's."""
        surface = self.surface
        limit = surface.limit if surface and surface.limit else self.limit
        return limit if limit and limit.fps > 0 else None

    @property
    def chosen_fps(self) -> float:
        """Return the rate beyond which the program has no use for time, as somebody chose it; infinite without one."""
        held = self.held
        return min(held.fps if held and held.chosen else math.inf, self.cap_fps or math.inf)

    @property
    def surface(self) -> Surface | None:
        """Return the surface that shows most frames now: the last two seconds decide."""
        if len(self.surfaces) == 1:
            return self.surfaces[0]
        newest = max((s.last_ns for s in self.surfaces), default=0)
        recent = [(len(s.since(newest - 2_000_000_000).shown_ns), -i) for i, s in enumerate(self.surfaces)]
        return self.surfaces[-max(recent)[1]] if recent else None

    def fps(self, now_ns: int, window_ns: int = 1_000_000_000) -> float:
        """Return the frames a second of the surface that shows most, 0 without one."""
        surface = self.surface
        return surface.fps(now_ns, window_ns) if surface else 0.0
