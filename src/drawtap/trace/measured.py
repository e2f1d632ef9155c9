"""Measurements of a replay: files beside the recording, and rows of its table `metrics`.

`drawtap profile` writes a Parquet file a run to `<recording>_metrics/`. The table has them together with the records
that hooks of users' modules made while the program ran (`per` is `mark` for those).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb

from drawtap.errors import InputError
from drawtap.tables import Column
from drawtap.tables.recording import declared
from drawtap.trace.result import Stream, connect
from drawtap.trace.sql_text import quote, quote_text

_MARKS = ("seq", "thread", "t", "name", "value")


def columns() -> tuple[Column, ...]:
    """Return the columns of the table `metrics`."""
    return declared.columns("metrics")


def folder(trace: Path) -> Path:
    """Return the folder of what was measured of a recording."""
    return trace.with_name(trace.name.removesuffix(".dtap") + "_metrics")


def files(trace: Path) -> list[Path]:
    """Return the runs that a recording has, oldest first."""
    where = folder(trace)
    return sorted(where.glob("*.parquet")) if where.is_dir() else []


def stream(trace: Path, marks: Callable[[], object]) -> object:
    """Return the table `metrics` as a capsule "arrow_array_stream"; `marks` gives the hooks' records."""
    connection = connect()
    try:
        connection.register("marks", Stream(marks))
        parts = [f"SELECT {_columns(_MARKS, mark=True)} FROM marks"]
        names = tuple(column.name for column in columns())
        for file in files(trace):
            source = f"FROM read_parquet({quote_text(file)})"
            has = {str(row[0]) for row in connection.sql(f"DESCRIBE {source}").fetchall()}
            parts.append(f"SELECT {_columns(tuple(name for name in names if name in has))} {source}")
        return connection.sql(" UNION ALL ".join(parts)).__arrow_c_stream__()
    except duckdb.Error as error:
        what = str(error).splitlines()[0]
        raise InputError(f"{folder(trace)} cannot be read: {what}", hint="drawtap profile makes it anew") from None


def _columns(there: tuple[str, ...], *, mark: bool = False) -> str:
    parts = []
    for column in columns():
        name = quote(column.name)
        text = name if column.name in there else "'mark'" if mark and column.name == "per" else "NULL"
        parts.append(f"{text}::{column.type} AS {name}")
    return ", ".join(parts)
