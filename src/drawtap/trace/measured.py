"""What was measured while a recording was played: files beside it, and rows of its table `metrics`.

`drawtap profile` writes a Parquet file a run to `<recording>_metrics/`. The table has them together with the records
that hooks of users' modules made while the program ran (`per` is `mark` for those).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb

from drawtap.errors import InputError

#: Columns of the table `metrics`: name, type, meaning.
COLUMNS = (
    ("seq", "UBIGINT", "the call; of a frame or range its first one"),
    ("thread", "USMALLINT", "of a mark: the thread"),
    ("t", "BIGINT", "of a mark: when, in ns"),
    ("name", "VARCHAR", "id of the metric, or what the hook called it"),
    ("value", "DOUBLE", "the median over the repetitions; NULL where `note` says why"),
    ("per", "VARCHAR", "call, draw, frame, range, or mark"),
    ("number", "UBIGINT", "of the frame or range"),
    ("end_seq", "UBIGINT", "the call behind the last one"),
    ("frame", "UBIGINT", "the frame that it began in"),
    ("range", "VARCHAR", "name of the range"),
    ("unit", "VARCHAR", "ns, bytes, count, percent or the driver's"),
    ("spread", "DOUBLE", "largest less smallest value of the repetitions"),
    ("samples", "INTEGER", "repetitions with a value"),
    ("note", "VARCHAR", "why there is no value, or what to know of it"),
    ("draws", "BIGINT", "how many draws it is of"),
    ("unknown_draws", "BIGINT", "of how many of them it is not known, where there is no value"),
    ("at_least", "DOUBLE", "the sum of what is known, where there is no value: a lower bound"),
    ("pass", "INTEGER", "the pass that measured it"),
    ("replay_start", "BIGINT", "when it began in the (first) replay, in ns"),
    ("replay_ns", "BIGINT", "how long it took in the (first) replay, with what measuring cost"),
    ("engine", "VARCHAR", "what played"),
    ("run", "INTEGER", "number of the run of drawtap profile"),
)
_MARKS = ("seq", "thread", "t", "name", "value")


def folder(trace: Path) -> Path:
    """Return the folder of what was measured of a recording."""
    return trace.with_name(trace.name.removesuffix(".dtap") + "_metrics")


def files(trace: Path) -> list[Path]:
    """Return the runs that a recording has, oldest first."""
    where = folder(trace)
    return sorted(where.glob("*.parquet")) if where.is_dir() else []


def stream(trace: Path, marks: Callable[[], object]) -> object:
    """Return the table `metrics` as a capsule "arrow_array_stream"; `marks` gives that of the hooks' records."""
    connection = duckdb.connect(":memory:")
    try:
        connection.register("marks", _Marks(marks))
        parts = [f"SELECT {_columns(_MARKS, mark=True)} FROM marks"]
        names = tuple(name for name, _, _ in COLUMNS)
        for file in files(trace):
            source = f"FROM read_parquet({_quoted(str(file))})"
            has = {str(row[0]) for row in connection.sql(f"DESCRIBE {source}").fetchall()}
            parts.append(f"SELECT {_columns(tuple(name for name in names if name in has))} {source}")
        return connection.sql(" UNION ALL ".join(parts)).__arrow_c_stream__()
    except duckdb.Error as error:
        what = str(error).splitlines()[0]
        raise InputError(f"{folder(trace)} cannot be read: {what}", hint="drawtap profile makes it anew") from None


class _Marks:
    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._make()


def _columns(there: tuple[str, ...], *, mark: bool = False) -> str:
    parts = []
    for name, kind, _ in COLUMNS:
        text = f'"{name}"' if name in there else "'mark'" if mark and name == "per" else "NULL"
        parts.append(f'{text}::{kind} AS "{name}"')
    return ", ".join(parts)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
