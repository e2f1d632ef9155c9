"""What takes long to build is built once for all workers of a test run."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
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
