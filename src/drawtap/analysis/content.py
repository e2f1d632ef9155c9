"""Count what the calls of a recording draw, upload and change: the statistics that need no engine.

Kyostila's thesis (Graphics Quality Analysis Toolkit), Tables 5 to 9, as far as calls alone tell: `overview` has the
rows of Tables 5 to 7 and the heads of 8 and 9, `frame_stats` one row a frame (drawtap stats --per-frame). `statistics`
has the minimum, maximum, mean and histogram of each series over the frames (drawtap stats, the bodies of Tables 8 and
9). The counting is done by the reader core in one pass (table `content`); a report and the command line call the same
functions.

Unknown figures are not made up: the vertices of indirect draws and of called display lists, and the results of
tessellation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from drawtap.tables.recording import ContentRow, FrameRow, HistogramRow, NativeRow
from drawtap.units import as_float

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

BINS = 10  # of a histogram

# Series of the table `content`: what people call them, and their unit (`count`, `bytes` or `ns`).
SERIES: Mapping[str, tuple[str, str]] = {
    "calls": ("calls", "count"),
    "draws": ("render calls", "count"),
    "indirect_draws": ("indirect render calls", "count"),
    "dispatches": ("compute dispatches", "count"),
    "clears": ("clears", "count"),
    "matrix_operations": ("matrix operations", "count"),
    "state_calls": ("state calls", "count"),
    "binds": ("binds", "count"),
    "same_binds": ("binds of what was bound", "count"),
    "uniforms": ("uniform calls", "count"),
    "texels": ("texel uploads", "count"),
    "texture_uploads": ("texture upload calls", "count"),
    "texture_bytes": ("texture data", "bytes"),
    "buffer_uploads": ("buffer upload calls", "count"),
    "buffer_bytes": ("buffer data", "bytes"),
    "client_bytes": ("arrays in client memory", "bytes"),
    "mapped_bytes": ("stored in mapped buffers", "bytes"),
    "path_segments": ("path segments", "count"),
    "primitives": ("primitives", "count"),
    "triangles": ("triangles", "count"),
    "vertices": ("vertices", "count"),
    "readbacks": ("read-backs", "count"),
    "readback_bytes": ("read back", "bytes"),
    "queries": ("queries of state", "count"),
    "waits": ("waits for the GPU", "count"),
    "flushes": ("flushes", "count"),
    "compiles": ("shader compiles", "count"),
    "links": ("program links", "count"),
    "created_objects": ("created objects", "count"),
    "deleted_objects": ("deleted objects", "count"),
    "list_calls": ("display lists called", "count"),
    "framebuffer_binds": ("framebuffer binds", "count"),
    "context_switches": ("context switches", "count"),
    "api_ns": ("time inside the API", "ns"),
    "duration": ("frame duration", "ns"),
    "interval": ("frame interval", "ns"),
}


@dataclass(frozen=True, slots=True)
class Overview:
    """A recording in a few numbers. Times in ns; None where they were not taken.

    `frames_per_second` is frames over the time from the start of the first to the end of the last; `fps_histogram`
    counts frames by their own rate in BINS equal steps from 0 to `fps_max`.
    """

    path: str
    file_bytes: int
    duration: int | None
    calls: int
    frames: int
    frames_per_second: float | None
    fps_histogram: tuple[int, ...]
    fps_max: float | None
    draws: int
    texture_bytes: int
    triangles_per_frame: float
    segments_per_frame: float  # given to paths of OpenVG
    surfaces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity over the frames. `bins` counts frames in BINS equal steps from `minimum` to `maximum`."""

    name: str
    title: str
    unit: str
    total: float
    minimum: float
    maximum: float
    mean: float
    bins: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sensor:
    """Readings by call: an `average` one is the mean over a frame, any other the sum. `readings`: seq to value."""

    name: str
    readings: Mapping[int, float]
    average: bool = False
    description: str = field(default="")


def sensors(trace: Trace) -> list[Sensor]:
    """Return the readings by call that are stored beside the recording (drawtap sensors), every number column one.

    A name that begins with `average_` or `mean_` is averaged over a frame, any other summed up.
    """
    from drawtap.trace import sensors as stored

    sensors_ = []
    for file in stored.tables(trace.path).values():
        columns, rows = stored.rows(file)
        key = columns.index("seq") if "seq" in columns else columns.index("frame")
        starts = None if "seq" in columns else [f.first_seq for f in trace.frames]
        for at, name in enumerate(columns):
            if name in ("seq", "frame"):
                continue
            readings: dict[int, float] = {}
            for row in rows:
                number, value = row[key], row[at]
                if starts is not None:
                    number = starts[number] if isinstance(number, int) and 0 <= number < len(starts) else None
                if isinstance(number, int) and isinstance(value, int | float) and not isinstance(value, bool):
                    readings[number] = float(value)
            if readings:
                sensors_.append(Sensor(name, readings, name.startswith(("average_", "mean_"))))
    return sensors_


