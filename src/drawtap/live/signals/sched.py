"""Processor time of processes: what their threads ran, and how long they were ready and did not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from drawtap.errors import UnavailableError
from drawtap.live.signal import Signals, source


@source("sched")
class Sched:
    """`/proc/PID/task/*/schedstat`: what the scheduler sums up at each sched_switch, for everybody to read.

    With software rendering this is the GPU time.
    """

    def __init__(self, root: Path) -> None:
        self._proc = str(root / "proc")
        try:
            figures = Path(f"{self._proc}/self/schedstat").read_text().split()
        except OSError:
            raise UnavailableError("no /proc/PID/schedstat (kernel without CONFIG_SCHED_INFO)") from None
        if len(figures) < 2:
            raise UnavailableError("/proc/self/schedstat is empty (kernel without CONFIG_SCHED_INFO)")
        self._then: dict[int, dict[str, tuple[int, int]]] = {}
        self._then_ns = 0

    def read(self, pids: Sequence[int], now_ns: int, look: Signals) -> None:
        """Take the difference to the last look, thread by thread."""
        span = now_ns - self._then_ns
        before, self._then, self._then_ns = self._then, {}, now_ns
        for pid in pids:
            threads = self._threads(pid)
            if not threads:
                continue
            self._then[pid] = threads
            known = before.get(pid)
            if known is None or span <= 0:
                continue
            # A thread that is new began after the last look; one that ended is lost.
            ran, waited = (
                sum(max(now[i] - known.get(thread, (0, 0))[i], 0) for thread, now in threads.items()) for i in (0, 1)
            )
            look.cpu[pid] = ran / span
            look.waited[pid] = waited / span

    def _threads(self, pid: int) -> dict[str, tuple[int, int]]:
        threads: dict[str, tuple[int, int]] = {}
        try:
            # Hundreds of them, every second: no objects for paths and files.
            for entry in os.scandir(f"{self._proc}/{pid}/task"):
                fd = os.open(f"{entry.path}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
                try:
                    words = os.read(fd, 128).split()
                finally:
                    os.close(fd)
                threads[entry.name] = (int(words[0]), int(words[1]))
        except (OSError, ValueError, IndexError):
            pass
        return threads

    def close(self) -> None:
        """Nothing is held."""
