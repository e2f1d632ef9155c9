"""Tables of a trace, read once for many questions.

Every query of `Trace.sql` decodes what it uses anew. Fifty questions about one trace would decode the same columns
fifty times: a snapshot collects what all of them use, decodes each column once into DuckDB, and answers from there.

Two things make its questions simpler. A function that was never called is an empty table. A function of an extension
that became core (`glMapBufferRangeEXT`, `glUseProgramObjectARB`) is part of the core function's table.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from drawtap.errors import DrawtapError, QueryError, original
from drawtap.scratch import Scratch
from drawtap.tables.recording import declared
from drawtap.trace.core import Column, Selection
from drawtap.trace.library import Cancelled
from drawtap.trace.memory import bounded, exhausted
from drawtap.trace.narrowing import Names, Scope
from drawtap.trace.result import Row, Stream, connect
from drawtap.trace.sql_text import quote, quote_text, without_text

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_IN_MEMORY = 1_000_000  # calls, whose tables take some 250 MB: those of more go to a file
_MEMORY_BYTES = 400_000_000  # of DuckDB then, at first
_FUNCTION = re.compile(r"^(gl|egl|glX|vg|vgu|vk)[A-Z]\w*$")
_SUFFIXES = ("", "ARB", "EXT", "OES", "KHR", "APPLE", "NV", "SGI", "MESA")
# Functions of extensions that became core with other names of parameters, or with another name of their own.
_BECAME: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "glAttachObjectARB": ("glAttachShader", {"containerObj": "program", "obj": "shader"}),
    "glBindAttribLocationARB": ("glBindAttribLocation", {"programObj": "program"}),
    "glCompileShaderARB": ("glCompileShader", {"shaderObj": "shader"}),
    "glCreateShaderObjectARB": ("glCreateShader", {"shaderType": "type"}),
    "glDrawArraysInstancedANGLE": ("glDrawArraysInstanced", {"primcount": "instancecount"}),
    "glDrawArraysInstancedARB": ("glDrawArraysInstanced", {"primcount": "instancecount"}),
    "glDrawArraysInstancedEXT": ("glDrawArraysInstanced", {"start": "first", "primcount": "instancecount"}),
    "glDrawArraysInstancedNV": ("glDrawArraysInstanced", {"primcount": "instancecount"}),
    "glDrawElementsInstancedANGLE": ("glDrawElementsInstanced", {"primcount": "instancecount"}),
    "glDrawElementsInstancedARB": ("glDrawElementsInstanced", {"primcount": "instancecount"}),
    "glDrawElementsInstancedEXT": ("glDrawElementsInstanced", {"primcount": "instancecount"}),
    "glDrawElementsInstancedNV": ("glDrawElementsInstanced", {"primcount": "instancecount"}),
    "glGetActiveAttribARB": ("glGetActiveAttrib", {"programObj": "program", "maxLength": "bufSize"}),
    "glGetAttribLocationARB": ("glGetAttribLocation", {"programObj": "program"}),
    "glLinkProgramARB": ("glLinkProgram", {"programObj": "program"}),
    "glShaderSourceARB": ("glShaderSource", {"shaderObj": "shader"}),
    "glUseProgramObjectARB": ("glUseProgram", {"programObj": "program"}),
    "glVertexAttribDivisorANGLE": ("glVertexAttribDivisor", {}),
}
_SHARED = ("seq", "frame", "thread", "context", "t_start", "duration", "t_end", "payload_bytes")


@dataclass(frozen=True)
class Computed:
    """A view that takes more than SQL: `rows` makes its rows of the trace and of the answer to `question`.

    `columns` are its columns with their types: `"seq BIGINT, last BIGINT"`.
    """

    question: str
    columns: str
    rows: Callable[[Trace, Sequence[Row]], Iterable[Row]]


class Snapshot:
    """A DuckDB database that holds what `questions` use of a trace. Use it in a `with` block, or `close` it.

    `views` are named queries that questions, and other views, may mention as tables; each is computed once, when a
    question needs it. A question that cannot be read is no error here; executing it is.
    """

    def __init__(
        self, trace: Trace, questions: Iterable[str], views: Mapping[str, str | Computed] | None = None
    ) -> None:
        self._trace = trace
        self._views = dict(views or {})
        self._folder: Scratch | None = None
        self._made: set[str] = set()
        self._uses: dict[str, set[str]] = {}
        self._tables: dict[str, set[str]] = {}  # by question, once it was read
        self._connection = self._connect()
        pending, seen = list(questions), set[str]()
        while pending:
            text = pending.pop()
            pending += [_question(self._views[name]) for name in self._mentioned(text) - seen]
            seen |= self._mentioned(text)
            self._collect(text)
        # The graph of calls takes memory while it is made: before all the others then.
        for table in set(declared.named("graph")) & set(self._uses):
            # a view that cannot be made is an error in the question that uses it
            with contextlib.suppress(DrawtapError):
                self._load(table)
                self._made.add(table)

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget the tables."""
        self._connection.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def ask(self, question: str, most: int | None = None) -> tuple[tuple[str, ...], list[Row]]:
        """Return the columns and rows of an answer, the first `most` of them. Raises QueryError."""
        self.prepare(question)
        try:
            cursor = self._connection.execute(question)
            columns = tuple(str(d[0]) for d in cursor.description or [])
            return columns, cursor.fetchall() if most is None else cursor.fetchmany(most)
        except (duckdb.Error, RuntimeError) as error:
            raise _failed(error) from None

    def columns(self, question: str) -> tuple[str, ...]:
        """Return the columns of an answer. Raises QueryError."""
        self.prepare(question)
        try:
            described = self._connection.execute(f"SELECT * FROM ({question}) LIMIT 0").description
        except (duckdb.Error, RuntimeError) as error:
            raise _failed(error) from None
        return tuple(str(d[0]) for d in described or [])

    def prepare(self, question: str) -> None:
        """Load the tables and compute the views that a question mentions."""
        for name in sorted(self._mentioned(question), key=list(self._views).index):
            if name not in self._made:
                self._made.add(name)
                self._make(name, self._views[name])
        for table in self._collect(question):
            if table not in self._made:
                self._made.add(table)
                self._load(table)

    def _make(self, name: str, view: str | Computed) -> None:
        if isinstance(view, str):
            self.prepare(view)
            self.execute(f"CREATE TEMP TABLE {quote(name)} AS {view}")
            return
        rows = [list(row) for row in view.rows(self._trace, self.ask(view.question)[1])]
        self.execute(f"CREATE TEMP TABLE {quote(name)} ({view.columns})")
        if rows:
            places = ", ".join("?" for _ in rows[0])
            self._connection.executemany(f"INSERT INTO {quote(name)} VALUES ({places})", rows)

    # ---- what is used ------------------------------------------------------------------------------------

    def _mentioned(self, text: str) -> set[str]:
        return set(re.findall(r"[A-Za-z_]\w*", without_text(text))) & set(self._views)

    def _collect(self, text: str) -> set[str]:
        """Note the tables and columns that a question uses; return the names of the tables."""
        if text not in self._tables:
            self._tables[text] = self._used(text)
        return self._tables[text]

    def _used(self, text: str) -> set[str]:
        [(serialised,)] = self._connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchall()
        tree = json.loads(serialised)
        if tree.get("error"):
            return set()
        scope = Scope(_Names(self._trace.database, self._views), lambda name: False)
        scope.read(tree)
        for use in scope.uses:
            columns = self._uses.setdefault(use.table, set())
            columns |= use.columns
            if use.star:
                columns |= {c.name.lower() for c in self._columns(use.table) if c.shown}
        return {use.table for use in scope.uses}

    # ---- tables ------------------------------------------------------------------------------------------

    def _connect(self) -> duckdb.DuckDBPyConnection:
        if self._trace.call_count <= _IN_MEMORY:
            connection = connect()
        else:
            self._folder = Scratch()
            connection = connect(Path(self._folder.name) / "snapshot.duckdb")
            connection.execute(f"SET temp_directory = {quote_text(f'{self._folder.name}/spill')}")
            connection = bounded(connection, _MEMORY_BYTES)
        connection.execute("SET python_enable_replacements = false")
        connection.execute("SET autoinstall_known_extensions = false")
        return connection

    def _columns(self, table: str) -> Sequence[Column]:
        return self._trace.database.columns(table) if self._trace.database.known(table) else ()

    def _load(self, table: str) -> None:
        if self._trace.database.is_small(table):
            # The whole table is made; what nobody asks for is not kept.
            names = [c.name for c in self._columns(table) if c.name.lower() in self._uses[table]]
            self._copy(table, self._trace.database.stream(table), names)
        elif table == "calls":
            self._copy(table, self._calls(None, self._uses[table], {}))
        else:
            self._load_function(table)

    def _load_function(self, function: str) -> None:
        called = self._trace.database.functions
        became = (name for name, (core, _) in _BECAME.items() if core == function)
        names = dict.fromkeys([*(function + s for s in _SUFFIXES), *became])
        present = [called[n] for name in names if (n := name.lower()) in called]
        wanted = self._uses[function]
        nothing = ", ".join(f"NULL{'::BIGINT' if c in _SHARED else ''} AS {quote(c)}" for c in sorted(wanted))
        if present == [function]:
            self._copy(function, self._calls(function, wanted, {}))
            return
        # A function of an extension may lack columns that the question uses.
        parts = [f"SELECT {nothing or 'NULL AS seq'} WHERE false"]
        for name in present:
            renamed = _BECAME.get(name, ("", {}))[1]
            self._copy(f"only {name}", self._calls(name, wanted, renamed))
            columns = _as_core(self._trace.core.schema(name), wanted, renamed)
            parts.append(f"SELECT {columns} FROM {quote(f'only {name}')}")
        self.execute(f"CREATE TEMP VIEW {quote(function)} AS {' UNION ALL BY NAME '.join(parts)}")

    def _calls(self, function: str | None, wanted: set[str], renamed: Mapping[str, str]) -> Stream:
        own = self._trace.core.schema(function)
        names = tuple(c.name for c in own if _core_name(c.name, renamed).lower() in wanted) or ("seq",)
        selection = Selection(function=function, columns=names)
        return Stream(lambda: self._trace.core.calls(selection))

    def _copy(self, table: str, stream: Stream, names: Sequence[str] = ()) -> None:
        columns = ", ".join(map(quote, names)) or "*"
        self._connection.register("_once", stream)
        try:
            self.execute(f"CREATE TABLE {quote(table)} AS SELECT {columns} FROM _once")
        finally:
            self._connection.unregister("_once")

    def stream(self, question: str) -> object:
        """Return an answer as a capsule "arrow_array_stream", which must be read before the snapshot is closed."""
        return self._connection.cursor().sql(question).__arrow_c_stream__()

    def execute(self, text: str) -> None:
        """Run a statement on the tables that are loaded. Raises QueryError."""
        try:
            self._connection.execute(text).fetchall()
        except (duckdb.Error, RuntimeError) as error:
            raise _failed(error) from None