def overview(trace: Trace) -> Overview:
    """Return the rows of the thesis' Tables 5 to 7, and the heads of Tables 8 and 9."""
    rows = frame_stats(trace)
    info = trace.info
    starts = [f["t_start"] for f in trace.table(FrameRow) if f["t_start"] is not None]
    finishes = [f["t_end"] for f in trace.table(FrameRow) if f["t_end"] is not None]
    seconds = (finishes[-1] - starts[0]) / 1e9 if starts and finishes else 0.0
    rates = [1e9 / step for row in rows if (step := as_float(row["interval"])) > 0]
    fastest = max(rates, default=0.0)
    duration = info["duration"]
    return Overview(
        path=str(trace.path),
        file_bytes=info["file_bytes"],
        duration=duration if isinstance(duration, int) else None,
        calls=info["calls"],
        frames=len(rows),
        frames_per_second=len(rows) / seconds if seconds > 0 else None,
        fps_histogram=histogram(rates, 0.0, fastest) if rates else (),
        fps_max=fastest if rates else None,
        draws=_total(rows, "draws"),
        texture_bytes=_total(rows, "texture_bytes"),
        triangles_per_frame=_total(rows, "triangles") / len(rows) if rows else 0.0,
        segments_per_frame=_total(rows, "path_segments") / len(rows) if rows else 0.0,
        surfaces=tuple(dict.fromkeys(_surfaces(trace))),
    )


def frame_stats(trace: Trace, sensors: Iterable[Sensor] = ()) -> list[dict[str, Any]]:
    """Return one row a frame: its number, first and last call, times (ns), every count of `content`, and each sensor.

    Calls after the last frame end belong to no frame. A sensor's column has its name.
    """
    times = trace.table(FrameRow)
    rows: list[dict[str, object]] = []
    for frame, counts in zip(times, trace.table(ContentRow), strict=False):
        row: dict[str, object] = {"frame": frame["frame"], "first_seq": frame["first_seq"], "end_seq": frame["end_seq"]}
        row |= {"duration": frame["duration"], "interval": frame["interval"]}
        row |= {name: value for name, value in counts.items() if name != "frame"}
        rows.append(row)
    for sensor in sensors:
        _add_sensor(rows, sensor)
    return rows


def loading(rows: Sequence[Mapping[str, object]]) -> int:
    """Return how many frames at the begin load, of rows as `frame_stats` returns them: up to the first that draws.

    Programs load in the frame that first draws something; some show empty frames before it. Where no frame draws, the
    first one loads. One frame at least is left: of a single frame nothing is taken away.
    """
    first = next((i for i, row in enumerate(rows) if row["draws"] or row["dispatches"]), 0)
    return max(min(first + 1, len(rows) - 1), 0)


def statistics(rows: Sequence[Mapping[str, object]], sensors: Iterable[Sensor] = ()) -> list[Series]:
    """Return every series that is not zero throughout, in the order of SERIES, sensors behind.

    `rows` are frames as `frame_stats` returns them, with these sensors.
    """
    shown = []
    names = {**SERIES, **{s.name: (s.description or s.name, "count") for s in sensors}}
    for name, (title, unit) in names.items():
        values = [float(v) for row in rows if isinstance(v := row.get(name), int | float)]
        if values and any(values):
            shown.append(series(name, title, unit, values))
    return shown


def series(name: str, title: str, unit: str, values: Sequence[float]) -> Series:
    """Return the statistics of some values."""
    low, high = min(values), max(values)
    return Series(name, title, unit, sum(values), low, high, sum(values) / len(values), histogram(values, low, high))


