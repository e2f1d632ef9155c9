"""The flight recorder over millions of calls that make and delete things: its memory, what it keeps, what it costs."""

from __future__ import annotations

import os
import resource
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import BenchError
from bench.row import Goal, Row
from bench.setup import Setup
from drawtap.capture import control, flight, launch

_FRAMES, _QUICK_FRAMES = 216_000, 20_000  # as many as an hour has at 60 a second
_ROUND_FRAMES, _QUICK_ROUND_FRAMES = 10_000, 3_000
_PROGRAMS = "programs=500"  # a new one in so many frames: compiling shaders is not what is measured
_EVERY_S = 0.25
_MIB = 1 << 20


@dataclass
class _Soak:
    # Samples of (s since the start, frames, drainer's RSS, RSS of the helper if one runs, memory files of the window).
    samples: list[tuple[float, int, int, int, int]] = field(default_factory=list)
    recording: launch.Recording | None = None


def rows(setup: Setup) -> Iterator[Row]:
    """Soak the recorder, then run the program alone, recorded, and with the recorder in turns."""
    yield from _soak_rows(setup)
    yield from _cost_rows(setup)


def _soak_rows(setup: Setup) -> Iterator[Row]:
    frames = _QUICK_FRAMES if setup.quick else _FRAMES
    soak = _soaked(setup, frames)
    if soak.recording is None or not soak.recording.kept:
        raise BenchError("the flight recorder said nothing of what it kept")
    kept = soak.recording.kept[0]
    calls = int(str(kept["calls"]))
    # When the window is full and what leaves it has been looked at: from a fifth of the run on.
    settled = soak.samples[len(soak.samples) // 5 :]
    half = len(settled) // 2
    early, late = (statistics.median(s[2] for s in part) / _MIB for part in (settled[:half], settled[half:]))
    helper = max((s[3] for s in soak.samples), default=0) / _MIB
    yield Row(
        "ring", "memory of the recorder, second half of the run", "MiB", late,
        goal=Goal(most=early * 1.1, unit="MiB: the first half + 10 %"),
        note=f"{calls:,} calls in {frames:,} frames, each of which makes and deletes a texture and a buffer, every"
        f" 500th a program; first half {early:.1f}; drawtap-ring beside it at most {helper:.0f} while it runs;"
        f" held at most {int(str(kept['held_peak'])) / _MIB:.1f}",
        samples={"drawtap": [s[2] / _MIB for s in soak.samples]},
    )  # fmt: skip
    window = [s[4] / _MIB for s in settled]
    yield Row(
        "ring", "memory files of the window", "MiB", max(window, default=0.0),
        note=f"at most; median {statistics.median(window):.1f}; beside the drainer's own memory, and gone with its last"
        " process", samples={"drawtap": window},
    )  # fmt: skip
    yield Row(
        "ring", "earlier calls kept", "calls", int(str(kept["kept"])),
        goal=Goal(most=1000), note=f"of {calls:,}; looked through {int(str(kept['compactions'])):,} times,"
        f" {int(str(kept['helper_ns'])) / max(1, int(str(kept['walked']))):,.0f} ns a call",
    )  # fmt: skip
    yield Row("ring", "calls lost", "calls", int(str(kept["calls_lost"])), goal=Goal(most=0))


def _soaked(setup: Setup, frames: int) -> _Soak:
    soak = _Soak()
    program = setup.program("churn")
    failed: list[BaseException] = []

    def run() -> None:
        try:
            soak.recording = launch.record(
                [program, str(frames), _PROGRAMS],
                setup.scratch / "soak.dtap",
                launch.RecordOptions(ring=flight.Ring("2s")),
                settings=_quiet(),
            )
        except BaseException as error:  # said by the thread that waits
            failed.append(error)

    runtime = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(setup.scratch)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        started = time.monotonic()
        while thread.is_alive():
            time.sleep(_EVERY_S)
            for found in control.programs():
                drainer = int(found.socket.name)
                helper = sum(_rss(child) for child in _children(drainer))
                files = _window_files(drainer)
                soak.samples.append((time.monotonic() - started, found.frames, _rss(drainer), helper, files))
        thread.join()
    finally:
        if runtime is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = runtime
    if failed:
        raise BenchError(f"the flight recorder did not run: {failed[0]}") from failed[0]
    return soak


def _cost_rows(setup: Setup) -> Iterator[Row]:
    frames = _QUICK_ROUND_FRAMES if setup.quick else _ROUND_FRAMES
    rounds = 2 if setup.quick else 5
    own: dict[str, list[float]] = {"alone": [], "recorded": [], "ring": []}
    everything: dict[str, list[float]] = {name: [] for name in own}
    for _ in range(rounds):
        for name, samples in own.items():
            program, total = _one(setup, name, frames)
            samples.append(1e6 * program / frames)
            everything[name].append(1e6 * total / frames)
    alone, recorded, ring = (statistics.median(own[name]) for name in own)
    yield Row(
        "ring", "processor time of the program", "us a frame", ring - alone, native=alone,
        goal=Goal(most=(recorded - alone) * 1.1 + 0.02 * alone, unit="us: plain recording + 10 %, 2 % of the frame"),
        note=f"plain recording adds {recorded - alone:.1f}", samples=own,
    )  # fmt: skip
    alone, recorded, ring = (statistics.median(everything[name]) for name in everything)
    yield Row(
        "ring", "processor time of all processes", "us a frame", ring - alone, native=alone,
        note=f"plain recording adds {recorded - alone:.1f}; Python's start is in it", samples=everything,
    )  # fmt: skip


def _one(setup: Setup, name: str, frames: int) -> tuple[float, float]:
    # CPU seconds: of the frames in the program, of everything that was started.
    report = setup.scratch / "report"
    line = [setup.program("churn"), str(frames), _PROGRAMS, f"report={report}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if name == "alone":
        old = dict(os.environ)
        os.environ.update(_quiet())
        try:
            launch.run(line)
        finally:
            os.environ.clear()
            os.environ.update(old)
    else:
        target = setup.scratch / "cost.dtap"
        how = launch.RecordOptions(ring=flight.Ring("1s") if name == "ring" else None)
        launch.record(line, target, how, force=True, settings=_quiet())
        target.unlink(missing_ok=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(report.read_text()), total


def _quiet() -> dict[str, str]:
    return {"EGL_PLATFORM": "surfaceless", "LP_NUM_THREADS": "0", "MESA_SHADER_CACHE_DISABLE": "true"}


def _rss(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return 0


def _window_files(pid: int) -> int:
    """Return the bytes of memory files that a drainer holds its window in."""
    size = 0
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            if str(link.readlink()).startswith("/memfd:drawtap-window"):
                size += link.stat().st_blocks * 512
        except OSError:
            continue
    return size


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, task.read_text().split())
        except OSError:
            continue
    return found
