"""`drawtap focus`: tell the manager which program has the focus."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.top import COLUMNS, KINDS, rows_of
from drawtap.errors import UsageError
from drawtap.view.result import Rows

if TYPE_CHECKING:
    from drawtap.live.client import Client

_AGAIN_S = 1.0  # programs begin and have to be told too


@command(
    section="live",
    examples=(
        "drawtap focus --follow &                # as the X server has it, from now on",
        "drawtap focus glmark2",
        "drawtap focus none                      # another program has it",
        "drawtap focus unknown                   # only classes count",
    ),
)
def focus(
    program: Annotated[
        str | None,
        Opt(
            "a process number, or a name with * and ?; none: another program; unknown: only classes count",
            metavar="PROGRAM",
        ),
    ] = None,
    *,
    follow: Annotated[bool, Opt("Ask the X server of $DISPLAY again and again, until Ctrl-C.")] = False,
    every: Annotated[float, Opt("Seconds between looks at the focus.", None, "S")] = 0.25,
) -> Rows:
    """Tell the manager which program has the focus.

    With --follow drawtap asks the X server for the active window, or the window with the keyboard. The program is the
    owner of the window, or a process that the owner started. When the command ends, the focus is unknown. It needs
    python-xlib: pip install 'drawtap[focus]'.
    """
    from drawtap.live.client import Client

    if follow == (program is not None):
        raise UsageError(
            "which program has the focus?" if program is None else "--follow finds the program by itself",
            hint="drawtap focus PROGRAM, or drawtap focus --follow",
        )
    if not 0.05 <= every <= 5:
        raise UsageError(f"--every {every:g}: not so often", hint="from 0.05 to 5 seconds")
    with Client() as client:
        if follow:
            _follow(client, every)
        if program == "unknown":
            client.ask("focus", program=None, unknown=True)
        else:
            which = int(program) if program and program.isdigit() else program
            client.ask("focus", program=None if program == "none" else which)
        return Rows(COLUMNS, rows_of(client.ask("list")["programs"], "*"), KINDS)


def _follow(client: Client, every: float) -> None:
    # What is told lasts as long as the connection: however this process ends, nobody tells any more.
    from drawtap.live.focus import Screen, program_of

    screen = Screen()
    told: int | None = -1
    told_at = 0.0
    try:
        while True:
            pid = screen.focused_pid()
            if pid != told or time.monotonic() - told_at >= _AGAIN_S:
                known = [p["pid"] for p in client.ask("list")["programs"] if not p["observed"]]
                chosen = program_of(pid, known) if pid else None
                client.ask("focus", program=chosen, **({"unknown": True} if pid is None else {"held": True}))
                told, told_at = pid, time.monotonic()
            time.sleep(every)
    except KeyboardInterrupt:
        pass
    finally:
        screen.close()
