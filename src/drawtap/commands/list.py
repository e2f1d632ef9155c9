"""`drawtap list`: the calls as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.sql import rows
from drawtap.trace.ranges import RANGE_HELP, Selection, Span, selection
from drawtap.view.result import Lines, Rows

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
    calls: Annotated[str | None, Opt(RANGE_HELP, metavar="RANGE")] = None,
    *,
    name: Annotated[str | None, Opt("Only functions that match (* stands for anything).", "-n", "PATTERN")] = None,
    limit: Annotated[int | None, Opt("At most so many calls.", "-l", "N")] = None,
    no_times: Annotated[bool, Opt("Without durations: text that two runs can be compared by.")] = False,
) -> Lines | Rows:
    """Print calls with their arguments, one a line.

    They stand in the order in which they happened. Enumerants have their names, short arrays their elements, long
    ones their hash: drawtap sql asks the table blobs.
    """
    wanted = selection(calls, name=name, of=trace)
    spans = wanted.spans or (Span(0, None),)
    plain = name is None or not set(name) & set("*?[")
    if not plain or (limit is not None and (name is not None or len(spans) > 1 or spans[0].frames)):
        return _rows(trace, wanted, limit)
    if limit is not None:
        spans = (spans[0].at_most(limit),)
    flags = 0 if no_times else 4
    arguments = [{"function": name, ("frames" if s.frames else "seqs"): s.numbers(), "flags": flags} for s in spans]

    def write(descriptor: int) -> None:
        for named in arguments:
            trace.write_text(descriptor, **named)  # type: ignore[arg-type]

    def lines() -> Iterator[str]:
        for named in arguments:
            yield from trace.text(**named)  # type: ignore[arg-type]

    return Lines(write, lines, lambda: _rows(trace, wanted, limit))


def _rows(trace: Trace, wanted: Selection, limit: int | None) -> Rows:
    tail = f" LIMIT {int(limit)}" if limit is not None else ""
    query = f'SELECT seq, frame, thread, t_start, duration, "call" FROM calls WHERE {wanted.where()} ORDER BY seq{tail}'
    return rows(trace, query)
