"""`drawtap system metrics`: figures of a trace of the kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, cast

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.view.result import Rows, Sheets

Record = Mapping[str, object]

_TIME = re.compile(r"(@)?(-?\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)?")
_CELLS = 30
_MARKS = " ▁▂▃▄▅▆▇█"
_MOST_STEPS = 100_000
_USED = {
    "engines": ("device", "engine"),
    "clients": ("client", "device", "engine"),
    "vgpus": ("vgpu", "device", "engine"),
}
_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
FROM = Opt(
    "Begin of the window: 1.5, 200ms from the begin of the trace, or a time of the trace in ns: @123.", metavar="TIME"
)
TO = Opt("End of the window.", "-t", "TIME")
CALLS = Opt("Also draw frames and API calls of a recording of the same time.", "-c", "FILE")
GUEST = Opt(
    "Join a trace from inside of a virtual machine; NAME is the host's name of it, or of its vGPU.",
    "-g",
    "[NAME=]TRACE",
)
NO_CACHE = Opt("Neither look for kept tables of this trace nor keep them.")
TRACE = Opt("a trace of the kernel: a file, or a folder of CTF", metavar="TRACE")


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
    latency; per virtual machine: time on a CPU, time that was stolen and by whom; memory, missed vertical blanks,
    waits for fences. With --guest, also how long requests of guests took from the guest's submit to the end on the
    host's GPU, and how exact that is. What lasted is clipped to the window exactly. What the kernel did not tell is
    empty, and the reason stands below.
    """
    from drawtap.system import reader
    from drawtap.system.drawn import opened
    from drawtap.system.metrics import metrics, series

    with reader.open(file) as trace, opened(trace, guests=guest, keep=not no_cache) as model:
        begin, end = (moment(text, model.window[0]) for text in (from_, to))
        data = metrics(model, begin=begin, end=end)
        usage = {name: series(model, name, bins=_CELLS, begin=begin, end=end) for name in _USED}
        if every is not None:
            step = moment(every, 0)
            length = cast(int, cast(Record, data["window"])["duration_ns"])
            if not step or step < 0 or length // step > _MOST_STEPS:
                raise UsageError(f"{every!r} is no step for a window of {length / 1e9:g} s", hint="10ms, 0.5, 1s ...")
            bins = max(1, -(-length // step))
            data["series"] = {name: series(model, name, bins=bins, begin=begin, end=end) for name in _USED}
        data["problems"] = [
            {"kind": p.kind, "where": p.where, "text": p.text, "count": p.count} for p in trace.problems
        ]
    return Sheets(tables(data, usage), data, _notes(data))


def moment(text: str | None, begin: int) -> int | None:
    """Return the time that a text means, in ns: since `begin`, or with @ as it is. None for None."""
    if text is None:
        return None
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"{text!r} is no time", hint="1.5 (seconds from the begin of the trace), 200ms, @123456 (ns of the trace)"
        )
    number = float(match[2]) * _UNITS[match[3] or ("ns" if match[1] else "s")]
    exact = int(match[2]) if match[1] and "." not in match[2] and match[3] in (None, "ns") else round(number)
    return exact if match[1] else begin + exact


_WORK = ("jobs", "utilisation_percent", "mean_execution_ns", "mean_wait_ns", "mean_latency_ns", "preemptions")
_KINDS = {
    "utilisation_percent": "percent",
    "mean_percent": "percent",
    "max_percent": "percent",
    "stolen_share": "percent",
    **dict.fromkeys(("jobs", "requests", "joined", "preemptions", "count", "events", "missed", "waits"), "count"),
    **dict.fromkeys(("mean_bytes", "max_bytes", "last_bytes"), "bytes"),
    **dict.fromkeys(
        ("mean_execution_ns", "mean_wait_ns", "mean_latency_ns", "mean_guest_wait_ns", "mean_notice_ns",
         "clock_error_ns", "p99_latency_ns", "run_ns", "stolen_ns", "waking_ns",
         "guest_ns", "period_ns", "wait_ns", "longest_ns"),
        "ns",
    ),
}  # fmt: skip


def tables(data: Record, usage: Mapping[str, Sequence[Record]]) -> list[Rows]:
    """Return the figures of `drawtap.system.metrics.metrics` as tables, with `usage` drawn; some may have no rows."""
    return [
        _table(
            "Engines",
            ("device", "engine", *_WORK, "p99_latency_ns", "mean_queue", "max_queue", "usage"),
            _worked(data, "engines", usage),
        ),
        _table("Clients", ("client", "engine", *_WORK, "p99_latency_ns", "usage"), _worked(data, "clients", usage)),
        _table(
            "Virtual GPUs",
            ("vgpu", "engine", *_WORK, "p99_latency_ns", "mean_queue", "max_queue", "usage"),
            _worked(data, "vgpus", usage),
        ),
        _table("Guests", ("vm", "engine", *_WORK, "p99_latency_ns"), _worked(data, "guests", usage)),
        _table(
            "Virtual machines",
            ("vm", "vcpus", "run_ns", "guest_ns", "stolen_ns", "waking_ns", "preemptions", "most_by"),
            [{**m, "most_by": _thief(m)} for m in _records(data, "vms")],
        ),
        _table(
            "Who takes CPU time from whom",
            ("vm", "by", "stolen_ns", "preemptions"),
            sorted(
                [
                    {"vm": m["vm"], **t}
                    for m in _records(data, "vms")
                    for t in cast(Sequence[Record], m["stolen_by"])
                    if t["is_vm"]
                ],
                key=lambda r: -cast(int, r["stolen_ns"]),
            ),
        ),
        _table(
            "Guest traces",
            (
                "guest",
                "requests",
                "joined",
                "mean_guest_wait_ns",
                "mean_latency_ns",
                "p99_latency_ns",
                "mean_notice_ns",
                "clock_error_ns",
                "drift_ppm",
            ),
            _records(data, "guest_traces"),
        ),
        _table("Memory", ("track", "mean_bytes", "max_bytes", "last_bytes"), _records(data, "memory")),
        _table(
            "Memory by virtual machine",
            ("vm", "device", "basis", "mean_bytes", "max_bytes", "last_bytes"),
            _records(data, "memory_vms"),
        ),
        _table(
            "Memory by process",
            ("client", "vm", "device", "basis", "mean_bytes", "max_bytes", "last_bytes"),
            _records(data, "memory_processes"),
        ),
        _table("Activity", ("track", "mean_percent", "max_percent"), _records(data, "activity")),
        _table("Displays", ("crtc", "delivered", "events", "missed", "period_ns"), _records(data, "displays")),
        _table("Waits for fences", ("comm", "tid", "waits", "wait_ns", "longest_ns"), _records(data, "fence_waits")),
        _table("Not told", ("driver", "event", "count", "reason"), _records(data, "unmatched")),
    ]


def _records(data: Record, name: str) -> Sequence[Record]:
    return cast(Sequence[Record], data[name])


def _worked(data: Record, name: str, usage: Mapping[str, Sequence[Record]]) -> list[Record]:
    window = cast(Record, data["window"])
    found: list[Record] = []
    for record in _records(data, name):
        latency = cast(Mapping[str, Mapping[str, object]], record["percentiles"])["latency_ns"]
        queue = cast(Record, record.get("queue") or {})
        found.append(
            {
                **record,
                "p99_latency_ns": latency["p99"],
                "mean_queue": queue.get("mean"),
                "max_queue": queue.get("max"),
                "usage": _sparkline(record, name, usage.get(name, ()), window),
            }
        )
    return found


def _sparkline(record: Record, name: str, series: Sequence[Record], window: Record) -> str | None:
    if record["utilisation_percent"] is None or name not in _USED or not series:
        return None
    shares = [0.0] * _CELLS
    begin, length = cast(int, window["begin_ns"]), cast(int, window["duration_ns"])
    for row in series:
        if all(row[c] == record[c] for c in _USED[name]):
            at = (cast(int, row["t_ns"]) - begin) * _CELLS // max(length, 1)
            shares[min(at, _CELLS - 1)] = max(shares[min(at, _CELLS - 1)], cast(float, row["busy"]))
    return "".join(_MARKS[min(round(s * (len(_MARKS) - 1)), len(_MARKS) - 1)] for s in shares)


def _thief(machine: Record) -> str | None:
    thieves = cast(Sequence[Record], machine["stolen_by"])
    return str(thieves[0]["by"]) if thieves else None


def _table(title: str, columns: tuple[str, ...], records: Sequence[Record]) -> Rows:
    used = tuple(c for c in columns if any(r.get(c) is not None for r in records)) if records else columns
    return Rows(used, [[r.get(c) for c in used] for r in records], kinds=_KINDS, title=title)


def _notes(data: Record) -> list[str]:
    notes = [f"{p['text']}" for p in _records(data, "problems")]
    if not data["drivers"]:
        notes.append("no event of this trace is known to a driver: drawtap system info lists the events")
    return notes
