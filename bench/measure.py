"""Run programs with and without a tracer and account for everything they used."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import resource
import select
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol

from drawtap.parts import DRAINER, TAP, part

APITRACE_WRAPPERS = (
    "/usr/lib/x86_64-linux-gnu/apitrace/wrappers/egltrace.so",
    "/usr/lib/aarch64-linux-gnu/apitrace/wrappers/egltrace.so",
    "/usr/lib/apitrace/wrappers/egltrace.so",
)
_PRINTED = re.compile(r"([\d.]+) ns/call median, ([\d.]+) least, (\d+) calls")


class BenchError(Exception):
    """A measured program did not do what it should: the figure would mean nothing."""


@dataclass(frozen=True)
class Run:
    """One program run. CPU times are user + system seconds of all its processes and threads.

    `cpu_s` is the program's own, `recorder_cpu_s` that of a separate recorder process, `trace_bytes` the size of the
    trace that was written.
    """

    wall_s: float
    cpu_s: float
    recorder_cpu_s: float
    output: str
    trace_bytes: int = 0

    @property
    def all_cpu_s(self) -> float:
        """CPU seconds of the program and its recorder together."""
        return self.cpu_s + self.recorder_cpu_s

    @property
    def thread_ns(self) -> float:
        """Thread CPU ns per call that many_calls and its kind print (median of the rounds)."""
        return float(self._printed(1))

    @property
    def calls(self) -> int:
        """Calls that the program says it made in its loops."""
        return int(self._printed(3))

    def _printed(self, group: int) -> str:
        found = _PRINTED.search(self.output)
        if not found:
            raise BenchError(f"the program did not print its figures: {self.output[-300:]!r}")
        return found[group]


class Variant(Protocol):
    """A way to run a program: alone, with drawtap, with apitrace, with the tap loaded but off."""

    @property
    def name(self) -> str:
        """What its figures are filed under."""

    def run(self, program: Sequence[str], trace: Path | None = None) -> Run:
        """Run `program` to its end, keeping the trace at `trace` or else dropping it."""


def run_process(
    program: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    check: bool = True,
    on_start: Callable[[int], None] | None = None,
) -> Run:
    """Run a program (a pipeline as `bash -c` counts whole) and wait for it with its resource usage.

    `output` is its standard output; `on_start` gets its process id. Raises BenchError with what it complained of
    where it fails and `check` is set.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = monotonic()
        child = subprocess.Popen(list(program), stdout=out, stderr=err, env=program_environment(environment))
        if on_start:
            on_start(child.pid)
        status, usage = _wait(child)
        wall = monotonic() - started
        out.seek(0)
        err.seek(0)
        output = out.read().decode(errors="replace")
        if check and status:
            said = err.read().decode(errors="replace")[-500:]
            raise BenchError(f"{' '.join(program)[:200]} ended with {status}: {said}")
    return Run(wall, usage.ru_utime + usage.ru_stime, 0.0, output)


def program_environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    """Return what every measured program runs with, and `extra`; empty values are taken out."""
    # The rasteriser's threads would fight with everything else for the cores; no display unless a run asks.
    platform = os.environ.get("BENCH_EGL_PLATFORM", "surfaceless")  # `bench.gpu` finds which one has the GPU
    environment = dict(os.environ, LP_NUM_THREADS="0", EGL_PLATFORM=platform, DRAWTAP_QUIET="1")
    environment.pop("LD_PRELOAD", None)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed drawtap has its modules compiled
    environment.update(extra or {})
    return {name: value for name, value in environment.items() if value}


def _wait(child: subprocess.Popen[bytes]) -> tuple[int, resource.struct_rusage]:
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage


@dataclass(frozen=True)
class Native:
    """The program alone."""

    environment: tuple[tuple[str, str], ...] = ()
    name: str = "native"

    def run(self, program: Sequence[str], trace: Path | None = None) -> Run:
        """Run it as it is; there is no trace."""
        return run_process(program, dict(self.environment))


@dataclass(frozen=True)
class Off:
    """The tap is loaded and nobody listens: it forwards and nothing else."""

    environment: tuple[tuple[str, str], ...] = ()
    name: str = "off"

    def run(self, program: Sequence[str], trace: Path | None = None) -> Run:
        """Run it with DRAWTAP_SOCKET naming no socket: the tap gives up at the first call and only forwards."""
        environment = {"LD_PRELOAD": str(part(TAP)), "DRAWTAP_SOCKET": "/nonexistent/drawtap"}
        return run_process(program, dict(self.environment) | environment)


