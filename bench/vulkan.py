"""Vulkan beside GFXReconstruct: cost of a call, bytes, a GL program on zink, what a kill loses, one draw's arguments.

The peer's figures stand where the other groups have apitrace's.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.glmark import frames_per_second, texture_scene
from bench.kill import kill_after
from bench.managed import on_one_core
from bench.measure import BenchError, Drain, Native, Run, Variant, added, interleaved, run_process, with_trace
from bench.row import Goal, Row
from bench.setup import Setup, drawtap
from drawtap.parts import PLAYER_VULKAN, SIGNATURES_VULKAN, TAP_VULKAN, part

_GROUP = "Vulkan"
_LAYERS = tuple(Path(f"/usr/{folder}/vulkan/explicit_layer.d") for folder in ("share", "local/share"))
_DRIVERS = Path("/usr/share/vulkan/icd.d")
_PRINTED = re.compile(r"^(\w+) ([\d.]+) ns/call median, [\d.]+ least, (\d+) calls$", re.MULTILINE)
_COUNTED = "vkCmdSetDepthBias"
_ZINK = {"GALLIUM_DRIVER": "zink", "LIBGL_ALWAYS_SOFTWARE": "1"}


def _drain(trace: Path) -> Drain:
    drain = Drain(trace, options=["--signatures", str(part(SIGNATURES_VULKAN))])
    drain.environment |= {"LD_PRELOAD": str(part(TAP_VULKAN)), "DRAWTAP_API": "vk"}
    return drain


@dataclass(frozen=True)
class _Drawtap:
    """The tap that has Vulkan, recording Vulkan alone, as `drawtap record --api vk` does."""

    environment: tuple[tuple[str, str], ...] = ()
    name: str = "drawtap"

    def run(self, program: Sequence[str], trace: Path | None = None) -> Run:
        """Run it recorded; `recorder_cpu_s` is the drainer's."""
        with tempfile.TemporaryDirectory(prefix="drawtap-bench-") as folder:
            path = trace or Path(folder) / "trace.dtap"
            with _drain(path) as drain:
                run = run_process(program, dict(self.environment) | drain.environment, on_start=drain.watch)
                return with_trace(run, path, drain.finish(0))


@dataclass(frozen=True)
class _Gfxreconstruct:
    """GFXReconstruct's layer with its defaults."""

    environment: tuple[tuple[str, str], ...] = ()
    name: str = "apitrace"

    def run(self, program: Sequence[str], trace: Path | None = None) -> Run:
        """Run it with the layer."""
        with tempfile.TemporaryDirectory(prefix="drawtap-bench-") as folder:
            path = trace or Path(folder) / "trace.gfxr"
            return with_trace(run_process(program, dict(self.environment) | _peer_environment(path)), path, 0.0)


def _peer_environment(path: Path) -> dict[str, str]:
    return {
        "VK_INSTANCE_LAYERS": "VK_LAYER_LUNARG_gfxreconstruct",
        "GFXRECON_CAPTURE_FILE": str(path),
        "GFXRECON_CAPTURE_FILE_TIMESTAMP": "false",
        "GFXRECON_LOG_LEVEL": "error",
    }


def rows(setup: Setup) -> Iterator[Row]:
    """Measure all of it. Raises BenchError where there is no Vulkan driver on the processor."""
    drivers = sorted(_DRIVERS.glob("lvp_icd*.json"))
    if not drivers:
        raise BenchError("lavapipe is not installed (Debian package mesa-vulkan-drivers)")
    environment = {"VK_ICD_FILENAMES": str(drivers[0])}
    peer = any((folder / "VkLayer_gfxreconstruct.json").exists() for folder in _LAYERS)
    yield from _calls(setup, environment, peer=peer)
    yield from _zink(setup, environment, peer=peer)
    yield _kills(setup, environment, peer=peer)
    yield _one_draw(setup, environment, peer=peer)
    yield from _replays(setup, environment, peer=peer)


def _variants(environment: Mapping[str, str], *, peer: bool) -> list[Variant]:
    extra = tuple(environment.items())
    return [Native(extra), _Drawtap(extra), *([_Gfxreconstruct(extra)] if peer else [])]


