"""A trace as a DuckDB database, without copying it into one.

A query is parsed by DuckDB itself; the tables it names are given to it as Arrow streams that hold only the columns it
uses and only the calls its conditions on `seq` and `frame` leave. Two things are rewritten on the way: numbers compared
with a column of enumerants go to the column with their numbers (`mode = 4` means `mode_value = 4`), and the table
`trace` has one row `event` a call (`event.name`, `event.values`).

The connection has no access to files, except for the target of `COPY ... TO` and the side database.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

import duckdb

from drawtap.errors import QueryError, UnavailableError, did_you_mean, whole_file
from drawtap.trace import computed, measured, proof, sensors
from drawtap.trace.core import TABLES, Column, Json, Part, Selection, shipped_functions, write
from drawtap.trace.library import Cancelled
from drawtap.trace.state import TABLES as STATE_TABLES
from drawtap.trace.trace import LONG

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

Parameters = Sequence[object] | Mapping[str, object]
_Node = dict[str, object]

MEMORY = "2GB"  # of DuckDB, for long traces
_CACHE_FORMAT = "2"
_SHUT = ("autoload_known_extensions = false", "allow_community_extensions = false")
GRAPH_TABLES = ("redundancy",)  # made by trace.graph, which needs numpy: imported when asked for
# `event.state.path.X`: the first word is an argument of the call that names an object; collection below a share group.
_NAMED = {
    **{name: f"shares[*].{name}s" for name in ("buffer", "program", "renderbuffer", "sampler", "shader", "texture")},
    **{name: f"vg_shares[*].{name}s" for name in ("font", "image", "paint", "path")},
    "maskLayer": "vg_shares[*].mask_layers",
}
_SHORT = {("path", "segment_count"): "VG_PATH_NUM_SEGMENTS", ("path", "coordinate_count"): "VG_PATH_NUM_COORDS"}
_EVENT = {"time": "t_start", "values": "params"}  # names of the thesis form -> columns of calls
_ALLOWED = (
    "SELECT",
    "EXPLAIN",
    "PRAGMA",
    "SET",
    "VARIABLE_SET",
    "COPY",
    "CREATE",
    "RELATION",
    "CALL",
    "TRANSACTION",
    "PREPARE",
    "EXECUTE",
)
# A name of the kind that the registries give their commands.
_FUNCTION_NAME = re.compile(r"^(gl|egl|vg)\w+$", re.IGNORECASE)
_CATALOG = re.compile(r"^(duckdb_|pragma_|sqlite_|information_schema)", re.IGNORECASE)


class _Stream:
    """A table for DuckDB: every scan gets a fresh stream."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._make()


@dataclass
class _Use:
    """One mention of a table in a query, and what it needs of it."""

    table: str
    alias: str
    node: _Node | None = None
    of: Database | None = None  # another open trace: `b.calls`
    columns: set[str] = field(default_factory=set)  # lower case
    star: bool = False
    first_seq: int = 0
    end_seq: int | None = None
    first_frame: int = 0
    end_frame: int | None = None
    # event.state.X.Y of the table `trace`; True: it is compared with a number
    states: dict[tuple[str, ...], bool] = field(default_factory=dict)
    sensors: set[str] = field(default_factory=set)  # event.sensors.X of the table `trace`
    path: str = ""  # of the table `state`: what its paths match; its rows hold after some call of first_seq to end_seq


class Result:
    """Rows of an answer, fetched while they are walked through. Only the last result of a trace stays open."""

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
        self._rest: list[tuple[object, ...]] = []
        self._done = False
        described = cursor.description or []
        self.columns: tuple[str, ...] = tuple(str(d[0]) for d in described)
        self.types: tuple[str, ...] = tuple(str(d[1]) for d in described)
        # Rows that know their columns: what takes named tuples, as pandas does, keeps the names.
        self._row = type("Row", (tuple,), {"__slots__": (), "_fields": self.columns})

    def detach(self) -> None:
        """Fetch what is left into memory, so that the connection is free."""
        found = []
        while rows := self._fetch(2048):
            found += rows
        self._rest = found
        self._done = True

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        while rows := self._fetch(2048):
            yield from map(self._row, rows)

    def _fetch(self, count: int) -> list[tuple[object, ...]]:
        if self._rest:
            rows, self._rest = self._rest[:count], self._rest[count:]
            return rows
        if self._done:
            return []
        try:
            return cast("list[tuple[object, ...]]", self._cursor.fetchmany(count))
        except (duckdb.Error, RuntimeError) as error:
            raise self._translate(error) from None

    def fetchall(self) -> list[tuple[object, ...]]:
        """Return all rows that are left."""
        return list(self)

    def fetchone(self) -> tuple[object, ...] | None:
        """Return the next row, None at the end."""
        rows = self._fetch(1)
        return cast("tuple[object, ...]", self._row(rows[0])) if rows else None

    def __reduce__(self) -> NoReturn:
        raise TypeError("an answer is read once and cannot be pickled; pickle its rows: list(result)")

    def dicts(self) -> Iterator[dict[str, object]]:
        """Yield rows as dictionaries by column name."""
        for row in self:
            yield dict(zip(self.columns, row, strict=True))

    def arrow(self) -> object:
        """Return an object with `__arrow_c_stream__`, for nanoarrow, pyarrow, polars... The query runs for it anew."""
        return _Stream(self.__arrow_c_stream__)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        try:
            cursor, text = self._again()
            relation = cursor.sql(text, params=self._parameters or None)
            return relation.__arrow_c_stream__()
        except (duckdb.Error, RuntimeError) as error:
            raise self._translate(error) from None

    def __repr__(self) -> str:
        return f"<Result {', '.join(self.columns)}>"


