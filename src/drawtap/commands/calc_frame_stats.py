"""`drawtap calc-frame-stats`: what every frame draws, uploads and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.trace.ranges import FRAMES_HELP, selection
from drawtap.view.result import Rows

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    name="calc-frame-stats",
    section="ask",
    examples=(
        "drawtap calc-frame-stats game.dtap '#100:#120'",
        "drawtap calc-frame-stats game.dtap --json > frames.json",
    ),
)
def calc_frame_stats(
    trace: Trace,
    span: Annotated[str | None, Opt(FRAMES_HELP, metavar="RANGE")] = None,
    *,
    every: Annotated[bool, Opt("Every column, also those that are zero throughout.", "-a")] = False,
) -> Rows:
    """Print the counts of every frame: calls, draws, vertices, uploads, state changes, and sensors.

    The columns are those of the table content, and of the frame's times; sensors that drawtap load-inst has stored are
    summed up over the frame, averages averaged.
    """
    from drawtap.analysis import content

    rows = content.frame_stats(trace, content.sensors(trace))
    if span is not None:
        wanted = selection(span, of=trace, frames=True)
        rows = [row for row in rows if any(row["frame"] in s.numbers() for s in wanted.spans)]
    names = list(rows[0]) if rows else ["frame"]
    shown = [n for n in names if every or n in {"frame", "first_seq"} or any(row[n] for row in rows)]
    kinds = {name: unit for name, (_, unit) in content.SERIES.items()}
    return Rows(tuple(shown), [tuple(row[n] for n in shown) for row in rows], kinds)
