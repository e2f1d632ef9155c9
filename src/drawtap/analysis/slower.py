"""Why frames are slower on one side than on the other: where their time went, and which of their work grew with it.

The time of a frame is the sum of its parts, on the thread that shows frames: draws, uploads, state changes and so on,
and time outside of the API. The difference between two frames is therefore the sum of the differences of parts,
exactly. The work of a frame (triangles, fragments, bytes, redundant calls) is compared with the part that it is paid
in. If the part grew as its work does, the work would explain this much of the difference. Metrics of one part exclude
each other, so their shares do not add up; the rest of a part is reported as unexplained. Times that run beside (the
GPU's) are shown, but are in no sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING

from drawtap.analysis import content, spent
from drawtap.errors import UsageError
from drawtap.tables.recording import FrameRow, HistogramRow
from drawtap.trace import measured
from drawtap.trace.trace import frame_time

if TYPE_CHECKING:
    from drawtap.analysis.spent import Spent
    from drawtap.trace.trace import Trace

#: The parts that pay for a kind of work: its own calls and no others. Drivers put drawing off: it is also paid where a
#: call waited for it, or shows the frame. `mapped_bytes` are stored between calls, and nobody can tell how long that
#: takes.
_DRAWN = (spent.DRAWS, spent.VERTICES, spent.DRAWN, spent.SHOW, spent.UNCLEAR)
_WORK: Mapping[str, tuple[str, ...]] = {
    "draws": _DRAWN,
    "triangles": _DRAWN,
    "primitives": _DRAWN,
    "vertices": _DRAWN,
    "path_segments": _DRAWN,
    "clears": _DRAWN,
    "dispatches": _DRAWN,
    "mipmaps": (spent.COPIES, spent.UNCLEAR, spent.DRAWN),
    "binds": (spent.BINDS, spent.TARGETS),
    "uniforms": (spent.UNIFORMS,),
    "matrix_operations": (spent.MATRICES,),
    "redundant": (spent.STATE, spent.BINDS, spent.UNIFORMS, spent.MATRICES, spent.TARGETS),
    "texture_uploads": (spent.UPLOADS,),
    "texels": (spent.UPLOADS,),
    "texture_bytes": (spent.UPLOADS,),
    "buffer_uploads": (spent.UPLOADS,),
    "buffer_bytes": (spent.UPLOADS,),
    "client_bytes": _DRAWN,
    "compiles": (spent.COMPILES,),
    "links": (spent.COMPILES,),
    "readbacks": (spent.WAITS,),
    "readback_bytes": (spent.WAITS,),
    "waits": (spent.WAITS,),
    "flushes": (spent.WAITS,),
    "queries": (spent.ASKS,),
    "created_objects": (spent.OBJECTS,),
    "deleted_objects": (spent.OBJECTS,),
    "framebuffer_binds": (spent.TARGETS,),
    "state_calls": (spent.STATE, spent.BINDS, spent.MATRICES, spent.TARGETS, spent.UNIFORMS),
    "context_switches": (spent.CONTEXTS,),
}
_TITLES = {"redundant": ("redundant calls", "count"), "mipmaps": ("mipmaps and copies", "count")}
#: Metrics of drawing are paid in drawing, whatever back-end measures them; metrics of the processor are no work.
_NO_WORK = ("cpu:", "perf:", "drm:", "nvml:")


@dataclass(frozen=True)
class Frame:
    """A frame of one side: its time (ns), the parts of it, its work by name, and times beside (ns).

    `own` is what the calls of some work took themselves, by part.
    """

    time: float
    parts: Mapping[str, float]
    work: Mapping[str, float]
    beside: Mapping[str, float] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Side:
    """Frames by number; `name` is what it is, `times` where its times come from.

    `waited` are the functions that waited for drawing, or may have, with the ns that drawing took in them. `loading`
    frames at the begin load. `shaders` are the texts of the shaders. `short` says why time outside of the API
    may be time of calls, "" where it is not.
    """

    name: str
    times: str
    frames: Mapping[int, Frame]
    units: Mapping[str, str] = field(default_factory=dict)
    waited: Mapping[str, float] = field(default_factory=dict)
    loading: int = 1
    shaders: frozenset[str] = frozenset()
    short: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Where the time went, mean of the slower frames in ns; `share` of the difference (negative: it became less)."""

    name: str
    a: float
    b: float
    share: float

    @property
    def difference(self) -> float:
        """Return how much longer B takes, in ns."""
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class Cause:
    """Work that grew: means of the slower frames. `ns` of the difference come of it if time grows as work does.

    `paid` names the part that holds most of it. For a time that runs beside the processor, `ns` is its growth, and
    `beside` is set.
    """

    name: str
    unit: str
    a: float
    b: float
    ns: float
    share: float
    paid: str
    beside: bool = False


