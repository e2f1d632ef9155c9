"""Show on standard error how far long work is, and stop it where somebody asks."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from drawtap import activity

T = TypeVar("T")
_PATIENCE_S = 0.7  # short work shows nothing
_STEP_S = 0.1
_EVERY_S = 5.0  # between two lines where nobody watches
_CELLS = 30
_MANY_HOOKS = 300  # of fewer, the compiler makes short work


class Progress:
    """Show on standard error how far work is while the block runs, or until `stop`.

    On a terminal that is one line, which goes away; elsewhere a line every few seconds, unless DRAWTAP_PROGRESS=off.
    `done` returns the work done and to do, in any unit; where that says nothing, steps of `drawtap.activity` do.
    """

    def __init__(self, done: Callable[[], tuple[int, int]] = lambda: (0, 0)) -> None:
        self._done = done
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Progress:
        show = self._show if sys.stderr.isatty() else self._print
        if os.environ.get("DRAWTAP_PROGRESS") != "off":
            self._thread = threading.Thread(target=show, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
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
        begun = time.monotonic()
        if self._over.wait(_PATIENCE_S):
            return
        import shutil  # where work takes long

        while not self._over.wait(_STEP_S):
            wide = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r{self._line(time.monotonic() - begun)[:wide]}\x1b[K")
            sys.stderr.flush()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    def _print(self) -> None:
        begun = time.monotonic()
        while not self._over.wait(_EVERY_S):
            print(f"drawtap: {self._line(time.monotonic() - begun, bar=False)}", file=sys.stderr, flush=True)

    def _line(self, seconds: float, *, bar: bool = True) -> str:
        """Return a share of what is being done while that grows, else the time that it takes."""
        text, done, total = activity.now()
        if not 0 <= done < total:
            done, total = self._done()
        if not 0 <= done < total:
            return f"{text or 'working'}, {seconds:.0f} s"
        filled = done * _CELLS // total
        share = f"{done * 100 // total:3d} %" if bar else f"{done * 100 // total} %"
        drawn = f"[{'=' * filled}{' ' * (_CELLS - filled)}] " if bar else ""
        return f"{drawn}{share}{f', {text}' if text else ''}"


@contextlib.contextmanager
def cancelled_by_ctrl_c(cancel: Callable[[], None]) -> Iterator[None]:
    """Call `cancel` as soon as the user presses Ctrl-C while the block runs; on the main thread only."""
    # Python runs its signal handlers between byte codes, and a long query is one byte code. A thread that reads the
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
    """Say on standard error that the hooks of `functions` functions are compiled, if that makes somebody wait."""
    if functions >= _MANY_HOOKS:
        print(
            f"drawtap: compiling hooks of {functions} functions; the first time that takes a minute "
            "(drawtap build --api makes one of fewer)",
            file=sys.stderr,
        )
