"""The dominant kind of problem: API usage, content complexity, graphics engine, or nothing of graphics.

The classes are those of Kyostila's thesis (section 2.6). The time of the frames is divided by what it was spent on;
only a second engine can divide drawing between the content and the engine; it plays the recording on request. It is an
aid for a person, as in the thesis, no oracle: the evidence of every class is part of the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from drawtap.analysis import content, spent
from drawtap.analysis.rule import CLASSES
from drawtap.tables.recording import FrameRow
from drawtap.trace.trace import frame_time

if TYPE_CHECKING:
    from drawtap.analysis.checklist import Checklist
    from drawtap.trace.trace import Trace

_SLOWER = 1.5  # this many times slower than the other engine: the engine is the cause
_FLUENT_NS = 1e9 / 50

#: The purposes that calls spend time on, and the class that each counts to.
KINDS: Mapping[str, tuple[str, str]] = {
    "waiting": ("waiting and reading back, beyond what was drawn before", "usage"),
    "compiling": ("compiling and linking", "usage"),
    "asking": ("asking for state, errors and names", "usage"),
    "contexts": ("changing contexts", "usage"),
    "redundant": ("state that was set already, or that no draw used", "usage"),
    "state": ("setting state", "usage"),
    "vertices": ("handing over vertices one by one, between glBegin and glEnd", "usage"),
    "uploads": ("uploading", "content"),
    "drawing": ("draw calls", "content"),
    "drawn": ("drawing that the driver put off, in calls that waited for it", "content"),
    "copies": ("making mipmaps and copies", "content"),
    "unclear": ("mipmaps and copies that follow draws: their own work, or drawing that was put off", "content"),
    "showing": ("showing the frame: the GPU's work, or the screen's turn", "content"),
    "outside": ("outside the API", "other"),
}

_PARTS: Mapping[str, str] = {
    spent.DRAWS: "drawing", spent.VERTICES: "vertices", spent.DRAWN: "drawn", spent.UNCLEAR: "unclear",
    spent.COPIES: "copies", spent.UPLOADS: "uploads", spent.MAPS: "uploads", spent.WAITS: "waiting",
    spent.SHOW: "showing", spent.COMPILES: "compiling", spent.ASKS: "asking", spent.CONTEXTS: "contexts",
}  # fmt: skip
_MOST_NAMES = 3
_SHORT = "short"  # beside the kinds: why time outside of the API may be time of calls


@dataclass(frozen=True)
class ClassEvidence:
    """One class of the verdict: `share` of the frames' time (0 to 1), and what says so, in sentences."""

    name: str
    title: str
    share: float
    evidence: Sequence[str]


@dataclass(frozen=True, slots=True)
class EngineTime:
    """The time of frames on an engine: the median, in ns."""

    engine: str
    frame_ns: float


@dataclass(frozen=True)
class Verdict:
    """`dominant` is the name of a class (CLASSES), or None, with the reason in `why`.

    `fluent`: frames are fast enough that nobody has to look for a cause.
    """

    dominant: str | None
    why: str
    fluent: bool
    frame_ns: float | None
    classes: Sequence[ClassEvidence]
    spent: Mapping[str, int]
    engines: Sequence[EngineTime] = ()


def verdict(trace: Trace, asked: Checklist, engines: Sequence[str] = ()) -> Verdict:
    """Divide the time of the frames among the classes, with the findings of a checklist as evidence.

    `engines` are played, and held against each other and against the recording; the first is the one in question.
    """
    timed = [ns for row in trace.table(FrameRow) if row["end_function"] and isinstance(ns := row["interval"], int)]
    if trace.info["timing"] != "both" or len(timed) < 2:
        untimed = trace.info["timing"] != "both"
        why = "calls have no durations" if untimed else "there are fewer than three frames"
        return Verdict(None, f"no time can be divided: {why}", False, None, _classes({}, 0, asked, (), {}), {})
    frame_ns = median(timed)
    took, wall, named = _spent(trace)
    times = [_played(trace, name) for name in engines]
    classes = _classes(took, wall, asked, times, named | {_SHORT: [spent.short_calls(trace, spent.main_thread(trace))]})
    dominant = max(classes, key=lambda c: c.share)
    return Verdict(
        dominant.name,
        _why(dominant, frame_ns),
        wall <= _FLUENT_NS * len(timed),
        frame_ns,
        classes,
        {kind: took.get(kind, 0) for kind in KINDS},
        times,
    )


