"""The content of the page about a recording: this module collects it, and `output.report` draws it."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from drawtap import activity
from drawtap.analysis import checklist as checking
from drawtap.analysis import content, pictures
from drawtap.analysis.checklist import Checklist
from drawtap.analysis.content import Overview
from drawtap.analysis.pictures import Chosen, Image, shrunk
from drawtap.analysis.redundancy import KINDS
from drawtap.analysis.shaders import shaders
from drawtap.analysis.textures import textures
from drawtap.analysis.verdict import verdict
from drawtap.errors import ChildError, DrawtapError, UnavailableError
from drawtap.metrics import tables
from drawtap.metrics.metric import numbered
from drawtap.metrics.overdraw import overdraw
from drawtap.metrics.results import Series, costly, series
from drawtap.output.comparison import opaque
from drawtap.output.overdraw import small
from drawtap.output.picture import url
from drawtap.output.recording_facts import facts, groups, problems
from drawtap.output.report import (
    PLOT_UNITS,
    CallRow,
    FrameDetail,
    FrameRow,
    Plot,
    Report,
    ShaderCard,
    SmallTable,
    TextureCard,
    checks,
)
from drawtap.output.text import counted, duration, number, size
from drawtap.replay import engine
from drawtap.tables import recording
from drawtap.trace.apis import is_vulkan
from drawtap.trace.trace import Trace, frame_time
from drawtap.units import as_int

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


def collected(trace: Trace, wanted: ReportOptions) -> Report:
    """Return all that a report of a recording shows."""
    data = facts(trace)
    about = groups(trace, data)
    frames = _frames(trace)
    program = about.get("program", {})
    functions = trace.table(recording.HistogramRow)
    total = sum(row["calls"] for row in functions)
    asked = checking.with_calls(trace, checking.checklist(trace), _EVIDENCE)
    seen = content.overview(trace)
    sensors = content.sensors(trace)
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
        functions_note=f"{counted(len(functions), 'function')}, {counted(total, 'call')}; "
        "time inside is what the program waited",
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
        statistics=content.statistics(content.frame_stats(trace, sensors), sensors),
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
    tiles = [(number(as_int(data["frames"])), "frames")]
    if len(times) > 1:
        tiles.append((f"{1e9 * len(times) / sum(times):.1f}", "frames a second"))
    tiles.append((number(as_int(data["calls"])), "calls"))
    if len(frames) > 1:
        tiles.append((number(round(as_int(data["calls"]) / len(frames))), "calls a frame"))
    tiles.append((duration(as_int(data["duration"])), "duration"))
    tiles.append((size(as_int(data["payload_bytes"])), "content in arrays"))
    tiles.append((size(as_int(data["file_bytes"])), "recording"))
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
    return [
        FrameRow(row["frame"], frame_time(row), row["calls"], row["upload_bytes"])
        for row in trace.table(recording.FrameRow)
        if row["end_function"]
    ]


def _slowest(trace: Trace, count: int, where: str = "") -> list[CallRow]:
    # The calls first, their text then: text is made only for those.
    slowest = trace.sql(
        f"SELECT seq, frame, thread, duration FROM calls {where} ORDER BY duration DESC NULLS LAST LIMIT {count}"
    )
    return [
        CallRow(seq, frame, thread, str(trace.calls[seq]), taken)
        for seq, frame, thread, taken in slowest.fetchall()
        if taken is not None
    ]


def _plots(trace: Trace, frames: Sequence[FrameRow]) -> list[Plot]:
    by_frame = {row["frame"]: row for row in content.frame_stats(trace)}
    columns = [by_frame.get(f.number, {}) for f in frames]

    def values(name: str) -> list[float | None]:
        return [float(as_int(row.get(name))) for row in columns]

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
    told = [replace(plot, series=[line for line in plot.series if any(line[2])]) for plot in plots]
    return [plot for plot in told if plot.series] if len(frames) > 1 else []


_COLOURS = ("blue", "orange", "green", "purple")  # of report.css
_APART = 30  # a line that is usually this many times lower than another is flat beside it


def _measured(trace: Trace, frames: Sequence[FrameRow]) -> list[Plot]:
    """Return plots of what drawtap profile measured, one a group of metrics with the same unit."""
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
            other = "" if unit in (*PLOT_UNITS, "count") else f"; {unit}"
            hint = f"drawtap profile, on {re.split('[,(]', shown[0].engine)[0].strip()}{other}"
            kind = unit if unit in PLOT_UNITS else "count"
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
    name, unit, draws = costly(trace)
    if not draws:
        return []
    text = duration if unit == "ns" else number
    ready = [(str(d.seq), str(d.frame), d.function, text(round(d.value)), f"{100 * d.share:.1f} %") for d in draws]
    columns, right = ("call", "frame", "function", name, "of all draws"), (True, True, False, True, True)
    return [SmallTable("Draws that cost most", columns, right, ready, f"{name}, measured by drawtap profile")]


class _Measured:
    """The measured work of frames and draws: tables, sizes of triangles, a map of draws, overdraw."""

    def __init__(self, trace: Trace, shown: _Pictures, wanted: ReportOptions) -> None:
        self.missing: dict[str, str] = {}
        self.content = tables.tables(trace)
        self.sizes = tables.triangle_sizes(trace)
        if not self.sizes and any(table.command and "geometry:" in table.command for table in self.content):
            self.missing["sizes"] = (
                f"They were not measured: drawtap profile {trace.path.name} --metrics 'geometry:*' --per frame"
            )
        self.heat = tables.heat_map(trace)
        self.overdraw: list[tuple[str, str, str]] = []
        has_counts = any("geometry:" in t.command or t.title != "OpenVG" for t in self.content) or is_vulkan(trace)
        if wanted.pictures and has_counts:
            self._draw_over(trace, [c.frame for c in shown.chosen], wanted)

    def _draw_over(self, trace: Trace, chosen: Sequence[int], wanted: ReportOptions) -> None:
        until = time.monotonic() + wanted.seconds
        uncounted: list[str] = []
        try:
            environment = engine.environment_of(wanted.engine)
            for frame in sorted(chosen)[:_MOST_OVERDRAWN]:
                if time.monotonic() > until:
                    self.missing["overdraw"] = f"the {wanted.seconds:g} s for pictures were over (--seconds)"
                    break
                targets = list(overdraw(trace, range(frame, frame + 1), environment=environment))
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


# ---- pictures and frames --------------------------------------------------------------------------------------------


class _Pictures:
    """Pictures of frames: small for the strip, larger for the frames in detail."""

    def __init__(self, trace: Trace, frames: Sequence[FrameRow], wanted: ReportOptions) -> None:
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
        return [(frame, url(opaque(shrunk(image, _STRIP_WIDTH)))) for frame, image in sorted(self.images.items())]

    def url(self, frame: int) -> str:
        """Return the address of the picture of a frame, "" where there is none."""
        image = self.images.get(frame)
        return "" if image is None else url(opaque(image))


class _Details:
    """Frames in detail: those that stand for all, and the slow ones."""

    def __init__(self, trace: Trace, asked: Checklist, shown: _Pictures) -> None:
        self._trace = trace
        self._shown = shown
        self._stats = {row["frame"]: row for row in content.frame_stats(trace)}
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
        number_ = frame.number
        histogram = self._trace.sql(
            f"SELECT name, count(*) AS n, sum(duration)::BIGINT AS ns FROM calls WHERE frame = {number_} "
            "GROUP BY name ORDER BY ns DESC NULLS LAST, n DESC LIMIT 6",
        )
        return FrameDetail(
            number_,
            why,
            self._shown.url(number_),
            frame.duration_ns,
            self._facts(number_),
            histogram.fetchall(),
            _slowest(self._trace, calls, f"WHERE frame = {number_}") if calls else [],
            self._findings.get(number_, []),
        )

    def _facts(self, frame: int) -> list[tuple[str, str]]:
        row = self._stats.get(frame, {})
        facts = [("calls", number(as_int(row.get("calls")))), ("draws", number(as_int(row.get("draws"))))]
        for name, label, text in (
            ("triangles", "triangles", number),
            ("texture_bytes", "textures", size),
            ("buffer_bytes", "buffers", size),
            ("compiles", "compiles", number),
            ("readbacks", "read-backs", number),
        ):
            if row.get(name):
                facts.append((label, text(as_int(row[name]))))
        if row.get("api_ns"):
            facts.append(("inside the API", duration(as_int(row["api_ns"]))))
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
    columns = ("", "calls", "share", "time", "content")
    right = (False, True, True, True, True)
    tables = []
    for title, key, note in (
        ("Calls without effect", "r.kind", "share of all calls"),
        ("by function", "c.name", "share of all calls"),
    ):
        kinds = trace.sql(
            f"SELECT {key} AS what, count(*) AS n, 100.0 * count(*) / (SELECT count(*) FROM calls), "
            "sum(c.duration)::BIGINT, sum(c.payload_bytes)::BIGINT "
            "FROM redundancy r JOIN calls c ON c.seq = r.seq GROUP BY what ORDER BY n DESC LIMIT 12",
        )
        ready = [
            [
                KINDS.get(str(what), str(what)),
                number(n),
                f"{share:.1f} %",
                duration(as_int(ns)),
                size(as_int(content)),
            ]
            for what, n, share, ns, content in kinds.fetchall()
        ]
        if ready:
            tables.append(SmallTable(title, columns, right, ready, note))
    return tables


def _threads(trace: Trace) -> SmallTable:
    table = [
        (str(t["thread"]), str(t["name"]), str(t["pid"]), str(t["tid"]), number(t["calls"]))
        for t in trace.table(recording.ThreadRow)
    ]
    return SmallTable("Threads", ("thread", "name", "pid", "tid", "calls"), (True, False, True, True, True), table)


def _contexts(trace: Trace) -> SmallTable:
    table = [
        (str(c["context"]), str(c["share_group"]), str(c["api"]), str(c["first_seq"]), number(c["made_current"]))
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
