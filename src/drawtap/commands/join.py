"""`drawtap join`: recordings one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.edit import verdicts
from drawtap.errors import check_target, no_file
from drawtap.output.result import Verdicts


@command(
    section="edit",
    examples=(
        "drawtap join intro.dtap level1.dtap -o both.dtap",
        "drawtap join --by-time browser.dtap browser-4711.dtap -o run.dtap",
    ),
)
def join(
    *recordings: Annotated[Path, Opt("two recordings or more", metavar="FILE")],
    output: Annotated[Path, Opt("Where to.", "-o", "FILE")],
    by_time: Annotated[bool, Opt("Put calls in the order of their times: processes or threads of one run.")] = False,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts:
    """Write recordings one after the other as one, or by time.

    Times of a later recording follow the earlier one's. Equal names of several programs (contexts, surfaces and the
    like) stay apart; parts of one recording keep their names. The receiver's part of a recording and the spilled part
    (record --spill) become one recording, each call once. Each recording must make its own objects: extracts that make
    the same objects twice do so in the result, too.

    With --by-time all calls are in the order of their times; each recording keeps its own order. Times
    must come from one machine's clock: recordings of different machines, or from before and after a restart, do not
    become coherent. Each program has its own copy of what it shared through the system (a common window, buffers passed
    between them).
    """
    from drawtap.trace import edit

    check_target(output, force=force, replaced=True)
    for path in recordings:
        if not path.is_file():
            raise no_file(path)
    return verdicts((edit.merge if by_time else edit.join)(recordings, output))
