"""`drawtap system metrics`: figures of a trace of the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from drawtap.commands import Opt, command
from drawtap.commands.options import FROM, GUEST, NO_CACHE, TO, TRACE
from drawtap.errors import UsageError
from drawtap.output.kernel_figures import CELLS, USED, tables
from drawtap.output.result import Sheets
from drawtap.units import moment

_MOST_STEPS = 100_000


@command(
    name="system metrics",
    section="system",
    examples=(
        "drawtap system metrics trace.dat",
        "drawtap system metrics trace.dat --from 1.5 --to 2s --json",
        "drawtap system metrics host-ctf --guest VM1=guest-ctf",
    ),
)
def system_metrics(
    file: Annotated[Path, TRACE],
    *,
    from_: Annotated[str | None, FROM] = None,
    to: Annotated[str | None, TO] = None,
    every: Annotated[
        str | None, Opt("With --json: also utilisation over time, in steps of 10ms, 1s ...", "-e", "TIME")
    ] = None,
    guest: Annotated[tuple[str, ...], GUEST] = (),
    no_cache: Annotated[bool, NO_CACHE] = False,
) -> Sheets:
    """Print what GPUs and virtual machines did in a window of a trace of the kernel.

    Per engine, client, virtual GPU and guest: requests, utilisation, means and percentiles of wait, execution and
    latency; per virtual machine: time on a CPU, time that was stolen and by whom; memory, missed vertical blanks, waits
    for fences. With --guest, also how long requests of guests took from the guest's submit to the end on the host's
    GPU, and how exact that is. Spans are clipped to the window exactly. Figures that the kernel did not reveal are
    empty, with the reason below.
    """
    from drawtap.system import reader
    from drawtap.system.drawn import opened
    from drawtap.system.metrics import metrics, series

    with reader.open(file) as trace, opened(trace, guests=guest, keep=not no_cache) as model:
        begin, end = (moment(text, model.window[0]) for text in (from_, to))
        data = metrics(model, begin=begin, end=end)
        usage = {name: series(model, name, bins=CELLS, begin=begin, end=end) for name in USED}
        if every is not None:
            step = moment(every, 0)
            length = data["window"]["duration_ns"]
            if not step or step < 0 or length // step > _MOST_STEPS:
                raise UsageError(f"{every!r} is no step for a window of {length / 1e9:g} s", hint="10ms, 0.5, 1s ...")
            bins = max(1, -(-length // step))
            data["series"] = {name: series(model, name, bins=bins, begin=begin, end=end) for name in USED}
        data["problems"] = [
            {"kind": p.kind, "where": p.where, "text": p.text, "count": p.count} for p in trace.problems
        ]
    return Sheets(tables(data, usage), data, _notes(data))


def _notes(data: Mapping[str, Any]) -> list[str]:
    notes = [f"{p['text']}" for p in data["problems"]]
    if not data["drivers"]:
        notes.append("no event of this trace is known to a driver: drawtap info lists the events")
    return notes
