"""`drawtap system list`: the events of a trace of the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.system_metrics import FROM, TO, TRACE, moment
from drawtap.errors import UsageError, did_you_mean
from drawtap.view.result import Rows


@command(
    name="system list",
    section="system",
    examples=(
        "drawtap system list trace.dat",
        "drawtap system list trace.dat -e drm_run_job -e drm_sched_process_job --from 1.5 --to 1.6",
        "drawtap system list kernel-ctf --event sched_switch --limit 0 --json",
    ),
)
def system_list(
    file: Annotated[Path, TRACE],
    *,
    event: Annotated[tuple[str, ...], Opt("Only events of this name; may be given several times.", "-e", "NAME")] = (),
    from_: Annotated[str | None, FROM] = None,
    to: Annotated[str | None, TO] = None,
    limit: Annotated[int, Opt("So many at most; 0: all.", "-n", "N")] = 1000,
) -> Rows:
    """List the events of a trace of the kernel, with their fields.

    Times are since the begin of the trace; with --json those of the trace, in ns. drawtap system info lists which
    events there are.
    """
    import duckdb

    from drawtap.system import listing, reader

    if limit < 0:
        raise UsageError("--limit is a number from 0 on")
    with reader.open(file) as trace:
        for name in event:
            if not trace.knows(name):
                hint = did_you_mean(name, trace.names()) or "drawtap system info lists the events"
                raise UsageError(f"{file.name} knows no event called {name!r}", hint=hint)
        begin, _ = trace.bounds() or (0, 0)
        connection = duckdb.connect(":memory:")
        try:
            found = listing.rows(
                trace,
                connection,
                names=list(event) or None,
                begin=moment(from_, begin),
                end=moment(to, begin),
                most=limit + 1 if limit else 2**62,
            )
        finally:
            connection.close()
    more = bool(limit) and len(found) > limit
    rows = [(t, cpu, tid, comm, name, text) for t, name, cpu, tid, comm, text in (found[:limit] if more else found)]
    note = f"the first {limit}; --limit 0 lists all, --from and --to a part" if more else None
    return Rows(
        ("t_ns", "cpu", "tid", "comm", "event", "fields"), rows, kinds={"t_ns": "time"}, note=note, time_zero=begin
    )
