"""Table II of Tsuboi et al. (GLACI): what each way to attend to a program takes from its frame rate."""

from __future__ import annotations

import re
import shutil
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.managed import Preloaded, favoured, manager, tap
from bench.measure import BenchError, Drain, Native, Run, Variant, run_process
from bench.row import Goal, Row
from bench.setup import Setup

GROUP = "Table II"
_FRAME = re.compile(r"FPS: (\d+) FrameTime: ([\d.]+) ms")
_ALARMS = '[[alarm]]\nrule = "target-missed"\n[[alarm]]\nrule = "hitch"\n[[program]]\nname = "*"\ntarget = 1\n'
_LIMIT = _ALARMS + "cap = 10000\nfps = 10000\n"
# What is compared, what the paper measured on Intel, and what is to be reached.
_WANTED = (
    ("monitor and alarms", 0.995, 0.995),
    ("limiter on", 0.991, 0.995),
    ("tracing attached, empty", 0.982, 0.985),
    ("tracing with logging", 0.955, 0.97),
)


@dataclass(frozen=True)
class _Recorded:
    # The tap with its drainer; `paused`: nothing is recorded until somebody says so, and nobody does.
    name: str
    environment: tuple[tuple[str, str], ...]
    folder: Path
    paused: bool

    def run(self, program: Sequence[str], trace: Path | None = None) -> Run:
        path = self.folder / "table2.dtap"
        path.unlink(missing_ok=True)
        with Drain(path, options=("--paused", "yes") if self.paused else ()) as drain:
            run = run_process(program, dict(self.environment) | drain.environment, on_start=drain.watch)
            drain.finish(0)
        return run


def rows(setup: Setup) -> Iterator[Row]:
    """Measure FPS and CPU of glmark2's terrain and of a scene in which calls weigh, round by round."""
    if not shutil.which("glmark2-es2"):
        yield Row(GROUP, "not measured", "", note="glmark2-es2 is not installed")
        return
    rounds = 7 if setup.quick else 11
    scenes = (
        ("terrain", "64x64", "terrain", 40 if setup.quick else 100),
        ("calls", "200x200", "texture", 4_000 if setup.quick else 12_000),
    )
    with (
        favoured(),
        setup.display() as display,
        manager(setup.scratch / "watching", _ALARMS) as watching,
        manager(setup.scratch / "limiting", _LIMIT) as limiting,
    ):
        shown = tuple(display.items())
        none = (*shown, ("DRAWTAP_MANAGER", "off"))
        variants: list[Variant] = [
            Native(shown),
            Preloaded("monitor and alarms", (tap(),), (*shown, *watching.items())),
            Preloaded("limiter on", (tap(),), (*shown, *limiting.items())),
            _Recorded("tracing attached, empty", none, setup.scratch, paused=True),
            _Recorded("tracing with logging", none, setup.scratch, paused=False),
        ]
        for name, size, scene, frames in scenes:
            program = ["glmark2-es2", "-s", size, "-b", f"{scene}:nframes={frames}"]
            found = _interleaved(variants, rounds, program)
            fps = {v: [_fps(run) for run in runs] for v, runs in found.items()}
            cpu = {v: [run.cpu_s for run in runs] for v, runs in found.items()}
            for variant, paper, wanted in _WANTED:
                by_fps = _ratio(fps[variant], fps["native"])
                by_cpu = _ratio(cpu["native"], cpu[variant])
                said = f"GLACI {paper} on Intel; " if paper else ""
                note = (
                    f"{said}by the program's CPU time {by_cpu:.4f}; {statistics.median(fps['native']):,.0f} FPS alone"
                )
                yield Row(GROUP, f"{name}: {variant}", "FPS to none", by_fps, goal=Goal(least=wanted, unit=""),
                          note=note, samples={"fps": fps[variant], "none": fps["native"], "cpu_s": cpu[variant],
                                              "none_cpu_s": cpu["native"]})  # fmt: skip


def _interleaved(variants: Sequence[Variant], rounds: int, program: Sequence[str]) -> dict[str, list[Run]]:
    # Forwards and backwards in turn: a machine that slows down during a round does not favour who comes first.
    found: dict[str, list[Run]] = {variant.name: [] for variant in variants}
    for number in range(rounds):
        for variant in variants if number % 2 else reversed(variants):
            found[variant.name].append(variant.run(program))
    return found


def _ratio(values: Sequence[float], base: Sequence[float]) -> float:
    return statistics.median(v / b for v, b in zip(values, base, strict=True))


def _fps(run: Run) -> float:
    # FPS are printed as whole numbers, frame times to the microsecond: the finer of the two.
    found = _FRAME.search(run.output)
    if not found:
        raise BenchError(f"glmark2 did not print its frame time: {run.output[-300:]}")
    return float(found[1]) if float(found[1]) > 1000 else 1e3 / float(found[2])
