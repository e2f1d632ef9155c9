"""Time of waiting for processors, memory or storage (Documentation/accounting/psi.rst)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from drawtap.errors import UnavailableError
from drawtap.live.signal import Signals, source

_LINE = re.compile(r"^(some|full) avg10=([\d.]+)", re.MULTILINE)


@source("pressure")
class Pressure:
    """`/proc/pressure`: the shares of the last ten seconds in which some, or all, processes waited."""

    def __init__(self, root: Path) -> None:
        self._folder = root / "proc/pressure"
        try:
            (self._folder / "cpu").read_text()
        except OSError as error:
            raise UnavailableError(f"no pressure figures (/proc/pressure): {error.strerror}") from None

    def read(self, pids: Sequence[int], now_ns: int, look: Signals) -> None:
        """Read cpu, memory and io."""
        for name in ("cpu", "memory", "io"):
            try:
                text = (self._folder / name).read_text()
            except OSError:
                continue
            for match in _LINE.finditer(text):
                look.pressure[f"{name} {match[1]}"] = min(float(match[2]), 100.0) / 100

    def close(self) -> None:
        """Nothing is held."""
