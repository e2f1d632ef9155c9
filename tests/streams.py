"""Receivers, recorders and their programs for the tests of streams."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

LIMIT_S = 120


@dataclass
class Lines:
    """A process of the command line whose standard error is read as it comes."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)

    def until(self, word: str) -> str:
        """Read until a line with `word` and return that."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if word in line:
                return line
        raise AssertionError(f"{word!r} was never said: {''.join(self.said)}")

    def end(self) -> tuple[int, str, str]:
        """Wait for the end: exit code, standard output, all of standard error."""
        out, err = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out, "".join(self.said) + err


@dataclass
class Desk:
    """Starts `drawtap ARGUMENTS`, and ends what a test leaves running."""

    folder: Path
    environment: Mapping[str, str]
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *arguments: str | Path, **extra: str) -> Lines:
        """Start the command line in the background."""
        command = [sys.executable, "-m", "drawtap", *map(str, arguments)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**self.environment, **extra},
        )
        self.running.append(process)
        return Lines(process)

    def stop(self) -> None:
        """End what still runs: the recorder passes SIGTERM on to its program, which has our pipes."""
        for process in self.running:
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()

    def run(self, *arguments: str | Path, **extra: str) -> tuple[int, str, str]:
        """Run the command line: exit code, standard output, standard error."""
        return self.start(*arguments, **extra).end()

    def receiver(self, address: str, *arguments: str | Path, **extra: str) -> tuple[Lines, str]:
        """Start a receiver, and return it with the address that it says."""
        lines = self.start("receive", "--listen", address, *arguments, **extra)
        return lines, lines.until("receiving at").split()[-1]


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until `condition` holds, for a generous time."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)