_DEFINED = """
SELECT g.share_group, coalesce(u.texture, 0) AS texture, u.target, u.level, u.width, u.height, u.depth,
       coalesce(u.internalformat, '') AS internalformat, coalesce(u.format, '') AS format, coalesce(u.type, '') AS type,
       coalesce(u.bytes, 0) AS bytes, u.compressed, u.seq
FROM texture_uploads u JOIN contexts g ON g.context = u.context WHERE NOT u.part
"""
_STORED = """
SELECT g.share_group, coalesce(b.texture, 0), s.target, s.levels, s.width, s.height, s.depth, s.internalformat, s.seq
FROM (SELECT x.seq, x.context, x.target_value AS target, x.levels::BIGINT AS levels, x.width::BIGINT AS width,
             x.height::BIGINT AS height, {depth} AS depth, x.internalformat::VARCHAR AS internalformat,
             coalesce(u.unit, 0) AS unit
      FROM "{function}" x ASOF LEFT JOIN texture_units u ON u.context = x.context AND u.seq <= x.seq) s
ASOF LEFT JOIN texture_bindings b
  ON b.context = s.context AND b.unit = s.unit AND b.target = s.target AND b.seq <= s.seq
JOIN contexts g ON g.context = s.context
"""
_GENERATED = """
SELECT DISTINCT g.share_group, coalesce(b.texture, 0)
FROM (SELECT x.seq, x.context, x.target_value AS target, coalesce(u.unit, 0) AS unit
      FROM "glGenerateMipmap" x ASOF LEFT JOIN texture_units u ON u.context = x.context AND u.seq <= x.seq) s
ASOF LEFT JOIN texture_bindings b
  ON b.context = s.context AND b.unit = s.unit AND b.target = s.target AND b.seq <= s.seq
JOIN contexts g ON g.context = s.context
"""
_CUBE = 34067


def texture_memory(trace: Trace) -> int:
    """Return the bytes of all levels of all textures as they were last defined, as their sizes and formats say.

    It includes no additions of drivers (padding, alignment, other formats) and no renderbuffers. Compressed levels
    count what was uploaded, generated levels what they hold. Textures that were deleted count, too: it is what the
    recording needs if it frees nothing early.
    """
    from drawtap.analysis.views import VIEWS
    from drawtap.trace.snapshot import Snapshot

    stored = [
        _STORED.format(depth="1", function="glTexStorage2D"),
        _STORED.format(depth="x.depth::BIGINT", function="glTexStorage3D"),
    ]
    with Snapshot(trace, [_DEFINED, *stored, _GENERATED], VIEWS) as snapshot:
        defined = snapshot.ask(_DEFINED)[1]
        storage = [row for question in stored for row in snapshot.ask(question)[1]]
        generated = {tuple(row) for row in snapshot.ask(_GENERATED)[1]}
    levels: dict[tuple[object, ...], tuple[int, int]] = {}  # of a level of a texture: when, bytes

    def put(key: tuple[object, ...], seq: int, size: int) -> None:
        if seq >= levels.get(key, (-1, 0))[0]:
            levels[key] = (seq, size)

    for group, texture, target, level, width, height, depth, internal, form, kind, content, packed, seq in defined:
        pixels = width * height * (depth or 1)
        texel = texel_bytes(str(internal), str(form), str(kind))
        bare = content if packed or not texel else round(pixels * texel)
        put((group, texture, target, level), seq, bare)
    # Generated levels come from the last level 0, as a driver generates them.
    bases = {(g, t, target): seq for (g, t, target, level), (seq, _) in levels.items() if level == 0}
    for group, texture, target, level, width, height, depth, internal, form, kind, _, _, seq in defined:
        if level == 0 and (group, texture) in generated and bases.get((group, texture, target)) == seq:
            texel = texel_bytes(str(internal), str(form), str(kind))
            for step, part in enumerate(_below(width, height), 1):
                put((group, texture, target, step), seq, round(part * (depth or 1) * texel))
    for group, texture, target, count, width, height, depth, internal, seq in storage:
        sizes = [(width * height), *_below(width, height)]
        faces = 6 if target == _CUBE else 1
        for level, part in enumerate(sizes[:count]):
            size = part * depth * faces * texel_bytes(str(internal), "", "")
            put((group, texture, "storage", level), seq, round(size))
    return sum(size for _, size in levels.values())


