"""`drawtap observe`: the frame rates of programs that were not started under drawtap."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.view.result import Cell, Lines, Rows

if TYPE_CHECKING:
    from drawtap.live.observer import Observer

_COLUMNS = ("pid", "program", "surface", "api", "frames", "fps", "p50", "p99", "worst", "recent")
_KINDS = {"p50": "ns", "p99": "ns", "worst": "ns", "recent": "spark"}


@command(
    section="live",
    examples=(
        "drawtap observe",
        "drawtap observe --seconds 10 --json",
        "drawtap observe --follow --seconds 60              # a line for each surface, every second",
    ),
)
def observe(
    *,
    seconds: Annotated[float, Opt("Seconds to look.", "-s", "S")] = 2.0,
    follow: Annotated[bool, Opt("Print as it goes, a line of JSON for each surface every interval.")] = False,
    interval: Annotated[float, Opt("Seconds between two prints.", "-i", "S")] = 1.0,
) -> Rows | Lines:
    """Show frame rates of programs that were not started by drawtap.

    Probes on eglSwapBuffers, glXSwapBuffers and vkQueuePresentKHR count the frames of every process that uses the
    system's libraries, in containers too. The programs are not changed and nothing is written into them. It needs
    root, or CAP_BPF and CAP_PERFMON, and Linux 6.6.
    """
    from drawtap.live.observer import Observer

    if not 0.05 <= interval <= 3600 or not 0.05 <= seconds <= 1e6:
        raise UsageError("from 0.05 s up, please", hint="--seconds 2 --interval 1")
    if follow:
        observer = Observer()
        return Lines(
            lambda fd: _write(observer, fd, seconds, interval),
            lambda: _lines(observer, seconds, interval),
            lambda: Rows(("line",), ((line,) for line in _lines(observer, seconds, interval))),
        )
    observer = Observer()
    try:
        for _ in _ticks(observer, seconds, seconds):
            pass
        now = time.monotonic_ns()
        rows = list(_rows(observer, now, round(seconds * 1e9)))
    finally:
        observer.close()
    note = None if rows else "no program showed a frame through these libraries"
    return Rows(_COLUMNS, rows, kinds=_KINDS, title=f"{seconds:g} s, {len(observer.libraries)} libraries", note=note)


def _ticks(observer: Observer, seconds: float, interval: float) -> Iterator[int]:
    """Let time pass, taking events as they come; yield at every interval."""
    end = time.monotonic() + seconds
    due = time.monotonic() + interval
    searched = time.monotonic()
    while (now := time.monotonic()) < end:
        observer.poll(max(0.0, min(due - now, end - now, 0.2)))
        # Events come in bunches: waking for each of them would cost more than they tell.
        time.sleep(max(0.0, min(0.02, end - time.monotonic())))
        if time.monotonic() - searched > 2:
            observer.look_for_libraries()
            searched = time.monotonic()
        if time.monotonic() >= due:
            observer.poll()
            yield time.monotonic_ns()
            due += interval
    observer.poll()


def _rows(observer: Observer, now: int, window: int) -> Iterator[tuple[Cell, ...]]:
    for program in observer.programs(now):
        for surface in program.surfaces:
            recent = surface.since(now - window)
            times = recent.frame_ns
            if not len(times):
                continue
            p50, p99, worst = recent.percentiles(50, 99, 100)
            fps = round(surface.fps(now, window), 2)
            spark = [float(t) / 1e6 for t in times[-30:]]
            yield (program.pid, program.name, hex(surface.handle), surface.kind, surface.frames, fps, round(p50),
                   round(p99), round(worst), spark)  # fmt: skip


def _lines(observer: Observer, seconds: float, interval: float) -> Iterator[str]:
    try:
        for now in _ticks(observer, seconds, interval):
            for row in _rows(observer, now, round(interval * 1e9)):
                values = dict(zip(_COLUMNS[:-1], row[:-1], strict=True))
                yield json.dumps({"t": now, **values})
    finally:
        observer.close()


def _write(observer: Observer, fd: int, seconds: float, interval: float) -> None:
    for line in _lines(observer, seconds, interval):
        os.write(fd, line.encode() + b"\n")
