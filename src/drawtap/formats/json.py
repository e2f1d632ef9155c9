"""Write calls as json."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.formats import export_format
from drawtap.trace.ranges import Selection
from drawtap.trace.sql_text import quote_text

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@export_format("json", ".json")
def write_json(trace: Trace, selection: Selection, path: Path) -> None:
    """A list of objects, one a line, with the parameters as an object."""
    columns = "seq, frame, thread, context, name, t_start, duration, params::JSON AS params, result"
    target = quote_text(path)
    calls = f"SELECT {columns} FROM calls WHERE {selection.where()} ORDER BY seq"
    trace.sql(f"COPY ({calls}) TO {target} (FORMAT json, ARRAY true)")
