"""What the calls of a frame draw, upload and change; readings of sensors beside a recording."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from drawtap.analysis import content
from drawtap.errors import InputError, QueryError, UsageError
from drawtap.trace import measured
from drawtap.trace.trace import Trace, open_trace
from scene import Scene
from writer import MANY, Data, Writer, i32


def _swap(t: object, start: int) -> None:
    t.call("eglSwapBuffers", dpy=1, surface=2, result=1, start=start, duration=100)  # type: ignore[attr-defined]


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    w = Writer(MANY)
    t = w.thread()
    t.call("glGenTextures", n=3, textures=i32(1, 2, 3), start=1000, duration=10)
    t.call("glTexImage2D", width=8, height=4, pixels=Data(b"x" * 128), start=1100, duration=10)
    t.call("glBufferData", data=Data(b"y" * 2000, kind=2), start=1200, duration=10)
    t.call("glDrawArrays", mode=4, count=36, start=1300, duration=10)
    _swap(t, 2000)
    t.call("glUseProgram", program=7, start=2100, duration=10)
    t.call("glUseProgram", program=7, start=2200, duration=10)
    t.call("glUseProgram", program=8, start=2300, duration=10)
    t.call("glLoadIdentity", start=2400, duration=10)
    t.tap("dtapMemory", address=Data(b"z" * 50, pointer=64))
    t.call("glDrawArraysInstanced", mode=5, count=4, instancecount=10, start=2500, duration=10)
    t.call("glMultiDrawArrays", mode=6, first=i32(0, 4, 8), count=i32(3, 5, -1), drawcount=3, start=2600, duration=10)
    t.call("glDrawArraysIndirect", mode=4, start=2700, duration=10)
    t.call("glBegin", mode=7, start=2800, duration=10)
    for i in range(5):
        t.call("glVertex2f", start=2800 + i, duration=1)
    t.flush()  # immediate mode goes over the end of the chunk
    for i in range(3):
        t.call("glVertex2f", start=2810 + i, duration=1)
    t.call("glEnd", start=2900, duration=10)
    _swap(t, 4000)
    t.call("glDrawArrays", mode=0, count=1, start=5000, duration=10)
    t.call("glDrawArrays", mode=1, count=-5, start=5100, duration=10)
    _swap(t, 7000)
    t.call("glDrawArrays", mode=4, count=3, start=8000, duration=10)
    return open_trace(w.write(tmp_path / "t.dtap"))


def test_counts_of_frames(trace: Trace) -> None:
    frames = [{k: v for k, v in row.items() if v} for row in trace.table("content")]
    assert frames[0] == {
        "calls": 5, "draws": 1, "vertices": 36, "primitives": 12, "triangles": 12, "texture_uploads": 1, "texels": 32,
        "texture_bytes": 128, "buffer_uploads": 1, "buffer_bytes": 2000, "created_objects": 3, "state_calls": 1,
        "api_ns": 140,
    }  # fmt: skip
    strip, multi, quads = 2 * 10, 1 + 3, 2
    assert frames[1] == {
        "frame": 1, "calls": 18, "draws": 1 + 3 + 1 + 1, "indirect_draws": 1, "vertices": 40 + 8 + 8,
        "primitives": strip + multi + quads, "triangles": strip + multi + 2 * quads, "matrix_operations": 1, "binds": 3,
        "same_binds": 1, "client_bytes": 50, "state_calls": 4, "api_ns": 8 + 9 * 10 + 100,
    }  # fmt: skip
    assert frames[2] == {
        "frame": 2,
        "calls": 3,
        "draws": 2,
        "vertices": 1,
        "primitives": 1,
        "api_ns": 120,
    }
    assert frames[3]["vertices"] == 3  # after the last frame
    assert len(frames) == 4


def test_counts_are_a_table(trace: Trace) -> None:
    query = "SELECT frame, content.draws, frames.calls FROM content JOIN frames USING (frame) ORDER BY frame"
    assert trace.sql(query).fetchall() == [(0, 1, 5), (1, 6, 18), (2, 2, 3)]


def test_statistics(trace: Trace) -> None:
    found = {s.name: s for s in content.statistics(content.frame_stats(trace))}
    draws = found["draws"]
    assert (draws.total, draws.minimum, draws.maximum, draws.mean) == (9, 1, 6, 3)
    assert draws.bins == (1, 0, 1, 0, 0, 0, 0, 0, 0, 1)
    assert "dispatches" not in found
    assert found["duration"].unit == "ns"


def test_overview(trace: Trace) -> None:
    seen = content.overview(trace)
    assert (seen.frames, seen.calls, seen.draws, seen.texture_bytes) == (3, 27, 9, 128)
    assert seen.triangles_per_frame == pytest.approx((12 + 28) / 3)
    assert seen.frames_per_second == pytest.approx(3 / 6100e-9)
    assert sum(seen.fps_histogram) == 2


def test_commands(drawtap, trace: Trace) -> None:
    answer = drawtap("stats", trace.path)
    assert answer.code == 0, answer.err
    lines = {line.split("  ")[0]: line for line in answer.out.splitlines()}
    assert lines["texture data"].split()[2:5] == ["bytes", "128", "B"]
    assert "▁" in lines["render calls"] or "█" in lines["render calls"]
    answer = drawtap("stats", trace.path, "#1:", "--per-frame")
    assert [line.split()[0] for line in answer.out.splitlines()] == ["frame", "1", "2"]
    behind = drawtap("stats", trace.path, "3", "--per-frame")  # the same as #3
    assert behind.code == 2 and "there is no frame 3" in behind.err
    assert drawtap("stats", trace.path, "x").code == 2


def test_readings_of_sensors(drawtap, trace: Trace, tmp_path: Path) -> None:
    readings = tmp_path / "readings.csv"
    readings.write_text("seq,pixels,average_size\n3,100,4\n9,10,2\n10,20,6\n24,5,\n")
    assert drawtap("sensors", trace.path, readings).code == 0
    rows = content.frame_stats(trace, content.sensors(trace))
    assert [row["pixels"] for row in rows] == [100, 30, 5]
    assert [row["average_size"] for row in rows] == [4, 4, None]
    thesis = "SELECT event.seq, event.name FROM trace WHERE event.sensors.pixels < 50 AND event.duration > 5"
    fresh = open_trace(trace.path)
    assert fresh.sql(thesis).fetchall() == [
        (9, "glDrawArraysInstanced"),
        (10, "glMultiDrawArrays"),
        (24, "glDrawArrays"),
    ]
    assert fresh.sql("SELECT name FROM calls JOIN sensors USING (seq) WHERE pixels = 20").fetchall() == [
        ("glMultiDrawArrays",)
    ]
    assert drawtap("sensors", trace.path, "--save", tmp_path / "out.json").code == 0
    assert '"pixels":100' in (tmp_path / "out.json").read_text()
    assert drawtap("sensors", trace.path, "--save", tmp_path / "out.json").code == 2
    assert drawtap("sensors", trace.path, "--save", tmp_path / "x.csv", "--name", "none").code == 4


def test_readings_of_the_original_player(trace: Trace, tmp_path: Path) -> None:
    from drawtap.trace import sensors

    log = tmp_path / "instrumentation.log"
    log.write_text("desc pixels Pixels that were drawn\nevent glDrawArrays 3\nvalue int pixels 7\n"
                   "value float size 1.5\nevent eglSwapBuffers 4\nvalue int pixels 9\nvalue str name x\n")  # fmt: skip
    sensors.load(trace.path, log)
    assert sensors.rows(sensors.tables(trace.path)["sensors"]) == (
        ["seq", "pixels", "size"], [(3, 7.0, 1.5), (4, 9.0, None)]
    )  # fmt: skip
    log.write_text("event glDrawArrays x\n")
    with pytest.raises(InputError, match="line 1 makes no sense"):
        sensors.load(trace.path, log)


@pytest.mark.parametrize(
    ("text", "error"),
    [("a,b\n1,2\n", "neither a column seq"), ("seq\n1\n", "no sensor")],
)
def test_readings_that_are_none(trace: Trace, tmp_path: Path, text: str, error: str) -> None:
    from drawtap.trace import sensors

    file = tmp_path / "readings.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=error):
        sensors.load(trace.path, file)
    with pytest.raises(UsageError, match="cannot be the name"):
        sensors.load(trace.path, file, name="a b")


def test_a_histogram() -> None:
    assert content.histogram([1, 1, 2, 11], 1, 11) == (2, 1, 0, 0, 0, 0, 0, 0, 0, 1)
    assert content.histogram([5, 5], 5, 5) == (2, *[0] * 9)


def test_lists_draw_where_they_are_called(tmp_path: Path) -> None:
    w = Writer(MANY)
    t = w.thread()

    def square() -> None:
        t.call("glBegin", mode=7, duration=1)
        for _ in range(4):
            t.call("glVertex2f", x=0.0, y=0.0, duration=1)
        t.call("glEnd", duration=1)

    t.call("glNewList", list=101, mode=0x1300, duration=1)  # GL_COMPILE
    square()
    t.flush()  # the end of a chunk, within the list and within its second square
    t.call("glBegin", mode=7, duration=1)
    for _ in range(2):
        t.call("glVertex2f", x=0.0, y=0.0, duration=1)
    t.flush()
    for _ in range(2):
        t.call("glVertex2f", x=0.0, y=0.0, duration=1)
    t.call("glEnd", duration=1)
    t.call("glEndList", duration=1)
    t.call("glNewList", list=102, mode=0x1301, duration=1)  # GL_COMPILE_AND_EXECUTE
    t.call("glDrawArrays", mode=4, count=6, duration=1)
    t.call("glCallList", list=101, duration=1)
    t.call("glEndList", duration=1)
    _swap(t, 1000)
    t.call("glCallList", list=102, duration=1)
    t.call("glCallList", list=77, duration=1)  # there is none
    t.call("glListBase", base=100, duration=1)
    t.call("glCallLists", n=3, type=0x1401, lists=Data(bytes((1, 1, 2))), duration=1)  # GL_UNSIGNED_BYTE
    _swap(t, 2000)
    t.call("glDeleteLists", list=101, range=1, duration=1)
    t.call("glCallLists", n=2, type=0x1407, lists=Data(bytes((0, 1, 0, 2))), duration=1)  # GL_2_BYTES
    _swap(t, 3000)
    t.flush()
    with open_trace(w.write(tmp_path / "lists.dtap")) as trace:
        rows = trace.table("content")
    found = [tuple(row[name] for name in ("draws", "vertices", "primitives", "triangles")) for row in rows]
    one, two = (2, 8, 2, 4), (3, 14, 4, 6)
    assert found == [two, tuple(2 * a + 2 * b for a, b in zip(one, two, strict=True)), two]


def test_vertices_of_evaluators_and_array_elements(tmp_path: Path) -> None:
    w = Writer(MANY)
    t = w.thread()
    steps = {"i1": 0, "i2": 4, "j1": 1, "j2": 3}  # 5 by 3 points
    expected = []
    # Points; lines along both directions; 4 by 2 quads.
    for mode, found in ((0x1B00, (1, 15, 15, 0)), (0x1B01, (1, 30, 22, 0)), (0x1B02, (1, 20, 8, 16))):
        t.call("glEvalMesh2", mode=mode, **steps, duration=1)
        _swap(t, 1000)
        expected.append(found)
    t.call("glNewList", list=1, mode=0x1300, duration=1)
    t.call("glEvalMesh2", mode=0x1B02, **steps, duration=1)
    t.call("glEndList", duration=1)
    t.call("glCallList", list=1, duration=1)
    t.call("glBegin", mode=4, duration=1)
    for i in range(3):
        t.call("glArrayElement", i=i, duration=1)
    t.call("glEnd", duration=1)
    _swap(t, 4000)
    expected.append((2, 23, 9, 17))
    with open_trace(w.write(tmp_path / "meshes.dtap")) as trace:
        rows = trace.table("content")
    assert [tuple(row[n] for n in ("draws", "vertices", "primitives", "triangles")) for row in rows] == expected


@pytest.mark.parametrize(
    ("mode", "primitives", "triangles"),
    [(0, 8, 0), (1, 4, 0), (2, 8, 0), (3, 7, 0), (4, 2, 2), (5, 6, 6), (6, 6, 6), (7, 2, 4), (8, 3, 6), (9, 1, 6),
     (10, 2, 0), (11, 5, 0), (12, 1, 1), (13, 2, 2)],
)  # fmt: skip
def test_points_and_lines_are_no_triangles(tmp_path: Path, mode: int, primitives: int, triangles: int) -> None:
    w = Writer(MANY)
    t = w.thread()
    t.call("glDrawArrays", mode=mode, count=8, start=1000, duration=10)
    _swap(t, 2000)
    t.flush()
    with open_trace(w.write(tmp_path / "modes.dtap")) as trace:
        [row] = trace.table("content")
    assert (row["primitives"], row["triangles"]) == (primitives, triangles)


def test_shapes_of_vgu_have_segments(tmp_path: Path) -> None:
    scene = Scene(api=3)
    given = [
        (scene.vguLine(1, 0, 0, 1, 1), 2),
        (scene.vguPolygon(1, b"\0" * 24, 3, 0), 3),
        (scene.vguPolygon(1, b"\0" * 24, 3, 1), 4),
        (scene.vguRect(1, 0, 0, 4, 4), 5),
        (scene.vguRoundRect(1, 0, 0, 4, 4, 1, 1), 10),
        (scene.vguEllipse(1, 0, 0, 4, 4), 4),
        (scene.vguArc(1, 0, 0, 4, 4, 0.0, 90.0, "VGU_ARC_OPEN"), 2),
        (scene.vguArc(1, 0, 0, 4, 4, 0.0, -270.0, "VGU_ARC_CHORD"), 4),
        (scene.vguArc(1, 0, 0, 4, 4, 10.0, 360.0, "VGU_ARC_PIE"), 5),
        (scene.vguRect(1, 0, 0, -4, 4, result="VGU_ILLEGAL_ARGUMENT_ERROR"), 0),
        (scene.vgAppendPathData(1, 2, b"\2\4", b"\0" * 16), 2),
    ]
    scene.frame()
    with open_trace(scene.write(tmp_path / "shapes.dtap")) as trace:
        [row] = trace.table("content")
        assert content.overview(trace).segments_per_frame == sum(segments for _, segments in given)
    assert row["path_segments"] == sum(segments for _, segments in given)


def _drawing(draws: str) -> list[dict[str, object]]:
    return [{"draws": int(n), "dispatches": 0} for n in draws]


@pytest.mark.parametrize(
    ("draws", "loads"), [("111", 1), ("0111", 2), ("00011", 4), ("000", 1), ("1", 0), ("01", 1), ("", 0)]
)
def test_frames_up_to_the_first_that_draws_load(draws: str, loads: int) -> None:
    assert content.loading(_drawing(draws)) == loads


def test_what_was_measured_of_draws_is_sensors(trace: Trace) -> None:
    query = "SELECT event.seq, event.sensors.pixels, event.sensors.wall FROM trace WHERE event.sensors.pixels > 10"
    with pytest.raises(QueryError, match="no sensors"):
        trace.sql(query)
    folder = measured.folder(trace.path)
    folder.mkdir()
    rows = [(3, "vg:engine/pixels", 8, "draw"), (3, "cpu:time/wall", 7, "draw"), (11, "vg:engine/pixels", 40, "call")]
    rows.append((0, "vg:engine/pixels", 99, "frame"))
    for run in (1, 2):  # the second measures no times
        given = {"run": run, "seq": "seq", "name": "name", "value": f"value + {run}", "per": "per"}
        columns = [f"({given.get(c.name, 'NULL')})::{c.type} AS {c.name}" for c in measured.columns()]
        some = ", ".join(map(str, (row for row in rows if run == 1 or row[1].startswith("vg:"))))
        values = f"SELECT {', '.join(columns)} FROM (VALUES {some}) AS v(seq, name, value, per)"
        duckdb.connect(":memory:").execute(f"COPY ({values}) TO '{folder}/00{run}.parquet'")
    assert trace.sql(query).fetchall() == [(11, 42.0, None)]
    assert trace.sql(query.replace("> 10", "= 10")).fetchall() == [(3, 10.0, 8.0)]
