"""Triangles that cover rectangles of whole pixels: every pixel of a rectangle is drawn once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Draw:
    """A draw: its mode, its part of the corners, how many fragments it makes."""

    mode: str
    first: int
    count: int
    fragments: int


def grid(x: int, y: int, width: int, height: int, triangles: int) -> Points:
    """Return the corners of `triangles` (2 at least) that cover a rectangle of whole pixels once: (3 n, 2), in pixels.

    Rows begin and end between pixels, so that what differs from row to row leaves no gap.
    """
    quads = triangles // 2
    rows = int(np.clip(round((quads * height / width) ** 0.5), 1, min(quads, height)))
    columns = np.full(rows, quads // rows) + (np.arange(rows) < quads % rows)
    row = np.repeat(np.arange(rows), columns)
    column = np.arange(quads) - np.repeat(np.cumsum(columns) - columns, columns)
    of = columns[row]
    edges = y + np.round(np.arange(rows + 1) * height / rows)
    x0, x1 = x + width * column / of, x + width * (column + 1) / of
    y0, y1 = edges[row], edges[row + 1]
    corners = np.stack([x0, y0, x1, y0, x1, y1, x0, y0, x1, y1, x0, y1], axis=1).reshape(-1, 2)
    if triangles % 2:
        a, c, d = corners[-6], corners[-4], corners[-1]
        middle = (c + d) / 2
        corners = np.concatenate([corners[:-3], [a, c, middle], [a, middle, d]])
    return corners


def strip(x: int, y: int, width: int, height: int, triangles: int) -> Points:
    """Return the corners of a strip of triangles that covers a rectangle once: (n + 2, 2), in pixels."""
    corners = triangles + 2
    upper, lower = -(-corners // 2), corners // 2
    corner = np.zeros((corners, 2))
    corner[0::2, 0] = x + width * np.arange(upper) / (upper - 1)
    corner[1::2, 0] = x + width * np.arange(lower) / max(lower - 1, 1)
    corner[0::2, 1], corner[1::2, 1] = y + height, y
    return corner


def rectangle(area: float, width: int, height: int) -> tuple[int, int]:
    """Return the sides of a rectangle of about `pixels` pixels (1 at least), shaped like the surface."""
    wanted = max(round(area), 1)
    usual = min(max(round((wanted * width / height) ** 0.5), 1), width)
    tried = [(w, min(max(round(wanted / w), 1), height)) for w in range(max(usual - 12, 1), min(usual + 12, width) + 1)]
    return min(tried, key=lambda sides: abs(sides[0] * sides[1] - wanted))


def _alone(area: float, width: int, height: int) -> tuple[Points, int]:
    """Return one triangle that covers about `area` pixels, and how many it does."""
    if area > width * height / 2:
        w = min(max(round(area / height), 1), width)
        return np.array([[-2.0 * w, height / 2], [w, -height], [w, 2 * height]]), w * height
    # A corner; its sides end at quarters of a pixel, so that no centre of a pixel lies on the third one.
    w = min((2 * area * width / height) ** 0.5, width)
    h = min(2 * area / w, height)
    w, h = np.floor(w) + 0.375, np.floor(h) + 0.375
    rows = np.arange(int(h) + 1) + 0.5
    inside = np.clip(np.ceil(w * (1 - rows / h) - 0.5), 0, None)
    return np.array([[0.0, 0.0], [w, 0.0], [0.0, h]]), int(inside.sum())


_NOTHING = 0.25  # side of what covers no centre of a pixel


@dataclass
class Geometry:
    """The corners of all draws, in the order in which they stand in the buffer."""

    width: int
    height: int
    corners: list[Points] = field(default_factory=list)
    count: int = 0
    turn: int = 0

    def add(self, mode: str, corners: Points, fragments: int) -> Draw:
        draw = Draw(mode, self.count, len(corners), fragments)
        self.corners.append(corners)
        self.count += len(corners)
        return draw

    def draw(self, visible: int, away: int, outside: int, area: float, *, as_strip: bool) -> Draw:
        """Add a draw of these numbers of triangles that covers about `area` pixels."""
        if as_strip and visible:
            corners, covered = self._strip(visible, area)
            return self.add("GL_TRIANGLE_STRIP", corners, covered)
        parts: list[Points] = []
        covered = 0
        for triangles, pixels in self._layers(visible, area):
            corners, covers = self._layer(triangles, pixels)
            parts.append(corners)
            covered += covers
        if away:
            parts.append(np.tile([[2.0, 2.0], [2.0, 10.0], [10.0, 2.0]], (away, 1)))
        if outside:
            beyond = 2.0 * self.width
            parts.append(np.tile([[beyond, 0.0], [beyond + 8, 0.0], [beyond, 8.0]], (outside, 1)))
        # A draw without a triangle is a draw: of one vertex.
        return self.add("GL_TRIANGLES", np.concatenate(parts) if parts else np.zeros((1, 2)), covered)

    def _layers(self, triangles: int, area: float) -> Iterable[tuple[int, float]]:
        whole = self.width * self.height
        layers = min(max(int(np.ceil(area / whole - 1e-9)), 1), triangles) if triangles else 0
        singles = max(2 * layers - triangles, 0)
        left, rest = triangles, area
        for number in range(layers):
            remaining = layers - number
            share = min(rest / remaining, whole)
            mine = 1 if number < singles else left // remaining
            yield mine, share
            left, rest = left - mine, rest - share

    def _place(self, width: int, height: int) -> tuple[int, int]:
        self.turn += 1
        free_x, free_y = self.width - width, self.height - height
        return self.turn * 97 % (free_x + 1), self.turn * 61 % (free_y + 1)

    def _layer(self, triangles: int, area: float) -> tuple[Points, int]:
        if area < 0.5:
            small = np.array([[0.0, 0.0], [_NOTHING, 0.0], [0.0, _NOTHING]])
            return np.tile(small, (triangles, 1)), 0
        if triangles == 1:
            return _alone(area, self.width, self.height)
        w, h = rectangle(area, self.width, self.height)
        x, y = self._place(w, h)
        return grid(x, y, w, h, triangles), w * h

    def _strip(self, triangles: int, area: float) -> tuple[Points, int]:
        if area < 0.5:
            return strip(0, 0, 1, 1, triangles) * _NOTHING, 0
        if triangles == 1:
            return _alone(area, self.width, self.height)
        w, h = rectangle(min(area, self.width * self.height), self.width, self.height)
        return strip(*self._place(w, h), w, h, triangles), w * h

    def bytes(self) -> bytes:
        """Return what the buffer holds: two floats a corner, from -1 to 1 over the surface."""
        if not self.corners:
            return b""
        scaled = np.concatenate(self.corners) * (2.0 / np.array([self.width, self.height])) - 1.0
        return scaled.astype("<f4").tobytes()


def shares(total: int, parts: int) -> list[int]:
    """Return `total` in `parts` numbers that differ by one at most."""
    return [total * (i + 1) // parts - total * i // parts for i in range(parts)] if parts else []


def draws_of(geometry: Geometry, counts: Mapping[str, int], area: float, vertices: float | None) -> list[Draw]:
    """Return the draws of one frame."""
    number, triangles = counts["draws"], counts["triangles"]
    away, outside = counts["backface_culled"], counts["frustum_culled"]
    if not number:
        return []
    strips, in_strips = _strips(number, triangles - away - outside, triangles, vertices)
    lists = number - strips
    visible = triangles - away - outside - in_strips
    plan = [(n, 0, 0, True) for n in shares(in_strips, strips)]
    split = zip(shares(visible, lists), shares(away, lists), shares(outside, lists), strict=True)
    plan += [(n, a, o, False) for n, a, o in split]
    seen = sum(bool(n) for n, _, _, _ in plan)
    draws, rest = [], area
    for n, a, o, as_strip in plan:
        share = rest / seen if n and seen else 0.0
        draw = geometry.draw(n, a, o, share, as_strip=as_strip)
        seen -= bool(n)
        rest = max(rest - draw.fragments, 0.0)
        draws.append(draw)
    return draws


def _strips(draws: int, visible: int, triangles: int, vertices: float | None) -> tuple[int, int]:
    # A strip of n triangles has n + 2 vertices instead of 3 n: strips of this number and length save the rest.
    if vertices is None or not triangles:
        return 0, 0
    saved = 3 * triangles - vertices
    if saved <= 0.01 * vertices:
        return 0, 0
    number = min(max(round(draws * saved / (2 * triangles)), 1), draws)
    wanted = round(saved / 2) + number
    if number == draws or wanted >= visible:
        return (draws, visible) if visible == triangles else (max(draws - 1, 1), visible)
    return number, max(wanted, number)
