"""Map the events of one kernel driver to the model: the protocol, its decorator, and what a driver writes into.

A driver is a function that takes a `Draft`. It loads the events it knows into tables, and says in SQL what they mean:
`steps` in the life of a request, `spans` and `counters` on tracks, `links`. There is no Python object per event.
`lacks` names the facts that the kernel did not reveal; they stay open.

    @driver("toy", order=10)
    def toy(draft: Draft) -> None:
        if draft.load("toy", ("toy_queue", "toy_done"), keys=("job",), texts=("ring",)):
            draft.steps("SELECT job AS k1, t, CASE event WHEN 'toy_queue' THEN 'queued' ELSE 'end' END AS phase ...")

The columns of `steps` are in `STEP_COLUMNS`; a column that a driver leaves out is NULL.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import duckdb

from drawtap.errors import InputError
from drawtap.plugins import Registry
from drawtap.system.native import ThreadFacts, ThreadSpans
from drawtap.trace.memory import exhausted
from drawtap.trace.result import Stream
from drawtap.trace.sql_text import quote_text

if TYPE_CHECKING:
    from drawtap.system.reader import Clock, Field, Problem

# The phases of a life, in order: created, queued, blocked, ready, submitted, begin, preempted, end, done, retired.
# `blocked` and `ready`: waits for a dependency, and has it. `submitted`: handed to the hardware, which may still work
# on something else. `begin` and `preempted` may come several times. `end`: off the engine. `done`: the owner got the
# news. `retired`: the driver forgot it, an upper bound of the end.
STEP_COLUMNS: Mapping[str, str] = {
    "driver": "VARCHAR",
    "k1": "UBIGINT",  # the three together name a request of that driver
    "k2": "UBIGINT",
    "k3": "UBIGINT",
    "t": "BIGINT",
    "phase": "VARCHAR",
    "device": "VARCHAR",
    "engine": "VARCHAR",
    "context": "UBIGINT",
    "seqno": "UBIGINT",
    "timeline": "UBIGINT",  # where requests end in the order of their `place`; else context and seqno tell that
    "place": "UBIGINT",
    "client": "VARCHAR",
    "tid": "INTEGER",  # of the thread that asked for the work; NULL in steps that others take
    "pid": "INTEGER",
    "comm": "VARCHAR",
    "priority": "INTEGER",
    "vgpu": "INTEGER",
    "guest_context": "UBIGINT",  # what the guest calls a request of a virtual machine
    "guest_seqno": "UBIGINT",
    "label": "VARCHAR",
}

# The kinds of a thread's spans, and their names; a span of `running` has the number of its CPU behind the name.
THREAD_KINDS: Mapping[str, str] = {
    "running": "CPU ",
    "preempted": "preempted",
    "blocked": "blocked",
    "waking": "woken, waits for a CPU",
}


class Source(Protocol):
    """Where events come from: `drawtap.system.reader.KernelTrace` is one."""

    clock: Clock
    environment: dict[str, str]
    threads: dict[int, tuple[str, int | None]]

    def knows(self, name: str) -> bool:
        """Tell whether the trace describes an event of this name."""
        ...

    def names(self) -> list[str]:
        """Return the names of all events that the trace describes."""
        ...

    def fields(self, name: str) -> tuple[Field, ...]:
        """Return the fields of an event that the trace describes."""
        ...

    def events(
        self,
        names: str | Iterable[str] | None = None,
        fields: Sequence[str] | None = None,
        *,
        begin: int | None = None,
        end: int | None = None,
    ) -> object:
        """Return an object with `__arrow_c_stream__`; see `KernelTrace.events`."""
        ...

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Missing or broken parts."""
        ...

    def bounds(self) -> tuple[int, int] | None:
        """Return the times of the first and the last event."""
        ...


