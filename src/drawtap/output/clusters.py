"""Render groups of recordings: a map of dots and a table, in one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import markupsafe

from drawtap.output.document import document

_WIDTH, _HEIGHT, _MARGIN = 900, 480, 46
_COLORS = ("blue", "orange", "green", "red")
_SHAPES = ("circle", "square")


@dataclass(frozen=True)
class Dot:
    """A recording in the map."""

    name: str
    group: int
    x: float
    y: float


@dataclass(frozen=True)
class ClustersPage:
    """The content of the page; `axes` say what right and up mean, `rows` are the table of groups as text."""

    title: str
    text: str
    dots: Sequence[Dot]
    axes: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def render(page: ClustersPage) -> str:
    """Return the page as one HTML document that loads nothing from anywhere."""
    return document(
        "clusters.html",
        page=page,
        picture=markupsafe.Markup(map_of(page.dots)),
        mark=lambda group: markupsafe.Markup(_svg_mark(group)),
    )


def map_of(dots: Sequence[Dot]) -> str:
    """Return the dots as SVG. Groups differ in colour and shape; names stand beside dots where there is room."""
    across, up = _scale([d.x for d in dots], _WIDTH), _scale([d.y for d in dots], _HEIGHT)
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">']
    parts.append(f'<rect class="frame" x="1" y="1" width="{_WIDTH - 2}" height="{_HEIGHT - 2}"/>')
    places = [(across(d.x), _HEIGHT - up(d.y)) for d in dots]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in places]  # names hide no dots
    for dot, (x, y) in zip(dots, places, strict=True):
        name = str(markupsafe.escape(dot.name))
        parts.append(f"<g>{_mark(x, y, dot.group)}<title>{name}, group {dot.group}</title></g>")
        label = _label(dot.name, x, y, taken)
        if label is not None:
            left, base = label
            parts.append(f'<text x="{left:.1f}" y="{base:.1f}">{name}</text>')
    parts.append("</svg>")
    return "".join(parts)


def _scale(values: Sequence[float], pixels: int) -> Callable[[float], float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    span = high - low or 1.0
    return lambda value: _MARGIN + (value - low) / span * (pixels - 2 * _MARGIN)


def _mark(x: float, y: float, group: int) -> str:
    fill = f'fill="var(--{_COLORS[group % len(_COLORS)]})" fill-opacity=".8"'
    if _SHAPES[group // len(_COLORS) % len(_SHAPES)] == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" {fill}/>'
    return f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" {fill}/>'


def _svg_mark(group: int) -> str:
    return f'<svg class="mark" viewBox="0 0 14 14">{_mark(7, 7, group)}</svg>'


def _label(name: str, x: float, y: float, taken: list[tuple[float, float, float, float]]) -> tuple[float, float] | None:
    width = 6.2 * len(name)
    for left, base in ((x + 10, y + 4), (x - 10 - width, y + 4), (x - width / 2, y - 10), (x - width / 2, y + 20)):
        box = (left, base - 10, left + width, base + 3)
        inside = box[0] > 2 and box[2] < _WIDTH - 2 and box[1] > 2 and box[3] < _HEIGHT - 2
        if inside and not any(b[0] < box[2] and box[0] < b[2] and b[1] < box[3] and box[1] < b[3] for b in taken):
            taken.append(box)
            return left, base
    return None
