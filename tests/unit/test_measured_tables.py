"""What frames do, as tables: from calls, from what was measured, and with the reason where it was not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import duckdb
import pytest

import drawtap
from drawtap.analysis import synthesis
from drawtap.analysis.synthesis_request import Request
from drawtap.formats import text
from drawtap.formats.calls import CallWriter
from drawtap.metrics import profile, tables
from drawtap.output.recording_page import _frames, _measured
from drawtap.trace import measured

FRAMES = 4


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Three draws a frame on 100 x 50 pixels, five frames (the first loads)."""
    request = Request({"draws": 3, "triangles": 12, "clears": 1}, 100, 50, FRAMES)
    return synthesis.make(request, tmp_path / "a.dtap").path


def store(trace: Path, run: int, rows: Iterable[tuple[str, str, int, int, float | None, str, str | None]]) -> None:
    """Write rows (name, per, frame, seq, value, unit, note) as drawtap profile would."""
    folder = measured.folder(trace)
    folder.mkdir(exist_ok=True)
    there = ("name", "per", "number", "seq", "value", "unit", "note", "frame", "engine", "run")
    more = ", ".join(f'NULL::{c.type} AS "{c.name}"' for c in measured.columns() if c.name not in there)
    connection = duckdb.connect(":memory:")
    connection.execute(
        "CREATE TABLE m (name VARCHAR, per VARCHAR, number UBIGINT, seq UBIGINT, value DOUBLE, unit VARCHAR, "
        "note VARCHAR)"
    )
    connection.executemany("INSERT INTO m VALUES (?, ?, ?, ?, ?, ?, ?)", list(rows))
    connection.execute(
        f"COPY (SELECT *, number AS frame, 'made up' AS engine, {run}::INTEGER AS run, {more} FROM m) "
        f"TO '{folder}/{run:03}.parquet' (FORMAT parquet)"
    )
    connection.close()


def rows_of(path: Path) -> dict[str, tables.TableRow]:
    with drawtap.open(path) as trace:
        [table] = tables.tables(trace)
    return {row.title: row for row in table.rows}


def test_calls_alone(recording):
    found = rows_of(recording)
    draws = found["render calls"]
    assert draws.series is not None
    assert (draws.series.minimum, draws.series.maximum, draws.source) == (3, 3, "calls")
    for title in ("fragments", "backface culled primitives", "triangle size (pixels)"):
        assert found[title].series is None
        assert found[title].missing in ("not measured", "no back-end counts it")
    with drawtap.open(recording) as trace:
        [table] = tables.tables(trace)
        assert table.command == "drawtap profile a.dtap --metrics 'geometry:*,fragments:*' --per frame,draw"
        assert tables.triangle_sizes(trace) == []


def test_a_lower_bound_is_no_value(recording):
    name = "fragments:count/generated"
    rows = [(name, "frame", n, 0, None if n == 2 else 100.0, "count", "x" if n == 2 else None) for n in range(5)]
    store(recording, 1, rows)
    [file] = measured.files(recording)
    connection = duckdb.connect(":memory:")
    connection.execute(
        f"COPY (SELECT * REPLACE (4::BIGINT AS draws, if(value IS NULL, 1, NULL)::BIGINT AS unknown_draws, "
        f"if(value IS NULL, 70.0, NULL) AS at_least) FROM read_parquet('{file}')) TO '{file}.new' (FORMAT parquet)"
    )
    Path(f"{file}.new").replace(file)
    found = rows_of(recording)["fragments"]
    assert found.series is not None
    assert found.series.total == 400
    assert found.lacks == "without 1 frames (at least 70 a frame, unknown for 1 of 4 draws: x)"
    with drawtap.open(recording) as trace:
        lines = [value for *_, value in trace.sql(next(iter(text._measured(trace)))).fetchall()]
    assert sorted(lines) == ["100.0"] * 4 + ["at least 70.0, unknown for 1 of 4 draws"]


def test_runs_of_before_have_no_bounds(recording):
    store(recording, 1, [("fragments:count/generated", "frame", 0, 0, 5.0, "count", None)])
    [file] = measured.files(recording)
    connection = duckdb.connect(":memory:")
    connection.execute(
        f"COPY (SELECT * EXCLUDE (draws, unknown_draws, at_least) FROM read_parquet('{file}')) TO '{file}.new' "
        "(FORMAT parquet)"
    )
    Path(f"{file}.new").replace(file)
    with drawtap.open(recording) as trace:
        assert trace.sql("SELECT value, at_least, draws FROM metrics WHERE per = 'frame'").fetchall() == [
            (5, None, None)
        ]


