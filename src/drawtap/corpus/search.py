"""Ask all recordings of a store at once: its Parquet tables as a database, put together now and then, and a subset.

The rows of a recording count when its manifest is there. Files of rows never change, so one list of them is one state
of the corpus: no catalog is needed beside the listing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from drawtap.corpus import approvals
from drawtap.corpus.objects import client_options
from drawtap.corpus.rows import ADDED_LATER
from drawtap.corpus.store import KINDS, Store, parse_tags, sealed, unsealed
from drawtap.errors import QueryError, UnavailableError, UsageError
from drawtap.scratch import Scratch
from drawtap.tables.corpus import COUNT_WITH, FILED, OF_TASKS, TABLES, VIEWS
from drawtap.trace.core import Column, Selection
from drawtap.trace.database import Database
from drawtap.trace.result import Parameters, Stream, connect
from drawtap.trace.sql_text import quote, quote_text, without_text
from drawtap.trace.trace import Trace, open_trace

MANY_FILES = 64  # of rows of single recordings: then they are put together
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Generation:
    """Files with the rows of many recordings: these recordings and tasks, and the SHA-256 of each table's file."""

    number: int
    recordings: frozenset[str]
    files: Mapping[str, str]

    def objects(self) -> Iterator[str]:
        """Yield the names of its objects."""
        yield f"tables/_gen/{self.number:08d}.json"
        for table, sha256 in self.files.items():
            yield f"tables/{table}/_all.{sha256}.parquet"


def generation(store: Store) -> Generation | None:
    """Return the newest generation, None where there is none."""
    numbers = (KINDS["generation"].fullmatch(entry.name) for entry in store.objects.listed("tables/_gen/"))
    newest = max((match["number"] for match in numbers if match), default=None)
    if newest is None:
        return None
    name = f"tables/_gen/{newest}.json"
    body = unsealed(store.objects.get(name), f"{store.where}/{name}")
    files = {table: str(sha) for table, sha in body["files"].items() if table in FILED}
    return Generation(int(newest), frozenset(map(str, body["recordings"])), files)


@dataclass(frozen=True)
class Files:
    """The files that have the rows of all recordings now, by table, and the recordings."""

    tables: Mapping[str, tuple[str, ...]]
    added: Mapping[str, float]  # by id: s since 1970
    done: frozenset[str]  # tasks with a result (and recordings)
    loose: int  # recordings and tasks whose rows stand alone


def files_of(store: Store) -> Files:
    """Return which files have the rows of the recordings that are in the corpus now."""
    added = {id_: entry.written for id_, entry in store.recordings().items()}
    newest = generation(store)
    covered = newest.recordings if newest else frozenset()
    files: dict[str, dict[str, str]] = {name: {} for name in FILED}
    for entry in store.objects.listed("tables/"):
        match = KINDS["table"].fullmatch(entry.name)
        if match and match["table"] in files and match["id"] != "_all" and match["id"] not in covered:
            files[match["table"]].setdefault(match["id"], entry.name)
    whole = {table: [f"tables/{table}/_all.{sha}.parquet"] for table, sha in newest.files.items()} if newest else {}
    # Rows count when what is written last is there: the manifest of a recording, the run of a task.
    there = {n: files[COUNT_WITH.get(n, n)].keys() if n in OF_TASKS else added.keys() for n in FILED}
    tables = {t: (*whole.get(t, ()), *(n for i, n in one.items() if i in there[t])) for t, one in files.items()}
    tasks = [name for name in OF_TASKS if name not in COUNT_WITH]
    loose = sum(len(files[name]) for name in tasks) + len(files["traces"].keys() & added.keys())
    return Files(tables, added, frozenset(files["runs"]) | covered, loose)


def done_tasks(store: Store) -> frozenset[str]:
    """Return the tasks that have a result."""
    return files_of(store).done


