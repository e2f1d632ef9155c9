"""`drawtap list`: the calls as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import FROM, TO
from drawtap.commands.sql import rows
from drawtap.errors import UsageError, did_you_mean
from drawtap.output.result import Lines, Rows
from drawtap.trace.ranges import RANGE_HELP, Span, selection
from drawtap.trace.sql_text import quote_text
from drawtap.units import moment

if TYPE_CHECKING:
    from drawtap.system.reader import KernelTrace
    from drawtap.trace.trace import Trace

_MOST = 1000  # events of the kernel that are listed unless a number is given


def _of_kernel(
    trace: KernelTrace,
    *,
    event: Annotated[tuple[str, ...], Opt("Only events of this name; may be given several times.", "-e", "NAME")] = (),
    from_: Annotated[str | None, FROM] = None,
    to: Annotated[str | None, TO] = None,
    limit: Annotated[int | None, Opt("", "-l", "N")] = None,
) -> Rows:
    """For a trace of the kernel: the events with their fields, the first 1000 unless --limit gives a number (0: all).

    Times are since the begin of the trace; with --json they are the trace's own, in ns. drawtap info lists which events
    there are.
    """
    from drawtap.system import listing
    from drawtap.trace.result import connect

    most = _MOST if limit is None else limit
    if most < 0:
        raise UsageError("--limit is a number from 0 on")
    for name in event:
        if not trace.knows(name):
            hint = did_you_mean(name, trace.names()) or "drawtap info lists the events"
            raise UsageError(f"{trace.path.name} knows no event called {name!r}", hint=hint)
    begin, _ = trace.bounds() or (0, 0)
    with connect() as connection:
        events = listing.rows(
            trace,
            connection,
            names=list(event) or None,
            begin=moment(from_, begin),
            end=moment(to, begin),
            most=most + 1 if most else 2**62,
        )
    more = bool(most) and len(events) > most
    listed = [(t, cpu, tid, comm, name, text) for t, name, cpu, tid, comm, text in (events[:most] if more else events)]
    note = f"the first {most}; --limit 0 lists all, --from and --to a part" if more else None
    return Rows(
        ("t_ns", "cpu", "tid", "comm", "event", "fields"), listed, kinds={"t_ns": "time"}, note=note, time_zero=begin
    )


@command(
    name="list",
    section="ask",
    kernel=_of_kernel,
    examples=(
        "drawtap list game.dtap | less",
        "drawtap list game.dtap 1000-1020,5000          # calls by number",
        "drawtap list game.dtap '#3'                    # a frame",
        "drawtap list game.dtap '#10-' --name 'glDraw*' --limit 20",
        "drawtap list game.dtap --grep GL_TEXTURE_CUBE_MAP",
        "drawtap list game.dtap --grep 'glBind.*, 7\\)' --limit 10",
        "drawtap list trace.dat -e drm_run_job -e drm_sched_process_job --from 1.5 --to 1.6",
    ),
)
def list_(
    trace: Trace,
    calls: Annotated[str | None, Opt(RANGE_HELP, metavar="RANGE")] = None,
    *,
    name: Annotated[str | None, Opt("Only functions that match (* stands for anything).", "-n", "PATTERN")] = None,
    grep: Annotated[str | None, Opt("Only calls whose text matches: name, arguments, result.", "-g", "REGEX")] = None,
    ignore_case: Annotated[bool, Opt("With --grep: upper and lower case are the same.", "-i")] = False,
    limit: Annotated[int | None, Opt("At most N calls or events.", "-l", "N")] = None,
    no_times: Annotated[bool, Opt("Without durations: text that two runs can be compared by.")] = False,
) -> Lines | Rows:
    """Print calls with their arguments, one a line.

    They stand in the order in which they happened. Enumerants have their names, short arrays their elements, long
    ones their hash: drawtap sql asks the table blobs.
    """
    wanted = selection(calls, name=name, of=trace)
    spans = wanted.spans or (Span(0, None),)
    where = wanted.where() if grep is None else f"{wanted.where()} AND {_match(grep, ignore_case=ignore_case)}"
    plain = grep is None and (name is None or not set(name) & set("*?["))
    if not plain or (limit is not None and (name is not None or len(spans) > 1 or spans[0].frames)):
        return _rows(trace, where, limit, times=not no_times)
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

    return Lines(write, lines, lambda: _rows(trace, where, limit), wrap=True)


def _match(pattern: str, *, ignore_case: bool) -> str:
    """Return the SQL condition that the text of a call matches."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is no regular expression: {error}") from error
    return f'regexp_matches("call", {quote_text(pattern)}' + (", 'i')" if ignore_case else ")")


def _rows(trace: Trace, where: str, limit: int | None, *, times: bool = True) -> Rows:
    tail = f" LIMIT {int(limit)}" if limit is not None else ""
    columns = "seq, frame, thread, t_start, duration" if times else "seq, frame, thread"
    return rows(trace, f'SELECT {columns}, "call" FROM calls WHERE {where} ORDER BY seq{tail}')