def _calls(setup: Setup, environment: Mapping[str, str], *, peer: bool) -> Iterator[Row]:
    calls, rounds, runs = (2_000, 5, 3) if setup.quick else (10_000, 7, 7)
    program = [setup.program("vulkan_calls"), "loops", str(calls), str(rounds)]
    results = interleaved(_variants(environment, peer=peer), runs, program)
    figures = {name: [_loops(run) for run in measured] for name, measured in results.items()}
    for loop in figures["native"][0]:
        samples = {name: [each[loop][0] for each in measured] for name, measured in figures.items()}
        more = {name: added(values, samples["native"]) for name, values in samples.items()}
        yield Row(
            _GROUP, loop, "ns/call", more["drawtap"], more.get("apitrace"), statistics.median(samples["native"]),
            Goal(10), "thread CPU; the peer is GFXReconstruct", samples,
        )  # fmt: skip
    total = sum(count for _, count in figures["native"][0].values())
    sizes = {name: [run.trace_bytes / total for run in measured] for name, measured in results.items()}
    yield _sizes("bytes of these calls", "B/call", sizes, 10)


def _sizes(what: str, unit: str, sizes: Mapping[str, list[float]], ratio: float) -> Row:
    middle = {name: statistics.median(values) for name, values in sizes.items() if name != "native"}
    return Row(_GROUP, what, unit, middle["drawtap"], middle.get("apitrace"), goal=Goal(ratio), samples=sizes)


def _loops(run: Run) -> dict[str, tuple[float, int]]:
    found = {name: (float(ns), int(calls)) for name, ns, calls in _PRINTED.findall(run.output)}
    if not found:
        raise BenchError(f"the program did not print its figures: {run.output[-300:]!r}")
    return found


