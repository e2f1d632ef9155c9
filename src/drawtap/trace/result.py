"""Answers of DuckDB, and the one place that opens it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import duckdb

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Parameters: TypeAlias = Sequence[object] | Mapping[str, object]
#: A row of an answer: values as DuckDB gives them, in the order of the columns.
Row: TypeAlias = tuple[Any, ...]


def connect(path: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Open DuckDB in memory, or on a file."""
    return duckdb.connect(":memory:" if path is None else str(path))


class Stream:
    """A table for DuckDB: every scan gets a fresh stream."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._make()


class Result:
    """Rows of an answer, fetched while they are walked through. Only the last one of a file stays open."""

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        again: Callable[[], tuple[duckdb.DuckDBPyConnection, str]],
        parameters: Parameters,
        translate: Callable[[Exception], BaseException],
    ) -> None:
        self._cursor = cursor
        self._again = again
        self._parameters = parameters
        self._translate = translate
        self._rest: list[Row] = []
        self._done = False
        described = cursor.description or []
        self.columns: tuple[str, ...] = tuple(str(d[0]) for d in described)
        self.types: tuple[str, ...] = tuple(str(d[1]) for d in described)
        # Rows that know their columns: what takes named tuples, as pandas does, keeps the names.
        self._row: Callable[[Row], Row] = type("Row", (tuple,), {"__slots__": (), "_fields": self.columns})

    def detach(self) -> None:
        """Fetch what is left into memory, so that the connection is free."""
        found = []
        while rows := self._fetch(2048):
            found += rows
        self._rest = found
        self._done = True

    def __iter__(self) -> Iterator[Row]:
        while rows := self._fetch(2048):
            yield from map(self._row, rows)

    def _fetch(self, count: int) -> list[Row]:
        if self._rest:
            rows, self._rest = self._rest[:count], self._rest[count:]
            return rows
        if self._done:
            return []
        try:
            return self._cursor.fetchmany(count)
        except (duckdb.Error, RuntimeError) as error:
            raise self._translate(error) from None

    def fetchall(self) -> list[Row]:
        """Return all rows that are left."""
        return list(self)

    def fetchone(self) -> Row | None:
        """Return the next row, None at the end."""
        rows = self._fetch(1)
        return self._row(rows[0]) if rows else None

    def __reduce__(self) -> NoReturn:
        raise TypeError("an answer is read once and cannot be pickled; pickle its rows: list(result)")

    def dicts(self) -> Iterator[dict[str, Any]]:
        """Yield rows as dictionaries by column name."""
        for row in self:
            yield dict(zip(self.columns, row, strict=True))

    def numpy(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return what is left, by column, as numpy arrays; columns with NULL are masked arrays."""
        self._done = True
        try:
            return self._cursor.fetchnumpy()
        except (duckdb.Error, RuntimeError) as error:
            raise self._translate(error) from None

    def arrow(self) -> object:
        """Return an object with `__arrow_c_stream__`, for nanoarrow, pyarrow, polars... The query runs for it anew."""
        return Stream(self.__arrow_c_stream__)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        try:
            cursor, text = self._again()
            relation = cursor.sql(text, params=self._parameters or None)
            return relation.__arrow_c_stream__()
        except (duckdb.Error, RuntimeError) as error:
            raise self._translate(error) from None

    def __repr__(self) -> str:
        return f"<Result {', '.join(self.columns)}>"
