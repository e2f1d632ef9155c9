"""Check synthetic programs against their requests: compile, record, play and measure them by the same features.

Features of calls are counted (analysis.synthesis_counts); fragments, fetches and culled triangles are measured while
the recording is played, with whatever back-end can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from drawtap.analysis import content
from drawtap.analysis.fetches import of_programs
from drawtap.analysis.synthesis_counts import counted
from drawtap.analysis.synthesis_request import FEATURES, TOLERANCE, Request
from drawtap.capture import launch
from drawtap.errors import ChildError, DrawtapError, InputError, UnavailableError
from drawtap.instrument.compile import CompileError, compile_c_program
from drawtap.metrics import listing, passes, profile
from drawtap.metrics.metric import Metric
from drawtap.replay import engine
from drawtap.scratch import Scratch
from drawtap.tables.recording import FrameRow
from drawtap.trace.trace import Trace, open_trace

#: Metrics that tell a feature, the best first; what a driver counts as runs of shaders may have helpers in it.
METRICS: Mapping[str, tuple[str, ...]] = {
    "fragments": ("fragments:count/generated", "gl:pipeline/fragment_shader_invocations"),
    "texture_fetches": ("fragments:texture/fetches",),  # or else _fetches
    "backface_culled": ("geometry:primitives/backface_culled",),
    "frustum_culled": ("geometry:primitives/frustum_culled",),
}


@dataclass(frozen=True)
class Measured:
    """Features of a recording: `values` by name; `missing` has the reason of a missing one, `sources` the source of
    each."""

    values: Mapping[str, float]
    missing: Mapping[str, str]
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """One feature held against its request. `difference` is relative; None where it was not measured: see `why`."""

    feature: str
    asked: float
    measured: float | None
    source: str = ""
    why: str = ""

    @property
    def difference(self) -> float | None:
        """Return by which part of the request the program is off."""
        if self.measured is None:
            return None
        if not self.asked:
            return 0.0 if not self.measured else float("inf")
        return (self.measured - self.asked) / self.asked

    def met(self, tolerance: float) -> bool | None:
        """Tell whether it is within the tolerance; None where it was not measured."""
        return None if self.difference is None else abs(self.difference) <= tolerance + 1e-12


@dataclass(frozen=True)
class Checked:
    """The result of a check. `how` says what was measured: the compiled program, or its calls played back."""

    rows: Sequence[Row]
    how: str
    notes: Sequence[str] = ()
    tolerance: float = TOLERANCE

    @property
    def met(self) -> bool:
        """Tell whether all that was measured is within the tolerance."""
        return all(row.met(self.tolerance) is not False for row in self.rows)


def measure(
    trace: Trace, wanted: Iterable[str], *, frames: range | None = None, engine_name: str = "system", play: bool = True
) -> Measured:
    """Return the features `wanted` of a recording, as means over `frames` (None: all but those that load).

    Without `play` only what its calls tell. Raises UsageError where there are no such frames.
    """
    names = list(wanted)
    values = {name: value for name, value in counted(trace, frames).items() if name in names}
    sources = dict.fromkeys(values, "calls")
    missing: dict[str, str] = {}
    played = [name for name in names if name in METRICS]
    if played and not play:
        missing = dict.fromkeys(played, "nothing was played")
    elif played:
        count = sum(1 for f in trace.table(FrameRow) if f["end_function"])
        first = min(content.loading(content.frame_stats(trace)), count - 1)
        within = frames if frames is not None else range(first, count)
        readings, missing = _play(trace, played, within, engine_name)
        values |= {name: value for name, (value, _) in readings.items()}
        sources |= {name: id_ for name, (_, id_) in readings.items()}
    return Measured(values, missing, sources)


def _play(
    trace: Trace, names: Sequence[str], frames: range, engine_name: str
) -> tuple[dict[str, tuple[float, str]], dict[str, str]]:
    """Return what playing tells of features, with the ids of the metrics; and why it does not tell the rest."""
    missing: dict[str, str] = {}
    try:
        environment = engine.environment_of(engine_name)
        known = listing.metrics(trace.path, environment=environment)
    except (UnavailableError, ChildError, InputError) as error:
        return {}, dict.fromkeys(names, f"it could not be played: {error}")
    chosen: dict[str, Metric] = {}
    readings: dict[str, tuple[float, str]] = {}
    for name in names:
        there, why = _best(known, METRICS[name])
        if there is None and name == "texture_fetches":
            try:
                value = _fetches(trace, frames, known, environment)
                readings[name] = (value, f"{_GENERATED} and the shaders' sources")
            except (UnavailableError, ChildError) as error:
                missing[name] = str(error)
        elif there is None:
            missing[name] = why
        else:
            chosen[name] = there
    if not chosen:
        return readings, missing
    try:
        plan = passes.plan(
            trace.path, list(chosen.values()), ["frame"], environment=environment, frame_end=trace.frame_end
        )
        wanted = profile.ProfileOptions(frames, images=False)
        rows, _ = profile.readings(trace, plan, wanted, environment=environment)
    except (UnavailableError, ChildError) as error:
        return readings, missing | dict.fromkeys(chosen, str(error))
    refused = {metric.id: why for metric, why in plan.refused}
    for name, metric in chosen.items():
        values = [row.value for row in rows if row.metric == metric.id]
        if values and None not in values:
            readings[name] = (sum(v or 0.0 for v in values) / len(values), metric.id)
        else:
            notes = [row.note for row in rows if row.metric == metric.id and row.value is None and row.note]
            lacking = sum(row.metric == metric.id and row.value is None for row in rows)
            why = notes[0] if notes else "gave no value"
            missing[name] = refused.get(metric.id) or f"{metric.id}: {why} ({lacking} of {len(values)} frames)"
    return readings, missing


_GENERATED = "fragments:count/generated"


def _fetches(trace: Trace, frames: range, known: Sequence[Metric], environment: Mapping[str, str]) -> float:
    """Return the texture reads of a frame: fragments of each draw, times the reads of a run of its shader.

    Raises UnavailableError where fragments cannot be counted, or a shader's source does not tell its reads.
    """
    metric = next((m for m in known if m.id == _GENERATED), None)
    if metric is None or metric.missing:
        raise UnavailableError(f"{_GENERATED}: {metric.missing if metric else 'there is no such back-end'}")
    reads = of_programs(trace)
    programs = {
        int(seq): int(program)
        for seq, program in trace.sql("SELECT seq, program FROM draws WHERE kind = 'draw' AND program IS NOT NULL")
    }
    if not any(isinstance(count, str) or count for count in reads.values()):
        return 0.0
    plan = passes.plan(trace.path, [metric], ["draw"], environment=environment, frame_end=trace.frame_end)
    rows, _ = profile.readings(trace, plan, profile.ProfileOptions(frames, images=False), environment=environment)
    total = 0.0
    for row in rows:
        if row.seq not in programs:
            continue  # a clear
        count = reads.get(programs[row.seq], "its shader is not known")
        if isinstance(count, str):
            raise UnavailableError(f"program {programs[row.seq]}: {count}")
        if count and row.value is None:
            why = f": {row.note}" if row.note else ""
            raise UnavailableError(f"the fragments of call {row.seq} could not be counted{why}")
        total += count * (row.value or 0.0)
    return total / max(len(frames), 1)


def _best(known: Sequence[Metric], patterns: Iterable[str]) -> tuple[Metric | None, str]:
    why = ""
    for pattern in patterns:
        for metric in known:
            if metric.id == pattern:
                if not metric.missing:
                    return metric, ""
                why = why or f"{metric.id}: {metric.missing}"
    return None, why or f"no back-end has it ({', '.join(patterns)})"


def check(
    folder: Path,
    recording: Path,
    request: Request,
    *,
    engine_name: str = "system",
    tolerance: float = TOLERANCE,
    compiled: bool = True,
) -> Checked:
    """Measure the program whose C source is in `folder` and whose calls are in `recording`.

    It is compiled and recorded, and that recording is measured; where there is no compiler, or with `compiled` off,
    the calls are played instead, and the result says so.
    """
    notes: list[str] = []
    if compiled:
        try:
            with Scratch() as work:
                made = _recorded(folder, Path(work), engine_name)
                with open_trace(made) as trace:
                    rows = _held(trace, request, engine_name)
                return Checked(rows, "the compiled program, recorded and played", (), tolerance)
        except (UnavailableError, CompileError) as error:
            notes.append(f"it was not compiled, its calls were played: {str(error).splitlines()[0]}")
    with open_trace(recording) as trace:
        return Checked(_held(trace, request, engine_name), "its calls, played", tuple(notes), tolerance)


def _recorded(folder: Path, work: Path, engine_name: str) -> Path:
    program, target = work / "play", work / "play.dtap"
    compile_c_program(folder, program)
    done = launch.record([str(program)], target, settings=engine.environment_of(engine_name))
    if done.code or not target.exists():
        raise ChildError(f"the program ended with {done.code}", hint=f"make -C {folder} && {folder}/play")
    return target


def _held(trace: Trace, request: Request, engine_name: str) -> list[Row]:
    measured = measure(trace, request.asked, frames=range(1, request.frames + 1), engine_name=engine_name)
    return [
        Row(name, asked, measured.values.get(name), measured.sources.get(name, ""), measured.missing.get(name, ""))
        for name, asked in request.asked.items()
    ]


def request_of(
    trace: Trace, *, frames: range | None = None, engine_name: str = "system", out_frames: int = 30, play: bool = True
) -> tuple[Request, Measured]:
    """Return what a recording does as a request, and what was measured of it.

    Features that it lacks are not requested; what could not be measured neither (`Measured.missing` says why).
    """
    measured = measure(trace, FEATURES, frames=frames, engine_name=engine_name, play=play)
    asked = {name: value for name, value in measured.values.items() if value}
    if not asked:
        raise DrawtapError(f"{trace.path.name} draws and changes nothing in these frames: there is nothing to repeat")
    for name in ("draws", "triangles", "clears"):
        asked.setdefault(name, 0.0)
    width, height = content.surface(trace) or (640, 480)
    return Request(asked, width, height, out_frames, title=f"like {trace.path.name}"), measured
