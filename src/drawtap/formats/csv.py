"""Write calls as csv."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.formats import export_format
from drawtap.trace.ranges import Selection
from drawtap.trace.sql_text import quote_text

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@export_format("csv", ".csv")
def write_csv(trace: Trace, selection: Selection, path: Path) -> None:
    """Comma-separated values with a header line, for spreadsheets; the last column is the call as text."""
    columns = 'seq, frame, thread, context, name, t_start, duration, "call"'
    target = quote_text(path)
    calls = f"SELECT {columns} FROM calls WHERE {selection.where()} ORDER BY seq"
    trace.sql(f"COPY ({calls}) TO {target} (FORMAT csv, HEADER)")
