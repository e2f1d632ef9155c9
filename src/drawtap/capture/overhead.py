"""Measure how much slower a program is under drawtap: runs without it, with the tap loaded but off, and recorded.

Runs of one round stand next to each other in time, and their order changes from round to round: what else the machine
does falls on all of them alike. Figures are compared within rounds.
"""

from __future__ import annotations

import math
import os
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import drawtap
from drawtap.capture import launch
from drawtap.errors import ChildError, UsageError
from drawtap.parts import TAP, part
from drawtap.scratch import Scratch

VARIANTS = ("without", "off", "recorded")
FEWEST = 3
# Student's distribution: 95 % lie within this number of standard errors, by degrees of freedom from 1 on.
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_SAME_WORK = 1.02  # most frames by fewest, of programs that always draw the same


@dataclass(frozen=True)
class Interval:
    """A mean, and where it lies with 95 % certainty."""

    value: float
    least: float
    most: float


@dataclass(frozen=True)
class Sample:
    """One run: wall-clock and processor seconds of the program and its children, and the figure that it printed.

    `calls` and `frames` count its recording, 0 without one.
    """

    seconds: float
    cpu_seconds: float
    figure: float | None = None
    calls: int = 0
    frames: int = 0


@dataclass
class Overhead:
    """The measurements: the runs of each variant, round by round."""

    runs: dict[str, list[Sample]] = field(default_factory=lambda: {name: [] for name in VARIANTS})

    @property
    def rounds(self) -> int:
        """Return how many rounds are whole."""
        return min(len(runs) for runs in self.runs.values())

    @property
    def same_work(self) -> bool:
        """Tell whether the program drew as many frames in every recorded run, and made as many calls."""
        for counts in ([r.frames for r in self.runs["recorded"]], [r.calls for r in self.runs["recorded"]]):
            if max(counts) > _SAME_WORK * max(1, min(counts)):
                return False
        return True

    def ratio(self, variant: str, of: Callable[[Sample], float]) -> Interval:
        """Return how many times as much a variant has as the program alone, over the rounds."""
        logs = [math.log(of(b) / of(a)) for a, b in self._pairs(variant)]
        logarithms = interval(logs)
        return Interval(math.exp(logarithms.value), math.exp(logarithms.least), math.exp(logarithms.most))

    def added(self, variant: str) -> Interval:
        """Return the wall-clock seconds that a variant adds to a run."""
        return interval([b.seconds - a.seconds for a, b in self._pairs(variant)])

    def _pairs(self, variant: str) -> list[tuple[Sample, Sample]]:
        return list(zip(self.runs["without"], self.runs[variant], strict=False))


def interval(values: Sequence[float]) -> Interval:
    """Return the mean of at least two values with its 95 % interval (Student's)."""
    mean = statistics.fmean(values)
    free = len(values) - 1
    quantile = _T95[free - 1] if free <= len(_T95) else 1.96 + 2.4 / free
    wide = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - wide, mean + wide)


def order(round_: int) -> tuple[str, ...]:
    """Return the order of the variants in a round: of six rounds each stands twice at every place."""
    turned = VARIANTS[round_ % 3 :] + VARIANTS[: round_ % 3]
    return turned if round_ // 3 % 2 == 0 else turned[::-1]


def measure(
    program: Sequence[str], *, rounds: int, seconds: float, figure: re.Pattern[str] | None = None
) -> Iterator[Overhead]:
    """Run `program` in rounds of three and yield what is known after each.

    As many rounds as begin within `seconds`, from `FEWEST` to `rounds`. `figure` finds the number that the program
    prints: its first group, and the mean where it is there several times. Raises ChildError where the program cannot be
    started or fails, and where recording makes no call.
    """
    executable = launch.find_program(program[0])
    with Scratch() as folder:
        place = Path(folder)
        _run(executable, program, {}, place, figure)  # caches of disk and driver are warm after it
        measured = Overhead()
        end = time.monotonic() + seconds
        for number in range(rounds):
            if number >= FEWEST and time.monotonic() > end:
                return
            for variant in order(number):
                measured.runs[variant].append(_sample(variant, executable, program, place, figure))
            yield measured


def _sample(
    variant: str, executable: Path, program: Sequence[str], place: Path, figure: re.Pattern[str] | None
) -> Sample:
    if variant == "without":
        return _run(executable, program, {}, place, figure)
    environment = launch.loading(executable, [part(TAP)])
    if variant == "off":
        # The tap finds nobody there at its first call, and from then on only hands calls on.
        environment["DRAWTAP_SOCKET"] = str(place / "nobody")
        return _run(executable, program, environment, place, figure)
    trace, socket = place / "overhead.dtap", place / "socket"
    environment["DRAWTAP_SOCKET"] = str(socket)
    with launch.recorder(socket, trace, force=True, timing="both", note="overhead") as recorder:
        sample = _run(executable, program, environment, place, figure)
    if not recorder.files(seconds=0):
        raise ChildError(f"{program[0]} makes no graphics call that drawtap records", hint="drawtap doctor says why")
    calls = frames = 0
    for file in recorder.files(seconds=0):
        with drawtap.open(file) as opened:
            calls += int(opened.info["calls"])
            frames += int(opened.info["frames"])
        file.unlink()
    return Sample(sample.seconds, sample.cpu_seconds, sample.figure, calls, frames)


def _run(
    executable: Path, program: Sequence[str], more: Mapping[str, str], place: Path, figure: re.Pattern[str] | None
) -> Sample:
    # A manager would act on the runs that have the tap, and on no others.
    environment = {**os.environ, **more, "DRAWTAP_MANAGER": "off", "DRAWTAP_QUIET": "1"}
    with (place / "said").open("w+b") as said:
        started = time.monotonic()
        try:
            child = subprocess.Popen(
                list(program), executable=str(executable), env=environment, stdin=subprocess.DEVNULL,
                stdout=said, stderr=said,
            )  # fmt: skip
        except OSError as error:
            raise ChildError(f"{executable} does not start: {error.strerror}") from error
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - started
        said.seek(0)
        text = said.read().decode(errors="replace")
    if child.returncode:
        how = f"exit code {child.returncode}" if child.returncode > 0 else f"signal {-child.returncode}"
        raise ChildError(f"{program[0]} ended with {how}: {text.strip()[-400:] or 'it printed nothing'}")
    return Sample(wall, used.ru_utime + used.ru_stime, None if figure is None else _figure(text, figure))


def _figure(text: str, figure: re.Pattern[str]) -> float:
    try:
        numbers = [float(match[1]) for match in figure.finditer(text)]
    except (ValueError, IndexError):
        raise UsageError("--figure has no group that is a number", hint=r"such as 'FPS: ([\d.]+)'") from None
    numbers = [number for number in numbers if number > 0]
    if not numbers:
        raise UsageError(
            f"--figure finds no number above 0 in what the program prints: {text.strip()[-200:] or 'nothing'}",
            hint="a regular expression with a group, such as 'FPS: ([0-9.]+)'",
        )
    return statistics.fmean(numbers)
