"""`drawtap list`: the calls as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.sql import rows
from drawtap.formats import selection
from drawtap.view.result import Rows

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    name="list",
    section="ask",
    examples=(
        "drawtap list game.dtap | less",
        "drawtap list game.dtap 1000-1020,5000          # calls by number",
        "drawtap list game.dtap '#3'                    # a frame",
        "drawtap list game.dtap '#10-' --name 'glDraw*' --limit 20",
    ),
)
def list_(
    trace: Trace,
    calls: Annotated[str | None, Opt("10-20,30,5- for calls, #3 or #2-4 for frames", metavar="RANGE")] = None,
    *,
    name: Annotated[str | None, Opt("Only functions that match (* stands for anything).", "-n", "PATTERN")] = None,
    limit: Annotated[int | None, Opt("At most so many calls.", "-l", "N")] = None,
) -> Rows:
    """Print calls with their arguments, one a line.

    They stand in the order in which they happened. Enumerants have their names, short arrays their elements, long
    ones their hash: drawtap sql asks the table blobs.
    """
    where = selection(calls, name=name).where()
    tail = f" LIMIT {int(limit)}" if limit is not None else ""
    return rows(trace, f'SELECT seq, frame, thread, duration, "call" FROM calls WHERE {where} ORDER BY seq{tail}')
