"""Table II of Tsuboi et al. (GLACI): what each way to attend to a program takes from its frame rate.

`python -m bench --only table2` measures (about eight minutes); `python -m bench.table2 bench/results/DATE.json` prints
the lines of the table in docs/benchmarks.md.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.alternate import Alternated, Interval, alternate, interval, together
from bench.managed import Preloaded, favoured, manager, on_one_core, one_core, tap
from bench.measure import BenchError, Drain, Native, Run, Variant, run_process
from bench.row import Goal, Row
from bench.setup import Setup
from drawtap.live.client import Client
from drawtap.live.folder import Folder

GROUP = "Table II"
_FRAME = re.compile(r"FPS: (\d+) FrameTime: ([\d.]+) ms")
_ALARMS = '[[alarm]]\nrule = "target-missed"\n[[alarm]]\nrule = "hitch"\n[[program]]\nname = "*"\ntarget = 1\n'
_LIMIT = _ALARMS + "cap = 10000\nfps = 10000\n"


@dataclass(frozen=True)
class _Way:
    # A way to attend to a program, what the paper measured on Intel, and what is to be reached.
    name: str
    paper: float
    wanted: float


_WAYS = (
    _Way("monitor and alarms", 0.995, 0.995),
    _Way("limiter on", 0.991, 0.995),
    _Way("tracing attached, empty", 0.982, 0.985),
    _Way("tracing with logging", 0.955, 0.97),
)


@dataclass(frozen=True)
class Scene:
    """A program that draws until it is killed.

    `window`: s on one side, some frames at least. `frames`: of a run that is compared with other runs, None: is not.
    """

    name: str
    command: tuple[str, ...]
    window: float
    frames: int | None = None


def _glmark(name: str, scene: str, size: str, window: float, frames: int | None) -> Scene:
    return Scene(name, (*on_one_core(), "glmark2-es2", "-s", size, "-b", scene), window, frames)


def _scenes() -> tuple[Scene, ...]:
    return (
        _glmark("terrain", "terrain", "64x64", 0.15, 25),
        _glmark("many calls", "ideas", "200x200", 0.1, 900),
        _glmark("many frames", "texture", "200x200", 0.1, None),
    )


def _until(scene: Scene, end: str) -> list[str]:
    return [*scene.command[:-1], f"{scene.command[-1]}:{end}"]


def rows(setup: Setup) -> Iterator[Row]:
    """Measure glmark2's terrain, a scene of many calls, one of many frames: through the tap and past it in turns."""
    if not shutil.which("glmark2-es2"):
        yield Row(GROUP, "not measured", "", note="glmark2-es2 is not installed")
        return
    # Where memory lies differs from process to process, and with it what a call costs: one process decides nothing.
    seconds, processes, rounds = (4.5, 1, 0) if setup.quick else (4.0, 6, 6)
    with favoured(), ExitStack() as after:
        # Every frame waits for the X server, and half as long again where that has a core of its own: sometimes.
        with one_core():
            display = after.enter_context(setup.display())
        between = _between(setup, tuple(display.items()), rounds)
        for scene in _scenes():
            endless = replace(scene, command=tuple(_until(scene, "duration=600")))
            yield from alternated(setup, endless, display, seconds=seconds, processes=processes, between=between)


def alternated(
    setup: Setup,
    scene: Scene,
    display: Mapping[str, str],
    *,
    seconds: float,
    processes: int = 1,
    between: Mapping[tuple[str, str], Sequence[float]] | None = None,
) -> Iterator[Row]:
    """Measure each way of Table II on a program whose calls go through the tap and past it in turns."""
    for way in _WAYS:
        found = []
        for _ in range(processes):
            with _attended(setup, way) as (environment, others, check):
                found.append(alternate(setup, scene.command, {**display, **environment}, seconds=seconds,
                                       window=scene.window, others=others, check=check))  # fmt: skip
        yield _row(scene, way, together(found), (between or {}).get((scene.name, way.name), ()))


def _row(scene: Scene, way: _Way, found: Alternated, between: Sequence[float]) -> Row:
    fps, cpu = interval(found.fps), interval(found.cpu)
    said = [
        f"{fps.value:.4f}, 95 %: {fps}{_undecided(fps, way.wanted)}",
        f"GLACI {way.paper} on Intel",
        f"CPU {cpu.value:.4f} ({cpu})",
        f"{found.alone_fps:,.0f} FPS alone, {len(found.fps)} pairs, processes: {found.processes}",
    ]
    if between:
        runs = interval(between)
        said.append(f"beside runs without the tap {runs.value:.3f} ({runs.least:.3f} to {runs.most:.3f})")
    samples = {"fps": found.fps.tolist(), "cpu": found.cpu.tolist(), "between": list(between)}
    return Row(GROUP, f"{scene.name}: {way.name}", "FPS to none", fps.value, goal=Goal(least=way.wanted, unit=""),
               note="; ".join(said), samples=samples)  # fmt: skip


