"""`drawtap image`: what was drawn at a call or a frame, and who drew a pixel of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from drawtap.commands import Opt, command
from drawtap.errors import UnavailableError, UsageError
from drawtap.trace.ranges import CALL_HELP, call_of
from drawtap.view.result import Rows, Sheets, Written

if TYPE_CHECKING:
    from drawtap.replay.warm import Warm
    from drawtap.trace.trace import Trace


@command(
    section="replay",
    examples=(
        "drawtap image game.dtap 1234 -o draw.png",
        "drawtap image game.dtap '#10' -o frame.ppm --on softpipe",
        "drawtap image game.dtap '#10' --pixel 320,240    # who wrote it, and who failed to",
    ),
)
def image(
    trace: Trace,
    call: Annotated[str, Opt(CALL_HELP, metavar="CALL")],
    *,
    output: Annotated[Path | None, Opt("Where it goes: .png, .ppm, or .rgba for the bare bytes.", "-o", "FILE")] = None,
    pixel: Annotated[
        str | None, Opt("Print the history of a pixel, counted from the lower left corner.", metavar="X,Y")
    ] = None,
    on: Annotated[str, Opt("The engine; drawtap replay --engines lists them.", metavar="ENGINE")] = "system",
) -> Written | Sheets:
    """Save what the framebuffer that is drawn to holds after a call.

    The recording is played up to there. For a frame: the image just before the call that ends it.

    --pixel lists the calls of the frame that wrote this pixel, with the values before and after. It also lists draws
    that cover the pixel and wrote nothing, with the first test that failed: face culling, scissor, discard, coverage
    (also the alpha test), stencil or depth. OpenGL ES 1 has no queries for the tests. There, only the values are known.
    """
    from drawtap.replay import engine, warm

    if pixel is not None:
        with warm.Warm(
            Path(trace.path), environment=engine.environment_of(on), frame_end=trace.frame_end, looks=True
        ) as player:
            return _history(trace, call_of(trace, call), pixel, player)
    if output is None:
        raise UsageError("where does the picture go?", hint="-o FILE.png, or --pixel X,Y for the history of a pixel")
    if output.suffix not in (".png", ".ppm", ".rgba"):
        raise UsageError(f"no picture is written as {output.suffix or output.name}", hint="name it .png, .ppm or .rgba")
    asked = warm.shared(Path(trace.path), environment=engine.environment_of(on), frame_end=trace.frame_end)
    why = asked.image(call_of(trace, call), output)
    if why:
        raise UnavailableError(f"no image at call {call}: {why}")
    return Written(str(output), output.stat().st_size, f"image after call {call}")


def _history(trace: Trace, call: int, pixel: str, player: Warm) -> Sheets:
    from drawtap.replay.look import OUTCOMES, pixel_history

    match = re.fullmatch(r"(\d{1,6}),(\d{1,6})", pixel)
    if match is None:
        raise UsageError(f"{pixel} is no pixel", hint="two numbers from the lower left corner, as 320,240")
    found = pixel_history(trace, call, int(match[1]), int(match[2]), player.look)
    events = cast(list[dict[str, Any]], found["events"])
    rows = [
        (e["call"], e["name"], OUTCOMES[e["outcome"]], e["reason"], *(_values(e, at) for at in ("before", "after")))
        for e in events
    ]
    title = f"pixel {pixel} after call {call}, {found['format']}: color, depth, stencil"
    kinds = {"call": "plain"}
    note = None if rows else "no call of the frame wrote or covered this pixel"
    table = Rows(("call", "name", "outcome", "reason", "before", "after"), rows, kinds, title=title, note=note)
    return Sheets((table,), found, () if rows else (str(note),))


def _values(event: dict[str, Any], at: str) -> str:
    values = [event[at][name] for name in ("color", "depth", "stencil")]
    return "; ".join(" ".join(f"{n:.6g}" if isinstance(n, float) else str(n) for n in v) for v in values if v)
