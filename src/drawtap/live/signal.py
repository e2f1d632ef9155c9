"""Facts of the machine beside the programs' own frames: the load of a device, and its users.

One file a source in `signals/`: a class whose `__init__` raises UnavailableError with the reason if the source is
missing, and whose `read` adds its facts to a `Draft`. Every source is optional.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from drawtap.errors import UnavailableError
from drawtap.plugins import Registry


@dataclass(frozen=True, slots=True)
class Signals:
    """One look at the machine.

    `busy` is the share of its busiest GPU engine that a process has used since the last look, by pid; `cpu` the
    processors that it ran on; `waited` the processors it was ready for and did not get. `devices` is how busy a device
    or engine was as a whole, `pressure` the share of the last ten seconds in which something waited for a resource
    ("cpu some"). Shares are from 0 to 1. `absent` says by source why it is not here.
    """

    busy: Mapping[int, float] = field(default_factory=dict)
    cpu: Mapping[int, float] = field(default_factory=dict)
    waited: Mapping[int, float] = field(default_factory=dict)
    devices: Mapping[str, float] = field(default_factory=dict)
    pressure: Mapping[str, float] = field(default_factory=dict)
    memory_bytes: Mapping[int, int] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Draft:
    """Signals in the making: sources fill it in."""

    busy: dict[int, float] = field(default_factory=dict)
    cpu: dict[int, float] = field(default_factory=dict)
    waited: dict[int, float] = field(default_factory=dict)
    devices: dict[str, float] = field(default_factory=dict)
    pressure: dict[str, float] = field(default_factory=dict)
    memory_bytes: dict[int, int] = field(default_factory=dict)


class Source(Protocol):
    """A source of signals that is there. Reads of it may fail: what fails is left out, once."""

    def read(self, pids: Sequence[int], now_ns: int, draft: Draft) -> None:
        """Add to `draft` what is known at `now_ns` of the processes, since the last read."""

    def close(self) -> None:
        """Give up what is held."""


SOURCES: Registry[Callable[[Path], Source]] = Registry("source of signals", "drawtap.live.signals")
S = TypeVar("S", bound=Callable[[Path], Source])


def source(name: str) -> Callable[[S], S]:
    """Register the decorated class as a source; it is made with the folder that `/proc` and `/sys` lie in."""

    def add(made: S) -> S:
        SOURCES.register(name)(made)
        return made

    return add


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
        draft = Draft()
        for name, present in list(self._sources.items()):
            try:
                present.read(pids, now_ns, draft)
            except (OSError, ValueError, UnavailableError) as error:
                self.absent[name] = f"stopped: {error}"
                del self._sources[name]
                present.close()
        return Signals(
            draft.busy, draft.cpu, draft.waited, draft.devices, draft.pressure, draft.memory_bytes, dict(self.absent)
        )

    def close(self) -> None:
        """Give up all sources."""
        for present in self._sources.values():
            present.close()
        self._sources.clear()
