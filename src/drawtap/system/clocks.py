"""The clock of one machine in terms of another's, from pairs of events of which one came before the other.

A pair says: this event of the guest was before that event of the host, or after it. Pairs of both directions leave a
band for the line from guest time to host time (the method of convex hulls). The line is below all pairs that the guest
began, and above all that the host began. The middle of the band is the estimate, its width bounds the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from drawtap.errors import InputError

Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Clocks of computers differ by less; a short trace alone would allow more.
_MOST_DRIFT: Final = 1e-3
# The most that pairs may contradict each other: a clock that is steered meanwhile is no straight line.
_TOLERANCE_NS: Final = 100_000
_STEPS = 200


@dataclass(frozen=True)
class Pairs:
    """Matched events: `guest` and `host` are times of their own clocks, row by row."""

    guest: Times
    host: Times

    def __len__(self) -> int:
        return len(self.guest)


@dataclass(frozen=True)
class ClockFit:
    """Guest time `t` is host time `t + offset_ns + drift * (t - zero_ns)`.

    `error_ns`: no host time of the guest's trace is off by more; None where only one direction was seen, so that
    nothing bounds it. `spread_ns`: half of the pairs lie no further from the line. `contradiction_ns`: how far pairs
    contradict each other, 0 where one line fits all.
    """

    zero_ns: int
    offset_ns: int
    drift: float
    error_ns: int | None
    spread_ns: int
    contradiction_ns: int

    def host_time(self, t: int) -> int:
        """Return the host's time of a guest's time."""
        return t + self.offset_ns + round(self.drift * (t - self.zero_ns))

    def sql(self, column: str) -> str:
        """Return SQL that makes the host's time of a column with the guest's."""
        return f"({column} + {self.offset_ns} + round(({column} - {self.zero_ns}) * {self.drift!r})::BIGINT)"


def fit(guest_first: Pairs, host_first: Pairs, window: tuple[int, int]) -> ClockFit:
    """Return the clock of a guest from pairs that it began and pairs that the host began.

    `window`: the guest's times for which the error is stated. Raises InputError where no clock fits the pairs.
    """
    guests = np.concatenate([guest_first.guest, host_first.guest])
    hosts = np.concatenate([guest_first.host, host_first.host])
    if len(guests) < 2:
        raise InputError(f"the traces have {len(guests)} matching pairs of events: two are needed")
    zero = int(guests.min()) + (int(guests.max()) - int(guests.min())) // 2
    offset = int(hosts[0]) - int(guests[0])
    # Differences of neighbouring times: floats hold them to far below a nanosecond.
    above = _points(guest_first, zero, offset)
    below = _points(host_first, zero, offset)
    all_x, all_y = np.concatenate([above[0], below[0]]), np.concatenate([above[1], below[1]])
    ends = np.array([float(window[0] - zero), float(window[1] - zero), all_x.min(), all_x.max()])
    if not len(guest_first) or not len(host_first):
        return _one_sided(above if len(guest_first) else below, upper=bool(len(guest_first)), zero=zero, offset=offset)
    band = _Band(_hull(above, lower=True), _hull(below, lower=False))
    best, room = _top(band.room, -_MOST_DRIFT, _MOST_DRIFT)
    contradiction = max(0.0, -room)
    if contradiction > _TOLERANCE_NS:
        raise InputError(
            f"no clock fits the {len(guests)} matched pairs of events: they contradict each other by "
            f"{contradiction / 1e6:.3f} ms",
            hint="is the guest's trace of that virtual machine, and of the same time?",
        )
    band = band.wider(2 * contradiction)
    low = _root(band.room, -_MOST_DRIFT, best)
    high = _root(band.room, _MOST_DRIFT, best)
    drift = (low + high) / 2
    constant = (band.floor(drift) + band.ceiling(drift)) / 2
    error = max(_error(band, x, constant + drift * x, (low, high)) for x in ends)
    spread = float(np.median(np.abs(all_y - constant - drift * all_x)))
    return ClockFit(zero, offset + round(constant), drift, round(error) + 1, round(spread), round(contradiction))


def _points(pairs: Pairs, zero: int, offset: int) -> tuple[Floats, Floats]:
    return (pairs.guest - zero).astype(np.float64), (pairs.host - pairs.guest - offset).astype(np.float64)


@dataclass(frozen=True)
class _Band:
    # Lines c + s * x under all points `above` and over all points `below`.
    above: tuple[Floats, Floats]
    below: tuple[Floats, Floats]
    extra: float = 0.0

    def wider(self, extra: float) -> _Band:
        return _Band(self.above, self.below, extra)

    def ceiling(self, drift: float) -> float:
        return float(np.min(self.above[1] - drift * self.above[0])) + self.extra / 2

    def floor(self, drift: float) -> float:
        return float(np.max(self.below[1] - drift * self.below[0])) - self.extra / 2

    def room(self, drift: float) -> float:
        return self.ceiling(drift) - self.floor(drift)


def _error(band: _Band, x: float, estimate: float, drifts: tuple[float, float]) -> float:
    _, high = _top(lambda s: band.ceiling(s) + s * x, *drifts)
    _, low = _top(lambda s: -(band.floor(s) + s * x), *drifts)
    return max(high - estimate, estimate + low)


def _top(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return where a concave function is largest between two bounds, and how large."""
    for _ in range(_STEPS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if function(left) < function(right):
            low = left
        else:
            high = right
    at = max((low, high, (low + high) / 2), key=function)
    return at, function(at)


def _root(room: Callable[[float], float], outside: float, inside: float) -> float:
    """Return the last drift from `inside` towards `outside` that leaves room."""
    if room(outside) >= 0:
        return outside
    for _ in range(_STEPS):
        middle = (outside + inside) / 2
        if room(middle) >= 0:
            inside = middle
        else:
            outside = middle
    return inside


def _hull(points: tuple[Floats, Floats], *, lower: bool) -> tuple[Floats, Floats]:
    """Return the lower or the upper half of the convex hull: only its corners bound a line."""
    sign = 1.0 if lower else -1.0
    order = np.lexsort((sign * points[1], points[0]))
    corners: list[tuple[float, float]] = []
    for x, y in zip(points[0][order].tolist(), (sign * points[1][order]).tolist(), strict=True):
        while len(corners) > 1 and _turns(corners[-2], corners[-1], (x, y)):
            corners.pop()
        if not corners or corners[-1][0] != x:
            corners.append((x, y))
    hull: Any = np.array(corners, dtype=np.float64)
    return hull[:, 0], sign * hull[:, 1]


def _turns(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


def _one_sided(points: tuple[Floats, Floats], *, upper: bool, zero: int, offset: int) -> ClockFit:
    # The line on one side of all points that is nearest to them: the shortest delays were next to nothing.
    x, y = points
    hull = _hull(points, lower=upper)
    middle = float(np.mean(x))

    def distance(drift: float) -> float:
        rest = hull[1] - drift * hull[0]
        edge = float(np.min(rest)) if upper else float(-np.max(rest))
        return edge + (drift if upper else -drift) * middle

    drift, _ = _top(distance, -_MOST_DRIFT, _MOST_DRIFT)
    rest = hull[1] - drift * hull[0]
    constant = float(np.min(rest) if upper else np.max(rest))
    spread = float(np.median(np.abs(y - constant - drift * x)))
    if spread > (float(x.max()) - float(x.min())) / 10:
        raise InputError(
            f"no clock fits the {len(x)} matched pairs of events: half of them are more than {spread / 1e6:.3f} ms off",
            hint="is the guest's trace of that virtual machine, and of the same time?",
        )
    return ClockFit(zero, offset + round(constant), drift, None, round(spread), 0)
