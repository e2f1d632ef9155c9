"""In and out: one file a format, and the ranges of calls that people name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.errors import UsageError
from drawtap.plugins import Registry

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Span:
    """Calls `first` to `last` (None: to the end), both included; of frames where `frames` is set."""

    first: int
    last: int | None
    frames: bool = False

    def where(self) -> str:
        """Return the SQL condition on the calls table."""
        column = "frame" if self.frames else "seq"
        if self.last is None:
            return f"{column} >= {self.first}"
        return f"{column} BETWEEN {self.first} AND {self.last}"

    def numbers(self) -> range:
        """Return the numbers; a span without an end goes to the largest number there can be."""
        return range(self.first, _ENDLESS if self.last is None else self.last + 1)

    def at_most(self, count: int) -> Span:
        """Return the first `count` of them."""
        last = self.first + count - 1
        return Span(self.first, last if self.last is None else min(last, self.last), self.frames)


_ENDLESS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Selection:
    """Which calls: spans (none: all), and a function or a pattern of function names with `*`."""

    spans: tuple[Span, ...] = ()
    name: str | None = None

    def where(self) -> str:
        """Return the SQL condition on the calls table; `true` where nothing is restricted."""
        parts = []
        if self.spans:
            parts.append("(" + " OR ".join(span.where() for span in self.spans) + ")")
        if self.name is not None:
            quoted = self.name.replace("'", "''")
            parts.append(f"name GLOB '{quoted}'")
        return " AND ".join(parts) or "true"


_ITEM = re.compile(r"(#?)(?:(\d+)(-(\d+)?)?|-(\d+))")


def selection(text: str | None, *, name: str | None = None) -> Selection:
    """Return the selection that `text` names: `10-20,30,5-`, `#3` or `#2-4` for frames; None or "" for all.

    Raises UsageError where it is no range, or one that ends before it begins.
    """
    spans = [_span(item.strip(), text) for item in (text or "").split(",") if item.strip()]
    return Selection(tuple(spans), name)


def _span(item: str, whole: str | None) -> Span:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise UsageError(f"{whole!r} is no range of calls", hint="ranges: 10-20,30,5- for calls, #3 or #2-4 for frames")
    mark, first, dash, last, until = match.groups()
    frames = mark == "#"
    if until is not None:
        return Span(0, int(until), frames)
    if dash is None:
        return Span(int(first), int(first), frames)
    if last is not None and int(last) < int(first):
        raise UsageError(f"the range {item} ends before it begins")
    return Span(int(first), None if last is None else int(last), frames)


@dataclass(frozen=True)
class Format:
    """A file format: `write(trace, selection, path)` writes the calls; `suffix` is what its files end in."""

    name: str
    suffix: str
    write: Callable[[Trace, Selection, Path], None]

    @property
    def help(self) -> str:
        """Return the documentation of the format."""
        return self.write.__doc__ or ""


FORMATS: Registry[Format] = Registry("format", "drawtap.formats")


def export_format(
    name: str, suffix: str
) -> Callable[[Callable[[Trace, Selection, Path], None]], Callable[[Trace, Selection, Path], None]]:
    """Register the decorated function as the writer of a format."""

    def add(write: Callable[[Trace, Selection, Path], None]) -> Callable[[Trace, Selection, Path], None]:
        FORMATS.register(name)(Format(name, suffix, write))
        return write

    return add
