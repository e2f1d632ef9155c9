"""The figures of a kernel trace as tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drawtap.output.result import Rows

Record = Mapping[str, Any]

CELLS = 30  # of a line of usage
_MARKS = " ▁▂▃▄▅▆▇█"
#: The rows that have usage over time, and the columns that name one row.
USED: Mapping[str, tuple[str, ...]] = {
    "engines": ("device", "engine"),
    "clients": ("client", "device", "engine"),
    "vgpus": ("vgpu", "device", "engine"),
}

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
            "Stolen CPU time, and the thief",
            ("vm", "by", "stolen_ns", "preemptions"),
            sorted(
                [{"vm": m["vm"], **t} for m in _records(data, "vms") for t in m["stolen_by"] if t["is_vm"]],
                key=lambda r: -r["stolen_ns"],
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
    records: Sequence[Record] = data[name]
    return records


def _worked(data: Record, name: str, usage: Mapping[str, Sequence[Record]]) -> list[Record]:
    window = data["window"]
    records: list[Record] = []
    for record in _records(data, name):
        latency = record["percentiles"]["latency_ns"]
        queue = record.get("queue") or {}
        records.append(
            {
                **record,
                "p99_latency_ns": latency["p99"],
                "mean_queue": queue.get("mean"),
                "max_queue": queue.get("max"),
                "usage": _sparkline(record, name, usage.get(name, ()), window),
            }
        )
    return records


def _sparkline(record: Record, name: str, series: Sequence[Record], window: Record) -> str | None:
    if record["utilisation_percent"] is None or name not in USED or not series:
        return None
    shares = [0.0] * CELLS
    begin, length = window["begin_ns"], window["duration_ns"]
    for row in series:
        if all(row[c] == record[c] for c in USED[name]):
            at = (row["t_ns"] - begin) * CELLS // max(length, 1)
            shares[min(at, CELLS - 1)] = max(shares[min(at, CELLS - 1)], row["busy"])
    return "".join(_MARKS[min(round(s * (len(_MARKS) - 1)), len(_MARKS) - 1)] for s in shares)


def _thief(machine: Record) -> str | None:
    thieves = machine["stolen_by"]
    return str(thieves[0]["by"]) if thieves else None


def _table(title: str, columns: tuple[str, ...], records: Sequence[Record]) -> Rows:
    used = tuple(c for c in columns if any(r.get(c) is not None for r in records)) if records else columns
    return Rows(used, [[r.get(c) for c in used] for r in records], kinds=_KINDS, title=title)
