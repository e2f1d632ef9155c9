"""Render frame rates over time: programs with their targets and limits, a chart for each policy, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import markupsafe

from drawtap.output.document import document

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 560, 170, 40, 18
_COLORS = ("blue", "orange", "green", "red")


@dataclass(frozen=True)
class Curve:
    """One program in a chart: (seconds, FPS), its target, and its limits as (seconds, FPS or None for none)."""

    name: str
    points: Sequence[tuple[float, float]]
    target_fps: float | None = None
    limits: Sequence[tuple[float, float | None]] = ()


@dataclass(frozen=True)
class RatesPage:
    """The content of the page: a chart for each (name, meaning, curves); `columns` and `rows` of the table."""

    title: str
    text: str
    charts: Sequence[tuple[str, str, Sequence[Curve]]]
    seconds: float
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def render(page: RatesPage) -> str:
    """Return the page as one HTML document that loads nothing from anywhere."""
    most = highest(page)
    return document(
        "rates.html",
        page=page,
        words=len(page.columns),
        charts=[
            (name, text, markupsafe.Markup(chart(curves, page.seconds, most))) for name, text, curves in page.charts
        ],
        legend=[(c.name, _COLORS[i % len(_COLORS)]) for i, c in enumerate(page.charts[0][2] if page.charts else ())],
    )


def highest(page: RatesPage) -> float:
    """Return the top of the scale that all charts share: outliers beyond it are cut off."""
    rates = sorted(rate for _, _, curves in page.charts for c in curves for _, rate in c.points)
    if not rates:
        return 60.0
    return max(rates[int(len(rates) * 0.97)] * 1.08, *(c.target_fps or 0 for _, _, cs in page.charts for c in cs), 10.0)


def chart(curves: Sequence[Curve], seconds: float, most: float) -> str:
    """Return rates over time as SVG: targets dotted, limits dashed."""
    across, up = (_WIDTH - _LEFT) / max(seconds, 1e-9), _HEIGHT / most
    parts = [f'<svg viewBox="0 0 {_WIDTH + 16} {_HEIGHT + _BOTTOM + 6}" role="img">']
    step = next((s for s in (5, 10, 20, 30, 60, 100, 200, 500, 1000) if most / s <= 6), 2000)
    for k in range(int(most / step) + 1):
        y = 4 + _HEIGHT - k * step * up
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{k * step}</text>')
    tick = next((s for s in (0.5, 1, 2, 5, 10, 20, 60, 120) if seconds / s <= 8), 300)
    for k in range(int(seconds / tick) + 1):
        x = _LEFT + k * tick * across
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT + _BOTTOM}" text-anchor="middle">{k * tick:g} s</text>')

    def at(t: float, rate: float) -> str:
        return f"{_LEFT + t * across:.1f},{4 + _HEIGHT - min(rate, most) * up:.1f}"

    for i, curve in enumerate(curves):
        color = f"var(--{_COLORS[i % len(_COLORS)]})"
        if curve.target_fps:
            parts.append(
                f'<polyline points="{at(0, curve.target_fps)} {at(seconds, curve.target_fps)}" fill="none" '
                f'stroke="{color}" stroke-width="1" stroke-dasharray="1.5 3.5"/>'
            )
        for run in _steps(curve.limits, seconds):
            path = " ".join(at(t, rate) for t, rate in run)
            parts.append(
                f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1" stroke-dasharray="5 3" '
                'opacity=".65"/>'
            )
        for run in _drawn(curve.points):
            path = " ".join(at(t, rate) for t, rate in run)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.6"/>')
    return "".join([*parts, "</svg>"])


def _drawn(points: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """Return the parts in which a program shows frames; each begins and ends at zero."""
    runs: list[list[tuple[float, float]]] = []
    for n, (t, rate) in enumerate(points):
        width = (points[n + 1][0] - t) if n + 1 < len(points) else (t - points[n - 1][0] if n else 0.0)
        middle = (t + width / 2, rate)
        if rate <= 0:
            if runs and runs[-1][-1][1] > 0:
                runs[-1].append((t, 0.0))
            continue
        if not runs or runs[-1][-1][1] == 0:
            runs.append([(t, 0.0)] if n else [])
        runs[-1].append(middle)
    return [run for run in runs if len(run) > 1]


def _steps(limits: Sequence[tuple[float, float | None]], seconds: float) -> list[list[tuple[float, float]]]:
    runs: list[list[tuple[float, float]]] = []
    for n, (t, rate) in enumerate(limits):
        if rate is None:
            continue
        end = limits[n + 1][0] if n + 1 < len(limits) else seconds
        if runs and runs[-1][-1][0] == t:
            runs[-1] += [(t, rate), (end, rate)]
        else:
            runs.append([(t, rate), (end, rate)])
    return runs
