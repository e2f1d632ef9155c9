"""The kernel's view as tables: lives of GPU requests, spans on tracks, counters, links, state over time.

    with reader.open("trace.dat") as trace:
        model = build(trace)
        model.query("SELECT engine, count(*), avg(wait_ns) FROM requests GROUP BY engine").fetchall()

`drawtap.tables.kernel` says what the tables and their columns are. All times are the trace's own, in ns. A column
that the kernel did not tell is NULL; the table `unmatched` and the column `requests.unmatched` say why.

Tracks are paths: `DEVICE/ENGINE` (work on an engine), `DEVICE/ENGINE/queue` (requests that wait for it),
`DEVICE/ENGINE/stages` (parts of an execution), `vgpu/N/queue` (requests that wait in the hypervisor), `vgpu/N/slice`
(time slices); `thread/TID` (`running` spans have their CPU), `vcpu/TID`, `crtc/N`, `guest/VM/...` (threads and requests
of a guest with a joined trace).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

import duckdb

from drawtap.scratch import Scratch
from drawtap.system import life, timeline
from drawtap.system.driver import Draft, Source, drivers
from drawtap.system.reader import BASE_COLUMNS
from drawtap.tables.kernel import TABLES
from drawtap.trace.core import Column
from drawtap.trace.database import Database
from drawtap.trace.memory import bounded
from drawtap.trace.result import Parameters, Stream, connect
from drawtap.trace.sql_text import quote, quote_text


class KernelModel(Database):
    """The tables of one trace in a DuckDB connection. Use as a context manager, or `close` it.

    `window` is the time from the first to the last event; `drivers` are those that found events of theirs. Beside
    `TABLES` every event of the trace is a table of its name, with its fields, in order of time. These tables and
    `state` are made when first mentioned.
    """

    WHAT, FIRST, MORE = "kernel trace", "requests, spans", ", and one for each event"

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        source: Source,
        window: tuple[int, int],
        names: Sequence[str],
        scratch: Scratch | None = None,
    ) -> None:
        super().__init__()
        self._connection = connection
        self.source = source
        self.window = window
        self.drivers = tuple(names)
        self._has_state = False
        self._events: set[str] = set()
        self._scratch = scratch

    def _prepared(self, cursor: duckdb.DuckDBPyConnection, query: str, parameters: Parameters) -> str:
        if not self._has_state and re.search(r"\bstate\b", query):
            timeline.build(self.connection)
            self._has_state = True
        for name in {quoted or word for quoted, word in _NAMES.findall(query)} - self._events:
            if name not in TABLES and self.source.knows(name):
                self._load(name)
        return query

    def _copied(self, writer: duckdb.DuckDBPyConnection, query: str, parameters: Parameters) -> tuple[str, Parameters]:
        writer.register("_answer", Stream(self.query(query, parameters).__arrow_c_stream__))
        return "SELECT * FROM _answer", ()

    def _load(self, name: str) -> None:
        self.connection.register("_stream", self.source.events(name))
        try:
            self.connection.execute(f"CREATE TABLE IF NOT EXISTS {quote(name)} AS SELECT * FROM _stream")
        finally:
            self.connection.unregister("_stream")
        self._events.add(name)

    def make_safe(self) -> None:
        """Answer questions of strangers from now on: SELECTs that read this trace alone, within bounded memory."""
        if not self._safe:
            super().make_safe()
            self._bound(self.connection)
            self.connection.execute("SET lock_configuration = true")

    def listed(self) -> list[str]:
        """Return the tables that every kernel trace has."""
        return list(TABLES)

    def table_names(self) -> list[str]:
        """Return every table for questions: the model's tables, and events."""
        return [*TABLES, *self.source.names()]

    def known(self, name: str) -> str | None:
        """Return the proper name of a table, None where there is none."""
        lower = name.lower()
        if lower in TABLES:
            return lower
        return next((event for event in self.source.names() if event.lower() == lower), None)

    def columns(self, table: str) -> list[Column]:
        """Return the columns of a table."""
        if table in TABLES:
            return [Column(c.name, c.type) for c in TABLES[table].columns]
        own = [Column(field.name, field.type) for field in self.source.fields(table)]
        return [*(Column(name, kind) for name, kind in BASE_COLUMNS.items() if name != "event"), *own]

    def close(self) -> None:
        """Forget the tables; a large trace's tables were in a file, which goes too."""
        super().close()
        if self._scratch is not None:
            self._scratch.cleanup()

    def __enter__(self) -> KernelModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_NAMES = re.compile(r'"((?:[^"]|"")+)"|([A-Za-z_]\w*)')
