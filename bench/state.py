"""What the state of a long trace costs: its index, questions about a moment, and what memory fifty million calls take.

apitrace has no table of states. Its shortest way to "what was set at this call" is a dump of the calls before it that
set it; its `replay --dump-state` plays the recording and asks the driver.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.measure import Apitrace, BenchError, Drawtap, Run, run_process
from bench.row import Goal, Row
from bench.setup import Setup, drawtap

_PATH = "contexts[1].texture_units[0].GL_TEXTURE_BINDING_2D"
_SHORT = "context.texture_units[0].GL_TEXTURE_BINDING_2D"
_MOST_MEGABYTES = 4000

_MAKE = """
import sys, time
import drawtap
trace = drawtap.open(sys.argv[1])
begun = time.perf_counter()
trace.state_index
print(time.perf_counter() - begun)
"""

_STABS = """
import json, random, sys, time
import drawtap
path, wanted = sys.argv[1], sys.argv[2]
begun = time.perf_counter()
trace = drawtap.open(path)
trace.state_index
figures = {"open": [time.perf_counter() - begun]}
calls = trace.info["calls"]
chance = random.Random(1)
condition = "begin_seq <= ? AND end_seq > ?"
questions = {
    "one": lambda seq: trace.sql(f"SELECT value FROM state WHERE path = ? AND {condition}", [wanted, seq, seq]),
    "unit": lambda seq: trace.sql(
        f"SELECT path, value FROM state WHERE path LIKE 'contexts[1].texture_units[0]%' AND {condition}", [seq, seq]
    ),
    "all": lambda seq: trace.sql(f"SELECT path, value FROM state WHERE {condition}", [seq, seq]),
}
for name, ask in questions.items():
    ask(0).fetchall()
    figures[name] = []
    for _ in range(40):
        seq = chance.randrange(calls // 2, calls)
        begun = time.perf_counter()
        rows = ask(seq).fetchall()
        figures[name].append(time.perf_counter() - begun)
        if name == "one" and rows != [(value,) for _, value in trace.state_index.at(seq, wanted)]:
            sys.exit(f"the table says {rows}, the index {trace.state_index.at(seq, wanted)}")
print(json.dumps(figures))
"""


def rows(setup: Setup) -> Iterator[Row]:
    """Ask traces of 1 M and 5 M calls about moments, and one of 50 M everything, watching its memory."""
    trace, calls = _recorded(setup, "one", 1_000_000)
    yield from _first_answers(setup, trace, calls)
    _forget(setup, trace)
    trace, calls = _recorded(setup, "five", 5_000_000)
    yield from _moments(setup, trace, calls)
    _forget(setup, trace)
    trace, calls = _recorded(setup, "fifty", 5_000_000 if setup.quick else 50_000_000)
    yield from _memory(setup, trace, calls)
    _forget(setup, trace)


def _recorded(setup: Setup, name: str, calls: int) -> tuple[Path, int]:
    trace = setup.scratch / f"{name}.dtap"
    return trace, Drawtap().run([setup.program("many_calls"), "mix", str(calls), "1"], trace).calls


def _forget(setup: Setup, trace: Path) -> None:
    trace.unlink()
    shutil.rmtree(setup.scratch / "cache", ignore_errors=True)


def _ask(setup: Setup, command: Sequence[str]) -> Run:
    return run_process(list(command), {"XDG_CACHE_HOME": str(setup.scratch / "cache")})


def _first_answers(setup: Setup, trace: Path, calls: int) -> Iterator[Row]:
    group = f"state: {calls / 1e6:.1f} M calls"
    runs = 3 if setup.quick else 5
    command = drawtap("state", str(trace), str(calls * 9 // 10), _SHORT)
    made, cold, warm = [], [], []
    for _ in range(runs):
        shutil.rmtree(setup.scratch / "cache", ignore_errors=True)
        made.append(float(_ask(setup, [sys.executable, "-c", _MAKE, str(trace)]).output))
        shutil.rmtree(setup.scratch / "cache", ignore_errors=True)
        cold.append(_ask(setup, command))
        warm.append(_ask(setup, command))
    yield Row(
        group, "make the index", "s", statistics.median(made), goal=Goal(most=2, unit="s"), samples={"drawtap": made}
    )
    note = "from the shell; the index is made"
    yield _seconds(group, "first answer, cold", cold, 1.0, note=note, theirs=_peer(setup, calls))
    yield _seconds(group, "first answer, warm", warm, 0.1, note="from the shell; the index is kept")
    count = [_ask(setup, drawtap("sql", str(trace), "SELECT count(*) FROM calls")) for _ in range(runs)]
    yield _seconds(group, "first SQL, from the shell", count, None, note="loading DuckDB is most of it")


def _peer(setup: Setup, calls: int) -> list[float]:
    # The same calls, recorded by apitrace; the last bind before that call.
    if not setup.apitrace:
        return []
    trace = setup.scratch / "one.trace"
    Apitrace().run([setup.program("many_calls"), "mix", str(calls), "1"], trace)
    last = (
        f"apitrace dump --color=never --calls=0-{calls * 9 // 10} --grep='^glBindTexture$' {trace} | grep gl | tail -1"
    )
    found = [run_process(["bash", "-o", "pipefail", "-c", last]) for _ in range(3)]
    trace.unlink()
    return [run.wall_s for run in found]


def _moments(setup: Setup, trace: Path, calls: int) -> Iterator[Row]:
    group = f"state: {calls / 1e6:.1f} M calls"
    figures: dict[str, list[float]] = {}
    for turn in range(4):
        if turn == 0:
            shutil.rmtree(setup.scratch / "cache", ignore_errors=True)
        run = _ask(setup, [sys.executable, "-c", _STABS, str(trace), _PATH])
        for name, values in json.loads(run.output).items():
            figures.setdefault(name if turn or name != "open" else "make", []).extend(values)
    yield Row(group, "make the index", "s", figures["make"][0])
    yield Row(group, "open a kept one", "ms", 1e3 * statistics.median(figures["open"]))
    for name, title in (
        ("one", "one variable at a call, SQL"),
        ("unit", "a texture unit at a call, SQL"),
        ("all", "everything at a call, SQL"),
    ):
        values = [1e3 * value for value in figures[name]]
        yield Row(
            group, title, "ms", statistics.median(values), goal=Goal(most=10, unit="ms"), samples={"drawtap": values}
        )
    shell = [_ask(setup, drawtap("state", str(trace), str(calls * 9 // 10), _SHORT)) for _ in range(5)]
    yield _seconds(group, "one variable at a call, from the shell", shell, 0.1)


def _seconds(
    group: str, name: str, runs: Sequence[Run], most: float | None, *, note: str = "", theirs: Sequence[float] = ()
) -> Row:
    values = [run.wall_s for run in runs]
    busy = statistics.median(run.cpu_s for run in runs)
    return Row(
        group, name, "s", statistics.median(values), statistics.median(theirs) if theirs else None,
        goal=Goal(most=most, unit="s") if most else Goal(), note="; ".join(filter(None, (note, f"CPU {busy:.2f} s"))),
        samples={"drawtap": values, "apitrace": list(theirs)},
    )  # fmt: skip


def _memory(setup: Setup, trace: Path, calls: int) -> Iterator[Row]:
    group = f"memory: {calls / 1e6:.0f} M calls"
    peak = setup.scratch / "peak"
    watched = [setup.program("peak_memory"), str(peak)]
    seq = str(calls * 9 // 10)
    questions = {
        "info": drawtap("info", str(trace), "--json"),
        "histogram": drawtap("histogram", str(trace), "--json"),
        "10 slowest calls": drawtap("sql", str(trace), "SELECT seq, duration FROM calls ORDER BY 2 DESC LIMIT 10"),
        "state, index made": drawtap("state", str(trace), seq),
        "state, index kept": drawtap("state", str(trace), seq),
        "draws by program": drawtap("sql", str(trace), "SELECT program, count(*) FROM draws GROUP BY 1"),
        "redundancy": drawtap("simplify", str(trace), "--dry-run"),
        "all rules": drawtap("checklist", str(trace), "--json"),
    }
    for name, command in questions.items():
        # Exit code 1: the checklist has found something.
        run = _ask(setup, [*watched, "sh", "-c", '"$@" > /dev/null; [ $? -le 1 ]', "sh", *command])
        if not peak.exists():
            raise BenchError(f"{name}: no peak was written")
        megabytes = int(peak.read_text()) / 1000
        yield Row(
            group, name, "MB", megabytes, goal=Goal(most=_MOST_MEGABYTES, unit="MB"),
            note=f"{run.wall_s:.1f} s, {os.cpu_count()} cores",
        )  # fmt: skip