@dataclass(frozen=True, slots=True)
class SlowFrame:
    """A frame that is slower on B, in ns; `cause` is what explains most of it, "" for nothing."""

    number: int
    a: float
    b: float
    cause: str
    share: float


@dataclass(frozen=True)
class Explanation:
    """The result of the comparison. `unexplained` is the share of the difference that no work foretells; `verdict`
    in one line."""

    a: Side
    b: Side
    frames: Sequence[int]
    threshold: float
    slower: Sequence[SlowFrame]
    faster: int
    parts: Sequence[Part]
    causes: Sequence[Cause]
    unexplained: float
    verdict: str
    same_work: bool
    notes: Sequence[str] = ()

    @property
    def compared(self) -> int:
        """Return how many frames were compared."""
        return len(self.frames)


# ---- sides ----------------------------------------------------------------------------------------------------------


def recorded(trace: Trace) -> Side:
    """Return the frames of a recording with the times of the program that was recorded, and all that is known of them.

    Raises UsageError for one without durations.
    """
    thread = spent.main_thread(trace)
    calls = spent.spent(trace, thread)
    between = spent.recording(trace, thread)
    times = {}
    for number, time in _recorded_times(trace).items():
        inside = sum(calls.frames.get(number, {}).values())
        times[number] = time - max(0.0, min(between.get(number, 0.0), time - inside))
    side = _side(trace, (trace.path.name, "as recorded, without the recorder's"), times, calls, _work(trace, None))
    return replace(side, short=spent.short_calls(trace, thread))


def _side(trace: Trace, title: tuple[str, str], times: Mapping[int, float], calls: Spent, known: _Known) -> Side:
    frames = {}
    for number, time in times.items():
        inside = calls.frames.get(number, {})
        parts = {**inside, spent.OUTSIDE: time - sum(inside.values())}
        own = {"redundant": calls.redundant.get(number, {})}
        frames[number] = Frame(time, parts, known.work.get(number, {}), known.beside.get(number, {}), own)
    waited = {n: ns for part in (spent.DRAWN, spent.UNCLEAR) for n, ns in calls.functions.get(part, {}).items()}
    loads = content.loading(content.frame_stats(trace))
    return Side(*title, frames, known.units, waited, loads, _shaders(trace))


def _shaders(trace: Trace) -> frozenset[str]:
    if not any(f["name"] == "glShaderSource" for f in trace.table(HistogramRow)):
        return frozenset()
    texts = trace.sql('SELECT DISTINCT md5(s.string_data::VARCHAR) FROM "glShaderSource" s')
    return frozenset(str(text) for (text,) in texts)


def _recorded_times(trace: Trace) -> dict[int, float]:
    times = {
        row["frame"]: float(time)
        for row in trace.table(FrameRow)
        if row["end_function"] and (time := frame_time(row)) is not None
    }
    if not times:
        raise UsageError(
            f"{trace.path.name} has no times of frames", hint="record --timing both, or play both sides: --on ENGINE"
        )
    return times


@dataclass(frozen=True)
class Readings:
    """The measurements of a replay, in ns: `times` by frame, `calls` by call (seq); by metric and frame `beside`
    (times) and
    `work` (all else). `units` are by metric."""

    times: Mapping[int, float]
    calls: Mapping[int, float]
    beside: Mapping[str, Mapping[int, float]]
    work: Mapping[str, Mapping[int, float]]
    units: Mapping[str, str]


def played(trace: Trace, name: str, readings: Readings) -> Side:
    """Return the frames of a recording with times of a replay."""
    known = _work(trace, None)
    work = {
        number: {**known.work.get(number, {}), **{m: v[number] for m, v in readings.work.items() if number in v}}
        for number in readings.times
    }
    beside = {number: {m: v[number] for m, v in readings.beside.items() if number in v} for number in readings.times}
    known = _Known(work, beside, {**known.units, **readings.units})
    return _side(trace, (name, "as played"), readings.times, spent.spent_of(trace, readings.calls), known)