# The tables of a trace take about nine times its size in memory. In a file they take what DuckDB may have, and up to a
# quarter more time of the processor.
_LARGE_BYTES = 30_000_000
_MEMORY_BYTES = 500_000_000


def files(source: Source) -> list[Path]:
    """Return the files of a trace, sorted; none where it does not come from files."""
    path = getattr(source, "path", None)
    if not isinstance(path, Path):
        return []
    return sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path]


def size(source: Source) -> int:
    """Return how many bytes the files of a trace have."""
    return sum(f.stat().st_size for f in files(source))


def build(source: Source, *, only: Collection[str] | None = None, database: Path | None = None) -> KernelModel:
    """Make the model of a trace.

    `only` narrows the drivers by name; `database` is a file for the tables. Without one they are in memory, or for a
    large trace in a temporary file.
    """
    model = assembled(source, only=only, database=database)
    lock(model.connection)
    return model


def assembled(
    source: Source, *, only: Collection[str] | None = None, database: Path | None = None, kept: Path | None = None
) -> KernelModel:
    """Make a model as `build` does, whose connection may still open files: for those who hand it on.

    `kept`: a new database, attached as `kept`, in which the largest tables are made.
    """
    connection, scratch = database_for(source) if database is None else (connect(database), None)
    connection.execute("SET preserve_insertion_order = true")
    if kept is not None:
        connection.execute(f"ATTACH {quote_text(kept)} AS kept")
    for table in TABLES.values():
        if table.name != "state":
            columns = ", ".join(f'"{c.name}" {c.type}' for c in table.columns)
            there = kept is not None and table.name == "requests"
            connection.execute(f"CREATE TABLE {'kept.' if there else ''}{table.name} ({columns})")
            if there:
                connection.execute("CREATE VIEW requests AS SELECT * FROM kept.requests")
    draft = Draft(connection, source)
    window = source.bounds() or (0, 0)
    connection.execute("CREATE TABLE trace_window AS SELECT ?::BIGINT AS begin_ns, ?::BIGINT AS end_ns", list(window))
    for entry in drivers(only):
        draft.driver, draft.order = entry.name, entry.order
        entry.function(draft)
        draft.forget()
    # A driver whose events tell what lasts makes the window reach to the end of that.
    ((begin, end),) = connection.execute("SELECT begin_ns, end_ns FROM trace_window").fetchall()
    window = (int(begin), int(end))
    life.assemble(connection, source.threads, "kept" if kept is not None else None)
    return KernelModel(connection, source, window, draft.used, scratch)


def database_for(source: Source) -> tuple[duckdb.DuckDBPyConnection, Scratch | None]:
    """Return an empty database in memory, or for a large trace in a temporary folder, which comes with it."""
    if size(source) <= _LARGE_BYTES:
        return connect(), None
    scratch = Scratch()
    connection = connect(Path(scratch.name) / "kernel.duckdb")
    # DuckDB would keep all of its file in memory where that is free: what is beyond is on disk, and read again.
    return bounded(connection, _MEMORY_BYTES), scratch


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Close the files of this machine to those who ask in SQL."""
    connection.execute("SET enable_external_access = false")
