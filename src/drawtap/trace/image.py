"""A picture that a recording leads to, as Python and notebooks show it."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Image:
    """A picture of the framebuffer after a call; `png` is the content of a PNG file. Notebooks show it."""

    call: int
    png: bytes

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as a PNG file, and return where."""
        target = Path(path)
        target.write_bytes(self.png)
        return target

    def _repr_png_(self) -> bytes:
        return self.png

    def _repr_html_(self) -> str:
        content = base64.b64encode(self.png).decode("ascii")
        return f'<img alt="framebuffer after call {self.call}" src="data:image/png;base64,{content}">'

    def __repr__(self) -> str:
        return f"<Image after call {self.call}, {len(self.png)} bytes>"
