"""Which kind of problem dominates: API usage, content complexity, graphics engine, or nothing of graphics.

The classes are those of Kyostila's thesis (section 2.6). The time of the frames is divided by what it was spent on;
what of drawing is due to the content and what to the engine only a second engine can tell, which is played where it is
asked for. It is an aid for a person, as in the thesis, no oracle: the evidence of every class is part of the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from drawtap.analysis.rule import CLASSES
from drawtap.analysis.views import VIEWS
from drawtap.trace.snapshot import Snapshot

if TYPE_CHECKING:
    from drawtap.analysis.checklist import Checklist
    from drawtap.trace.trace import Trace

_SLOWER = 1.5  # so many times slower than the other engine: the engine is the cause
_FLUENT_NS = 1e9 / 50

#: What the time of calls is spent on, and to which class it counts.
KINDS: Mapping[str, tuple[str, str]] = {
    "waiting": ("waiting for the GPU (finish, read-back, fences)", "usage"),
    "compiling": ("compiling and linking", "usage"),
    "asking": ("asking for state, errors and names", "usage"),
    "contexts": ("changing contexts", "usage"),
    "redundant": ("state that was set already", "usage"),
    "state": ("setting state", "usage"),
    "uploads": ("uploading", "content"),
    "drawing": ("draw calls", "content"),
    "showing": ("showing the frame: the GPU's work, or the screen's turn", "content"),
    "outside": ("outside the API", "other"),
}

_SPENT = """
WITH showing AS (
    SELECT c.thread, min(c.frame) AS first, max(c.frame) AS last FROM calls c JOIN functions f ON f.id = c.fn
    WHERE f.category = 'frame_end' AND c.frame >= 1 GROUP BY c.thread ORDER BY count(*) DESC LIMIT 1
), spent AS (
    SELECT CASE
        WHEN r.seq IS NOT NULL AND r.kind IN ('same value', 'unread state') THEN 'redundant'
        WHEN f.category = 'frame_end' THEN 'showing'
        WHEN f.category IN ('draw', 'dispatch', 'clear') THEN 'drawing'
        WHEN f.category IN ('upload', 'map', 'unmap') THEN 'uploads'
        WHEN f.category IN ('readback', 'finish', 'flush', 'sync') THEN 'waiting'
        WHEN f.category IN ('error_query', 'lookup') OR regexp_matches(f.name, '^(gl|egl|glX|vg)(Get|Is|Query)[A-Z]')
            THEN 'asking'
        WHEN regexp_matches(f.name, '^gl(Compile|Link|CreateShaderProgram|ProgramString|ProgramBinary)')
            THEN 'compiling'
        WHEN f.category IN ('make_current', 'context') THEN 'contexts'
        ELSE 'state' END AS kind, c.duration
    FROM calls c JOIN functions f ON f.id = c.fn
    JOIN showing w ON w.thread = c.thread AND c.frame BETWEEN w.first AND w.last
    JOIN steady_frames s ON s.frame = c.frame
    LEFT JOIN redundancy r ON r.seq = c.seq
)
SELECT kind, sum(duration)::BIGINT AS ns FROM spent GROUP BY kind
UNION ALL SELECT 'wall', sum(s.time)::BIGINT FROM steady_frames s
"""


@dataclass(frozen=True)
class ClassEvidence:
    """One class of the verdict: `share` of the frames' time (0 to 1), and what says so, in sentences."""

    name: str
    title: str
    share: float
    evidence: Sequence[str]


@dataclass(frozen=True, slots=True)
class EngineTime:
    """How long frames took on an engine: the median, in ns."""

    engine: str
    frame_ns: float


@dataclass(frozen=True)
class Verdict:
    """`dominant` is the name of a class (CLASSES), None where `why` says that nothing can be said.

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
    timed = [ns for row in trace.table("frames") if row["end_function"] and isinstance(ns := row["interval"], int)]
    if trace.info["timing"] != "both" or len(timed) < 2:
        why = "calls have no durations" if timed else "there are fewer than three frames"
        return Verdict(None, f"no time can be divided: {why}", False, None, _classes({}, 0, asked, ()), {})
    frame_ns = median(timed)
    spent = _spent(trace)
    wall = spent.pop("wall")
    spent["outside"] = max(0, wall - sum(spent.values()))
    times = [_played(trace, name) for name in engines]
    classes = _classes(spent, wall, asked, times)
    dominant = max(classes, key=lambda c: c.share)
    return Verdict(
        dominant.name,
        _why(dominant, frame_ns),
        wall <= _FLUENT_NS * len(timed),
        frame_ns,
        classes,
        {kind: spent.get(kind, 0) for kind in KINDS},
        times,
    )


def _spent(trace: Trace) -> dict[str, int]:
    question = _SPENT
    with Snapshot(trace, [question], VIEWS) as snapshot:
        return {str(kind): int(str(ns or 0)) for kind, ns in snapshot.ask(question)[1]}


def _classes(
    spent: Mapping[str, int], wall: int, asked: Checklist, engines: Sequence[EngineTime]
) -> list[ClassEvidence]:
    of = {name: sum(ns for kind, ns in spent.items() if KINDS[kind][1] == name) for name in CLASSES}
    if len(engines) == 2 and engines[0].frame_ns > _SLOWER * engines[1].frame_ns:
        # What the other engine needs for the same frames is the content's; the rest is the engine's.
        drawn = of["content"]
        of["content"] = int(drawn * engines[1].frame_ns / engines[0].frame_ns)
        of["engine"] = drawn - of["content"]
    lines: dict[str, list[str]] = {name: [] for name in CLASSES}
    for kind, ns in sorted(spent.items(), key=lambda item: -item[1]):
        if wall and ns > 0.005 * wall:
            what, name = KINDS[kind]
            lines[name].append(f"{100 * ns / wall:.0f} % of the time: {what}")
    for found in asked.findings:
        lines[found.rule.concerns].append(f"{found.rule.severity} {found.rule.id}: {found.rule.title}")
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
