"""`drawtap new`: an empty recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.errors import check_target
from drawtap.view.result import Written


@command(section="edit", examples=("drawtap new empty.dtap",))
def new(
    file: Annotated[Path, Opt("where to")],
    *,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Written:
    """Write a recording without calls.

    Others are joined to it. At the prompt new NAME makes one that has no file until save NAME FILE.
    """
    from drawtap.trace.edit import empty

    check_target(file, force=force, replaced=True)
    empty(file)
    return Written(str(file), file.stat().st_size, "a recording")
