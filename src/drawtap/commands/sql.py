"""`drawtap sql`: ask in SQL."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.view.result import Prompt, Rows

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="ask",
    examples=(
        "drawtap sql game.dtap                                   # a prompt",
        'drawtap sql game.dtap "SELECT name, count(*) AS n FROM calls GROUP BY name ORDER BY n DESC LIMIT 5"',
        "drawtap sql game.dtap \"SELECT sum(count) FROM glDrawElements WHERE mode = 'GL_TRIANGLES'\" --json",
        "drawtap sql game.dtap < questions.sql                   # statements separated by ;",
    ),
)
def sql(
    trace: Trace,
    query: Annotated[str | None, Opt("the question; without it a prompt, or standard input", metavar="QUERY")] = None,
    *,
    cache: Annotated[bool, Opt("Write FILE.duckdb first: later questions are faster. It can be deleted.")] = False,
) -> Rows | Prompt:
    """Ask a recording in SQL (the dialect is DuckDB's).

    \b
    Tables:
      calls       one row a call: seq, frame, thread, context, name, t_start, duration, category, params, result
      "glName"    one table a function, with its parameters as columns
      frames, threads, contexts, functions, params, enums, blobs, markers, notes, problems, annotations

    Times are ns. Enumerants can be asked by name or, in the column NAME_value, by number.
    """
    if cache:
        trace.materialise()
    if query is not None:
        return rows(trace, query)
    if sys.stdin.isatty():
        return Prompt((str(trace.path),), frame_end=trace.frame_end)
    return rows(trace, sys.stdin.read())


def rows(trace: Trace, query: str) -> Rows:
    """Return the answer to `query` as rows that stream: values as they are, without units."""
    result = trace.sql(query)
    return Rows(result.columns, result)
