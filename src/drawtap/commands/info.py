"""`drawtap info`: what is in a recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from drawtap.commands import command
from drawtap.view.result import Facts
from drawtap.view.text import duration, number, size

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(section="ask", examples=("drawtap info game.dtap", "drawtap info game.dtap --json"))
def info(trace: Trace) -> Facts:
    """Print what is in a recording.

    Program, machine, driver, frames, calls, and what is missing.
    """
    data = trace.info()
    return Facts(data, {"recording": {k: _text(k, v) for k, v in data.items()}})


def _text(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        if isinstance(value, Mapping):
            return "\n".join(f"{k}: {_text(str(k), v)}" for k, v in value.items())
        if isinstance(value, list):
            return "\n".join(_text(name, v) for v in value)
        return str(value)
    if name.endswith("_ns"):
        return duration(value)
    if name.endswith("bytes"):
        return size(value)
    return number(value)
