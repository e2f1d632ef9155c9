"""Show on standard error what a receiver receives."""

from __future__ import annotations

import sys
import time
from typing import Protocol

from drawtap.output.text import counted, harmless, size


class Arriving(Protocol):
    """The progress of a trace that arrives."""

    @property
    def program(self) -> str: ...
    @property
    def calls(self) -> int: ...
    @property
    def frames(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def state(self) -> str: ...


class Receiving:
    """One line that is rewritten, where standard error is a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._watched = sys.stderr.isatty()
        self._before = (time.monotonic(), 0)
        self._rate = 0.0

    def say(self, text: str) -> None:
        """Write a line that stays."""
        text = harmless(text)
        sys.stderr.write(f"\r\x1b[K{text}\n" if self._watched else f"{text}\n")
        sys.stderr.flush()

    def show(self, streams: list[Arriving]) -> None:
        """Show the traces that are open now, together."""
        if not self._watched:
            return
        arriving = [s for s in streams if s.state == "open"]
        now, total = time.monotonic(), sum(s.bytes for s in streams)
        then, before = self._before
        if now - then > 0.4:
            self._rate, self._before = (total - before) / (now - then), (now, total)
        text = "waiting"
        if arriving:
            calls, frames = sum(s.calls for s in arriving), sum(s.frames for s in arriving)
            names = harmless(", ".join(s.program for s in arriving[:3])) + (", ..." if len(arriving) > 3 else "")
            text = f"{names}: {counted(calls, 'call')}, {counted(frames, 'frame')}"
            text += f", {size(sum(s.bytes for s in arriving))}, {size(self._rate)}/s"
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._watched:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
