"""Tables that take more than reading: another room computes them when a query mentions them.

One file a table in `drawtap.analysis.tables`, called as its table. The trace knows their names without importing them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from drawtap.plugins import Registry
from drawtap.trace.core import Column


class Answer(Protocol):
    """The rows of a computed table. `stream` returns them as a fresh capsule "arrow_array_stream" each time."""

    def stream(self) -> object:
        """Return all rows."""

    def close(self) -> None:
        """Let go of them."""


@dataclass(frozen=True)
class ComputedTable:
    """A registered table: `columns` needs no computation, `make` computes the rows once a `Trace`."""

    columns: tuple[Column, ...]
    make: Callable[[Any], Answer]  # its argument's type stands above this module, which the trace itself uses


TABLES: Registry[ComputedTable] = Registry("computed table", "drawtap.analysis.tables")


def names() -> list[str]:
    """Return the names of computed tables, without importing what computes them."""
    return TABLES.known_names()
