"""The work of a recording's frames, in the order of Tables 8 and 9 of Kyostila's thesis (Graphics Quality Analysis
Toolkit). It comes from the calls, from the measurements of `drawtap profile`, and from loaded sensors (`drawtap
sensors`).

A row without a measurement says so, with the command that measures it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drawtap.analysis import content
from drawtap.analysis.content import Series
from drawtap.analysis.fetches import NotTold, of_programs
from drawtap.metrics.metric import BACKENDS, Capabilities
from drawtap.tables.recording import HistogramRow
from drawtap.trace import measured

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class TableRow:
    """One quantity over the frames; `series` is None where `missing` says why, and what is known all the same.

    `source`: calls, a metric, a sensor. `lacks` says which frames `series` is without, since draws of them are unknown.
    """

    title: str
    unit: str
    series: Series | None
    source: str
    missing: str = ""
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class _MetricChoice:
    title: str
    counts: str = ""  # a column of `content`
    metrics: tuple[str, ...] = ()  # the best first
    sensors: tuple[str, ...] = ()
    unit: str = "count"
    of_surface: bool = False  # in percent of its pixels


#: No driver counts texture reads: they are counted while shaders run. Where nobody measured them, they are the
#: fragments of each draw, times the reads in the text of its shader.
_COUNTED = "fragments:texture/fetches"
_FETCHES = "fragments of draws, and the shaders' sources"
_GL = (
    _MetricChoice("calls", "calls"),
    _MetricChoice("render calls", "draws"),
    _MetricChoice("matrix operations", "matrix_operations"),
    _MetricChoice("texel uploads", "texels"),
    _MetricChoice("primitives (triangles)", "triangles"),
    _MetricChoice("degenerate primitives", metrics=("geometry:primitives/degenerate",)),
    _MetricChoice("frustum culled primitives", metrics=("geometry:primitives/frustum_culled",)),
    _MetricChoice("backface culled primitives", metrics=("geometry:primitives/backface_culled",)),
    _MetricChoice("clipped primitives", metrics=("geometry:primitives/clipped",)),
    _MetricChoice("discarded primitives", metrics=("geometry:primitives/discarded",)),
    _MetricChoice("rasterised primitives", metrics=("geometry:primitives/rasterised",)),
    _MetricChoice("vertices", "vertices"),
    _MetricChoice("transformed vertices", metrics=("geometry:vertices/transformed_fifo_32",)),
    _MetricChoice("viewport transformed vertices", metrics=("geometry:vertices/viewport_transformed",)),
    _MetricChoice("lit vertices", metrics=("geometry:vertices/lit",)),
    _MetricChoice("vertex cache accesses", metrics=("geometry:vertices/cache_accesses",)),
    _MetricChoice("vertex cache hits (32, first in first out)", metrics=("geometry:vertices/cache_hits_fifo_32",)),
    _MetricChoice("fragments", metrics=("fragments:count/generated", "gl:pipeline/fragment_shader_invocations")),
    _MetricChoice("discarded fragments", metrics=("fragments:count/discarded",)),
    _MetricChoice("texture fetches", metrics=(_COUNTED, _FETCHES)),
    _MetricChoice(
        "rasterised pixels (% of surface)",
        metrics=("fragments:count/generated", "gl:pipeline/fragment_shader_invocations"),
        unit="percent",
        of_surface=True,
    ),
    _MetricChoice("overdraw (fragments a covered pixel)", metrics=("fragments:overdraw/mean",)),
    _MetricChoice("triangle size (pixels)", metrics=("geometry:triangles/average_area",)),
)
_VG = (
    _MetricChoice("calls", "calls"),
    _MetricChoice("render calls", "draws"),
    _MetricChoice("matrix operations", "matrix_operations"),
    _MetricChoice("created objects", "created_objects"),
    _MetricChoice(
        "rasterised pixels (% of surface)",
        metrics=("vg:engine/rasterizer_pixels",),
        sensors=("rasterizer_pixels",),
        unit="percent",
        of_surface=True,
    ),
    _MetricChoice("path size (pixels)", metrics=("vg:engine/average_path_size",), sensors=("average_path_size",)),
    _MetricChoice("path segments given", "path_segments"),
    _MetricChoice("path segments drawn", metrics=("vg:engine/path_segments",), sensors=("path_segments",)),
    _MetricChoice("path coordinates drawn", metrics=("vg:engine/path_coordinates",), sensors=("path_coordinates",)),
    _MetricChoice("tessellated edges", metrics=("vg:engine/tessellated_edges",), sensors=("tessellated_edges",)),
    _MetricChoice("accepted edges", metrics=("vg:engine/accepted_edges",), sensors=("accepted_edges",)),
    _MetricChoice("tessellated edges per path", metrics=("vg:engine/edges_per_path",), sensors=("edges_per_path",)),
    _MetricChoice("image uploads", metrics=("vg:engine/image_uploads",), sensors=("image_uploads",)),
    _MetricChoice("image reads", metrics=("vg:engine/property_reads",), sensors=("property_reads",)),
    _MetricChoice("image writes", metrics=("vg:engine/property_writes",), sensors=("property_writes",)),
    _MetricChoice("parameters asked for", metrics=("vg:engine/attribute_reads",), sensors=("attribute_reads",)),
    _MetricChoice("parameters set", metrics=("vg:engine/attribute_writes",), sensors=("attribute_writes",)),
    _MetricChoice("pixel uploads", "texels"),
    _MetricChoice("gradient stops", "gradient_stops"),
)
_VG_MEANS = {
    "vg:engine/average_path_size": ("vg:engine/rasterizer_pixels", "vg:engine/render_calls"),
    "vg:engine/edges_per_path": ("vg:engine/tessellated_edges", "vg:engine/paths"),
}
_MEASURE_GL = "drawtap profile {} --metrics 'geometry:*,fragments:*' --per frame,draw"
_MEASURE_VG = "drawtap profile {} --metrics 'vg:*' --per frame,draw"
_STOPS = """
SELECT frame, sum(count // 5) FROM "vgSetParameterfv" WHERE "paramType" = 'VG_PAINT_COLOR_RAMP_STOPS' GROUP BY frame
"""


@dataclass(frozen=True)
class Table:
    """Rows in the thesis' order; `command` is what measures those that are missing, "" where none is."""

    title: str
    rows: Sequence[TableRow]
    command: str = ""


def tables(trace: Trace) -> list[Table]:
    """Return the tables for the APIs that a recording uses; none for a recording without frames."""
    frames = content.frame_stats(trace)
    if not frames:
        return []
    apis = {f["name"][:2] for f in trace.table(HistogramRow)}
    tables_ = []
    values, notes = _measured(trace)
    stored = content.sensors(trace)
    rows = content.frame_stats(trace, stored) if stored else frames
    ids = frozenset(metric.id for name in BACKENDS.names() for metric in BACKENDS.get(name).metrics(Capabilities()))
    if any(f["name"] == "vgSetParameterfv" for f in trace.table(HistogramRow)):
        stops = {int(frame): float(n) for frame, n in trace.sql(_STOPS) if frame is not None}
        rows = [{**row, "gradient_stops": stops.get(row["frame"], 0.0)} for row in rows]
    known = _Known(rows, values, notes, frozenset(s.name for s in stored), ids, content.surface(trace))
    for title, wanted, command, prefix in (
        ("OpenGL and OpenGL ES", _GL, _MEASURE_GL, "gl"),
        ("OpenVG", _VG, _MEASURE_VG, "vg"),
    ):
        if prefix not in apis:
            continue
        made = [_row(w, known) for w in wanted]
        lacks = any(row.missing == "not measured" for row in made)
        tables_.append(Table(title, made, command.format(trace.path.name) if lacks else ""))
    return tables_


@dataclass(frozen=True)
class _Known:
    frames: Sequence[Mapping[str, object]]
    values: Mapping[str, Mapping[int, float]]
    notes: Mapping[str, str]
    sensors: frozenset[str]
    metrics: frozenset[str]
    surface: tuple[int, int] | None


def _row(wanted: _MetricChoice, known: _Known) -> TableRow:
    frames, values, notes, surface = known.frames, known.values, known.notes, known.surface
    series, source = _column(wanted.counts, frames), "calls"
    for metric in wanted.metrics:
        if series is None and metric in values:
            series, source = list(values[metric].values()), f"{metric} (counted)" if metric == _COUNTED else metric
    for sensor in wanted.sensors:
        if series is None and sensor in known.sensors:
            series, source = _column(sensor, frames), f"sensor {sensor}"
    if series is not None and wanted.of_surface:
        if surface is None:
            return TableRow(wanted.title, wanted.unit, None, source, "the size of the surface is not known")
        series = [100 * value / (surface[0] * surface[1]) for value in series]
    if not series:
        there = {m for m in wanted.metrics if m == _FETCHES or known.metrics & {m, f"{m.partition(':')[0]}:*"}}
        counted = bool(there) or not wanted.metrics
        why = next((notes[m] if m == _FETCHES else f"{m}: {notes[m]}" for m in wanted.metrics if m in notes), "")
        why = why or ("not measured" if counted else "no back-end counts it")
        return TableRow(wanted.title, wanted.unit, None, "", why)
    lacks = notes.get(source.removesuffix(" (counted)"), "")
    made = content.series(wanted.title, wanted.title, wanted.unit, series)
    return TableRow(wanted.title, wanted.unit, made, source, lacks=lacks)


def _column(name: str, frames: Sequence[Mapping[str, object]]) -> list[float] | None:
    numbers = [float(value) for row in frames if isinstance(value := row.get(name), int | float)] if name else []
    return numbers or None


def _measured(trace: Trace) -> tuple[dict[str, dict[int, float]], dict[str, str]]:
    """Return the values of metrics by frame, of the last run that has them; and what is known of frames without."""
    if not measured.files(trace.path):
        return {}, {}
    values: dict[str, dict[int, float]] = {}
    lost: dict[str, list[tuple[str, int, int, float | None]]] = {}
    for name, frame, value, note, draws, unknown, least in trace.sql(
        "SELECT name, frame, value, note, draws, unknown_draws, at_least FROM metrics "
        "WHERE per = 'frame' AND (name LIKE 'geometry:%' OR "
        "name LIKE 'fragments:%' OR name LIKE 'gl:pipeline/%' OR name LIKE 'vg:%') AND frame IS NOT NULL "
        "QUALIFY run = max(run) OVER (PARTITION BY name) ORDER BY frame"
    ):
        if value is not None:
            values.setdefault(str(name), {})[int(frame)] = float(value)
        elif note is not None:
            bound = None if least is None else float(least)
            entry = (str(note), int(draws or 0), int(unknown or 0), bound)
            lost.setdefault(str(name), []).append(entry)
    notes = {name: _lost(frames, name in values) for name, frames in lost.items()}
    # A frame whose draws were measured too was measured in parts, and the mean of their means is not the frame's.
    for mean, (part, whole) in _VG_MEANS.items():
        if mean in values and part in values and whole in values:
            counts = values[whole]
            values[mean] = {
                frame: values[part].get(frame, 0.0) / counts[frame] if counts.get(frame) else 0.0
                for frame in values[mean]
            }
    if _COUNTED not in values:
        try:
            if reads := _texture_reads(trace):
                values[_FETCHES] = reads
        except NotTold as error:
            notes[_FETCHES] = str(error)
    return values, notes


def _lost(frames: Sequence[tuple[str, int, int, float | None]], others: bool) -> str:
    """Say why frames have no value, each with its note, draws, unknown draws and lower bound, and what is known."""
    why = frames[0][0]
    draws, unknown = sum(frame[1] for frame in frames), sum(frame[2] for frame in frames)
    bounds = [bound for *_, bound in frames if bound is not None]
    said = f"unknown for {unknown:,} of {draws:,} draws: {why}" if unknown else why
    if bounds:
        said = f"at least {sum(bounds) / len(frames):,.0f} a frame, {said}"
    return f"without {len(frames)} frames ({said})" if others else said


def _texture_reads(trace: Trace) -> dict[int, float]:
    """Return the texture reads of frames: fragments that draws generated, times what a run of their shader reads.

    Empty where no draw's fragments were measured. Raises NotTold where a source does not tell its reads.
    """
    reads = of_programs(trace)
    sums: dict[int, float] = {}
    for frame, program, fragments in trace.sql(
        "SELECT m.frame, d.program, m.value FROM metrics m JOIN draws d ON d.seq = m.seq WHERE m.per = 'draw' AND "
        "d.kind = 'draw' AND m.name = 'fragments:count/generated' QUALIFY m.run = max(m.run) OVER ()"
    ):
        count = reads.get(int(program or 0), "it has no fragment shader of its own")
        if isinstance(count, str):
            raise NotTold(f"program {program}: {count}")
        if count and fragments is None:
            raise NotTold("the fragments of a draw could not be counted")
        number = int(frame)
        sums[number] = sums.get(number, 0.0) + count * float(fragments or 0)
    return sums


# ---- triangle sizes -------------------------------------------------------------------------------------------------

#: Metrics that count triangles by their area, with what people call them.
SIZES = (
    ("geometry:triangles/area_below_1", "below 1"),
    ("geometry:triangles/area_1_to_4", "1 to 4"),
    ("geometry:triangles/area_4_to_16", "4 to 16"),
    ("geometry:triangles/area_16_to_64", "16 to 64"),
    ("geometry:triangles/area_64_to_256", "64 to 256"),
    ("geometry:triangles/area_256_to_1024", "256 to 1024"),
    ("geometry:triangles/area_from_1024", "from 1024"),
)


def triangle_sizes(trace: Trace) -> list[tuple[str, float]]:
    """Return how many triangles were rasterised with which area in pixels, over all frames; [] if not measured."""
    values, _ = _measured(trace)
    if not any(metric in values for metric, _ in SIZES):
        return []
    return [(title, sum(values.get(metric, {}).values())) for metric, title in SIZES]


# ---- draws by frames ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heat:
    """One metric of draws: `cells[frame][place]` has the value of the draw at that place within the frame, None for
    none."""

    name: str
    unit: str
    cells: Sequence[Sequence[float | None]]


@dataclass(frozen=True)
class HeatMap:
    """Draws by frames: `frames` are the columns, each with its draws from the first on. `functions` name the draws,
    as cells do. `folded`: how many frames and how many draws one cell stands for, of which it shows the largest."""

    frames: Sequence[int]
    functions: Sequence[Sequence[str]]
    metrics: Sequence[Heat]
    folded: tuple[int, int] = (1, 1)


_MOST_METRICS = 8
_FIRST = (
    "gl:time/elapsed",
    "vk:time/elapsed",
    "cpu:time/wall",
    "estimate:operations/total",
    "fragments:count/generated",
    "geometry:primitives/rasterised",
)


def heat_map(trace: Trace, *, columns: int = 400, rows: int = 250) -> HeatMap | None:
    """Return the draws of all frames with what is known of each: the time of the call, its vertices, and metrics that
    drawtap profile measured for draws. None for a recording without draws in frames."""
    draws = trace.sql(
        "SELECT d.seq, d.frame, d.function, c.duration, d.vertices FROM draws d JOIN calls c ON c.seq = d.seq "
        "JOIN frames f ON f.frame = d.frame WHERE f.end_function IS NOT NULL AND d.kind = 'draw' ORDER BY d.seq"
    ).fetchall()
    if not draws:
        return None
    tables: dict[tuple[str, str], dict[int, float]] = {}
    measured_ones = _draw_metrics(trace)
    tables.update(sorted(measured_ones.items(), key=lambda item: _rank(item[0][0]))[:_MOST_METRICS])
    for name, unit, at in (("time of the call", "ns", 3), ("vertices", "count", 4)):
        known = {int(row[0]): float(row[at]) for row in draws if row[at] is not None}
        if any(known.values()):
            tables[name, unit] = known
    first, last = int(draws[0][1]), int(draws[-1][1])
    places: dict[int, list[tuple[int, str]]] = {}
    for seq, frame, function, _, _ in draws:
        places.setdefault(int(frame), []).append((int(seq), str(function)))
    deepest = max(len(draws_) for draws_ in places.values())
    wide, deep = -(-(last - first + 1) // columns), -(-deepest // rows)
    frames = range(first, last + 1, wide)

    def column(start: int) -> list[list[tuple[int, str]]]:
        mine = [places.get(n, []) for n in range(start, min(start + wide, last + 1))]
        longest = max(len(draws_) for draws_ in mine)
        return [[d for draws_ in mine for d in draws_[at : at + deep]] for at in range(0, longest, deep)]

    groups = [column(start) for start in frames]
    heats = [
        Heat(name, unit, [[_largest(values, cell) for cell in column] for column in groups])
        for (name, unit), values in tables.items()
    ]
    names = [[cell[0][1] if cell else "" for cell in column] for column in groups]
    return HeatMap(list(frames), names, [h for h in heats if any(any(c) for c in h.cells)], (wide, deep))


def _largest(values: Mapping[int, float], cell: Iterable[tuple[int, str]]) -> float | None:
    return max((values[seq] for seq, _ in cell if seq in values), default=None)


def _rank(name: str) -> tuple[int, str]:
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)


def _draw_metrics(trace: Trace) -> dict[tuple[str, str], dict[int, float]]:
    if not measured.files(trace.path):
        return {}
    by_metric: dict[tuple[str, str], dict[int, float]] = {}
    for name, unit, seq, value in trace.sql(
        "SELECT name, unit, seq, value FROM metrics WHERE per = 'draw' AND value IS NOT NULL AND "
        "name NOT LIKE '%/start' QUALIFY run = max(run) OVER (PARTITION BY name)"
    ):
        by_metric.setdefault((str(name), str(unit)), {})[int(seq)] = float(value)
    return {key: values for key, values in by_metric.items() if any(values.values())}
