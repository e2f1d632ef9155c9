"""Tell what long work is doing, for the line on standard error (`drawtap.output.progress`).

Work says `with activity.step("checklist"):` and, inside, `activity.at(12, 63)`; nobody has to listen.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class _Step:
    """A step that is being done: what it is, on which thread, and how far."""

    def __init__(self, text: str) -> None:
        self.text, self.thread = text, threading.get_ident()
        self.done = self.total = 0


_lock = threading.Lock()
_steps: list[_Step] = []


@contextlib.contextmanager
def step(text: str) -> Iterator[None]:
    """Name what the block does; steps may be within each other, and several threads may each have one."""
    made = _Step(text)
    with _lock:
        _steps.append(made)
    try:
        yield
    finally:
        with _lock:
            _steps.remove(made)


def at(done: int, total: int) -> None:
    """Say how far the innermost step of this thread is, or of all where it has none, in any unit."""
    with _lock:
        own = [one for one in _steps if one.thread == threading.get_ident()] or _steps
        if own:
            own[-1].done, own[-1].total = done, total


def now() -> tuple[str, int, int]:
    """Return the names of the steps, and how far the innermost is (0, 0: it does not say).

    Steps of one name at the same time, each on a thread of its own, are named once, with their number.
    """
    with _lock:
        steps = list(_steps)
    many: dict[str, set[int]] = {}
    for one in steps:
        many.setdefault(one.text, set()).add(one.thread)
    names = [f"{text} ({len(threads)} at once)" if len(threads) > 1 else text for text, threads in many.items()]
    last = steps[-1] if steps else None
    # A step among several at once does not tell how far all are.
    if last is None or len(many[last.text]) > 1:
        return ": ".join(names), 0, 0
    return ": ".join(names), last.done, last.total