def _zink(setup: Setup, environment: Mapping[str, str], *, peer: bool) -> Iterator[Row]:
    """Measure a GL program whose driver draws with Vulkan, on one processor: see docs/benchmarks.md."""
    if not shutil.which("glmark2-es2"):
        yield Row(_GROUP, "glmark2 on zink", "", note="glmark2-es2 is not installed")
        return
    frames, runs = (1_000, 5) if setup.quick else (6_000, 11)
    with setup.display() as display:
        variants = _variants({**display, **_ZINK, **environment}, peer=peer)
        results = interleaved(variants, runs, [*on_one_core(), *texture_scene(frames)])
        starts = interleaved(variants, runs, [*on_one_core(), *texture_scene(frames // 10)])
    speeds = {name: [frames_per_second(run) for run in measured] for name, measured in results.items()}
    lost = {
        name: statistics.median(100 * (1 - v / base) for v, base in zip(values, speeds["native"], strict=True))
        for name, values in speeds.items()
    }
    note = f"texture 64x64, {frames:,} frames, {statistics.median(speeds['native']):,.0f} FPS alone"
    yield Row(
        _GROUP, "glmark2 on zink: FPS lost", "%", lost["drawtap"], lost.get("apitrace"), None, Goal(5), note, speeds
    )
    cpu = {
        name: [
            (run.cpu_s - start.cpu_s) * 1e6 / (frames - frames // 10)
            for run, start in zip(measured, starts[name], strict=True)
        ]
        for name, measured in results.items()
    }
    more = {name: added(values, cpu["native"]) for name, values in cpu.items()}
    yield Row(
        _GROUP, "glmark2 on zink: program's CPU", "us/frame", more["drawtap"], more.get("apitrace"),
        statistics.median(cpu["native"]), Goal(5), "CPU time without the start; other work disturbs it less", cpu,
    )  # fmt: skip
    sizes = {name: [run.trace_bytes / 1e6 for run in measured] for name, measured in results.items()}
    yield _sizes("glmark2 on zink: file", "MB", sizes, 5)


def _kills(setup: Setup, environment: Mapping[str, str], *, peer: bool) -> Row:
    own, others = (4, 1) if setup.quick else (30, 3)
    chance = random.Random(os.getpid())
    trials = [_killed(setup, environment, chance, _killed_recorded) for _ in range(own)]
    theirs = [_killed(setup, environment, chance, _killed_peer) for _ in range(others)] if peer else []
    note = f"{own} kills, {sum(done for done, _ in trials):,} calls completed"
    lost, theirs_lost = ([float(max(0, done - found)) for done, found in each] for each in (trials, theirs))
    return Row(
        _GROUP, "kill -9: completed calls lost", "a kill", max(lost),
        statistics.mean(theirs_lost) if theirs_lost else None, goal=Goal(most=0), note=note,
        samples={"drawtap": lost, "apitrace": theirs_lost},
    )  # fmt: skip


_Trial = Callable[[Setup, Mapping[str, str], float], tuple[int, int]]


def _killed(setup: Setup, environment: Mapping[str, str], chance: random.Random, trial: _Trial) -> tuple[int, int]:
    return trial(setup, environment, chance.choice((0.002, 0.02, 0.1)) * chance.random())


def _killed_recorded(setup: Setup, environment: Mapping[str, str], seconds: float) -> tuple[int, int]:
    trace = setup.scratch / "killed-vk.dtap"
    trace.unlink(missing_ok=True)
    with _drain(trace) as drain:
        done = _kill_after(setup, seconds, {**environment, **drain.environment}, drain.watch)
        drain.finish(-signal.SIGKILL)
    answer = json.loads(
        run_process(drawtap("sql", str(trace), f'SELECT count(*) AS n FROM "{_COUNTED}"', "--json")).output
    )
    return done, int(answer[0]["n"])


def _killed_peer(setup: Setup, environment: Mapping[str, str], seconds: float) -> tuple[int, int]:
    trace = setup.scratch / "killed.gfxr"
    done = _kill_after(setup, seconds, {**environment, **_peer_environment(trace)}, lambda _: None)
    count = f"gfxrecon-convert --output stdout {trace} 2>/dev/null | grep -c '\"{_COUNTED}\"'"
    return done, int(run_process(["bash", "-c", count], check=False).output or 0)


def _kill_after(setup: Setup, seconds: float, environment: Mapping[str, str], on_start: Callable[[int], None]) -> int:
    counter = setup.scratch / "counter-vk"
    return kill_after([setup.program("vulkan_calls"), "counted", str(counter)], counter, seconds, environment, on_start)


def _one_draw(setup: Setup, environment: Mapping[str, str], *, peer: bool) -> Row:
    """Time the shell's answer to: which arguments had the 10,000th draw?"""
    trace, theirs = setup.scratch / "draws.dtap", setup.scratch / "draws.gfxr"
    program = [setup.program("vulkan_calls"), "loops", "2000" if setup.quick else "10000", "5"]
    _Drawtap(tuple(environment.items())).run(program, trace)
    question = drawtap("sql", str(trace), "")
    question[-1] = 'SELECT * FROM "vkCmdDraw" ORDER BY seq LIMIT 1 OFFSET 9999'
    own = [run_process(question).wall_s for _ in range(7)]
    other = []
    if peer:
        _Gfxreconstruct(tuple(environment.items())).run(program, theirs)
        pipe = f"gfxrecon-convert --output stdout {theirs} 2>/dev/null | grep -m 10000 '\"vkCmdDraw\"' | tail -1"
        other = [run_process(["bash", "-c", pipe], check=False).wall_s for _ in range(3)]
    middle = statistics.median(other) if other else None
    return Row(
        _GROUP, "one draw's arguments, shell", "s", statistics.median(own), middle, goal=Goal(most=0.2, unit="s"),
        note="wall time, Python's start and all", samples={"drawtap": own, "apitrace": other},
    )  # fmt: skip


def _replays(setup: Setup, environment: Mapping[str, str], *, peer: bool) -> Iterator[Row]:
    """Play a program that shows frames again: both players from their start to their end, turn by turn."""
    if not shutil.which("vkcube"):
        yield Row(_GROUP, "vkcube replayed", "", note="vkcube is not installed")
        return
    frames, runs = (300, 3) if setup.quick else (1_200, 9)
    program = ["vkcube", "--c", str(frames), "--width", "100", "--height", "100"]
    trace, theirs = setup.scratch / "cube.dtap", setup.scratch / "cube.gfxr"
    with setup.display() as display:
        env = {**environment, **display}
        extra = tuple(env.items())
        players = {"drawtap": [str(part(PLAYER_VULKAN)), str(trace)]}
        _Drawtap(extra).run(program, trace)
        if peer and shutil.which("gfxrecon-replay"):
            _Gfxreconstruct(extra).run(program, theirs)
            players["apitrace"] = ["gfxrecon-replay", str(theirs)]
        played: dict[str, list[Run]] = {name: [] for name in players}
        for _ in range(runs):
            for name, command in players.items():
                played[name].append(run_process(command, env))
    for what, note in (
        ("CPU", "CPU time of the process, all threads"),
        ("time", "wall time, which other work disturbs"),
    ):
        samples = {
            name: [1e6 * (run.cpu_s if what == "CPU" else run.wall_s) / frames for run in each]
            for name, each in played.items()
        }
        middle = {name: statistics.median(values) for name, values in samples.items()}
        yield Row(
            _GROUP, f"vkcube replayed: {what}", "us/frame", middle["drawtap"], middle.get("apitrace"), goal=Goal(1),
            note=f"{note}; {frames:,} frames", samples=samples,
        )  # fmt: skip
