"""`drawtap profile`: measure a recording while it is played."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, Options, command
from drawtap.errors import UnavailableError, UsageError, check_target
from drawtap.output.result import Rows, Sheets
from drawtap.tables.recording import FrameRow
from drawtap.trace.apis import is_vulkan
from drawtap.trace.ranges import FRAMES_HELP

if TYPE_CHECKING:
    from drawtap.metrics.passes import Plan, Range
    from drawtap.metrics.profile import Profile, ProfileOptions
    from drawtap.metrics.sets import Set
    from drawtap.trace.trace import Trace

_ROOM = 84  # characters of a description that a line of the list shows
_PER = ("call", "draw", "frame", "range", "group", "pass")


@dataclass(frozen=True)
class Choice(Options):
    """Metrics to measure."""

    metrics: Annotated[
        tuple[str, ...], Opt("Ids and patterns, separated by commas; --list lists them.", "-m", "IDS")
    ] = ()
    set: Annotated[
        str | None, Opt("A set of metrics: overview, pipeline, content, cpu, or one of --sets.", metavar="NAME")
    ] = None
    sets: Annotated[Path | None, Opt("A TOML file with sets of metrics.", metavar="FILE")] = None

    def asked(self, *, vulkan: bool) -> Set:
        """Return the named set for a recording, with the other requests beside it; without either, the usual one."""
        from drawtap.metrics import sets

        chosen = sets.read(self.set, self.sets) if self.set or not self.metrics else sets.Set("", ())
        chosen = chosen.of(vulkan=vulkan)
        return replace(chosen, metrics=(*chosen.metrics, *self.words()))

    def words(self) -> tuple[str, ...]:
        """Return the ids and patterns of --metrics."""
        words = (word.strip() for text in self.metrics for word in text.split(","))
        return tuple(filter(None, words))


@command(
    section="replay",
    examples=(
        "drawtap profile --list                     # what can be measured here, and why the rest cannot",
        "drawtap profile game.dtap --list --available --on zink",
        "drawtap profile game.dtap",
        "drawtap profile game.dtap --metrics 'gl:time/*,cpu:time/wall' --per frame,draw --repeat 5",
        "drawtap profile game.dtap --metrics 'amd:*' --plan",
        "drawtap profile game.dtap --per pass --metrics gl:time/elapsed -o passes.csv",
        "drawtap profile game.dtap --set overview --sets mine.toml --frames 100:110 --restart",
        "drawtap sql game.dtap \"SELECT seq, value FROM metrics WHERE per = 'draw' ORDER BY value DESC LIMIT 10\"",
    ),
)
def profile(
    trace: Trace | None = None,
    *,
    list: Annotated[bool, Opt("List what can be measured here, or in the contexts of FILE.")] = False,  # noqa: A002
    available: Annotated[bool, Opt("With --list: leave out what cannot be measured here.")] = False,
    choice: Choice,
    per: Annotated[
        str | None,
        Opt(
            "For what: some of call, draw, frame, group (debug groups), pass (draws to one render target), range "
            "(groups, passes and --range).  [default: frame]",
            metavar="WORDS",
        ),
    ] = None,
    range: Annotated[  # noqa: A002 - the word of the command line
        tuple[str, ...], Opt("A range of your own: NAME=CALLS, as load=0:500 or menu=#3-9.", metavar="NAME=RANGE")
    ] = (),
    repeat: Annotated[int | None, Opt("Play each pass so often: medians and spreads.  [default: 1]", "-r", "N")] = None,
    frames: Annotated[str | None, Opt(FRAMES_HELP, metavar="RANGE")] = None,
    on: Annotated[str, Opt("The engine; drawtap replay --engines lists them.", metavar="ENGINE")] = "system",
    plan: Annotated[bool, Opt("Show in which passes it would be measured, and stop.")] = False,
    restart: Annotated[
        bool, Opt("Play the frames again for each pass, in one process, instead of the whole recording.")
    ] = False,
    isolate: Annotated[
        bool, Opt("Finish before and after each draw, so that nothing of it happens later: slow, and never overlapped.")
    ] = False,
    no_images: Annotated[bool, Opt("Do not compare what the passes show.")] = False,
    add: Annotated[bool, Opt("Keep what earlier runs measured (column run).")] = False,
    output: Annotated[
        Path | None, Opt("Write what was measured here too: .csv, .parquet or .json.", "-o", "FILE")
    ] = None,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Sheets:
    """Measure frames, draws, calls or ranges of a recording.

    Metrics that the driver does not count at once go into several passes; each plays the recording from its beginning.
    The results are the table metrics of the recording: SQL joins it with calls, draws and state by seq, and drawtap
    report draws it. Results are fetched later, so no measured part waits for them. No number includes the time of
    measuring. If the program uses a query of the same kind, drawtap's steps aside, with a note in that row. The exit
    code is 1 if passes showed different images.

    Metrics have names that stay: back-end:group/metric. With --list drawtap asks the driver in contexts of its own,
    or in the contexts of the recording's first frame. Long descriptions are cut; --json has them whole.
    """
    from drawtap.metrics import listing, passes
    from drawtap.metrics import profile as measuring
    from drawtap.replay import engine
    from drawtap.trace.ranges import frames_of

    if list:
        return _listed(None if trace is None else trace.path, choice.words(), on, available=available)
    if available:
        raise UsageError("--available is about the list of metrics", hint="--list --available")
    if trace is None:
        raise UsageError("which recording?", hint="drawtap profile FILE; --list lists what can be measured")
    if output is not None:
        measuring.writer(output)
        check_target(output, force=force)
    if repeat is not None and repeat < 1:
        raise UsageError(f"--repeat {repeat} makes no sense", hint="--repeat 1 plays each pass once")
    vulkan = is_vulkan(trace)
    asked = choice.asked(vulkan=vulkan)
    boundaries = _boundaries(per, asked.per)
    _check(boundaries, restart=restart, isolate=isolate, vulkan=vulkan)
    within = None if frames is None else frames_of(trace, frames)
    environment = engine.environment_of(on)
    chosen = listing.chosen(listing.metrics(trace.path, environment=environment), asked.metrics)
    own = _ranges(trace, range)
    places = _places(boundaries, own, vulkan=vulkan)
    made = passes.plan(trace.path, chosen, sorted(places), environment=environment, frame_end=trace.frame_end)
    if plan:
        return _plan(made)
    ranges = _all_ranges(trace, [] if vulkan else boundaries, own, within) if "range" in places else ()
    wanted = measuring.ProfileOptions(within, repeat or asked.repeat, restart, isolate, not no_images, add, ranges)
    done = measuring.profile(trace, made, wanted, environment=environment)
    if output is not None:
        measuring.export(done.path, output)
    return _result(done, wanted, [one.name for one in own if one not in wanted.ranges])


def _places(boundaries: Sequence[str], own: Sequence[Range], *, vulkan: bool) -> set[str]:
    """Return what the player tells apart: render passes of OpenGL are ranges of calls, those of Vulkan run."""
    places = {"range" if word == "group" or (word == "pass" and not vulkan) else word for word in boundaries}
    if own and "range" not in places:
        raise UsageError("--range names ranges that nothing is measured for", hint="--per range")
    return places


def _check(boundaries: Sequence[str], *, restart: bool, isolate: bool, vulkan: bool) -> None:
    """Raise UnavailableError for options that recordings of Vulkan do not have."""
    if not vulkan:
        return
    if "group" in boundaries:
        raise UnavailableError("debug groups of Vulkan are not measured yet", hint="--per pass, or draw: sum up by seq")
    if restart:
        raise UnavailableError(
            "frames of Vulkan cannot be played again alone", hint="without --restart each pass plays all"
        )
    if isolate:
        raise UnavailableError("draws of Vulkan cannot be isolated: they run in command buffers", hint="--per pass")


def _listed(recording: Path | None, words: Sequence[str], on: str, *, available: bool) -> Sheets:
    from drawtap.metrics import listing
    from drawtap.replay import engine

    offers = listing.metrics(recording, environment=engine.environment_of(on))
    if words:
        offers = listing.named(offers, words)
    shown = [m for m in offers if not (available and m.missing)]
    columns = ("metric", "here", "unit", "kind", "description", "why not")
    here = [
        (m.id, m.unit, m.kind, textwrap.shorten(m.description, _ROOM, placeholder=" …")) for m in shown if not m.missing
    ]
    every = [(m.id, "no" if m.missing else "yes", m.unit, m.kind, m.description, m.missing) for m in shown]
    return Sheets(
        [
            Rows(("metric", "unit", "kind", "description"), here, title="measured here"),
            Rows(("metric", "why not"), [(m.id, m.missing) for m in shown if m.missing], title="not here"),
        ],
        [dict(zip(columns, row, strict=True)) for row in every],
        [f"{sum(not m.missing for m in offers)} of {len(offers)} can be measured here; --json has descriptions whole"],
    )


def _inside(trace: Trace, ranges: Sequence[Range], within: Iterable[int] | None) -> list[Range]:
    """Return the ranges that lie wholly in the frames that are measured: a part of one would be a wrong number."""
    numbers = set(within or ())
    shown = [row for row in trace.table(FrameRow) if row["end_function"] and row["frame"] in numbers]
    if not shown:
        return list(ranges)
    first, end = int(shown[0]["first_seq"]), int(shown[-1]["end_seq"])
    return [one for one in ranges if first <= one.begin and one.end <= end]


def _all_ranges(
    trace: Trace, boundaries: Sequence[str], own: Sequence[Range], within: Iterable[int] | None
) -> list[Range]:
    from drawtap.metrics import profile as measuring

    named = measuring.ranges(trace, boundaries, own) if boundaries else sorted(own, key=lambda r: (r.begin, -r.end))
    ranges = _inside(trace, named, within)
    if not ranges:
        where = "the recording has" if within is None else "these frames have"
        raise UsageError(f"{where} no ranges of that kind", hint="--range NAME=CALLS names one")
    return ranges


def _boundaries(text: str | None, otherwise: Sequence[str]) -> tuple[str, ...]:
    words = [word.strip() for word in text.split(",")] if text else list(otherwise) or ["frame"]
    for word in words:
        if word not in _PER:
            raise UsageError(f"nothing is measured per {word!r}", hint=f"some of {', '.join(_PER)}")
    return tuple(dict.fromkeys(words))


def _ranges(trace: Trace, texts: Sequence[str]) -> list[Range]:
    from drawtap.metrics.passes import Range
    from drawtap.trace.ranges import calls_of

    ranges = []
    for text in texts:
        name, equals, calls = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{text!r} is no range", hint="NAME=CALLS, as load=0:500 or menu=#3-9")
        numbers = calls_of(trace, calls)
        ranges.append(Range(name.strip(), numbers.start, numbers.stop))
    return ranges


def _plan(made: Plan) -> Sheets:
    from drawtap.output.text import counted

    table = [
        (number, metric.id, ", ".join(one.per)) for number, one in enumerate(made.passes) for metric in one.metrics
    ]
    refused = [(metric.id, why) for metric, why in made.refused]
    return Sheets(
        [
            Rows(("pass", "metric", "per"), table, title=counted(len(made.passes), "pass", "passes")),
            Rows(("metric", "why not"), refused, title="cannot be measured"),
        ],
        {
            "passes": [{"per": list(p.per), "metrics": [m.id for m in p.metrics]} for p in made.passes],
            "refused": dict(refused),
            "questions": made.questions,
            "planned_ns": made.planned_ns,
        },
        [f"tried on the driver: {counted(made.questions, 'combination')}, {made.planned_ns / 1e6:.1f} ms"],
    )


def _result(done: Profile, wanted: ProfileOptions, beyond: Sequence[str]) -> Sheets:
    from drawtap.metrics import profile as measuring

    overview = measuring.overview(done)
    data = {**measuring.summary(done, wanted), "path": str(done.path), "rows": done.rows, "metrics": overview}
    columns: tuple[str, ...] = (
        "per",
        "metric",
        "unit",
        "rows",
        "total",
        "median",
        "least",
        "most",
        "spread",
        "missing",
    )
    if lacks := any(row["draws"] for row in overview):
        columns += ("at_least", "unknown")
    table = [
        tuple(_unknown(row) if name == "unknown" else _shown(row[name], row["unit"]) for name in columns)
        for row in overview
    ]
    refused = [(metric.id, why) for metric, why in done.plan.refused]
    differ = bool(done.differing) or not done.calls_same
    tables = [
        Rows(columns, table, findings=differ),
        Rows(("metric", "why not"), refused, title="not measured"),
        Rows(("note", "rows"), measuring.notes(done), title="rows with a note"),
    ]
    notes = _notes(done)
    if lacks:
        notes.append("at_least is the sum without the draws that are unknown: a lower bound, no total")
    if beyond:
        notes.append(f"not measured, for they reach beyond the frames that were: {', '.join(beyond)}")
    return Sheets(tables, data, notes)


def _unknown(row: Mapping[str, object]) -> str:
    return f"{row['unknown_draws']:,} of {row['draws']:,} draws" if row["unknown_draws"] else ""


def _shown(cell: object, unit: object) -> object:
    from drawtap.output.text import duration, number, size

    if not isinstance(cell, float):
        return cell
    if unit == "ns":
        return duration(round(cell))
    if unit == "bytes":
        return size(round(cell))
    return number(round(cell)) if cell == round(cell) or abs(cell) >= 100 else f"{cell:.3g}"


def _notes(done: Profile) -> list[str]:
    from drawtap.metrics import profile as measuring
    from drawtap.output.text import counted, duration

    replays = counted(len(done.costs), "replay")
    passes = counted(len(done.plan.passes), "pass", "passes")
    notes = [f"{counted(done.rows, 'row')} in {done.path} (table metrics), {passes}, on {done.engine}"]
    cost = sum(c.ns for c in done.costs)
    cuts = sum(c.cuts for c in done.costs)
    notes.append(
        f"measuring took {duration(cost)} in {replays}: {counted(cuts, 'part')}, "
        f"{duration(round(measuring.cost_per_cut(done)))} each; none of it is in the numbers"
    )
    paused = sum(c.paused for c in done.costs)
    if paused:
        notes.append(
            f"the program's own queries ran {counted(paused, 'time')}: ours stood aside, see the notes of the rows"
        )
    if not done.calls_same:
        notes.append("the replays did not make the same calls: numbers of different passes do not belong together")
    if done.differing:
        shown = ", ".join(map(str, done.differing[:8]))
        notes.append(f"{counted(len(done.differing), 'frame')} did not show the same in all replays: {shown}")
    elif done.compared:
        notes.append(f"the replays made the same calls and showed the same ({done.compared} images)")
    for one in measuring.disagreements(done.path):
        notes.append(
            f"{one.metric} is not {one.other} in {one.differ:,} of {counted(one.rows, one.per)}, first at call "
            f"{one.seq} ({one.driver:.0f}, not {one.ours:.0f}). Drivers may take a quad or polygon as one primitive. "
            "They may leave out vertices that make none, and primitives that rasterizer discard drops"
        )
    notes += [f"{f.what}: {f.text}" for f in done.findings if f.what in ("skipped", "context")][:5]
    return notes
