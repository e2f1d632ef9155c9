"""`drawtap system record`: record what the kernel sees."""

from __future__ import annotations

import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap import units
from drawtap.commands import Opt, command
from drawtap.errors import UsageError, check_target
from drawtap.output.result import ExitStatus, Verdict, Verdicts

if TYPE_CHECKING:
    from drawtap.system.recorder import Recorded, Recorder

_SUFFIXES = {"tracefs": ".dat", "perf": ".perf.data", "lttng": "-lttng"}


@command(
    name="system record",
    section="system",
    examples=(
        "drawtap system record -o game.dat -- ./game --level 3",
        "drawtap system record --seconds 10                      # the whole machine; Ctrl-C ends it too",
        "drawtap system record --events amdgpu,sched -- drawtap record -o game.dtap -- ./game",
        "drawtap system record --events sched:sched_switch,irq --buffer 64M --with perf -- ./game",
    ),
    json=False,
)
def system_record(
    *program: Annotated[str, Opt("a program to run meanwhile, and its arguments", metavar="PROGRAM")],
    events: Annotated[
        str,
        Opt("Sets (gpu, amdgpu, i915, xe, virtio_gpu, msm, mali, sched, kvm), systems, SYSTEM:EVENT.", "-e", "EVENTS"),
    ] = "gpu,sched,kvm",
    buffer: Annotated[str, Opt("Buffer of each CPU: 512K, 8M ...", "-b", "SIZE")] = "4M",
    output: Annotated[Path | None, Opt("Where to.  [default: PROGRAM.dat or kernel.dat]", "-o", "FILE")] = None,
    with_: Annotated[Literal["tracefs", "perf", "lttng"], Opt("The recorder.")] = "tracefs",
    seconds: Annotated[float | None, Opt("Without a program: stop after so long.", metavar="N")] = None,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
    quiet: Annotated[bool, Opt("No summary at the end.", "-q")] = False,
) -> ExitStatus:
    """Record what the kernel sees while a program runs, or until Ctrl-C.

    All of the machine is recorded: events of the GPU's driver, of the scheduler, of KVM, with CLOCK_MONOTONIC, the
    clock of `drawtap record`. The exit code of the program is passed on. Events that were lost are reported.

    It needs the rights to trace the kernel: root, or a group that owns /sys/kernel/tracing.
    """
    from drawtap.capture import launch

    if program:
        launch.find_program(program[0])
    recorder, notes = make_recorder(program, events, buffer, output, with_, force=force)
    started = time.monotonic()
    recorder.start()
    code = 0
    try:
        if program:
            code = launch.run(program)
        else:
            _wait(seconds)
    finally:
        recorded = recorder.stop()
    if not quiet:
        report(recorded, notes, time.monotonic() - started)
    return ExitStatus(code)


def make_recorder(
    program: tuple[str, ...], events: str, buffer: str, output: Path | None, kind: str, *, force: bool
) -> tuple[Recorder, list[str]]:
    """Return a recorder that has not started, and remarks about what it will not see."""
    from drawtap.system import recorder

    kib = int(units.size_bytes(buffer, bare=1024) or 0) // 1024
    if not 4 <= kib <= 16 << 20:
        raise UsageError(f"{buffer!r} is no size of a buffer", hint="512K, 8M ... for each CPU, 16G at most")
    chosen, without = recorder.chosen_events(events, recorder.known_events(recorder.tracefs()))
    stem = Path(program[0]).name if program else "kernel"
    target = output or Path(stem + _SUFFIXES[kind])
    check_target(target, force=force, replaced=True)
    notes = [f"this kernel has no events of {name}: nothing of it was recorded; is it loaded?" for name in without]
    if recorder.without_drivers(chosen) and "gpu" in events.split(","):
        notes.append("no driver of a GPU is loaded: there will be threads and fences, but no requests")
    return recorder.RECORDERS.get(kind)(recorder.KernelRecordOptions(chosen, kib, target)), notes


def report(recorded: Recorded, notes: list[str], seconds: float) -> None:
    """Print a summary to standard error."""
    from drawtap.output.text import TextView, duration, size

    took = duration(int(seconds * 1e9))
    verdicts = [Verdict("ok", "kernel", f"{recorded.output}: {took}, {size(recorded.size_bytes)}")]
    verdicts += [Verdict("note", "kernel", note) for note in notes]
    advice = "a larger --buffer, or fewer --events" if recorded.lost else None
    verdicts += [Verdict("warning" if recorded.lost else "note", "kernel", note, advice) for note in recorded.notes]
    sys.stdout.flush()
    TextView(sys.stderr).show(Verdicts(verdicts))


def _wait(seconds: float | None) -> None:
    ended = threading.Event()
    before = {number: signal.signal(number, lambda *_: ended.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        if seconds is None:
            print("drawtap: recording the kernel; Ctrl-C ends it", file=sys.stderr)
        ended.wait(seconds)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
