"""What becomes of primitives and vertices, held against draws of which it is known and against exact arithmetic."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections import Counter, deque
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drawtap.metrics import listing, passes, profile
from drawtap.metrics.backends import geometry
from drawtap.replay import player
from drawtap.trace.trace import open_trace

if TYPE_CHECKING:
    from conftest import Bench

FRAMES = 3
SIDE = 64
LLVMPIPE = {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}
APIS = ("es1", "es2", "es3", "compat", "core")
CLASSES = ("submitted", "degenerate", "frustum_culled", "backface_culled", "discarded", "rasterised", "clipped")

#: The draws of `common_draws` in geometry.c.
COMMON = [
    (8, 2, 2, 0, 0, 4, 2),  # everything that is there
    (8, 2, 2, 1, 0, 3, 2),
    (8, 2, 2, 3, 0, 1, 0),  # clockwise is the front
    (8, 2, 2, 4, 0, 0, 0),
    (8, 0, 0, 8, 0, 0, 0),  # a strip that is turned away
    (8, 0, 0, 0, 0, 8, 0),
    (2, 1, 0, 0, 0, 1, 0),  # a fan that closes on its first corner
    (3, 0, 2, 0, 0, 1, 1),
    (7, 1, 0, 0, 0, 6, 0),
    (5, 0, 0, 0, 0, 5, 0),
    (24, 0, 8, 0, 0, 16, 0),
    (1, 0, 0, 0, 1, 0, 0),  # a viewport without width
    (1, 0, 0, 0, 1, 0, 0),  # masked
]
MODERN = [
    (5, 1, 0, 0, 0, 4, 0),  # two strips, and two vertices that are none
    (1, 0, 0, 0, 0, 1, 0),
    (4, 0, 2, 0, 0, 2, 1),  # four instances
    (8, 2, 2, 0, 4, 0, 0),
    (2, 0, 0, 0, 0, 2, 0),
    (1, 0, 0, 0, 0, 1, 0),  # in a query of the program's
    COMMON[0],
]
FIXED = [(16, 0, 0, 0, 0, 16, 0), (16, 0, 6, 0, 0, 10, 0), (16, 0, 0, 16, 0, 0, 0), (16, 0, 16, 0, 0, 0, 0)]
WANTED = {
    "es1": FIXED,
    "es2": [*COMMON, (5, 0, 0, 0, 0, 5, 0), (5, 0, 5, 0, 0, 0, 0)],
    "es3": [*COMMON, *MODERN],
    "core": [*COMMON, *MODERN],
    # Quads, a polygon, a rectangle, glBegin, a display list.
    "compat": [*FIXED, *[(2, 0, 0, 0, 0, 2, 0)] * 3, (2, 0, 1, 0, 0, 1, 0), (8, 0, 0, 8, 0, 0, 0)],
}

Rows = list[dict[str, float | None]]


@pytest.fixture(scope="module")
def recordings(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    player.program()
    found = {}
    for api in APIS:
        folder = tmp_path_factory.mktemp(api)
        done = programs.recorded(["geometry", api, str(FRAMES)], folder)
        assert done.result.returncode == 0, done.result.stdout + done.result.stderr
        found[api] = done.traces[0]
    return found


def measured(path: Path, ids: Sequence[str], per: str, frame: int = 1, *, alone: bool = False) -> tuple[Rows, set[str]]:
    """Return what each draw (clears left out) or the whole of a frame has, by metric, and the notes.

    `alone`: no other frame is measured, and none is played after it.
    """
    with open_trace(path) as trace:
        known = listing.metrics(path, environment=LLVMPIPE)
        plan = passes.plan(path, listing.chosen(known, ids), [per], environment=LLVMPIPE)
        frames = range(frame, frame + 1) if alone else None
        profile.profile(trace, plan, profile.ProfileOptions(frames), environment=LLVMPIPE)
        values = trace.sql(
            "SELECT m.seq, m.name, m.value, m.note FROM metrics m LEFT JOIN calls c ON c.seq = m.seq WHERE "
            f"m.per = '{per}' AND m.frame = {frame} AND (m.per = 'frame' OR c.name <> 'glClear') ORDER BY m.seq"
        ).fetchall()
    rows: dict[int, dict[str, float | None]] = {}
    for seq, name, value, _ in values:
        rows.setdefault(seq, {})[name.split("/")[1]] = value
    return list(rows.values()), {note for *_, note in values if note}


class TestPrimitives:
    @pytest.mark.parametrize("api", APIS)
    def test_every_primitive_of_every_draw_is_in_the_class_where_it_belongs(
        self, recordings: dict[str, Path], api: str
    ):
        rows, notes = measured(recordings[api], ["geometry:primitives/*"], "draw")
        found = [tuple(row[name] for name in CLASSES) for row in rows]
        assert found == WANTED[api]
        assert not notes

    @pytest.mark.parametrize(
        ("frame", "wanted"), [(FRAMES + 1, [10, 0, 5, 0, 0, 5, 0]), (2 * FRAMES, [12, 0, 0, 6, 0, 6, 0])]
    )
    def test_what_geometry_and_tessellation_shaders_put_out_is_counted(
        self, recordings: dict[str, Path], frame: int, wanted: list[int]
    ):
        [row], notes = measured(recordings["core"], ["geometry:primitives/*"], "frame", frame)
        assert [row[name] for name in CLASSES] == wanted
        assert not notes

    @pytest.mark.parametrize("api", ["es2", "core"])
    def test_a_frame_has_the_sum_of_its_draws(self, recordings: dict[str, Path], api: str):
        [row], notes = measured(recordings[api], ["geometry:primitives/*"], "frame")
        assert [row[name] for name in CLASSES] == [sum(draw[i] for draw in WANTED[api]) for i in range(7)]
        assert not notes

    def test_chance_triangles_are_told_apart_as_by_exact_arithmetic(self, programs: Bench, tmp_path: Path):
        done = programs.recorded(["geometry", "random", "400"], tmp_path)
        lines = [line.split() for line in done.result.stdout.splitlines()]
        triangles = [
            [Fraction(struct.unpack(">f", bytes.fromhex(word))[0]) for word in words]
            for words in lines
            if len(words) == 12 and all(len(word) == 8 for word in words)
        ]
        assert len(triangles) == 400
        truth: Counter[str] = Counter()
        areas = []
        for numbers in triangles:
            kind, crosses, area, corners = classified([tuple(numbers[i : i + 4]) for i in (0, 4, 8)])
            truth[kind] += 1
            truth["clipped"] += crosses
            if kind == "rasterised":
                areas.append(float(area))
                truth["corners"] += corners
        truth["submitted"] = 400
        assert min(truth[name] for name in CLASSES if name not in ("discarded", "degenerate")) > 20
        [row], notes = measured(
            done.traces[0],
            ["geometry:primitives/*", "geometry:triangles/*", "geometry:vertices/viewport_transformed"],
            "draw",
            0,
        )
        assert {name: row[name] for name in CLASSES} == {name: truth[name] for name in CLASSES}
        assert row["viewport_transformed"] == truth["corners"] > 3 * truth["rasterised"]
        assert row["area"] == pytest.approx(sum(areas))
        assert row["average_area"] == pytest.approx(sum(areas) / len(areas))
        edges = [0, 1, 4, 16, 64, 256, 1024, float("inf")]
        names = [entry.spec for entry in geometry._KNOWN if entry.spec.startswith("area_")]
        counts = [sum(low <= area < high for area in areas) for low, high in pairwise(edges)]
        assert [row[name] for name in names] == counts
        assert not notes

    def test_triangles_that_rounding_turns_round_for_the_driver_are_in_doubt(self, programs: Bench, tmp_path: Path):
        done = programs.recorded(["geometry", "slivers"], tmp_path)
        *facing, shown, turned = [line.split()[-1] for line in done.result.stdout.splitlines()[:1442]]
        assert int(shown) > 50
        assert int(turned) > 5
        rows, notes = measured(done.traces[0], ["geometry:primitives/*"], "draw", 0)
        *plain, culled, other = rows
        assert not notes
        # Where nothing is culled, it does not matter.
        assert {row["culling_in_doubt"] for row in plain} == {0}
        assert len(facing) == culled["submitted"] == 1440
        wanted = Counter(facing)
        assert culled["degenerate"] == wanted["0"]
        assert culled["backface_culled"] == wanted["-1"]
        assert culled["rasterised"] == wanted["1"]
        assert int(turned) <= culled["culling_in_doubt"] < 1440
        assert other["submitted"] == other["culling_in_doubt"] == int(turned)


#: Of each draw of cutting.c: submitted, outside, discarded, rasterised, clipped, area in pixels. A triangle has 128;
#: one is cut in half, which leaves a quarter, and one at 0.4 of its width.
WHOLE, LEFT, BOTH = (8, 0, 0, 8, 0, 1024.0), (8, 3, 0, 5, 1, 544.0), (8, 4, 0, 4, 2, 128 * (0.25 + 2 + 1 - 0.36))
SCALED = (8, 3, 0, 5, 0, 5 * 64.0)  # the third touches the plane with a corner
SILENT = "the program clips at planes, and its shader does not say how far away they are"
CUTTING = {
    "core": [WHOLE, LEFT, BOTH, (8, 4, 0, 4, 0, 512.0), SILENT, (8, 0, 2, 6, 0, 3 * 128 + 3 * 16.0)],
    "es3": [WHOLE, LEFT, BOTH, (8, 4, 0, 4, 0, 512.0), SILENT],
    "compat": [WHOLE, LEFT, BOTH, SCALED, BOTH],
    "es1": [WHOLE, LEFT, BOTH, SCALED],
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("api", CUTTING)
def test_what_programs_cut_away_and_which_viewports_they_choose_is_told(programs: Bench, tmp_path: Path, api: str):
    done = programs.recorded(["cutting", api, "2"], tmp_path)
    assert done.result.returncode == 0, done.result.stdout + done.result.stderr
    [trace] = done.traces
    rows, notes = measured(trace, ["geometry:primitives/*", "geometry:triangles/area"], "draw")
    names = ("submitted", "frustum_culled", "discarded", "rasterised", "clipped", "area")
    assert len(rows) == len(CUTTING[api])
    for row, wanted in zip(rows, CUTTING[api], strict=True):
        if isinstance(wanted, str):
            assert row["submitted"] is None
        else:
            assert [row[name] for name in names] == pytest.approx(list(wanted), rel=1e-6)
    assert notes == {note for note in CUTTING[api] if isinstance(note, str)}
    assert len(unchanged(trace, tmp_path)) == 2


Corner = tuple[Fraction, ...]


def classified(corners: list[Corner]) -> tuple[str, bool, Fraction, int]:
    """Tell a triangle's class, whether it crosses the view volume if it is rasterised, its area in pixels, and how
    many corners are left of it there."""
    (ax, ay, _, aw), (bx, by, _, bw), (cx, cy, _, cw) = corners
    facing = ax * (by * cw - bw * cy) + ay * (bw * cx - bx * cw) + aw * (bx * cy - by * cx)
    if not facing:
        return "degenerate", False, Fraction(0), 0
    inside = all(abs(v) <= corner[3] for corner in corners for v in corner[:3])
    polygon = corners
    for axis in range(3):
        for sign in (1, -1):
            kept: list[Corner] = []
            for here, there in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
                a, b = here[3] + sign * here[axis], there[3] + sign * there[axis]
                if a >= 0:
                    kept.append(here)
                if (a < 0) != (b < 0):
                    t = a / (a - b)
                    kept.append(tuple(p + t * (q - p) for p, q in zip(here, there, strict=True)))
            polygon = kept
    flat = [(x / w, y / w) for x, y, _, w in polygon if w > 0]
    area = Fraction(0)
    for (px, py), (qx, qy) in zip(flat, [*flat[1:], *flat[:1]], strict=True):
        area += px * qy - qx * py
    area = abs(area) / 2 * (SIDE // 2) ** 2
    if not area:
        return "frustum_culled", False, area, 0
    if facing < 0:
        return "backface_culled", False, area, 0
    return "rasterised", not inside, area, len(polygon)


def fifo(indices: Sequence[int], size: int) -> int:
    """Return how many of the indices a first-in-first-out cache has."""
    kept: deque[int] = deque(maxlen=size)
    hits = 0
    for index in indices:
        if index in kept:
            hits += 1
        else:
            kept.append(index)
    return hits


class TestVertices:
    def test_an_index_stream_asks_the_cache_as_a_queue_would_be_asked(self, recordings: dict[str, Path]):
        rows, _ = measured(recordings["compat"], ["geometry:vertices/*"], "draw")
        grid = [i for q in range(8) for i in (2 * q, 2 * q + 2, 2 * q + 1, 2 * q + 1, 2 * q + 2, 2 * q + 3)]
        first = rows[0]
        assert first["viewport_transformed"] == 3 * 16
        assert first["vertices_submitted"] == first["cache_accesses"] == 48
        assert first["distinct"] == len(set(grid))
        assert first["cache_hits_fifo_16"] == fifo(grid, 16)
        assert first["cache_hits_fifo_32"] == fifo(grid, 32)
        assert first["transformed_fifo_32"] == 48 - fifo(grid, 32)

    @pytest.mark.parametrize("api", ["es1", "compat"])
    def test_vertices_are_lit_while_lighting_is_on(self, recordings: dict[str, Path], api: str):
        rows, _ = measured(recordings[api], ["geometry:vertices/*"], "draw")
        assert [row["lit"] for row in rows[:4]] == [0, 0, 18, 0]

    def test_restarts_are_no_vertices_and_instances_count_each(self, recordings: dict[str, Path]):
        rows, _ = measured(recordings["core"], ["geometry:vertices/*"], "draw")
        strips, _, instances = rows[13:16]
        assert (strips["vertices_submitted"], strips["distinct"]) == (11, 8)
        assert (instances["vertices_submitted"], instances["cache_accesses"]) == (12, 0)

    def test_calls_between_begin_and_end_and_in_lists_are_vertices_too(self, recordings: dict[str, Path]):
        rows, _ = measured(recordings["compat"], ["geometry:vertices/vertices_submitted"], "draw")
        assert [row["vertices_submitted"] for row in rows] == [48, 48, 18, 18, 4, 4, 4, 6, 10]


ALIKE = {
    "geometry:vertices/vertices_submitted": "gl:pipeline/vertices_submitted",
    "geometry:primitives/submitted": "gl:pipeline/clipping_input_primitives",
}


#: Where drivers have a choice, by recording: a rectangle, a quad and a polygon come to clipping as one; vertices that
#: make no primitive are left out (the two at the end of the strips), and what rasterizer discard drops is not clipped.
CHOICES = {
    "compat": [("gl:pipeline/clipping_input_primitives", 3 * FRAMES, 1.0, 2.0)],
    "core": [
        ("gl:pipeline/vertices_submitted", FRAMES, 9.0, 11.0),
        ("gl:pipeline/clipping_input_primitives", FRAMES, 0.0, 8.0),
    ],
}


@pytest.mark.parametrize("api", CHOICES)
def test_the_driver_counts_the_same_vertices_and_primitives_but_where_it_has_a_choice(
    recordings: dict[str, Path], api: str
):
    ids = [id_ for pair in ALIKE.items() for id_ in pair]
    known = {m.id: m for m in listing.metrics(recordings[api], environment=LLVMPIPE)}
    if missing := known[ids[1]].missing:
        pytest.skip(missing)
    with open_trace(recordings[api]) as trace:
        plan = passes.plan(recordings[api], [known[id_] for id_ in ids], ["draw"], environment=LLVMPIPE)
        made = profile.profile(trace, plan, profile.ProfileOptions(), environment=LLVMPIPE)
        for ours, theirs in ALIKE.items():
            rows = trace.sql(
                "SELECT a.value, b.value FROM metrics a JOIN metrics b USING (seq) "
                f"WHERE a.name = '{ours}' AND b.name = '{theirs}' AND a.value IS NOT NULL AND b.value IS NOT NULL"
            ).fetchall()
            assert len(rows) >= FRAMES * 8
            assert sum(a == b for a, b in rows) >= FRAMES * 6
    found = [(one.metric, one.differ, one.driver, one.ours) for one in profile.disagreements(made.path)]
    assert found == CHOICES[api]


def test_the_average_area_is_of_all_triangles_of_a_range_and_needs_no_pass_of_its_own(recordings: dict[str, Path]):
    ids = ["geometry:triangles/area", "geometry:triangles/average_area", "geometry:primitives/rasterised"]
    known = listing.chosen(listing.metrics(recordings["compat"], environment=LLVMPIPE), ids)
    plan = passes.plan(recordings["compat"], known, ["draw", "frame"], environment=LLVMPIPE)
    assert [(len(one.metrics), sorted(one.per)) for one in plan.passes] == [(3, ["draw", "frame"])]
    with open_trace(recordings["compat"]) as trace:
        profile.profile(trace, plan, profile.ProfileOptions(), environment=LLVMPIPE)
        rows = trace.sql(
            "SELECT per, max(value) FILTER (name LIKE '%/area'), max(value) FILTER (name LIKE '%/rasterised'), "
            "max(value) FILTER (name LIKE '%/average_area'), any_value(note) FROM metrics WHERE frame = 1 "
            "GROUP BY per, number ORDER BY per, number"
        ).fetchall()
    *draws, frame = rows
    assert frame[0] == "frame"
    # Draws differ, so that a mean of their means is another number.
    assert len({average for _, _, _, average, _ in draws if average is not None}) > 2
    for _, area, count, average, note in rows:
        if count:
            assert average == pytest.approx(area / count)
            assert note is None
        else:
            assert average is None


class TestCalls:
    @pytest.mark.parametrize(("api", "render"), [("es1", 4), ("compat", 9)])
    def test_renders_matrices_and_texels_are_counted_from_the_calls(
        self, recordings: dict[str, Path], api: str, render: int
    ):
        [row], _ = measured(recordings[api], ["geometry:calls/*"], "frame")
        assert row == {"render": render, "matrix": 7, "matrix_uniforms": 0, "texels_uploaded": 38}


def played(path: Path, folder: Path, measure: bool) -> tuple[list[str], dict[str, object], list[dict[str, object]]]:
    """Play a recording, measured or not; return the frames' hashes, the result and what was found."""
    extra: list[str] = []
    if measure:
        request = folder / "request"
        known = listing.chosen(listing.metrics(path, environment=LLVMPIPE), ["geometry:*"])
        per = ("frame", "draw")
        request.write_text(passes.request_text(known, per, passes=[passes.Pass(tuple(known), per)]))
        extra = ["--measure", str(request), "--measured", str(folder / "values.csv")]
    command = [str(player.program()), "--hashes", "--verify", *extra, str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={"PATH": "/usr/bin:/bin", **LLVMPIPE}
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    [result] = [line for line in said if line["kind"] == "result"]
    hashes = [line["hash"] for line in said if line["kind"] == "frame"]
    return hashes, result, [line for line in said if line["kind"] == "finding"]


def unchanged(path: Path, folder: Path) -> list[str]:
    plain, result, findings = played(path, folder, measure=False)
    again, watched, found = played(path, folder, measure=True)
    assert again == plain
    assert found == findings
    for what in ("calls", "compared", "different", "skipped"):
        assert watched[what] == result[what]
    return plain


@pytest.mark.parametrize("api", APIS)
def test_pictures_answers_and_errors_stay_as_they_are(recordings: dict[str, Path], tmp_path: Path, api: str):
    frames = 2 * FRAMES + 1 if api == "core" else FRAMES
    assert len(unchanged(recordings[api], tmp_path)) == frames


def test_what_glxgears_draws_is_what_its_text_says(programs: Bench, tmp_path: Path):
    if shutil.which("glxgears") is None or programs.display is None:
        pytest.skip("glxgears or Xvfb is not installed")
    for seconds in ("1", "10", "60"):  # a loaded machine draws few frames in a second
        trace = programs.record(["timeout", seconds, "glxgears"], tmp_path / f"{seconds}.dtap", window=True)
        with open_trace(trace) as opened:
            if len(opened.table("frames")) > 3:
                break
    [row], notes = measured(trace, ["geometry:*"], "frame", 2, alone=True)
    assert not notes
    # A push, three turns of the view, a pop, and four calls for each gear, which is a display list.
    assert (row["matrix"], row["render"]) == (1 + 3 + 3 * 4 + 1, 3)
    # 20, 10 and 10 teeth. Of each gear: faces and backs (4 a tooth and 2), sides of teeth (4), outside (8 a tooth and
    # 2), inside (2 a tooth and 2), all of it lit; a quad of these is two triangles.
    teeth = 20 + 10 + 10
    assert row["vertices_submitted"] == row["lit"] == teeth * (2 * (4 + 4) + 8 + 2) + 3 * (2 + 2 + 2 + 2)
    assert row["submitted"] == teeth * 2 * (2 * (2 + 1) + 4 + 1)
    # A quad of each tooth has one corner twice, before and behind; drivers may make more of it in lists.
    assert row["degenerate"] >= 2 * teeth
    assert sum(row[name] for name in CLASSES[1:6]) == row["submitted"]  # type: ignore[misc]


@pytest.mark.exhaustive  # make test has a real program whose numbers are known
def test_what_a_real_program_draws_adds_up(programs: Bench, tmp_path: Path):
    if shutil.which("glmark2-es2") is None or programs.display is None:
        pytest.skip("glmark2-es2 or Xvfb is not installed")
    scenes = ["-b", "build:use-vbo=false:duration=1000:nframes=3", "-b", "refract:duration=1000:nframes=2"]
    recorded = programs.recorded([str(shutil.which("glmark2-es2")), "-s", "128x96", *scenes], tmp_path)
    assert recorded.result.returncode == 0, recorded.result.stdout + recorded.result.stderr
    [trace] = recorded.traces
    assert unchanged(trace, tmp_path)
    rows, notes = measured(trace, ["geometry:primitives/*", "geometry:vertices/*"], "draw")
    assert not notes
    assert any(row["backface_culled"] for row in rows)
    for row in rows:
        assert row["submitted"] == sum(row[name] or 0 for name in CLASSES[1:6])
        assert 3 * (row["submitted"] or 0) == row["vertices_submitted"]
