"""`drawtap frames`: frame times."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.output.result import Rows
from drawtap.output.text import counted, duration, percentile
from drawtap.tables.recording import FrameRow
from drawtap.trace.ranges import FRAMES_HELP, selection

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_COLUMNS = ("frame", "t_start", "interval", "duration", "calls", "draws", "upload_bytes", "first_seq", "end_function")


@command(
    section="ask",
    examples=(
        "drawtap frames game.dtap",
        "drawtap frames game.dtap --slowest 10",
        "drawtap frames game.dtap 100-120",
        "drawtap frames offscreen.dtap --frame-end glFinish",
    ),
)
def frames(
    trace: Trace,
    span: Annotated[str | None, Opt(FRAMES_HELP, metavar="RANGE")] = None,
    *,
    slowest: Annotated[int | None, Opt("The N longest frames, longest first.", "-s", "N")] = None,
) -> Rows:
    """Print the frames and how long they took.

    interval is the time from the end of the frame before to the end of this one: what a viewer sees. duration is the
    time from the entry of its first call to the return of its last. Times that begin are counted from the first call.

    A frame ends with the call that shows it (eglSwapBuffers, glXSwapBuffers), or, in programs that never swap, with
    what --frame-end says; drawtap info names the rule that was taken. The last row may be calls after the last frame.
    """
    from drawtap.trace.trace import frame_time  # with the recording, not with the list of verbs

    shown = trace.table(FrameRow)
    if span:
        numbers = [one.numbers() for one in selection(span, of=trace, frames=True).spans]
        shown = [row for row in shown if any(row["frame"] in wanted for wanted in numbers)]
    times = [float(time) for row in shown if row["end_function"] and (time := frame_time(row)) is not None]
    if slowest is not None:
        shown = sorted((row for row in shown if row["end_function"]), key=lambda row: -(frame_time(row) or 0))[:slowest]
    start = trace.info["t_first"]
    return Rows(
        _COLUMNS,
        [itemgetter(*_COLUMNS)(row) for row in shown],
        {
            "interval": "ns",
            "duration": "ns",
            "t_start": "time",
            "upload_bytes": "bytes",
            "calls": "count",
            "draws": "count",
            "end_function": "same",
        },
        plot=times,
        note=_summary(times) if times else None,
        time_zero=start if isinstance(start, int) else 0,
    )


def _summary(times: list[float]) -> str:
    ordered = sorted(times)
    parts = [
        ("mean", sum(times) / len(times)),
        ("median", percentile(ordered, 0.5)),
        ("99 %", percentile(ordered, 0.99)),
    ]
    text = ", ".join(f"{label} {duration(ns)}" for label, ns in [*parts, ("longest", ordered[-1])])
    return f"{counted(len(times), 'frame')}: {text}"