def test_the_last_run_that_measured_it_counts(recording):
    store(recording, 1, [("fragments:count/generated", "frame", n, 0, 500.0, "count", None) for n in range(5)])
    rows = [("fragments:count/generated", "frame", n, 0, 1000.0 * n, "count", None) for n in range(5)]
    store(recording, 2, [*rows, ("geometry:vertices/lit", "frame", 0, 0, None, "count", "no lights in ES 2")])
    store(recording, 3, [("cpu:time/wall", "frame", 0, 0, 5.0, "ns", None)])
    found = rows_of(recording)
    series = found["fragments"].series
    assert series is not None
    assert (series.minimum, series.mean, series.maximum) == (0, 2000, 4000)
    assert found["fragments"].source == "fragments:count/generated"
    share = found["rasterised pixels (% of surface)"].series
    assert share is not None and share.maximum == pytest.approx(80), "of 5000 pixels"
    assert found["lit vertices"].missing == "geometry:vertices/lit: no lights in ES 2"


def test_plots_of_the_report_lose_nothing_that_was_measured(recording):
    sizes = [metric for metric, _ in tables.SIZES]
    rows = [(metric, "frame", frame, None, 1.0 + frame, "count", None) for metric in sizes for frame in range(FRAMES)]
    store(recording, 1, rows)
    store(recording, 2, [("cpu:time/wall", "frame", frame, None, 5.0, "ns", None) for frame in range(FRAMES)])
    with drawtap.open(recording) as trace:
        plots = _measured(trace, _frames(trace))
    assert [p.title for p in plots] == ["Measured: cpu:time", *["Measured: geometry:triangles"] * 2]
    lines = [label for plot in plots[1:] for label, _, _ in plot.series]
    assert lines == ["area 1 to 4", "area 4 to 16", "area 16 to 64", "area 64 to 256", "area 256 to 1024",
                     "area below 1", "area from 1024"]  # fmt: skip
    css = (Path(drawtap.__file__).parent / "output" / "assets" / "report.css").read_text()
    for colour in {colour for plot in plots for _, colour, _ in plot.series}:
        assert css.count(f"--{colour}: ") == 2, colour  # for light pages and dark ones
        assert css.count(f"--{colour}-fill: ") == 2, colour


def test_plots_have_lines_that_can_be_seen_beside_each_other(recording):
    usual = {"covered": 76_800.0, "mean": 1.7, "most": 9.0, "loaded": 0.0}
    rows = [
        (f"fragments:overdraw/{name}", "frame", frame, None, value if frame else 2e6, "count", None)
        for name, value in usual.items()
        for frame in range(FRAMES)
    ]
    store(recording, 1, rows)
    with drawtap.open(recording) as trace:
        plots = _measured(trace, _frames(trace))
    assert [[label for label, _, _ in plot.series] for plot in plots] == [["covered", "loaded"], ["mean", "most"]]


def test_sizes_of_triangles_are_of_all_frames(recording):
    store(recording, 1, [("geometry:triangles/area_4_to_16", "frame", n, 0, 2.0, "count", None) for n in range(5)])
    with drawtap.open(recording) as trace:
        sizes = dict(tables.triangle_sizes(trace))
    assert sizes["4 to 16"] == 10 and sum(sizes.values()) == 10


def test_a_map_of_draws(recording):
    with drawtap.open(recording) as trace:
        seqs = [int(str(s)) for (s,) in trace.sql("SELECT seq FROM draws WHERE kind = 'draw' ORDER BY seq").fetchall()]
    assert len(seqs) == 3 * (FRAMES + 1)
    store(recording, 1, [("gl:time/elapsed", "draw", i, s, float(i + 1), "ns", None) for i, s in enumerate(seqs)])
    with drawtap.open(recording) as trace:
        found = tables.heat_map(trace)
        folded = tables.heat_map(trace, columns=3, rows=2)
    assert found is not None and folded is not None
    assert (list(found.frames), found.folded) == ([0, 1, 2, 3, 4], (1, 1))
    assert found.metrics[0].name == "gl:time/elapsed"
    assert found.metrics[0].cells == [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12], [13, 14, 15]]
    assert {name for column in found.functions for name in column} == {"glDrawArrays"}
    # Two frames and two draws a cell: the largest of up to four.
    assert (list(folded.frames), folded.folded) == ([0, 2, 4], (2, 2))
    assert folded.metrics[0].cells == [[5, 6], [11, 12], [14, 15]]


