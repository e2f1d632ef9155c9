"""What it costs that a recording goes to a receiver instead of a file: the program, the drainer, the receiver."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.measure import BenchError, Drain, Drawtap, Native, Run, Variant, interleaved, run_process
from bench.row import Goal, Row
from bench.setup import Setup


@dataclass(frozen=True)
class Streamed:
    """As `Drawtap`, but to `drawtap receive` on this machine, which writes the file.

    `recorder_cpu_s` is the drainer's, as with a file; the receiver's time is not in it.
    """

    address: str
    folder: Path
    name: str

    def run(self, program: Sequence[str], trace: Path | None = None) -> Run:
        """Run it recorded to a receiver that is started before, and check that all came."""
        path = trace or self.folder / "streamed.dtap"
        command = [sys.executable, "-m", "drawtap", "receive", "--listen", self.address, "-o", str(path), "--force"]
        receiver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert receiver.stderr is not None
        try:
            address = receiver.stderr.readline().split()[-1]
            with Drain(Path("/nonexistent"), options=("--to", address)) as drain:
                run = run_process(program, drain.environment, on_start=drain.watch)
                cpu = drain.finish(0)
            if receiver.wait(60):
                raise BenchError(f"the stream did not arrive whole: {receiver.stderr.read()}")
            return replace(run, recorder_cpu_s=cpu, trace_bytes=path.stat().st_size)
        finally:
            receiver.kill()
            receiver.wait()
            receiver.stderr.close()
            with contextlib.suppress(OSError):
                if trace is None:
                    path.unlink()


def rows(setup: Setup) -> Iterator[Row]:
    """Measure application thread and drainer, to a file, over a UNIX socket and over TCP, in one run."""
    calls, rounds, runs = (300_000, 3, 5) if setup.quick else (1_000_000, 5, 7)
    variants: list[Variant] = [
        Native(),
        Drawtap(),
        Streamed(f"unix:{setup.scratch}/stream", setup.scratch, "unix"),
        Streamed("tcp://127.0.0.1:0", setup.scratch, "tcp"),
    ]
    for mode, what in (("state", "state calls"), ("rand", "irregular calls")):
        results = interleaved(variants, runs, [setup.program("many_calls"), mode, str(calls), str(rounds)])
        yield from _compared(what, "application thread", results, lambda run: run.thread_ns)
        yield from _compared(what, "drainer", results, lambda run: run.recorder_cpu_s * 1e9 / max(run.calls, 1))


def _compared(what: str, who: str, results: dict[str, list[Run]], figure: Callable[[Run], float]) -> Iterator[Row]:
    values = {name: [figure(run) for run in runs] for name, runs in results.items()}
    added = {
        name: statistics.median(v - n for v, n in zip(values[name], values["native"], strict=True)) for name in values
    }
    for name in ("unix", "tcp"):
        note = f"to a file in the same run: {added['drawtap']:.1f} ns/call"
        yield Row(
            "stream", f"{what}, {who}, {name}", "ns/call", added[name], None, goal=Goal(), note=note, samples=values
        )
