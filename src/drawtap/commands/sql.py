"""`drawtap sql`: ask in SQL."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import GUEST, NO_CACHE
from drawtap.errors import UsageError
from drawtap.output.result import Prompt, Rows
from drawtap.trace.apis import of_other_side

if TYPE_CHECKING:
    from drawtap.system.reader import KernelTrace
    from drawtap.trace.trace import Trace

_TIMES = ("t_ns", "begin_ns", "end_ns", "begin", "end", "from_ns", "to_ns")


def _of_kernel(
    trace: KernelTrace,
    query: Annotated[str | None, Opt("", metavar="QUERY")] = None,
    *,
    safe: Annotated[bool, Opt("")] = False,
    guest: Annotated[tuple[str, ...], GUEST] = (),
    no_cache: Annotated[bool, NO_CACHE] = False,
) -> Rows:
    """Ask a trace of the kernel by the names in docs/reference/kernel-tables.md.

    There are requests (lives of GPU requests), executions, spans, counters, links, threads, state, unmatched and, of
    traces joined with --guest, guests, guest_threads and guest_requests. Every event is a table of its name, with its
    fields; drawtap info lists the events. All times are the trace's own, in ns.
    """
    from drawtap.system.drawn import opened

    if query is None and sys.stdin.isatty():
        raise UsageError("a trace of the kernel has no prompt", hint="drawtap sql FILE QUERY")
    with opened(trace, guests=guest, keep=not no_cache) as model:
        if safe:
            model.make_safe()
        answer = model.query(sys.stdin.read() if query is None else query)
        kinds = {c: "ns" for c in answer.columns if c.endswith("_ns") and c not in _TIMES}
        return Rows(answer.columns, answer.fetchall(), kinds=kinds)


@command(
    section="ask",
    kernel=_of_kernel,
    asks=True,
    examples=(
        "drawtap sql game.dtap                                   # a prompt",
        'drawtap sql game.dtap "SELECT name, count(*) AS n FROM calls GROUP BY name ORDER BY n DESC LIMIT 5"',
        "drawtap sql game.dtap \"SELECT sum(count) FROM glDrawElements WHERE mode = 'GL_TRIANGLES'\" --json",
        "drawtap sql game.dtap < questions.sql                   # statements separated by ;",
        "drawtap sql trace.dat 'SELECT client, max(wait_ns) FROM requests GROUP BY client'",
        "drawtap sql trace.dat 'SELECT next_comm, count(*) FROM sched_switch GROUP BY next_comm'",
    ),
)
def sql(
    trace: Trace,
    query: Annotated[str | None, Opt("the question; without it a prompt, or standard input", metavar="QUERY")] = None,
    *,
    cache: Annotated[bool, Opt("Write FILE.duckdb first: later questions are faster. It can be deleted.")] = False,
    safe: Annotated[bool, Opt("For questions of strangers: they only read this file.")] = False,
) -> Rows | Prompt:
    """Ask a recording in SQL (the dialect is DuckDB's).

    \b
    Tables:
      calls       one row a call: seq, frame, thread, context, name, t_start, duration, category, params, result
      "glName"    one table a function, with its parameters as columns
      frames, threads, contexts, functions, params, enums, blobs, markers, notes, problems, annotations

    With --safe a question is a SELECT (or WITH, VALUES, DESCRIBE) about this recording. It reads and writes no file,
    makes no recording, changes no setting and loads nothing, in bounded memory. The caller has to bound its time.
    FILE.duckdb is read only where this user has written it with --cache.

    Times are ns. Enumerants have their names and, in the column NAME_value, their numbers.
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
    doubted = f"{side.path} is not read: {side.doubted}" if side.doubted else None
    notes = [note for note in (doubted, of_other_side(trace, trace.database.asked)) if note]
    return Rows(result.columns, result, note="\n".join(notes) or None)
