"""The flight recorder: its settings, and its messages (native/drain/ring.h)."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from drawtap import units
from drawtap.errors import DrawtapError, UsageError
from drawtap.scratch import Scratch

_MOST = 1e18  # of ns, and of bytes: a number of 64 bits
_LEAST_LIMIT, _USUAL_LIMIT = 16 << 20, 4 << 30
_LIMIT = re.compile(r"([0-9.]+)\s*(ms|s)?(?::([0-9]+))?")


@dataclass(frozen=True)
class Ring:
    """The window and the triggers of a flight recorder: options of `drawtap record`, as the user gives them.

    `triggers` are `error`, `exit`, `mark=NAME`, `frame-time=50ms:N`, `fps=30:N`; `when` is a question in SQL, asked
    of the window every `every` seconds: an answer with a row is a reason to save. `least_calls` is how many leave the
    window at a time; `take_calls`, of how many earlier calls on the program's pictures are read back, 0: never.
    """

    window: str
    before: str | None = None
    after: str | None = None
    triggers: tuple[str, ...] = ()
    when: str | None = None
    every: float = 1.0
    limit: str | None = None
    at_crash: bool = True
    most_saves: int = 10
    gap: str | None = None
    least_calls: int | None = None
    take_calls: int | None = None

    def options(self) -> list[str]:
        """Return the drainer's options.

        Raises UsageError where one makes no sense, QueryError where `when` is no question that a window can answer.
        """
        if self.when is not None:
            _check_question(self.when)
        kind, window = _window("--ring", self.window)
        least = 2 * window if kind == "bytes" else 0
        span = f"{window / 1e6:.15g}ms" if kind == "ns" else f"{window / 1024:.15g}K"
        words = ["--ring", span, "--most-saves", str(self.most_saves)]
        for name, value in (("before", self.before), ("after", self.after), ("save-gap", self.gap)):
            if value is not None:
                none = value.strip() == "0"
                words += [f"--{name}", "0" if none else f"{seconds_of(f'--{name}', value)}ms"]
        limit = max(_USUAL_LIMIT, least) if self.limit is None else _bytes("--ring-limit", self.limit)
        if limit < max(_LEAST_LIMIT, least):
            more = f"with --ring {self.window} at least {least >> 20}M" if least else f"at least {_LEAST_LIMIT >> 20}M"
            raise UsageError(f"--ring-limit {self.limit} is too little", hint=more)
        words += ["--ring-limit", str(limit)]
        if self.least_calls is not None:
            words += ["--ring-least", str(self.least_calls)]
        if self.take_calls is not None:
            words += ["--ring-take", str(self.take_calls)]
        if not self.at_crash:
            words.append("--not-at-crash")
        for trigger in self.triggers:
            words += _trigger(trigger)
        return words


def _check_question(question: str) -> None:
    # A recording without calls has every table: a question that fails on it would fail on any window.
    from drawtap.trace.core import write
    from drawtap.trace.trace import open_trace

    with Scratch() as folder:
        write([], Path(folder) / "empty.dtap")
        with open_trace(Path(folder) / "empty.dtap") as empty:
            empty.sql(question).fetchall()


def seconds_of(option: str, text: str) -> int:
    """Return a time in ms. Raises UsageError where `text` is none."""
    kind, value = _window(option, text)
    if kind != "ns":
        raise UsageError(f"{option} {text} is no time", hint="as in 5s, 500ms, 2min")
    return max(1, value // 10**6)


def _bytes(option: str, text: str) -> int:
    kind, value = _window(option, text)
    if kind != "bytes":
        raise UsageError(f"{option} {text} is no size", hint="as in 500M, 2G")
    return value


def _window(option: str, text: str) -> tuple[str, int]:
    duration, size = units.duration_ns(text), units.size_bytes(text, bare=0)
    value = duration or size
    if not value or value >= _MOST:
        raise UsageError(f"{option} {text}: expected a time or a size", hint="as in 10s, 500ms, 2min, 500M, 1G")
    return ("ns" if duration else "bytes"), int(value)


def _trigger(text: str) -> list[str]:
    name, _, value = text.partition("=")
    if text in ("error", "gl-error"):
        return ["--on-error"]
    if text == "exit":
        return ["--at-exit"]
    if name == "mark" and value:
        return ["--on-mark", value]
    match = _LIMIT.fullmatch(value)
    if name in ("frame-time", "fps") and match is not None:
        number = float(match[1]) * (1000 if match[2] == "s" else 1)
        if number > 0 and (name == "frame-time" or match[2] is None):
            option = "--frame-over" if name == "frame-time" else "--fps-below"
            return [option, f"{number:g}:{int(match[3] or 1)}"]
    raise UsageError(
        f"--trigger {text} is not understood",
        hint="error, exit, mark=NAME, frame-time=50ms:N (N frames in a row), fps=30:N",
    )


@dataclass
class Watch:
    """Asks the window a question every now and then, on a thread of its own; what it cost is in `asked`, `seconds`.

    `failed` counts the asks that failed, `reason` is why the last of them did; the next one comes all the same.
    """

    when: str
    every: float
    peek: Callable[[], str | None]
    save: Callable[[str, str], None]
    frame_end: str | None = None
    asked: int = 0
    seconds: float = 0.0
    failed: int = 0
    reason: str = ""
    _end: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._end.wait(self.every):
            started = time.monotonic()
            try:
                row = self._ask()
            except DrawtapError as error:
                self.failed, self.reason = self.failed + 1, error.message
                continue
            self.asked += 1
            self.seconds += time.monotonic() - started
            if row is not None:
                self.save("sql", ", ".join(map(str, row))[:200])

    def _ask(self) -> tuple[object, ...] | None:
        from drawtap.trace.trace import open_trace

        path = self.peek()
        if path is None:
            return None
        with open_trace(Path(path), frame_end=self.frame_end) as window:
            return next(iter(window.sql(self.when)), None)
