"""Why frames are slower on one side than on the other: where their time went, and which of their work grew with it.

The time of a frame is the sum of its parts: what the thread that shows frames spent in draws, uploads, state changes
and so on, and outside of the API. The difference between two frames is therefore the sum of the differences of parts,
exactly. What a frame does (triangles, fragments, bytes, redundant calls) is held against the part that it is paid in:
were the part to grow as its work does, this much of the difference would come of it. Metrics of one part exclude each
other, so their shares do not add up; what no metric of a part foretells is told as unexplained. Times that run beside
(the GPU's) are shown, but are in no sum.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from drawtap.errors import UsageError
from drawtap.trace import measured

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

DRAWS, UPLOADS, STATE, COMPILES = "draws and clears", "uploads", "state changes", "compiles and links"
WAITS, SHOW, OTHER, OUTSIDE = "waits and read-backs", "showing the frame", "other calls", "outside of the API"
PARTS = (DRAWS, UPLOADS, STATE, COMPILES, WAITS, SHOW, OTHER, OUTSIDE)

#: What is paid in which part. Drivers that put drawing off draw when the frame is shown or waited for.
_DRAWN = (DRAWS, SHOW, WAITS)
_WORK: Mapping[str, tuple[str, ...]] = {
    "draws": _DRAWN,
    "triangles": _DRAWN,
    "vertices": _DRAWN,
    "clears": _DRAWN,
    "dispatches": _DRAWN,
    "state_calls": (STATE,),
    "binds": (STATE,),
    "uniforms": (STATE,),
    "matrix_operations": (STATE,),
    "redundant": (STATE, OTHER),
    "texture_uploads": (UPLOADS,),
    "texels": (UPLOADS,),
    "texture_bytes": (UPLOADS,),
    "buffer_uploads": (UPLOADS,),
    "buffer_bytes": (UPLOADS,),
    "mapped_bytes": (OUTSIDE,),
    "client_bytes": _DRAWN,
    "compiles": (COMPILES, DRAWS),
    "links": (COMPILES, DRAWS),
    "readbacks": (WAITS,),
    "readback_bytes": (WAITS,),
    "waits": (WAITS,),
    "flushes": (WAITS, OTHER),
    "queries": (OTHER, WAITS),
    "created_objects": (OTHER,),
    "deleted_objects": (OTHER,),
    "framebuffer_binds": (STATE, *_DRAWN),
    "calls": (STATE, OTHER),
}
_TITLES = {"redundant": ("redundant calls", "count")}
#: Metrics of drawing are paid in drawing, whatever back-end tells them; those of the processor are no work.
_NO_WORK = ("cpu:", "perf:", "drm:", "nvml:")

_CALLS = """
SELECT c.frame, CASE
    WHEN contains(f.flags, 'draw,') OR f.flags IN ('draw', 'clear', 'dispatch') OR f.category IN ('draw', 'clear')
      THEN '{draws}'
    WHEN contains(f.flags, 'frame_end') THEN '{show}'
    WHEN contains(f.flags, 'upload') AND NOT contains(f.name, 'Shader') AND f.category = 'upload' THEN '{uploads}'
    WHEN regexp_matches(f.name, '^gl(Compile|Link|ShaderSource|CreateProgram|ProgramBinary)') THEN '{compiles}'
    WHEN regexp_matches(f.flags, 'finish|sync|readback|flush') THEN '{waits}'
    WHEN f.category = 'state' THEN '{state}' ELSE '{other}' END AS part, {time}
