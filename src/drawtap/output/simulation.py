"""Render simulations of virtual GPUs: usage over time of every variant, and a table, in one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import markupsafe

from drawtap.output.document import document
from drawtap.system.simulator import VARIANTS
from drawtap.system.whatif import Outcome, Run

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 560, 130, 44, 18
_COLORS = ("blue", "orange", "green", "red")


@dataclass(frozen=True)
class SimulationPage:
    """The content of the page: a chart for each run; `columns` and `rows` of the table as text."""

    title: str
    text: str
    runs: Sequence[Run]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def render(page: SimulationPage) -> str:
    """Return the page as one HTML document that loads nothing from anywhere."""
    longest = max((run.duration_s for run in page.runs), default=1.0)
    return document(
        "simulation.html",
        page=page,
        words=2,  # columns; the others are numbers
        charts=[
            (run.variant, VARIANTS[run.variant], markupsafe.Markup(chart(run.outcomes, run.duration_s, longest)))
            for run in page.runs
        ],
        legend=[(o.name, _COLORS[i % len(_COLORS)]) for i, o in enumerate(page.runs[0].outcomes if page.runs else ())],
    )


def chart(curves: Sequence[Outcome], seconds: float, longest: float) -> str:
    """Return usage over time as SVG; all charts of a page share the time of the longest."""
    scale = (_WIDTH - _LEFT) / max(longest, 1e-9)
    parts = [f'<svg viewBox="0 0 {_WIDTH + 16} {_HEIGHT + _BOTTOM + 6}" role="img">']
    for percent in (0, 50, 100):
        y = 4 + _HEIGHT * (1 - percent / 100)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{percent} %</text>')
    step = _step(longest)
    for k in range(int(longest / step) + 1):
        x = _LEFT + k * step * scale
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT + _BOTTOM}" text-anchor="middle">{k * step:g} s</text>')
    for i, curve in enumerate(curves):
        path = " ".join(
            f"{_LEFT + t * scale:.1f},{4 + _HEIGHT * (1 - min(share, 1)):.1f}" for t, share in _closed(curve, seconds)
        )
        color = _COLORS[i % len(_COLORS)]
        parts.append(f'<polygon points="{path}" fill="var(--{color})" fill-opacity=".16"/>')
        parts.append(f'<polyline points="{path}" fill="none" stroke="var(--{color})" stroke-width="1.3"/>')
    parts.append("</svg>")
    return "".join(parts)


def _closed(curve: Outcome, seconds: float) -> list[tuple[float, float]]:
    # Bins in which nothing ran are left out of a series: there the curve goes down to zero.
    points = list(curve.usage)
    if not points:
        return [(0.0, 0.0), (seconds, 0.0)]
    gaps = [b[0] - a[0] for a, b in pairwise(points)]
    width = min(gaps, default=seconds)
    out = [(points[0][0], 0.0)]
    for i, (t, share) in enumerate(points):
        if i and gaps[i - 1] > width * 1.5:
            out += [(points[i - 1][0] + width, 0.0), (t, 0.0)]
        out.append((t, share))
    return [*out, (points[-1][0] + width, 0.0)]


def _step(longest: float) -> float:
    for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500):
        if longest / step <= 8:
            return step
    return 1000.0
