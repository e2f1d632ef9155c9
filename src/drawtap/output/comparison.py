"""Render a comparison: one HTML file with the images inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drawtap.output.document import document
from drawtap.output.picture import url

_AMPLIFIED_TO, _SEEN = 255, 80
_MOST_ROWS = 2000

Image = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Pictures:
    """Two images side by side, and where they differ."""

    title: str
    note: str
    a: Image
    b: Image


@dataclass(frozen=True, slots=True)
class ComparedFrame:
    """One row of the table, as text."""

    number: int
    same: bool
    verdict: str
    largest: str
    rmse: str
    ssim: str
    pixels: str


@dataclass(frozen=True)
class ComparisonPage:
    """The content of a page about a comparison; `draw` are (label, text) about the first draw that differs."""

    a: str
    b: str
    verdict: str
    same: bool
    tiles: Sequence[tuple[str, str]]
    draw: Sequence[tuple[str, str]]
    pictures: Sequence[Pictures]
    frames: Sequence[ComparedFrame]


def render(page: ComparisonPage) -> str:
    """Return the comparison as one HTML document that loads nothing from anywhere."""
    shown = [f for f in page.frames if not f.same][:_MOST_ROWS]
    shown += [f for f in page.frames if f.same][: _MOST_ROWS - len(shown)]
    return document(
        "comparison.html",
        page=page,
        rows=sorted(shown, key=lambda f: f.number),
        left_out=len(page.frames) - len(shown),
        pictures=picture_rows(page.pictures),
    )


def picture_rows(pictures: Sequence[Pictures]) -> list[tuple[str, str, str, str, str, int]]:
    """Return what the pages show of each: title, note, A, B and the difference as data URLs, width in pixels."""
    return [
        (p.title, p.note, url(opaque(p.a)), url(opaque(p.b)), url(amplified(p.a, p.b)), p.a.shape[1]) for p in pictures
    ]


def amplified(a: Image, b: Image) -> Image:
    """Return where two images differ, amplified: black is equal, the largest difference of a channel is brightest.

    Brightness goes by the logarithm and begins at a visible grey, so that one large difference does not hide the small
    ones. Images of different sizes are compared where both have pixels; the rest is magenta.
    """
    height, width = max(a.shape[0], b.shape[0]), max(a.shape[1], b.shape[1])
    both_h, both_w = min(a.shape[0], b.shape[0]), min(a.shape[1], b.shape[1])
    apart = np.abs(a[:both_h, :both_w].astype(np.int16) - b[:both_h, :both_w].astype(np.int16))
    # A difference of alpha alone shows in all channels.
    strength = np.maximum(apart[..., :3], np.where(apart[..., :3].any(axis=2), 0, apart[..., 3])[..., None])
    share = np.log(np.maximum(strength, 1)) / np.log(max(2, int(strength.max(initial=0))))
    share = np.ones_like(share) if strength.max(initial=0) <= 1 else share
    shown = np.where(strength > 0, _SEEN + (_AMPLIFIED_TO - _SEEN) * share, 0)
    out = np.zeros((height, width, 4), np.uint8)
    out[..., :] = (255, 0, 255, 255)
    out[:both_h, :both_w, :3] = shown.astype(np.uint8)
    return out


def opaque(image: Image) -> Image:
    """Return the image as a window shows it: without alpha."""
    out = image.copy()
    out[..., 3] = 255
    return out
