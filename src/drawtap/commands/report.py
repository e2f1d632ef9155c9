"""`drawtap report`: one page about a recording."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap import activity
from drawtap.commands import Opt, command
from drawtap.commands.info import facts, groups, problems
from drawtap.commands.options import CALLS, FROM, GUEST, NO_CACHE, TO
from drawtap.commands.sql import rows
from drawtap.errors import UsageError, check_target
from drawtap.output.result import Written
from drawtap.output.text import duration, number, size
from drawtap.tables import recording
from drawtap.trace.apis import is_vulkan

if TYPE_CHECKING:
    from drawtap.analysis.checklist import Checklist
    from drawtap.analysis.content import Overview
    from drawtap.analysis.pictures import Chosen, Image
    from drawtap.metrics.results import Series
    from drawtap.metrics.tables import Table
    from drawtap.output.report import (
        CallRow,
        ContentTable,
        FrameDetail,
        FrameRow,
        FunctionRow,
        Heat,
        Plot,
        Report,
        ShaderCard,
        SmallTable,
        StatRow,
        TextureCard,
    )
    from drawtap.system.reader import KernelTrace
    from drawtap.trace.trace import Trace

_STRIP_WIDTH, _PICTURE_WIDTH, _TEXTURE_WIDTH = 112, 320, 128
_MOST_SLOW, _MOST_CHOSEN = 8, 12
_MOST_TEXTURES, _MOST_SHADERS = 120, 60
_MOST_OVERDRAWN, _MOST_TARGETS = 4, 3
_EVIDENCE = 8


@dataclass(frozen=True)
class ReportOptions:
    """The contents of a report."""

    slowest: int = 25
    pictures: int = 64
    engine: str = "system"
    seconds: float = 120


def _of_kernel(
    trace: KernelTrace,
    *,
    output: Annotated[Path | None, Opt("", "-o", "FILE")] = None,
    force: Annotated[bool, Opt("")] = False,
    from_: Annotated[str | None, FROM] = None,
    to: Annotated[str | None, TO] = None,
    spans: Annotated[
        int, Opt("At most N single spans; the rest of the time is drawn from sums.", metavar="N")
    ] = 600_000,
    events: Annotated[int, Opt("At most N events in the table.", metavar="N")] = 20_000,
    threads: Annotated[int, Opt("Rows for N threads: virtual CPUs and threads with requests first.", metavar="N")] = 64,
    api: Annotated[Path | None, CALLS] = None,
    guest: Annotated[tuple[str, ...], GUEST] = (),
    no_cache: Annotated[bool, NO_CACHE] = False,
) -> Written:
    """For a trace of the kernel: GPU usage, queue lengths, memory, other counters, all zooming together.

    Usage is per engine, process, virtual GPU and guest. There is a graph of requests in queues and on engines, with
    arrows along their way; who ran on each CPU; threads and virtual CPUs. With --guest, requests and threads of a guest
    stand above the queue of its virtual GPU. Below it histograms of waits, executions and latencies, the events, who
    keeps whom waiting, and all figures of drawtap system metrics with what they mean. For a long trace the page has
    exact sums for all of the time, and single spans in the interesting parts, which it marks. --from and --to make a
    page of a part.
    """
    from drawtap.output.kernel_page import SystemReportOptions, collected
    from drawtap.output.system_report import render
    from drawtap.system.drawn import opened

    target = output or trace.path.with_name(trace.path.name + ".html")
    check_target(target, force=force)
    if min(spans, events, threads) < 0:
        raise UsageError("--spans, --events and --threads are numbers from 0 on")
    with opened(trace, api, guest, keep=not no_cache) as model:
        page = render(collected(trace, model, SystemReportOptions(from_, to, spans, events, threads)))
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror or error}", hint="name another place with -o") from None
    return Written(str(target), target.stat().st_size, "report")


@command(
    section="edit",
    kernel=_of_kernel,
    examples=(
        "drawtap report game.dtap",
        "drawtap report game.dtap -o /tmp/game.html --slowest 50",
        "drawtap report game.dtap --pictures 0",
        "drawtap report kernel.dat --calls game.dtap      # frames and calls above what the kernel saw",
        "drawtap report kernel-ctf --from 2s --to 2.5s",
    ),
)
def report(
    trace: Trace,
    *,
    output: Annotated[Path | None, Opt("Where to.  [default: FILE.html]", "-o", "FILE")] = None,
    slowest: Annotated[int, Opt("Number of slowest calls.", metavar="N")] = 25,
    pictures: Annotated[
        int, Opt("Number of frames with pictures, by playing the recording; 0: none.", metavar="N")
    ] = 64,
    on: Annotated[
        str, Opt("The engine for the pictures; drawtap replay --engines lists them.", metavar="ENGINE")
    ] = "system",
    seconds: Annotated[float, Opt("Limit on the time of playing.", metavar="S")] = 120,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Written:
    """Write an HTML report: one file that loads nothing.

    Overview, verdict and checklist; frame times with pictures of the frames above them, uploads and other series over
    time; what frames do, as far as drawtap profile measured it, with sizes of triangles, a map of all draws and
    pictures of overdraw; statistics of the content; the frames that stand for all, and the slow ones, in detail;
    textures, shaders and configurations; redundant calls; calls by function, slowest calls, threads, contexts, and
    what is missing in the recording. Pictures come from playing the recording (--pictures 0 leaves them out); the page
    lists the gaps.
    """
    from drawtap.output.report import render

    target = output or trace.path.with_suffix(".html")
    check_target(target, force=force)
    if pictures < 0 or slowest < 0:
        raise UsageError("--pictures and --slowest are numbers from 0 on")
    target.write_text(render(collected(trace, ReportOptions(slowest, pictures, on, seconds))), encoding="utf-8")
    return Written(str(target), target.stat().st_size, "report")


def collected(trace: Trace, wanted: ReportOptions) -> Report:
    """Return all that a report of a recording shows."""
    from drawtap.analysis import checklist as checking
    from drawtap.analysis import content
    from drawtap.analysis.verdict import verdict
    from drawtap.output.report import Report, checks

    data = facts(trace)
    about = groups(trace, data)
    frames = _frames(trace)
    program = about.get("program", {})
    functions = _functions(trace)
    total = sum(f.count for f in functions)
    asked = checking.with_calls(trace, checking.checklist(trace), _EVIDENCE)
    seen = content.overview(trace)
    with activity.step("pictures of frames"):
        shown = _Pictures(trace, frames, wanted)
        about_draws = _Measured(trace, shown, wanted)
    with activity.step("slow frames"):
        details = _Details(trace, asked, shown)
    with activity.step("textures"):
        loaded, textures_note = _textures(trace)
    return Report(
        title=Path(str(program.get("file") or trace.path)).name,
        subtitle=" · ".join(str(v) for v in (program.get("command"), about["recording"].get("recorded")) if v),
        tiles=_tiles(data, frames),
        frames=frames,
        functions=functions,
        functions_note=f"{len(functions)} functions, {number(total)} calls; time inside is what the program waited",
        slowest=_slowest(trace, wanted.slowest) if data["timing"] == "both" else [],
        tables=[*_costly(trace), _threads(trace), _contexts(trace)],
        facts=[(title, [(k, str(v)) for k, v in group.items()]) for title, group in about.items()],
        notes=_notes(trace, data, frames),
        overview=_overview(seen),
        rates=seen.fps_histogram,
        verdict=verdict(trace, asked),
        checks=checks(asked, _EVIDENCE),
        plots=[*_plots(trace, frames), *_measured(trace, frames)],
        strip=shown.strip,
        statistics=_statistics(trace),
        chosen=details.chosen,
        slow=details.slow,
        textures=loaded,
        textures_note=textures_note,
        shaders=_shaders(trace),
        configs=_configs(trace),
        redundancy=_redundancy(trace),
        missing={**({"pictures": shown.missing} if shown.missing else {}), **about_draws.missing},
        content=about_draws.content,
        sizes=about_draws.sizes,
        heat=about_draws.heat,
        overdraw=about_draws.overdraw,
    )


# ---- numbers --------------------------------------------------------------------------------------------------------


def _tiles(data: Mapping[str, object], frames: list[FrameRow]) -> list[tuple[str, str]]:
    times = [f.duration_ns for f in frames if f.duration_ns]
    tiles = [(number(_int(data["frames"])), "frames")]
    if len(times) > 1:
        tiles.append((f"{1e9 * len(times) / sum(times):.1f}", "frames a second"))
    tiles.append((number(_int(data["calls"])), "calls"))
    if len(frames) > 1:
        tiles.append((number(round(_int(data["calls"]) / len(frames))), "calls a frame"))
    tiles.append((duration(_int(data["duration"])), "duration"))
    tiles.append((size(_int(data["payload_bytes"])), "content in arrays"))
    tiles.append((size(_int(data["file_bytes"])), "recording"))
    return tiles


def _overview(seen: Overview) -> list[tuple[str, str]]:
    facts = [
        ("trace file size", size(seen.file_bytes)),
        ("duration", duration(seen.duration) if seen.duration is not None else "–"),
        ("calls", number(seen.calls)),
        ("frames", number(seen.frames)),
        ("frames / second", f"{seen.frames_per_second:.2f}" if seen.frames_per_second else "–"),
        ("render calls", number(seen.draws)),
    ]
    if seen.segments_per_frame:
        facts.append(("path segments / frame", number(round(seen.segments_per_frame))))
    if seen.triangles_per_frame or not seen.segments_per_frame:
        facts.append(("triangles / frame", number(round(seen.triangles_per_frame))))
        facts.append(("texture data", size(seen.texture_bytes)))
    return facts + ([("surfaces", ", ".join(seen.surfaces))] if seen.surfaces else [])


def _frames(trace: Trace) -> list[FrameRow]:
    from drawtap.output.report import FrameRow
    from drawtap.trace.trace import frame_time  # with the recording, not with the list of verbs

    return [
        FrameRow(row["frame"], frame_time(row), row["calls"], row["upload_bytes"])
        for row in trace.table(recording.FrameRow)
        if row["end_function"]
    ]


def _functions(trace: Trace) -> list[FunctionRow]:
    from drawtap.output.report import FunctionRow

    functions = trace.table(recording.HistogramRow)
    top = max((_int(row["calls"]) for row in functions), default=1)
    return [
        FunctionRow(
            str(row["name"]),
            _int(row["calls"]),
            _int(row["calls"]) / top,
            _int(row["total_ns"]),
            float(row["mean_ns"] or 0),
            _int(row["max_ns"]),
        )
        for row in functions
    ]


def _slowest(trace: Trace, count: int, where: str = "") -> list[CallRow]:
    from drawtap.output.report import CallRow

    # The calls first, their text then: text is made only for those.
    slowest = rows(
        trace, f"SELECT seq, frame, thread, duration FROM calls {where} ORDER BY duration DESC NULLS LAST LIMIT {count}"
    )
    return [
        CallRow(_int(seq), _int(frame), _int(thread), str(trace.calls[_int(seq)]), _int(taken))
        for seq, frame, thread, taken in slowest.rows
        if taken is not None
    ]


def _plots(trace: Trace, frames: Sequence[FrameRow]) -> list[Plot]:
    from drawtap.analysis import content
    from drawtap.output.report import Plot

    by_frame = {_int(row["frame"]): row for row in content.frame_stats(trace)}
    columns = [by_frame.get(f.number, {}) for f in frames]

    def values(name: str) -> list[float | None]:
        return [float(_int(row.get(name))) for row in columns]

    plots = [
        Plot(
            "uploads", "Uploads over time", "content handed to the API in each frame", "bytes",
            [("textures", "orange", values("texture_bytes")), ("buffers", "blue", values("buffer_bytes")),
             ("client arrays", "green", values("client_bytes"))], bars=True,
        ),
        Plot("draws", "Render calls", "draws of each frame", "count", [("draws", "green", values("draws"))]),
        Plot("triangles", "Triangles", "submitted in each frame", "count",
             [("triangles", "blue", values("triangles"))]),
        Plot("calls", "Calls", "of each frame", "count",
             [("calls", "green", [float(f.calls) for f in frames])]),
        Plot("api", "Time inside the API", "of each frame, all threads together", "ns",
             [("inside", "blue", values("api_ns"))]),
    ]  # fmt: skip
    kept = []
    for plot in plots:
        series = [s for s in plot.series if any(s[2])]
        if series:
            kept.append(Plot(plot.id, plot.title, plot.hint, plot.unit, series, plot.bars))
    return kept if len(frames) > 1 else []


_COLOURS = ("blue", "orange", "green", "purple")  # of report.css
_PLOT_UNITS = frozenset({"ns", "bytes"})
_APART = 30  # a line that is usually this many times lower than another is flat beside it


def _measured(trace: Trace, frames: Sequence[FrameRow]) -> list[Plot]:
    """Return plots of what drawtap profile measured, one a group of metrics with the same unit."""
    from drawtap.metrics.metric import numbered
    from drawtap.metrics.results import series
    from drawtap.output.report import Plot

    groups: dict[tuple[str, str], list[Series]] = {}
    for one in series(trace):
        if len(frames) > 1 and any(one.values.values()):
            groups.setdefault((one.name.partition("/")[0], one.unit), []).append(one)
    plots: list[Plot] = []
    for (group, unit), members in groups.items():
        members.sort(key=lambda one: numbered(one.name))
        for shown in _comparable(members):
            lines = [
                (one.name.partition("/")[2].replace("_", " "), colour, [one.values.get(f.number) for f in frames])
                for one, colour in zip(shown, _COLOURS, strict=False)
            ]
            other = "" if unit in (*_PLOT_UNITS, "count") else f"; {unit}"
            hint = f"drawtap profile, on {re.split('[,(]', shown[0].engine)[0].strip()}{other}"
            kind = unit if unit in _PLOT_UNITS else "count"
            plots.append(Plot(f"measured{len(plots)}", f"Measured: {group}", hint, kind, lines))
    return plots


def _comparable(members: Sequence[Series]) -> list[list[Series]]:
    """Return what goes into one plot each: as many lines as a reader can tell apart, none pressed flat by another."""
    groups: list[tuple[float, float, list[Series]]] = []
    for one in members:
        values = sorted(one.values.values())
        usual = abs(values[len(values) // 2]) or max(map(abs, values))
        for i, (low, high, shown) in enumerate(groups):
            if len(shown) < len(_COLOURS) and max(high, usual) <= _APART * min(low, usual):
                groups[i] = (min(low, usual), max(high, usual), [*shown, one])
                break
        else:
            groups.append((usual, usual, [one]))
    return [shown for _, _, shown in groups]


def _costly(trace: Trace) -> list[SmallTable]:
    from drawtap.metrics.results import costly
    from drawtap.output.report import SmallTable

    name, unit, draws = costly(trace)
    if not draws:
        return []
    text = duration if unit == "ns" else number
    ready = [(str(d.seq), str(d.frame), d.function, text(round(d.value)), f"{100 * d.share:.1f} %") for d in draws]
    columns, right = ("call", "frame", "function", name, "of all draws"), (True, True, False, True, True)
    return [SmallTable("Draws that cost most", columns, right, ready, f"{name}, measured by drawtap profile")]


def _statistics(trace: Trace) -> list[StatRow]:
    from drawtap.analysis import content
    from drawtap.output.report import StatRow

    sensors = content.sensors(trace)
    return [
        StatRow(s.title, s.unit, s.total, s.minimum, s.mean, s.maximum, s.bins)
        for s in content.statistics(content.frame_stats(trace, sensors), sensors)
    ]


class _Measured:
    """The measured work of frames and draws: tables, sizes of triangles, a map of draws, overdraw."""

    def __init__(self, trace: Trace, shown: _Pictures, wanted: ReportOptions) -> None:
        from drawtap.metrics import tables

        self.missing: dict[str, str] = {}
        measured = tables.tables(trace)
        self.content = [_content(table) for table in measured]
        self.sizes = tables.triangle_sizes(trace)
        if not self.sizes and any(table.command and "geometry:" in table.command for table in measured):
            self.missing["sizes"] = (
                f"They were not measured: drawtap profile {trace.path.name} --metrics 'geometry:*' --per frame"
            )
        self.heat = _heat(trace)
        self.overdraw: list[tuple[str, str, str]] = []
        counted = any("geometry:" in t.command or t.title != "OpenVG" for t in measured) or is_vulkan(trace)
        if wanted.pictures and counted:
            self._draw_over(trace, [c.frame for c in shown.chosen], wanted)

    def _draw_over(self, trace: Trace, chosen: Sequence[int], wanted: ReportOptions) -> None:
        import time

        from drawtap.errors import ChildError, DrawtapError, UnavailableError
        from drawtap.metrics.overdraw import overdraw
        from drawtap.output.overdraw import small
        from drawtap.output.picture import url
        from drawtap.replay import engine

        until = time.monotonic() + wanted.seconds
        uncounted: list[str] = []
        try:
            environment = engine.environment_of(wanted.engine)
            for frame in sorted(chosen)[:_MOST_OVERDRAWN]:
                if time.monotonic() > until:
                    self.missing["overdraw"] = f"the {wanted.seconds:g} s for pictures were over (--seconds)"
                    break
                targets = overdraw(trace, range(frame, frame + 1), environment=environment)
                seen = [one for one in targets if one.counts.size]
                for one in sorted(seen, key=lambda o: o.framebuffer)[:_MOST_TARGETS]:
                    where = f", {one.target}" if one.framebuffer else ""
                    most = int(one.counts.max(initial=0))
                    text = f"{one.mean:.2f} fragments a covered pixel, {number(most)} at most"
                    text += f"; {one.lacks}" if one.why else ""
                    picture = url(small(one.counts, _PICTURE_WIDTH))
                    self.overdraw.append((f"frame {frame}{where}", text, picture))
                uncounted += [one.why for one in targets if one.why]
            if uncounted and not self.overdraw:
                self.missing["overdraw"] = f"no draw of these frames is counted: {uncounted[0]}"
        except (UnavailableError, ChildError, DrawtapError) as error:
            self.missing["overdraw"] = str(error)


def _content(table: Table) -> ContentTable:
    from drawtap.output.report import ContentRow, ContentTable, StatRow

    return ContentTable(
        table.title,
        [
            ContentRow(
                row.title,
                StatRow(row.title, row.unit, s.total, s.minimum, s.mean, s.maximum, s.bins)
                if (s := row.series)
                else None,
                f"{row.source}, {row.lacks}" if row.lacks else row.source,
                row.missing,
            )
            for row in table.rows
        ],
        table.command,
    )


def _heat(trace: Trace) -> Heat | None:
    from drawtap.metrics import tables
    from drawtap.output.report import Heat, HeatLayer

    heat = tables.heat_map(trace)
    if heat is None or not heat.metrics:
        return None
    layers = [HeatLayer(m.name, m.unit if m.unit in ("ns", "bytes") else "count", m.cells) for m in heat.metrics]
    return Heat(heat.frames, heat.functions, layers, heat.folded)


# ---- pictures and frames --------------------------------------------------------------------------------------------


class _Pictures:
    """Pictures of frames: small for the strip, larger for the frames in detail."""

    def __init__(self, trace: Trace, frames: Sequence[FrameRow], wanted: ReportOptions) -> None:
        from drawtap.analysis import pictures

        self.frames = frames
        self.images: Mapping[int, Image] = {}
        self.missing: str | None = None
        times = [f.duration_ns for f in frames]
        looked = [frames[i] for i in pictures.sampled(times, max(wanted.pictures, 2))] if frames else []
        if wanted.pictures and looked:
            numbers = [f.number for f in looked]
            taken = pictures.pictures(
                trace, numbers, width=_PICTURE_WIDTH, engine=wanted.engine, seconds=wanted.seconds
            )
            self.images, self.missing = taken.images, taken.missing
        elif frames:
            self.missing = "they were not wanted (--pictures 0)"
        self.chosen: Sequence[Chosen] = pictures.representatives(
            {f.number: f.duration_ns for f in looked}, self.images, _MOST_CHOSEN
        )

    @property
    def strip(self) -> list[tuple[int, str]]:
        """Pictures of frames, small."""
        from drawtap.analysis.pictures import shrunk
        from drawtap.output.comparison import opaque
        from drawtap.output.picture import url

        return [(frame, url(opaque(shrunk(image, _STRIP_WIDTH)))) for frame, image in sorted(self.images.items())]

    def url(self, frame: int) -> str:
        """Return the address of the picture of a frame, "" where there is none."""
        from drawtap.output.comparison import opaque
        from drawtap.output.picture import url

        image = self.images.get(frame)
        return "" if image is None else url(opaque(image))


class _Details:
    """Frames in detail: those that stand for all, and the slow ones."""

    def __init__(self, trace: Trace, asked: Checklist, shown: _Pictures) -> None:
        from drawtap.analysis import content

        self._trace = trace
        self._shown = shown
        self._stats = {_int(row["frame"]): row for row in content.frame_stats(trace)}
        self._findings: dict[int, list[tuple[str, str]]] = {}
        for judgement in asked.findings:
            for frame in {e.frame for e in judgement.evidence if e.frame is not None}:
                self._findings.setdefault(frame, []).append((judgement.rule.id, judgement.rule.title))
        by_number = {f.number: f for f in shown.frames}
        self.chosen = [self._detail(by_number[c.frame], _stands(c), calls=0) for c in shown.chosen]
        self.slow = [
            self._detail(f, f"{_times(f, shown.frames)}", calls=5) for f in _slow(shown.frames) if f.duration_ns
        ]

    def _detail(self, frame: FrameRow, why: str, *, calls: int) -> FrameDetail:
        from drawtap.output.report import FrameDetail

        number_ = frame.number
        histogram = rows(
            self._trace,
            f"SELECT name, count(*) AS n, sum(duration)::BIGINT AS ns FROM calls WHERE frame = {number_} "
            "GROUP BY name ORDER BY ns DESC NULLS LAST, n DESC LIMIT 6",
        )
        return FrameDetail(
            number_,
            why,
            self._shown.url(number_),
            frame.duration_ns,
            self._facts(number_),
            [(str(name), _int(n), None if ns is None else _int(ns)) for name, n, ns in histogram.rows],
            _slowest(self._trace, calls, f"WHERE frame = {number_}") if calls else [],
            self._findings.get(number_, []),
        )

    def _facts(self, frame: int) -> list[tuple[str, str]]:
        row = self._stats.get(frame, {})
        facts = [("calls", number(_int(row.get("calls")))), ("draws", number(_int(row.get("draws"))))]
        for name, label, text in (
            ("triangles", "triangles", number),
            ("texture_bytes", "textures", size),
            ("buffer_bytes", "buffers", size),
            ("compiles", "compiles", number),
            ("readbacks", "read-backs", number),
        ):
            if row.get(name):
                facts.append((label, text(_int(row[name]))))
        if row.get("api_ns"):
            facts.append(("inside the API", duration(_int(row["api_ns"]))))
        return facts


def _stands(chosen: Chosen) -> str:
    return chosen.why + (f"; like {chosen.stands_for - 1} others looked at" if chosen.stands_for > 1 else "")


def _slow(frames: Sequence[FrameRow]) -> list[FrameRow]:
    # The first frame loads everything; it is slow in every program, and among the chosen ones anyway.
    return sorted((f for f in frames[1:] if f.duration_ns), key=lambda f: -(f.duration_ns or 0))[:_MOST_SLOW]


def _times(frame: FrameRow, frames: Sequence[FrameRow]) -> str:
    ordered = sorted(f.duration_ns for f in frames if f.duration_ns)
    usual = ordered[len(ordered) // 2]
    return f"{(frame.duration_ns or 0) / usual:.1f} times the usual" if usual else ""


# ---- objects --------------------------------------------------------------------------------------------------------


def _textures(trace: Trace) -> tuple[list[TextureCard], str]:
    from drawtap.analysis.textures import textures
    from drawtap.output.picture import url
    from drawtap.output.report import TextureCard

    shown, count = textures(trace, most=_MOST_TEXTURES, width=_TEXTURE_WIDTH)
    cards = [
        TextureCard(
            f"{t.width} × {t.height}",
            " · ".join(
                [
                    f"texture {t.name}" if t.name else t.function,
                    t.format.replace("GL_", ""),
                    size(t.bytes),
                    *([f"{t.levels} levels"] if t.levels > 1 else []),
                    *([f"{t.uploads} uploads"] if t.uploads > t.levels else []),
                    f"call {t.seq}",
                ]
            ),
            "" if t.image is None else url(t.image),
            t.why or "",
        )
        for t in shown
    ]
    note = f"{number(count)} with content" + (f", the first {len(cards)} are shown" if count > len(cards) else "")
    return cards, note if count else ""


def _shaders(trace: Trace) -> list[ShaderCard]:
    from drawtap.analysis.shaders import shaders
    from drawtap.output.report import ShaderCard

    return [
        ShaderCard(
            f"{s.stage} shader {s.name}",
            " · ".join(
                [
                    f"{s.lines} lines",
                    *([f"compiled in {duration(s.compile_ns)}"] if s.compile_ns is not None else []),
                    *([f"program {', '.join(map(str, s.programs))}"] if s.programs else []),
                    f"call {s.seq}",
                ]
            ),
            s.source,
        )
        for s in shaders(trace, most=_MOST_SHADERS)
    ]


_CONFIG = ("id", "red", "green", "blue", "alpha", "depth", "stencil", "samples", "caveat")


def _configs(trace: Trace) -> SmallTable | None:
    from drawtap.output.report import SmallTable

    configs: dict[str, Sequence[str]] = {}
    for row in trace.table(recording.NativeRow):
        if row["kind"] == "config":
            said = dict(part.partition("=")[::2] for part in str(row["text"]).split(";"))
            caveat = {"12344": "none", "12368": "slow", "12369": "not conformant"}.get(said.get("caveat", ""), "")
            configs[said.get("id", "?")] = [*(said.get(k, "") for k in _CONFIG[:-1]), caveat]
    if not configs:
        return None
    right = (*(True for _ in _CONFIG[:-1]), False)
    return SmallTable("Configurations", _CONFIG, right, list(configs.values()), "of surfaces and contexts")


def _redundancy(trace: Trace) -> list[SmallTable]:
    from drawtap.analysis.redundancy import KINDS
    from drawtap.output.report import SmallTable

    columns = ("", "calls", "share", "time", "content")
    right = (False, True, True, True, True)
    tables = []
    for title, key, note in (
        ("Calls without effect", "r.kind", "share of all calls"),
        ("by function", "c.name", "share of all calls"),
    ):
        kinds = rows(
            trace,
            f"SELECT {key} AS what, count(*) AS n, 100.0 * count(*) / (SELECT count(*) FROM calls), "
            "sum(c.duration)::BIGINT, sum(c.payload_bytes)::BIGINT "
            "FROM redundancy r JOIN calls c ON c.seq = r.seq GROUP BY what ORDER BY n DESC LIMIT 12",
        )
        ready = [
            [
                KINDS.get(str(what), str(what)),
                number(_int(n)),
                f"{share:.1f} %",
                duration(_int(ns)),
                size(_int(content)),
            ]
            for what, n, share, ns, content in kinds.rows
        ]
        if ready:
            tables.append(SmallTable(title, columns, right, ready, note))
    return tables


def _threads(trace: Trace) -> SmallTable:
    from drawtap.output.report import SmallTable

    table = [
        (str(t["thread"]), str(t["name"]), str(t["pid"]), str(t["tid"]), number(_int(t["calls"])))
        for t in trace.table(recording.ThreadRow)
    ]
    return SmallTable("Threads", ("thread", "name", "pid", "tid", "calls"), (True, False, True, True, True), table)


def _contexts(trace: Trace) -> SmallTable:
    from drawtap.output.report import SmallTable

    table = [
        (str(c["context"]), str(c["share_group"]), str(c["api"]), str(c["first_seq"]), number(_int(c["made_current"])))
        for c in trace.table(recording.ContextRow)
    ]
    columns = ("context", "share group", "API", "first call", "times made current")
    return SmallTable("Contexts", columns, (True, True, False, True, True), table)


def _notes(trace: Trace, data: Mapping[str, object], frames: list[FrameRow]) -> list[tuple[str, str]]:
    notes = [("warning", line) for line in problems(data)]
    notes += [("note", str(row["text"])) for row in trace.table(recording.NoteRow) if row["code"] != "library"][:20]
    rule = data["frame_end"]
    if not frames and isinstance(rule, Mapping):
        notes.append(("note", f"There are no frames: {rule['why']}."))
    if data["timing"] != "both":
        notes.append(("note", f"Recorded with --timing {data['timing']}: calls have no durations."))
    return notes


def _int(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0
