"""Show on standard error how far long work is, where somebody watches, and stop it where somebody asks."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")
_PATIENCE_S = 0.7  # short work shows nothing
_STEP_S = 0.1
_CELLS = 30
_MANY_HOOKS = 300  # of fewer, the compiler makes short work


class Progress:
    """A line on standard error while the block runs, or until `stop`; none where that is no terminal.

    `done` returns the work done and to do, in any unit; nothing is shown while there is nothing to do.
    """

    def __init__(self, done: Callable[[], tuple[int, int]]) -> None:
        self._done = done
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the line away; output may follow."""
        self._over.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
            self._thread = None

    def until_first(self, items: Iterable[T]) -> Iterator[T]:
        """Yield `items`, and stop before the first of them."""
        iterator = iter(items)
        try:
            first = next(iterator)
        except StopIteration:
            return
        finally:
            self.stop()
        yield first
        yield from iterator

    def _show(self) -> None:
        if self._over.wait(_PATIENCE_S):
            return
        shown = False
        while not self._over.wait(_STEP_S):
            done, total = self._done()
            if total > 0:
                filled = min(_CELLS, done * _CELLS // total)
                bar = "=" * filled + " " * (_CELLS - filled)
                sys.stderr.write(f"\r[{bar}] {min(100, done * 100 // total):3d} %")
                sys.stderr.flush()
                shown = True
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextlib.contextmanager
def cancelled_by_ctrl_c(cancel: Callable[[], None]) -> Iterator[None]:
    """Call `cancel` as soon as the user presses Ctrl-C while the block runs; on the main thread only."""
    # Python runs its signal handlers between byte codes, and a long query is one of them: a thread that reads the
    # wake-up descriptor hears of the signal at once and stops the work; KeyboardInterrupt follows.
    heard, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    os.set_blocking(heard, True)
    before = signal.set_wakeup_fd(woken)

    def listen() -> None:
        while number := os.read(heard, 1):
            if number[0] == signal.SIGINT:
                cancel()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(woken)
        listener.join()
        os.close(heard)


def say_compiling(functions: int) -> None:
    """Say on standard error that hooks of so many `functions` are compiled, where that makes somebody wait."""
    if functions >= _MANY_HOOKS:
        print(
            f"drawtap: compiling hooks of {functions} functions; the first time that takes a minute "
            "(drawtap build --api makes one of fewer)",
            file=sys.stderr,
        )
