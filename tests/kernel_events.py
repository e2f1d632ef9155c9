"""Events in memory for tests of the model: what a reader of a kernel trace gives, made of rows in a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import duckdb

from drawtap.system.model import build

_BASE = {"t": "BIGINT", "cpu": "INTEGER", "tid": "INTEGER", "pid": "INTEGER", "comm": "VARCHAR"}


@dataclass(frozen=True)
class Field:
    name: str
    type: str


class _Rows:
    # What DuckDB sees of a reader: only the Arrow stream.
    def __init__(self, connection: duckdb.DuckDBPyConnection, sql: str) -> None:
        self._connection = connection
        self._sql = sql

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._connection.cursor().sql(self._sql).__arrow_c_stream__()


class MemoryTrace:
    """Stands for `drawtap.system.reader.KernelTrace`.

    A row is (t, event, cpu, tid, comm, {field: value}); values decide the types of fields. `described`: events that
    were recorded and never happened, with their fields and types.
    """

    def __init__(
        self,
        rows: Iterable[tuple],
        threads: Mapping[int, tuple[str, int | None]] | None = None,
        pids: Mapping[int, int] | None = None,
        described: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.connection = duckdb.connect()
        self.clock = SimpleNamespace(name="mono", monotonic=True, epoch_offset_ns=None, note=None)
        self.environment: dict[str, str] = {}
        self.threads = dict(threads or {})
        self.problems = ()
        pids = pids or {}
        by_event: dict[str, list[tuple]] = {}
        for row in sorted(rows, key=lambda r: r[0]):
            by_event.setdefault(row[1], []).append(row)
        self._fields: dict[str, list[Field]] = {}
        self._bounds = (
            (min(r[0] for e in by_event.values() for r in e), max(r[0] for e in by_event.values() for r in e))
            if by_event
            else None
        )
        described = described or {}
        for event, found in [*by_event.items(), *((event, []) for event in described if event not in by_event)]:
            names = list(dict.fromkeys(name for row in found for name in row[5]) or described[event])
            types = described.get(event, {})
            fields = [Field(n, types.get(n) or _type([row[5].get(n) for row in found])) for n in names]
            self._fields[event] = fields
            columns = ", ".join(
                [*(f"base_{n} {k}" for n, k in _BASE.items()), *(f'"f_{f.name}" {f.type}' for f in fields)]
            )
            self.connection.execute(f'CREATE TABLE "{event}" ({columns})')
            marks = ", ".join("?" * (len(_BASE) + len(fields)))
            if not found:
                continue
            self.connection.executemany(
                f'INSERT INTO "{event}" VALUES ({marks})',
                [[r[0], r[2], r[3], pids.get(r[3]), r[4], *(r[5].get(n) for n in names)] for r in found],
            )

    def names(self) -> list[str]:
        return sorted(self._fields)

    def knows(self, name: str) -> bool:
        return name in self._fields

    def fields(self, name: str) -> tuple[Field, ...]:
        return tuple(self._fields[name])

    def bounds(self) -> tuple[int, int] | None:
        return self._bounds

    def events(
        self,
        names: str | Iterable[str] | None = None,
        fields: Sequence[str] | None = None,
        *,
        begin: int | None = None,
        end: int | None = None,
    ) -> object:
        wanted = [names] if isinstance(names, str) else list(names if names is not None else self._fields)
        wanted = [n for n in wanted if n in self._fields]
        parts = []
        for event in wanted:
            columns = ["base_t AS t", *([f"'{event}' AS event"] if len(wanted) > 1 else [])]
            columns += [self._column(event, f) for f in fields or ()]
            parts.append(f'SELECT {", ".join(columns)} FROM "{event}"')
        return _Rows(self.connection, f"SELECT * FROM ({' UNION ALL BY NAME '.join(parts)}) ORDER BY t")

    def _column(self, event: str, field: str) -> str:
        name, _, choices = field.partition("=")
        own = {f.name for f in self._fields[event]}
        for choice in (choices or name).split("|"):
            bare = choice.removeprefix("event.")
            if bare == choice and bare in _BASE:
                return f'base_{bare} AS "{name}"'
            if bare in own:
                return f'"f_{bare}" AS "{name}"'
        return f'NULL::BIGINT AS "{name}"'


def _type(values: Sequence[object]) -> str:
    known = [v for v in values if v is not None]
    if any(isinstance(v, str) for v in known):
        return "VARCHAR"
    return "UBIGINT" if any(isinstance(v, int) and v > 2**63 - 1 for v in known) else "BIGINT"


MS = 1_000_000
APP = 100  # the thread that asks
OTHER = 7  # a kernel thread


def requests(*rows, pids=None):
    """Return the model of these events, and its requests in order."""
    model = build(MemoryTrace(rows, pids=pids))
    return model, model.rows("SELECT * FROM requests ORDER BY id")


def reasons(model):
    """Return how many events found no partner, by event and reason."""
    return {(r["event"], r["reason"]): r["count"] for r in model.rows("SELECT * FROM unmatched")}


def job(t, event, fence, *, entity=1, number=1, tid=APP, ring="gfx"):
    """Return an event of the kernel's GPU scheduler."""
    return (t, event, 0, tid, "app", {"entity": entity, "fence": fence, "name": ring, "id": number})


def switch(t, cpu, prev, next_, *, state=0):
    """Return a switch of threads on a processor."""
    return (t, "sched_switch", cpu, prev, f"t{prev}", {
        "prev_comm": f"t{prev}", "prev_pid": prev, "prev_state": state, "next_comm": f"t{next_}", "next_pid": next_,
    })  # fmt: skip


def kvm(t, kind, tid, comm="VM", **more):
    """Return an event of a virtual processor."""
    return (t, f"kvm_x86_{kind}", 0, tid, comm, {"vcpu_id": 123456, **more})
