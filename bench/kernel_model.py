"""The tables of kernel traces: state at a time, lives of many requests, figures of a window."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import duckdb

from bench.row import Goal, Row
from bench.setup import Setup
from drawtap.system import metrics, timeline
from drawtap.system.model import build

_ATTRIBUTES = 2000
_STAB_MS = 5.0


def rows(setup: Setup) -> Iterator[Row]:
    """Ask a state of 2 000 paths and 10 M intervals; make the model of a long trace and ask it."""
    intervals = 1_000_000 if setup.quick else 10_000_000
    yield from _state(intervals)
    jobs, switches = (50_000, 200_000) if setup.quick else (500_000, 2_000_000)
    yield from _model(jobs, switches)


def _state(intervals: int) -> Iterator[Row]:
    # Contiguous intervals of each path, of which few have most: like threads on a machine.
    length = 1_000_000_000_000
    with tempfile.TemporaryDirectory() as folder:
        connection = duckdb.connect(str(Path(folder) / "state.duckdb"))
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            f"""
            CREATE TEMP TABLE source AS
            WITH cuts AS (
              SELECT floor({_ATTRIBUTES} * power(random(), 3))::INTEGER AS attribute,
                     floor(random() * {length})::BIGINT AS t FROM range({intervals})
            )
            SELECT 'threads/' || attribute || '/state' AS path, t AS b,
                   coalesce(lead(t) OVER (PARTITION BY attribute ORDER BY t), {length}) AS e, 'v' || (t % 7) AS value
            FROM cuts
            """
        )
        started = perf_counter()
        timeline.make(connection, "SELECT path, b, e, value FROM source WHERE e > b")
        made = perf_counter() - started
        (count,) = connection.execute("SELECT count(*) FROM state").fetchall()[0]
        name = f"state of {_ATTRIBUTES} paths, {count / 1e6:.1f} M intervals"
        yield Row("kernel", f"{name}: make", "s", drawtap=made)
        times = [length // 100 * k for k in range(1, 100, 9)]
        everything = "SELECT path, value FROM state WHERE begin_ns <= ? AND end_ns > ?"
        whole = _times(lambda t: connection.execute(everything, [t, t]).fetchall(), times)
        yield Row(
            "kernel", f"{name}: all values at a time", "ms", drawtap=statistics.median(whole), goal=Goal(most=_STAB_MS),
            samples={"drawtap": whole},
        )  # fmt: skip
        one = _times(
            lambda t: connection.execute(f"{everything} AND path = 'threads/3/state'", [t, t]).fetchall(), times
        )
        yield Row(
            "kernel", f"{name}: one value", "ms", drawtap=statistics.median(one), goal=Goal(most=_STAB_MS),
            samples={"drawtap": one},
        )  # fmt: skip
        connection.close()


def _times(ask: Callable[[int], Sequence[object]], times: Sequence[int]) -> list[float]:
    found = []
    for t in times:
        started = perf_counter()
        answer = ask(t)
        found.append((perf_counter() - started) * 1e3)
        assert answer
    return found


@dataclass(frozen=True)
class _Field:
    name: str
    type: str = "BIGINT"


@dataclass
class _Stream:
    connection: duckdb.DuckDBPyConnection
    sql: str

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.connection.cursor().sql(self.sql).__arrow_c_stream__()


@dataclass
class _Made:
    """Events made by a query: what a reader gives, without a file."""

    connection: duckdb.DuckDBPyConnection
    tables: dict[str, tuple[_Field, ...]]
    span: tuple[int, int]
    clock: object = None
    environment: dict[str, str] = field(default_factory=dict)
    threads: dict[int, tuple[str, int | None]] = field(default_factory=dict)
    problems: tuple[()] = ()

    def knows(self, name: str) -> bool:
        return name in self.tables

    def fields(self, name: str) -> tuple[_Field, ...]:
        return self.tables[name]

    def bounds(self) -> tuple[int, int]:
        return self.span

    def events(self, names: Iterable[str], fields: Sequence[str], **_: object) -> _Stream:
        known = [n for n in names if n in self.tables]
        parts = []
        for name in known:
            columns = ["t", f"'{name}' AS event"] if len(known) > 1 else ["t"]
            for text in fields:
                column, _equals, choices = text.partition("=")
                own = {f.name for f in self.tables[name]} | {"cpu", "tid", "pid", "comm"}
                choice = next((c for c in (choices or column).split("|") if c in own), None)
                columns.append(f'{choice or "NULL::BIGINT"} AS "{column}"')
            parts.append(f"SELECT {', '.join(columns)} FROM {name}")
        return _Stream(self.connection, f"SELECT * FROM ({' UNION ALL BY NAME '.join(parts)}) ORDER BY t")


def _made(jobs: int, switches: int) -> _Made:
    connection = duckdb.connect()
    step = 1_000_000
    base = "0::INTEGER AS cpu, (100 + i % 20)::INTEGER AS tid, NULL::INTEGER AS pid, 'app' || (i % 20) AS comm"
    job = f"{base}, (1000 + i % 5000)::UBIGINT AS fence, 1::UBIGINT AS entity, i AS id, 'ring' || (i % 4) AS name"
    connection.execute(f"CREATE TABLE drm_sched_job AS SELECT i * {step} AS t, {job} FROM range({jobs}) r(i)")
    connection.execute(f"CREATE TABLE drm_run_job AS SELECT i * {step} + 700000 AS t, {job} FROM range({jobs}) r(i)")
    connection.execute(
        f"CREATE TABLE drm_sched_process_job AS SELECT (i + 4) * {step} AS t, {base}, "
        f"(1000 + i % 5000)::UBIGINT AS fence FROM range({jobs}) r(i)"
    )
    length = jobs * step
    connection.execute(
        f"CREATE TABLE sched_switch AS SELECT i * {length} // {switches} AS t, (i % 4)::INTEGER AS cpu, "
        "(100 + (i // 4) % 50)::INTEGER AS tid, NULL::INTEGER AS pid, 'x' AS comm, (100 + (i // 4) % 50) AS prev_pid, "
        "'a' || (100 + (i // 4) % 50) AS prev_comm, (i % 3) % 2 AS prev_state, (100 + (i // 4 + 1) % 50) AS next_pid, "
        f"'a' || (100 + (i // 4 + 1) % 50) AS next_comm FROM range({switches}) r(i)"
    )
    fields = tuple(_Field(n) for n in ("fence", "entity", "id", "name"))
    tables = {
        "drm_sched_job": fields,
        "drm_run_job": fields,
        "drm_sched_process_job": fields[:1],
        "sched_switch": tuple(_Field(n) for n in ("prev_pid", "prev_comm", "prev_state", "next_pid", "next_comm")),
    }
    return _Made(connection, tables, (0, length + 4 * step))


def _model(jobs: int, switches: int) -> Iterator[Row]:
    source = _made(jobs, switches)
    events = 3 * jobs + switches
    started = perf_counter()
    model = build(source)  # type: ignore[arg-type]
    made = perf_counter() - started
    name = f"{jobs / 1e6:g} M requests, {switches / 1e6:g} M switches"
    yield Row("kernel", f"{name}: make the tables", "s", drawtap=made, note=f"{events / made / 1e6:.2f} M events/s")
    begin, end = model.window
    whole = _times(lambda _: list(metrics.metrics(model)), [0, 1, 2])
    yield Row(
        "kernel", f"{name}: figures of the whole", "ms", drawtap=statistics.median(whole), samples={"drawtap": whole}
    )
    middle = (begin + end) // 2
    part = _times(lambda t: list(metrics.metrics(model, begin=t, end=t + (end - begin) // 100)), [middle] * 3)
    yield Row(
        "kernel", f"{name}: figures of a hundredth", "ms", drawtap=statistics.median(part), samples={"drawtap": part}
    )
