"""Show why frames are slower: tables for people, data for programs, a page with the times of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import markupsafe

from drawtap.analysis.slower import Cause, Explanation, Part
from drawtap.output.document import document
from drawtap.output.result import Rows, Sheets
from drawtap.output.text import duration, number, size

_MOST_FRAMES, _MOST_CAUSES = 10, 16


def sheets(explained: Explanation, output: Path | None = None) -> Sheets:
    """Return an explanation as tables and data; the exit code is 1 where frames are slower."""
    parts = [
        (p.name, _time(p.a), _time(p.b), _difference(p.difference), _percent(p.share))
        for p in _by_share(explained.parts)
    ]
    causes = [
        (c.name, _amount(c.a, c.unit), _amount(c.b, c.unit), _growth(c), _time(c.ns), _percent(c.share), c.paid)
        for c in explained.causes[:_MOST_CAUSES]
    ]
    frames = [
        (f.number, _time(f.a), _time(f.b), f.cause or "nothing measured", _percent(f.share))
        for f in explained.slower[:_MOST_FRAMES]
    ]
    tables = [
        Rows(
            ("side", "", "times"),
            [("A", explained.a.name, explained.a.times), ("B", explained.b.name, explained.b.times)],
            findings=bool(explained.slower),
        ),
        Rows(("part of the frame", "A", "B", "longer by", "share"), parts, title="Where the difference is"),
        Rows(("what grew", "A", "B", "growth", "explains", "share", "paid in"), causes, title="What may explain it"),
        Rows(
            ("frame", "A", "B", "explained most by", "share"), frames, title=f"Slower frames: {len(explained.slower)}"
        ),
    ]
    notes = [explained.verdict, *_more(explained)]
    if output is not None:
        notes.append(f"written: {output}")
    return Sheets(tables, data(explained), notes)


def _more(explained: Explanation) -> list[str]:
    notes = [f"{len(explained.slower)} of {explained.compared} frames are slower on B, {explained.faster} on A"]
    if explained.slower and any(c.beside for c in explained.causes):
        notes.append("times that run beside (the GPU's) are in no sum")
    return notes + list(explained.notes)


def _above(explained: Explanation, top: float) -> int:
    return sum(max(explained.a.frames[n].time, explained.b.frames[n].time) > top for n in explained.frames)


def data(explained: Explanation) -> dict[str, object]:
    """Return an explanation for JSON: times in ns, shares from 0 to 1."""
    return {
        "a": {"name": explained.a.name, "times": explained.a.times},
        "b": {"name": explained.b.name, "times": explained.b.times},
        "verdict": explained.verdict,
        "frames": explained.compared,
        "slower": [
            {"frame": f.number, "a": f.a, "b": f.b, "cause": f.cause or None, "share": f.share}
            for f in explained.slower
        ],
        "faster": explained.faster,
        "threshold": explained.threshold,
        "same_work": explained.same_work,
        "parts": [{"part": p.name, "a": p.a, "b": p.b, "share": p.share} for p in _by_share(explained.parts)],
        "causes": [
            {
                "metric": c.name, "unit": c.unit, "a": c.a, "b": c.b, "ns": c.ns, "share": c.share, "paid_in": c.paid,
                "beside": c.beside,
            }
            for c in explained.causes
        ],
        "unexplained": explained.unexplained,
        "notes": list(explained.notes),
    }  # fmt: skip


def render(explained: Explanation) -> str:
    """Return an explanation as one HTML document that loads nothing from anywhere."""
    parts = [
        (p.name, _time(p.a), _time(p.b), _difference(p.difference), _percent(p.share), _bar(p.share))
        for p in _by_share(explained.parts)
    ]
    causes = [
        (
            c.name, _amount(c.a, c.unit), _amount(c.b, c.unit), _growth(c), _time(c.ns), _percent(c.share),
            _bar(c.share, beside=c.beside), c.paid,
        )
        for c in explained.causes[:_MOST_CAUSES]
    ]  # fmt: skip
    frames = [
        (f.number, _time(f.a), _time(f.b), f"{f.b / f.a:.2f} ×" if f.a else "–", f.cause or "nothing measured",
         _percent(f.share))
        for f in explained.slower[:100]
    ]  # fmt: skip
    return document(
        "slower.html",
        page=explained,
        tiles=[
            (str(explained.compared), "frames"),
            (str(len(explained.slower)), "slower on B"),
            (str(explained.faster), "slower on A"),
            (_percent(explained.unexplained) if explained.slower else "–", "not explained"),
        ],
        parts=parts,
        causes=causes,
        frames=frames,
        notes=_more(explained)[1:],
        picture=markupsafe.Markup(_plot(explained)),
    )


def _by_share(parts: Sequence[Part]) -> list[Part]:
    return sorted(parts, key=lambda p: -p.share)


def _time(ns: float) -> str:
    return ("-" if ns < 0 else "") + duration(round(abs(ns)))


def _percent(share: float) -> str:
    return f"{round(100 * share)} %"  # and never -0


def _difference(ns: float) -> str:
    return ("+" if ns >= 0 else "") + _time(ns)


def _amount(value: float, unit: str) -> str:
    if unit == "ns":
        return duration(round(value))
    if unit == "bytes":
        return size(round(value))
    return number(round(value)) if value >= 100 or value == round(value) else f"{value:.2f}"


def _growth(cause: Cause) -> str:
    return f"× {cause.b / cause.a:.2f}" if cause.a else "new"


def _bar(share: float, *, beside: bool = False) -> markupsafe.Markup:
    kind = "less" if share < 0 else "beside" if beside else "more"
    return markupsafe.Markup(
        f'<div class="track"><i class="{kind}" style="width:{min(100 * abs(share), 100):.1f}%"></i></div>'
    )


_WIDTH, _HEIGHT, _LEFT, _FOOT = 960, 220, 62, 22


def _plot(explained: Explanation) -> str:
    """Return the times of both sides over the frames as SVG; slower frames have a mark below."""
    numbers = list(explained.frames)
    if len(numbers) < 2:
        return ""
    step = -(-len(numbers) // 1500)
    # A run of frames keeps the slowest: readers look for it.
    kept = [max(numbers[i : i + step], key=lambda n: explained.b.frames[n].time) for i in range(0, len(numbers), step)]
    times = sorted(s.frames[n].time for s in (explained.a, explained.b) for n in kept)
    top = min(times[-1], 2.5 * times[int(0.97 * (len(times) - 1))]) or 1.0
    low, high = numbers[0], numbers[-1]

    def x(n: int) -> float:
        return _LEFT + (n - low) / max(high - low, 1) * (_WIDTH - _LEFT - 8)

    def y(ns: float) -> float:
        return 8 + (1 - min(ns, top) / top) * (_HEIGHT - _FOOT - 12)

    out = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="times of frames">']
    for i in range(5):
        ns = top * i / 4
        out.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y(ns):.1f}" y2="{y(ns):.1f}"/>')
        out.append(f'<text x="{_LEFT - 6}" y="{y(ns) + 4:.1f}" text-anchor="end">{duration(round(ns))}</text>')
    for side, kind in ((explained.a, "a"), (explained.b, "b")):
        points = " ".join(f"{x(n):.1f},{y(side.frames[n].time):.1f}" for n in kept)
        out.append(f'<polyline class="{kind}" points="{points}"/>')
    if above := _above(explained, top):
        words = f"{above} frames go on above"
        out.append(f'<text x="{_WIDTH - 8}" y="20" text-anchor="end">{words}</text>')
    slow = {f.number for f in explained.slower}
    for n in (n for n in kept if n in slow):
        out.append(f'<rect class="slow" x="{x(n) - 1.5:.1f}" y="{_HEIGHT - _FOOT + 2}" width="3" height="5"/>')
    out += [f'<text x="{x(n):.1f}" y="{_HEIGHT - 2}" text-anchor="middle">{n}</text>' for n in sorted({low, high})]
    return "".join([*out, "</svg>"])
