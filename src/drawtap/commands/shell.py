"""`drawtap shell`: SQL and all verbs at one prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.errors import no_file
from drawtap.output.result import Prompt


@command(
    section="ask",
    examples=(
        "drawtap shell game.dtap",
        "drawtap shell before.dtap after.dtap           # t0 and t1: SELECT count(*) FROM t1.calls",
        "drawtap shell game.dtap -x 'edit t0 --keep :#5 -o first' -x 'save first first5.dtap'",
        "drawtap sql game.dtap                          # the same as drawtap shell game.dtap",
    ),
    json=False,
)
def shell(
    *recordings: Annotated[Path, Opt("recordings to open; more can be loaded", metavar="[FILE]")],
    execute: Annotated[
        tuple[str, ...], Opt("Run this command and leave; can be given more than once.", "-x", "COMMAND")
    ] = (),
    script: Annotated[Path | None, Opt("Run the commands in this file and leave.", "-s", "FILE")] = None,
    frame_end: Annotated[
        str | None, Opt("Frames end with: auto, or function names separated by commas.", metavar="RULE")
    ] = None,
) -> Prompt:
    """Open a prompt: SQL, and every verb on open recordings.

    Recordings are called t0, t1, ... or as load FILE as NAME says; verbs take such a name where they take a file, and
    work on the current one where it is left out. The result of -o NAME is a recording of the session until save NAME
    FILE.

    Tab completes verbs, options, recordings, tables and columns; the history is kept; | and > hand output on.
    help lists the verbs.
    """
    for path in recordings:
        if not path.is_file():
            raise no_file(path)
    commands = [*execute]
    if script is not None:
        if not script.is_file():
            raise no_file(script)
        commands += script.read_text(encoding="utf-8").splitlines()
    stay = not commands
    return Prompt(tuple(str(p) for p in recordings), tuple(commands), frame_end, stay)