def profiled(trace: Trace, run: int) -> Side:
    """Return the frames of a recording with the times that a run of drawtap profile measured.

    Raises UsageError where there is no such run, or it has no times of frames.
    """
    if not measured.files(trace.path):
        raise UsageError(f"nothing was measured of {trace.path.name}", hint=f"drawtap profile {trace.path}")
    runs = [int(r) for (r,) in trace.sql("SELECT DISTINCT run FROM metrics WHERE run IS NOT NULL ORDER BY run")]
    if run not in runs:
        raise UsageError(f"there is no run {run}", hint=f"runs of drawtap profile --add: {', '.join(map(str, runs))}")
    known = _work(trace, run)
    beside = known.beside
    clock = next((m for m in ("cpu:time/wall", "gl:time/elapsed") if any(m in v for v in beside.values())), None)
    if clock is None:
        raise UsageError(f"run {run} has no times of frames", hint="drawtap profile --metrics cpu:time/wall --add")
    times = {number: values[clock] for number, values in beside.items() if clock in values}
    calls = {
        int(seq): float(value)
        for seq, value in trace.sql(
            "SELECT seq, value FROM metrics WHERE run = $run AND name = $name AND per IN ('call', 'draw') "
            "QUALIFY per = min(per) OVER ()",  # of draws where calls were not measured
            {"run": run, "name": clock},
        )
        if value is not None
    }
    rest = {number: {m: v for m, v in values.items() if m != clock} for number, values in beside.items()}
    [(on,)] = trace.sql("SELECT any_value(engine) FROM metrics WHERE run = $run", {"run": run}).fetchall()
    known = replace(known, beside=rest)
    name = f"{trace.path.name}, run {run} ({on})"
    return _side(trace, (name, f"{clock} of run {run}"), times, spent.spent_of(trace, calls), known)


@dataclass(frozen=True)
class _Known:
    """The work of frames and the times measured beside, by frame and name, and units by name."""

    work: Mapping[int, Mapping[str, float]]
    beside: Mapping[int, Mapping[str, float]]
    units: Mapping[str, str]


def _work(trace: Trace, run: int | None) -> _Known:
    """Return what is known of each frame: what a run of drawtap profile measured, and what the calls say.

    None takes each metric from the last run that has it.
    """
    work: dict[int, dict[str, float]] = {}
    beside: dict[int, dict[str, float]] = {}
    units = {name: unit for name, (_, unit) in content.SERIES.items()} | {"redundant": "count"}
    for row in content.frame_stats(trace):
        number = row["frame"]
        work[number] = {name: float(row[name]) for name in _WORK if isinstance(row.get(name), int | float)}
    copies = "regexp_matches(c.name, '^gl(Generate(Texture)?Mipmap|Copy|Blit)')"
    for frame, count in trace.sql(f"SELECT c.frame, count(*) FROM calls c WHERE {copies} GROUP BY c.frame"):
        if frame is not None and int(frame) in work:
            work[int(frame)]["mipmaps"] = float(count)
    for frame, count in trace.sql(
        "SELECT c.frame, count(*) FROM redundancy r JOIN calls c ON c.seq = r.seq GROUP BY c.frame"
    ):
        if frame is not None and int(frame) in work:
            work[int(frame)]["redundant"] = float(count)
    if measured.files(trace.path):
        which = "QUALIFY run = max(run) OVER (PARTITION BY name)" if run is None else f"AND run = {int(run)}"
        for name, unit, frame, value in trace.sql(
            "SELECT name, unit, frame, value FROM metrics WHERE per = 'frame' AND value IS NOT NULL "
            f"AND name NOT LIKE '%/start' {which}"
        ):
            units[str(name)] = str(unit)
            table = beside if unit == "ns" else work
            table.setdefault(int(frame), {})[str(name)] = float(value)
    for counts in work.values():
        counts.setdefault("mipmaps", 0.0)
        counts.setdefault("redundant", 0.0)
    return _Known(work, beside, units)


# ---- explanation ----------------------------------------------------------------------------------------------------

_LEAST_NS = 20_000  # less than that is the clock's and the scheduler's
_LEAST_SHARE = 0.05
_EXPLAINS = 0.3


