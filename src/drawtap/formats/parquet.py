"""Write calls as parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.formats import export_format
from drawtap.trace.ranges import Selection
from drawtap.trace.sql_text import quote_text

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@export_format("parquet", ".parquet")
def write_parquet(trace: Trace, selection: Selection, path: Path) -> None:
    """Apache Parquet with zstd, for DuckDB, pandas, Polars and Spark: columns of the table calls."""
    columns = "seq, frame, thread, context, name, t_start, duration, category, params, result, payload_bytes"
    target = quote_text(path)
    calls = f"SELECT {columns} FROM calls WHERE {selection.where()} ORDER BY seq"
    trace.sql(f"COPY ({calls}) TO {target} (FORMAT parquet, COMPRESSION zstd)")
