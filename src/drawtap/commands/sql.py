"""`drawtap sql`: ask in SQL."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
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
    safe: Annotated[bool, Opt("For questions of strangers: they only read this recording.")] = False,
) -> Rows | Prompt:
    """Ask a recording in SQL (the dialect is DuckDB's).

    \b
    Tables:
      calls       one row a call: seq, frame, thread, context, name, t_start, duration, category, params, result
      "glName"    one table a function, with its parameters as columns
      frames, threads, contexts, functions, params, enums, blobs, markers, notes, problems, annotations

    With --safe a question is a SELECT (or WITH, VALUES, DESCRIBE) about this recording and nothing else: no file is
    read or written, no recording made, no setting changed, nothing loaded, and memory is bounded. How long a question
    may take is for the caller to bound. FILE.duckdb is read only where this user has written it with --cache.

    Times are ns. Enumerants can be asked by name or, in the column NAME_value, by number.
    """
    if safe:
        trace.database.make_safe()
    if cache:
        trace.materialise()
    if query is not None:
        return rows(trace, query)
    if sys.stdin.isatty():
        if safe:
            raise UsageError("--safe is for a question, not for a prompt", hint="drawtap sql FILE QUERY --safe")
        return Prompt((str(trace.path),), frame_end=trace.frame_end)
    return rows(trace, sys.stdin.read())


def rows(trace: Trace, query: str) -> Rows:
    """Return the answer to `query` as rows that stream: values as they are, without units."""
    result = trace.sql(query)
    side = trace.database.side
    note = f"{side.path} is not read: {side.doubted}" if side.doubted else None
    return Rows(result.columns, result, note=note)
