"""`drawtap system sql`: questions in SQL to a trace of the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.system_metrics import GUEST, NO_CACHE
from drawtap.view.result import Rows

_TIMES = ("t_ns", "begin_ns", "end_ns", "begin", "end", "from_ns", "to_ns")


@command(
    name="system sql",
    section="system",
    examples=(
        "drawtap system sql trace.dat 'SELECT client, max(wait_ns) FROM requests GROUP BY client'",
        "drawtap system sql trace.dat 'SELECT next_comm, count(*) FROM sched_switch GROUP BY next_comm'",
        "drawtap system sql trace.dat \"SELECT * FROM links WHERE kind = 'waits for'\" --json",
    ),
)
def system_sql(
    file: Annotated[Path, Opt("a trace of the kernel: a file, or a folder of CTF", metavar="TRACE")],
    query: Annotated[str, Opt("what to ask", metavar="QUERY")],
    *,
    guest: Annotated[tuple[str, ...], GUEST] = (),
    no_cache: Annotated[bool, NO_CACHE] = False,
) -> Rows:
    """Ask a trace of the kernel a question in SQL.

    Tables: requests (lives of GPU requests), executions, spans, counters, links, threads, state, unmatched; of traces
    joined with --guest guests, guest_threads and guest_requests; and every
    event of the trace by its name, with its fields (drawtap system info lists them). All times are those of the trace
    in ns. docs/reference/kernel-tables.md explains the columns.
    """
    from drawtap.system import reader
    from drawtap.system.drawn import opened

    with reader.open(file) as trace, opened(trace, guests=guest, keep=not no_cache) as model:
        answer = model.query(query)
        kinds = {c: "ns" for c in answer.columns if c.endswith("_ns") and c not in _TIMES}
        return Rows(answer.columns, answer.fetchall(), kinds=kinds)
