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
    packed = zlib.compress(rows.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def url(image: npt.NDArray[np.uint8]) -> str:
    """Return a data: address of the image."""
    return "data:image/png;base64," + base64.b64encode(png(image)).decode()


#: Colours of pixels that were drawn 0, 1, 2 ... times; what is more than the last has its colour.
_OVERDRAW = np.array(
    [
        (0, 0, 0), (30, 64, 175), (22, 163, 74), (132, 204, 22), (250, 204, 21), (251, 146, 60), (249, 115, 22),
        (239, 68, 68), (220, 38, 38), (190, 24, 60), (157, 23, 77), (131, 24, 67), (255, 255, 255),
    ],
    np.uint8,
)  # fmt: skip


def overdraw_image(counts: npt.NDArray[np.uint32], width: int) -> npt.NDArray[np.uint8]:
    """Return how often pixels were drawn (height x width) as an RGBA image, at most `width` wide.

    Where it is smaller a pixel shows the largest of those that it stands for.
    """
    step = max(-(-counts.shape[1] // width), 1)
    height, across = (-(-side // step) * step for side in counts.shape)
    padded = np.zeros((height, across), np.uint32)
    padded[: counts.shape[0], : counts.shape[1]] = counts
    largest = padded.reshape(height // step, step, across // step, step).max(axis=(1, 3))
    colours = _OVERDRAW[np.minimum(largest, len(_OVERDRAW) - 1)]
    return np.concatenate([colours, np.full((*largest.shape, 1), 255, np.uint8)], axis=2)