def _core_name(column: str, renamed: Mapping[str, str]) -> str:
    """Return the column of the core function for one of the extension's: `type_value` for `shaderType_value`."""
    for own, core in renamed.items():
        if column == own or column.startswith(f"{own}_"):
            return core + column[len(own) :]
    return column


def _as_core(schema: Sequence[Column], wanted: set[str], renamed: Mapping[str, str]) -> str:
    named = ((c.name, _core_name(c.name, renamed)) for c in schema)
    return ", ".join(f"{quote(own)} AS {quote(core)}" for own, core in named if core.lower() in wanted) or "seq"


def _failed(error: Exception) -> BaseException:
    if (ours := original(error) or exhausted(error)) is not None:
        return ours
    text = str(error)
    return Cancelled(text) if "cancelled" in text else QueryError(text.split("\n\n", 1)[0])


def _question(view: str | Computed) -> str:
    return view if isinstance(view, str) else view.question


class _Names:
    """Names for the reader of a query: a function need not have been called to be a table."""

    def __init__(self, database: Names, views: Mapping[str, str | Computed]) -> None:
        self._database = database
        self._views = views
        self.others = database.others
        self.is_small = database.is_small

    def known(self, name: str) -> str | None:
        if name in self._views:
            return None
        if _FUNCTION.match(name):
            return name
        table = self._database.known(name)
        return None if table == "trace" else table

    def columns(self, table: str) -> Sequence[Column]:
        return self._database.columns(table) if self._database.known(table) else ()
