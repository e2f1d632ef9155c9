"""`drawtap limit`: hold a running program to a frame rate, or give it a class."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.commands.top import COLUMNS, KINDS, rows_of
from drawtap.errors import UsageError, did_you_mean
from drawtap.output.result import Rows

if TYPE_CHECKING:
    from drawtap.live.client import Client

_KEYS = ("class", "target", "weight")
_AGAIN_S = 1.0  # programs that began since then hear of the focus too


@command(
    section="live",
    examples=(
        "drawtap limit glmark2 30",
        "drawtap limit 4711 none                 # what policies say holds again",
        "drawtap limit 4711 free                 # no limit, whatever policies say",
        "drawtap limit glmark2 class=background,target=none",
        "drawtap limit viewer 24 --surface 2 --pacing late",
        "drawtap limit --focus glmark2           # also: none, unknown",
        "drawtap limit --focus follow &          # as the X server has it, from now on",
    ),
)
def limit(
    program: Annotated[str | None, Opt("a process number, or a name with * and ?", metavar="PROGRAM")] = None,
    what: Annotated[
        str | None,
        Opt(
            "frames a second; none: as policies say; free: no limit; class=critical, high, normal or background, "
            "target=FPS, weight=W, with none to take back; several with commas",
            metavar="WHAT",
        ),
    ] = None,
    *,
    surface: Annotated[
        int | None, Opt("Only this surface of the program, by its number in drawtap top.", "-s", "N")
    ] = None,
    pacing: Annotated[
        Literal["early", "late"] | None,
        Opt("Where a frame waits: early, before it is shown; late, after it, for fresher input."),
    ] = None,
    focus: Annotated[
        str | None,
        Opt(
            "Tell the manager which program has the focus. none: another program; unknown: only classes count; follow: "
            "as the X server of $DISPLAY says, until Ctrl-C.",
            metavar="PROGRAM",
        ),
    ] = None,
    every: Annotated[float, Opt("With --focus follow: seconds between looks.", None, "S")] = 0.25,
) -> Rows:
    """Hold a running program to a frame rate, give it a class or the focus.

    Your limit overrides policies; `none` removes it. It holds as long as the program runs, also when the manager starts
    again; profiles in its configuration hold for good. It takes effect at once, also for a frame that waits already.

    With --focus follow, drawtap asks the X server for the active window, or the window with the keyboard. The program
    is the owner of the window, or a process that the owner started. When the command ends, the focus is unknown. It
    needs python-xlib: pip install 'drawtap[focus]'.
    """
    from drawtap.live.client import Client

    if focus is not None:
        if program is not None:
            raise UsageError("--focus goes without PROGRAM and WHAT", hint="drawtap limit --focus PROGRAM")
        return _focus(focus, every)
    if program is None or what is None:
        missing = "which program?" if program is None else f"what for {program}?"
        raise UsageError(missing, hint="drawtap limit PROGRAM 60; or none, free, class=high")
    requests = [_request(word.strip()) for word in what.split(",")]
    with Client() as client:
        for op, fields in requests:
            how = {k: v for k, v in (("surface", surface), ("pacing", pacing)) if v is not None and op == "limit"}
            answer = client.ask(op, program=program, **fields, **how)
        return Rows(COLUMNS, rows_of(answer["programs"], "*"), KINDS)


def _request(word: str) -> tuple[str, dict[str, object]]:
    key, equals, value = word.partition("=")
    if equals:
        if key not in _KEYS:
            raise UsageError(
                f"{key!r} cannot be set", hint=did_you_mean(key, _KEYS) or "class=, target= and weight= can"
            )
        nothing = value in ("none", "")
        if key == "class":
            return "class", {"class": None if nothing else value}
        field = "target_fps" if key == "target" else key
        return "class", {field: None if nothing else _number(value)}
    if word == "free":
        return "limit", {"free": True}
    return "limit", {"fps": None if word == "none" else _number(word)}


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise UsageError(f"{word!r} is no number", hint="drawtap limit PROGRAM 60; or none, free, class=high") from None


def _focus(program: str, every: float) -> Rows:
    from drawtap.live.client import Client

    if not 0.05 <= every <= 5:
        raise UsageError(f"--every {every:g}: not so often", hint="from 0.05 to 5 seconds")
    with Client() as client:
        if program == "follow":
            _follow(client, every)
        elif program == "unknown":
            client.ask("focus", program=None, unknown=True)
        else:
            which = int(program) if program.isdigit() else program
            client.ask("focus", program=None if program == "none" else which)
        return Rows(COLUMNS, rows_of(client.ask("list")["programs"], "*"), KINDS)


def _follow(client: Client, every: float) -> None:
    # The focus lasts as long as the connection: however this process ends, it is unknown then.
    from drawtap.live.focus import Screen, program_of

    screen = Screen()
    told_pid: int | None = -1
    told_at = 0.0
    try:
        while True:
            pid = screen.focused_pid()
            if pid != told_pid or time.monotonic() - told_at >= _AGAIN_S:
                known = [p["pid"] for p in client.ask("list")["programs"] if not p["observed"]]
                chosen = program_of(pid, known) if pid else None
                client.ask("focus", program=chosen, **({"unknown": True} if pid is None else {"held": True}))
                told_pid, told_at = pid, time.monotonic()
            time.sleep(every)
    except KeyboardInterrupt:
        pass
    finally:
        screen.close()