def test_a_recording_without_draws_has_no_map(tmp_path):
    made = synthesis.make(Request({"clears": 1}, frames=2), tmp_path / "a.dtap")
    with drawtap.open(made.path) as trace:
        assert tables.heat_map(trace) is None


def test_texture_reads_are_fragments_times_what_shaders_read(tmp_path):
    request = Request({"draws": 2, "triangles": 4, "fragments": 5000, "texture_fetches": 15000}, 100, 50, 2)
    path = synthesis.make(request, tmp_path / "a.dtap").path
    with drawtap.open(path) as trace:
        draws = trace.sql("SELECT seq, frame FROM draws WHERE kind = 'draw' ORDER BY seq").fetchall()
    assert rows_of(path)["texture fetches"].missing == "not measured"
    name = "fragments:count/generated"
    store(path, 1, [(name, "draw", int(str(f)), int(str(s)), 100.0, "count", None) for s, f in draws])
    series = rows_of(path)["texture fetches"].series
    assert series is not None
    assert (series.minimum, series.maximum) == (600, 600), "three reads for each of two hundred fragments"
    store(path, 2, [(name, "draw", int(str(f)), int(str(s)), None, "count", "lost") for s, f in draws])
    assert rows_of(path)["texture fetches"].missing == "the fragments of a draw could not be counted"


def test_openvg_has_a_table_of_its_own(tmp_path):
    out = CallWriter()
    out.call("eglBindAPI", "EGL_OPENVG_API", result=1)
    size = ["EGL_WIDTH", 20, "EGL_HEIGHT", 10, "EGL_NONE"]
    out.call("eglCreatePbufferSurface", 1 << 44, 2 << 44, size, result=3 << 44)
    for stops in (2, 0, 3):
        out.call("vgLoadIdentity")
        if stops:
            out.call("vgSetParameterfv", 7, "VG_PAINT_COLOR_RAMP_STOPS", 5 * stops, [0.5] * 5 * stops)
        out.call("vgDrawPath", 8, 1)
        out.call("eglSwapBuffers", 1 << 44, 3 << 44, result=1)
    path = tmp_path / "a.dtap"
    out.save(path)
    store(path, 1, [("vg:engine/path_segments", "frame", n, 4 * n, 12.0, "count", None) for n in range(3)])
    found = rows_of(path)
    drawn = {title: row.series for title, row in found.items() if row.series}
    assert drawn["path segments drawn"].mean == 12
    assert drawn["matrix operations"].mean == drawn["render calls"].mean == 1
    assert (drawn["gradient stops"].minimum, drawn["gradient stops"].maximum) == (0, 3)
    assert found["path size (pixels)"].missing in ("not measured", "no back-end counts it")


def test_what_a_driver_counts_otherwise_is_told(tmp_path: Path):
    stored = tmp_path / "001.parquet"
    duckdb.sql(
        "SELECT seq::UBIGINT AS seq, 'draw' AS per, seq::UBIGINT AS number, name, value::DOUBLE AS value FROM (VALUES "
        "(3, 'gl:pipeline/vertices_submitted', 6), (3, 'geometry:vertices/vertices_submitted', 6), "
        "(5, 'gl:pipeline/vertices_submitted', 9), (5, 'geometry:vertices/vertices_submitted', 8), "
        "(7, 'gl:pipeline/vertices_submitted', 1), (7, 'geometry:vertices/vertices_submitted', NULL), "
        "(8, 'gl:pipeline/vertices_submitted', 2), (8, 'geometry:vertices/vertices_submitted', 1), "
        "(3, 'gl:pipeline/clipping_input_primitives', 2), (3, 'geometry:primitives/submitted', 2)) r(seq, name, value)"
    ).write_parquet(str(stored))
    metric, other = "gl:pipeline/vertices_submitted", "geometry:vertices/vertices_submitted"
    assert profile.disagreements(stored) == [profile.Disagreement(metric, other, "draw", 3, 2, 5, 9.0, 8.0)]
