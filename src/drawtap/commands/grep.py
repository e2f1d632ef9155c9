"""`drawtap grep`: the calls that match a pattern."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.sql import rows
from drawtap.errors import UsageError
from drawtap.trace.ranges import RANGE_HELP, selection
from drawtap.trace.sql_text import quote_text
from drawtap.view.result import Rows

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="ask",
    examples=(
        "drawtap grep game.dtap GL_TEXTURE_CUBE_MAP",
        "drawtap grep game.dtap 'glBind.*, 7\\)' --limit 10",
        "drawtap grep game.dtap -i shader --calls '#0'",
    ),
)
def grep(
    trace: Trace,
    pattern: Annotated[str, Opt("a regular expression, found anywhere in the text of a call", metavar="PATTERN")],
    *,
    calls: Annotated[str | None, Opt(RANGE_HELP, "-c", "RANGE")] = None,
    ignore_case: Annotated[bool, Opt("Upper and lower case are the same.", "-i")] = False,
    limit: Annotated[int | None, Opt("At most N calls.", "-l", "N")] = None,
) -> Rows:
    """Print the calls whose text matches a regular expression.

    The text is that of drawtap list: name, arguments with names of enumerants, result.
    """
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is no regular expression: {error}") from error
    match = f'regexp_matches("call", {quote_text(pattern)}' + (", 'i')" if ignore_case else ")")
    tail = f" LIMIT {int(limit)}" if limit is not None else ""
    where = selection(calls, of=trace).where()
    return rows(
        trace, f'SELECT seq, frame, thread, duration, "call" FROM calls WHERE {where} AND {match} ORDER BY seq{tail}'
    )
