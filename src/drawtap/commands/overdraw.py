"""`drawtap overdraw`: how often each pixel of a frame is drawn over, as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UnavailableError, UsageError
from drawtap.output.result import Rows
from drawtap.trace.ranges import FRAMES_HELP

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_COLUMNS = ("frame", "target", "mean", "most", "covered_percent", "fragments", "file", "note")


@command(
    section="replay",
    examples=(
        "drawtap overdraw game.dtap -o overdraw",
        "drawtap overdraw game.dtap --frames 100:103 -o overdraw --on system",
    ),
)
def overdraw(
    trace: Trace,
    *,
    output: Annotated[Path, Opt("The folder that the pictures go to; it is made.", "-o", "FOLDER")],
    frames: Annotated[str | None, Opt(FRAMES_HELP, metavar="RANGE")] = None,
    on: Annotated[str, Opt("The engine; drawtap replay --engines lists them.", metavar="ENGINE")] = "system",
    force: Annotated[bool, Opt("Write into a folder that is there.")] = False,
) -> Rows:
    """Save how often each pixel is drawn over, as pictures.

    It counts all fragments of rasterisation, before any test, hidden ones included. mean is fragments a covered pixel.
    Each draw is repeated for this, with every effect switched off. If a draw cannot be repeated, its fragments are
    missing in the picture: fragments, most and covered are lower bounds. The note has the number of these draws and the
    reason. Below each picture, a legend has its colours with the share of pixels of each.
    """
    from drawtap.metrics import overdraw as counting
    from drawtap.output.overdraw import picture
    from drawtap.output.picture import png
    from drawtap.output.text import counted
    from drawtap.replay import engine
    from drawtap.trace.ranges import frames_of

    if output.exists() and not output.is_dir():
        raise UsageError(f"{output} is no folder", hint="-o FOLDER")
    if output.exists() and not force:
        raise UsageError(f"{output} exists", hint="--force writes into it")
    within = None if frames is None else frames_of(trace, frames)
    rows: list[tuple[object, ...]] = []
    numbers, why = dict[int, int](), ""
    for one in counting.overdraw(trace, within, environment=engine.environment_of(on)):
        why = why or one.why
        if not one.counts.size:
            rows.append((one.frame, one.target, None, None, None, None, "", one.lacks))
            continue
        output.mkdir(parents=True, exist_ok=True)
        number = numbers[one.frame] = numbers.get(one.frame, -1) + 1
        name = f"frame{one.frame:06}.png" if number == 0 else f"frame{one.frame:06}-{number}.png"
        (output / name).write_bytes(png(picture(one.counts)))
        covered = 100 * int((one.counts > 0).sum()) / one.counts.size
        cells = (round(one.mean, 3), int(one.counts.max()), round(covered, 2), int(one.counts.sum()))
        rows.append((one.frame, one.target, *cells, str(output / name), one.lacks))
    if not rows:
        raise UnavailableError("nothing was drawn in these frames", hint="drawtap frames lists the frames")
    if not numbers:
        raise UnavailableError(f"no draw of these frames is counted: {why}", hint="--frames names others")
    saved = sum(numbers.values()) + len(numbers)
    return Rows(_COLUMNS, rows, {"fragments": "count"}, note=f"{counted(saved, 'picture')} in {output}")
