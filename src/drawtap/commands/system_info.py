"""`drawtap system info`: what is in a trace of the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.view.result import Facts

_SHOWN = 12


@command(
    name="system info",
    section="system",
    examples=("drawtap system info trace.dat", "drawtap system info ~/lttng-traces/run-1 --json"),
)
def system_info(
    file: Annotated[Path, Opt("a trace of the kernel: a file, or a folder of CTF", metavar="TRACE")],
) -> Facts:
    """Print what is in a trace of the kernel.

    Which events and how many of each, which clock, which machine, and what is missing: lost events, discarded packets,
    truncation.
    """
    from drawtap.system import reader

    with reader.open(file) as trace:
        types = trace.event_names()
        bounds = trace.bounds()
        clock = trace.clock
        data = {
            "path": str(file),
            "format": trace.format,
            "events": sum(t.count for t in types.values()),
            "begin": bounds[0] if bounds else None,
            "end": bounds[1] if bounds else None,
            "clock": {
                "name": clock.name,
                "monotonic": clock.monotonic,
                "epoch_offset_ns": clock.epoch_offset_ns,
                "note": clock.note,
            },
            "environment": trace.environment,
            "event_types": [
                {"name": t.name, "count": t.count, "fields": {f.name: f.type for f in t.fields}} for t in types.values()
            ],
            "problems": [
                {"kind": p.kind, "where": p.where, "text": p.text, "count": p.count, "begin": p.begin, "end": p.end}
                for p in trace.problems
            ],
        }
        found = trace.problems
        notes = [f"{p.kind}: {p.where}: {p.text}" for p in found[:_SHOWN]]
        if len(found) > _SHOWN:
            notes.append(f"and {len(found) - _SHOWN} problems more; --json has all")
        about: dict[str, object] = {"format": trace.format, "events": data["events"]}
        if bounds:
            about["seconds"] = round((bounds[1] - bounds[0]) / 1e9, 6)
        about["clock"] = clock.name + (f" ({clock.note})" if clock.note else "")
        about.update(trace.environment)
        most = sorted(types.values(), key=lambda t: -t.count)
        return Facts(data, {"trace": about, "events": {t.name: t.count for t in most}}, notes)
