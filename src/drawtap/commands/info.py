"""`drawtap info`: what is in a recording."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from drawtap.commands import command
from drawtap.output.recording_facts import facts, groups, problems
from drawtap.output.result import Facts

if TYPE_CHECKING:
    from drawtap.system.reader import KernelTrace
    from drawtap.trace.trace import Trace

_SHOWN = 12  # problems of a trace of the kernel


def _of_kernel(trace: KernelTrace) -> Facts:
    """For a trace of the kernel: its events with their counts, the clock, the machine, and what is missing.

    Missing are lost events, discarded packets, and what was cut off.
    """
    types = trace.event_names()
    bounds = trace.bounds()
    clock = trace.clock
    problems = trace.problems
    data = {
        "path": str(trace.path),
        "format": trace.format,
        "events": sum(t.count for t in types.values()),
        "begin": bounds[0] if bounds else None,
        "end": bounds[1] if bounds else None,
        "clock": asdict(clock),
        "environment": trace.environment,
        "event_types": [
            {"name": t.name, "count": t.count, "fields": {f.name: f.type for f in t.fields}} for t in types.values()
        ],
        "problems": [asdict(problem) for problem in problems],
    }
    notes = [f"{p.kind}: {p.where}: {p.text}" for p in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        notes.append(f"and {len(problems) - _SHOWN} problems more; --json has all")
    about: dict[str, object] = {"format": trace.format, "events": data["events"]}
    if bounds:
        about["seconds"] = round((bounds[1] - bounds[0]) / 1e9, 6)
    about["clock"] = clock.name + (f" ({clock.note})" if clock.note else "")
    about.update(trace.environment)
    most = sorted(types.values(), key=lambda t: -t.count)
    return Facts(data, {"trace": about, "events": {t.name: t.count for t in most}}, notes)


@command(
    section="ask",
    kernel=_of_kernel,
    examples=("drawtap info game.dtap", "drawtap info game.dtap --json", "drawtap info trace.dat"),
)
def info(trace: Trace) -> Facts:
    """Print what is in a recording.

    Program, machine, driver, frames and the rule for them, calls, and what is missing.
    """
    data = facts(trace)
    return Facts(data, groups(trace, data), problems(data))
