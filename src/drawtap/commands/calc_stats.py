"""`drawtap calc-stats`: how complex the content is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawtap.commands import command
from drawtap.view.result import Rows

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_COLUMNS = ("what", "unit", "total", "minimum", "mean", "maximum", "frames")


@command(
    name="calc-stats",
    section="ask",
    examples=("drawtap calc-stats game.dtap", "drawtap calc-stats game.dtap --json"),
)
def calc_stats(trace: Trace) -> Rows:
    """Print how much each frame draws, uploads and changes.

    One line a quantity: the sum over all frames, the least, the mean and the most of one frame, and how many frames
    have how much, from the least on the left to the most on the right. They are counted from the calls alone: triangles
    are those that are submitted (points and lines count as two), uploads are what the program hands over. What an
    engine makes of it (fragments, culled triangles) comes from sensors: drawtap load-inst. Calls after the last frame
    are not in it.
    """
    from drawtap.analysis import content

    found = content.statistics(trace, content.sensors(trace))
    rows = [(s.title, s.unit, s.total, s.minimum, s.mean, s.maximum, list(s.bins)) for s in found]
    values = dict.fromkeys(("total", "minimum", "mean", "maximum"), "of unit")
    return Rows(_COLUMNS, rows, {**values, "frames": "spark"}, note=_note(trace))


def _note(trace: Trace) -> str:
    from drawtap.analysis import content
    from drawtap.view.text import counted, size

    seen = content.overview(trace)
    parts = [counted(seen.frames, "frame"), counted(seen.calls, "call"), size(seen.file_bytes)]
    if seen.frames_per_second is not None:
        parts.append(f"{seen.frames_per_second:.2f} frames/s")
    return ", ".join([*parts, *seen.surfaces])
