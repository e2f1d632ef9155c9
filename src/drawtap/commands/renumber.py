"""`drawtap renumber`: a recording whose calls know no other numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.edit import verdicts
from drawtap.errors import check_target
from drawtap.view.result import Verdicts

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(section="edit", examples=("drawtap renumber cut.dtap -o fresh.dtap",))
def renumber(
    trace: Trace,
    *,
    output: Annotated[Path, Opt("Where to.", "-o", "FILE")],
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts:
    """Write a recording whose calls are numbered from 0 and forget the numbers they had elsewhere.

    Every recording is numbered from 0 without gaps; what was cut from another remembers the old numbers in the column
    origin. Without it, what is cut or changed next counts from these numbers.
    """
    from drawtap.trace.edit import renumber as renumbered

    check_target(output, force=force, replaced=True)
    return verdicts(renumbered(trace.path, output))
