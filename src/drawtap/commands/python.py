"""`drawtap python`: a script, or a Python prompt, with a recording open."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.errors import InputError
from drawtap.view.result import Prompt


@command(
    section="ask",
    examples=("drawtap python game.dtap count.py 10", "drawtap python game.dtap"),
    json=False,
)
def python(
    recording: Annotated[Path, Opt("a recording", metavar="FILE")],
    *script: Annotated[str, Opt("a script and its words; without one Python is read", metavar="[SCRIPT] [WORD]")],
) -> Prompt:
    """Run a script of your own on a recording, or read Python.

    The script finds the recording as trace, its words as args, and drawtap itself; the same as python SCRIPT at the
    prompt of drawtap shell. A script that fails gives exit code 2.
    """
    if not recording.is_file():
        raise InputError(f"there is no file {recording}")
    return Prompt((str(recording),), (shlex.join(["python", *script]),), stay=False)
