"""What the kernel saw, as tables: lives of GPU requests, spans on tracks, counters, links, state over time.

    with reader.open("trace.dat") as trace:
        model = build(trace)
        model.query("SELECT engine, count(*), avg(wait_ns) FROM requests GROUP BY engine").fetchall()

`TABLES` says what the tables and their columns are. All times are those of the trace, in ns. A column that the kernel
did not tell is NULL; the table `unmatched` and the column `requests.unmatched` say why.

Tracks are paths: `DEVICE/ENGINE` (work on an engine), `DEVICE/ENGINE/queue` (requests that wait for it), `vgpu/N/queue`
(requests that wait in the hypervisor), `vgpu/N/slice` (time slices), `thread/TID` (`running` spans have
their CPU), `vcpu/TID`, `crtc/N`, `DEVICE/ENGINE/stages` (what an execution is made of), `guest/VM/...` (threads and
requests of a guest of which a trace was joined).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from drawtap.errors import QueryError
from drawtap.system import life, timeline
from drawtap.system.driver import Draft, Source, drivers


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its DuckDB type, and what it holds."""

    name: str
    type: str
    help: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the model."""

    name: str
    help: str
    columns: tuple[Column, ...]


def _table(name: str, text: str, *columns: tuple[str, str, str]) -> Table:
    return Table(name, text, tuple(Column(*c) for c in columns))


TABLES: Mapping[str, Table] = {
    t.name: t
    for t in (
        _table(
            "requests",
            "One request for work on the GPU, from the thread that asked for it to the end.",
            ("id", "BIGINT", "number, in order of the first time that is known"),
            ("driver", "VARCHAR", "the mapping it comes from: drm_sched, i915, virtio_gpu ..."),
            ("device", "VARCHAR", "the GPU; `gpu` where the kernel does not tell"),
            ("engine", "VARCHAR", "the engine or ring: rcs0, gfx, sdma0 ..."),
            ("context", "UBIGINT", "context or fence context"),
            ("seqno", "UBIGINT", "number in its context"),
            (
                "client",
                "VARCHAR",
                "who asked: client id of the driver, else process as `comm (pid)`, else thread as `comm (tid)`",
            ),
            ("tid", "INTEGER", "the thread that asked"),
            ("pid", "INTEGER", "its process"),
            ("comm", "VARCHAR", "its name"),
            ("vm", "VARCHAR", "the virtual machine, where one is known to be behind it"),
            ("vgpu", "INTEGER", "the virtual GPU; NULL for work of the host"),
            ("guest_context", "UBIGINT", "the context that the guest gave its request, where the hypervisor tells"),
            ("guest_seqno", "UBIGINT", "its number there"),
            ("priority", "INTEGER", "as the driver counts it"),
            ("label", "VARCHAR", "what the driver calls the work: a command's name ..."),
            ("created_ns", "BIGINT", "asked for: by the program, or in the queue of the virtual GPU"),
            ("queued_ns", "BIGINT", "in the queue of the (host's) driver"),
            ("ready_ns", "BIGINT", "last dependency met"),
            ("submitted_ns", "BIGINT", "handed to the hardware"),
            ("begin_ns", "BIGINT", "first time on the engine"),
            ("end_ns", "BIGINT", "off the engine for good"),
            ("done_ns", "BIGINT", "its owner was told"),
            ("retired_ns", "BIGINT", "the driver forgot it; no earlier than the end"),
            (
                "ended_by_ns",
                "BIGINT",
                "where its end was not recorded: when a later request of its context, or of an engine that works in "
                "order, had ended; no earlier than its own end",
            ),
            ("is_open", "BOOLEAN", "nothing tells that it ended: at the end of the trace it waits or is on the engine"),
            (
                "begin_from",
                "VARCHAR",
                "`event`: told; `order`: the engine works in order, so it began when it was submitted and its "
                "predecessor off the engine; `overlap`: it was off before a predecessor, so it began when submitted",
            ),
            ("preemptions", "INTEGER", "how often it was taken off the engine unfinished"),
            ("wait_ns", "BIGINT", "begin_ns minus the first of created_ns, queued_ns"),
            ("execution_ns", "BIGINT", "time on the engine, without that between preemption and resumption"),
            ("latency_ns", "BIGINT", "end_ns minus the first of created_ns, queued_ns"),
            ("unmatched", "VARCHAR", "why something is NULL; NULL where the whole life is known"),
        ),
        _table(
            "executions",
            "Times on an engine: one row a request, several where it was preempted.",
            ("request", "BIGINT", "requests.id"),
            ("device", "VARCHAR", "the GPU"),
            ("engine", "VARCHAR", "the engine"),
            ("begin_ns", "BIGINT", "on"),
            ("end_ns", "BIGINT", "off"),
            ("final", "BOOLEAN", "off because it was done, not preempted"),
            ("begin_from", "VARCHAR", "as in requests"),
            ("is_open", "BOOLEAN", "cut off by the begin or the end of the trace: only the part inside"),
        ),
        _table(
            "spans",
            "Something that lasted: work on an engine, waiting in a queue, a thread on a CPU.",
            ("id", "BIGINT", "number"),
            ("track", "VARCHAR", "where it is drawn: a path"),
            ("begin_ns", "BIGINT", "from"),
            ("end_ns", "BIGINT", "to, not included; equal to begin_ns for a mark"),
            ("name", "VARCHAR", "what to write on it"),
            (
                "kind",
                "VARCHAR",
                "execution; blocked, queued, ring, vgpu queue (the parts of a wait); notify; running, preempted, "
                "waking, blocked (threads); guest (a vCPU in its guest); current (a virtual GPU has the GPU); "
                "fence wait; stage (inside of an execution); mark; guest queue (not yet handed over by a guest), guest "
                "notice (done, and the guest does not know), guest request (not joined with one of the host)",
            ),
            ("request", "BIGINT", "requests.id, for parts of a request's life"),
            ("tid", "INTEGER", "the thread, for spans of threads and CPUs"),
            ("cpu", "INTEGER", "the CPU it happened on"),
            ("vgpu", "INTEGER", "the virtual GPU"),
            ("lane", "INTEGER", "row in its track, from 0, so that spans of a row do not overlap"),
            ("is_open", "BOOLEAN", "cut off by the begin or the end of the trace"),
        ),
        _table(
            "counters",
            "A number that changes: it holds from t_ns until the next row of its track.",
            ("track", "VARCHAR", "a path: `DEVICE/ENGINE/queue length`, `vgpu/N/time left`, `gpu/0/memory` ..."),
            ("t_ns", "BIGINT", "from when on"),
            ("value", "DOUBLE", "the number"),
            ("unit", "VARCHAR", "count, bytes, ns, Hz, percent"),
        ),
        _table(
            "memory_use",
            "GPU memory of processes and of virtual machines. A row holds until the next one of its device, basis and "
            "client, or of its machine where client is NULL.",
            ("device", "VARCHAR", "the GPU, as its driver tells: `i915`, `gpu 0` ..."),
            (
                "basis",
                "VARCHAR",
                "`total`: all that the process has; `made`: objects that it made during the trace, less those that are "
                "gone; `allocated`: what it allocated during the trace, for a driver that does not tell what is freed",
            ),
            ("client", "VARCHAR", "the process, as in requests; NULL in rows of a whole virtual machine"),
            ("pid", "INTEGER", "its number; NULL where the trace does not tell"),
            ("vm", "VARCHAR", "the virtual machine that the process runs; NULL where none is known"),
            ("t_ns", "BIGINT", "from when on"),
            ("bytes", "BIGINT", "how much"),
        ),
        _table(
            "links",
            "What leads to what. Ids are those of the table that the kind names: request, span, thread, call, frame.",
            ("from_kind", "VARCHAR", "kind of the cause"),
            ("from_id", "BIGINT", "its id"),
            ("from_ns", "BIGINT", "when an arrow leaves it"),
            ("to_kind", "VARCHAR", "kind of the effect"),
            ("to_id", "BIGINT", "its id"),
            ("to_ns", "BIGINT", "when the arrow arrives"),
            ("kind", "VARCHAR", "way (between parts of a request's life), waits for, wakes, submits, same fence"),
            ("tier", "INTEGER", "1 told by the kernel, 2 same thread and time, 3 over a helper thread that was woken"),
            ("confidence", "DOUBLE", "0 to 1"),
        ),
        _table(
            "threads",
            "The threads that occur.",
            ("tid", "INTEGER", "thread"),
            ("pid", "INTEGER", "process; NULL where the trace does not tell"),
            ("comm", "VARCHAR", "last name seen"),
            ("is_vcpu", "BOOLEAN", "entered a guest"),
            ("vm", "VARCHAR", "name of the virtual machine, for its vCPU threads"),
            ("vcpu", "INTEGER", "number of the vCPU in order of thread ids"),
        ),
        _table(
            "guests",
            "Virtual machines of which a trace from inside was joined (`--guest`). Their time `t` is the host's time "
            "`t + offset_ns + drift * (t - zero_ns)`.",
            ("guest", "VARCHAR", "name of the machine"),
            ("trace", "VARCHAR", "its trace"),
            ("vm", "VARCHAR", "name of the host's machine, where one is known"),
            ("vgpu", "INTEGER", "its virtual GPU, where it has one"),
            ("begin_ns", "BIGINT", "begin of its trace, in the host's time"),
            ("end_ns", "BIGINT", "end of its trace, in the host's time"),
            ("zero_ns", "BIGINT", "a time of the guest"),
            ("offset_ns", "BIGINT", "what to add to it for the host's time"),
            ("drift", "DOUBLE", "how much faster the host's clock runs, as a share"),
            (
                "error_ns",
                "BIGINT",
                "no time of the guest is further off; NULL where all pairs have one direction: nothing bounds it",
            ),
            ("spread_ns", "BIGINT", "half of the pairs are no further from this clock"),
            ("contradiction_ns", "BIGINT", "how far pairs contradict each other; 0: one clock fits all"),
            ("guest_first", "BIGINT", "pairs of events of which the guest's came first"),
            ("host_first", "BIGINT", "pairs of events of which the host's came first"),
        ),
        _table(
            "guest_threads",
            "The threads inside of guests.",
            ("guest", "VARCHAR", "guests.guest"),
            ("tid", "INTEGER", "thread, as the guest counts them"),
            ("pid", "INTEGER", "its process"),
            ("comm", "VARCHAR", "last name seen"),
        ),
        _table(
            "guest_requests",
            "Requests as the guest saw them, in the host's time, and which request of the host each became.",
            ("guest", "VARCHAR", "guests.guest"),
            ("id", "BIGINT", "number in its guest"),
            ("driver", "VARCHAR", "as in requests"),
            ("device", "VARCHAR", "the GPU as the guest calls it"),
            ("engine", "VARCHAR", "the engine"),
            ("context", "UBIGINT", "context in the guest"),
            ("seqno", "UBIGINT", "number in its context"),
            ("client", "VARCHAR", "who asked, as in requests"),
            ("tid", "INTEGER", "the thread that asked"),
            ("comm", "VARCHAR", "its name"),
            ("label", "VARCHAR", "as in requests"),
            ("asked_ns", "BIGINT", "created_ns, else queued_ns: the program's submit"),
            ("handed_ns", "BIGINT", "given to the virtual GPU, as the guest saw it"),
            ("end_ns", "BIGINT", "the guest knew that it was done"),
            ("host_request", "BIGINT", "requests.id; NULL where none was found"),
            ("joined_by", "VARCHAR", "`number`: context and number; `order`: the only ones between two others"),
            ("host_asked_ns", "BIGINT", "the host got it"),
            ("host_end_ns", "BIGINT", "off the host's engine; where that is not told, answered"),
            ("guest_wait_ns", "BIGINT", "from asked_ns to host_asked_ns; as exact as guests.error_ns"),
            ("latency_ns", "BIGINT", "from the guest's submit to the host's completion; as exact as guests.error_ns"),
            ("notice_ns", "BIGINT", "from the host's completion until the guest knew; as exact as guests.error_ns"),
            ("unmatched", "VARCHAR", "why there is no request of the host"),
        ),
        _table(
            "unmatched",
            "What could not be told, and why.",
            ("driver", "VARCHAR", "the mapping"),
            ("event", "VARCHAR", "what is missing, or was left over"),
            ("reason", "VARCHAR", "why"),
            ("count", "BIGINT", "of how many requests or events; 0: of all, or nobody knows"),
        ),
        _table(
            "state",
            "Values of hierarchical paths over time, ordered by end_ns. Rows with `begin_ns <= T AND T < end_ns` are "
            "the state at T. (The state of an API recording has the same shape, with begin_seq and end_seq.)",
            ("path", "VARCHAR", "`gpus/DEVICE/engines/ENGINE`, `threads/TID/state`, `cpus/N/thread` ..."),
            ("begin_ns", "BIGINT", "from"),
            ("end_ns", "BIGINT", "to, not included"),
            ("value", "VARCHAR", "the value"),
        ),
    )
}


class KernelModel:
    """The tables of one trace in a DuckDB connection. Use as a context manager, or `close` it.

    `window` is the time from the first to the last event; `drivers` are those that found events of theirs.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        source: Source,
        window: tuple[int, int],
        names: Sequence[str],
        scratch: tempfile.TemporaryDirectory[str] | None = None,
    ) -> None:
        self.connection = connection
        self.source = source
        self.window = window
        self.drivers = tuple(names)
        self._has_state = False
        self._events: set[str] = set()
        self._scratch = scratch

    def query(self, sql: str, parameters: Sequence[object] | None = None) -> duckdb.DuckDBPyConnection:
        """Run SQL over `TABLES` and events and return the cursor.

        Every event of the trace is a table of its name, with its fields, in order of time. These tables and `state` are
        made when first mentioned.
        """
        if not self._has_state and re.search(r"\bstate\b", sql):
            timeline.build(self.connection)
            self._has_state = True
        try:
            for name in {quoted or word for quoted, word in _NAMES.findall(sql)} - self._events:
                if name not in TABLES and self.source.knows(name):
                    self._load(name)
            # A cursor of its own: a result that somebody still reads does not stand in the way of the next question.
            return self.connection.cursor().execute(sql, parameters or [])
        except duckdb.Error as error:
            raise QueryError(str(error).partition("\n")[0], hint=f"tables: {', '.join(TABLES)}") from None

    def _load(self, name: str) -> None:
        self.connection.register("_stream", self.source.events(name))
        try:
            quoted = name.replace('"', '""')
            self.connection.execute(f'CREATE TABLE IF NOT EXISTS "{quoted}" AS SELECT * FROM _stream')
        finally:
            self.connection.unregister("_stream")
        self._events.add(name)

    def rows(self, sql: str, parameters: Sequence[object] | None = None) -> list[dict[str, object]]:
        """Run SQL and return its rows by column name."""
        cursor = self.query(sql, parameters)
        names = [str(d[0]) for d in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def scalar(self, sql: str, parameters: Sequence[object] | None = None) -> object:
        """Run SQL and return the first value of its first row, None where there is none."""
        rows = self.query(sql, parameters).fetchall()
        return rows[0][0] if rows else None

    def close(self) -> None:
        """Forget the tables; those of a large trace were in a file, which goes too."""
        self.connection.close()
        if self._scratch is not None:
            self._scratch.cleanup()

    def __enter__(self) -> KernelModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_NAMES = re.compile(r'"((?:[^"]|"")+)"|([A-Za-z_]\w*)')
_LARGE_BYTES = 300_000_000
_LEAST_MEMORY_BYTES = 2_000_000_000


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

    `only` narrows the drivers by name; `database` is a file for the tables. Without one they are in memory, those of a
    large trace in a temporary file.
    """
    model = assembled(source, only=only, database=database)
    lock(model.connection)
    return model


def assembled(
    source: Source, *, only: Collection[str] | None = None, database: Path | None = None, kept: Path | None = None
) -> KernelModel:
    """Make a model as `build` does, whose connection may still open files: for those who hand it on.

    `kept`: a new database, attached as `kept`, in which the largest table is made.
    """
    connection, scratch = database_for(source) if database is None else (duckdb.connect(str(database)), None)
    connection.execute("SET preserve_insertion_order = true")
    if kept is not None:
        connection.execute(f"ATTACH {_quoted(kept)} AS kept")
    for table in TABLES.values():
        if table.name != "state":
            columns = ", ".join(f'"{c.name}" {c.type}' for c in table.columns)
            connection.execute(f"CREATE TABLE {table.name} ({columns})")
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


def database_for(source: Source) -> tuple[duckdb.DuckDBPyConnection, tempfile.TemporaryDirectory[str] | None]:
    """Return an empty database in memory, or for a large trace in a temporary folder, which comes with it."""
    if size(source) <= _LARGE_BYTES:
        return duckdb.connect(":memory:"), None
    scratch = tempfile.TemporaryDirectory(prefix="drawtap-")
    connection = duckdb.connect(str(Path(scratch.name) / "kernel.duckdb"))
    # DuckDB would keep all of its file in memory where that is free: what is beyond is on disk, and read again. Its own
    # limit follows the machine's memory, and is never raised.
    wanted = max(_LEAST_MEMORY_BYTES, size(source))
    if wanted < _memory_limit(connection):
        connection.execute(f"SET memory_limit = '{wanted // 1_000_000}MB'")
    return connection, scratch


def _memory_limit(connection: duckdb.DuckDBPyConnection) -> float:
    """Return the bytes that DuckDB allows itself; it says them as `18.4 GiB`."""
    ((text,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    found = re.fullmatch(r"([\d.]+) (\w*?)i?(?:B|bytes?)", str(text))
    if found is None:
        return 0.0
    return float(found[1]) * 1024.0 ** " KMGTP".index(found[2] or " ")


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Close the files of this machine to those who ask in SQL."""
    connection.execute("SET enable_external_access = false")
