"""What tests of several folders share: what takes long to build, once for all workers, and X servers."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


def once(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], Path]) -> Path:
    """Return what `fill` made in a folder of this name; the first worker calls it while the others wait."""
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # of all workers of this run
    folder, answer = root / name, root / f"{name}.made"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not answer.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed half-way
            folder.mkdir()
            answer.write_text(str(fill(folder)), encoding="utf-8")
        return Path(answer.read_text(encoding="utf-8"))


@contextlib.contextmanager
def x_server(*options: str) -> Iterator[str | None]:
    """Run an X server that draws into memory, without a window manager; yield DISPLAY, None where there is no Xvfb."""
    if shutil.which("Xvfb") is None:
        yield None
        return
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-noreset", "-nolisten", "tcp", "-screen", "0", "320x240x24", *options],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    with os.fdopen(reading) as pipe:
        number = pipe.readline().strip()
    try:
        assert number, "Xvfb did not start"
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()
