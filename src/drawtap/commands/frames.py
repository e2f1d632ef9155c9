"""`drawtap frames`: frame times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.sql import rows
from drawtap.errors import UsageError
from drawtap.view.result import Rows
from drawtap.view.text import duration

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="ask",
    examples=(
        "drawtap frames game.dtap",
        "drawtap frames game.dtap --slowest 10",
        "drawtap frames game.dtap --range 100-120",
        "drawtap frames offscreen.dtap --frame-end glFinish",
    ),
)
def frames(
    trace: Trace,
    *,
    slowest: Annotated[int | None, Opt("The N longest frames, longest first.", "-s", "N")] = None,
    span: Annotated[str | None, Opt("Only these frames: 100-120, 7, 50-.", "-r", "RANGE")] = None,
) -> Rows:
    """Print the frames and how long they took.

    A frame ends with the call that shows it (eglSwapBuffers, glXSwapBuffers), or, in programs that never swap, with what
    --frame-end says; drawtap info names the rule that was taken.
    """
    where = _where(span)
    order = f"duration DESC NULLS LAST LIMIT {int(slowest)}" if slowest is not None else "frame"
    table = rows(trace, f"SELECT * FROM frames WHERE {where} ORDER BY {order}")
    times = [
        float(row[0])
        for row in rows(
            trace, f"SELECT duration FROM frames WHERE {where} AND duration IS NOT NULL ORDER BY frame"
        ).rows
    ]  # type: ignore[arg-type]
    note = None
    if times:
        ordered = sorted(times)
        middle, late = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
        note = (
            f"{len(times)} frames, mean {duration(sum(times) / len(times))}, median {duration(middle)}, "
            f"99 % {duration(late)}, longest {duration(ordered[-1])}"
        )
    kinds = {"duration": "ns", "t_start": "time", "t_end": "time", "upload_bytes": "bytes", "calls": "count"}
    return Rows(table.columns, table.rows, {c: kinds[c] for c in table.columns if c in kinds}, plot=times, note=note)


def _where(span: str | None) -> str:
    if not span:
        return "true"
    from drawtap.formats import selection

    spans = selection(span.replace("#", "")).spans
    if not spans:
        raise UsageError(f"{span!r} names no frames")
    return "(" + " OR ".join(s.where().replace("seq", "frame") for s in spans) + ")"
