"""Record what the kernel sees: which events, by which recorder, and what came of it.

A recorder is a class with `start()` and `stop()`, one file each in `recorders/`. The default asks the kernel itself
(tracefs); `perf` and `lttng` drive those tools. All of them record with CLOCK_MONOTONIC, the clock of API recordings.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from drawtap.errors import UnavailableError, UsageError, did_you_mean
from drawtap.plugins import Registry

TRACEFS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))

# The events that make lives of requests, by driver; `gpu` is all of them. A word is a system of events, or
# SYSTEM:EVENT.
_COMMON = ("drm", "dma_fence", "gpu_scheduler", "gpu_mem", "power:gpu_frequency", "power:gpu_work_period")
_DRIVERS: Mapping[str, tuple[str, ...]] = {
    "amdgpu": ("amdgpu",),
    "i915": ("i915", "gvt"),
    "xe": ("xe",),
    "virtio_gpu": ("virtio_gpu",),
    "msm": ("drm_msm_gpu", "drm_msm_atomic", "msm"),
    "mali": ("mali", "panfrost", "panthor"),
    "others": ("v3d", "vc4", "lima", "etnaviv", "nouveau", "host1x", "radeon"),
}
_SCHED = ("switch", "waking", "process_fork", "process_exec", "process_exit")
SETS: Mapping[str, tuple[str, ...]] = {
    "gpu": (*_COMMON, *(system for systems in _DRIVERS.values() for system in systems)),
    **{name: (*_COMMON, *systems) for name, systems in _DRIVERS.items() if name != "others"},
    "sched": tuple(f"sched:sched_{event}" for event in _SCHED),
    "kvm": ("kvm:kvm_entry", "kvm:kvm_exit"),
}
# One for every access to a register: they drown everything else.
_TOO_MANY = frozenset(
    {"i915:i915_reg_rw", "xe:xe_reg_rw", "amdgpu:amdgpu_device_rreg", "amdgpu:amdgpu_device_wreg", "amdgpu:amdgpu_iv"}
)
DEFAULT_EVENTS = "gpu,sched,kvm"


@dataclass(frozen=True, slots=True)
class KernelRecordOptions:
    """Settings of a recording: events as SYSTEM:EVENT, KiB of buffer a CPU, where to."""

    events: tuple[str, ...]
    buffer_kib: int
    output: Path


@dataclass(frozen=True, slots=True)
class Recorded:
    """A finished recording: the file or folder, its size, events lost by CPU, remarks for people."""

    output: Path
    size_bytes: int
    lost: Mapping[int, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Recorder(Protocol):
    """Something that records between `start` and `stop`; both are called once, `stop` whatever happened."""

    def start(self) -> None:
        """Begin. Raises UnavailableError that names the right or the part which is missing."""
        ...

    def stop(self) -> Recorded:
        """End, write the output and leave nothing else behind."""
        ...


RECORDERS: Registry[Callable[[KernelRecordOptions], Recorder]] = Registry("recorder", "drawtap.system.recorders")


def tracefs() -> Path:
    """Return where the kernel's tracing is mounted. Raises UnavailableError where it is not, or may not be read."""
    denied: list[Path] = []
    for folder in TRACEFS:
        try:
            if stat.S_ISDIR((folder / "events").stat().st_mode):
                return folder
        except PermissionError:
            denied.append(folder)
        except OSError:
            continue
    # A folder that may be read and has no events is where tracing would be mounted. Only root may say even that about
    # the second folder.
    if denied and (TRACEFS[0] in denied or not TRACEFS[0].exists()):
        if os.geteuid() == 0:
            raise UnavailableError(
                f"{denied[0]} may not be read, not even by root",
                hint="inside a container: give it CAP_SYS_ADMIN and this folder; or the kernel is locked down",
            )
        raise UnavailableError(
            f"{denied[0]} may not be read",
            hint="it needs root (sudo), or a group: mount -o remount,gid=GROUP /sys/kernel/tracing",
        )
    raise UnavailableError(
        "the kernel's tracing (tracefs) is not mounted", hint="as root: mount -t tracefs tracefs /sys/kernel/tracing"
    )


def known_events(folder: Path) -> frozenset[str]:
    """Return the events of this kernel as SYSTEM:EVENT."""
    try:
        return frozenset((folder / "available_events").read_text().split())
    except OSError as error:
        raise UnavailableError(
            f"{folder / 'available_events'}: {error.strerror}", hint="recording the kernel needs root (sudo)"
        ) from None


def chosen_events(words: str, known: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the events that `words` name and the sets of which this kernel has none.

    `words` are separated by commas: a set of `SETS`, a system, SYSTEM:EVENT or EVENT. A set of a driver is missing
    where the driver's own events are; what all drivers share is then chosen only with the shared scheduler.
    Raises UsageError where a word is neither, UnavailableError where nothing is chosen.
    """
    systems = {event.partition(":")[0] for event in known}
    chosen: dict[str, None] = {}
    without: list[str] = []
    for word in (w.strip() for w in words.split(",")):
        if not word:
            continue
        members = _members(word, known, systems)
        if members is None:
            near = did_you_mean(word, [*SETS, *systems, *known]) or f"sets: {', '.join(SETS)}; or SYSTEM:EVENT"
            raise UsageError(f"this kernel has no event called {word!r}", hint=near)
        if not members or (word in _DRIVERS and not _has_own(word, systems)):
            without.append(word)
            if "gpu_scheduler" not in systems:
                continue
        chosen.update(dict.fromkeys(members))
    if not chosen:
        raise UnavailableError(
            f"this kernel has none of the events of {words}",
            hint=f"is the driver loaded? (modprobe); sets: {', '.join(SETS)}",
        )
    return tuple(chosen), tuple(without)


def _members(word: str, known: frozenset[str], systems: set[str]) -> list[str] | None:
    if word in SETS:
        named = [event for part in SETS[word] for event in _of(part, known)]
        return [event for event in named if event not in _TOO_MANY]
    if word in systems or ":" in word:
        return _of(word, known) or None
    return sorted(event for event in known if event.partition(":")[2] == word) or None


def _has_own(driver: str, systems: set[str]) -> bool:
    return any(system in systems for system in _DRIVERS[driver])


def _of(word: str, known: frozenset[str]) -> list[str]:
    if ":" in word:
        return [word] if word in known else []
    return sorted(event for event in known if event.startswith(f"{word}:"))


def without_drivers(events: Sequence[str]) -> bool:
    """Tell whether no event of a GPU's driver is among them."""
    own = {system for systems in _DRIVERS.values() for system in systems} | {"gpu_scheduler", "drm"}
    return not any(event.partition(":")[0] in own for event in events)