FROM {source}
GROUP BY c.frame, part
"""
_NAMES = {
    "draws": DRAWS, "show": SHOW, "uploads": UPLOADS, "compiles": COMPILES, "waits": WAITS, "state": STATE,
    "other": OTHER,
}  # fmt: skip


@dataclass(frozen=True)
class Frame:
    """A frame of one side: its time (ns), the parts of it, its work by name, and times beside (ns)."""

    time: float
    parts: Mapping[str, float]
    work: Mapping[str, float]
    beside: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Side:
    """Frames by number; `name` is what it is, `times` where its times come from."""

    name: str
    times: str
    frames: Mapping[int, Frame]
    units: Mapping[str, str] = field(default_factory=dict)


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

    `paid` names the part that holds most of it. Of a time that runs beside `ns` is its growth, and `beside` is set.
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
    """What came of it. `unexplained` is the share of the difference that no work foretells; `verdict` in one line."""

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
    times = _recorded_times(trace)
    main = trace.sql(
        "SELECT c.thread FROM calls c JOIN functions f ON f.id = c.fn WHERE contains(f.flags, 'frame_end') "
        "GROUP BY c.thread ORDER BY count(*) DESC LIMIT 1"
    ).fetchall()
    source = "calls c JOIN functions f ON f.id = c.fn WHERE c.duration IS NOT NULL"
    source += f" AND c.thread = {int(str(main[0][0]))}" if main else ""
    inside = _by_part(trace, source, "sum(c.duration)::DOUBLE")
    work, beside, units = _work(trace, None)
    frames = {
        number: Frame(time, _whole(inside.get(number, {}), time), work.get(number, {}), beside.get(number, {}))
        for number, time in times.items()
    }
    return Side(trace.path.name, "as recorded", frames, units)


def _recorded_times(trace: Trace) -> dict[int, float]:
    found = {}
    for row in trace.table("frames"):
        time = row["interval"] if row["interval"] is not None else row["duration"]
        if row["end_function"] and isinstance(time, int):
            found[int(str(row["frame"]))] = float(time)
    if not found:
        raise UsageError(
            f"{trace.path.name} has no times of frames", hint="record --timing both, or play both sides: --on ENGINE"
        )
    return found


@dataclass(frozen=True)
class Readings:
    """What a replay measured, in ns: `times` by frame, `calls` by call (seq); by metric and frame `beside` (times) and
    `work` (all else). `units` are by metric."""

    times: Mapping[int, float]
    calls: Mapping[int, float]
    beside: Mapping[str, Mapping[int, float]]
    work: Mapping[str, Mapping[int, float]]
    units: Mapping[str, str]


def played(trace: Trace, name: str, readings: Readings) -> Side:
    """Return the frames of a recording with times of a replay."""
    inside: dict[int, dict[str, float]] = {}
    for frame, part, total in _parts_of(trace, readings.calls):
        inside.setdefault(frame, {})[part] = total
    counted, _, known = _work(trace, None)
    frames = {}
    for number, time in readings.times.items():
        mine = {**counted.get(number, {}), **{m: v[number] for m, v in readings.work.items() if number in v}}
        aside = {m: v[number] for m, v in readings.beside.items() if number in v}
        frames[number] = Frame(time, _whole(inside.get(number, {}), time), mine, aside)
    return Side(name, "as played", frames, {**known, **readings.units})


def profiled(trace: Trace, run: int) -> Side:
    """Return the frames of a recording with the times that a run of drawtap profile measured.

    Raises UsageError where there is no such run, or it has no times of frames.
    """
    if not measured.files(trace.path):
        raise UsageError(f"nothing was measured of {trace.path.name}", hint=f"drawtap profile {trace.path}")
    runs = [int(str(r)) for (r,) in trace.sql("SELECT DISTINCT run FROM metrics WHERE run IS NOT NULL ORDER BY run")]
    if run not in runs:
        raise UsageError(f"there is no run {run}", hint=f"runs of drawtap profile --add: {', '.join(map(str, runs))}")
    work, beside, units = _work(trace, run)
    clock = next((m for m in ("cpu:time/wall", "gl:time/elapsed") if any(m in v for v in beside.values())), None)
    if clock is None:
        raise UsageError(f"run {run} has no times of frames", hint="drawtap profile --metrics cpu:time/wall --add")
    times = {number: values[clock] for number, values in beside.items() if clock in values}
    per = "call" if _any(trace, run, "call", clock) else "draw"
    calls = {
        int(str(seq)): float(str(value))
        for seq, value in trace.sql(
            "SELECT seq, value FROM metrics WHERE run = $run AND per = $per AND name = $name AND value IS NOT NULL",
            {"run": run, "per": per, "name": clock},
        )
    }
    inside: dict[int, dict[str, float]] = {}
    for frame, part, total in _parts_of(trace, calls):
        inside.setdefault(frame, {})[part] = total
    frames = {
        number: Frame(
            time,
            _whole(inside.get(number, {}), time),
            work.get(number, {}),
            {m: v for m, v in beside.get(number, {}).items() if m != clock},
        )
        for number, time in times.items()
    }
    [(on,)] = trace.sql("SELECT any_value(engine) FROM metrics WHERE run = $run", {"run": run}).fetchall()
    return Side(f"{trace.path.name}, run {run} ({on})", f"{clock} of run {run}", frames, units)


def _any(trace: Trace, run: int, per: str, name: str) -> bool:
    return bool(
        trace.sql(
            "SELECT 1 FROM metrics WHERE run = $run AND per = $per AND name = $name LIMIT 1",
            {"run": run, "per": per, "name": name},
        ).fetchall()
    )


def _by_part(trace: Trace, source: str, time: str) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for frame, part, total in trace.sql(_CALLS.format(source=source, time=time, **_NAMES)):
        if frame is not None:
            found.setdefault(int(str(frame)), {})[str(part)] = float(str(total))
    return found


def _parts_of(trace: Trace, calls: Mapping[int, float]) -> Iterable[tuple[int, str, float]]:
    if not calls:
        return
    source = (
        "(SELECT unnest($seqs::UBIGINT[]) AS seq, unnest($ns::DOUBLE[]) AS ns) m JOIN calls c ON c.seq = m.seq "
        "JOIN functions f ON f.id = c.fn WHERE true"
    )
    question = _CALLS.format(source=source, time="sum(m.ns)::DOUBLE", **_NAMES)
    for frame, part, total in trace.sql(question, {"seqs": list(calls), "ns": list(calls.values())}):
        if frame is not None:
            yield int(str(frame)), str(part), float(str(total))


def _whole(inside: Mapping[str, float], time: float) -> dict[str, float]:
    return {**inside, OUTSIDE: time - sum(inside.values())}


def _work(
    trace: Trace, run: int | None
) -> tuple[dict[int, dict[str, float]], dict[int, dict[str, float]], dict[str, str]]:
    """Return what each frame does, times that were measured beside, and units by name.

    For None each metric is told by the last run that has it.
    """
    from drawtap.analysis import content

    work: dict[int, dict[str, float]] = {}
    beside: dict[int, dict[str, float]] = {}
    units = {name: unit for name, (_, unit) in content.SERIES.items()} | {"redundant": "count"}
    for row in content.frame_stats(trace):
        number = int(str(row["frame"]))
        work[number] = {name: float(str(row[name])) for name in _WORK if isinstance(row.get(name), int | float)}
    for frame, count in trace.sql(
        "SELECT c.frame, count(*) FROM redundancy r JOIN calls c ON c.seq = r.seq GROUP BY c.frame"
    ):
        if frame is not None and int(str(frame)) in work:
            work[int(str(frame))]["redundant"] = float(str(count))
    if measured.files(trace.path):
        which = "QUALIFY run = max(run) OVER (PARTITION BY name)" if run is None else f"AND run = {int(run)}"
        for name, unit, frame, value in trace.sql(
            "SELECT name, unit, frame, value FROM metrics WHERE per = 'frame' AND value IS NOT NULL "
            f"AND name NOT LIKE '%/start' {which}"
        ):
            units[str(name)] = str(unit)
            table = beside if unit == "ns" else work
            table.setdefault(int(str(frame)), {})[str(name)] = float(str(value))
    return work, beside, units


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
    if frames is None and len(numbers) > 1 and numbers[0] == 0:
        numbers = numbers[1:]
        notes.append("frame 0, which loads, is left out: --frames 0:1 compares it")
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
    same = all(_equal(x.work, y.work) for x, y in slow.values())
    left = len(a.frames.keys() ^ b.frames.keys())
    if left and frames is None:
        notes.append(f"{left} frames are only on one side: frames are paired by number")
    verdict = f"none of {len(numbers)} frames is slower"
    if slow:
        verdict = _verdict(parts, causes, unexplained, same)
    return Explanation(
        a, b, numbers, threshold, sorted(single, key=lambda f: f.a - f.b), faster, parts, causes, unexplained,
        verdict, same, notes,
    )  # fmt: skip


def _slower(a: float, b: float, threshold: float) -> bool:
    return b - a > max(threshold * a, _LEAST_NS)


def _equal(a: Mapping[str, float], b: Mapping[str, float]) -> bool:
    return all(a[name] == b[name] for name in a.keys() & b.keys())


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


def _sums(pairs: Sequence[tuple[Frame, Frame]], units: Mapping[str, str]) -> tuple[list[Part], list[Cause], float]:
    """Return the parts, the ranked causes and the unexplained share of the mean of some pairs of frames."""
    if not pairs:
        return [], [], 0.0
    whole = _mean(y.time - x.time for x, y in pairs)

    def means(name: str) -> tuple[float, float]:
        return _mean(x.parts.get(name, 0.0) for x, _ in pairs), _mean(y.parts.get(name, 0.0) for _, y in pairs)

    parts = [Part(name, *ab, (ab[1] - ab[0]) / whole) for name in PARTS if any(ab := means(name))]
    grown = {part.name: part for part in parts if part.difference > 0}
    causes = []
    foretold = dict.fromkeys(grown, 0.0)
    names = dict.fromkeys(name for x, y in pairs for name in x.work if name in y.work)
    for name in names:
        paid = _paid(name)
        one, other = _mean(x.work.get(name, 0.0) for x, _ in pairs), _mean(y.work.get(name, 0.0) for _, y in pairs)
        if other <= one or not paid:
            continue
        explained = {p: _foretold(grown[p], one, other) for p in paid if p in grown}
        for p, ns in explained.items():
            foretold[p] = max(foretold[p], ns)
        total = sum(explained.values())
        if total / whole >= _LEAST_SHARE:
            most = max(explained, key=lambda p: explained[p])
            causes.append(Cause(_title(name), units.get(name) or _unit(name), one, other, total, total / whole, most))
    for name in dict.fromkeys(name for x, y in pairs for name in x.beside if name in y.beside):
        one, other = _mean(x.beside.get(name, 0.0) for x, _ in pairs), _mean(y.beside.get(name, 0.0) for _, y in pairs)
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
    # What was not there before has all that came with it; what grew has what it would cost at the old price.
    return part.difference if not a else min(part.a * (b / a - 1), part.difference)


def _unit(name: str) -> str:
    from drawtap.analysis import content

    return content.SERIES.get(name, ("", "count"))[1]


def _title(name: str) -> str:
    from drawtap.analysis import content

    return _TITLES.get(name, content.SERIES.get(name, (name, "")))[0]


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
    if heaviest.name == OUTSIDE:
        share = 100 * heaviest.share
        return f"nothing that was measured explains it: {share:.0f} % of the difference is outside of the API"
    if same:
        return f"nothing of the work explains it: both sides do the same, and B takes longer for it; {where}"
    return f"nothing that was measured explains most of it; {where}"


__all__ = ["Cause", "Explanation", "Frame", "Part", "Side", "SlowFrame", "explain", "played", "profiled", "recorded"]