def explain(a: Side, b: Side, *, threshold: float = 0.1, frames: range | None = None) -> Explanation:
    """Explain the frames that take longer on B than on A, by more than `threshold` (0.1: a tenth) of A's time.

    Frames are paired by number. Raises UsageError where the two have none in common.
    """
    numbers = sorted(n for n in a.frames.keys() & b.frames.keys() if frames is None or n in frames)
    if not numbers:
        raise UsageError("the two have no frames in common", hint="drawtap frames lists them")
    notes = []
    steady = [n for n in numbers if n >= max(a.loading, b.loading)]
    if frames is None and steady and len(steady) < len(numbers):
        first, last = numbers[0], steady[0] - 1
        which = f"frame {first}, which loads, is" if first == last else f"frames {first} to {last}, which load, are"
        notes.append(f"{which} left out: --frames {first}:{last + 1} compares {'it' if first == last else 'them'}")
        numbers = steady
    pairs = {n: (a.frames[n], b.frames[n]) for n in numbers}
    slow = {n: p for n, p in pairs.items() if _slower(p[0].time, p[1].time, threshold)}
    faster = sum(_slower(y.time, x.time, threshold) for x, y in pairs.values())
    units = {**a.units, **b.units}
    parts, causes, unexplained = _sums(list(slow.values()), units)
    single = []
    for n, (x, y) in slow.items():
        _, mine, _ = _sums([(x, y)], units)
        best = next((c for c in mine if not c.beside), None)
        single.append(SlowFrame(n, x.time, y.time, best.name if best else "", best.share if best else 0.0))
    same = all(x.work[name] == y.work[name] for x, y in slow.values() for name in x.work.keys() & y.work.keys())
    left = len(a.frames.keys() ^ b.frames.keys())
    if left and frames is None:
        notes.append(f"{left} frames are only on one side: frames are paired by number")
    verdict = f"none of {len(numbers)} frames is slower"
    if slow:
        verdict = _verdict(parts, causes, unexplained, same)
        notes += _doubts(a, b, parts, list(slow.values()))
    return Explanation(
        a, b, numbers, threshold, sorted(single, key=lambda f: f.a - f.b), faster, parts, causes, unexplained,
        verdict, same, notes,
    )  # fmt: skip


def _slower(a: float, b: float, threshold: float) -> bool:
    return b - a > max(threshold * a, _LEAST_NS)


def _sums(pairs: Sequence[tuple[Frame, Frame]], units: Mapping[str, str]) -> tuple[list[Part], list[Cause], float]:
    """Return the parts, the ranked causes and the unexplained share of the mean of some pairs of frames."""
    if not pairs:
        return [], [], 0.0
    whole = fmean(y.time - x.time for x, y in pairs)

    def means(name: str) -> tuple[float, float]:
        return fmean(x.parts.get(name, 0.0) for x, _ in pairs), fmean(y.parts.get(name, 0.0) for _, y in pairs)

    parts = [Part(name, *ab, (ab[1] - ab[0]) / whole) for name in spent.PARTS if any(ab := means(name))]
    grown = {part.name: part for part in parts if part.difference > 0}
    causes = []
    foretold = dict.fromkeys(grown, 0.0)
    names = dict.fromkeys(name for x, y in pairs for name in x.work if name in y.work)
    for name in names:
        paid = _paid(name)
        one, other = fmean(x.work.get(name, 0.0) for x, _ in pairs), fmean(y.work.get(name, 0.0) for _, y in pairs)
        if other <= one or not paid:
            continue
        explained = {p: _foretold(grown[p], one, other) for p in paid if p in grown}
        if all(name in y.own for _, y in pairs):
            explained = {p: min(ns, _own_growth(name, p, pairs)) for p, ns in explained.items()}
        for p, ns in explained.items():
            foretold[p] = max(foretold[p], ns)
        total = sum(explained.values())
        if total / whole >= _LEAST_SHARE:
            most = max(explained, key=lambda p: explained[p])
            unit = units.get(name) or content.SERIES.get(name, ("", "count"))[1]
            causes.append(Cause(_title(name), unit, one, other, total, total / whole, most))
    for name in dict.fromkeys(name for x, y in pairs for name in x.beside if name in y.beside):
        one, other = fmean(x.beside.get(name, 0.0) for x, _ in pairs), fmean(y.beside.get(name, 0.0) for _, y in pairs)
        if (other - one) / whole >= _LEAST_SHARE:
            causes.append(Cause(name, "ns", one, other, other - one, (other - one) / whole, "beside", True))
    causes.sort(key=lambda c: (c.beside, -c.ns))
    growth = sum(part.difference for part in grown.values())
    lacking = growth - sum(foretold.values())
    return parts, causes, lacking / growth if growth else 1.0


