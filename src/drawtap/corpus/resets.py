"""Resets of GPUs while recordings are played: which replays a reset took with it.

The kernel announces a device that it had to reset (or that is lost) with an event: `WEDGED=` and how to recover it,
newer kernels also with the process to blame. The event is about a device; a replay that had this device open at the
time is to blame for it or its victim. A victim is played again, alone: its result would say nothing about the driver.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drawtap.parts import cache_folder

_UEVENTS = 15  # the protocol of netlink (NETLINK_KOBJECT_UEVENT)
_KERNEL = 1  # the group of netlink that gets what the kernel says itself
_MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class Reset:
    """A reset: when it was heard of (monotonic, s), of which device (a path below /sys), how to recover the device.

    `pid` is the process to blame, None where the kernel does not name it.
    """

    at: float
    device: str
    recovery: str
    pid: int | None = None


def reset_of(event: bytes, at: float) -> Reset | None:
    """Return the reset that an event of the kernel announces, None where it announces something else."""
    words = (part.partition("=") for part in event.decode(errors="replace").split("\0"))
    fields = {name: value for name, sign, value in words if sign}
    if fields.get("SUBSYSTEM") != "drm" or "WEDGED" not in fields:
        return None
    pid = fields.get("PID", "")
    device = fields.get("DEVPATH", "").partition("/drm/")[0]
    return Reset(at, device, fields["WEDGED"], int(pid) if pid.isdecimal() else None)


class Resets:
    """Resets that the kernel announced since this was made; several threads may ask."""

    def __init__(
        self, events: socket.socket | None = None, *, nodes: Path = Path("/dev/dri"), sys: Path = Path("/sys")
    ) -> None:
        """Listen, by default to the kernel; where that is not allowed, nothing is heard."""
        self._nodes, self._sys, self._lock = nodes, sys, threading.Lock()
        self._heard: list[Reset] = []
        self._events = _listening() if events is None else events
        if self._events is not None:
            self._events.setblocking(False)

    def close(self) -> None:
        """Listen no longer."""
        if self._events is not None:
            self._events.close()
            self._events = None

    def during(self, since: float, devices: set[str]) -> list[Reset]:
        """Return the resets of these devices since a time (monotonic, s)."""
        with self._lock:
            while self._events is not None:
                try:
                    event = self._events.recv(_MOST_BYTES)
                except OSError:
                    break
                if not event:
                    break
                reset = reset_of(event, time.monotonic())
                if reset is not None:
                    self._heard.append(reset)
            return [one for one in self._heard if one.at >= since and one.device in devices]

    def devices_of(self, pid: int) -> set[str]:
        """Return the devices that a process has open, as paths below /sys."""
        devices = set()
        with contextlib.suppress(OSError):
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    node = entry.readlink()
                    if node.parent == self._nodes:
                        device = (self._sys / "class/drm" / node.name / "device").resolve()
                        devices.add(f"/{device.relative_to(self._sys.resolve())}")
        return devices


def _listening() -> socket.socket | None:
    try:
        made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _UEVENTS)
        made.bind((0, _KERNEL))
    except OSError:
        return None
    return made


@contextlib.contextmanager
def turn(*, alone: bool) -> Iterator[None]:
    """Hold a turn to play on this machine: with others, or alone. Others of this user wait while somebody is alone."""
    folder = cache_folder("players")
    folder.mkdir(parents=True, exist_ok=True)
    with _open(folder / "turn") as held:
        with _open(folder / "gate") as gate:  # who waits to be alone lets nobody else in
            fcntl.flock(gate, fcntl.LOCK_EX)
            fcntl.flock(held, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@contextlib.contextmanager
def _open(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
