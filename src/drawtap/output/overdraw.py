"""Overdraw as a picture: a colour for how often each pixel was drawn, with a legend."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: From how many fragments on, and the colour (RGB); the first is for pixels that nothing was drawn to.
STEPS: tuple[tuple[int, tuple[int, int, int]], ...] = (
    (0, (18, 18, 24)),
    (1, (40, 60, 140)),
    (2, (36, 120, 180)),
    (3, (40, 165, 150)),
    (4, (90, 190, 80)),
    (6, (200, 205, 60)),
    (8, (240, 165, 40)),
    (12, (235, 100, 35)),
    (16, (205, 40, 45)),
    (32, (250, 235, 245)),
)

_COLORS = np.array([(*color, 255) for _, color in STEPS], np.uint8)

# Digits and signs, 3 x 5, a row a number of three bits.
_GLYPHS = {
    "0": (7, 5, 5, 5, 7), "1": (2, 6, 2, 2, 7), "2": (7, 1, 7, 4, 7), "3": (7, 1, 7, 1, 7), "4": (5, 5, 7, 1, 1),
    "5": (7, 4, 7, 1, 7), "6": (7, 4, 7, 5, 7), "7": (7, 1, 1, 2, 2), "8": (7, 5, 7, 5, 7), "9": (7, 5, 7, 1, 7),
    "-": (0, 0, 7, 0, 0), "+": (0, 2, 7, 2, 0), ".": (0, 0, 0, 0, 2), "%": (5, 1, 2, 4, 5), "<": (1, 2, 4, 2, 1),
}  # fmt: skip
_CELL, _LINE, _SWATCH = 62, 36, 12
_INK = (225, 225, 230)


def picture(counts: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """Return counts of fragments (height x width) as RGBA (height x width x 4), a legend below.

    The legend has the colours with the counts that they stand for, and how much of the picture has them. Small targets
    are enlarged by a whole number, so that pixels stay pixels.
    """
    steps = _steps(counts)
    zoom = max(1, min(-(-320 // max(counts.shape[1], 1)), 16))
    image = _COLORS[steps].repeat(zoom, axis=0).repeat(zoom, axis=1)
    shares = np.bincount(steps.ravel(), minlength=len(STEPS)) / max(counts.size, 1)
    below = legend(shares, image.shape[1])
    width = max(image.shape[1], below.shape[1])
    return np.concatenate([_wide(image, width), below])


def small(counts: npt.NDArray[np.uint32], width: int) -> npt.NDArray[np.uint8]:
    """Return counts of fragments (height x width) as RGBA without a legend, at most `width` wide.

    Where it is smaller a pixel shows the largest of those that it stands for.
    """
    step = max(-(-counts.shape[1] // width), 1)
    height, across = (-(-side // step) * step for side in counts.shape)
    padded = np.zeros((height, across), np.uint32)
    padded[: counts.shape[0], : counts.shape[1]] = counts
    largest = padded.reshape(height // step, step, across // step, step).max(axis=(1, 3))
    return np.asarray(_COLORS[_steps(largest)], np.uint8)


def _steps(counts: npt.NDArray[np.uint32]) -> npt.NDArray[np.intp]:
    limits = np.array([first for first, _ in STEPS], np.uint32)
    return np.searchsorted(limits, counts, side="right") - 1


def legend(shares: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.uint8]:
    """Return the legend, at least `width` wide; `shares` (0 to 1) are of the pixels, by step."""
    across = max(width // _CELL, 5)
    lines = -(-len(STEPS) // across)
    image = np.zeros((lines * _LINE + 6, max(width, across * _CELL), 4), np.uint8)
    image[...] = (30, 30, 36, 255)
    for i, (first, color) in enumerate(STEPS):
        x, y = 6 + i % across * _CELL, 6 + i // across * _LINE
        image[y : y + _SWATCH, x : x + _SWATCH] = (*color, 255)
        last = STEPS[i + 1][0] - 1 if i + 1 < len(STEPS) else None
        text = f"{first}+" if last is None else str(first) if first == last else f"{first}-{last}"
        _write(image, x + _SWATCH + 4, y + 1, text)
        share = 100 * shares[i]
        _write(image, x, y + _SWATCH + 4, "<0.1%" if 0 < share < 0.1 else f"{share:.1f}%")
    return image


def _write(image: npt.NDArray[np.uint8], x: int, y: int, text: str, size: int = 2) -> None:
    for place, sign in enumerate(text):
        for row, bits in enumerate(_GLYPHS[sign]):
            for column in range(3):
                if bits >> (2 - column) & 1:
                    left, top = x + (place * 4 + column) * size, y + row * size
                    image[top : top + size, left : left + size] = (*_INK, 255)


def _wide(image: npt.NDArray[np.uint8], width: int) -> npt.NDArray[np.uint8]:
    missing = width - image.shape[1]
    if missing <= 0:
        return image
    rest = np.full((image.shape[0], missing, 4), (30, 30, 36, 255), np.uint8)
    return np.concatenate([image, rest], axis=1)
