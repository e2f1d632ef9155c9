"""Tap the calls between a program and its graphics driver; what is seen becomes a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["DrawtapError", "Trace", "__version__", "edit", "open"]

from drawtap.errors import DrawtapError

if TYPE_CHECKING:
    from drawtap.trace.edit import edit
    from drawtap.trace.trace import Trace
    from drawtap.trace.trace import open_trace as open  # noqa: A004


def __getattr__(name: str) -> object:
    # The reader loads DuckDB and a native library: only when asked for.
    if name in {"Trace", "open"}:
        from drawtap.trace import trace

        return trace.open_trace if name == "open" else trace.Trace
    if name == "edit":
        from drawtap.trace.edit import edit

        return edit
    raise AttributeError(f"module 'drawtap' has no attribute {name!r}")
