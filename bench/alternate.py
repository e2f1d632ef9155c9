"""What the tap takes from one running program: its calls go through the tap and past it in turns.

Two runs of a program differ by several per cent before anything is compared, since memory lies elsewhere and the
machine is never the same. Within one process that is on both sides. bench/programs/switch.c lets a program's calls go
either way, changed at the end of a frame, and keeps the time of every frame; whoever else costs something (a drainer, a
manager) is stopped while they go past the tap, and so its work falls to the other side.
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.managed import tap
from bench.measure import BenchError, program_environment
from bench.setup import Setup

_HEADER, _FRAMES, _END = 4096, 1 << 20, 3  # of the page: switch.c; numbers for the end of a frame
_WARM_UP_S, _PATIENCE_S = 1.0, 30.0
_PAST, _THROUGH = 0, 1
_ROUND = (_PAST, _THROUGH, _THROUGH, _PAST)  # a machine that slows down steadily favours neither
_TRIMMED = 0.1  # of the pairs at either end: seconds in which the machine did something else
_FIRST = 4  # turn that counts
_RESAMPLES = 4000


@dataclass(frozen=True)
class Interval:
    """A figure, and where 95 % of such figures lie when the pairs behind it are drawn anew."""

    value: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.least:.4f} to {self.most:.4f}"


def interval(ratios: Sequence[float] | NDArray[np.float64]) -> Interval:
    """Return the mean of `ratios` (at least 4; of their logarithms, without the tenth at either end), bootstrapped."""
    logs = np.log(np.asarray(ratios, dtype=np.float64))
    if len(logs) < 4:
        raise BenchError(f"{len(logs)} pairs say nothing")
    drawn = np.random.default_rng(1).choice(logs, (_RESAMPLES, len(logs)))
    least, most = np.percentile(_trimmed(drawn), (2.5, 97.5))
    return Interval(*(float(np.exp(v)) for v in (_trimmed(logs[None])[0], least, most)))


def _trimmed(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    cut = int(rows.shape[1] * _TRIMMED)
    return np.asarray(np.sort(rows, axis=1)[:, cut : rows.shape[1] - cut].mean(axis=1))


@dataclass(frozen=True)
class Alternated:
    """Pairs of neighbouring windows: rates through the tap by rates past it, of frames and of processor time."""

    fps: NDArray[np.float64]
    cpu: NDArray[np.float64]
    alone_fps: float  # past the tap
    processes: int = 1


def together(found: Sequence[Alternated]) -> Alternated:
    """Return the pairs of several processes as one."""
    return Alternated(
        np.concatenate([one.fps for one in found]),
        np.concatenate([one.cpu for one in found]),
        float(np.median([one.alone_fps for one in found])),
        sum(one.processes for one in found),
    )


def alternate(
    setup: Setup,
    program: Sequence[str],
    environment: Mapping[str, str],
    *,
    seconds: float,
    window: float,
    others: Sequence[int] = (),
    check: Callable[[int], None] | None = None,
) -> Alternated:
    """Run `program` for about `seconds` with its calls through the tap and past it, `window` s each.

    `others` are processes that work for what is measured. `check` is called with the program's number while its calls
    go through the tap, and raises BenchError where what is to be measured does not happen. The program must find its
    functions by dlsym and draw with one thread; it is killed at the end.
    """
    with _page() as (path, page), ExitStack() as after:
        page[:4] = struct.pack("<I", _THROUGH)  # turn 0, which does not count
        preload = {"LD_PRELOAD": f"{setup.library('switch')} {tap()}", "BENCH_SWITCH": path}
        null = subprocess.DEVNULL
        child = subprocess.Popen(
            list(program), stdout=null, stderr=null, env=program_environment({**environment, **preload})
        )
        after.callback(child.wait)
        after.callback(child.kill)
        _until(lambda: _frames(page) > 0, child, "shows no frame whose functions were found by dlsym")
        time.sleep(_WARM_UP_S)
        if check:
            check(child.pid)
        try:
            _take_turns(page, time.monotonic() + seconds, window, others)
        finally:
            _send(others, signal.SIGCONT)
        if child.poll() is not None:
            raise BenchError(f"{program[0]} ended while it was measured")
        frames = _frames(page)
        if frames > _FRAMES:
            raise BenchError(f"{frames} frames are more than are kept")
        ends = np.frombuffer(page[_HEADER : _HEADER + frames * _END * 8], dtype=np.int64).reshape(-1, _END)
    return _pairs(ends)


def _take_turns(page: mmap.mmap, until: float, window: float, others: Sequence[int]) -> None:
    turn = _FIRST
    while time.monotonic() < until:
        side = _ROUND[turn % len(_ROUND)]
        if side == _THROUGH:  # they are there before the first frame needs them
            _send(others, signal.SIGCONT)
        page[:4] = struct.pack("<I", turn << 1 | side)
        if side == _PAST:
            _send(others, signal.SIGSTOP)
        time.sleep(window)
        turn += 1


def _send(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            raise BenchError(f"process {pid}, which belongs to what is measured, has ended") from None


def _pairs(ends: NDArray[np.int64]) -> Alternated:
    turns, lasted, cpu = ends[:-1, 2] >> 1, np.diff(ends[:, 0]), np.diff(ends[:, 1])
    fps, used, alone = [], [], []
    for turn in range(_FIRST, int(turns[-1]), 2):  # the last turn was cut short
        one, two = turns == turn, turns == turn + 1
        if not one.any() or not two.any() or turn + 1 >= turns[-1]:
            continue  # the machine stood still
        past, through = (one, two) if _ROUND[turn % len(_ROUND)] == _PAST else (two, one)
        fps.append(lasted[past].mean() / lasted[through].mean())
        used.append(cpu[past].mean() / cpu[through].mean())
        alone.append(lasted[past].mean())
    if not alone:
        raise BenchError("the program showed too few frames")
    return Alternated(np.array(fps), np.array(used), 1e9 / float(np.median(alone)))


@contextmanager
def _page() -> Iterator[tuple[str, mmap.mmap]]:
    # In memory: a file's pages would be written to the disk, and be slow to write to while they are.
    fd = os.memfd_create("bench-switch")
    try:
        os.ftruncate(fd, _HEADER + _FRAMES * _END * 8)
        with mmap.mmap(fd, 0) as page:
            yield f"/proc/{os.getpid()}/fd/{fd}", page
    finally:
        os.close(fd)


def _frames(page: mmap.mmap) -> int:
    return int(struct.unpack_from("<Q", page, 8)[0])


def _until(reached: Callable[[], bool], child: subprocess.Popen[bytes], otherwise: str) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not reached():
        if child.poll() is not None or time.monotonic() > end:
            raise BenchError(f"the program {otherwise}")
        time.sleep(0.02)
