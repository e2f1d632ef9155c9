"""Reading traces of the kernel, beside babeltrace2: CTF of LTTng's layout, every field, and into a database."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time

import duckdb
import nanoarrow

from bench.measure import BenchError
from bench.row import Goal, Row
from bench.setup import Setup
from drawtap.system import reader

_PER_CORE = 5e6  # events a second
_INTO_DATABASE = 15.0  # seconds for 20 M events
_BT2 = """
import sys, time, bt2
start, n, total = time.process_time(), 0, 0
for message in bt2.TraceCollectionMessageIterator(sys.argv[1]):
    if type(message) is bt2._EventMessageConst:
        n += 1
        for field in message.event.payload_field.values():
            total += len(str(field))
print(n, time.process_time() - start)
"""


def rows(setup: Setup) -> Iterator[Row]:
    """Write a trace of sched_switch and drm_sched_job, then read it with both."""
    events = 2_000_000 if setup.quick else 20_000_000
    with tempfile.TemporaryDirectory(dir=setup.scratch) as folder:
        trace = Path(folder) / "trace"
        made = subprocess.run([setup.program("kernel_ctf"), str(trace), str(events)], check=False)
        if made.returncode:
            raise BenchError("kernel_ctf does not write its trace")
        yield from _decoding(trace, events, 3 if setup.quick else 5)
        yield from _database(trace, events, Path(folder))
        yield from _report(trace, events, Path(folder))


def _decoding(path: Path, events: int, rounds: int) -> Iterator[Row]:
    name = f"CTF, {events / 1e6:g} M events"
    goal = Goal(most=round(events / _PER_CORE, 2), unit="s")
    all_fields = _median(lambda: _drain(path, None), rounds)
    some = _median(lambda: _drain(path, ["cpu", "prev_tid", "next_tid"]), rounds)
    dummy = _babeltrace(["-o", "dummy"], path) if shutil.which("babeltrace2") else None
    text = _babeltrace([], path) if shutil.which("babeltrace2") else None
    python = _bt2(path, events)
    yield Row(
        "system", f"{name}: every field, one core", "s", all_fields, dummy, goal=goal,
        note=f"{events / all_fields / 1e6:.1f} M events/s; beside it babeltrace2 that decodes and prints nothing",
    )  # fmt: skip
    yield Row("system", f"{name}: three fields", "s", some, text, note="beside it babeltrace2 that prints text")
    if python is not None:
        yield Row("system", f"{name}: every field, babeltrace2's Python", "s", all_fields, python)


def _database(path: Path, events: int, folder: Path) -> Iterator[Row]:
    # Every event with every field in order of time: a table for each event, as `drawtap system sql` has them, and all
    # in one table, where most fields of most rows are empty.
    goal = Goal(most=_INTO_DATABASE * events / 20e6, unit="s")
    for what, limit in (("a table for each event", goal), ("all in one table", None)):
        target = folder / f"{what.replace(' ', '-')}.duckdb"
        started, used = perf_counter(), process_time()
        with duckdb.connect(str(target)) as connection, reader.open(path) as trace:
            connection.execute("SET threads = 2")
            count = 0
            for name in trace.names() if limit else [None]:
                connection.register("events_of_trace", trace.events(name))
                connection.execute(f'CREATE TABLE "{name or "events"}" AS SELECT * FROM events_of_trace')
                connection.unregister("events_of_trace")
                count += connection.execute(f'SELECT count(*) FROM "{name or "events"}"').fetchall()[0][0]
            connection.execute("CHECKPOINT")
        took, used = perf_counter() - started, process_time() - used
        if count != events:
            raise BenchError(f"{count} of {events} events came into the database")
        note = f"{target.stat().st_size / 1e6:.0f} MB; {used:.1f} s of CPU over two threads"
        target.unlink()
        yield Row("system", f"CTF, {events / 1e6:g} M events: {what}", "s", took, goal=limit, note=note)


def _report(path: Path, events: int, folder: Path) -> Iterator[Row]:
    # The first command that makes the tables, and the next one, which finds them kept.
    for verb, more in (("report", ["-o", str(folder / "page.html")]), ("metrics", [])):
        command = [sys.executable, "-m", "drawtap", "system", verb, str(path), *more]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "XDG_CACHE_HOME": str(folder)})
        _, status, used = os.wait4(child.pid, 0)
        if status:
            raise BenchError(f"drawtap system {verb} ended with {os.waitstatus_to_exitcode(status)}")
        name = f"CTF, {events / 1e6:g} M events: system {verb}" + (", tables kept" if verb == "metrics" else "")
        yield Row(
            "system",
            f"{name}: user CPU",
            "s",
            used.ru_utime,
            note=f"{used.ru_maxrss / 1e6:.1f} GB at most, mapped trace included",
        )


def _drain(path: Path, fields: list[str] | None) -> float:
    with reader.open(path) as trace:
        names = trace.names()
        started = process_time()
        for chunk in nanoarrow.ArrayStream(trace.events(names, fields)).iter_chunks():
            len(chunk)
        return process_time() - started


def _median(measure: Callable[[], float], rounds: int) -> float:
    return statistics.median(measure() for _ in range(rounds))


def _babeltrace(options: list[str], path: Path) -> float:
    # CPU time: other programs run too.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        ["babeltrace2", *options, str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _bt2(path: Path, events: int) -> float | None:
    """Return what Python takes for all events with babeltrace2's module, measured on the first part of them."""
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import bt2"], capture_output=True, check=False).returncode:
        return None
    part = path.with_name("part")
    part.mkdir(exist_ok=True)
    (part / "metadata").write_bytes((path / "metadata").read_bytes())
    with next(path.glob("channel0_*")).open("rb") as whole:
        (part / "channel0_0").write_bytes(whole.read(40 * 256 * 1024))
    done = subprocess.run([python, "-c", _BT2, str(part)], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    count, seconds = done.stdout.split()
    return float(seconds) * events / int(count)
