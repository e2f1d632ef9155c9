"""Contents of textures and images for the page: a head, then pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from drawtap.analysis.held import picture, swizzle
from drawtap.web.answer import Answer, headed

if TYPE_CHECKING:
    from drawtap.analysis.held import HeldContent
    from drawtap.trace.trace import Trace


def shown(trace: Trace, content: HeldContent) -> bytes:
    """Return what an object holds: a JSON head, then its parts' pixels. `Recording.texture` has the form."""
    parts, data, at = [], [], 0
    for part in content.parts:
        pixels = picture(part, content.format) if part.blocks is not None else part.pixels
        if pixels is not None and pixels.ndim == 3:
            pixels = pixels[None]
        said: Answer = {"suffix": part.suffix.strip("-"), "width": part.width, "height": part.height}
        said |= {"depth": part.depth, "source": part.source, "lost": part.lost, "why": part.why}
        if pixels is not None:
            raw = np.ascontiguousarray(pixels).tobytes()
            raw += bytes(-len(raw) % 8)
            said |= {"channels": "rgba" if part.blocks is not None else part.channels, "type": pixels.dtype.str}
            said |= {"at": at, "shape": list(pixels.shape)}
            data.append(raw)
            at += len(raw)
        elif part.blocks is not None:
            said["why"] = f"{content.format} is not decoded here; drawtap textures writes its blocks"
        parts.append(said)
    head = {"kind": content.kind, "name": content.name, "format": content.format, "target": content.target}
    head |= {"label": content.label, "call": content.call, "why": content.why, "parts": parts}
    head["swizzle"] = swizzle(trace, content)
    return headed(head, b"".join(data))
