"""In and out: one file a format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.plugins import Registry
from drawtap.trace.ranges import Selection

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


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
