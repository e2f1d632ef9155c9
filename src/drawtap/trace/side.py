"""The side database of a recording: `<recording>.duckdb`, with tables that later questions need not decode again.

It is a cache: deleting it loses nothing. Only what this user's drawtap has written is read (`trace.proof`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb

from drawtap.errors import UnavailableError, whole_file
from drawtap.trace.result import Stream, connect
from drawtap.trace.sql_text import quote, quote_text

_FORMAT = "2"


class SideDatabase:
    """The database beside a recording: whether it may be read, and its tables; `doubted` says why it is not."""

    def __init__(self, recording: Path) -> None:
        self._recording = recording
        self.path = recording.with_name(recording.name + ".duckdb")
        self.tables: frozenset[str] = frozenset()
        self.doubted = ""

    def stamp(self) -> str:
        """Return what tells the state of the recording that the tables are of."""
        from drawtap.trace import proof  # with the functions that hash, where there is a side database

        return f"{_FORMAT} {proof.stamp(self._recording)}"

    def proved(self) -> Path | None:
        """Return the file where it is one that may be read, else None."""
        if not os.path.lexists(self.path):
            return None
        from drawtap.trace import proof

        path = self.path.absolute()
        self.doubted = proof.doubt(path, self.stamp())
        return None if self.doubted else path

    def attach(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        """Attach the file as `cache`. Only once files are closed off: what is attached could ask for others."""
        try:
            connection.execute(f"ATTACH {quote_text(path)} AS cache (READ_ONLY)")
            stamps = connection.execute("SELECT stamp FROM cache.drawtap_cache").fetchall()
            if stamps != [(self.stamp(),)]:
                connection.execute("DETACH cache")
                return
            rows = connection.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'cache'").fetchall()
            self.tables = frozenset(str(row[0]) for row in rows) - {"drawtap_cache"}
        except duckdb.Error as error:  # another DuckDB wrote it, or somebody writes now: it is only a cache
            self.doubted = str(error).partition("\n")[0]
            self.tables = frozenset()

    def write(
        self, tables: Sequence[tuple[str, Stream]], translated: Callable[[Exception, str], BaseException]
    ) -> Path:
        """Write the file anew and return its path. `translated` makes what DuckDB says an error of ours.

        Raises UnavailableError where it cannot be noted that it was written here.
        """
        from drawtap.trace import proof

        self.tables = frozenset()
        with whole_file(self.path) as part:
            writer = connect(part)
            try:
                for name, stream in tables:
                    writer.register("_once", stream)
                    writer.execute(f"CREATE TABLE {quote(name)} AS SELECT * FROM _once")
                    writer.unregister("_once")
                writer.execute("CREATE TABLE drawtap_cache AS SELECT ?::VARCHAR AS stamp", [self.stamp()])
            except (duckdb.Error, RuntimeError) as error:
                raise translated(error, "") from None
            finally:
                writer.close()
        try:
            proof.note(self.path, self.stamp())
        except OSError as error:
            raise UnavailableError(f"that {self.path} was written here cannot be noted: {error}") from None
        return self.path
