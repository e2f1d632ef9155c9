"""Answers of DuckDB, and the one place that opens it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import duckdb

from drawtap.errors import UnavailableError, carried
from drawtap.scratch import Scratch
from drawtap.trace import engine
from drawtap.trace.sql_text import quote, quote_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Parameters: TypeAlias = Sequence[object] | Mapping[str, object]
#: A row of an answer: values as DuckDB gives them, in the order of the columns.
Row: TypeAlias = tuple[Any, ...]


_SHOWN = 20  # rows that a printed answer has
_WIDEST = 60  # characters of a cell in it
_AS_WRITTEN = {"count_star()": "count(*)"}  # what DuckDB calls a column, and what people have written


def _needed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise UnavailableError(f"{module} is not installed here", hint=f"pip install {module}") from None


def _padded(cell: str, width: int, right: bool) -> str:
    cell = cell if len(cell) <= width else cell[: width - 1] + "…"
    return cell.rjust(width) if right else cell.ljust(width)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    return f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())


def connect(path: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Open DuckDB in memory, or on a file."""
    return engine.connect(path)


def named_rows(cursor: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Return the rows of an answer by the names of its columns."""
    names = [str(column[0]) for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


FORMS = ("csv", "parquet", "arrow")  # of saved answers; arrow is the IPC stream


def _save(rows: object, path: Path, form: str) -> None:
    """Write what has `__arrow_c_stream__` to a file, in bounded memory."""
    if form == "arrow":
        from nanoarrow.ipc import StreamWriter

        with StreamWriter.from_path(str(path)) as writer:
            writer.write_stream(rows)
        return
    with connect() as connection:
        connection.register("rows", rows)
        options = "FORMAT csv, HEADER" if form == "csv" else "FORMAT parquet"
        connection.execute(f"COPY rows TO {quote_text(str(path))} ({options})")


def save_rows(columns: Sequence[str], rows: Iterable[Sequence[object]], path: Path, form: str) -> None:
    """Write rows of plain values to a file as `Result.save` does; types are those that the values have.

    The rows are read once.
    """
    names = [f"{name or 'column'}{f'_{i}' if name in columns[:i] else ''}" for i, name in enumerate(columns)]
    with connect() as connection, Scratch() as folder:
        rows_file, count = Path(folder) / "rows.json", 0
        with rows_file.open("w", encoding="utf-8") as lines:
            for count, row in enumerate(rows, 1):  # noqa: B007 -- their number is asked behind the loop
                lines.write(json.dumps({f"c{i}": value for i, value in enumerate(row)}) + "\n")
        shown = ", ".join(f"c{i} AS {quote(name)}" for i, name in enumerate(names))
        source = f"read_json({quote_text(rows_file)}, format = 'newline_delimited', sample_size = -1)"
        if not count:
            shown, source = ", ".join(f"''::VARCHAR AS {quote(name)}" for name in names), "range(0)"
        _save(Stream(connection.sql(f"SELECT {shown} FROM {source}").__arrow_c_stream__), path, form)


class Stream:
    """A table for DuckDB: every scan gets a fresh stream."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        with carried():
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
        self._taken = 0  # rows that were given out
        self._done = False
        described = cursor.description or []
        self.columns: tuple[str, ...] = tuple(_AS_WRITTEN.get(str(d[0]), str(d[0])) for d in described)
        self.types: tuple[str, ...] = tuple(str(d[1]) for d in described)
        # Rows that know their columns: what takes named tuples, as pandas does, keeps the names.
        self._row: Callable[[Row], Row] = type("Row", (tuple,), {"__slots__": (), "_fields": self.columns})

    def detach(self) -> None:
        """Fetch what is left into memory, so that the connection is free."""
        rest = []
        while rows := self._read(2048):
            rest += rows
        self._rest = rest
        self._done = True

    def _peek(self, count: int) -> list[Row]:
        """Return the next `count` rows, which stay."""
        while len(self._rest) < count:
            rest, self._rest = self._rest, []
            more = self._read(count - len(rest))
            self._rest = rest + more
            if not more:
                break
        return self._rest[:count]

    def __iter__(self) -> Iterator[Row]:
        while rows := self._fetch(2048):
            yield from map(self._row, rows)

    def _fetch(self, count: int) -> list[Row]:
        rows = self._read(count)
        self._taken += len(rows)
        return rows

    def _read(self, count: int) -> list[Row]:
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
        whole = self._taken == 0 and not self._rest and not self._done
        taken, self._done, self._rest = self._taken, True, []
        try:
            cursor = self._cursor if whole else self._relation()
            columns = cursor.fetchnumpy()
        except (duckdb.Error, RuntimeError) as error:
            raise self._translate(error) from None
        return {_AS_WRITTEN.get(name, name): values[taken:] for name, values in columns.items()}

    def arrow(self) -> object:
        """Return an object with `__arrow_c_stream__`, for nanoarrow, pyarrow, polars... The query runs for it anew."""
        return Stream(self.__arrow_c_stream__)

    def df(self) -> Any:
        """Return all rows as a pandas.DataFrame. The query runs for it anew. Raises UnavailableError without pandas."""
        _needed("pandas")
        try:
            return self._relation().df()
        except (duckdb.Error, RuntimeError) as error:
            raise self._translate(error) from None

    def pl(self) -> Any:
        """Return all rows as a polars.DataFrame. The query runs for it anew. Raises UnavailableError without polars."""
        return _needed("polars").from_arrow(self.arrow())

    def save(self, path: Path, form: str) -> None:
        """Write all rows to a file, as they come: `form` is one of FORMS. The query runs for it anew."""
        try:
            # Asked here and not where DuckDB reads it: `Database.interrupt` knows questions by their threads.
            _save(Stream(self._relation().__arrow_c_stream__), path, form)
        except (duckdb.Error, RuntimeError) as error:
            raise self._translate(error) from None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        try:
            return self._relation().__arrow_c_stream__()
        except (duckdb.Error, RuntimeError) as error:
            raise self._translate(error) from None

    def _relation(self) -> duckdb.DuckDBPyRelation:
        cursor, text = self._again()
        relation = cursor.sql(text, params=self._parameters or None)
        names = relation.columns
        if not set(names) & set(_AS_WRITTEN) or len(set(names)) < len(names):
            return relation
        quoted = (f"{quote(name)} AS {quote(_AS_WRITTEN.get(name, name))}" for name in names)
        return relation.project(", ".join(quoted))

    def __repr__(self) -> str:
        """Return the next rows as a table; they stay to be read."""
        rows = self._peek(_SHOWN + 1)
        cells = [[*self.columns], *([_text(value) for value in row] for row in rows[:_SHOWN])]
        right = [any(isinstance(row[i], int | float) for row in rows) for i in range(len(self.columns))]
        widths = [min(max(len(row[i]) for row in cells), _WIDEST) for i in range(len(self.columns))]
        lines = ["  ".join(_padded(*cell) for cell in zip(row, widths, right, strict=True)).rstrip() for row in cells]
        if not rows:
            lines.append("(no rows)")
        if len(rows) > _SHOWN:
            lines.append("...")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        import html  # in notebooks alone

        rows = self._peek(_SHOWN + 1)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{html.escape(_text(value))}</td>' for value in row)}</tr>" for row in rows[:_SHOWN]
        )
        more = "<p>and more rows</p>" if len(rows) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
