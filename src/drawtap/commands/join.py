"""`drawtap join`: recordings one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.edit import verdicts
from drawtap.errors import InputError, check_target
from drawtap.view.result import Verdicts


@command(section="edit", examples=("drawtap join intro.dtap level1.dtap -o both.dtap",))
def join(
    *recordings: Annotated[Path, Opt("two recordings or more", metavar="FILE")],
    output: Annotated[Path, Opt("Where to.", "-o", "FILE")],
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts:
    """Write recordings one after the other as one.

    The times of a later one follow those of the one before. What several programs called alike (contexts, surfaces and
    the like) is told apart; parts of one recording keep their names. What a receiver has of a recording and what went
    elsewhere when that was gone (record --spill) become the one recording that they are, each call once.
    What a recording needs it must make itself: extracts that make the same objects twice do so in the result, too.
    """
    from drawtap.trace.edit import join as joined

    check_target(output, force=force, replaced=True)
    return verdicts(joined(existing(recordings), output))


def existing(recordings: tuple[Path, ...]) -> list[Path]:
    """Return the files, all of which are there."""
    for path in recordings:
        if not path.is_file():
            raise InputError(f"there is no file {path}")
    return list(recordings)
