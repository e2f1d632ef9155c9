"""Readings of sensors beside a recording: numbers by call or by frame that an engine, a driver or a tool measured.

They stand in the folder `<recording without suffix>_inst`, one Parquet file a table. A table has a column `seq` (number
of a call) or `frame`, and a column a sensor. SQL reaches every table by its name; that called `sensors` is also
there as `event.sensors` of the table `trace`, as in the query language of Kyostila's thesis (Figure 32).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from drawtap.errors import InputError, UsageError, no_file, whole_file
from drawtap.trace.result import Row, connect
from drawtap.trace.sql_text import quote_text

_KEYS = ("seq", "frame")
_READERS = {".csv": "read_csv", ".tsv": "read_csv", ".parquet": "read_parquet", ".json": "read_json"}
_WRITERS = {".csv": "(FORMAT csv, HEADER)", ".parquet": "(FORMAT parquet)", ".json": "(FORMAT json, ARRAY true)"}


def folder(trace: Path) -> Path:
    """Return the folder in which the readings of a recording stand."""
    return trace.with_name(trace.stem + "_inst")


def tables(trace: Path) -> dict[str, Path]:
    """Return the tables of readings that a recording has: name to file."""
    where = folder(trace)
    return {file.stem: file for file in sorted(where.glob("*.parquet"))} if where.is_dir() else {}


def load(trace: Path, file: Path, *, name: str = "sensors") -> tuple[Path, int]:
    """Store the readings in a CSV, Parquet, JSON or instrumentation.log file beside a recording.

    Returns where, and the number of rows. Raises InputError for a file that has neither `seq` nor `frame`, or no
    sensor.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise UsageError(f"{name!r} cannot be the name of a table", hint="letters, digits and _")
    if not file.exists():
        raise no_file(file)
    connection = connect()
    try:
        if file.suffix == ".log":
            _read_log(connection, file)
        else:
            reader = _READERS.get(file.suffix)
            if reader is None:
                raise UsageError(f"{file} has no known format", hint=f"{', '.join(_READERS)} or .log")
            connection.execute(f"CREATE TABLE readings AS SELECT * FROM {reader}({quote_text(file)})")
        described = connection.execute("DESCRIBE readings").fetchall()
        columns = [str(row[0]) for row in described]
        if not any(key in columns for key in _KEYS):
            hint = "seq numbers calls, frame numbers frames"
            raise InputError(f"{file} has neither a column seq nor one called frame: {', '.join(columns)}", hint=hint)
        if not set(columns) - set(_KEYS):
            raise InputError(f"{file} has no sensor: its only columns are {', '.join(columns)}")
        where = folder(trace)
        where.mkdir(exist_ok=True)
        target = where / f"{name}.parquet"
        key = next(key for key in _KEYS if key in columns)
        ordered = f"SELECT * FROM readings ORDER BY {key}"
        with whole_file(target) as part:
            connection.execute(f"COPY ({ordered}) TO {quote_text(part)} (FORMAT parquet)")
        [(rows,)] = connection.execute("SELECT count(*) FROM readings").fetchall()
        return target, int(rows)
    except duckdb.Error as error:
        raise InputError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None
    finally:
        connection.close()


def save(trace: Path, file: Path, *, name: str = "sensors") -> int:
    """Write stored readings as CSV, Parquet or JSON and return the number of rows."""
    stored = tables(trace).get(name)
    if stored is None:
        there = ", ".join(tables(trace)) or "none"
        raise InputError(
            f"{trace} has no readings called {name}", hint=f"there are: {there}; drawtap sensors stores some"
        )
    how = _WRITERS.get(file.suffix)
    if how is None:
        raise UsageError(f"{file} has no known format", hint=", ".join(_WRITERS))
    connection = connect()
    try:
        source = f"read_parquet({quote_text(stored)})"
        connection.execute(f"COPY (SELECT * FROM {source}) TO {quote_text(file)} {how}")
        [(rows,)] = connection.execute(f"SELECT count(*) FROM {source}").fetchall()
        return int(rows)
    except duckdb.Error as error:
        raise InputError(f"{file} cannot be written: {str(error).splitlines()[0]}") from None
    finally:
        connection.close()


def stream(file: Path) -> object:
    """Return a stored table as a capsule "arrow_array_stream"."""
    connection = connect()
    try:
        return connection.sql(f"SELECT * FROM read_parquet({quote_text(file)})").__arrow_c_stream__()
    except duckdb.Error as error:
        raise InputError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None


def rows(file: Path) -> tuple[Sequence[str], list[Row]]:
    """Return the columns and the rows of a stored table."""
    connection = connect()
    try:
        cursor = connection.execute(f"SELECT * FROM read_parquet({quote_text(file)})")
        return [str(d[0]) for d in cursor.description or []], cursor.fetchall()
    except duckdb.Error as error:
        raise InputError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None
    finally:
        connection.close()


def _read_log(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    # `event NAME SEQ` and then `value int|float|str SENSOR VALUE`: what the player of the original toolkit wrote.
    connection.execute(
        "CREATE TABLE lines AS SELECT * FROM (SELECT NULL::BIGINT AS seq, '' AS sensor, 0.0 AS value) LIMIT 0"
    )
    connection.executemany("INSERT INTO lines VALUES (?, ?, ?)", list(_log_values(file)) or [[None, None, None]])
    readings = [
        r[0]
        for r in connection.execute("SELECT DISTINCT sensor FROM lines WHERE sensor IS NOT NULL ORDER BY 1").fetchall()
    ]
    if not readings:
        raise InputError(f"{file} has no readings")
    connection.execute(
        "CREATE TABLE readings AS PIVOT lines ON sensor USING any_value(value) GROUP BY seq ORDER BY seq"
    )


def _log_values(file: Path) -> Iterator[list[object]]:
    seq: int | None = None
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            words = line.split()
            try:
                if words[:1] == ["event"]:
                    seq = int(words[2])
                elif words[:1] == ["value"] and words[1] != "str" and seq is not None:
                    yield [seq, words[2], float(words[3])]
            except (IndexError, ValueError):
                raise InputError(f"{file}: line {number} makes no sense: {line.strip()[:60]!r}") from None
