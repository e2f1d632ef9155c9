"""A file as a DuckDB database, whatever kind of file: its questions, answers and errors.

A recording gives its tables as streams (`trace.recorded`), a kernel trace has them made from its events
(`system.model`). Each says which tables there are and prepares a query; everything else is the same for both.

The connection has no access to files, except for the target of `COPY ... TO` and the side database of a recording.
"""

from __future__ import annotations

import atexit
import functools
import re
import threading
import time
import weakref
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import duckdb

from drawtap.errors import ExhaustedError, InputError, QueryError, check_not_read, did_you_mean, original
from drawtap.trace.core import Column
from drawtap.trace.library import Cancelled
from drawtap.trace.memory import bound, exhausted
from drawtap.trace.result import Parameters, Result, connect
from drawtap.trace.sql_text import (
    copy_target,
    into,
    without_comments,
    without_leading_comments,
    without_text,
)

MEMORY_BYTES = 2_000_000_000  # of DuckDB, for long recordings at first, and for questions of strangers
_PATIENCE_S = 10  # for queries of other threads, when a database is closed
_SAFE = (
    "max_temp_directory_size = '0KB'",
    "autoload_known_extensions = false",
    "allow_community_extensions = false",
)
_ALLOWED = (
    *("SELECT", "EXPLAIN", "PRAGMA", "SET", "VARIABLE_SET", "COPY", "CREATE"),
    *("RELATION", "CALL", "TRANSACTION", "PREPARE", "EXECUTE"),
)
_CLAUSES = frozenset({"select", "from", "where", "group", "order", "having", "limit", "with", "join", "on", "as"})
_NAMED = re.compile(r'\bAS\s+"?([A-Za-z_]\w*)', re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Database(ABC):
    """The tables of one file, asked in SQL."""

    WHAT: ClassVar[str]  # the kind of file, in messages
    FIRST: ClassVar[str]  # tables to begin with
    MORE: ClassVar[str]  # tables that are too many to list

    def __init__(self) -> None:
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._writing: duckdb.DuckDBPyConnection | None = None  # what COPY writes files with, opened when first used
        self._temporary = False  # the user has made temporary tables: they live in the connection itself
        self._last: weakref.ref[Result] | None = None
        self._opening = threading.RLock()  # of the connection, which several threads may ask for
        self._running: dict[int, duckdb.DuckDBPyConnection] = {}  # by thread: what it asks with
        self._closed = False  # what a question fails with then is no fault of the question
        self._safe = False  # questions are those of strangers
        _live.add(self)

    # ---- what a kind of file says ------------------------------------------------------------------------

    def _connected(self) -> duckdb.DuckDBPyConnection:
        """Open the connection."""
        raise InputError(f"the {self.WHAT} is closed")

    @abstractmethod
    def _prepared(self, cursor: duckdb.DuckDBPyConnection, query: str, parameters: Parameters) -> str:
        """Give DuckDB the tables that a query mentions; return the query as DuckDB is to run it."""

    @abstractmethod
    def _copied(self, writer: duckdb.DuckDBPyConnection, query: str, parameters: Parameters) -> tuple[str, Parameters]:
        """Return SQL, and its parameters, whose rows on `writer`, which may write files, are those of `query`."""

    @abstractmethod
    def table_names(self) -> list[str]:
        """Return every table that one can ask."""

    @abstractmethod
    def listed(self) -> list[str]:
        """Return the tables that every file of this kind has."""

    @abstractmethod
    def known(self, name: str) -> str | None:
        """Return the proper name of a table, None where there is none."""

    @abstractmethod
    def columns(self, table: str) -> list[Column]:
        """Return the columns of a table."""

    def _candidates(self, name: str) -> list[str]:
        """Return tables that somebody may have meant by `name`."""
        return self.table_names()

    def _written(self, query: str, path: Path, parameters: Parameters) -> int:
        """Write the calls that a query names as a recording of their own and return their number."""
        raise QueryError(f"a {self.WHAT} does not become a recording", hint="COPY (SELECT ...) TO 'file' writes tables")

    # ---- connection --------------------------------------------------------------------------------------

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection, opened when first used."""
        if self._connection is None:
            with self._opening:
                if self._connection is None:
                    self._connection = self._connected()
                    self._closed = False
        return self._connection

    def make_safe(self) -> None:
        """Answer questions of strangers from now on: SELECTs that read this file alone, within bounded memory."""
        self._safe = True

    def _bound(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Bound what questions of strangers take."""
        connection.execute("RESET memory_limit")
        bound(connection, MEMORY_BYTES)
        for setting in _SAFE:
            connection.execute(f"SET {setting}")

    def interrupt(self, thread: int | None = None) -> None:
        """Stop the query that runs now, of one thread or (None) of any; it then raises Cancelled."""
        for asks, cursor in [*self._running.items()]:
            if thread is None or asks == thread:
                cursor.interrupt()

    def close(self) -> None:
        """Close the connection. A query of another thread ends before, and raises Cancelled there."""
        connection, self._connection = self._connection, None
        self._closed = connection is not None
        begun = time.monotonic()
        while connection is not None:
            self.interrupt()
            try:
                connection.close()
                connection = None
            except duckdb.Error as error:  # DuckDB closes no connection whose query runs
                if not isinstance(error, _in_use()) or time.monotonic() - begun > _PATIENCE_S:
                    raise
                time.sleep(0.005)
        self._running.clear()
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.close()

    def _writer(self) -> duckdb.DuckDBPyConnection:
        """Return a connection of its own that may write files; whoever asks closes it."""
        with self._opening:
            if self._writing is None:
                self._writing = connect()
            return self._writing.cursor()

    # ---- queries -----------------------------------------------------------------------------------------

    def query(self, query: str, parameters: Parameters = ()) -> Result:
        """Answer a query. Raises QueryError, with near misses for names."""
        try:
            return self._query(query, parameters)
        except (duckdb.Error, RuntimeError, ExhaustedError) as error:
            raise self._translated(error, query) from None

    def rows(self, query: str, parameters: Parameters = ()) -> list[dict[str, Any]]:
        """Return the rows of an answer by column name."""
        return list(self.query(query, parameters).dicts())

    def scalar(self, query: str, parameters: Parameters = ()) -> Any:
        """Return the first value of the first row of an answer, None where there is none."""
        rows = self.query(query, parameters).fetchall()
        return rows[0][0] if rows else None

    def _query(self, query: str, parameters: Parameters) -> Result:
        connection = self.connection
        if self._safe:
            self._only_read(query)
        target = into(query)
        if target is not None:
            return self._into(*target, parameters)
        statements = connection.extract_statements(query)  # duckdb.extract_statements opens a database of its own
        if not statements:
            raise QueryError("the query is empty", hint=f"tables: {self.FIRST} and others; drawtap sql --help")
        texts = [statement.query for statement in statements]
        if re.match(r"\s*(PIVOT|UNPIVOT)\b", without_leading_comments(query), re.IGNORECASE):
            texts = [query]  # DuckDB makes several statements of it
        else:
            for statement in statements:
                self._allow(statement, statement.query)
        self._temporary |= any(_kind(statement).startswith(("CREATE", "SET", "VARIABLE")) for statement in statements)
        # A cursor of its own leaves earlier results open. It does not see temporary tables.
        cursor = connection if self._temporary else connection.cursor()
        self._running[threading.get_ident()] = cursor
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

    def _only_read(self, query: str) -> None:
        statements = self.connection.extract_statements(query) if into(query) is None else []
        if [_kind(statement).removesuffix("_STATEMENT") for statement in statements] != ["SELECT"]:
            what = f"only one question that reads the {self.WHAT} is answered here"
            raise QueryError(what, hint="SELECT, WITH, DESCRIBE")

    def _allow(self, statement: object, text: str) -> None:
        kind = _kind(statement).removesuffix("_STATEMENT")
        refused = kind not in _ALLOWED
        words = re.sub(r"\s+", " ", without_comments(text)).strip().upper()
        if kind == "CREATE":
            refused = not re.match(r"CREATE (OR REPLACE )?(TEMP|TEMPORARY|MACRO|FUNCTION)\b", words)
        if kind == "COPY":
            refused = not copy_target(text)
        if refused:
            what = words.split(" ", 1)[0] or kind
            raise QueryError(
                f"{what} is not possible: a {self.WHAT} is only read",
                hint="SELECT, DESCRIBE, COPY (SELECT ...) TO 'file', CREATE TEMP TABLE",
            )

    def _again(self, text: str, parameters: Parameters) -> tuple[duckdb.DuckDBPyConnection, str]:
        # With new streams: the streams of the first run may have been read.
        cursor = self.connection if self._temporary else self.connection.cursor()
        self._running[threading.get_ident()] = cursor
        if copy_target(text):
            return cursor, "SELECT 0::BIGINT AS Count WHERE false"
        return cursor, self._prepared(cursor, text, parameters)

    def _run(self, cursor: duckdb.DuckDBPyConnection, text: str, parameters: Parameters) -> None:
        copied = copy_target(text)
        if copied:
            self._copy(cursor, *copied, parameters)
        else:
            cursor.execute(self._prepared(cursor, text, parameters), parameters or None)

    def _into(self, target: str, query: str, parameters: Parameters) -> Result:
        """`SELECT ... INTO name`: the calls that the query names become a recording of their own."""
        path = Path(target) if target.endswith(".dtap") else self._place(f"{target}.dtap")
        check_not_read(path)
        count = self._written(query, path, parameters)
        cursor = self.connection.cursor()
        answer = "SELECT ?::VARCHAR AS trace, ?::BIGINT AS calls"
        cursor.execute(answer, [str(path), count])
        return Result(
            cursor, lambda: (cursor, answer), [str(path), count], lambda error: self._translated(error, query)
        )

    def _place(self, name: str) -> Path:
        """Return where a recording that a query makes is written."""
        return Path(name)

    def _copy(self, cursor: duckdb.DuckDBPyConnection, inner: str, outer: str, parameters: Parameters) -> None:
        # A connection of its own that may write: the other one stays closed off. Only the inner SELECT reads the file.
        named = re.match(r"TO\s+'((?:[^']|'')+)'", outer, re.IGNORECASE)
        target = Path(named[1].replace("''", "'")) if named else None
        if target is not None:
            check_not_read(target)
        if target is not None and target.suffix.lower() == ".dtap":
            count = self._written(inner, target, parameters)
        else:
            if not re.match(r"\s*(\(|select|with|from|values)", inner, re.IGNORECASE):
                inner = f"SELECT * FROM {inner}"
            writer = self._writer()
            try:
                writer.execute("SET python_enable_replacements = false")
                ready, given = self._copied(writer, inner, parameters)
                rows = writer.execute(f"COPY ({ready.rstrip().rstrip(';')}) {outer}", given or None).fetchall()
            finally:
                writer.close()
            count = rows[0][0] if rows else 0
        cursor.execute("SELECT ?::BIGINT AS Count", [count])

    # ---- errors ------------------------------------------------------------------------------------------

    def _translated(self, error: Exception, query: str) -> BaseException:
        text = str(error)
        interrupted = isinstance(error, duckdb.InterruptException) or "INTERRUPT Error" in text
        if self._closed or interrupted or ("cancelled" in text and "rror" in text):
            return Cancelled(text)
        full = error if isinstance(error, ExhaustedError) else exhausted(error)
        if full is not None:  # what strangers may have is not what there is
            return QueryError(full.message, hint=full.hint) if self._safe else full
        if (ours := original(error)) is not None:
            return ours
        missing = re.search(r"Table with name (\S+) does not exist", text)
        if missing:
            name = missing.group(1).strip('"')
            tables = f"tables: {', '.join(self.listed())}{self.MORE}"
            return QueryError(f"no table {name}", hint=did_you_mean(name, self._candidates(name)) or tables)
        column = re.search(
            r'Referenced column "([^"]+)" (?:was )?not found|does not have a column named "([^"]+)"', text
        )
        if column:
            name = column.group(1) or column.group(2)
            names = self._mentioned_columns(query)
            if re.fullmatch(r"(GL|EGL|GLX|VG|VK)_\w+", name):
                return QueryError(f"no column {name}", hint=f"enumerants are text: write '{name}' in quotes")
            return QueryError(
                f"no column {name}",
                hint=did_you_mean(name, names) or ("columns: " + ", ".join(names) if names else None),
            )
        error = self._other_error(text)
        if "syntax error" in text and error.hint is None:
            error.hint = self._quotes_missing(query)
        return error

    def _quotes_missing(self, query: str) -> str | None:
        """Say which names of columns stand in a query as words of SQL."""
        bare = re.sub(r'"[^"]*"', " ", without_text(query))
        words = {word.lower() for word in _WORD.findall(bare)} - _CLAUSES
        named = {*self._mentioned_columns(query), *_NAMED.findall(query)}
        names = sorted(words & {name.lower() for name in named} & _reserved())
        if not names:
            return None
        written = " and ".join(f'"{name}"' for name in names)
        return f"write {written} with the double quotes: without them SQL takes the name for a word of its own"

    def _other_error(self, text: str) -> QueryError:
        message = re.sub(r"^\w+ Error: ", "", text.split("\n\n", 1)[0]).strip()
        message = re.sub(r' (\d+)( copied)?( event)?"', '"', message)
        function = re.search(r"Function with name (\S+) does not exist", text)
        if function:
            near = re.search(r'Did you mean "([^"]+)"', text)
            return QueryError(
                f"no SQL function {function.group(1)}", hint=f"did you mean {near.group(1)}?" if near else None
            )
        hint = None
        if near := re.search(r'syntax error at or near "(\w+)"', text):
            hint = did_you_mean(
                near[1], ("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "WITH", "JOIN")
            )
        if near := re.search(r"Candidate Entries: (.+)", text):
            hint = "members: " + near[1].replace('"', "")
        if "disabled" in text and "file" in text.lower():
            hint = f"only the {self.WHAT} is read; COPY (SELECT ...) TO 'file' writes"
        return QueryError(message.replace("\n", " "), hint=hint)

    def _mentioned_columns(self, query: str) -> list[str]:
        columns: dict[str, None] = {}
        for word in _WORD.findall(without_text(query)):
            table = self.known(word)
            if table:
                columns.update(dict.fromkeys(c.name for c in self.columns(table)))
        return list(columns)


@functools.cache
def _reserved() -> frozenset[str]:
    """Return the words that SQL keeps for itself, in small letters."""
    with connect() as connection:
        rows = connection.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
        ).fetchall()
    return frozenset(str(name) for (name,) in rows)


def _in_use() -> tuple[type[Exception], ...]:
    """Return the error of a DuckDB that closes no connection whose query runs; versions before 2.0 close all."""
    refusal = getattr(duckdb, "ResourceInUseException", None)
    return () if refusal is None else (refusal,)


def _kind(statement: object) -> str:
    return str(getattr(statement, "type", "")).rsplit(".", 1)[-1].upper()


_live: weakref.WeakSet[Database] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for database in list(_live):
        database.close()
