"""Pictures of frames for Python: what the framebuffer holds after a call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.errors import UnavailableError
from drawtap.replay import engine, warm
from drawtap.replay.place import named, place
from drawtap.scratch import Scratch
from drawtap.trace.image import Image

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


def image(trace: Trace, call: int | str, *, on: str = "system") -> Image:
    """Return what the framebuffer holds after a call: its number, or text as `drawtap image` takes it ("#3").

    The recording is played on the engine `on` up to there. Raises UnavailableError where nothing can play it, or where
    there is no image at that call; UsageError where there is no such call.
    """
    at = place(trace, str(call))
    asked = warm.shared(Path(trace.path), environment=engine.environment_of(on), frame_end=trace.frame_end)
    with Scratch() as folder:
        target = Path(folder) / "image.png"
        if why := asked.image(at, target):
            raise UnavailableError(f"no image at {named(call)}: {why}")
        return Image(at.call if at.draw is None else at.draw, target.read_bytes())
