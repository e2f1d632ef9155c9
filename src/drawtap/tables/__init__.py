"""Tables as data: what one row is, and each column with its type, its unit and its meaning.

One file a kind of file: `recording` and `kernel`. The reference pages, near misses, completion and typed rows come from
it; tests hold it against the columns that the tables have. Nothing here reads or asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

TEXT, BOOL, U16, U32, U64 = "VARCHAR", "BOOLEAN", "USMALLINT", "UINTEGER", "UBIGINT"
I32, I64, F32, F64 = "INTEGER", "BIGINT", "FLOAT", "DOUBLE"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its DuckDB type, what it holds, and the unit of a quantity."""

    name: str
    type: str
    doc: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: what one row is, where its rows come from, and its columns in their order.

    `source` of a recording's: `calls`; `reader`; `state` (the state machine); `graph` (of calls that need each other);
    `computed` (by another room). In a kernel trace: `model`, or `timeline` where it is made when asked for.
    """

    name: str
    doc: str
    source: str
    columns: tuple[Column, ...]


def table(name: str, source: str, doc: str, *columns: tuple[str, ...]) -> Table:
    """Return a table whose columns are written as tuples: name, type, meaning, and unit where there is one."""
    return Table(name, doc, source, tuple(Column(*column) for column in columns))


def by_name(tables: Iterable[Table]) -> Mapping[str, Table]:
    """Return tables by their names."""
    return {one.name: one for one in tables}
