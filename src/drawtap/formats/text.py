"""Write calls as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.formats import export_format
from drawtap.trace.ranges import Selection

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@export_format("text", ".txt")
def write_text(trace: Trace, selection: Selection, path: Path) -> None:
    """One call a line, as drawtap list prints it: the call with its arguments and result."""
    with path.open("w", encoding="utf-8") as file:
        if selection == Selection():
            file.flush()
            trace.write_text(file.fileno(), flags=1)
            return
        for seq, call in trace.sql(f'SELECT seq, "call" FROM calls WHERE {selection.where()} ORDER BY seq'):
            file.write(f"{seq} {call}\n")
