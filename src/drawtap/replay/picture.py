"""Pictures of frames for Python: what the framebuffer holds after a call."""

from __future__ import annotations

import struct
import zlib
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
        return Image(at.call if at.draw is None else at.draw, packed(target.read_bytes()))


def packed(stored: bytes) -> bytes:
    """Return a PNG of the player with its rows compressed: the player stores them, for it writes many."""
    at, chunks = 8, [stored[:8]]
    while at < len(stored):
        end = at + 12 + int.from_bytes(stored[at : at + 4], "big")
        kind, body = stored[at + 4 : at + 8], stored[at + 8 : end - 4]
        if kind == b"IDAT":
            body = zlib.compress(zlib.decompress(body))
        chunks += [struct.pack(">I", len(body)), kind, body, struct.pack(">I", zlib.crc32(kind + body))]
        at = end
    return b"".join(chunks)
