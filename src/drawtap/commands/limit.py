"""`drawtap limit`: hold a running program to a frame rate, or give it a class."""

from __future__ import annotations

from typing import Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.commands.top import COLUMNS, KINDS, rows_of
from drawtap.errors import UsageError, did_you_mean
from drawtap.view.result import Rows

_KEYS = ("class", "target", "weight")


@command(
    section="live",
    examples=(
        "drawtap limit glmark2 30",
        "drawtap limit 4711 none                 # what policies say holds again",
        "drawtap limit 4711 free                 # no limit, whatever policies say",
        "drawtap limit glmark2 class=background,target=none",
        "drawtap limit viewer 24 --surface 2 --pacing late",
    ),
)
def limit(
    program: Annotated[str, Opt("a process number, or a name with * and ?", metavar="PROGRAM")],
    what: Annotated[
        str,
        Opt(
            "frames a second; none: as policies say; free: no limit; class=critical, high, normal or background, "
            "target=FPS, weight=W, with none to take back; several with commas",
            metavar="WHAT",
        ),
    ],
    *,
    surface: Annotated[
        int | None, Opt("Only this surface of the program, by its number in drawtap top.", "-s", "N")
    ] = None,
    pacing: Annotated[
        Literal["early", "late"] | None,
        Opt("Where a frame waits: early, before it is shown; late, after it, for fresher input."),
    ] = None,
) -> Rows:
    """Hold a running program to a frame rate, or give it a class.

    Your limit overrides policies; `none` removes it. It holds as long as the program runs, also when the manager starts
    again; profiles in its configuration hold for good. It takes effect at once, also for a frame that waits already.
    """
    from drawtap.live.client import Client

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
