"""Tell what long work is doing, for the line on standard error (`drawtap.output.progress`).

Work says `with activity.step("checklist"):` and, inside, `activity.at(12, 63)`; nobody has to listen.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

_steps: list[str] = []
_counts: list[tuple[int, int]] = []


@contextlib.contextmanager
def step(text: str) -> Iterator[None]:
    """Name what the block does; steps may be within each other."""
    _steps.append(text)
    _counts.append((0, 0))
    try:
        yield
    finally:
        _steps.pop()
        _counts.pop()


def at(done: int, total: int) -> None:
    """Say how far the innermost step is, in any unit."""
    if _counts:
        _counts[-1] = done, total


def now() -> tuple[str, int, int]:
    """Return the names of the steps, and how far the innermost is (0, 0: it does not say)."""
    done, total = _counts[-1] if _counts else (0, 0)
    return ": ".join(_steps), done, total
