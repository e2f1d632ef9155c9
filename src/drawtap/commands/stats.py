"""`drawtap stats`: how complex the content is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.output.result import Rows
from drawtap.trace.ranges import FRAMES_HELP, selection

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_COLUMNS = ("what", "unit", "total", "minimum", "mean", "maximum", "frames")


@command(
    section="ask",
    examples=(
        "drawtap stats game.dtap",
        "drawtap stats game.dtap '#100:#120' --json",
        "drawtap stats game.dtap '#100:#120' --per-frame",
    ),
)
def stats(
    trace: Trace,
    span: Annotated[str | None, Opt(FRAMES_HELP, metavar="RANGE")] = None,
    *,
    per_frame: Annotated[bool, Opt("Print the counts of every frame.")] = False,
    every: Annotated[bool, Opt("With --per-frame: every column, also those that are zero throughout.", "-a")] = False,
) -> Rows:
    """Print how much frames draw, upload and change.

    One line a quantity: the sum over the frames, and the minimum, mean and maximum of a frame. The distribution over
    the frames goes from the minimum (left) to the maximum (right). All quantities come from the calls: submitted
    triangles (a point or line counts as two), bytes that the program hands over. The engine's work (fragments, culled
    triangles) comes from readings of sensors: drawtap sensors. Calls after the last frame are left out.

    With --per-frame a line is a frame: its times, the columns of the table content, and its sensors. A sensor is summed
    up over the frame, or averaged if its name begins with average_ or mean_.
    """
    from drawtap.analysis import content

    rows = content.frame_stats(trace, content.sensors(trace))
    if span is not None:
        wanted = selection(span, of=trace, frames=True)
        rows = [row for row in rows if any(row["frame"] in s.numbers() for s in wanted.spans)]
    if per_frame:
        return _per_frame(rows, every=every)
    series = content.statistics(rows, content.sensors(trace))
    lines = [(s.title, s.unit, s.total, s.minimum, s.mean, s.maximum, list(s.bins)) for s in series]
    values = dict.fromkeys(("total", "minimum", "mean", "maximum"), "of unit")
    return Rows(_COLUMNS, lines, {**values, "frames": "spark"}, note=_note(trace))


def _per_frame(rows: list[dict[str, object]], *, every: bool) -> Rows:
    from drawtap.analysis import content

    names = list(rows[0]) if rows else ["frame"]
    shown = [n for n in names if every or n in {"frame", "first_seq"} or any(row[n] for row in rows)]
    kinds = {name: unit for name, (_, unit) in content.SERIES.items()}
    return Rows(tuple(shown), [tuple(row[n] for n in shown) for row in rows], kinds)


def _note(trace: Trace) -> str:
    from drawtap.analysis import content
    from drawtap.output.text import counted, size

    seen = content.overview(trace)
    parts = [counted(seen.frames, "frame"), counted(seen.calls, "call"), size(seen.file_bytes)]
    if seen.frames_per_second is not None:
        parts.append(f"{seen.frames_per_second:.2f} frames/s")
    return ", ".join([*parts, *seen.surfaces])
