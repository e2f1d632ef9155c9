"""Facts of the machine beside the programs' own frames: the load of a device, and its users.

One file a source in `signals/`: a class whose `__init__` raises UnavailableError with the reason if the source is
missing, and whose `read` adds its facts to a look. Every source is optional.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from drawtap.errors import UnavailableError
from drawtap.plugins import Registry


@dataclass(frozen=True, slots=True)
class Signals:
    """One look at the machine; the sources fill it in.

    `busy` is the share of its busiest GPU engine that a process has used since the last look, by pid; `cpu` the
    processors that it ran on; `waited` the processors it was ready for and did not get. `devices` is how busy a device
    or engine was as a whole, `pressure` the share of the last ten seconds in which something waited for a resource
    ("cpu some"). Shares are from 0 to 1. `absent` says by source why it is not here.
    """

    busy: dict[int, float] = field(default_factory=dict)
    cpu: dict[int, float] = field(default_factory=dict)
    waited: dict[int, float] = field(default_factory=dict)
    devices: dict[str, float] = field(default_factory=dict)
    pressure: dict[str, float] = field(default_factory=dict)
    memory_bytes: dict[int, int] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


class Source(Protocol):
    """A source of signals that is there. Reads of it may fail: what fails is left out, once."""

    def read(self, pids: Sequence[int], now_ns: int, look: Signals) -> None:
        """Add to `look` what is known at `now_ns` of the processes, since the last read."""

    def close(self) -> None:
        """Give up what is held."""


SOURCES: Registry[Callable[[Path], Source]] = Registry("source of signals", "drawtap.live.signals")
#: `@source(NAME)` registers a class as a source; it is made with the folder that `/proc` and `/sys` lie in.
source = SOURCES.register


class Sensors:
    """All sources that are there. `absent` says of the others why they are not."""

    def __init__(self, root: Path = Path("/"), *, without: Sequence[str] = ()) -> None:
        self.absent: dict[str, str] = {}
        self._sources: dict[str, Source] = {}
        for name, make in SOURCES.items():
            if name in without:
                self.absent[name] = "switched off"
                continue
            try:
                self._sources[name] = make(root)
            except UnavailableError as error:
                self.absent[name] = error.message

    @property
    def present(self) -> tuple[str, ...]:
        """Return the names of the sources that are there."""
        return tuple(self._sources)

    def read(self, pids: Sequence[int], now_ns: int) -> Signals:
        """Return what all sources say. A source that fails is absent from then on."""
        look = Signals(absent=self.absent.copy())
        for name, present in list(self._sources.items()):
            try:
                present.read(pids, now_ns, look)
            except (OSError, ValueError, UnavailableError) as error:
                look.absent[name] = self.absent[name] = f"stopped: {error}"
                del self._sources[name]
                present.close()
        return look

    def close(self) -> None:
        """Give up all sources."""
        for present in self._sources.values():
            present.close()
        self._sources.clear()
