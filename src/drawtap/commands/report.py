"""`drawtap report`: one page about a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CALLS, FROM, GUEST, NO_CACHE, TO
from drawtap.errors import UsageError, check_target, write_whole
from drawtap.output.result import Written

if TYPE_CHECKING:
    from drawtap.system.reader import KernelTrace
    from drawtap.trace.trace import Trace


def _of_kernel(
    trace: KernelTrace,
    *,
    output: Annotated[Path | None, Opt("", "-o", "FILE")] = None,
    force: Annotated[bool, Opt("")] = False,
    from_: Annotated[str | None, FROM] = None,
    to: Annotated[str | None, TO] = None,
    spans: Annotated[
        int, Opt("At most N single spans; the rest of the time is drawn from sums.", metavar="N")
    ] = 600_000,
    events: Annotated[int, Opt("At most N events in the table.", metavar="N")] = 20_000,
    threads: Annotated[int, Opt("Rows for N threads: virtual CPUs and threads with requests first.", metavar="N")] = 64,
    api: Annotated[Path | None, CALLS] = None,
    guest: Annotated[tuple[str, ...], GUEST] = (),
    no_cache: Annotated[bool, NO_CACHE] = False,
) -> Written:
    """For a trace of the kernel: GPU usage, queue lengths, memory, other counters, all zooming together.

    Usage is per engine, process, virtual GPU and guest. There is a graph of requests in queues and on engines, with
    arrows along their way; who ran on each CPU; threads and virtual CPUs. With --guest, requests and threads of a guest
    stand above the queue of its virtual GPU. Below it histograms of waits, executions and latencies, the events, who
    keeps whom waiting, and all figures of drawtap system metrics with what they mean. For a long trace the page has
    exact sums for all of the time, and single spans in the interesting parts, which it marks. --from and --to make a
    page of a part.
    """
    from drawtap.output.kernel_page import SystemReportOptions, collected
    from drawtap.output.system_report import render
    from drawtap.system.drawn import opened

    target = output or trace.path.with_name(trace.path.name + ".html")
    check_target(target, force=force)
    if min(spans, events, threads) < 0:
        raise UsageError("--spans, --events and --threads are numbers from 0 on")
    with opened(trace, api, guest, keep=not no_cache) as model:
        page = render(collected(trace, model, SystemReportOptions(from_, to, spans, events, threads)))
    write_whole(target, page)
    return Written(str(target), target.stat().st_size, "report")


@command(
    section="edit",
    kernel=_of_kernel,
    examples=(
        "drawtap report game.dtap",
        "drawtap report game.dtap -o /tmp/game.html --slowest 50",
        "drawtap report game.dtap --pictures 0",
        "drawtap report kernel.dat --calls game.dtap      # frames and calls above what the kernel saw",
        "drawtap report kernel-ctf --from 2s --to 2.5s",
    ),
)
def report(
    trace: Trace,
    *,
    output: Annotated[Path | None, Opt("Where to.  [default: FILE.html]", "-o", "FILE")] = None,
    slowest: Annotated[int, Opt("Number of slowest calls.", metavar="N")] = 25,
    pictures: Annotated[
        int, Opt("Number of frames with pictures, by playing the recording; 0: none.", metavar="N")
    ] = 64,
    on: Annotated[
        str, Opt("The engine for the pictures; drawtap replay --engines lists them.", metavar="ENGINE")
    ] = "system",
    seconds: Annotated[float, Opt("Limit on the time of playing.", metavar="S")] = 120,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Written:
    """Write an HTML report: one file that loads nothing.

    Overview, verdict and checklist; frame times with pictures of the frames above them, uploads and other series over
    time; what frames do, as far as drawtap profile measured it, with sizes of triangles, a map of all draws and
    pictures of overdraw; statistics of the content; the frames that stand for all, and the slow ones, in detail;
    textures, shaders and configurations; redundant calls; calls by function, slowest calls, threads, contexts, and
    what is missing in the recording. Pictures come from playing the recording (--pictures 0 leaves them out); the page
    lists the gaps.
    """
    from drawtap.output.recording_page import ReportOptions, collected
    from drawtap.output.report import render

    target = output or trace.path.with_suffix(".html")
    check_target(target, force=force)
    if pictures < 0 or slowest < 0:
        raise UsageError("--pictures and --slowest are numbers from 0 on")
    write_whole(target, render(collected(trace, ReportOptions(slowest, pictures, on, seconds))))
    return Written(str(target), target.stat().st_size, "report")
