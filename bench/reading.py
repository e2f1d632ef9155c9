"""What questions to a long trace cost, from the shell prompt to the answer, beside apitrace and text tools."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Apitrace, Drawtap, Run, run_process
from bench.row import Goal, Row
from bench.setup import Setup, drawtap

_UNIFORM_BYTES = (
    'SELECT frame, sum(bytes) AS bytes FROM (SELECT frame, 16 AS bytes FROM "glUniform4f" UNION ALL '
    'SELECT frame, 64 * count FROM "glUniformMatrix4fv") GROUP BY frame ORDER BY frame'
)
_REDUNDANT_BINDS = (
    "SELECT count(*) AS n FROM (SELECT target = lag(target) OVER w AND texture = lag(texture) OVER w AS again "
    'FROM "glBindTexture" WINDOW w AS (ORDER BY seq)) WHERE again'
)
_SLOWEST = "SELECT seq, name, duration FROM calls ORDER BY duration DESC LIMIT 10"
_REPLAY = "eglretrace --headless --pcpu --min-cpu-time=0"
_DUMP = "apitrace dump --color=never"
_BARE = f"{_DUMP} --call-nos=no --arg-names=no"


_LATE_CALL = "one late call, from the shell"


@dataclass(frozen=True)
class _Question:
    # `ours` and `theirs` get the trace; the answers, reduced by `ours_says` and `theirs_says`, must be equal.
    name: str
    ours: Callable[[Path], list[str]]
    theirs: Callable[[Path], str]
    goal: Goal
    ours_says: Callable[[str], object] | None = None
    theirs_says: Callable[[str], object] | None = None
    only: str | None = None
    note: str = ""


@dataclass(frozen=True)
class _Traces:
    # The same calls recorded by both.
    mode: str
    title: str
    ours: Path
    theirs: Path
    calls: int


def rows(setup: Setup) -> Iterator[Row]:
    """Record a long trace of regular and one of irregular calls, then ask both tools the same questions."""
    calls, rounds = (125_000, 4) if setup.quick else (1_000_000, 5)
    for mode, name in (("state", "state calls"), ("rand", "irregular calls")):
        program = [setup.program("many_calls"), mode, str(calls), str(rounds)]
        ours, theirs = setup.scratch / f"{mode}.dtap", setup.scratch / f"{mode}.trace"
        made = Drawtap().run(program, ours).calls
        if setup.apitrace:
            Apitrace().run(program, theirs)
        traces = _Traces(mode, f"{name}, {made / 1e6:.1f} M", ours, theirs, made)
        with setup.display() as display:
            shown, memories = _questions(setup, traces, display)
        yield from shown
        yield from _in_process(traces, next(row.apitrace for row in shown if row.name == _LATE_CALL))
        yield from memories
        for leftover in setup.scratch.glob(f"{mode}.*"):
            leftover.unlink()


def _questions(setup: Setup, traces: _Traces, display: Mapping[str, str]) -> tuple[list[Row], list[Row]]:
    own_runs, their_runs = (3, 1) if setup.quick else (5, 3)
    peak = setup.scratch / "peak"
    watched = [setup.program("peak_memory"), str(peak)]
    group = f"reading: {traces.title}"
    shown: list[Row] = []
    memories: list[Row] = []
    for question in _all_questions(traces):
        if question.only not in (None, traces.mode):
            continue
        own: list[Run] = []
        other: list[Run] = []
        memory: dict[str, list[float]] = {"drawtap": [], "apitrace": []}
        for turn in range(own_runs):
            own.append(run_process([*watched, *question.ours(traces.ours)]))
            memory["drawtap"].append(_megabytes(peak))
            if setup.apitrace and turn < their_runs:
                pipeline = ["bash", "-o", "pipefail", "-c", question.theirs(traces.theirs)]
                other.append(run_process([*watched, *pipeline], display))
                memory["apitrace"].append(_megabytes(peak))
        note = _agreement(question, own[-1], other) or question.note
        seconds = {"drawtap": [run.wall_s for run in own], "apitrace": [run.wall_s for run in other]}
        shown.append(Row(
            group, question.name, "s", statistics.median(seconds["drawtap"]),
            statistics.median(seconds["apitrace"]) if other else None, goal=question.goal, note=note, samples=seconds,
        ))  # fmt: skip
        theirs = max(memory["apitrace"]) if other else None
        row = Row(f"memory: {traces.title}", question.name, "MB", max(memory["drawtap"]), theirs, samples=memory)
        memories.append(row)
    return shown, memories


def _agreement(question: _Question, own: Run, other: list[Run]) -> str:
    if not other or question.ours_says is None or question.theirs_says is None:
        return ""
    ours, theirs = question.ours_says(own.output), question.theirs_says(other[-1].output)
    if ours == theirs:
        return "; ".join(filter(None, ("answers equal", question.note)))
    return f"ANSWERS DIFFER: {_difference(ours, theirs)}"


def _difference(ours: object, theirs: object) -> str:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        names = [name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)]
        return ", ".join(f"{name} {ours.get(name)} / {theirs.get(name)}" for name in sorted(names)[:3])
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return next(f"[{i}] {a} / {b}" for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
    return f"{str(ours)[:60]} / {str(theirs)[:60]}"


def _megabytes(peak: Path) -> float:
    return int(peak.read_text()) / 1000


def _all_questions(traces: _Traces) -> list[_Question]:
    late = traces.calls * 98 // 100
    # A program that never swaps ends its frames with glFinish: drawtap finds out, the pipeline must be told.
    frame_end = "eglSwapBuffers" if traces.mode == "state" else "glFinish"
    return [
        _Question(
            "histogram",
            lambda trace: drawtap("histogram", str(trace), "--limit", "0", "--json"),
            lambda trace: (
                f"{_BARE} {trace} | awk -F'(' '/^e?gl[A-Z]/ && !/fake$/{{n[$1]++}} END{{for (f in n) print n[f], f}}'"
            ),
            Goal(25),
            lambda text: {row["name"]: row["calls"] for row in json.loads(text) if row["calls"] > 1000},
            lambda text: {f: int(n) for n, f in map(str.split, text.splitlines()) if int(n) > 1000},
        ),
        _Question(
            "10 slowest calls",
            lambda trace: drawtap("sql", str(trace), _SLOWEST, "--json"),
            lambda trace: f"{_REPLAY} {trace} | grep '^call' | sort -k6,6nr | head -10 || true",
            Goal(25),
            lambda text: len(json.loads(text)),
            lambda text: len(text.splitlines()),
            note="apitrace has no times: it must replay",
        ),
        _Question(
            "calls per frame",
            lambda trace: drawtap("frames", str(trace), "--json"),
            lambda trace: f"{_DUMP} --grep='^eglSwapBuffers$' {trace} | awk '/Swap/{{print $1 - before; before = $1}}'",
            Goal(25),
            lambda text: [row["calls"] for row in json.loads(text)][1:],
            lambda text: [int(n) for n in text.split()][1:],
            only="state",
        ),
        _Question(
            "redundant binds",
            lambda trace: drawtap("sql", str(trace), _REDUNDANT_BINDS, "--json"),
            lambda trace: (
                f"{_BARE} --grep='^glBindTexture$' {trace} | "
                "awk '/^gl/{n += $0 == last; last = $0} END{print n + 0}'"
            ),
            Goal(25),
            lambda text: json.loads(text)[0]["n"],
            int,
        ),
        _Question(
            "uniform bytes per frame",
            lambda trace: drawtap("sql", str(trace), _UNIFORM_BYTES, "--json"),
            lambda trace: (
                f"{_BARE} --grep='^(glUniform|{frame_end})' {trace} | awk -F'[(,]' '/^glUniform4f\\(/{{b += 16}} "
                f"/^glUniformMatrix4fv/{{b += 64 * $3}} /^{frame_end}/{{print b; b = 0}} END{{if (b) print b}}'"
            ),
            Goal(25),
            lambda text: [int(row["bytes"]) for row in json.loads(text)],
            lambda text: [int(n) for n in text.split()],
        ),
        _Question(
            "text of all calls",
            lambda trace: ["bash", "-c", '"$@" > /dev/null', "bash", *drawtap("list", str(trace))],
            lambda trace: f"{_DUMP} {trace} > /dev/null",
            Goal(8),
        ),
        _Question(
            _LATE_CALL,
            lambda trace: drawtap("list", str(trace), str(late)),
            lambda trace: f"{_DUMP} --calls={late} {trace}",
            Goal(),
        ),
        _Question(
            "open and describe",
            lambda trace: drawtap("info", str(trace), "--json"),
            lambda trace: f"apitrace info {trace}",
            Goal(),
        ),
    ]


_IN_PROCESS = """
import json, random, sys, time
import drawtap
path, calls = sys.argv[1], int(sys.argv[2])
chance, opened, sought = random.Random(1), [], []
for _ in range(9):
    start = time.perf_counter()
    trace = drawtap.open(path)
    opened.append(time.perf_counter() - start)
for _ in range(50):
    seq = chance.randrange(calls * 9 // 10, calls)
    start = time.perf_counter()
    text = str(trace.calls[seq])
    sought.append(time.perf_counter() - start)
print(json.dumps({"open": opened, "seek": sought}))
"""


def _in_process(traces: _Traces, late_call_s: float | None) -> Iterator[Row]:
    run = run_process([sys.executable, "-c", _IN_PROCESS, str(traces.ours), str(traces.calls)])
    times = {name: [1e3 * seconds for seconds in values] for name, values in json.loads(run.output).items()}
    group = f"reading: {traces.title}"
    opened, sought = times["open"], times["seek"]
    yield Row(group, "open, in a running Python", "ms", statistics.median(opened), samples={"drawtap": opened})
    theirs = late_call_s * 1e3 if late_call_s is not None else None
    yield Row(
        group, "one late call, in a running Python", "ms", statistics.median(sought), theirs, goal=Goal(100),
        note="apitrace: from the shell, it has no other way", samples={"drawtap": sought},
    )  # fmt: skip