def _spent(trace: Trace) -> tuple[dict[str, int], int, dict[str, list[str]]]:
    """Return ns by kind and in all, of the thread that shows frames without what loads; and who waited, by kind."""
    first = content.loading(content.frame_stats(trace))
    frames = {
        row["frame"]: float(interval)
        for row in trace.table(FrameRow)
        if row["end_function"] and row["frame"] >= first and (interval := frame_time(row)) is not None
    }
    thread = spent.main_thread(trace)
    calls, recording = spent.spent(trace, thread), spent.recording(trace, thread)
    took = dict.fromkeys(KINDS, 0.0)
    for frame, time in frames.items():
        needless = calls.redundant.get(frame, {})
        inside = 0.0
        for part, ns in calls.frames.get(frame, {}).items():
            kind = _PARTS.get(part, "state")
            again = needless.get(part, 0.0) if kind == "state" else 0.0
            took[kind] += ns - again
            took["redundant"] += again
            inside += ns
        took["outside"] += max(0.0, time - inside - recording.get(frame, 0.0))
    named = {
        kind: sorted(names, key=lambda n: -names[n])[:_MOST_NAMES]
        for part, kind in _PARTS.items()
        if kind in ("drawn", "unclear", "waiting") and (names := calls.functions.get(part, {}))
    }
    took_ns = {kind: round(ns) for kind, ns in took.items()}
    return took_ns, sum(took_ns.values()), named


def _classes(
    took: Mapping[str, int],
    wall: int,
    asked: Checklist,
    engines: Sequence[EngineTime],
    named: Mapping[str, Sequence[str]],
) -> list[ClassEvidence]:
    of = {name: sum(ns for kind, ns in took.items() if KINDS[kind][1] == name) for name in CLASSES}
    if len(engines) == 2 and engines[0].frame_ns > _SLOWER * engines[1].frame_ns:
        # The time that the other engine needs for the same frames is the content's; the rest is the engine's.
        drawn = of["content"]
        of["content"] = int(drawn * engines[1].frame_ns / engines[0].frame_ns)
        of["engine"] = drawn - of["content"]
    lines: dict[str, list[str]] = {name: [] for name in CLASSES}
    for kind, ns in sorted(took.items(), key=lambda item: -item[1]):
        if wall and ns > 0.005 * wall:
            what, name = KINDS[kind]
            who = f" ({', '.join(named[kind])})" if kind in named else ""
            lines[name].append(f"{100 * ns / wall:.0f} % of the time: {what}{who}")
    if of["other"] > 0.05 * wall:
        lines["other"] += filter(None, named.get(_SHORT, ()))
    for judgement in asked.findings:
        lines[judgement.rule.concerns].append(f"{judgement.rule.severity} {judgement.rule.id}: {judgement.rule.title}")
    lines["engine"] += _compared(engines)
    return [
        ClassEvidence(name, title, of[name] / wall if wall else 0.0, lines[name]) for name, title in CLASSES.items()
    ]


def _compared(engines: Sequence[EngineTime]) -> list[str]:
    if not engines:
        return ["not compared: --on ENGINE --on OTHER plays the recording on two engines"]
    lines = [f"{e.engine}: {e.frame_ns / 1e6:.2f} ms a frame, played again" for e in engines]
    if len(engines) == 2 and engines[1].frame_ns:
        one, other = engines
        lines.append(f"{one.engine} takes {one.frame_ns / other.frame_ns:.2f} times the time of {other.engine}")
    return lines


def _why(dominant: ClassEvidence, frame_ns: float) -> str:
    return f"{100 * dominant.share:.0f} % of the time of the frames, which take {frame_ns / 1e6:.2f} ms (median)"


def _played(trace: Trace, engine: str) -> EngineTime:
    from drawtap.replay import player
    from drawtap.replay.engine import environment_of

    rule = [] if trace.frame_end == "auto" else ["--frame-end", trace.frame_end]
    done = player.play(trace.path, ["--benchmark", "--preload", *rule], environment=environment_of(engine))
    return EngineTime(engine, float(median(done.frame_times_ns)) if done.frame_times_ns else 0.0)
