"""What is asked of recordings of OpenVG programs: the checklist, tables of draws and objects, C source."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import drawtap
from drawtap import parts
from drawtap.analysis.checklist import judge
from drawtap.analysis.content import overview
from drawtap.formats.c import export_c
from drawtap.metrics import tables

HABITS = ("vector-path-churn", "vector-image-churn", "vector-scene-rebuilt", "tiny-detailed-paths", "redundant-calls")


@pytest.mark.parametrize("habit", HABITS)
def test_a_habit_is_found_where_it_is_bad_and_only_there(recorded: Callable[..., Path], habit: str) -> None:
    for manner, verdict in (("bad", "finding"), ("good", "pass")):
        with drawtap.open(recorded("habits", arguments=(habit, manner))) as trace:
            found = judge(trace, habit)
        assert found.verdict == verdict, (manner, found.reason, found.evidence)


def test_draws_and_objects_are_told(recorded: Callable[..., Path]) -> None:
    with drawtap.open(recorded("frames")) as trace:
        first = trace.sql(
            "SELECT function, mode, vertices, primitives, blend_src, scissor_test, buffers, textures, width, height, "
            "round(drawn_width), program, viewport_width FROM draws WHERE frame = 1 ORDER BY seq"
        ).fetchall()
        uses = trace.sql(
            "SELECT class, count(*), count(deleted_seq), sum(uploads)::INT FROM resources "
            "WHERE class LIKE 'vg%' GROUP BY class ORDER BY class"
        ).fetchall()
        counted = trace.sql(
            "SELECT path, value FROM state WHERE path LIKE '%VG_PATH_NUM_%' AND value <> '0'"
        ).fetchall()
    assert [row[0] for row in first] == [
        "vgClear", "vgDrawPath", "vgDrawPath", "vgDrawPath", "vgDrawPath", "vgDrawImage", "vgDrawImage",
        "vgDrawGlyphs", "vgCopyPixels", "vgSetPixels",
    ]  # fmt: skip
    # The curve: moved to, two cubics, a quadratic, an arc; 300 wide with the diameter of the arc on either side.
    assert first[2] == (
        "vgDrawPath", "VG_STROKE_PATH", 5, 1, "VG_BLEND_SRC_OVER", False, [2], [], 320, 240, 300, 0, None,
    )  # fmt: skip
    # The picture is drawn with the paint of fills, a pattern, where the mode is "multiply".
    assert (first[5][7], first[6][7]) == ([3], [4, 5])
    assert (first[7][1], first[7][3], first[7][4], first[7][6]) == (
        "VG_FILL_PATH", 5, "VG_BLEND_MULTIPLY", [10, 11, 12]
    )  # fmt: skip
    assert first[9][5] is True
    assert {row[0]: row[1:] for row in uses} == {
        "vg_font": (1, 0, 0), "vg_image": (3, 0, 1), "vg_mask_layer": (1, 0, 0), "vg_paint": (18, 15, 0),
        "vg_path": (10, 8, 7),
    }  # fmt: skip
    numbers = {path.rpartition("]")[0] + "]" + path.rpartition("_")[2]: int(value) for path, value in counted}
    assert (numbers["vg_shares[1].paths[2]SEGMENTS"], numbers["vg_shares[1].paths[2]COORDS"]) == (5, 19)


def test_segments_are_counted_as_the_engine_does(recorded: Callable[..., Path]) -> None:
    """The program asks the engine for the numbers of every path it makes; the state is computed from its calls."""
    with drawtap.open(recorded("objects")) as trace:
        asked = trace.sql(
            'SELECT g.seq, g.object, g."paramType", g.result FROM "vgGetParameteri" g '
            "WHERE g.\"paramType\" IN ('VG_PATH_NUM_SEGMENTS', 'VG_PATH_NUM_COORDS')"
        ).fetchall()
        states = {
            (path, begin, end): int(value)
            for path, begin, end, value in trace.sql(
                "SELECT path, begin_seq, end_seq, value FROM state WHERE path LIKE '%VG_PATH_NUM_%'"
            ).fetchall()
        }
    told = 0
    for seq, path, parameter, answer in asked:
        found = [
            value
            for (name, begin, end), value in states.items()
            if begin <= seq < end and name.endswith(f".paths[{path}].{parameter}")
        ]
        if not found:  # it was no path
            continue
        told += 1
        assert found == [answer], (seq, path, parameter)
    assert told == 32


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["frames", "objects", "shared frames", "shared targets"])
def test_c_source_draws_the_same(
    request: pytest.FixtureRequest,
    recorded: Callable[..., Path],
    environment: dict[str, str],
    tmp_path: Path,
    name: str,
) -> None:
    for tool in ("cmake", "cc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    drawtap_ = request.getfixturevalue("drawtap")  # the command line; the module has the name here
    program, *arguments = name.split()
    trace, folder = recorded(program, "--hash-frames", arguments=tuple(arguments)), tmp_path / "c"
    with drawtap.open(trace) as opened:
        made = export_c(opened, folder)
        frames = len(opened.frames)
    assert dict(made.left_out) == {}
    build = folder / "build"
    options = ["-DPLAY_CHECK=ON", "-DPLAY_SNAPSHOT=ON", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror"]
    for command in (["cmake", "-S", folder, "-B", build, *options], ["cmake", "--build", build, "-j2"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    shots = tmp_path / "shots"
    shots.mkdir()
    played = subprocess.run(
        [build / "play"], env={**environment, "PLAY_SNAPSHOTS": str(shots)}, capture_output=True, text=True, timeout=300
    )
    assert played.returncode == 0, played.stderr
    found = re.search(r"(\d+) frames, 0 GL errors, (\d+) read-backs, 0 differ", played.stdout)
    assert found, played.stdout
    assert (int(found[1]), int(found[2])) == (frames, frames)
    # What its frames show is what the player shows.
    last = frames - 1
    assert drawtap_("image", trace, f"#{last}", "-o", tmp_path / "last.ppm").code == 0
    ours, theirs = (shots / f"frame_{last}.ppm").read_bytes(), (tmp_path / "last.ppm").read_bytes()
    assert theirs.partition(b"255\n")[2] == ours.partition(b"255\n")[2]
    assert len(ours) > 1000


def test_its_headers_and_names_are_those_of_openvg(recorded: Callable[..., Path], tmp_path: Path) -> None:
    with drawtap.open(recorded("objects")) as opened:
        export_c(opened, tmp_path / "c", frames=range(5, 6))
    folder = tmp_path / "c"
    assert sorted(p.name for p in (folder / "VG").iterdir()) == ["openvg.h", "vgext.h", "vgplatform.h", "vgu.h"]
    source = "".join(p.read_text() for p in folder.glob("frames_*.c"))
    for line in (
        "vgSeti(VG_MATRIX_MODE, VG_MATRIX_IMAGE_USER_TO_SURFACE);",
        "eglBindAPI(EGL_OPENVG_API);",
        "vgSeti(VG_MASKING, VG_TRUE);",
        "eglCreatePbufferFromClientBuffer(display, EGL_OPENVG_IMAGE, (EGLClientBuffer)(size_t)picture_",
    ):
        assert line in source, line
    assert json.dumps("libOpenVG.so.1") in (folder / "host_egl.c").read_text()
    assert parts.part(parts.OPENVG).exists()


def test_sensors_of_the_engine_are_metrics(request: pytest.FixtureRequest, recorded: Callable[..., Path]) -> None:
    drawtap_, trace = request.getfixturevalue("drawtap"), recorded("frames")
    answer = drawtap_("profile", trace, "--metrics", "vg:*", "--per", "frame,draw")
    assert answer.code == 0, answer.out + answer.err
    with drawtap.open(trace) as opened:
        frames = opened.sql(
            "SELECT number, name, value::INT FROM metrics WHERE per = 'frame' AND name IN "
            "('vg:engine/path_segments', 'vg:engine/paths', 'vg:engine/created_objects') ORDER BY 1, 2"
        ).fetchall()
        draws = opened.sql(
            "SELECT d.seq, d.vertices, m.value::INT FROM draws d JOIN metrics m USING (seq) "
            "WHERE m.per = 'draw' AND m.name = 'vg:engine/path_segments' AND d.function = 'vgDrawPath'"
        ).fetchall()
    # Four paths and five glyphs a frame; what the state machine says of a path's length, the engine says too.
    assert [value for number, metric, value in frames if metric.endswith("/paths")] == [9] * 5
    assert [value for number, metric, value in frames if metric.endswith("_segments")] == [53] * 5
    assert [value for number, metric, value in frames if metric.endswith("_objects")] == [17, 4, 4, 4, 4]
    assert len(draws) == 20
    assert all(told == measured for _, told, measured in draws), draws


def test_table_9_is_filled_by_the_engine(request: pytest.FixtureRequest, recorded: Callable[..., Path]) -> None:
    drawtap_, trace = request.getfixturevalue("drawtap"), recorded("frames")
    assert drawtap_("profile", trace, "--metrics", "vg:*", "--per", "frame,draw").code == 0
    with drawtap.open(trace) as opened:
        [table] = [table for table in tables.tables(opened) if table.title == "OpenVG"]
        seen = overview(opened)
        [(given,)] = opened.sql('SELECT sum("numSegments") FROM "vgAppendPathData"').fetchall()
    assert given == 11
    # By OpenVG 1.1, 17.1. Once, for glyphs: a rounded rectangle, an ellipse, a pie; each frame: an ellipse, a pie.
    round_rectangle, ellipse, pie = 10, 4, 5
    given += round_rectangle + ellipse + pie + 5 * (ellipse + pie)
    assert (seen.frames, seen.segments_per_frame, seen.triangles_per_frame) == (5, given / 5, 0)
    totals = {row.title: row.series.total for row in table.rows if row.series}
    assert [row.title for row in table.rows if not row.series] == []
    assert (totals["path segments drawn"], totals["path coordinates drawn"], totals["image uploads"]) == (265, 725, 1)
    assert 0 < totals["accepted edges"] <= totals["tessellated edges"]
    # Frames were measured draw by draw, and yet their means are those of the whole frame: nine paths in each.
    assert totals["tessellated edges per path"] == pytest.approx(totals["tessellated edges"] / 9)
