"""`drawtap save`: a recording under another name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import check_target
from drawtap.view.result import Written

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(section="share", examples=("drawtap save game.dtap kept.dtap",))
def save(
    trace: Trace,
    file: Annotated[Path, Opt("where to")],
    *,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Written:
    """Write a recording to another file, as it is.

    At the prompt save [NAME] [FILE] gives a recording that was made there a file; other formats are those of export.
    """
    from drawtap.trace.workspace import copied

    check_target(file, force=force, replaced=True)
    return Written(str(file), copied(trace.path, file), "a recording")
