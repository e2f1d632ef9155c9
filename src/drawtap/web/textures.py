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
        pixels, channels, source = part.pixels, part.channels, part.source
        if pixels is None and (decoded := picture(part, content.format)) is not None:
            pixels, channels, source = decoded[None], "rgba", f"{source}, decoded by drawtap"
        said: Answer = {"suffix": part.suffix.strip("-"), "width": part.width, "height": part.height}
        said |= {"depth": part.depth, "source": source, "lost": part.lost, "why": part.why}
        if pixels is not None:
            raw = np.ascontiguousarray(pixels).tobytes()
            raw += bytes(-len(raw) % 8)
            said |= {"channels": channels, "type": pixels.dtype.str}
            said |= {"at": at, "shape": list(pixels.shape)}
            data.append(raw)
            at += len(raw)
        elif part.blocks is not None and not part.why:
            said["why"] = f"{content.format} is not decoded here; drawtap textures writes its blocks"
        parts.append(said)
    head = {"kind": content.kind, "name": content.name, "format": content.format, "target": content.target}
    head |= {"label": content.label, "call": content.call, "why": content.why, "parts": parts}
    head["swizzle"] = swizzle(trace, content)
    return headed(head, b"".join(data))
