"""The load of a whole GPU, from its driver's files in sysfs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drawtap.errors import UnavailableError
from drawtap.live.signal import Signals, source


@source("sysfs")
class Sysfs:
    """amdgpu's `gpu_busy_percent` and `mem_busy_percent`; of i915 the time out of RC6 (`rc6_residency_ms`).

    A GPU that is out of RC6 is awake, which is the upper bound of busy.
    """

    def __init__(self, root: Path) -> None:
        cards = [p for p in sorted((root / "sys/class/drm").glob("card*")) if p.name[4:].isdigit()]
        self._percent: dict[str, Path] = {}
        self._asleep: dict[str, Path] = {}
        for card in cards:
            for file, name in (("gpu_busy_percent", card.name), ("mem_busy_percent", f"{card.name}/memory")):
                if (path := card / "device" / file).is_file():
                    self._percent[name] = path
            tiles = [*sorted(card.glob("gt/gt*/rc6_residency_ms")), card / "power/rc6_residency_ms"]
            for path in tiles[:-1] or [p for p in tiles if p.is_file()]:
                part = f"/{path.parent.name}" if len(tiles) > 2 else ""
                self._asleep[f"{card.name}{part}"] = path
        if not self._percent and not self._asleep:
            what = "no GPU" if not cards else f"{', '.join(c.name for c in cards)} say nothing"
            raise UnavailableError(f"{what} in /sys/class/drm (gpu_busy_percent, rc6_residency_ms)")
        self._then: dict[str, tuple[int, int]] = {}

    def read(self, pids: Sequence[int], now_ns: int, look: Signals) -> None:
        """Read percents as they are, and sleep as the difference to the last look."""
        for name, path in self._percent.items():
            value = _number(path)
            if value is not None:
                look.devices[name] = min(value, 100) / 100
        for name, path in self._asleep.items():
            value = _number(path)
            if value is None:
                continue
            then = self._then.get(name)
            self._then[name] = (now_ns, value)
            if then and now_ns > then[0]:
                asleep = (value - then[1]) * 1_000_000 / (now_ns - then[0])
                look.devices[name] = min(1.0, max(0.0, 1.0 - asleep))

    def close(self) -> None:
        """Nothing is held."""


def _number(path: Path) -> int | None:
    # A device that sleeps or was unplugged answers with an error.
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
