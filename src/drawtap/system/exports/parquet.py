"""Parquet: a folder of tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.system.exporter import Window, export
from drawtap.trace.result import Stream, connect
from drawtap.trace.sql_text import quote_text

if TYPE_CHECKING:
    from drawtap.system.model import KernelModel
    from drawtap.system.reader import KernelTrace


@export("parquet", "")
def write_parquet(trace: KernelTrace, model: KernelModel, path: Path, window: Window | None) -> int:
    """Parquet: a folder with a file for each table of the model, and `events/NAME.parquet` for each event.

    With a window: the requests, executions, spans and states that touch it, counters, memory and links inside it.
    """
    from drawtap.tables.kernel import TABLES

    (path / "events").mkdir(parents=True, exist_ok=True)
    begin, end = (window.begin, window.end) if window else (None, None)
    for name in TABLES:
        model.query(f"SELECT 1 FROM {name} LIMIT 0")  # some are made when they are first asked for
        rows = model.connection.cursor().sql(_rows(name, window))  # the model's own connection has no access to files
        _copy(Stream(rows.__arrow_c_stream__), path / f"{name}.parquet")
    for name in trace.event_names():
        events = trace.events(name, begin=begin, end=end)
        _copy(events, path / "events" / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.parquet")
    return sum(file.stat().st_size for file in path.rglob("*.parquet"))


_FIRST = "coalesce(created_ns, queued_ns, ready_ns, submitted_ns, begin_ns, end_ns, done_ns, retired_ns)"
# Requests that are open at the end of the trace last until then.
_LAST = "coalesce(greatest(end_ns, done_ns), retired_ns, (SELECT end_ns FROM trace_window))"


def _rows(name: str, window: Window | None) -> str:
    if window is None or name in ("threads", "unmatched", "guests", "guest_threads"):
        return f"SELECT * FROM {name}"
    if name == "counters":
        return window.counters()
    if name == "memory_use":
        return window.memory()
    columns = {
        "requests": (_FIRST, _LAST),
        "guest_requests": (
            "coalesce(asked_ns, handed_ns, end_ns)",
            "coalesce(end_ns, host_end_ns, handed_ns, asked_ns)",
        ),
        "links": ("coalesce(from_ns, to_ns)", "coalesce(to_ns, from_ns)"),
    }
    return f"SELECT * FROM {name} WHERE {window.touches(*columns.get(name, ('begin_ns', 'end_ns')))}"


def _copy(table: object, path: Path) -> None:
    target = quote_text(path)
    with connect() as connection:
        connection.register("exported", table)
        connection.execute(f"COPY (SELECT * FROM exported) TO {target} (FORMAT parquet, COMPRESSION zstd)")
