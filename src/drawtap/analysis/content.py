"""Count what the calls of a recording draw, upload and change: the statistics that need no engine.

Kyostila's thesis (Graphics Quality Analysis Toolkit), Tables 5 to 9, as far as calls alone tell: `overview` has the
rows of Tables 5 to 7 and the heads of 8 and 9, `frame_stats` one row a frame (its calc-frame-stats), `statistics` the
minimum, maximum, mean and histogram of each series over the frames (calc-stats, the bodies of Tables 8 and 9). The
counting is done by the reader core in one pass (table `content`); a report and the command line call the same
functions.

What calls do not tell is not made up: the vertices of indirect draws, of display lists when they are called, and what
tessellation makes of patches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

BINS = 10  # of a histogram

# Series of the table `content`: what people call them, and their unit (`count`, `bytes` or `ns`).
SERIES: Mapping[str, tuple[str, str]] = {
    "calls": ("graphics operations", "count"),
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
    """What a recording is in a few numbers. Times in ns; None where they were not taken.

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
    """Return the readings by call that are stored beside the recording (drawtap load-inst), every number column one.

    A name that begins with `average_` or `mean_` is averaged over a frame, any other summed up.
    """
    from drawtap.trace import sensors as stored

    found = []
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
                found.append(Sensor(name, readings, name.startswith(("average_", "mean_"))))
    return found


def overview(trace: Trace) -> Overview:
    """Return the rows of the thesis' Tables 5 to 7, and the heads of Tables 8 and 9."""
    rows = frame_stats(trace)
    info = trace.info
    starts = [cast(int, f["t_start"]) for f in trace.table("frames") if f["t_start"] is not None]
    finishes = [cast(int, f["t_end"]) for f in trace.table("frames") if f["t_end"] is not None]
    seconds = (finishes[-1] - starts[0]) / 1e9 if starts and finishes else 0.0
    rates = [1e9 / step for row in rows if (step := _number(row["interval"]))]
    fastest = max(rates, default=0.0)
    duration = info["duration"]
    return Overview(
        path=str(trace.path),
        file_bytes=cast(int, info["file_bytes"]),
        duration=duration if isinstance(duration, int) else None,
        calls=cast(int, info["calls"]),
        frames=len(rows),
        frames_per_second=len(rows) / seconds if seconds > 0 else None,
        fps_histogram=histogram(rates, 0.0, fastest) if rates else (),
        fps_max=fastest if rates else None,
        draws=_total(rows, "draws"),
        texture_bytes=_total(rows, "texture_bytes"),
        triangles_per_frame=_total(rows, "triangles") / len(rows) if rows else 0.0,
        surfaces=tuple(dict.fromkeys(_surfaces(trace))),
    )


def frame_stats(trace: Trace, sensors: Iterable[Sensor] = ()) -> list[dict[str, object]]:
    """Return one row a frame: its number, first and last call, times (ns), every count of `content`, and each sensor.

    Calls after the last frame end belong to no frame. A sensor's column has its name.
    """
    times = trace.table("frames")
    rows: list[dict[str, object]] = []
    for frame, counts in zip(times, trace.table("content"), strict=False):
        row: dict[str, object] = {"frame": frame["frame"], "first_seq": frame["first_seq"], "end_seq": frame["end_seq"]}
        row |= {"duration": frame["duration"], "interval": frame["interval"]}
        row |= {name: value for name, value in counts.items() if name != "frame"}
        rows.append(row)
    for sensor in sensors:
        _add_sensor(rows, sensor)
    return rows


def statistics(trace: Trace, sensors: Iterable[Sensor] = ()) -> list[Series]:
    """Return every series over the frames that is not zero throughout, in the order of SERIES, sensors behind."""
    sensors = list(sensors)
    rows = frame_stats(trace, sensors)
    found = []
    names = {**SERIES, **{s.name: (s.description or s.name, "count") for s in sensors}}
    for name, (title, unit) in names.items():
        values = [float(v) for row in rows if isinstance(v := row.get(name), int | float)]
        if values and any(values):
            found.append(series(name, title, unit, values))
    return found


def series(name: str, title: str, unit: str, values: Sequence[float]) -> Series:
    """Return the statistics of some values."""
    low, high = min(values), max(values)
    return Series(name, title, unit, sum(values), low, high, sum(values) / len(values), histogram(values, low, high))


def histogram(values: Iterable[float], low: float, high: float, bins: int = BINS) -> tuple[int, ...]:
    """Count values in equal steps from `low` to `high`; all are in the first where the two are equal."""
    counts = [0] * bins
    width = (high - low) / bins
    for value in values:
        counts[min(int((value - low) / width), bins - 1) if width > 0 else 0] += 1
    return tuple(counts)


def _add_sensor(rows: list[dict[str, object]], sensor: Sensor) -> None:
    readings = sorted(sensor.readings.items())
    at = 0
    for row in rows:
        end = cast(int, row["end_seq"])
        inside = []
        while at < len(readings) and readings[at][0] < end:
            inside.append(readings[at][1])
            at += 1
        value = sum(inside)
        row[sensor.name] = (value / len(inside) if sensor.average else value) if inside else None


def _surfaces(trace: Trace) -> Iterable[str]:
    for row in trace.table("natives"):
        if row["kind"] not in ("surface", "window", "pbuffer", "pixmap"):
            continue
        words = dict(w.partition("=")[::2] for w in str(row["text"]).split(";"))
        if words.get("width", "0") != "0" and words.get("height", "0") != "0":
            yield f"{words['width']} x {words['height']}"


def _total(rows: Iterable[Mapping[str, object]], name: str) -> int:
    return sum(cast(int, row[name]) for row in rows)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
