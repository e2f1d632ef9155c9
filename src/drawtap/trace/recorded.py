"""A recording as a database, without copying it into one.

A query is parsed by DuckDB itself; the tables it names are given to it as Arrow streams that hold only the columns it
uses and only the calls its conditions on `seq` and `frame` leave. Two things are rewritten on the way. Numbers compared
with a column of enumerants go to the column with their numbers (`mode = 4` means `mode_value = 4`). The table `trace`
has one row `event` a call (`event.name`, `event.values`).
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from pathlib import Path

import duckdb

from drawtap.errors import QueryError, did_you_mean
from drawtap.tables.recording import FunctionRow, HistogramRow, StructureRow, declared
from drawtap.trace import computed, measured, sensors, thesis_form
from drawtap.trace.core import Column, Part, Selection, shipped_functions, write
from drawtap.trace.database import MEMORY_BYTES, Database
from drawtap.trace.memory import bounded
from drawtap.trace.narrowing import Scope, Use
from drawtap.trace.opened import LONG, OpenRecording
from drawtap.trace.query_tree import Node, bound, keep_names, rename, walk
from drawtap.trace.result import Parameters, Result, Stream, connect
from drawtap.trace.side import SideDatabase
from drawtap.trace.sql_text import quote, quote_text, without_comments, without_text

# A name of the kind that the registries give their commands.
_FUNCTION_NAME = re.compile(r"^(gl|egl|vg|vk)\w+$", re.IGNORECASE)
_STRUCTURE_NAME = re.compile(r"^(vk|stdvideo)\w+$", re.IGNORECASE)
_DECLARED = declared.named("reader", "state", "graph")


class RecordingDatabase(Database):
    """A DuckDB connection over one recording."""

    WHAT, FIRST, MORE = "recording", "calls, frames", ", and one for each function"

    def __init__(self, trace: OpenRecording) -> None:
        super().__init__()
        self._trace = trace
        self._schemas: dict[str, list[Column]] = {}
        self._registered: list[str] = []
        self._number = 0
        self._answers: dict[str, computed.Answer] = {}  # of computed tables, by name
        self.side = SideDatabase(trace.path)
        self.others: dict[str, RecordingDatabase] = {}  # open beside this one, by the name of their schema
        self.asked: set[str] = set()  # tables of this recording that the last query read
        self.into = Path()  # where `SELECT ... INTO name` writes name.dtap
        self.inserted: Path | None = None  # the recording that the last query wrote

    # ---- connection --------------------------------------------------------------------------------------

    def _connected(self) -> duckdb.DuckDBPyConnection:
        self._trace.core.check_open()
        connection = connect()
        connection.execute("SET python_enable_replacements = false")
        connection.execute("SET autoinstall_known_extensions = false")
        if self._trace.call_count > LONG:  # data that does not fit goes to files
            connection = bounded(connection, MEMORY_BYTES)
        # allowed_directories would open whole folders: files are closed off, COPY goes through a connection of its own.
        path = self.side.proved() if self._trace.frame_end == "auto" else None
        if path is not None:
            # DuckDB asks for its log too, which is not there: `doubt` has looked.
            connection.execute(f"SET allowed_paths = [{quote_text(path)}, {quote_text(f'{path}.wal')}]")
        if self._safe:
            self._bound(connection)
        connection.execute("SET enable_external_access = false")
        if path is not None:
            self.side.attach(connection, path)
        if self._safe:
            connection.execute("SET lock_configuration = true")
        return connection

    def make_safe(self) -> None:
        """Answer questions of strangers from now on: SELECTs that read this recording alone, within bounded memory."""
        self.close()
        super().make_safe()

    def close(self) -> None:
        """Close the connection."""
        for answer in self._answers.values():
            answer.close()
        self._answers.clear()
        super().close()

    def materialise(self, names: Sequence[str] | None = None) -> Path:
        """Write the side database; see `Trace.materialise`."""
        if names is None:
            names = ["calls", "frames", *(r["name"] for r in self._trace.core.table_rows(HistogramRow))]
        wanted = []
        for name in names:
            known = self.known(name)
            if known is None or known == "trace":
                raise QueryError(f"no table {name}", hint=did_you_mean(name, self._candidates(name)))
            wanted.append(known)
        self.close()
        return self.side.write([(name, self._kept(name)) for name in wanted], self._translated)

    def _kept(self, name: str) -> Stream:
        if self.is_small(name):
            return self.stream(name)
        # Content of blobs stays in the recording, and the text of calls is as quick to make as to read.
        kept = {c.name.lower() for c in self.columns(name) if not c.name.endswith("_data") and c.name != "call"}
        return self._calls(name, Use(name, name, columns=kept), event=False)

    # ---- names -------------------------------------------------------------------------------------------

    @functools.cached_property
    def functions(self) -> dict[str, str]:
        """Functions that the recording explains: lower case to name."""
        return {row["name"].lower(): row["name"] for row in self._trace.core.table_rows(FunctionRow)}

    @functools.cached_property
    def structures(self) -> dict[str, str]:
        """Types of structures that the recording explains: lower case to name. Each is a table."""
        return {row["name"].lower(): row["name"] for row in self._trace.core.table_rows(StructureRow)}

    def _structure(self, name: str) -> str | None:
        """Return the type of structure that a table is of; types are read for names of their kind alone."""
        lower = name.lower()
        if not _STRUCTURE_NAME.match(lower) or lower in self.functions:
            return None
        return self.structures.get(lower)

    def listed(self) -> list[str]:
        """Return the tables that every recording has."""
        return ["calls", "trace", *_DECLARED, *computed.names()]

    def table_names(self) -> list[str]:
        """Return every table one can ask: calls, trace, the small ones, and the functions that were called."""
        called = [row["name"] for row in self._trace.core.table_rows(HistogramRow)]
        return [*self.listed(), *self._readings(), *called]

    def _readings(self) -> dict[str, Path]:
        return sensors.tables(self._trace.path)

    def is_small(self, table: str) -> bool:
        """True for a table that goes to DuckDB as it is, not as calls."""
        known = table in _DECLARED or table in computed.names() or table in self._readings()
        return known or self._structure(table) is not None

    def known(self, name: str) -> str | None:
        """Return the proper name of a table, None where there is none."""
        lower = name.lower()
        if structure := self._structure(lower):
            return structure
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
        """Return the columns of `calls` or a function's table; of the small tables as they are declared."""
        if table == "trace":
            table = "calls"
        if table not in self._schemas:
            self._schemas[table] = self._columns(table)
        return self._schemas[table]

    def _columns(self, table: str) -> list[Column]:
        if not self.is_small(table):
            return self._trace.core.schema(None if table == "calls" else table)
        if table in _DECLARED:
            return [Column(c.name, c.type) for c in declared.columns(table)]
        if table in computed.names():
            return list(computed.TABLES.get(table).columns)
        cursor = self.connection.cursor()
        cursor.register("_", self.stream(table))
        described = cursor.execute("SELECT * FROM _ LIMIT 0").description or []
        cursor.unregister("_")
        return [Column(str(d[0]), str(d[1])) for d in described]

    def _candidates(self, name: str) -> list[str]:
        others = [f"{schema}.{table}" for schema, of in self.others.items() for table in of.table_names()]
        shipped = shipped_functions().values() if _FUNCTION_NAME.match(name) else ()
        types = self.structures.values() if _STRUCTURE_NAME.match(name) else ()
        return [*self.listed(), *self._readings(), *self.functions.values(), *shipped, *types, *others]

    # ---- queries -----------------------------------------------------------------------------------------

    def _query(self, query: str, parameters: Parameters) -> Result:
        self._forget()
        self.inserted = None
        return super()._query(query, parameters)

    def _forget(self) -> None:
        for name in self._registered:
            try:
                self.connection.unregister(name)
            except (duckdb.Error, RuntimeError):
                continue
        self._registered.clear()

    def _place(self, name: str) -> Path:
        return self.into / name

    def _written(self, query: str, path: Path, parameters: Parameters) -> int:
        mentioned = without_text(query)
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
        rows = self.query(query, parameters)
        names = [c.lower() for c in rows.columns]
        if "seq" not in names and "event" not in names:
            raise QueryError("the query does not say which calls", hint="select seq, *, or event.seq FROM trace")
        at = names.index("seq") if "seq" in names else names.index("event")
        calls = of._trace.call_count
        keep = bytearray((calls + 7) // 8)
        count = 0
        for row in rows:
            value = row[at]["seq"] if names[at] == "event" else row[at]
            if not isinstance(value, int) or not 0 <= value < calls:
                raise QueryError(f"{value!r} is no number of a call", hint=f"the trace has {calls} calls")
            count += not keep[value >> 3] >> (value & 7) & 1
            keep[value >> 3] |= 1 << (value & 7)
        note = {"kind": "edit", "operation": "select", "query": query}
        write([Part(of._trace.core, keep=keep)], path, annotation=note)
        self.inserted = path
        return count

    def _copied(self, writer: duckdb.DuckDBPyConnection, query: str, parameters: Parameters) -> tuple[str, Parameters]:
        # A connection that may write files must read tables of the recording alone: another connection, which may not,
        # checks the query.
        probe = self.connection.cursor()
        probe.execute("EXPLAIN " + self._prepared(probe, query, ())).fetchall()
        self._forget()
        ready = self._prepared(writer, query, parameters)
        self._registered.clear()  # with that connection
        return ready, parameters

    def _prepared(self, cursor: duckdb.DuckDBPyConnection, query: str, parameters: Parameters) -> str:
        return self._rewritten(cursor, query, parameters) or self._tokenised(cursor, query)

    @functools.cached_property
    def _fresh_streams(self) -> bool:
        """Return True where DuckDB takes a stream again for a query that reads a table twice."""
        return int(duckdb.__version__.split(".")[0]) >= 2

    # ---- a parsed query ----------------------------------------------------------------------------------

    def _rewritten(self, cursor: duckdb.DuckDBPyConnection, text: str, parameters: Parameters) -> str | None:
        [(serialised,)] = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchall()
        tree = json.loads(serialised)
        if tree.get("error"):
            return None
        if any(node.get("type") == "SHOW_REF" or "show_type" in node for node in walk(tree)):
            return None
        scope = Scope(self, lambda name: self._shadowed(cursor, name), self._in_order)
        with bound(tree, parameters):
            scope.read(tree)
        self.asked = {use.table for use in scope.uses if not use.of}
        ingest = scope.has_ctes and not self._fresh_streams
        for use in scope.uses:
            self._provide(cursor, use, ingest=ingest)
        keep_names(tree, json.loads(serialised), lambda node: _name_of(cursor, node))
        [(rewritten,)] = cursor.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)]).fetchall()
        return str(rewritten)

    def _in_order(self, use: Use) -> bool:
        """Tell whether the rows of a table come in the order of `seq`; a user's setting may ask for another one."""
        of = self.others[use.of] if use.of else self
        kept = of is self and use.table in self.side.tables
        return not (self._temporary or kept or use.table == "trace" or of.is_small(use.table))

    def _provide(self, cursor: duckdb.DuckDBPyConnection, use: Use, *, ingest: bool) -> None:
        """Give DuckDB the table that `use` mentions, and name it in the query."""
        assert use.node is not None
        of = self.others[use.of] if use.of else self
        event = use.table == "trace"
        table = "calls" if event else use.table
        if of is self and table in self.side.tables and not event:
            rename(use.node, table, catalog="cache")
            return
        self._number += 1
        name = f"{table} {self._number}"
        self._register(
            cursor, name, of.stream(table, use) if of.is_small(table) else of._calls(table, use, event=event)
        )
        if ingest:
            copy = f"{name} copied"
            cursor.execute(f"CREATE TEMP TABLE {quote(copy)} AS SELECT * FROM {quote(name)}")
            name = copy
        if event:
            name = self._event_view(cursor, of, use, name)
        rename(use.node, name)

    def _event_view(self, cursor: duckdb.DuckDBPyConnection, of: RecordingDatabase, use: Use, name: str) -> str:
        """Make the view `trace` over a table of calls, with wanted columns of state and sensors; return its name."""
        readings = states = contexts = None
        if "sensors" in use.columns and (chosen := of._sensors(use)) is not None:
            readings = (f"sensors {self._number}", chosen[1])
            self._register(cursor, readings[0], chosen[0])
        if use.states:
            states = f"states {self._number}"
            self._register(cursor, states, of.stream("state"))
            if any(words[0] in thesis_form.NAMED for words in use.states):
                contexts = f"contexts {self._number}"
                self._register(cursor, contexts, of.stream("contexts"))
        view = thesis_form.view(
            name,
            [c.name for c in of._event_columns(use)],
            use.states,
            readings=readings,
            state_table=states or "",
            context_table=contexts or "",
        )
        ordered = " ORDER BY c.seq" if use.states or "sensors" in use.columns else ""  # joins leave no order
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW {quote(f'{name} event')} AS {view}{ordered}")
        return f"{name} event"

    def _register(self, cursor: duckdb.DuckDBPyConnection, name: str, stream: Stream) -> None:
        cursor.register(name, stream)
        self._registered.append(name)

    def stream(self, table: str, use: Use | None = None) -> Stream:
        """Return a small table, or what `use` needs of it."""
        if table in declared.named("state"):
            limits = ("", 0, None) if use is None else (use.path, use.first_seq, use.end_seq)
            return Stream(lambda: self._trace.state_index.table(table, *limits))
        if table in declared.named("graph"):
            return Stream(self._trace.waste_table)
        if table in computed.names():
            return Stream(lambda: self._answer(table).stream())
        if table == "metrics":
            return Stream(lambda: measured.stream(self._trace.path, lambda: self._trace.core.table("metrics")))
        if (structure := self._structure(table)) is not None:
            first, end = (0, None) if use is None else (use.first_seq, use.end_seq)
            return Stream(lambda: self._trace.core.structures(structure, first, end))
        file = None if table in _DECLARED else self._readings().get(table)
        if file is not None:
            return Stream(lambda: sensors.stream(file))
        return Stream(lambda: self._trace.core.table(table))

    def _answer(self, table: str) -> computed.Answer:
        if table not in self._answers:
            self._answers[table] = computed.TABLES.get(table).make(self._trace)
        return self._answers[table]

    def _sensors(self, use: Use) -> tuple[Stream, str] | None:
        """Return what `event.sensors` is read from: stored readings, else what was measured of calls and draws."""
        if "sensors" in self._readings():
            return self.stream("sensors"), "SELECT * FROM {}"
        if not use.sensors or not measured.files(self._trace.path):
            return None
        values = []
        for name in sorted(use.sensors):
            ends = quote_text(f"/{name.lower()}")
            values.append(f"arg_max(value, run) FILTER (ends_with(lower(name), {ends})) AS {quote(name)}")
        columns = ", ".join(values)
        where = "per IN ('call', 'draw') AND value IS NOT NULL"
        return self.stream("metrics"), f"SELECT seq, {columns} FROM {{}} WHERE {where} GROUP BY seq"

    def _event_columns(self, use: Use) -> list[Column]:
        wanted = {thesis_form.EVENT.get(name, name) for name in use.columns}
        wanted |= {"seq"} if "sensors" in use.columns else set()
        wanted |= {"seq", "context"} if use.states else set()
        wanted |= {"params"} if any(words[0] in thesis_form.NAMED for words in use.states) else set()
        columns = [c for c in self.columns("calls") if (use.star and c.shown) or c.name.lower() in wanted]
        return columns or [c for c in self.columns("calls") if c.name == "seq"]

    def _calls(self, table: str, use: Use, *, event: bool) -> Stream:
        if event:
            names = tuple(c.name for c in self._event_columns(use))
        else:
            names = tuple(
                c.name for c in self.columns(table) if (use.star and c.shown) or c.name.lower() in use.columns
            )
        selection = Selection(
            function=None if table == "calls" else table,
            columns=names or ("thread",),  # only the number of rows is wanted: the column that is made fastest
            first_seq=use.first_seq,
            end_seq=use.end_seq,
            first_frame=use.first_frame,
            end_frame=use.end_frame,
        )
        return Stream(lambda: self._trace.core.calls(selection))

    # ---- what DuckDB does not serialise: DESCRIBE, SUMMARIZE, SHOW, PIVOT, CREATE TEMP ... -----------------

    def _tokenised(self, cursor: duckdb.DuckDBPyConnection, text: str) -> str:
        """Give DuckDB every table that the text mentions, with all columns, under its own name."""
        if re.match(r"\s*show\s+(all\s+)?tables\s*;?\s*$", without_comments(text), re.IGNORECASE):
            names = ", ".join(f"({quote_text(name)})" for name in self.table_names())
            return f"SELECT name FROM (VALUES {names}) AS tables(name)"
        words = {w.lower() for w in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", without_text(text))}
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
        rows = cursor.execute("SELECT 1 FROM duckdb_tables() WHERE lower(table_name) = ? AND temporary", [name.lower()])
        return bool(rows.fetchall())

    def _provide_whole(
        self, cursor: duckdb.DuckDBPyConnection, table: str, *, everything: bool, mentioned: set[str]
    ) -> None:
        use = Use(table, table, star=True)
        if not self.is_small(table):
            use.columns = {c.name.lower() for c in self.columns(table) if everything or c.name.lower() in mentioned}
        if table == "trace":
            use.node = {}
            self._provide(cursor, use, ingest=not self._fresh_streams)
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW trace AS SELECT * FROM {quote(use.node['table_name'])}")
            return
        stream = self.stream(table) if self.is_small(table) else self._calls(table, use, event=False)
        if self._fresh_streams:
            self._register(cursor, table, stream)
            return
        cursor.register("_once", stream)
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {quote(table)} AS SELECT * FROM _once")
        cursor.unregister("_once")

    # ---- errors ------------------------------------------------------------------------------------------

    def _other_error(self, text: str) -> QueryError:
        if 'Could not find key "sensors"' in text:
            hint = "drawtap profile --per draw measures some, drawtap sensors stores those of others"
            return QueryError("the recording has no sensors", hint=hint)
        return super()._other_error(text)


def _name_of(cursor: duckdb.DuckDBPyConnection, expression: Node) -> str:
    """Return the name that DuckDB gives a result column without an alias: the text of its expression."""
    [(serialised,)] = cursor.execute("SELECT json_serialize_sql('SELECT 1')").fetchall()
    tree = json.loads(serialised)
    tree["statements"][0]["node"]["select_list"] = [expression]
    [(text,)] = cursor.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)]).fetchall()
    return str(text).removeprefix("SELECT ")