def _undecided(found: Interval, wanted: float) -> str:
    return ", which the goal is in: not decided" if found.least < wanted < found.most else ""


# ---- within one process -------------------------------------------------------------------------------------------

Attended = tuple[dict[str, str], tuple[int, ...], Callable[[int], None]]


def _attended(setup: Setup, way: _Way) -> AbstractContextManager[Attended]:
    if way.name.startswith("tracing"):
        return _traced(setup, paused=way.name.endswith("empty"))
    return _managed(setup, _LIMIT if way.name.startswith("limiter") else _ALARMS)


@contextmanager
def _managed(setup: Setup, configuration: str) -> Iterator[Attended]:
    place = setup.scratch / "managed"
    folder = Folder(place / "drawtap")
    with manager(place, configuration) as environment:

        def check(pid: int) -> None:
            with Client(folder) as client:
                known = [p for p in client.ask("list")["programs"] if p["pid"] == pid]
            if not known or not known[0]["frames"]:
                raise BenchError("the manager does not see the program")
            if (configuration == _LIMIT) != bool(known[0].get("limit")):
                raise BenchError(f"the manager's limit for the program is {known[0].get('limit')}")

        yield environment, (int(folder.lock.read_text()),), check


@contextmanager
def _traced(setup: Setup, *, paused: bool) -> Iterator[Attended]:
    trace = setup.scratch / "table2.dtap"
    trace.unlink(missing_ok=True)
    with Drain(trace, options=("--paused", "yes") if paused else ()) as drain:

        def check(pid: int) -> None:
            drain.watch(pid)  # its end is the end of the recording
            if "memfd:drawtap-pool" not in Path(f"/proc/{pid}/maps").read_text():
                raise BenchError("the program is not attached to its recorder")

        yield {**drain.environment, "DRAWTAP_MANAGER": "off"}, (drain.process.pid,), check
        drain.finish(-9)
    if trace.exists() == paused:
        raise BenchError("calls were recorded" if paused else "no calls were recorded")


# ---- between processes --------------------------------------------------------------------------------------------


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


def _between(setup: Setup, shown: tuple[tuple[str, str], ...], rounds: int) -> dict[tuple[str, str], list[float]]:
    # Frame rates by those of a run without the tap in the same round.
    found: dict[tuple[str, str], list[float]] = {}
    if not rounds:
        return found
    with (
        manager(setup.scratch / "watching", _ALARMS) as watching,
        manager(setup.scratch / "limiting", _LIMIT) as limiting,
    ):
        none = (*shown, ("DRAWTAP_MANAGER", "off"))
        variants: list[Variant] = [
            Native(shown),
            Preloaded(_WAYS[0].name, (tap(),), (*shown, *watching.items())),
            Preloaded(_WAYS[1].name, (tap(),), (*shown, *limiting.items())),
            _Recorded(_WAYS[2].name, none, setup.scratch, paused=True),
            _Recorded(_WAYS[3].name, none, setup.scratch, paused=False),
        ]
        for number in range(rounds):
            for scene in (s for s in _scenes() if s.frames):
                # Forwards and backwards in turn: a machine that slows down does not favour who comes first.
                order = variants if number % 2 else variants[::-1]
                fps = {v.name: _fps(v.run(_until(scene, f"nframes={scene.frames}"))) for v in order}
                for way in _WAYS:
                    found.setdefault((scene.name, way.name), []).append(fps[way.name] / fps["native"])
    return found


def _fps(run: Run) -> float:
    # FPS are printed as whole numbers, frame times to the microsecond: the finer of the two.
    found = _FRAME.search(run.output)
    if not found:
        raise BenchError(f"glmark2 did not print its frame time: {run.output[-300:]}")
    return float(found[1]) if float(found[1]) > 1000 else 1e3 / float(found[2])


def _lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    # A line for each way, two cells for each scene: the ratio with its interval, and that between runs.
    found = {row["name"]: row["samples"] for row in rows if row["group"] == GROUP}
    for way in _WAYS:
        cells = [way.name]
        for scene in _scenes():
            samples = found[f"{scene.name}: {way.name}"]
            fps = interval(samples["fps"])
            cells.append(f"{fps.value:.4f} ({fps})")
            if scene.frames:
                between = interval(samples["between"]) if samples["between"] else None
                cells.append(f"{between.value:.3f} ({between.least:.3f} to {between.most:.3f})" if between else "")
        yield "| " + " | ".join([*cells, f">= {way.wanted}", str(way.paper)]) + " |"


if __name__ == "__main__":
    print(*_lines(json.loads(Path(sys.argv[1]).read_text())["rows"]), sep="\n")