class Corpus(Database):
    """The tables of a corpus, asked in SQL. `calls` has the calls of `opened`, recordings whose skeletons are here."""

    WHAT, FIRST, MORE = "corpus", "traces, frames", ""

    def __init__(self, store: Store, opened: Mapping[str, Path] | None = None) -> None:
        super().__init__()
        self._store = store
        self._files = files_of(store)
        self._made: set[str] = set()
        self._traces: dict[str, Trace] = {id_: open_trace(path) for id_, path in (opened or {}).items()}

    def _connected(self) -> duckdb.DuckDBPyConnection:
        connection = connect()
        connection.execute("SET python_enable_replacements = false")
        connection.execute("SET autoinstall_known_extensions = false")
        if "://" in self._store.where:
            _register_bucket(connection, self._store)
            for name in FILED:  # a bucket is a folder to nobody: its rows are fetched before files are closed off
                self._make(connection, name)
        else:
            inside = Path(self._store.where).absolute() / "tables"
            connection.execute(f"SET allowed_directories = [{quote_text(str(inside) + '/')}]")
        connection.execute("SET enable_external_access = false")
        return connection

    def close(self) -> None:
        """Close the connection, and the recordings that are open for `calls`."""
        super().close()
        for trace in self._traces.values():
            trace.close()
        self._traces.clear()

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _prepared(self, cursor: duckdb.DuckDBPyConnection, query: str, parameters: Parameters) -> str:
        words = {word.lower() for word in _WORD.findall(without_text(query))}
        if {"show", "tables"} <= words:
            words |= set(TABLES)
        for name in sorted(words & set(TABLES)):
            self._make(self.connection, name)
        if "calls" in words and self._traces:
            self._make_calls(cursor)
        return query

    def _copied(self, writer: duckdb.DuckDBPyConnection, query: str, parameters: Parameters) -> tuple[str, Parameters]:
        answer = self.query(query, parameters)
        writer.register("_answer", Stream(answer.arrow().__arrow_c_stream__))  # type: ignore[attr-defined]
        return "SELECT * FROM _answer", ()

    def _make(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        """Make a table of the corpus known: `traces` as a table, with what the store knows; others as views."""
        if name in self._made:
            return
        if name in VIEWS:
            asked, question = VIEWS[name]
            for other in asked:
                self._make(connection, other)
            self._made.add(name)
            connection.execute(f"CREATE VIEW {name} AS {question}")
            return
        if name not in FILED:
            self._made.add(name)
            self._make_approvals(connection)
            return
        columns = ", ".join(quote(c.name) for c in TABLES[name].columns if c.name not in ADDED_LATER)
        files = self._files.tables[name]
        if files:
            where = self._store.where if "://" in self._store.where else str(Path(self._store.where).absolute())
            paths = ", ".join(quote_text(f"{where}/{file}") for file in files)
            rows = f"SELECT {columns} FROM read_parquet([{paths}])"
        else:
            cells = (f"NULL::{c.type} AS {quote(c.name)}" for c in TABLES[name].columns if c.name not in ADDED_LATER)
            rows = f"SELECT {', '.join(cells)} WHERE false"
        if "_now" not in self._made:
            self._made.add("_now")
            tags = self._store.tags()
            connection.execute("CREATE SCHEMA store")
            connection.execute("CREATE TABLE store.now (id VARCHAR, added BIGINT, tags MAP(VARCHAR, VARCHAR))")
            now = [(id_, int(at * 1e9), tags.get(id_, {})) for id_, at in self._files.added.items()]
            said = json.dumps([{"id": i, "added": a, "tags": t} for i, a, t in now])
            shape = '[{"id": "VARCHAR", "added": "BIGINT", "tags": "MAP(VARCHAR, VARCHAR)"}]'
            connection.execute(
                f"INSERT INTO store.now SELECT unnest(from_json_strict(?, '{shape}'), recursive := true)", [said]
            )
        self._made.add(name)
        kind = "TABLE" if name == "traces" or "://" in self._store.where else "VIEW"
        if name == "traces":
            listed = ", ".join(quote(c.name) for c in TABLES[name].columns)
            rows = f"SELECT {listed} FROM ({rows}) t JOIN store.now n ON n.id = t.trace ORDER BY added, trace"
        else:
            rows = f"SELECT * FROM ({rows}) WHERE trace IN (SELECT id FROM store.now)"
        try:
            connection.execute(f"CREATE {kind} {quote(name)} AS {rows}")
        except duckdb.Error as error:
            raise QueryError(
                f"the rows of {name} in {self._store.where} cannot be read: {str(error).splitlines()[0]}",
                hint="drawtap corpus check finds all damage",
            ) from None

    def _make_approvals(self, connection: duckdb.DuckDBPyConnection) -> None:
        columns = TABLES["approvals"].columns
        cells = ", ".join(f"{quote(c.name)} {c.type}" for c in columns)
        connection.execute(f"CREATE TABLE approvals ({cells})")
        rows = [
            {"trace": one.trace, "frame": frame, "digest": digest, "family": one.family, "label": one.label}
            | {"decided": one.at, "who": one.who, "why": one.why, "signer": one.signer or None}
            for one in approvals.decisions(self._store)
            for frame, digest in one.images.items()
        ]
        shape = json.dumps([{c.name: c.type for c in columns}])
        connection.execute(
            f"INSERT INTO approvals SELECT unnest(from_json_strict(?, '{shape}'), recursive := true)",
            [json.dumps(rows)],
        )

    def _make_calls(self, cursor: duckdb.DuckDBPyConnection) -> None:
        parts = []
        for number, (id_, trace) in enumerate(self._traces.items()):
            cursor.register(f"_calls{number}", Stream(partial(trace.core.calls, Selection())))
            parts.append(f"SELECT {quote_text(id_)} AS trace, * FROM _calls{number}")
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW calls AS {' UNION ALL BY NAME '.join(parts)}")

    def listed(self) -> list[str]:
        """Return the tables that every corpus has."""
        return list(TABLES)

    def table_names(self) -> list[str]:
        """Return the tables, and `calls` where recordings were chosen for it."""
        return [*TABLES, *(["calls"] if self._traces else [])]

    def known(self, name: str) -> str | None:
        """Return the proper name of a table, None where there is none."""
        lower = name.lower()
        return lower if lower in self.table_names() else None

    def columns(self, table: str) -> list[Column]:
        """Return the columns of a table."""
        if table == "calls":
            first = next(iter(self._traces.values()))
            return [Column("trace", "VARCHAR"), *first.core.schema()]
        return [Column(c.name, c.type) for c in TABLES[table].columns]

    def _translated(self, error: Exception, query: str) -> BaseException:
        translated = super()._translated(error, query)
        if isinstance(translated, QueryError) and translated.message == "no table calls":
            return QueryError("no table calls", hint="--calls TAG=VALUE opens the recordings with that tag")
        return translated


def _register_bucket(connection: duckdb.DuckDBPyConnection, store: Store) -> None:
    try:
        from obstore import fsspec
    except ImportError as error:
        raise UnavailableError("asking a bucket needs fsspec", hint="pip install 'drawtap[fleet]'") from error
    make: Any = fsspec.FsspecStore
    connection.register_filesystem(make(store.where.partition("://")[0], client_options=client_options()))


def compact(store: Store) -> Generation | None:
    """Put the rows of all recordings together in one file a table, where many stand alone; None: nothing to do.

    Several may do so at the same time: the first one's list stays, the others' files go with the next sweep.
    """
    if files_of(store).loose <= MANY_FILES:
        return None
    before = generation(store)
    number = before.number + 1 if before else 0
    files: dict[str, str] = {}
    with Corpus(store) as corpus, Scratch() as name:
        tasks = (f" UNION SELECT task FROM {quote(name)}" for name in OF_TASKS if name not in COUNT_WITH)
        ids = f"SELECT trace FROM traces{''.join(tasks)} ORDER BY 1"
        recordings = [row[0] for row in corpus.query(ids).fetchall()]
        for table in FILED:
            path = Path(name) / f"{table}.parquet"
            columns = ", ".join(quote(c.name) for c in TABLES[table].columns if c.name not in ADDED_LATER)
            order = "trace" + (", task" if table in OF_TASKS else "") + (", frame" if '"frame"' in columns else "")
            corpus.query(
                f"COPY (SELECT {columns} FROM {quote(table)} ORDER BY {order})"
                f" TO {quote_text(path)} (FORMAT parquet, COMPRESSION zstd)"
            ).fetchall()
            content = path.read_bytes()
            files[table] = hashlib.sha256(content).hexdigest()
            store.objects.put_new(f"tables/{table}/_all.{files[table]}.parquet", content)
    made = Generation(number, frozenset(recordings), files)
    body = sealed({"recordings": recordings, "files": files})
    return made if store.objects.put_new(f"tables/_gen/{number:08d}.json", body) else None


def tagged(store: Store, tags: Mapping[str, str | None]) -> list[str]:
    """Return the ids of the recordings that have all of these tags, in the order in which they were added."""
    known = store.recordings()
    have = store.tags()
    chosen = [i for i in known if all(have.get(i, {}).get(name) == value for name, value in tags.items())]
    return sorted(chosen, key=lambda id_: (known[id_].written, id_))


def selected(store: Store, words: Sequence[str], tags: Sequence[str]) -> list[str]:
    """Return the ids of recordings that are named by the begin of their ids, or chosen by tags (NAME=VALUE).

    Raises UsageError where neither is given, or there is no such recording.
    """
    if not words and not tags:
        raise UsageError("which recordings?", hint="their ids (drawtap corpus ls lists them), or --tag NAME=VALUE")
    ids = [store.find(word) for word in words]
    if tags:
        chosen = tagged(store, parse_tags(tags))
        if not chosen:
            raise UsageError(f"no recording has {' and '.join(tags)}", hint="drawtap corpus ls shows the tags")
        ids += chosen
    return list(dict.fromkeys(ids))
