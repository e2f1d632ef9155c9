"""`drawtap image`: what was drawn at a call or a frame."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UnavailableError, UsageError
from drawtap.view.result import Written

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="replay",
    examples=("drawtap image game.dtap 1234 -o draw.png", "drawtap image game.dtap '#10' -o frame.ppm --on softpipe"),
)
def image(
    trace: Trace,
    call: Annotated[str, Opt("a call's number, or #N for what frame N shows", metavar="CALL")],
    *,
    output: Annotated[Path, Opt("Where it goes: .png, .ppm, or .rgba for the bare bytes.", "-o", "FILE")],
    on: Annotated[str, Opt("The engine; drawtap engines lists them.", metavar="ENGINE")] = "system",
) -> Written:
    """Save what the framebuffer that is drawn to holds after a call.

    The recording is played up to there. Of a frame it is the image just before the call that ends it.
    """
    from drawtap.replay import engine, player

    arguments = ["--image", str(_call(trace, call)), str(output)]
    played = player.play(Path(trace.path), arguments, environment=engine.environment_of(on))
    if not played.images:
        why = next((f.text for f in played.findings if f.what == "image"), "the recording ends before")
        raise UnavailableError(f"no image at call {call}: {why}")
    return Written(str(output), output.stat().st_size, f"image after call {call}")


def _call(trace: Trace, text: str) -> int:
    match = re.fullmatch(r"(#?)(\d+)", text)
    if match is None:
        raise UsageError(f"{text!r} is no call", hint="1234 is a call, #10 a frame")
    number = int(match[2])
    if not match[1]:
        return number
    for row in trace.table("frames"):
        if row["frame"] == number:
            last = int(str(row["end_seq"])) - 1
            # What a swap leaves behind is not what it showed.
            return last - 1 if "Swap" in str(row["end_function"]) else last
    raise UsageError(f"there is no frame {number}", hint="drawtap frames lists them")
