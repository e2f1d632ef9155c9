"""Images as PNG, and as addresses that carry them."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt


def png(image: npt.NDArray[np.uint8]) -> bytes:
    """Return an RGBA image (height x width x 4) as PNG, without alpha where all of it is opaque."""
    channels = 4 if (image[..., 3] != 255).any() else 3
    height, width = image.shape[:2]
    raw = np.ascontiguousarray(image[..., :channels]).reshape(height, width * channels)
    # Every pixel minus the one above it packs far better in rendered pictures than the pixels themselves.
    rows = np.full((height, width * channels + 1), 2, np.uint8)
    rows[0, 1:] = raw[0]
    rows[1:, 1:] = raw[1:] - raw[:-1]

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 6 if channels == 4 else 2, 0, 0, 0)
    packed = zlib.compress(rows.tobytes(), 6)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def url(image: npt.NDArray[np.uint8]) -> str:
    """Return a data: address of the image."""
    return address(png(image))


def address(content: bytes) -> str:
    """Return a data: address of a PNG."""
    return "data:image/png;base64," + base64.b64encode(content).decode()