def _below(width: int, height: int) -> list[int]:
    areas = []
    while width > 1 or height > 1:
        width, height = max(width // 2, 1), max(height // 2, 1)
        areas.append(width * height)
    return areas


_CHANNELS = {"RGBA": 4, "BGRA": 4, "RGB": 3, "BGR": 3, "RG": 2, "LUMINANCE_ALPHA": 2, "SRGB_ALPHA": 4, "SRGB": 3}
_WIDTHS = {"BYTE": 1, "SHORT": 2, "INT": 4, "FLOAT": 4, "HALF_FLOAT": 2, "HALF_FLOAT_OES": 2}
_SIZED = {
    "SRGB8_ALPHA8": 4, "SRGB8": 3, "RGB565": 2, "RGB5_A1": 2, "RGBA4": 2, "R11F_G11F_B10F": 4, "RGB9_E5": 4,
    "RGB10_A2": 4, "RGB10_A2UI": 4, "DEPTH24_STENCIL8": 4, "DEPTH32F_STENCIL8": 8, "DEPTH_COMPONENT16": 2,
    "DEPTH_COMPONENT24": 4, "DEPTH_COMPONENT32": 4, "DEPTH_COMPONENT32F": 4, "STENCIL_INDEX8": 1, "ALPHA8": 1,
    "LUMINANCE8": 1, "LUMINANCE8_ALPHA8": 2, "BGRA8": 4, "R3_G3_B2": 1, "RGB5": 2, "RGB4": 2, "RGBA2": 1,
}  # fmt: skip


def texel_bytes(internalformat: str, form: str, kind: str) -> float:
    """Return the bytes of a texel: of a sized internal format (GL_RGBA8), else of what format and type say.

    S3TC, ETC and ASTC formats by their blocks of 4 x 4; 0 where it is not known.
    """
    name = internalformat.removeprefix("GL_").removesuffix("_EXT").removesuffix("_OES")
    if name in _SIZED:
        return _SIZED[name]
    if sized := re.fullmatch(r"(RGBA|RGB|RG|R)(8|16|32)(F|I|UI|_SNORM)?", name):
        return len(sized[1]) * int(sized[2]) / 8
    if name.startswith("COMPRESSED_"):
        half = ("ETC2" in name and "RGBA8" not in name and "ALPHA8_ETC2" not in name) or "DXT1" in name or "RED" in name
        return 0.5 if half or name in ("COMPRESSED_R11_EAC", "COMPRESSED_SIGNED_R11_EAC") else 1.0
    word = kind.removeprefix("GL_")
    if word.startswith("UNSIGNED_SHORT_"):
        return 2
    if word.startswith("UNSIGNED_INT_"):
        return 4
    width = _WIDTHS.get(word.removeprefix("UNSIGNED_"), 0)
    return width * _CHANNELS.get(form.removeprefix("GL_").removesuffix("_EXT").removesuffix("_INTEGER"), 1)


def histogram(values: Iterable[float], low: float, high: float, bins: int = BINS) -> tuple[int, ...]:
    """Count values in equal steps from `low` to `high`; all are in the first where the two are equal."""
    counts = [0] * bins
    width = (high - low) / bins
    for value in values:
        counts[min(int((value - low) / width), bins - 1) if width > 0 else 0] += 1
    return tuple(counts)


def _add_sensor(rows: list[dict[str, Any]], sensor: Sensor) -> None:
    readings = sorted(sensor.readings.items())
    at = 0
    for row in rows:
        end: int = row["end_seq"]
        inside = []
        while at < len(readings) and readings[at][0] < end:
            inside.append(readings[at][1])
            at += 1
        value = sum(inside)
        row[sensor.name] = (value / len(inside) if sensor.average else value) if inside else None


def surface(trace: Trace) -> tuple[int, int] | None:
    """Return width and height of the largest surface that is drawn to, else of the largest viewport; None for none."""
    sizes = [tuple(int(part) for part in text.split(" x ")) for text in _surfaces(trace)]
    if not sizes and any(f["name"] == "glViewport" for f in trace.table(HistogramRow)):
        sizes = [(w, h) for w, h in trace.sql('SELECT DISTINCT width, height FROM "glViewport"')]
    largest = max(sizes, key=lambda size: size[0] * size[1], default=None)
    return (largest[0], largest[1]) if largest and largest[0] > 0 and largest[1] > 0 else None


def _surfaces(trace: Trace) -> Iterable[str]:
    for row in trace.table(NativeRow):
        if row["kind"] not in ("surface", "window", "pbuffer", "pixmap"):
            continue
        words = dict(w.partition("=")[::2] for w in str(row["text"]).split(";"))
        if words.get("width", "0") != "0" and words.get("height", "0") != "0":
            yield f"{words['width']} x {words['height']}"


def _total(rows: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(int(row[name]) for row in rows)
