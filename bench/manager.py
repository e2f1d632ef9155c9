"""What the manager itself takes with many programs, and how soon they are free when it is killed."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measure import BenchError
from bench.row import Goal, Row
from bench.setup import Setup
from drawtap.errors import UnavailableError
from drawtap.live.client import Client
from drawtap.live.folder import Folder
from drawtap.parts import TAP, part

_PROGRAMS = 64
_FPS = 60
# Everything that a manager does by itself: limits by profile, a policy that looks at every program, alarms, signals.
_CONFIG = f"""
[manager]
policies = ["adaptive"]
[[program]]
name = "*"
fps = {_FPS}
target = {_FPS}
[[alarm]]
rule = "hitch"
actions = []
"""
_LEASE_S = 2.0


def rows(setup: Setup) -> Iterator[Row]:
    """Run light programs at 60 FPS under one manager, and measure the processor time of the manager alone."""
    seconds, rounds = (4.0, 3) if setup.quick else (10.0, 5)
    with _desktop(setup) as (folder, start):
        manager = _manager(folder)
        try:
            for _ in range(_PROGRAMS):
                start()
            _wait(lambda: _drawing(folder) == _PROGRAMS, "all programs")
            shares = [_share(manager.pid, seconds) for _ in range(rounds)]
            yield Row(
                "manager", f"{_PROGRAMS} programs at {_FPS} FPS", "% of a core", statistics.median(shares),
                goal=Goal(most=2.0, unit="%"), samples={"drawtap": shares},
                note=f"policy adaptive, a look every {_period(folder):.2f} s; {_memory(manager.pid):.0f} MB of its own",
            )  # fmt: skip
        finally:
            manager.kill()
            manager.wait()
    yield from _killed(setup, 3 if setup.quick else 5)


def _killed(setup: Setup, times: int) -> Iterator[Row]:
    late: list[float] = []
    for _ in range(times):
        with _desktop(setup) as (folder, start):
            manager = _manager(folder)
            program = start()
            _wait(lambda at=folder: _drawing(at) == 1, "the program")
            with Client(folder) as client:
                client.ask("limit", program=program.pid, fps=2)
            _drain(program, 1.0)
            manager.kill()
            manager.wait()
            began = time.monotonic()
            _wait(lambda shown=program: _counted(shown) > 20, "the program's own pace")
            late.append(time.monotonic() - began)
    yield Row(
        "manager", "free after kill -9 of the manager", "s", max(late), goal=Goal(most=_LEASE_S, unit="s"),
        samples={"drawtap": late}, note="the worst; a lease of 2 s, a program held to 2 FPS that tells every 0.1 s",
    )  # fmt: skip


@contextlib.contextmanager
def _desktop(setup: Setup) -> Iterator[tuple[Folder, object]]:
    binary = setup.program("frames")
    running: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="dt-", dir="/tmp", ignore_cleanup_errors=True) as runtime:
        folder = Folder(Path(runtime) / "drawtap")
        (Path(runtime) / "manager.toml").write_text(_CONFIG)
        own = {"XDG_RUNTIME_DIR": runtime, "LD_PRELOAD": str(part(TAP)), "DRAWTAP_MANAGED": "1"}
        own |= {"EGL_PLATFORM": "surfaceless", "LP_NUM_THREADS": "0", "MESA_SHADER_CACHE_DISABLE": "true"}

        def start() -> subprocess.Popen[bytes]:
            made = subprocess.Popen(
                [binary, "1", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ, **own)
            )
            assert made.stdout is not None
            os.set_blocking(made.stdout.fileno(), False)
            running.append(made)
            return made

        try:
            yield folder, start
        finally:
            for process in running:
                process.kill()
            for process in running:
                process.wait()


def _manager(folder: Folder) -> subprocess.Popen[bytes]:
    runtime = folder.path.parent
    words = ["--config", str(runtime / "manager.toml"), "--log", str(runtime / "log")]
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(runtime))
    environment.pop("DRAWTAP_MANAGER", None)
    made = subprocess.Popen([sys.executable, "-m", "drawtap", "manager", *words], env=environment)
    _wait(lambda: made.poll() is not None or _drawing(folder) == 0, "the manager")
    return made


def _drawing(folder: Folder) -> int:
    try:
        with Client(folder) as client:
            return sum(1 for p in client.ask("list")["programs"] if p["surfaces"])
    except UnavailableError:
        return -1


def _period(folder: Folder) -> float:
    with Client(folder) as client:
        return float(client.ask("list")["manager"]["period_s"])


def _wait(condition: object, what: str, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        if time.monotonic() > end:
            raise BenchError(f"{what} did not come")
        time.sleep(0.02)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _share(pid: int, seconds: float) -> float:
    before, began = _cpu_s(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (_cpu_s(pid) - before) / (time.monotonic() - began)


def _memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty"))) / 1024


def _drain(program: subprocess.Popen[bytes], seconds: float) -> None:
    time.sleep(seconds)
    assert program.stdout is not None
    program.stdout.read()


def _counted(program: subprocess.Popen[bytes]) -> int:
    # The program says every tenth of a second how many frames it has shown: what came between two lines.
    assert program.stdout is not None
    time.sleep(0.25)
    lines = (program.stdout.read() or b"").split()
    return int(lines[-1]) - int(lines[-2]) if len(lines) > 1 else 0