def _paid(name: str) -> tuple[str, ...]:
    if ":" in name:
        return () if name.startswith(_NO_WORK) else _DRAWN
    return _WORK.get(name, ())


def _foretold(part: Part, a: float, b: float) -> float:
    # Work that is new has all the time that came with it; work that grew has the cost of its growth at the old price.
    # Where the old price cannot be seen (all of it was in waits for drawing), the new price counts.
    if not a:
        return part.difference
    return min(part.a * (b / a - 1), part.difference) if part.a else part.difference * (b - a) / b


def _own_growth(name: str, part: str, pairs: Sequence[tuple[Frame, Frame]]) -> float:
    """Return how much longer the calls of some work took themselves, in one part."""
    return max(0.0, fmean(y.own[name].get(part, 0.0) - x.own.get(name, {}).get(part, 0.0) for x, y in pairs))


def _title(name: str) -> str:
    return _TITLES.get(name, content.SERIES.get(name, (name, "")))[0]


def _doubts(a: Side, b: Side, parts: Sequence[Part], slow: Sequence[tuple[Frame, Frame]]) -> list[str]:
    """Return what the times of calls cannot tell, of the parts that hold the difference."""
    share = {p.name: p.share for p in parts}
    notes = []
    if share.get(spent.DRAWN, 0) + share.get(spent.UNCLEAR, 0) >= _LEAST_SHARE:
        names = sorted(b.waited, key=lambda n: -b.waited[n])[:3]
        notes.append(f"the driver put drawing off; these calls waited for it: {', '.join(names)}")
    if share.get(spent.UNCLEAR, 0) >= _LEAST_SHARE:
        notes.append("copies follow draws: their own work and the drawing are inseparable")
    if share.get(spent.OUTSIDE, 0) >= _LEAST_SHARE and b.short:
        notes.append(b.short)
    drawing = sum(share.get(p, 0) for p in (spent.DRAWS, spent.VERTICES, spent.DRAWN, spent.UNCLEAR, spent.SHOW))
    if drawing >= _EXPLAINS:
        if a.shaders != b.shaders:
            notes.append("the shaders differ: drawtap shaders shows the work of each")
        changes = [n for n in ("state_calls", "binds", "uniforms") if _grew(n, slow, 2)]
        if share.get(spent.DRAWS, 0) >= _LEAST_SHARE and changes:
            titles = " and ".join(_title(n) for n in changes)
            notes.append(f"drivers apply new state in the next draw: the draws include the cost of more {titles}")
    return notes


def _grew(name: str, slow: Sequence[tuple[Frame, Frame]], times: float) -> bool:
    one, other = (fmean(pair[side].work.get(name, 0.0) for pair in slow) for side in (0, 1))
    return other > times * one


def _verdict(parts: Sequence[Part], causes: Sequence[Cause], unexplained: float, same: bool) -> str:
    heaviest = max(parts, key=lambda p: p.share)
    where = f"{100 * heaviest.share:.0f} % of the difference is: {heaviest.name}"
    best = next((c for c in causes if not c.beside), None)
    if best is not None and best.share >= _EXPLAINS:
        times = f"{best.b / best.a:.1f} times as many" if best.a else "A has none"
        if best.unit == "bytes" and best.a:
            times = f"{best.b / best.a:.1f} times as much"
        rest = f"; {100 * unexplained:.0f} % of what grew is not explained" if unexplained > 0.2 else ""
        return f"{best.name} ({times}) explain {100 * min(best.share, 1):.0f} % of the difference, in {best.paid}{rest}"
    if heaviest.name == spent.OUTSIDE:
        share = 100 * heaviest.share
        return f"nothing that was measured explains it: {share:.0f} % of the difference is outside of the API"
    if same:
        return f"nothing of the work explains it: both sides do the same, and B takes longer for it; {where}"
    return f"nothing that was measured explains most of it; {where}"
