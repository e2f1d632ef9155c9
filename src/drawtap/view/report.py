"""Render a report: one HTML file that carries everything it needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
import markupsafe

import drawtap
from drawtap.view.text import duration, number, percentile

_ASSETS = Path(__file__).parent / "assets"
_MOST_POINTS = 8000


@dataclass(frozen=True, slots=True)
class FrameRow:
    """One frame: `duration_ns` is None where it has no end or is not timed."""

    number: int
    duration_ns: int | None
    calls: int
    upload_bytes: int


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """All calls of one function; `share` (0 to 1) is relative to the most frequent one."""

    name: str
    count: int
    share: float
    total_ns: int | None
    mean_ns: float | None
    max_ns: int | None


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call, as text with its arguments."""

    seq: int
    frame: int
    thread: int
    call: str
    duration_ns: int


@dataclass(frozen=True, slots=True)
class SmallTable:
    """A table of ready text; `right` says which columns hold numbers."""

    title: str
    columns: Sequence[str]
    right: Sequence[bool]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Report:
    """What a report shows. `facts` are groups (title, pairs of name and text); `notes` are (severity, text)."""

    title: str
    subtitle: str
    tiles: Sequence[tuple[str, str]]
    frames: Sequence[FrameRow]
    functions: Sequence[FunctionRow]
    functions_note: str
    slowest: Sequence[CallRow]
    tables: Sequence[SmallTable]
    facts: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    notes: Sequence[tuple[str, str]] = field(default=())

    @property
    def has_uploads(self) -> bool:
        """Tell whether any frame hands content to the API."""
        return any(f.upload_bytes for f in self.frames)

    @property
    def figures(self) -> list[tuple[str, str]]:
        """Return the percentiles of the frame times, as (label, text)."""
        times = self._times()
        if not times:
            return []
        mean = sum(times) / len(times)
        rows = (
            [("mean", mean)] + [(label, percentile(times, q)) for label, q in _PERCENTILES] + [("longest", times[-1])]
        )
        return [(label, duration(ns)) for label, ns in rows] + [
            ("frames a second", f"{1e9 / mean:.1f}" if mean else "–")
        ]

    def _times(self) -> list[int]:
        return sorted(f.duration_ns for f in self.frames if f.duration_ns is not None)


_PERCENTILES = (("median", 0.5), ("95 %", 0.95), ("99 %", 0.99))


def render(report: Report) -> str:
    """Return the report as one HTML document that loads nothing from anywhere."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_ASSETS), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(duration=lambda ns: "–" if ns is None else duration(ns), number=number)
    return environment.get_template("report.html").render(
        report=report,
        version=drawtap.__version__,
        css=_asset("report.css"),
        js=_asset("report.js"),
        uplot_css=_asset("uplot.min.css"),
        uplot_js=_asset("uplot.min.js"),
        data=markupsafe.Markup(_data(report)),
    )


def _asset(name: str) -> markupsafe.Markup:
    return markupsafe.Markup((_ASSETS / name).read_text(encoding="utf-8"))


def _data(report: Report) -> str:
    frames = _thinned(report.frames)
    times = report._times()
    data = {
        "frames": {
            "number": [f.number for f in frames],
            "duration": [f.duration_ns for f in frames],
            "calls": [f.calls for f in frames],
            "uploads": [f.upload_bytes for f in frames],
        },
        "levels": {"p50": percentile(times, 0.5), "p99": percentile(times, 0.99)}
        if times
        else {"p50": None, "p99": None},
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _thinned(frames: Sequence[FrameRow]) -> Sequence[FrameRow]:
    # More points than a screen has: of every run of frames the longest one stays, since it is what one looks for.
    if len(frames) <= _MOST_POINTS:
        return frames
    step = -(-len(frames) // _MOST_POINTS)
    runs = (frames[i : i + step] for i in range(0, len(frames), step))
    return [max(run, key=lambda f: f.duration_ns or 0) for run in runs]