class Draft:
    """The model while it is made: a connection with staging tables, and the events of one trace."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, source: Source) -> None:
        self.connection = connection
        self.source = source
        self.driver = ""
        self.order = 0
        self.used: list[str] = []
        self._counts: dict[str, int] = {}
        columns = ", ".join(f"{name} {kind}" for name, kind in STEP_COLUMNS.items())
        connection.execute(f"CREATE TABLE steps ({columns})")
        connection.execute("CREATE TABLE seen (tid INTEGER, pid INTEGER, comm VARCHAR, t BIGINT)")
        connection.execute("CREATE TABLE vcpus (tid INTEGER)")
        connection.execute("CREATE TABLE ends_told (driver VARCHAR)")
        # Most of a trace of a busy machine: without text, and written once, when they are in order.
        connection.execute(
            "CREATE TABLE thread_spans (tid INTEGER, cpu INTEGER, begin_ns BIGINT, end_ns BIGINT, "
            f"kind ENUM({', '.join(map(quote_text, THREAD_KINDS))}), is_open BOOLEAN, waker INTEGER, sorted BOOLEAN)"
        )
        connection.execute(
            "CREATE TABLE waits (tid INTEGER, cpu INTEGER, begin_ns BIGINT, end_ns BIGINT, context UBIGINT, "
            "seqno UBIGINT, "
            "timeline VARCHAR)"
        )
        connection.execute(
            "CREATE TABLE memory_steps (device VARCHAR, basis VARCHAR, tid INTEGER, pid INTEGER, t BIGINT, "
            "change BIGINT)"
        )

    def knows(self, *names: str) -> bool:
        """Tell whether the trace describes one of these events."""
        return any(self.source.knows(name) for name in names)

    def has_field(self, event: str, field: str) -> bool:
        """Tell whether the trace describes this event with this field."""
        return self.source.knows(event) and any(f.name == field for f in self.source.fields(event))

    def count(self, *events: str) -> int:
        """Return how many of these events were loaded by drivers so far."""
        return sum(self._counts.get(event, 0) for event in events)

    def load(
        self,
        table: str,
        events: Iterable[str],
        *,
        keys: Sequence[str] = (),
        ints: Sequence[str] = (),
        texts: Sequence[str] = (),
    ) -> bool:
        """Make the table `ev_TABLE` of events and tell whether it has rows.

        Columns: `t`, `event`, `cpu`, `tid`, `pid`, `comm`, then the fields, each `name` or `name=one|other`. `keys`
        become UBIGINT (pointers; text is hashed), `ints` BIGINT, `texts` VARCHAR.
        """
        names = [name for name in events if self.source.knows(name)]
        if not names:
            return False
        wanted = [*keys, *ints, *texts]
        base = ["cpu", "tid", "pid", "comm"]
        with self._reading(self.source.events(names, [*base, *wanted]), *names):
            types = dict(self.connection.execute("SELECT column_name, column_type FROM (DESCRIBE _stream)").fetchall())
            event = "event" if "event" in types else f"'{names[0]}' AS event"
            casts = [_key(_name(f), types) for f in keys]
            casts += [_int(_name(f), types) for f in ints]
            casts += [f'CAST("{_name(f)}" AS VARCHAR) AS "{_name(f)}"' for f in texts]
            self.connection.execute(
                f"CREATE OR REPLACE TABLE ev_{table} AS SELECT {', '.join(['t', event, *base, *casts])} FROM _stream"
            )
        counts = self.connection.execute(f"SELECT event, count(*) FROM ev_{table} GROUP BY event").fetchall()
        for name, number in counts:
            self._used(name, number)
        if not counts:
            return False
        self.connection.execute(
            f"INSERT INTO seen SELECT tid, any_value(pid), arg_max(comm, t), max(t) FROM ev_{table} "
            "WHERE tid > 0 GROUP BY tid"
        )
        return True

    def _used(self, event: str, count: int) -> None:
        self._counts[event] = count
        if self.driver not in self.used:
            self.used.append(self.driver)

    @contextlib.contextmanager
    def _reading(self, stream: object, *events: str) -> Iterator[None]:
        """Have a stream of events as the table `_stream`. Raises InputError where they cannot be read."""
        try:
            self.connection.register("_stream", stream)
            yield
        except (duckdb.Error, RuntimeError) as error:
            unreadable = InputError(f"the events {', '.join(events)} cannot be read: {error}".partition("\n")[0])
            raise exhausted(error) or unreadable from None
        finally:
            self.connection.unregister("_stream")

    def has(self, event: str) -> bool:
        """Tell whether an event of this name stands in the trace. Reads up to the first one."""
        if not self.source.knows(event):
            return False
        with self._reading(self.source.events([event], []), event):
            return bool(self.connection.execute("SELECT t FROM _stream LIMIT 1").fetchall())

    def threads(self, event: str, *, wakes: str | None, whole: bool) -> ThreadFacts:
        """Make what threads did of switches, in one pass in order of time; see `drawtap.system.drivers.sched`.

        `wakes`: a table with `t`, `wakee` and `tid` in order of `t`, None where nobody knows. `whole`: the trace has
        not lost events. The spans come into the table `thread_spans`, names of threads to those that were seen.
        """
        both = ("prev_tid=prev_pid|prev_tid", "next_tid=next_pid|next_tid")
        names = ("prev_state", "prev_comm", "next_comm")
        switches = self.source.events([event], ["cpu", "tid", "pid", "comm", *both, *names])
        ((begin, end),) = self.connection.execute("SELECT begin_ns, end_ns FROM trace_window").fetchall()
        woken = None if wakes is None else self._table(f"SELECT t, wakee, tid FROM {wakes}")
        spans = ThreadSpans(switches, woken, (begin, end), whole=whole)
        try:
            self._take(spans, event)
        except InputError:
            if spans.in_order:
                raise
            self._sort(switches, event)
            woken = None if wakes is None else self._table(f"SELECT t, wakee, tid FROM {wakes} ORDER BY t")
            spans = ThreadSpans(self._table("SELECT * FROM ev_sorted ORDER BY t"), woken, (begin, end), whole=whole)
            self._take(spans, event)
        facts = spans.facts
        self._used(event, facts.switches)
        for rows in (facts.contexts, facts.named):
            self.connection.execute(
                "INSERT INTO seen SELECT unnest(?::INTEGER[]), unnest(?::INTEGER[]), unnest(?::VARCHAR[]), "
                "unnest(?::BIGINT[])",
                [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []],
            )
        return facts

    def _take(self, spans: ThreadSpans, event: str) -> None:
        with self._reading(spans, event):
            self.connection.execute("INSERT INTO thread_spans BY NAME SELECT * FROM _stream")

    def _sort(self, events: object, event: str) -> None:
        with self._reading(events, event):
            self.connection.execute("CREATE OR REPLACE TABLE ev_sorted AS SELECT * FROM _stream")

    def _table(self, sql: str) -> Stream:
        return Stream(lambda: self.connection.cursor().sql(sql).__arrow_c_stream__())

    def forget(self) -> None:
        """Drop the tables of events: a driver does not see those of another one."""
        names = self.connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'ev\\_%' ESCAPE '\\'"
        )
        for (name,) in names.fetchall():
            self.connection.execute(f"DROP TABLE {name}")

    def run(self, sql: str) -> None:
        """Run SQL that a driver needs on its way."""
        self.connection.execute(sql)

    def value(self, sql: str) -> int:
        """Run SQL that gives one number."""
        return int(self.connection.execute(sql).fetchall()[0][0])

    def steps(self, sql: str, *, driver: str | None = None) -> None:
        """Add steps in the lives of requests: a SELECT with columns of `STEP_COLUMNS`, without `driver`."""
        name = driver or self.driver
        self.connection.execute(f"INSERT INTO steps BY NAME SELECT '{name}' AS driver, * FROM ({sql})")

    def ends(self, *events: str) -> None:
        """Name the events that tell of requests off their engine: a trace that describes one would have told of all."""
        if self.knows(*events):
            self.connection.execute("INSERT INTO ends_told VALUES (?)", [self.driver])

    def spans(self, sql: str) -> None:
        """Add spans: a SELECT with columns of the table `spans`, without `id` and `lane`."""
        self.connection.execute(f"INSERT INTO spans BY NAME SELECT * FROM ({sql})")

    def thread_spans(self, sql: str) -> None:
        """Add what threads did: a SELECT with `tid`, `cpu`, `begin_ns`, `end_ns`, `kind` and `is_open`.

        `kind` is a key of `THREAD_KINDS`, which says their names; they stand on the tracks `thread/TID`.
        """
        self.connection.execute(f"INSERT INTO thread_spans BY NAME SELECT * FROM ({sql})")

    def counters(self, sql: str, *, unit: str) -> None:
        """Add counter values: a SELECT with `track`, `t_ns`, `value`."""
        self.connection.execute(f"INSERT INTO counters BY NAME SELECT *, '{unit}' AS unit FROM ({sql})")

    def memory(self, sql: str, *, basis: str) -> None:
        """Add changes of the GPU memory of processes: a SELECT with `device`, `tid`, `pid`, `t`, `change` in bytes.

        `tid` and `pid` are of who asked for the memory, also where it is given back. `basis`: see `memory_use`.
        """
        self.connection.execute(f"INSERT INTO memory_steps BY NAME SELECT *, '{basis}' AS basis FROM ({sql})")

    def links(self, sql: str) -> None:
        """Add links: a SELECT with columns of the table `links`."""
        self.connection.execute(f"INSERT INTO links BY NAME SELECT * FROM ({sql})")

    def lacks(self, event: str, reason: str, count: int = 0) -> None:
        """Report an unknown fact, with its number of requests or events."""
        self.connection.execute("INSERT INTO unmatched VALUES (?, ?, ?, ?)", [self.driver, event, reason, count])


DriverFunction = Callable[[Draft], None]


@dataclass(frozen=True, slots=True)
class Driver:
    """A mapping of events; drivers run in the order of `order`, then of their names."""

    name: str
    order: int
    function: DriverFunction

    @property
    def help(self) -> str:
        """Return the documentation of the mapping."""
        return self.function.__doc__ or ""


DRIVERS: Registry[Driver] = Registry("driver of kernel events", "drawtap.system.drivers")


def driver(name: str, *, order: int = 50) -> Callable[[DriverFunction], DriverFunction]:
    """Register the decorated function as the mapping of the events of a driver."""

    def add(function: DriverFunction) -> DriverFunction:
        DRIVERS.register(name)(Driver(name, order, function))
        return function

    return add


def drivers(names: Collection[str] | None = None) -> list[Driver]:
    """Return the drivers in the order in which they run; `names` narrows them."""
    chosen = [entry for name, entry in DRIVERS.items() if names is None or name in names]
    return sorted(chosen, key=lambda d: (d.order, d.name))


def _name(field: str) -> str:
    return field.partition("=")[0].rpartition(".")[2]


def _key(name: str, types: Mapping[str, str]) -> str:
    if types[name] == "VARCHAR":  # %p and %px, and whatever else a text trace calls a pointer: equal text, equal thing
        return f'hash("{name}") AS "{name}"'
    if types[name].startswith("U"):
        return f'CAST("{name}" AS UBIGINT) AS "{name}"'
    return (
        f'CAST(CASE WHEN "{name}" < 0 THEN CAST("{name}" AS HUGEINT) + 18446744073709551616 '
        f'ELSE CAST("{name}" AS HUGEINT) END AS UBIGINT) AS "{name}"'
    )


def _int(name: str, types: Mapping[str, str]) -> str:
    return f'TRY_CAST("{name}" AS BIGINT) AS "{name}"'
