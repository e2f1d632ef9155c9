"""Programs under a manager: starting one of our own, and running the tap in the ways that are compared."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import BenchError, Run, run_process
from drawtap.parts import TAP, part


@dataclass(frozen=True)
class Preloaded:
    """A program with libraries preloaded, and an environment of its own; nothing records."""

    name: str
    libraries: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def run(self, program: Sequence[str], trace: Path | None = None) -> Run:
        """Run it to its end."""
        preload = {"LD_PRELOAD": " ".join(self.libraries)} if self.libraries else {}
        return run_process(program, dict(self.environment) | preload)


@contextlib.contextmanager
def manager(folder: Path, configuration: str = "", *options: str) -> Iterator[dict[str, str]]:
    """Run a manager in `folder`; yield the environment that lets taps find it (and none other)."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / "manager.toml"
    file.write_text(configuration)
    environment = {"XDG_RUNTIME_DIR": str(folder), "DRAWTAP_MANAGED": "1"}  # the tap records only when it is asked to
    command = [
        sys.executable,
        "-m",
        "drawtap",
        "manager",
        "--config",
        str(file),
        "--log",
        str(folder / "log"),
        *options,
    ]
    process = subprocess.Popen(command, env=dict(os.environ, **environment), stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 30
        while not (folder / "drawtap" / "manager.sock").exists():
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                said = process.stderr.read().decode(errors="replace")[-500:] if process.stderr else ""
                raise BenchError(f"the manager did not start: {said}")
            time.sleep(0.02)
        yield environment
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def favoured() -> Iterator[None]:
    """Have this session's processes go before others: what else runs on this machine is not measured."""
    group = Path("/proc/self/autogroup")
    try:
        group.write_text("-20")
    except OSError:
        yield  # no automatic groups, or no right to: then it is as it is
        return
    try:
        yield
    finally:
        group.write_text("0")


def on_one_core() -> list[str]:
    """Return the words in front of a command line that keep a program on the last core."""
    return ["taskset", "-c", str(last_core())]


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Have what is started within it stay on the last core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {last_core()})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def last_core() -> int:
    """Return the core that what is measured is kept on."""
    return max(os.sched_getaffinity(0))


def alone() -> tuple[tuple[str, str], ...]:
    """Return an environment in which the tap finds neither a manager nor a recorder."""
    return (("DRAWTAP_MANAGED", "1"), ("DRAWTAP_MANAGER", "off"), ("DRAWTAP_SOCKET", ""))


def tap() -> str:
    """Return the tap's path."""
    return str(part(TAP))
