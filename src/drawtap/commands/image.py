"""`drawtap image`: what was drawn at a call or a frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UnavailableError, UsageError
from drawtap.trace.ranges import CALL_HELP, call_of
from drawtap.view.result import Written

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="replay",
    examples=("drawtap image game.dtap 1234 -o draw.png", "drawtap image game.dtap '#10' -o frame.ppm --on softpipe"),
)
def image(
    trace: Trace,
    call: Annotated[str, Opt(CALL_HELP, metavar="CALL")],
    *,
    output: Annotated[Path, Opt("Where it goes: .png, .ppm, or .rgba for the bare bytes.", "-o", "FILE")],
    on: Annotated[str, Opt("The engine; drawtap replay --engines lists them.", metavar="ENGINE")] = "system",
) -> Written:
    """Save what the framebuffer that is drawn to holds after a call.

    The recording is played up to there. For a frame: the image just before the call that ends it.
    """
    from drawtap.replay import engine, warm

    if output.suffix not in (".png", ".ppm", ".rgba"):
        raise UsageError(f"no picture is written as {output.suffix or output.name}", hint="name it .png, .ppm or .rgba")
    asked = warm.shared(Path(trace.path), environment=engine.environment_of(on), frame_end=trace.frame_end)
    why = asked.image(call_of(trace, call), output)
    if why:
        raise UnavailableError(f"no image at call {call}: {why}")
    return Written(str(output), output.stat().st_size, f"image after call {call}")
