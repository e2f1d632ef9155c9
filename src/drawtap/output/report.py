"""Render a report: one HTML file that carries everything it needs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import jinja2
import markupsafe

import drawtap
from drawtap.analysis.checklist import Checklist
from drawtap.analysis.content import Series
from drawtap.analysis.rule import CLASSES
from drawtap.analysis.verdict import Verdict
from drawtap.metrics.tables import HeatMap, Table
from drawtap.output.document import asset, script, templates
from drawtap.output.overdraw import STEPS
from drawtap.output.text import duration, number, percentile, size
from drawtap.tables.recording import HistogramRow

PLOT_UNITS = frozenset({"ns", "bytes"})  # of values; all others are plain numbers
_MOST_POINTS = 8000


@dataclass(frozen=True, slots=True)
class FrameRow:
    """One frame: `duration_ns` is None where it has no end or is not timed."""

    number: int
    duration_ns: int | None
    calls: int
    upload_bytes: int


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
    note: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """Series over the frames; `values` go with Report.frames. `unit`: ns, bytes or count; `bars`: stacked bars."""

    id: str
    title: str
    hint: str
    unit: str
    series: Sequence[tuple[str, str, Sequence[float | None]]]  # label, colour, values
    bars: bool = False


@dataclass(frozen=True, slots=True)
class FrameDetail:
    """One frame in detail. `picture` is an address, "" where there is none; `functions` are (name, calls, ns)."""

    number: int
    why: str
    picture: str
    duration_ns: int | None
    facts: Sequence[tuple[str, str]]
    functions: Sequence[tuple[str, int, int | None]]
    calls: Sequence[CallRow] = ()
    findings: Sequence[tuple[str, str]] = ()  # rule, title


@dataclass(frozen=True, slots=True)
class TextureCard:
    """A texture: `picture` is "" where `why` says why it is not shown."""

    title: str
    text: str
    picture: str
    why: str


@dataclass(frozen=True, slots=True)
class ShaderCard:
    """A shader's source."""

    title: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A finding. `evidence` has (frame, place, what, cost); `more` is how many rows are not shown."""

    rule: str
    title: str
    severity: str
    concerns: str
    hardware: str
    summary: str
    why: str
    fix: str
    evidence: Sequence[tuple[int | None, str, str, str]]
    more: int


@dataclass(frozen=True)
class Checks:
    """A checklist on a page. `others` are rules without a finding: (id, title, verdict, reason)."""

    headline: str
    findings: Sequence[CheckRow]
    others: Sequence[tuple[str, str, str, str]]
    unused: Sequence[str] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Report:
    """The content of a report. `facts` are groups (title, pairs of name and text); `notes` are (severity, text).

    `strip` are pictures (frame, address) to stand above the frame times, `chosen` the frames that stand for all. Empty
    parts are left out of the page; `missing` says why, by the name of the part.
    """

    title: str
    subtitle: str
    tiles: Sequence[tuple[str, str]]
    frames: Sequence[FrameRow]
    functions: Sequence[HistogramRow]
    functions_note: str
    slowest: Sequence[CallRow]
    tables: Sequence[SmallTable]
    facts: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    notes: Sequence[tuple[str, str]] = field(default=())
    overview: Sequence[tuple[str, str]] = ()
    rates: Sequence[int] = ()
    verdict: Verdict | None = None
    checks: Checks | None = None
    plots: Sequence[Plot] = ()
    strip: Sequence[tuple[int, str]] = ()
    statistics: Sequence[Series] = ()
    chosen: Sequence[FrameDetail] = ()
    slow: Sequence[FrameDetail] = ()
    textures: Sequence[TextureCard] = ()
    textures_note: str = ""
    shaders: Sequence[ShaderCard] = ()
    configs: SmallTable | None = None
    redundancy: Sequence[SmallTable] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    content: Sequence[Table] = ()
    sizes: Sequence[tuple[str, float]] = ()
    heat: HeatMap | None = None
    overdraw: Sequence[tuple[str, str, str]] = ()  # title, text, picture

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


def environment() -> jinja2.Environment:
    """Return the templates of all pages, with the filters that they use."""
    environment_ = templates(trimmed=True)
    environment_.filters.update(
        duration=lambda ns: "–" if ns is None else duration(ns), number=number, size=size, quantity=quantity, bars=bars,
        columns=columns,
    )  # fmt: skip
    return environment_


def render(report: Report) -> str:
    """Return the report as one HTML document that loads nothing from anywhere."""
    return (
        environment()
        .get_template("report.html")
        .render(
            report=report,
            version=drawtap.__version__,
            css=asset("report.css"),
            js=script("report.js"),
            overdraw_steps=_overdraw_steps(),
            uplot_css=asset("uplot.min.css"),
            uplot_js=asset("uplot.min.js"),
            data=markupsafe.Markup(_data(report)),
        )
    )


def _overdraw_steps() -> list[tuple[str, str]]:
    """Return the colours of pictures of overdraw with what they stand for."""
    ends = [first - 1 for first, _ in STEPS[1:]] + [None]
    names = [
        f"{a} and more" if z is None else str(a) if a == z else f"{a} to {z}"
        for (a, _), z in zip(STEPS, ends, strict=True)
    ]
    return [("#{:02x}{:02x}{:02x}".format(*color), name) for (_, color), name in zip(STEPS, names, strict=True)]


def render_checklist(asked: Checklist, name: str, *, most: int) -> str:
    """Return a checklist as one HTML document; `most` rows of evidence a finding."""
    return (
        environment()
        .get_template("checklist_page.html")
        .render(title=name, version=drawtap.__version__, css=asset("report.css"), checks=checks(asked, most))
    )


def checks(asked: Checklist, most: int) -> Checks:
    """Return what a page shows of a checklist."""
    from drawtap.output import checklist as words

    findings = [
        CheckRow(
            j.rule.id,
            j.rule.title,
            j.rule.severity,
            CLASSES[j.rule.concerns],
            words.hardware(j.rule),
            words.summary(j),
            j.rule.why,
            j.rule.fix,
            [(e.frame, words.place(e), e.what or "", words.cost(e)) for e in j.evidence[:most]],
            j.rows - min(most, len(j.evidence)),
        )
        for j in asked.findings
    ]
    others = [(j.rule.id, j.rule.title, j.verdict, j.reason or "") for j in asked.judgements if not j.is_finding]
    return Checks(words.headline(asked), findings, others, [s.line for s in asked.unused], list(asked.notes))


def quantity(value: float, unit: str) -> str:
    """Return a value as its unit says: ns, bytes, percent or count."""
    if unit == "percent":
        return f"{value:.0f} %" if value >= 10 or value == int(value) else f"{value:.1f} %"
    if unit == "ns":
        return duration(value)
    if unit == "bytes":
        return size(value)
    if value != int(value) and value < 100:
        return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else number(value)
    return number(round(value))


def bars(bins: Sequence[int]) -> markupsafe.Markup:
    """Return a histogram as a small picture (SVG): a bar a bin, the least on the left. Values above 0 stay visible."""
    top, wide, high = max(bins, default=0) or 1, 9, 18
    drawn = []
    for i, value in enumerate(bins):
        height = max(high * value / top, 1.5) if value else 0.75
        shade = "" if value else ' class="none"'
        drawn.append(f'<rect x="{i * wide}" y="{high - height:.2f}" width="{wide - 1}" height="{height:.2f}"{shade}/>')
    label = markupsafe.escape(", ".join(str(b) for b in bins))
    width = wide * len(bins)
    return markupsafe.Markup(
        f'<svg class="bars" width="{width}" height="{high}" viewBox="0 0 {width} {high}" role="img" '
        f'aria-label="{label}">{"".join(drawn)}</svg>'
    )


def columns(values: Sequence[tuple[str, float]]) -> markupsafe.Markup:
    """Return named values as columns (SVG), with each value above and its name below."""
    top, wide, high = max((value for _, value in values), default=0) or 1, 110, 150
    drawn = []
    for i, (name, value) in enumerate(values):
        height, left = max(high * value / top, 1) if value else 0, i * wide
        text = number(round(value))
        drawn.append(
            f'<rect x="{left + 12}" y="{24 + high - height:.1f}" width="{wide - 24}" height="{height:.1f}"/>'
            f'<text x="{left + wide / 2}" y="{18 + high - height:.1f}" text-anchor="middle">{text}</text>'
            f'<text class="name" x="{left + wide / 2}" y="{44 + high}" text-anchor="middle">'
            f"{markupsafe.escape(name)}</text>"
        )
    return markupsafe.Markup(
        f'<svg class="columns" viewBox="0 0 {wide * len(values)} {high + 54}" role="img">{"".join(drawn)}</svg>'
    )


def _heat(heat: HeatMap | None) -> dict[str, object] | None:
    if heat is None or not heat.metrics:
        return None
    names = list(dict.fromkeys(name for column in heat.functions for name in column))
    at = {name: i for i, name in enumerate(names)}
    return {
        "frames": list(heat.frames),
        "names": names,
        "functions": [[at[name] for name in column] for column in heat.functions],
        "folded": list(heat.folded),
        "layers": [
            {
                "title": layer.name,
                "unit": layer.unit if layer.unit in PLOT_UNITS else "count",
                "cells": [[None if v is None else float(f"{v:.3g}") for v in column] for column in layer.cells],
            }
            for layer in heat.metrics
        ],
    }


def _data(report: Report) -> str:
    kept = _thinned(report.frames)
    frames = [report.frames[i] for i in kept]
    times = report._times()
    data = {
        "frames": {
            "number": [f.number for f in frames],
            "duration": [f.duration_ns for f in frames],
            "calls": [f.calls for f in frames],
            "uploads": [f.upload_bytes for f in frames],
        },
        "plots": [
            {
                "id": p.id,
                "unit": p.unit,
                "bars": p.bars,
                "series": [
                    {"label": label, "color": color, "values": _kept(values, kept, len(report.frames))}
                    for label, color, values in p.series
                ],
            }
            for p in report.plots
        ],
        "levels": {"p50": percentile(times, 0.5), "p99": percentile(times, 0.99)}
        if times
        else {"p50": None, "p99": None},
        "heat": _heat(report.heat),
        "strip": [[frame, address] for frame, address in report.strip],
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _thinned(frames: Sequence[FrameRow]) -> Sequence[int]:
    # More points than a screen has: of every run of frames the longest one stays, since it is what one looks for.
    if len(frames) <= _MOST_POINTS:
        return range(len(frames))
    step = -(-len(frames) // _MOST_POINTS)
    runs = (range(i, min(i + step, len(frames))) for i in range(0, len(frames), step))
    return [max(run, key=lambda i: frames[i].duration_ns or 0) for run in runs]


def _kept(values: Sequence[float | None], kept: Sequence[int], count: int) -> list[float | None]:
    # A run of frames keeps the largest value of each series: an upload must not vanish beside a longer frame.
    if len(kept) == count:
        return list(values)
    step = -(-count // _MOST_POINTS)
    runs = (values[i : i + step] for i in range(0, count, step))
    return [max((v for v in run if v is not None), default=None) for run in runs]
