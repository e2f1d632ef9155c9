"""What recording costs the program: per call, on all cores, with threads, while off, for uploads, at the start."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from bench.measure import Run, added, interleaved
from bench.row import Goal, Row
from bench.setup import Setup

# Mode of many_calls, ratio of the application thread's CPU to reach, ratio of all CPU to reach.
_MODES = (
    ("enable", 12, None), ("uniform", 25, None), ("mat4", 25, None), ("bindtex", None, None), ("state", 20, 8),
    ("rand", 25, 4),
)  # fmt: skip
_NAMES = {
    "enable": "glEnable", "uniform": "glUniform4f", "mat4": "glUniformMatrix4fv", "bindtex": "glBindTexture",
    "state": "state calls", "rand": "irregular calls",
}  # fmt: skip
_MOST_OFF_NS = 1.5
_MOST_START_MS = 3.0


def rows(setup: Setup) -> Iterator[Row]:
    """Measure thread CPU per call, all CPU per call, and the cost of a tap that is off."""
    calls, rounds, runs = (150_000, 3, 5) if setup.quick else (1_000_000, 5, 5)
    starts = interleaved(setup.variants(off=True), runs, [setup.program("many_calls"), "enable", "1", "1"])
    overall: list[Row] = []
    off: list[Row] = []
    for mode, thread_goal, all_goal in _MODES:
        program = [setup.program("many_calls"), mode, str(calls), str(rounds)]
        results = interleaved(setup.variants(off=True), runs, program)
        yield _compared(
            Row("capture: application thread", _NAMES[mode], "ns/call", goal=Goal(thread_goal)), results, _thread_ns
        )
        overall.append(
            _compared(
                Row("capture: all CPU", _NAMES[mode], "ns/call", goal=Goal(all_goal)),
                _without_start(results, starts),
                _all_ns,
            )
        )
        off.append(_off(_NAMES[mode], results))
    yield from overall
    yield from off


def threads(setup: Setup) -> Iterator[Row]:
    """Measure one, two and four threads, each with its own context, calling at the same time."""
    calls, rounds, runs = (100_000, 3, 5) if setup.quick else (500_000, 5, 5)
    single = None
    for count in (1, 2, 4):
        program = [setup.program("many_calls"), "vattrib", str(calls), str(rounds), str(count)]
        results = interleaved(setup.variants(), runs, program)
        goal = Goal(20) if count == 4 else Goal()
        row = _compared(Row("threads", f"glVertexAttrib4f, {count} threads", "ns/call", goal=goal), results, _thread_ns)
        yield row
        single = single or row
    if single and single.drawtap and row.drawtap:
        change = 100 * (row.drawtap / single.drawtap - 1)
        apitrace = 100 * (row.apitrace / single.apitrace - 1) if row.apitrace and single.apitrace else None
        note = "cost per call with four threads, more than with one"
        yield Row("threads", "four threads against one", "%", change, apitrace, goal=Goal(most=10, unit="%"), note=note)


def uploads(setup: Setup) -> Iterator[Row]:
    """Measure uploads of 1 MB, new content and the same again, and arrays in client memory."""
    calls, rounds, runs = (20, 3, 5) if setup.quick else (200, 5, 5)
    for what in ("buffer", "texture"):
        for content, ratio in (("new", 20), ("same", 50)):
            program = [setup.program("uploads"), what, content, str(calls), str(rounds)]
            results = interleaved(setup.variants(), runs, program)
            name = f"{what}, 1 MB, {'new' if content == 'new' else 'the same'} content"
            yield _compared(Row("uploads", name, "us/upload", goal=Goal(ratio)), results, _thread_us)
            yield _compared(Row("uploads", f"{name}: all CPU", "us/upload", goal=Goal()), results, _all_us)
    program = [setup.program("many_calls"), "client", str(10_000 if setup.quick else 50_000), str(rounds)]
    results = interleaved(setup.variants(), runs, program)
    yield _compared(Row("uploads", "client arrays, 64 vertices a draw", "ns/call", goal=Goal()), results, _thread_ns)


def start(setup: Setup) -> Iterator[Row]:
    """Measure what loading the tap adds to the run of a short EGL program."""
    runs = 9 if setup.quick else 25
    program = [setup.program("many_calls"), "enable", "1", "1"]
    results = interleaved(setup.variants(), runs, program)
    goal = Goal(most=_MOST_START_MS, unit="ms")
    yield _compared(Row("start", "EGL program, wall", "ms", goal=goal), results, lambda run: run.wall_s * 1e3)
    yield _compared(Row("start", "EGL program, CPU", "ms"), results, lambda run: run.cpu_s * 1e3)
    yield _compared(Row("start", "EGL program and recorder, CPU", "ms"), results, lambda run: run.all_cpu_s * 1e3)


def _compared(row: Row, results: Mapping[str, Sequence[Run]], figure: Callable[[Run], float]) -> Row:
    # The row with what drawtap and apitrace add to the native run.
    samples = {variant: [figure(run) for run in runs] for variant, runs in results.items()}
    native = samples["native"]
    apitrace = added(samples["apitrace"], native) if "apitrace" in samples else None
    return replace(
        row,
        native=statistics.median(native),
        drawtap=added(samples["drawtap"], native),
        apitrace=apitrace,
        samples=samples,
    )


def _without_start(results: Mapping[str, Sequence[Run]], starts: Mapping[str, Sequence[Run]]) -> dict[str, list[Run]]:
    # What a program and a recorder cost before and after the calls is no cost per call.
    fixed = {variant: statistics.median(run.all_cpu_s for run in runs) for variant, runs in starts.items()}
    return {
        variant: [replace(run, cpu_s=run.all_cpu_s - fixed[variant], recorder_cpu_s=0.0) for run in runs]
        for variant, runs in results.items()
    }


def _off(name: str, results: dict[str, list[Run]]) -> Row:
    samples = {variant: [run.thread_ns for run in results[variant]] for variant in ("native", "off")}
    cost = added(samples["off"], samples["native"])
    goal = Goal(most=_MOST_OFF_NS, unit="ns")
    native = statistics.median(samples["native"])
    return Row("loaded but off", name, "ns/call", cost, native=native, goal=goal, samples=samples)


def _thread_ns(run: Run) -> float:
    return run.thread_ns


def _thread_us(run: Run) -> float:
    return run.thread_ns / 1e3


def _all_ns(run: Run) -> float:
    return run.all_cpu_s * 1e9 / run.calls


def _all_us(run: Run) -> float:
    return run.all_cpu_s * 1e6 / run.calls