class Database:
    """A DuckDB connection over one trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._schemas: dict[str | None, list[Column]] = {}
        self._functions: dict[str, str] | None = None  # lower case -> name
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._fresh_streams = int(duckdb.__version__.split(".")[0]) >= 2
        self._registered: list[str] = []
        self._spill: Path | None = None  # where what does not fit into memory goes
        self._temporary = False  # the user has made temporary tables: they live in the connection itself
        self._last: weakref.ref[Result] | None = None
        self._running: duckdb.DuckDBPyConnection | None = None
        self._number = 0
        self._cache: set[str] = set()  # tables in the side database
        self._answers: dict[str, computed.Answer] = {}  # of computed tables, by name
        self._safe = False  # questions are those of strangers
        self.doubted = ""  # why the side database is not read although there is one
        self.others: dict[str, Database] = {}  # traces that are open beside this one, by the name of their schema
        self.into = Path()  # where `SELECT ... INTO name` writes name.dtap
        self.inserted: Path | None = None  # the trace that the last query wrote
        _live.add(self)

    # ---- connection ------------------------------------------------------------------------------------

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection, opened when first used."""
        if self._connection is None:
            self._trace.core.check_open()
            self._connection = duckdb.connect(":memory:")
            self._connection.execute("SET python_enable_replacements = false")
            self._connection.execute("SET autoinstall_known_extensions = false")
            if cast(int, self._trace.info["calls"]) > LONG:
                self._bound_memory()
            self._lock()
        return self._connection

    def _bound_memory(self) -> None:
        # What does not fit goes to files.
        assert self._connection is not None
        self._spill = Path(tempfile.mkdtemp(prefix="drawtap-"))
        self._connection.execute(f"SET memory_limit = {_quote_text(MEMORY)}")
        self._connection.execute(f"SET temp_directory = {_quote_text(str(self._spill / 'spill'))}")

    def _lock(self) -> None:
        assert self._connection is not None
        # allowed_directories would open whole folders: files are closed off, COPY goes through a connection of its own.
        path = self._proved_cache()
        if path is not None:
            # DuckDB asks for its log too, which is not there: `doubt` has looked.
            self._connection.execute(f"SET allowed_paths = [{_quote_text(str(path))}, {_quote_text(f'{path}.wal')}]")
        if self._safe:
            for setting in (f"memory_limit = {_quote_text(MEMORY)}", "temp_directory = ''", *_SHUT):
                self._connection.execute(f"SET {setting}")
        self._connection.execute("SET enable_external_access = false")
        if path is not None:
            self._attach_cache(path)
        if self._safe:
            self._connection.execute("SET lock_configuration = true")

    def make_safe(self) -> None:
        """Answer questions of strangers from now on: SELECTs that read this trace alone, within bounded memory."""
        self.close()
        self._safe = True

    def interrupt(self) -> None:
        """Stop the query that runs now (from another thread); it then raises Cancelled."""
        running = self._running
        if running is not None:
            running.interrupt()

    def close(self) -> None:
        """Close the connection."""
        for answer in self._answers.values():
            answer.close()
        self._answers.clear()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        spill, self._spill = self._spill, None
        if spill is not None:
            shutil.rmtree(spill, ignore_errors=True)

    @property
    def cache_path(self) -> Path:
        """Where the side database is."""
        return self._trace.path.with_name(self._trace.path.name + ".duckdb")

    @property
    def cached(self) -> frozenset[str]:
        """Tables that are read from the side database."""
        return frozenset(self._cache)

    def _proved_cache(self) -> Path | None:
        path = self.cache_path
        if self._trace.frame_end != "auto" or not os.path.lexists(path):
            return None
        path = path.absolute()
        self.doubted = proof.doubt(path, self._stamp())
        return None if self.doubted else path

    def _attach_cache(self, path: Path) -> None:
        # Only once files are closed off: what is attached could ask for others.
        assert self._connection is not None
        connection = self._connection
        try:
            connection.execute(f"ATTACH {_quote_text(str(path))} AS cache (READ_ONLY)")
            stamps = connection.execute("SELECT stamp FROM cache.drawtap_cache").fetchall()
            if stamps != [(self._stamp(),)]:
                connection.execute("DETACH cache")
                return
            rows = connection.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'cache'").fetchall()
            self._cache = {str(row[0]) for row in rows} - {"drawtap_cache"}
        except duckdb.Error as error:  # another DuckDB wrote it, or somebody writes now: it is only a cache
            self.doubted = str(error).partition("\n")[0]
            self._cache = set()

    def _stamp(self) -> str:
        return f"{_CACHE_FORMAT} {proof.stamp(self._trace.path)}"

    # ---- names -----------------------------------------------------------------------------------------

    @property
    def functions(self) -> dict[str, str]:
        """Functions that the trace explains: lower case to name."""
        if self._functions is None:
            rows = self._trace.core.table_rows("functions")
            self._functions = {cast(str, row["name"]).lower(): cast(str, row["name"]) for row in rows}
        return self._functions

    def table_names(self) -> list[str]:
        """Return every table one can ask: calls, trace, the small ones, and the functions that were called."""
        called = [cast(str, row["name"]) for row in self._trace.core.table_rows("histogram")]
        return ["calls", "trace", *TABLES, *STATE_TABLES, *GRAPH_TABLES, *computed.names(), *self._readings(), *called]

    def _readings(self) -> dict[str, Path]:
        return sensors.tables(self._trace.path)

    def is_small(self, table: str) -> bool:
        """Whether a table is given to DuckDB as it is, not as calls."""
        named = (TABLES, STATE_TABLES, GRAPH_TABLES, computed.names())
        return any(table in names for names in named) or table in self._readings()

    def known(self, name: str) -> str | None:
        """Return the proper name of a table, None where there is none."""
        lower = name.lower()
        if lower in ("calls", "trace") or self.is_small(lower):
            return lower
        return self.functions.get(lower) or self._uncalled(lower)

    def _uncalled(self, lower: str) -> str | None:
        # Reading these takes some milliseconds: not for every word of a query.
        name = shipped_functions().get(lower) if _FUNCTION_NAME.match(lower) else None
        if name is not None:
            self._trace.core.know_uncalled()
        return name

    def columns(self, table: str) -> list[Column]:
        """Return the columns of `calls` or a function's table; of the small tables from their streams."""
        if table == "trace":
            table = "calls"
        key = None if table == "calls" else table
        if key not in self._schemas:
            self._schemas[key] = self._small_columns(table) if self.is_small(table) else self._trace.core.schema(key)
        return self._schemas[key]

    def _small_columns(self, table: str) -> list[Column]:
        if table in GRAPH_TABLES:  # making it takes long, saying what it is like does not
            return [Column("seq", "UBIGINT"), Column("kind", "VARCHAR"), Column("program", "UBIGINT")]
        if table in computed.names():
            return list(computed.TABLES.get(table).columns)
        cursor = self.connection.cursor()
        cursor.register("_", self._small(table))
        described = cursor.execute("SELECT * FROM _ LIMIT 0").description or []
        cursor.unregister("_")
        return [Column(str(d[0]), str(d[1])) for d in described]

    # ---- queries ---------------------------------------------------------------------------------------

    def query(self, query: str, parameters: Parameters = ()) -> Result:
        """Answer a query; see `Trace.sql`."""
        try:
            return self._query(query, parameters)
        except (duckdb.Error, RuntimeError) as error:
            raise self._translated(error, query) from None

    def _query(self, query: str, parameters: Parameters) -> Result:
        connection = self.connection
        self._forget()
        self.inserted = None
        if self._safe:
            _only_read(query)
        into = _into(query)
        if into is not None:
            return self._into(*into, parameters)
        statements = duckdb.extract_statements(query)
        if not statements:
            raise QueryError("the query is empty", hint="tables: calls, frames and others; drawtap sql --help")
        texts = [statement.query for statement in statements]
        if re.match(r"\s*(PIVOT|UNPIVOT)\b", _without_leading_comments(query), re.IGNORECASE):
            texts = [query]  # DuckDB makes several statements of it
        else:
            for statement in statements:
                self._allow(statement, statement.query)
        self._temporary |= any(_kind(statement).startswith(("CREATE", "SET", "VARIABLE")) for statement in statements)
        # A cursor of its own leaves earlier results open. It does not see temporary tables.
        cursor = self._running = connection if self._temporary else connection.cursor()
        last = self._last() if self._last else None
        if last is not None and self._temporary:
            last.detach()
        for text in texts[:-1]:
            self._run(cursor, text, ())
            cursor.fetchall()
        self._run(cursor, texts[-1], parameters)
        result = Result(
            cursor, lambda: self._again(texts[-1], parameters), parameters, lambda error: self._translated(error, query)
        )
        self._last = weakref.ref(result)
        return result

    def _allow(self, statement: object, text: str) -> None:
        kind = _kind(statement)
        refused = kind not in {*_ALLOWED, *(f"{name}_STATEMENT" for name in _ALLOWED)}
        words = re.sub(r"\s+", " ", _without_comments(text)).strip().upper()
        if kind.startswith("CREATE"):
            refused = not re.match(r"CREATE (OR REPLACE )?(TEMP|TEMPORARY|MACRO|FUNCTION)\b", words)
        if kind.startswith("COPY"):
            refused = not _copy_target(text)
        if refused:
            what = words.split(" ", 1)[0] or kind
            raise QueryError(
                f"{what} is not possible: a recording is only read",
                hint="SELECT, DESCRIBE, COPY (SELECT ...) TO 'file', CREATE TEMP TABLE",
            )

    def _again(self, text: str, parameters: Parameters) -> tuple[duckdb.DuckDBPyConnection, str]:
        # With streams of its own: those of the first run may have been read.
        cursor = self.connection if self._temporary else self.connection.cursor()
        if _copy_target(text):
            return cursor, "SELECT 0::BIGINT AS Count WHERE false"
        return cursor, self._rewritten(cursor, text, parameters) or self._tokenised(cursor, text)

    def _run(self, cursor: duckdb.DuckDBPyConnection, text: str, parameters: Parameters) -> None:
        copied = _copy_target(text)
        if copied:
            self._copy(cursor, text, parameters)
            return
        rewritten = self._rewritten(cursor, text, parameters) or self._tokenised(cursor, text)
        cursor.execute(rewritten, parameters or None)

    def _into(self, target: str, query: str, parameters: Parameters) -> Result:
        """`SELECT ... INTO name`: the calls that the query names become a trace of their own."""
        path = Path(target) if target.endswith(".dtap") else self.into / f"{target}.dtap"
        count = self._write_trace(query, path, parameters)
        cursor = self.connection.cursor()
        answer = "SELECT ?::VARCHAR AS trace, ?::BIGINT AS calls"
        cursor.execute(answer, [str(path), count])
        return Result(
            cursor, lambda: (cursor, answer), [str(path), count], lambda error: self._translated(error, query)
        )

    def _write_trace(self, query: str, path: Path, parameters: Parameters) -> int:
        mentioned = _without_text(query)
        named = [
            other
            for name, other in self.others.items()
            if re.search(
                rf"\b{re.escape(name)}\s*\.\s*\"?[A-Za-z]|\bFROM\s+{re.escape(name)}\b", mentioned, re.IGNORECASE
            )
        ]
        if len(named) > 1:
            raise QueryError("calls of several traces do not become one", hint="drawtap join does that")
        of = named[0] if named else self
        found = self.query(query, parameters)
        names = [c.lower() for c in found.columns]
        if "seq" not in names and "event" not in names:
            raise QueryError("the query does not say which calls", hint="select seq, *, or event.seq FROM trace")
        at = names.index("seq") if "seq" in names else names.index("event")
        calls = cast(int, of._trace.info["calls"])
        keep = bytearray((calls + 7) // 8)
        count = 0
        for row in found:
            value = cast("dict[str, int]", row[at])["seq"] if names[at] == "event" else row[at]
            if not isinstance(value, int) or not 0 <= value < calls:
                raise QueryError(f"{value!r} is no number of a call", hint=f"the trace has {calls} calls")
            count += not keep[value >> 3] >> (value & 7) & 1
            keep[value >> 3] |= 1 << (value & 7)
        note = {"kind": "edit", "operation": "select", "query": query}
        write([Part(of._trace.core, keep=keep)], path, annotation=cast("dict[str, Json]", note))
        self.inserted = path
        return count

    def _copy(self, cursor: duckdb.DuckDBPyConnection, text: str, parameters: Parameters) -> None:
        # A connection of its own that may write: the other one stays closed off. Only the inner SELECT reads the trace.
        inner, outer = cast("tuple[str, str]", _copy_target(text))
        trace = re.match(r"TO\s+'((?:[^']|'')+\.dtap)'", outer, re.IGNORECASE)
        if trace:
            count = self._write_trace(inner, Path(trace[1].replace("''", "'")), parameters)
            cursor.execute("SELECT ?::BIGINT AS Count", [count])
            return
        if not re.match(r"\s*(\(|select|with|from|values)", inner, re.IGNORECASE):
            inner = f"SELECT * FROM {inner}"
        self._refuse_files(inner)
        writer = duckdb.connect(":memory:")
        try:
            writer.execute("SET python_enable_replacements = false")
            rewritten = self._rewritten(writer, inner, parameters) or self._tokenised(writer, inner)
            rows = writer.execute(f"COPY ({rewritten.rstrip().rstrip(';')}) {outer}", parameters or None).fetchall()
        finally:
            writer.close()
            self._registered.clear()
        cursor.execute("SELECT ?::BIGINT AS Count", [rows[0][0] if rows else 0])

    def _refuse_files(self, text: str) -> None:
        # COPY's connection may write files: what it reads must be tables of the trace, checked by one that may not.
        probe = self.connection.cursor()
        rewritten = self._rewritten(probe, text, ()) or self._tokenised(probe, text)
        probe.execute("EXPLAIN " + rewritten)
        probe.fetchall()
        self._forget()

    def _forget(self) -> None:
        for name in self._registered:
            try:
                self.connection.unregister(name)
            except (duckdb.Error, RuntimeError):
                continue
        self._registered.clear()

    # ---- a parsed query --------------------------------------------------------------------------------

    def _rewritten(self, cursor: duckdb.DuckDBPyConnection, text: str, parameters: Parameters) -> str | None:
        [(serialised,)] = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchall()
        tree = cast(_Node, json.loads(serialised))
        if tree.get("error"):
            return None
        if any(node.get("type") == "SHOW_REF" or "show_type" in node for node in _walk(tree)):
            return None
        scope = _Scope(self, lambda name: self._shadowed(cursor, name))
        with _bound(tree, parameters):
            scope.read(tree)
        ingest = not self._fresh_streams and scope.has_ctes
        for use in scope.uses:
            self._provide(cursor, use, ingest=ingest)
        [(rewritten,)] = cursor.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)]).fetchall()
        return str(rewritten)

    def _provide(self, cursor: duckdb.DuckDBPyConnection, use: _Use, *, ingest: bool) -> None:
        """Give DuckDB the table that `use` mentions, and name it in the query."""
        assert use.node is not None
        of = use.of or self
        event = use.table == "trace"
        table = "calls" if event else use.table
        if of is self and table in self._cache and not event:
            _rename(use.node, table, catalog="cache")
            return
        self._number += 1
        name = f"{table} {self._number}"
        stream = of._small(table, use) if of.is_small(table) else of._calls(table, use, event=event)
        cursor.register(name, stream)
        self._registered.append(name)
        if ingest:
            copy = f"{name} copied"
            cursor.execute(f"CREATE TEMP TABLE {_quote(copy)} AS SELECT * FROM {_quote(name)}")
            name = copy
        if event:
            view = f"{name} event"
            columns = of._event_columns(use)
            pairs = [f"{_quote(c.name)} := c.{_quote(c.name)}" for c in columns]
            names = {c.name for c in columns}
            pairs += [f"{_quote(alias)} := c.{_quote(column)}" for alias, column in _EVENT.items() if column in names]
            source = f"{_quote(name)} AS c"
            joined = bool(use.states) or "sensors" in use.columns  # joins leave no order
            if "sensors" in use.columns and (chosen := of._sensors(use)) is not None:
                readings, query = f"sensors {self._number}", chosen[1]
                cursor.register(readings, chosen[0])
                self._registered.append(readings)
                pairs.append("sensors := s")
                source += f" LEFT JOIN ({query.format(_quote(readings))}) AS s ON s.seq = c.seq"
            if use.states:
                states = f"states {self._number}"
                cursor.register(states, of._small("state"))
                self._registered.append(states)
                if any(words[0] in _NAMED for words in use.states):
                    contexts = f"contexts {self._number}"
                    cursor.register(contexts, of._small("contexts"))
                    self._registered.append(contexts)
                    source += f" LEFT JOIN {_quote(contexts)} AS k ON k.context = c.context"
                for index, words in enumerate(use.states):
                    source += _state_join(states, index, words)
                pairs.append(f"state := {_state_struct(_state_values(use.states))}")
            cursor.execute(
                f"CREATE OR REPLACE TEMP VIEW {_quote(view)} AS"
                f" SELECT struct_pack({', '.join(pairs)}) AS event FROM {source}{' ORDER BY c.seq' if joined else ''}"
            )
            name = view
        _rename(use.node, name)

    def _small(self, table: str, use: _Use | None = None) -> _Stream:
        if table in STATE_TABLES:
            limits = ("", 0, None) if use is None else (use.path, use.first_seq, use.end_seq)
            return _Stream(lambda: self._trace.state_index.table(table, *limits))
        if table in GRAPH_TABLES:
            return _Stream(self._trace.waste_table)
        if table in computed.names():
            return _Stream(lambda: self._answer(table).stream())
        if table == "metrics":
            return _Stream(lambda: measured.stream(self._trace.path, lambda: self._trace.core.table("metrics")))
        file = None if table in TABLES else self._readings().get(table)
        if file is not None:
            return _Stream(lambda: sensors.stream(file))
        return _Stream(lambda: self._trace.core.table(table))

    def _answer(self, table: str) -> computed.Answer:
        if table not in self._answers:
            self._answers[table] = computed.TABLES.get(table).make(self._trace)
        return self._answers[table]

    def _sensors(self, use: _Use) -> tuple[_Stream, str] | None:
        """Return what `event.sensors` is read from: stored readings, else what was measured of calls and draws."""
        if "sensors" in self._readings():
            return self._small("sensors"), "SELECT * FROM {}"
        if not use.sensors or not measured.files(self._trace.path):
            return None
        values = []
        for name in sorted(use.sensors):
            ends = _quote_text(f"/{name.lower()}")
            values.append(f"arg_max(value, run) FILTER (ends_with(lower(name), {ends})) AS {_quote(name)}")
        columns = ", ".join(values)
        where = "per IN ('call', 'draw') AND value IS NOT NULL"
        return self._small("metrics"), f"SELECT seq, {columns} FROM {{}} WHERE {where} GROUP BY seq"

    def _event_columns(self, use: _Use) -> list[Column]:
        wanted = {_EVENT.get(name, name) for name in use.columns}
        wanted |= {"seq"} if "sensors" in use.columns else set()
        wanted |= {"seq", "context"} if use.states else set()
        wanted |= {"params"} if any(words[0] in _NAMED for words in use.states) else set()
        columns = [c for c in self.columns("calls") if (use.star and c.shown) or c.name.lower() in wanted]
        return columns or [c for c in self.columns("calls") if c.name == "seq"]

    def _calls(self, table: str, use: _Use, *, event: bool) -> _Stream:
        if event:
            names = tuple(c.name for c in self._event_columns(use))
        else:
            names = tuple(
                c.name for c in self.columns(table) if (use.star and c.shown) or c.name.lower() in use.columns
            )
        selection = Selection(
            function=None if table == "calls" else table,
            columns=names or ("seq",),
            first_seq=use.first_seq,
            end_seq=use.end_seq,
            first_frame=use.first_frame,
            end_frame=use.end_frame,
        )
        return _Stream(lambda: self._trace.core.calls(selection))

    # ---- what DuckDB does not serialise: DESCRIBE, SUMMARIZE, SHOW, PIVOT, CREATE TEMP ... ---------------

    def _tokenised(self, cursor: duckdb.DuckDBPyConnection, text: str) -> str:
        """Give DuckDB every table that the text mentions, with all columns, under its own name."""
        if re.match(r"\s*show\s+(all\s+)?tables\s*;?\s*$", _without_comments(text), re.IGNORECASE):
            names = ", ".join(f"({_quote_text(name)})" for name in self.table_names())
            return f"SELECT name FROM (VALUES {names}) AS tables(name)"
        words = {w.lower() for w in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", _without_text(text))}
        described = re.match(r"\s*(describe|desc|show)\b", text, re.IGNORECASE) is not None
        for word in sorted(words):
            table = self.known(word)
            if table is None or self._shadowed(cursor, table):
                continue
            self._provide_whole(cursor, table, everything=described, mentioned=words)
        return text

    def _shadowed(self, cursor: duckdb.DuckDBPyConnection, name: str) -> bool:
        if not self._temporary:
            return False
        found = cursor.execute(
            "SELECT 1 FROM duckdb_tables() WHERE lower(table_name) = ? AND temporary", [name.lower()]
        )
        return bool(found.fetchall())

    def _provide_whole(
        self, cursor: duckdb.DuckDBPyConnection, table: str, *, everything: bool, mentioned: set[str]
    ) -> None:
        use = _Use(table, table, star=True)
        if not self.is_small(table):
            use.columns = {c.name.lower() for c in self.columns(table) if everything or c.name.lower() in mentioned}
        if table == "trace":
            use.node = {}
            self._provide(cursor, use, ingest=not self._fresh_streams)
            name = cast(str, use.node["table_name"])
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW trace AS SELECT * FROM {_quote(name)}")
            return
        stream = self._small(table) if self.is_small(table) else self._calls(table, use, event=False)
        if self._fresh_streams:
            cursor.register(table, stream)
            self._registered.append(table)
            return
        cursor.register("_once", stream)
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {_quote(table)} AS SELECT * FROM _once")
        cursor.unregister("_once")

    # ---- errors ----------------------------------------------------------------------------------------

    def _translated(self, error: Exception, query: str) -> BaseException:
        text = str(error)
        if ("cancelled" in text and "rror" in text) or isinstance(error, duckdb.InterruptException):
            return Cancelled(text)
        message = re.sub(r"^\w+ Error: ", "", text.split("\n\n", 1)[0]).strip()
        message = re.sub(r' (\d+)( copied)?( event)?"', '"', message)
        missing = re.search(r"Table with name (\S+) does not exist", text)
        if missing:
            name = missing.group(1).strip('"')
            hint = did_you_mean(name, self._candidate_tables(name))
            named = ["calls", "trace", *TABLES, *STATE_TABLES, *GRAPH_TABLES, *computed.names()]
            tables = "tables: " + ", ".join(named)
            return QueryError(f"no table {name}", hint=hint or f"{tables}, and one for each function")
        column = re.search(
            r'Referenced column "([^"]+)" (?:was )?not found|does not have a column named "([^"]+)"', text
        )
        if column:
            name = column.group(1) or column.group(2)
            names = self._candidate_columns(query)
            return QueryError(
                f"no column {name}",
                hint=did_you_mean(name, names) or ("columns: " + ", ".join(names) if names else None),
            )
        if 'Could not find key "sensors"' in text:
            hint = "drawtap profile --per draw measures some, drawtap sensors stores those of others"
            return QueryError("the recording has no sensors", hint=hint)
        hint = None
        function = re.search(r"Function with name (\S+) does not exist", text)
        if function:
            near = re.search(r'Did you mean "([^"]+)"', text)
            return QueryError(
                f"no SQL function {function.group(1)}", hint=f"did you mean {near.group(1)}?" if near else None
            )
        if "disabled" in text and "file" in text.lower():
            hint = "only the recording is read; COPY (SELECT ...) TO 'file' writes"
        return QueryError(message.replace("\n", " "), hint=hint)

    def _candidate_tables(self, name: str) -> list[str]:
        others = [f"{name}.{table}" for name, of in self.others.items() for table in of.table_names()]
        return [
            "calls",
            "trace",
            *TABLES,
            *STATE_TABLES,
            *GRAPH_TABLES,
            *computed.names(),
            *self._readings(),
            *self.functions.values(),
            *(shipped_functions().values() if _FUNCTION_NAME.match(name) else ()),
            *others,
        ]

    def _candidate_columns(self, query: str) -> list[str]:
        found: dict[str, None] = {}
        for word in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", _without_text(query)):
            table = self.known(word)
            if table:
                found.update(dict.fromkeys(c.name for c in self.columns(table)))
        return list(found)

    # ---- the side database -----------------------------------------------------------------------------

    def materialise(self, tables: Sequence[str] | None = None) -> Path:
        """Write the side database; see `Trace.materialise`."""
        if tables is None:
            tables = ["calls", "frames", *(cast(str, r["name"]) for r in self._trace.core.table_rows("histogram"))]
        names = []
        for name in tables:
            known = self.known(name)
            if known is None or known == "trace":
                raise QueryError(f"no table {name}", hint=did_you_mean(name, self._candidate_tables(name)))
            names.append(known)
        self.close()
        self._cache = set()
        path = self.cache_path
        with whole_file(path) as part:
            self._write_cache(part, names)
        try:
            proof.note(path, self._stamp())
        except OSError as error:
            raise UnavailableError(f"that {path} was written here cannot be noted: {error}") from None
        return path

    def _write_cache(self, part: Path, names: Sequence[str]) -> None:
        writer = duckdb.connect(str(part))
        try:
            for name in names:
                use = _Use(name, name, star=True)
                if not self.is_small(name):
                    use.columns = {c.name.lower() for c in self.columns(name) if _cached(c)}
                    use.star = False
                small = self.is_small(name)
                writer.register("_once", self._small(name) if small else self._calls(name, use, event=False))
                writer.execute(f"CREATE TABLE {_quote(name)} AS SELECT * FROM _once")
                writer.unregister("_once")
            writer.execute("CREATE TABLE drawtap_cache AS SELECT ?::VARCHAR AS stamp", [self._stamp()])
        except (duckdb.Error, RuntimeError) as error:
            raise self._translated(error, "") from None
        finally:
            writer.close()


def _only_read(query: str) -> None:
    statements = duckdb.extract_statements(query) if _into(query) is None else []
    if [_kind(statement).removesuffix("_STATEMENT") for statement in statements] != ["SELECT"]:
        raise QueryError("only one question that reads the recording is answered here", hint="SELECT, WITH, DESCRIBE")


def _kind(statement: object) -> str:
    return str(getattr(statement, "type", "")).rsplit(".", 1)[-1].upper()


def _cached(column: Column) -> bool:
    # Content of blobs stays in the trace, and the text of calls is as quick to make as to read.
    return not column.name.endswith("_data") and column.name != "call"


_live: weakref.WeakSet[Database] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for database in list(_live):
        database.close()


# ---- reading the tree -------------------------------------------------------------------------------------


class _Scope:
    """Walks a serialised query: finds tables, the columns they need, and enumerants compared with numbers."""

    def __init__(self, database: Database, shadowed: Callable[[str], bool]) -> None:
        self._database = database
        self._shadowed = shadowed
        self.uses: list[_Use] = []
        self.has_ctes = False

    def read(self, tree: _Node) -> None:
        for statement in cast("list[_Node]", tree["statements"]):
            self._query(cast(_Node, statement["node"]), outer=[], ctes=frozenset())

    def _query(self, node: _Node, *, outer: list[_Use], ctes: frozenset[str]) -> None:
        """A SELECT, set operation or CTE node: its own tables are visible to everything inside."""
        ctes = self._with(node, outer=outer, ctes=ctes)
        own: list[_Use] = []
        source = node.get("from_table")
        if isinstance(source, dict):
            self._source(source, own, outer=outer, ctes=ctes)
        visible = own + outer
        rest = {key: value for key, value in node.items() if key not in ("from_table", "cte_map")}
        if node.get("type") == "SELECT_NODE":
            self._predicates(node.get("where_clause"), own)
            self._expressions(rest, own, visible, ctes)
            return
        for key in ("left", "right", "child", "query", "children"):  # set operations, CTE nodes
            for child in _as_list(rest.get(key)):
                if isinstance(child, dict) and "type" in child:
                    self._query(child, outer=outer, ctes=ctes)
        self._expressions({"modifiers": rest.get("modifiers")}, own, visible, ctes)

    def _with(self, node: _Node, *, outer: list[_Use], ctes: frozenset[str]) -> frozenset[str]:
        entries = cast("list[_Node]", cast(_Node, node.get("cte_map") or {}).get("map") or [])
        names = [str(entry["key"]).lower() for entry in entries]
        if node.get("type") == "CTE_NODE" and node.get("cte_name"):
            names.append(str(node["cte_name"]).lower())
        if node.get("type") == "RECURSIVE_CTE_NODE" and node.get("cte_name"):
            names.append(str(node["cte_name"]).lower())
        if names:
            self.has_ctes = True
        known = ctes
        for entry in entries:
            known = known | {str(entry["key"]).lower()}  # itself too: it may be recursive
            for inner in _walk_queries(entry.get("value")):
                self._query(inner, outer=outer, ctes=known)
        return known | frozenset(names)

    def _source(self, source: _Node, own: list[_Use], *, outer: list[_Use], ctes: frozenset[str]) -> None:
        kind = source.get("type")
        if kind == "BASE_TABLE":
            self._table(source, own, ctes)
            return
        if kind == "SUBQUERY":
            for inner in _walk_queries(source.get("subquery")):
                self._query(inner, outer=outer + own, ctes=ctes)
            return
        for key in ("left", "right", "source"):
            child = source.get(key)
            if isinstance(child, dict) and "type" in child:
                self._source(child, own, outer=outer, ctes=ctes)
        if kind == "JOIN":
            for name in cast("list[object]", source.get("using_columns") or []):
                for use in own:
                    use.columns.add(str(name).lower())
            if str(source.get("ref_type", "")) == "NATURAL":
                for use in own:
                    use.star = True
        rest = {k: v for k, v in source.items() if k not in ("left", "right", "source")}
        self._expressions(rest, own, own + outer, ctes)

    def _table(self, source: _Node, own: list[_Use], ctes: frozenset[str]) -> None:
        name = str(source.get("table_name", ""))
        schema = str(source.get("schema_name") or "")
        other = self._database.others.get(schema)
        if source.get("catalog_name") or _CATALOG.match(name) or (not other and (schema or name.lower() in ctes)):
            return
        table = (other or self._database).known(name)
        if table is None and not schema and name in self._database.others:
            other, table = self._database.others[name], "trace"  # FROM b means FROM b.trace
        if table is None or (not other and self._shadowed(name)):
            return
        if other and schema and not source.get("alias"):
            source["alias"] = f"{schema}.{name}"
        use = _Use(table, (str(source.get("alias") or "") or name).lower(), source, other)
        if not source.get("alias"):
            source["alias"] = name
        if source.get("column_name_alias"):
            use.star = True
        own.append(use)
        self.uses.append(use)

    def _expressions(self, part: object, own: list[_Use], visible: list[_Use], ctes: frozenset[str]) -> None:
        if isinstance(part, list):
            for item in part:
                self._expressions(item, own, visible, ctes)
            return
        if not isinstance(part, dict):
            return
        kind = part.get("class")
        if kind == "STAR":
            relation = str(part.get("relation_name") or "").lower()
            for use in own if not relation else visible:
                if not relation or use.alias == relation:
                    use.star = True
            if part.get("expr"):  # COLUMNS('...') may mean any
                for use in own:
                    use.star = True
                    use.columns |= (
                        set()
                        if (of := use.of or self._database).is_small(use.table)
                        else {c.name.lower() for c in of.columns(use.table)}
                    )
        elif kind == "COLUMN_REF":
            self._column(cast("list[str]", part.get("column_names") or []), visible)
        elif kind in ("COMPARISON", "BETWEEN") or (kind == "OPERATOR" and "IN" in str(part.get("type"))):
            self._enumerants(part, visible)
            _compare_states(part, visible)
        if kind == "SUBQUERY":
            for inner in _walk_queries(part.get("subquery")):
                self._query(inner, outer=visible, ctes=ctes)
            self._expressions(part.get("child"), own, visible, ctes)
            return
        for key, value in part.items():
            if isinstance(value, dict) and "node" in value and isinstance(value["node"], dict):
                for inner in _walk_queries(value):
                    self._query(inner, outer=visible, ctes=ctes)
            elif key != "column_names":
                self._expressions(value, own, visible, ctes)

    def _column(self, names: list[str], visible: list[_Use]) -> None:
        # `b.calls.seq`, or `calls.seq` where only b.calls is meant: the table was given the name "b.calls".
        qualified = len(names) > 1 and not any(use.alias == names[0].lower() for use in visible)
        if qualified and len(names) > 2 and names[0] in self._database.others:
            names[:2] = [f"{names[0]}.{names[1]}"]
        elif qualified:
            meant = [use for use in visible if use.alias.partition(".")[2] == names[0].lower()]
            if len(meant) == 1:
                names[0] = meant[0].alias
        lower = [n.lower() for n in names]
        for use in visible:
            if use.table == "trace":
                path = names[1:] if lower and lower[0] == use.alias and len(lower) > 1 else names
                if path and path[0].lower() == "event":
                    if len(path) > 1:
                        use.columns.add(path[1].lower())
                    if len(path) > 2 and path[1].lower() == "sensors":
                        use.sensors.add(path[2])
                    state = _state_words(names, use)
                    if state is None:
                        use.star = True
                    else:
                        use.states.setdefault(state, False)
                continue
            if len(lower) > 1 and lower[-2] == use.alias:
                use.columns.add(lower[-1])
            elif len(lower) == 1 and lower[0] == use.alias:  # the row as a struct
                use.star = True
            use.columns.add(lower[0])
            if len(lower) > 1:
                use.columns.add(lower[1])

    # ---- enumerants --------------------------------------------------------------------------------------

    def _enumerants(self, node: _Node, visible: list[_Use]) -> None:
        """`mode = 4`, `4 < mode`, `mode IN (4, 5)`, `mode BETWEEN 1 AND 4`: use the column with the numbers."""
        columns, others = _compared(node)
        if not columns or not others or not all(_is_integer(p) for p in others):
            return
        for column in columns:
            names = cast("list[str]", column["column_names"])
            for use in visible:
                of = use.of or self._database
                if (
                    of.is_small(use.table)
                    or use.table == "trace"
                    or (len(names) > 1 and names[-2].lower() != use.alias)
                ):
                    continue
                twin = next((c.twin for c in of.columns(use.table) if c.name.lower() == names[-1].lower()), None)
                if twin:
                    names[-1] = twin
                    break

    # ---- conditions on seq and frame ---------------------------------------------------------------------

    def _predicates(self, where: object, own: list[_Use]) -> None:
        """Conditions that every row must meet narrow what is decoded. DuckDB still checks them."""
        targets = [use for use in own if not (use.of or self._database).is_small(use.table)]
        states = [use for use in own if use.table == "state"]
        for condition in _conjuncts(where):
            for use in targets:
                self._narrow(condition, use, alone=len(own) == 1)
            for use in states:
                self._narrow_state(condition, use, alone=len(own) == 1)

    def _narrow_state(self, node: _Node, use: _Use, *, alone: bool) -> None:
        """`path = ...`, `path LIKE 'x%'`, `starts_with(path, ...)`, `path IN (...)`, `begin_seq <= n`, `end_seq > n`,
        `n BETWEEN begin_seq AND end_seq - 1`."""
        kind = str(node.get("type"))
        if node.get("class") == "BETWEEN":
            value = _integer(node.get("input"))
            if value is not None and kind == "COMPARE_BETWEEN":
                if _column(node.get("lower"), use, alone=alone) == "begin_seq":
                    _limit(use, "seq", 0, value + 1)
                if _column(_one_less(node.get("upper")), use, alone=alone) == "end_seq":
                    _limit(use, "seq", value, None)
            return
        if node.get("class") in ("FUNCTION", "OPERATOR"):
            pattern = self._path_pattern(node, use, alone=alone)
            if pattern is not None and not use.path:
                use.path = pattern
            return
        if node.get("class") != "COMPARISON":
            return
        left, right = node.get("left"), node.get("right")
        column = _column(left, use, alone=alone)
        if column is None:
            column, right, kind = _column(right, use, alone=alone), left, _MIRRORED.get(kind, kind)
        text, value = _text(right), _integer(right)
        if column == "path" and kind == "COMPARE_EQUAL" and text is not None and "*" not in text:
            use.path = text
        elif column == "begin_seq" and value is not None and kind in ("COMPARE_LESSTHAN", "COMPARE_LESSTHANOREQUALTO"):
            _limit(use, "seq", 0, value + (kind == "COMPARE_LESSTHANOREQUALTO"))
        elif column == "end_seq" and value is not None and kind.startswith("COMPARE_GREATERTHAN"):
            _limit(use, "seq", value - (kind == "COMPARE_GREATERTHANOREQUALTO"), None)

    def _path_pattern(self, node: _Node, use: _Use, *, alone: bool) -> str | None:
        """What `dt_state_table` is asked for so that no path that a condition allows is missing."""
        name, parts = str(node.get("function_name")), _arguments(node)
        if len(parts) < 2 or _column(parts[0], use, alone=alone) != "path":
            return None
        texts = [_text(part) for part in parts[1:]]
        if any(text is None for text in texts):
            return None
        known = cast("list[str]", texts)
        if name == "~~":
            return known[0].replace("%", "*").replace("_", "?")
        if name in ("starts_with", "prefix", "^@"):
            return known[0] + "*"
        return _common_beginning(known) + "*" if node.get("type") == "COMPARE_IN" else None

    def _narrow(self, node: _Node, use: _Use, *, alone: bool) -> None:
        kind, cls = str(node.get("type")), node.get("class")
        if cls == "BETWEEN":
            if kind != "COMPARE_BETWEEN":
                return
            column = self._bounded(node.get("input"), use, alone=alone)
            low, high = _integer(node.get("lower")), _integer(node.get("upper"))
            if column and low is not None and high is not None:
                _limit(use, column, low, high + 1)
            return
        if cls != "COMPARISON":
            return
        column, value = self._bounded(node.get("left"), use, alone=alone), _integer(node.get("right"))
        if column is None:
            column, value = self._bounded(node.get("right"), use, alone=alone), _integer(node.get("left"))
            kind = _MIRRORED.get(kind, kind)
        if column is None or value is None:
            return
        if kind == "COMPARE_EQUAL":
            _limit(use, column, value, value + 1)
        elif kind == "COMPARE_LESSTHAN":
            _limit(use, column, 0, value)
        elif kind == "COMPARE_LESSTHANOREQUALTO":
            _limit(use, column, 0, value + 1)
        elif kind == "COMPARE_GREATERTHAN":
            _limit(use, column, value + 1, None)
        elif kind == "COMPARE_GREATERTHANOREQUALTO":
            _limit(use, column, value, None)

    def _bounded(self, node: object, use: _Use, *, alone: bool) -> str | None:
        if not isinstance(node, dict) or node.get("class") != "COLUMN_REF":
            return None
        names = [n.lower() for n in cast("list[str]", node["column_names"])]
        if use.table == "trace":
            if len(names) == 3 and names[0] == use.alias:
                names = names[1:]
            return (
                names[1] if len(names) == 2 and names[0] == "event" and alone and names[1] in ("seq", "frame") else None
            )
        if names[-1] not in ("seq", "frame"):
            return None
        return names[-1] if (len(names) == 1 and alone) or (len(names) == 2 and names[0] == use.alias) else None


_MIRRORED = {
    "COMPARE_LESSTHAN": "COMPARE_GREATERTHAN",
    "COMPARE_GREATERTHAN": "COMPARE_LESSTHAN",
    "COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHANOREQUALTO",
    "COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHANOREQUALTO",
}


_BOUND = "drawtap value"  # of a parameter's node, while the tree is read


@contextlib.contextmanager
def _bound(tree: _Node, parameters: Parameters) -> Iterator[None]:
    """Give the nodes of parameters (`?`, `$name`) their values: conditions with them narrow what is read too."""
    named: dict[str, object] = (
        dict(parameters)
        if isinstance(parameters, Mapping)
        else {str(number): value for number, value in enumerate(parameters, 1)}
    )
    nodes = [n for n in _walk(tree) if n.get("class") == "PARAMETER" and n.get("identifier") in named] if named else []
    for node in nodes:
        node[_BOUND] = named[str(node["identifier"])]
    try:
        yield
    finally:
        for node in nodes:
            del node[_BOUND]


def _arguments(node: _Node) -> list[object]:
    """What a function or operator is given: DuckDB 1 calls them children, DuckDB 2 wraps those of functions."""
    if node.get("children"):
        return _as_list(node["children"])
    return [a.get("expression") if isinstance(a, dict) else a for a in _as_list(node.get("arguments"))]


def _common_beginning(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:same]


def _one_less(node: object) -> object:
    """`x` of `x - 1`."""
    if isinstance(node, dict) and node.get("class") == "FUNCTION" and node.get("function_name") == "-":
        parts = _arguments(node)
        if len(parts) == 2 and _integer(parts[1]) == 1:
            return parts[0]
    return None


def _column(node: object, use: _Use, *, alone: bool) -> str | None:
    """The name of a column of `use`, lower case."""
    if not isinstance(node, dict) or node.get("class") != "COLUMN_REF":
        return None
    names = [n.lower() for n in cast("list[str]", node["column_names"])]
    return names[-1] if (len(names) == 1 and alone) or (len(names) == 2 and names[0] == use.alias) else None


def _text(node: object) -> str | None:
    """The value of a string constant."""
    if not isinstance(node, dict):
        return None
    if _BOUND in node:
        bound = node[_BOUND]
        return bound if isinstance(bound, str) else None
    if node.get("class") != "CONSTANT":
        return None
    literal = node.get("literal")
    if isinstance(literal, dict):
        return str(literal.get("text", "")) if literal.get("kind") == "STRING" else None
    value = node.get("value")
    if isinstance(value, dict) and cast(_Node, value.get("type") or {}).get("id") == "VARCHAR":
        return None if value.get("is_null") else str(value.get("value"))
    return None


def _state_join(table: str, index: int, words: Sequence[str]) -> str:
    """Join what a variable of the call's context, or of an object that it names, was (docs/state-paths.md).

    `words` are its path below the context; of an object the argument with its name, and the path below the object.
    """
    named = _NAMED.get(words[0]) if len(words) > 1 else None
    if named is not None:
        below = ".".join([_SHORT.get((words[0], words[1]), words[1]), *words[2:]]).replace("'", "''")
        before, after = named.split("*")
        number = f"json_extract_string(c.params, '$.{words[0]}')"
        path = f"'{before}' || k.share_group || '{after}[' || {number} || '].{below}'"
    else:
        below = ".".join(words[1:] if words[0] == "context" else words).replace("'", "''")
        path = f"'contexts[' || c.context || '].{below}'"
    # OpenVG's contexts are numbered together with the others.
    own = f"SELECT path, begin_seq, end_seq, json_extract_string(value, '$') AS value FROM {_quote(table)}"
    if named is None:
        own = own.replace("SELECT path", "SELECT regexp_replace(path, '^vg_', '') AS path")
    return (
        f" ASOF LEFT JOIN ({own} WHERE ends_with(path, '.{below}')) AS v{index}"
        f" ON v{index}.path = {path} AND c.seq >= v{index}.begin_seq"
    )


def _state_values(states: Mapping[tuple[str, ...], bool]) -> dict[tuple[str, ...], str]:
    """Return SQL for what each variable was; a number where it is compared with one, else text."""
    found = {}
    for index, (words, number) in enumerate(states.items()):
        value = f"TRY_CAST(v{index}.value AS DOUBLE)" if number else f"v{index}.value"
        found[words] = f"CASE WHEN c.seq < coalesce(v{index}.end_seq, c.seq + 1) THEN {value} END"
    return found


def _state_struct(values: Mapping[tuple[str, ...], str]) -> str:
    """Return SQL for a struct with the values, each under its words."""
    fields: dict[str, str] = {}
    inner: dict[str, dict[tuple[str, ...], str]] = {}
    for words, value in values.items():
        if len(words) == 1:
            fields[words[0]] = value
        else:
            inner.setdefault(words[0], {})[words[1:]] = value
    for name, below in inner.items():
        fields[name] = _state_struct(below)
    return f"struct_pack({', '.join(f'{_quote(name)} := {value}' for name, value in fields.items())})"


def _state_words(names: Sequence[str], use: _Use) -> tuple[str, ...] | None:
    """`X.Y` of `event.state.X.Y`, of the table `trace`."""
    path = names[1:] if len(names) > 1 and names[0].lower() == use.alias else names
    if use.table != "trace" or [n.lower() for n in path[:2]] != ["event", "state"] or len(path) < 3:
        return None
    return tuple(path[2:])


def _compared(node: _Node) -> tuple[list[_Node], list[_Node]]:
    """Return the columns that a comparison has, and what else."""
    parts = [p for key in ("left", "right", "input", "lower", "upper") if isinstance(p := node.get(key), dict)]
    parts += [p for p in _as_list(node.get("children")) if isinstance(p, dict)]
    columns = [p for p in parts if p.get("class") == "COLUMN_REF"]
    return columns, [p for p in parts if p.get("class") != "COLUMN_REF"]


def _compare_states(node: _Node, visible: list[_Use]) -> None:
    """`event.state.X > 10`: it is a number there."""
    columns, others = _compared(node)
    if not others or not all(_is_number(p) for p in others):
        return
    for column in columns:
        for use in visible:
            words = _state_words(cast("list[str]", column["column_names"]), use)
            if words is not None:
                use.states[words] = True


def _limit(use: _Use, column: str, first: int, end: int | None) -> None:
    first = max(first, 0)
    if end is not None:
        end = max(end, 0)
    if column == "seq":
        use.first_seq = max(use.first_seq, first)
        use.end_seq = end if use.end_seq is None else use.end_seq if end is None else min(end, use.end_seq)
    else:
        use.first_frame = max(use.first_frame, first)
        use.end_frame = end if use.end_frame is None else use.end_frame if end is None else min(end, use.end_frame)


def _conjuncts(node: object) -> Iterator[_Node]:
    if not isinstance(node, dict):
        return
    if node.get("class") == "CONJUNCTION" and node.get("type") == "CONJUNCTION_AND":
        for child in cast("list[object]", node["children"]):
            yield from _conjuncts(child)
    else:
        yield node


def _integer(node: object) -> int | None:
    """The value of an integer constant; DuckDB 2 keeps its text, DuckDB 1 a typed value."""
    if not isinstance(node, dict):
        return None
    if node.get("class") == "FUNCTION" and node.get("function_name") == "-" and len(_arguments(node)) == 1:
        inner = _integer(_arguments(node)[0])
        return None if inner is None else -inner
    if _BOUND in node:
        bound = node[_BOUND]
        return bound if isinstance(bound, int) and not isinstance(bound, bool) else None
    if node.get("class") != "CONSTANT":
        return None
    literal = node.get("literal")
    if isinstance(literal, dict):
        text = str(literal.get("text", ""))
        return int(text) if literal.get("kind") == "INTEGER" and re.fullmatch(r"-?\d+", text) else None
    value = node.get("value")
    if isinstance(value, dict) and not value.get("is_null"):
        kind = cast(_Node, value.get("type") or {}).get("id")
        number = value.get("value")
        if kind in (
            "TINYINT",
            "SMALLINT",
            "INTEGER",
            "BIGINT",
            "UTINYINT",
            "USMALLINT",
            "UINTEGER",
            "UBIGINT",
            "INTEGER_LITERAL",
        ) and isinstance(number, int):
            return number
    return None


def _is_integer(node: _Node) -> bool:
    return _integer(node) is not None


def _is_number(node: _Node) -> bool:
    if isinstance(node.get(_BOUND), float):
        return True
    literal = node.get("literal")
    if isinstance(literal, dict) and literal.get("kind") == "NUMERIC":
        return True
    kind = cast(_Node, cast(_Node, node.get("value") or {}).get("type") or {}).get("id")
    return _is_integer(node) or kind in ("DECIMAL", "DOUBLE", "FLOAT")


def _as_list(value: object) -> list[object]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _walk(node: object) -> Iterator[_Node]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from _walk(value)


def _walk_queries(node: object) -> Iterator[_Node]:
    """The outermost query nodes below `node`."""
    if isinstance(node, list):
        for item in node:
            yield from _walk_queries(item)
    elif isinstance(node, dict):
        if str(node.get("type", "")).endswith("_NODE"):
            yield node
        else:
            for value in node.values():
                yield from _walk_queries(value)


def _rename(node: _Node, name: str, *, catalog: str = "") -> None:
    node["table_name"] = name
    node["catalog_name"] = catalog
    node["schema_name"] = "main" if catalog else ""
    if "qualified_name" in node:
        node["qualified_name"] = {"path": [catalog, "main", name] if catalog else [name]}


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _without_comments(text: str) -> str:
    return re.sub(r"--[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def _without_text(text: str) -> str:
    return re.sub(r"'(?:[^']|'')*'", " ", _without_comments(text))


def _copy_target(text: str) -> tuple[str, str] | None:
    """Split `COPY (query) TO ...` or `COPY table TO ...` into what is copied and the rest from TO on."""
    match = re.match(r"\s*COPY\s+", _without_leading_comments(text), re.IGNORECASE)
    if not match:
        return None
    rest = _without_leading_comments(text)[match.end() :]
    if rest.startswith("("):
        depth, quote = 0, ""
        for i, c in enumerate(rest):
            if quote:
                quote = "" if c == quote else quote
            elif c in "'\"":
                quote = c
            elif c == "(":
                depth += 1
            elif c == ")":
                depth -= 1
                if not depth:
                    tail = rest[i + 1 :].strip().rstrip(";")
                    return (rest[1:i], tail) if re.match(r"TO\b", tail, re.IGNORECASE) else None
        return None
    simple = re.match(r'("(?:[^"]|"")+"|\w+)\s+(TO\b.*)', rest, re.IGNORECASE | re.DOTALL)
    return (simple.group(1), simple.group(2).strip().rstrip(";")) if simple else None


_INTO = re.compile(r"\bINTO\s+(?:'((?:[^']|'')+)'|([A-Za-z_][\w.]*))(?=\s+FROM\b)", re.IGNORECASE)


def _into(text: str) -> tuple[str, str] | None:
    """Split `SELECT ... INTO name FROM ...` into the name and the query without it; None where there is no INTO."""
    if not re.match(r"\s*SELECT\b", _without_leading_comments(text), re.IGNORECASE):
        return None
    match = _INTO.search(text)
    if match is None or text[: match.start()].count("'") % 2:
        return None
    name = (match[1] or "").replace("''", "'") or match[2]
    return name, (text[: match.start()] + text[match.end() :]).strip().rstrip(";")


def _without_leading_comments(text: str) -> str:
    return re.sub(r"\A(\s|--[^\n]*\n|/\*.*?\*/)+", "", text, flags=re.DOTALL)


__all__ = ["Database", "Parameters", "Result"]