@dataclass(frozen=True)
class Apitrace:
    """apitrace's wrapper library, loaded as `apitrace trace -a egl` loads it."""

    environment: tuple[tuple[str, str], ...] = ()
    name: str = "apitrace"

    def run(self, program: Sequence[str], trace: Path | None = None) -> Run:
        """Run it with apitrace's trace going to `trace`."""
        with _trace_file(trace, ".trace") as path:
            environment = {"LD_PRELOAD": str(apitrace_wrapper()), "TRACE_FILE": str(path)}
            run = run_process(program, dict(self.environment) | environment)
            return with_trace(run, path, 0.0)


@dataclass(frozen=True)
class Drawtap:
    """The tap with its drainer, started as `drawtap record` starts them."""

    environment: tuple[tuple[str, str], ...] = ()
    name: str = "drawtap"
    timing: str = "both"

    def run(self, program: Sequence[str], trace: Path | None = None) -> Run:
        """Run it recorded to `trace`; `recorder_cpu_s` is the drainer's."""
        with _trace_file(trace, ".dtap") as path, Drain(path, self.timing) as drain:
            run = run_process(program, dict(self.environment) | drain.environment, on_start=drain.watch)
            return with_trace(run, path, drain.finish(0))


class Drain:
    """A running drainer; `environment` makes a program record to it."""

    def __init__(self, trace: Path, timing: str = "both", options: Sequence[str] = ()) -> None:
        self._folder = tempfile.mkdtemp(prefix="drawtap-bench-")
        socket = Path(self._folder) / "socket"
        self.environment = {"LD_PRELOAD": str(part(TAP)), "DRAWTAP_SOCKET": str(socket)}
        ready, told = os.pipe()
        arguments = [
            "--socket",
            str(socket),
            "--output",
            str(trace),
            "--timing",
            timing,
            "--ready-fd",
            str(told),
            *options,
        ]
        self.process = subprocess.Popen(
            [str(part(DRAINER)), *arguments, "--annotation", json.dumps({"kind": "command", "program": "bench"})],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=(told,),
        )  # fmt: skip
        os.close(told)
        readable, _, _ = select.select([ready], [], [], 20)
        started = bool(readable and os.read(ready, 64))
        os.close(ready)
        if not started:
            self.__exit__()
            raise BenchError("the drainer did not start")

    def __enter__(self) -> Drain:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdin:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def watch(self, pid: int) -> None:
        """Name the program whose end is the recording's end."""
        self._tell({"do": "watch", "pid": pid})

    def finish(self, status: int) -> float:
        """Tell the drainer how the program ended, wait until the file is whole; return the drainer's CPU seconds."""
        self._tell({"do": "signal", "value": -status} if status < 0 else {"do": "exit", "value": status})
        code, usage = _wait(self.process)
        if code:
            raise BenchError(f"the drainer ended with {code}")
        return usage.ru_utime + usage.ru_stime

    def _tell(self, wish: Mapping[str, object]) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(f"{json.dumps(wish)}\n".encode())
            self.process.stdin.flush()


def with_trace(run: Run, path: Path, recorder_cpu_s: float) -> Run:
    """Return the run with the size of its trace. Raises BenchError where there is none."""
    size = path.stat().st_size if path.exists() else 0
    if not size:
        raise BenchError(f"there is no trace at {path}: {run.output[-300:]}")
    return Run(run.wall_s, run.cpu_s, recorder_cpu_s, run.output, size)


@contextlib.contextmanager
def _trace_file(wanted: Path | None, suffix: str) -> Iterator[Path]:
    if wanted is not None:
        wanted.unlink(missing_ok=True)
        yield wanted
        return
    with tempfile.TemporaryDirectory(prefix="drawtap-bench-") as folder:
        yield Path(folder) / f"trace{suffix}"


def apitrace_wrapper() -> Path | None:
    """Return apitrace's EGL wrapper library, None where apitrace is not installed."""
    found = (Path(path) for path in APITRACE_WRAPPERS)
    return next((path for path in found if path.exists()), None) if shutil.which("apitrace") else None


def interleaved(variants: Sequence[Variant], runs: int, program: Sequence[str]) -> dict[str, list[Run]]:
    """Run `program` in every variant `runs` times, round by round, each round in another random order."""
    results: dict[str, list[Run]] = {variant.name: [] for variant in variants}
    order, shuffle = list(variants), random.Random(1)
    for _ in range(runs):
        shuffle.shuffle(order)
        for variant in order:
            results[variant.name].append(variant.run(program))
    return results


def added(values: Sequence[float], baseline: Sequence[float]) -> float:
    """Return the median of what `values` cost more than `baseline`, round by round: drift cancels out."""
    return statistics.median(value - base for value, base in zip(values, baseline, strict=True))
