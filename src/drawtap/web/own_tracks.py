"""A database in memory for small tables, and rows of the timeline that the user's own questions make there."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Protocol

import duckdb

from drawtap.errors import UsageError
from drawtap.trace.library import Cancelled
from drawtap.trace.result import Result, Stream, connect
from drawtap.trace.sql_text import quote
from drawtap.web.levels import Columns, CounterSource, SpanSource
from drawtap.web.tracks import Track, Tracks

MOST_OWN = 1_000_000  # rows behind a row of the timeline
_BEGINS = ("t_start", "begin_ns", "t", "t_ns", "ts", "begin")
_ENDS = ("t_end", "end_ns", "end")
_LENGTHS = ("duration", "dur", "length_ns")


class Asked(Protocol):
    """A recording or a kernel trace that answers questions."""

    def sql(self, query: str) -> Result:
        """Answer a question."""


Lent = Callable[[], contextlib.AbstractContextManager[Asked]]


class Small:
    """Tables in memory, copied from answers."""

    def __init__(self) -> None:
        self.connection = connect()

    def run(self, sql: str) -> Columns:
        """Answer a question about the copies."""
        try:
            return self.connection.cursor().execute(sql).fetchnumpy()
        except duckdb.Error as error:  # values of a row of the user's own
            raise UsageError(str(error).partition("\n")[0], hint="TRY_CAST leaves out values of another kind") from None

    def copy(self, name: str, sql: str, asked: Asked) -> int:
        """Copy the rows of an answer into a table and return their number. Raises Cancelled where it was stopped."""
        cursor = self.connection.cursor()
        try:
            cursor.register("_rows", Stream(lambda: asked.sql(sql).__arrow_c_stream__()))
            cursor.execute(f"CREATE OR REPLACE TABLE {quote(name)} AS SELECT * FROM _rows")
        except duckdb.Error as error:  # DuckDB makes the question's errors its own
            if "Cancelled: " in str(error) or "INTERRUPT Error" in str(error):
                raise Cancelled("cancelled") from None
            raise
        cursor.unregister("_rows")
        return int(cursor.execute(f"SELECT count(*) FROM {quote(name)}").fetchall()[0][0])

    def close(self) -> None:
        """Forget the tables."""
        self.connection.close()


class OwnTracks:
    """Rows of the user's own."""

    def __init__(self, small: Small, tracks: Tracks, lent: Lent) -> None:
        self._small = small
        self._tracks = tracks
        self._lent = lent
        self._known: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, sql: str) -> int:
        """Add a row for a question and return its number; the same question keeps its row.

        The answer has a time (`t_start`, `t`, `begin_ns`, `ts`), and a length (`duration`, `dur`) or an end (`t_end`,
        `end_ns`) for spans, or else a `value` for a curve; `name` and `seq` are shown. Raises UsageError otherwise.
        """
        text = sql.strip().rstrip(";")
        with self._lock:
            if text in self._known:
                return self._known[text]
            table = f"own {len(self._known)}"
            with self._lent() as asked:
                asked.sql(text)  # mistakes are errors before anything is copied
                count = self._small.copy(table, f"SELECT * FROM ({text}\n) LIMIT {MOST_OWN + 1}", asked)
            if count > MOST_OWN:
                raise UsageError(
                    f"a row of the timeline has at most {MOST_OWN:,} spans", hint="add conditions or LIMIT"
                )
            described = self._small.connection.cursor().execute(f"DESCRIBE {quote(table)}").fetchall()
            track = self._track(table, {str(row[0]) for row in described}, text)
            self._tracks.add([track])
            self._known[text] = len(self._tracks.tracks) - 1
            return self._known[text]

    def _track(self, table: str, columns: set[str], sql: str) -> Track:
        begin, end, length = (next((c for c in names if c in columns), None) for names in (_BEGINS, _ENDS, _LENGTHS))
        if begin is None:
            raise UsageError("the answer has no time", hint=f"name a column {', '.join(_BEGINS[:4])}")
        label = " ".join(sql.split())[:80]
        whole = max(self._tracks.length, 1)
        rows = f"FROM {quote(table)} WHERE {begin} IS NOT NULL"
        if end is None and length is None and "value" in columns:
            counted = (
                f"SELECT 'own' AS track, {begin}::BIGINT AS t, value::DOUBLE AS value {rows} AND value IS NOT NULL"
            )
            values = CounterSource(self._small.run, counted, self._tracks.zero)
            values.totals(0, whole, ["own"])  # are they numbers?
            return Track("Own", label, "counter", values, (("own", "counter"),), sql=sql)
        until = end or (f"{begin} + coalesce({length}, 0)" if length else begin)
        name = "name" if "name" in columns else "text" if "text" in columns else "''"
        key = "seq" if "seq" in columns else "row_number() OVER () - 1"
        spans = (
            f"SELECT 'own' AS track, ({key})::BIGINT AS id, {begin}::BIGINT AS b, "
            f"greatest(({until})::BIGINT, {begin}::BIGINT) AS e, {name}::VARCHAR AS name {rows}"
        )
        source = SpanSource(self._small.run, lambda *_: spans, self._tracks.zero, self._tracks.length)
        source.totals(0, whole, ["own"], 1)
        shape = "queue" if end or length else "marks"
        return Track("Own", label, shape, source, (("own", "own"),), "call" if "seq" in columns else "", sql=sql)
