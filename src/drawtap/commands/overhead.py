"""`drawtap overhead`: how much slower a program is under drawtap."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.output.result import Rows, Sheets

if TYPE_CHECKING:
    from collections.abc import Callable

    from drawtap.capture.overhead import Interval, Overhead, Sample

_TITLES = {"without": "without drawtap", "off": "loaded, not recording", "recorded": "recorded"}
_KINDS = {"run time": "ns", "": "bar"}


@command(
    section="record",
    examples=(
        "drawtap overhead -- ./game --frames 1000",
        "drawtap overhead --rounds 20 --seconds 300 -- ./game --frames 1000 --json",
        "drawtap overhead --figure 'FPS: ([0-9.]+)' --more-is-better -- glmark2-es2 -b build:duration=2",
    ),
)
def overhead(
    *program: Annotated[str, Opt("a program that ends by itself, and its arguments", metavar="PROGRAM")],
    rounds: Annotated[int, Opt("At most N rounds of three runs.", "-n", "N")] = 10,
    seconds: Annotated[float, Opt("Begin no round after so long; at least 3 are made.", metavar="S")] = 60,
    figure: Annotated[
        str | None, Opt("Compare a number that the program prints: a regular expression with a group.", metavar="RE")
    ] = None,
    more_is_better: Annotated[bool, Opt("With --figure: a rate, such as frames a second.")] = False,
) -> Sheets:
    """Say how much slower a program is under drawtap.

    Each round runs the program three times: without drawtap, with the tap loaded but off, and recorded. The order
    changes from round to round, and figures are compared within rounds. The program's output is not shown.

    The table has the run time and how much it grows, with the 95 % interval of the mean; processor time is the
    program's, without the recorder beside it. The growth by recording is also divided by the frames and calls of the
    recording. A program that draws for a fixed time takes as long under drawtap: give it a fixed number of frames, or
    name a figure in its output.
    """
    from drawtap.capture.overhead import FEWEST, measure
    from drawtap.output.progress import Progress

    if not program:
        raise UsageError("there is no program to measure", hint="drawtap overhead -- PROGRAM ARGUMENTS")
    if rounds < FEWEST:
        raise UsageError(f"{rounds} rounds are too few for an interval", hint=f"--rounds {FEWEST} or more")
    if more_is_better and figure is None:
        raise UsageError("--more-is-better: only with --figure")
    done = 0
    measured: Overhead | None = None
    with Progress(lambda: (done, rounds)):
        for measured in measure(program, rounds=rounds, seconds=seconds, figure=_pattern(figure)):  # noqa: B007
            done += 1
    assert measured is not None
    of = _measured(figure, more_is_better=more_is_better)
    return Sheets([_table(measured, of, with_figure=figure is not None)], _data(measured, of), _notes(measured, figure))


def _pattern(text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UsageError(f"--figure {text!r} is no regular expression: {error}") from None
    if not pattern.groups:
        raise UsageError(f"--figure {text!r} has no group", hint="'FPS: ([0-9.]+)' has: the number in brackets")
    return pattern


def _measured(figure: str | None, *, more_is_better: bool) -> Callable[[Sample], float]:
    # The metrics of a run that are costs: more of them is slower.
    if figure is None:
        return lambda run: run.seconds
    return lambda run: 1 / (run.figure or 1) if more_is_better else run.figure or 0


def _table(measured: Overhead, of: Callable[[Sample], float], *, with_figure: bool) -> Rows:
    import statistics

    median = {name: statistics.median(of(run) for run in runs) for name, runs in measured.runs.items()}
    most = max(median.values())
    columns = ("program", "", "run time", *(("figure",) if with_figure else ()), "slower", "95 % interval", "cpu time")
    rows = []
    for name, runs in measured.runs.items():
        figures = [statistics.median(run.figure or 0 for run in runs)] if with_figure else []
        compared = ["", "", ""]
        if name != "without":
            slower, cpu = measured.ratio(name, of), measured.ratio(name, lambda run: run.cpu_seconds)
            compared = [_percent(slower.value), _span(slower), _percent(cpu.value)]
        took = round(1e9 * statistics.median(run.seconds for run in runs))
        rows.append((_TITLES[name], median[name] / most, took, *figures, *compared))
    return Rows(columns, rows, _KINDS)


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def _span(ratio: Interval) -> str:
    return f"{100 * (ratio.least - 1):+.1f} to {100 * (ratio.most - 1):+.1f} %"


def _notes(measured: Overhead, figure: str | None) -> list[str]:
    from drawtap.output.text import counted

    recorded = measured.runs["recorded"]
    frames, calls = recorded[-1].frames, recorded[-1].calls
    notes = [f"{measured.rounds} rounds of three runs"]
    notes.append("an interval that holds 0 shows no difference; more rounds make it narrower")
    if measured.same_work and figure is None:
        added = measured.added("recorded")
        each = [f"{_time(added, count)} a {name}" for name, count in (("frame", frames), ("call", calls)) if count]
        notes.append(f"recording adds {_time(added, 1)} to a run, {', '.join(each)}")
        notes.append(f"a run makes {counted(calls, 'call')} in {counted(frames, 'frame')}")
    if not measured.same_work and figure is None:
        some = sorted(run.frames for run in recorded)
        notes.append(
            f"warning: the program draws from {some[0]} to {some[-1]} frames a run, so run times do not say how much "
            "slower it is; give it a fixed number of frames, or name a figure that it prints (--figure)"
        )
    return notes


def _time(added: Interval, count: int) -> str:
    unit, by = next((u, b) for u, b in (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)) if _fits(added, count, b))
    value, least, most = (by * figure / count for figure in (added.value, added.least, added.most))
    return f"{value:.3g} {unit} ({least:.3g} to {most:.3g})"


def _fits(added: Interval, count: int, by: float) -> bool:
    return by == 1e9 or max(abs(added.least), abs(added.most)) * by / count >= 1


def _data(measured: Overhead, of: Callable[[Sample], float]) -> dict[str, object]:
    last = measured.runs["recorded"][-1]
    added = measured.added("recorded")
    per = {f"added_seconds_a_{name}": _scaled(added, n) for name, n in (("frame", last.frames), ("call", last.calls))}
    return {
        "rounds": measured.rounds,
        "same_work": measured.same_work,
        "frames": last.frames,
        "calls": last.calls,
        "slower": {name: asdict(measured.ratio(name, of)) for name in ("off", "recorded")},
        "cpu": {name: asdict(measured.ratio(name, lambda run: run.cpu_seconds)) for name in ("off", "recorded")},
        "added_seconds": asdict(added),
        **(per if measured.same_work else {}),
        "runs": {name: [asdict(run) for run in runs] for name, runs in measured.runs.items()},
    }


def _scaled(added: Interval, count: int) -> dict[str, float] | None:
    return {name: value / count for name, value in asdict(added).items()} if count else None
