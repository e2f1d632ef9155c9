"""Fragments of draws, held against arithmetic, and that counting them changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from drawtap.analysis import glsl, shader_cost
from drawtap.metrics import listing, overdraw, passes, profile, tables
from drawtap.metrics.passes import Pass, request_text
from drawtap.output import overdraw as view
from drawtap.replay import player
from drawtap.trace.trace import open_trace
from shared import run_drawtap, steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conftest import Bench

LLVMPIPE = {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}
WIDTH, HEIGHT, FRAMES = 64, 48, 5  # from the third on, llvmpipe may count where it draws
ALL = WIDTH * HEIGHT
COUNTS = ["generated", "discarded", "passed", "written"]

Fate = tuple[object, object, object, object]


@pytest.fixture(scope="module", autouse=True)
def _player() -> None:
    player.program()


@pytest.fixture(scope="module")
def recorded(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {
        name: programs.recorded([name, str(FRAMES)], tmp_path_factory.mktemp(name)).traces[0]
        for name in ("fragments", "fragments_depth", "fragments_gl", "fragments_es1")
    } | {
        word: programs.recorded(["fragments_more", word, str(FRAMES)], tmp_path_factory.mktemp(word)).traces[0]
        for word in MORE
    }


def _triangle() -> int:
    """Pixels whose centre lies inside of the triangle (0, 0), (WIDTH, 0), (0, HEIGHT); none lies on its edge."""
    x, y = np.arange(WIDTH) + 0.5, np.arange(HEIGHT)[:, None] + 0.5
    beyond = x * HEIGHT + y * WIDTH - ALL
    assert not (beyond == 0).any()
    return int((beyond < 0).sum())


def _all(count: int, discarded: int = 0) -> Fate:
    return count, discarded, count - discarded, count - discarded


#: What each draw of tests/gl/programs/fragments.c has: generated, discarded, passed, written.
ES: Sequence[Fate] = [
    _all(ALL),
    _all(2 * ALL),
    _all(ALL, ALL // 2),
    _all(ALL // 2),
    (ALL, 0, ALL // 2, ALL // 2),
    (2 * ALL, 0, ALL, ALL),
    _all(2 * ALL),
    (2 * ALL, ALL // 2, ALL, ALL),
    (2 * ALL, 0, ALL // 2, ALL // 2),
    _all(70),
    _all(70, 35),
    _all(256),
    _all(_triangle()),
    _all(16),
    _all(WIDTH),
    (ALL, 0, ALL, 0),
    (ALL, 0, 0, 0),  # no stencil value is 5
    _all(256, 128),
    _all(256),
]
MEMORY = "its shaders write memory: drawn again, they would do so again"
COVERAGE = "the alpha test or coverage leaves out samples: see samples_discarded and samples_passed"
SMALL = 256 + 16  # two triangles, which meet in the pixels of the diagonal
#: The same of tests/gl/programs/fragments_gl.c.
GL: Sequence[Fate] = [
    _all(ALL),
    _all(ALL, ALL // 2),
    _all(ALL, ALL // 2),
    (ALL, 0, ALL // 2, ALL // 2),
    _all(ALL // 2),
    _all(ALL, ALL * 3 // 4),
    _all(200),
    (ALL, 0, ALL - 200, ALL - 200),
    _all(ALL // 4),
    _all(ALL // 2),
    _all(ALL // 2),
    _all(ALL),
    (MEMORY, MEMORY, ALL, ALL),
    _all(ALL),
    _all(ALL),
    _all(SMALL),
    (SMALL, COVERAGE, COVERAGE, COVERAGE),
    _all(0),
    (ALL, 0, ALL // 2, ALL // 2),
    (ALL // 4, 0, ALL // 8, ALL // 8),
    (ALL // 4, 0, ALL // 8, ALL // 8),
]

#: The same of tests/gl/programs/fragments_more.c, by its first argument.
MORE: Mapping[str, Sequence[Fate]] = {
    "conditional": [
        *(_all(ALL), (ALL // 4, 0, 0, 0), (ALL // 4, 0, ALL // 4, 0), *[_all(ALL // 2)] * 8, _all(0), _all(0)),
        *((ALL, 0, ALL * 3 // 4, ALL * 3 // 4), _all(0), _all(ALL // 4), _all(ALL // 2)),
    ],
    "queries": [
        *(_all(ALL // 2), (ALL // 2, 0, ALL // 4, ALL // 4), (ALL, 0, 0, 0), _all(ALL // 4)),
        *((ALL // 2, 0, 0, 0), _all(ALL // 4), _all(ALL // 4), _all(0), _all(ALL)),
    ],
    "lists": [
        *(_all(ALL // 2), _all(ALL // 4), _all(ALL // 2), _all(ALL // 2)),
        *((ALL * 3 // 2, 0, ALL, ALL), _all(ALL // 2), (ALL, 0, 0, 0), _all(ALL // 2)),
        *(_all(ALL // 4 + 1), _all(ALL * 3 // 4), _all(ALL // 4), _all(ALL * 3 // 2), _all(ALL)),
    ],
}

#: The same of tests/gl/programs/fragments_es1.c.
ES1: Sequence[Fate] = [
    _all(ALL),
    _all(2 * ALL),
    _all(70),
    _all(ALL, ALL // 4),
    (ALL, ALL // 4, ALL * 3 // 8, ALL * 3 // 8),
    (ALL, 0, ALL * 5 // 8, ALL * 5 // 8),
    (2 * ALL, 0, 0, 0),
    (2 * ALL, 0, ALL, ALL),
    (ALL, 0, ALL // 2, ALL // 2),
    (ALL, 0, ALL, 0),
]

MANY = "more than 254 fragments of one draw lie on a pixel"
_NONE, _HALF = (ALL, 0, 0, 0), (ALL, 0, ALL // 2, ALL // 2)
#: The same of tests/gl/programs/fragments_depth.c.
DEPTH: Sequence[Fate] = [
    _NONE,
    _NONE,
    _all(ALL // 2),
    _HALF,
    _HALF,
    _all(ALL),
    _NONE,
    _NONE,
    _all(ALL),
    _NONE,
    _HALF,
    _HALF,
    _HALF,
    _NONE,
    (200 * 70, 0, 70, 70),
    _all(200 * 70),
    (100 * 70, 0, 70, 70),
    _all(100 * 70),
    (MANY, MANY, 700 * 70, 700 * 70),
    (100 * 70, 50 * 70, 35, 35),
    (70, 0, 35, 35),
    _NONE,
    _all(ALL),
    _all(ALL),
    _NONE,
]


def _measured(
    trace: Path, per: Sequence[str], environment: Mapping[str, str] = LLVMPIPE, metrics: str = "fragments:*"
) -> None:
    """Measure a recording, unless what was measured of it last is the same."""
    question = tuple(per), tuple(environment.items()), metrics
    if _last_measured.get(trace) == question:
        return
    with open_trace(trace) as opened:
        known = listing.chosen(listing.metrics(trace, environment=environment), metrics.split(","))
        made = passes.plan(trace, known, per, environment=environment)
        assert len(made.passes) == 1
        profile.profile(opened, made, profile.ProfileOptions(), environment=environment)
    _last_measured[trace] = question


#: By recording: what was asked of it last, its rows stand beside it.
_last_measured: dict[Path, object] = {}


def _draws(trace: Path, frame: int, prefix: str = "") -> list[Fate]:
    columns = ", ".join(
        f"any_value(coalesce(value::VARCHAR, note)) FILTER (m.name = 'fragments:count/{prefix}{name}')"
        for name in COUNTS
    )
    with open_trace(trace) as opened:
        rows = opened.sql(
            f"SELECT {columns} FROM metrics m JOIN calls c USING (seq) WHERE m.per = 'draw' AND m.frame = {frame} "
            "AND c.name NOT LIKE 'glClear%' GROUP BY seq ORDER BY seq"
        ).fetchall()
    return [tuple(_number(cell) for cell in row) for row in rows]  # type: ignore[misc]


def _number(text: object) -> object:
    try:
        return int(float(str(text)))
    except ValueError:
        return text


def _check_unchanged(trace: Path, tmp_path: Path) -> None:
    """Images, what is read back and all state are the same while fragments are counted."""
    known = listing.chosen(listing.metrics(trace, environment=LLVMPIPE), ["fragments:*"])
    request = tmp_path / "request"
    request.write_text(request_text(known, ["draw", "frame"], passes=[Pass(tuple(known), ("draw", "frame"))]))
    with open_trace(trace) as opened:
        [(last,)] = opened.sql("SELECT max(seq) FROM calls WHERE name = 'glReadPixels'").fetchall()
    common = ["--verify", "--hashes", "--snapshot-at", "frames:1", "--query-state", str(last), "--query-file"]
    plain = player.play(trace, [*common, str(tmp_path / "plain")], environment=LLVMPIPE)
    measuring = ["--measure", str(request), "--measured", str(tmp_path / "rows")]
    measured = player.play(trace, [*common, str(tmp_path / "measured"), *measuring], environment=LLVMPIPE)
    assert plain.compared > 0
    assert (plain.compared, plain.different) == (measured.compared, 0)
    assert measured.different == 0, measured.findings
    assert measured.hashes == plain.hashes
    assert (tmp_path / "measured").read_text() == (tmp_path / "plain").read_text()
    assert (tmp_path / "plain").read_text().count("\n") > 100


class TestCounts:
    def test_in_es_every_draw_has_exactly_the_fragments_of_arithmetic(self, recorded: dict[str, Path]):
        _measured(recorded["fragments"], ["draw", "frame"])
        for frame in range(FRAMES):
            assert _draws(recorded["fragments"], frame) == list(ES)

    def test_what_passes_follows_whatever_changes_the_depth_buffer(self, recorded: dict[str, Path]):
        _measured(recorded["fragments_depth"], ["draw"])
        for frame in range(FRAMES):
            assert _draws(recorded["fragments_depth"], frame) == list(DEPTH)

    def test_draws_between_which_only_inputs_change(self, programs: Bench, tmp_path: Path):
        width, height, frames = 76, 61, steps(FRAMES, 8)
        trace = programs.recorded(["fragments_runs", str(frames)], tmp_path).traces[0]
        _measured(trace, ["draw"])
        x, y = np.arange(width) + 0.5, np.arange(height)[:, None] + 0.5
        kept = (np.floor(x) + np.floor(y)) % 2 == 1

        def box(left: int, bottom: int, right: int, top: int) -> NDArray[np.bool_]:
            return (x > left) & (x < right) & (y > bottom) & (y < top)

        everything, corner = box(0, 0, width, height), x * height + y * width < width * height
        near, far, moved = box(10, 10, 20, 20), box(8, 8, 24, 24), box(14, 14, 24, 24)
        depth, expected = np.full((height, width), np.inf), []
        for shape, at in (
            *((everything, 0.5), (far, 0.25), (far, 0.25), (far, 0.125), (corner, 0.0625), (corner, 0.0625)),
            *((moved, 0.03125), (near, 0.03125), (everything, 0), (corner, 0)),
        ):
            passed = shape & (at < depth)
            depth[passed] = at
            expected.append((int(shape.sum()), 0, int(passed.sum()), int(passed.sum())))
        shapes = [box(0, 0, 20, 20), *[box(3, 3, 10, 10)] * 2, everything]
        expected += [_all(int(shape.sum()), int((shape & ~kept).sum())) for shape in shapes]
        for frame in range(frames):
            assert _draws(trace, frame) == expected, frame
        with open_trace(trace) as opened:
            pictures = list(overdraw.overdraw(opened, environment=LLVMPIPE))
        # As often as it was drawn, discarded or not.
        truth = 2 * everything + 3 * far + 3 * corner + moved + near + sum(1 * shape for shape in shapes)
        assert len(pictures) == frames
        assert all((one.counts[::-1] == truth).all() for one in pictures)

    @pytest.mark.parametrize("bits", [pytest.param(16, marks=pytest.mark.exhaustive), 24, 32])
    def test_windows_are_rounded_as_windows(self, programs: Bench, tmp_path: Path, bits: int):
        made = programs.recorded(["fragments_window", str(bits)], tmp_path)
        if made.result.returncode == 77:
            pytest.skip(f"no window has a depth buffer of {bits} bits here")
        trace = made.traces[0]
        truth = [int(line) for line in made.result.stdout.split() if line.isdigit()]
        assert len(truth) == 100
        _measured(trace, ["draw"])
        draws = _draws(trace, 0)
        assert [fate[2] for fate in draws] == truth
        untested = len(truth) // 2
        assert [fate[0] for fate in draws[:untested]] == truth[:untested]
        assert sum(truth[untested:]) < sum(int(str(fate[0])) for fate in draws[untested:])

    def test_overdraw_of_windows_is_rounded_as_windows_in_the_compatibility_profile(
        self, programs: Bench, tmp_path: Path
    ):
        made = programs.recorded(["fragments_window", "24", "compat"], tmp_path)
        if made.result.returncode == 77:
            pytest.skip("there is no such window here")
        truth = [int(line) for line in made.result.stdout.split() if line.isdigit()]
        ids = [f"fragments:{name}" for name in ("count/generated", "overdraw/mean", "overdraw/covered")]
        with open_trace(made.traces[0]) as opened:
            known = listing.chosen(listing.metrics(made.traces[0], environment=LLVMPIPE), ids)
            plan = passes.plan(made.traces[0], known, ["draw"], environment=LLVMPIPE)
            profile.profile(opened, plan, profile.ProfileOptions(), environment=LLVMPIPE)
            rows = opened.sql(
                "SELECT any_value(value) FILTER (m.name LIKE '%generated'), "
                "any_value(value) FILTER (m.name LIKE '%mean') * any_value(value) FILTER (m.name LIKE '%covered') "
                "FROM metrics m JOIN calls c USING (seq) WHERE c.name = 'glDrawArrays' GROUP BY seq ORDER BY seq"
            ).fetchall()
        untested = len(truth) // 2
        assert [generated for generated, _ in rows[:untested]] == truth[:untested]
        added = np.cumsum([generated for generated, _ in rows])
        assert [so_far for _, so_far in rows] == pytest.approx(list(added), rel=1e-12)

    @pytest.mark.sample(1)
    @pytest.mark.parametrize("name", ["fragments_depth", "fragments_gl"])
    def test_what_is_asked_alone_is_what_it_is_among_all(self, recorded: dict[str, Path], name: str):
        truth = {"fragments_depth": DEPTH, "fragments_gl": GL}[name]
        for i, metric in [(0, "generated"), (2, "passed")]:
            _measured(recorded[name], ["draw"], metrics=f"fragments:count/{metric}")
            assert [fate[i] for fate in _draws(recorded[name], FRAMES - 1)] == [fate[i] for fate in truth], metric

    def test_in_gl_every_draw_has_exactly_the_samples_of_arithmetic(self, recorded: dict[str, Path]):
        _measured(recorded["fragments_gl"], ["draw", "frame"])
        for frame in range(FRAMES):
            assert _draws(recorded["fragments_gl"], frame) == list(GL)

    def test_a_frame_says_what_is_known_where_some_draws_are_not(self, recorded: dict[str, Path]):
        _measured(recorded["fragments_gl"], ["draw", "frame"])
        with open_trace(recorded["fragments_gl"]) as opened:
            for column, name in enumerate(COUNTS):
                fates = [fate[column] for fate in GL]
                known = [fate for fate in fates if isinstance(fate, int)]
                rows = opened.sql(
                    "SELECT value, draws, unknown_draws, at_least, note FROM metrics WHERE per = 'frame' AND "
                    f"name = 'fragments:count/{name}'"
                ).fetchall()
                assert len(rows) == FRAMES
                for value, draws, unknown, least, note in rows:
                    assert value is None
                    assert (draws, unknown, least) == (len(GL), len(fates) - len(known), sum(known)), name
                    assert set(str(note).split(" | ")) == {fate for fate in fates if isinstance(fate, str)}
            [(lost, of, least)] = opened.sql(
                "SELECT count(*), sum(draws), count(at_least) FROM metrics WHERE per = 'draw' AND "
                "name = 'fragments:count/generated' AND value IS NULL"
            ).fetchall()
            assert (lost, of, least) == (FRAMES, FRAMES, 0), "of one draw there is no part that is known"
            lines = tables.tables(opened)[0].rows
        [row] = [row for row in lines if row.title == "fragments"]
        total = sum(fate[0] for fate in GL if isinstance(fate[0], int))
        assert row.series is None
        assert row.missing.startswith(
            f"fragments:count/generated: at least {total:,} a frame, unknown for {FRAMES} of {len(GL) * FRAMES} draws"
        )

    @pytest.mark.sample(1)
    @pytest.mark.parametrize("name", ["fragments_gl", "lists", "conditional", "across"])
    def test_some_frames_know_what_all_know(
        self, programs: Bench, recorded: dict[str, Path], tmp_path: Path, name: str
    ):
        trace = recorded[name] if name in recorded else programs.recorded(["fragments_more", name], tmp_path).traces[0]
        ids = ["fragments:*", "geometry:*", "gl:samples/*", "gl:pipeline/*"]
        known = [m for m in listing.metrics(trace, environment=LLVMPIPE) if not m.missing]
        chosen = listing.chosen(known, ids)
        question = "SELECT name, value, note, draws, unknown_draws, at_least FROM metrics WHERE frame = 1 ORDER BY ALL"
        with open_trace(trace) as opened:
            plan = passes.plan(trace, chosen, ["frame"], environment=LLVMPIPE)
            _last_measured.pop(trace, None)
            profile.profile(opened, plan, profile.ProfileOptions(), environment=LLVMPIPE)
            whole = opened.sql(question).fetchall()
        for restart in (False, True):
            with open_trace(trace) as opened:
                some = profile.ProfileOptions(range(1, 2), restart=restart)
                profile.profile(opened, plan, some, environment=LLVMPIPE)
                assert opened.sql(question).fetchall() == whole, restart
        assert len(whole) == len({m.id for one in plan.passes for m in one.metrics})

    @pytest.mark.sample(2)
    @pytest.mark.parametrize("word", MORE)
    def test_what_is_hard_to_count_is_counted_too(self, recorded: dict[str, Path], word: str):
        _measured(recorded[word], ["draw"])
        for frame in range(FRAMES):
            assert _draws(recorded[word], frame) == list(MORE[word])

    @pytest.mark.parametrize("samples", [pytest.param(1, marks=pytest.mark.exhaustive), 2, 4, 8])
    def test_fragments_and_samples_are_what_a_program_counts_itself(
        self, programs: Bench, tmp_path: Path, samples: int
    ):
        made = programs.recorded(["fragments_more", f"samples{samples}", "4"], tmp_path)
        if made.result.returncode == 77:
            pytest.skip(f"no target has {samples} samples a pixel here")
        said = [line.split() for line in made.result.stdout.splitlines() if line.startswith(("gen", "pass"))]
        pairs = [(int(fragments), int(count)) for _, fragments, count in said]
        generated, passed = pairs[::2], pairs[1::2]
        assert len(generated) == len(passed) == 9
        assert samples == 1 or all(fragments < count < samples * fragments for fragments, count in generated[1:4])
        _measured(made.traces[0], ["draw", "frame"])
        for frame in range(1, 4):
            rows, of_samples = _draws(made.traces[0], frame), _draws(made.traces[0], frame, "samples_")
            assert [row[0] for row in rows] == [fragments for fragments, _ in generated]
            assert [row[0] for row in of_samples] == [count for _, count in generated]
            assert [row[2] for row in rows[:8]] == [fragments for fragments, _ in passed[:8]]
            assert rows[8][2] == (passed[8][0] if samples == 1 else COVERAGE)
            assert [row[2] for row in of_samples[:7]] == [count for _, count in passed[:7]]
            assert of_samples[7][1:3] == (12 * WIDTH * samples, (HEIGHT - 12) * WIDTH * samples)
            assert of_samples[8][2] == passed[8][1]
        with open_trace(made.traces[0]) as opened:
            [(mean, covered)] = opened.sql(
                "SELECT any_value(value) FILTER (name LIKE '%/mean'), any_value(value) FILTER (name LIKE '%/covered') "
                "FROM metrics WHERE per = 'frame' AND frame = 2"
            ).fetchall()
        assert covered == ALL
        assert mean * covered == pytest.approx(sum(fragments for fragments, _ in generated))
        _check_unchanged(made.traces[0], tmp_path)

    def test_primitives_of_display_lists_are_counted_with_the_state_that_they_have(self, recorded: dict[str, Path]):
        _measured(recorded["lists"], ["draw", "frame"], metrics="geometry:*,fragments:count/generated")
        with open_trace(recorded["lists"]) as opened:
            rows = opened.sql(
                "SELECT any_value(value) FILTER (name LIKE '%/submitted'), any_value(value) FILTER (name LIKE "
                "'%/backface_culled'), any_value(value) FILTER (name LIKE '%/vertices_submitted'), any_value(note) "
                "FROM metrics WHERE frame = 1 AND name LIKE 'geometry%' AND name NOT LIKE '%average%' AND per = 'draw' "
                "GROUP BY seq ORDER BY seq"
            ).fetchall()
            [(frame, fragments)] = opened.sql(
                "SELECT any_value(value) FILTER (name LIKE '%/submitted'), any_value(value) FILTER (name LIKE "
                "'%/generated') FROM metrics WHERE frame = 1 AND per = 'frame'"
            ).fetchall()
        primitives = [0, 2, 2, 4, 4, 6, 2, 2, 16, 3, 6, 2, 4, 32]
        assert [row[0] for row in rows] == primitives
        assert [row[1] for row in rows] == [0, 0, 0, 2, *[0] * 10]
        assert [row[2] for row in rows] == [0, 4, 4, 8, 8, 12, 4, 4, 20, 5, 12, 4, 8, 40]
        assert {row[3] for row in rows} == {None}
        # The list that runs while it is made is no call of a list, and in the frame.
        assert frame == sum(primitives) + 4
        assert fragments == sum(int(str(fate[0])) for fate in MORE["lists"]) + ALL * 3 // 2

    def test_an_origin_at_the_top_turns_no_triangle_round(self, programs: Bench, tmp_path: Path):
        made = programs.recorded(["fragments_more", "origin", "3"], tmp_path)
        seen = [int(line.split()[1]) for line in made.result.stdout.splitlines() if line.startswith("seen")]
        assert [bool(samples) for samples in seen] in ([True, False, False, True], [False, True, True, False])
        ids = ["geometry:primitives/backface_culled", "fragments:count/generated"]
        _measured(made.traces[0], ["draw"], metrics=",".join(ids))
        with open_trace(made.traces[0]) as opened:
            rows = opened.sql(
                f"SELECT any_value(value) FILTER (m.name = '{ids[0]}'), any_value(value) FILTER (m.name = '{ids[1]}') "
                "FROM metrics m JOIN calls c USING (seq) WHERE m.frame = 2 AND c.name = 'glDrawArrays' "
                "GROUP BY seq ORDER BY seq"
            ).fetchall()
        assert rows == [(int(not samples), samples) for samples in seen]

    def test_in_es_several_samples_a_pixel_are_counted(self, programs: Bench, tmp_path: Path):
        made = programs.recorded(["samples_es", "4"], tmp_path)
        if made.result.returncode == 77:
            pytest.skip("no target has 4 samples a pixel here")
        trace = made.traces[0]
        half = (ALL, 0, ALL // 2, ALL // 2)
        expected = [_all(ALL), _all(70), _all(ALL, ALL // 2), _all(ALL // 2), half]
        _check_unchanged(trace, tmp_path)
        _measured(trace, ["draw"])
        for frame in range(4):
            assert _draws(trace, frame) == expected
            of_samples = _draws(trace, frame, "samples_")
            assert [fate[:2] for fate in of_samples] == [(4 * int(str(f[0])), 4 * int(str(f[1]))) for f in expected]
            assert [fate[2] for fate in of_samples[:3]] == [4 * int(str(fate[2])) for fate in expected[:3]]
            assert [fate[2] for fate in of_samples[3:]] == ["OpenGL ES does not tell which samples pass the tests"] * 2

    def test_in_es_1_what_is_generated_and_what_tests_leave_is_exact(self, recorded: dict[str, Path]):
        _measured(recorded["fragments_es1"], ["draw"])
        for frame in range(FRAMES):
            assert _draws(recorded["fragments_es1"], frame) == list(ES1)

    def test_another_driver_counts_the_same(self, recorded: dict[str, Path], tmp_path: Path):
        zink = {**LLVMPIPE, "GALLIUM_DRIVER": "zink"}
        if "zink" not in json.dumps(player.probe(zink)):
            pytest.skip("zink does not run here (Debian: mesa-vulkan-drivers)")
        trace = Path(shutil.copy(recorded["fragments"], tmp_path / "zink.dtap"))
        _measured(trace, ["draw"], zink)
        assert _draws(trace, 1) == list(ES)

    def test_frames_add_up_what_their_draws_have(self, recorded: dict[str, Path], tmp_path: Path):
        trace = Path(shutil.copy(recorded["fragments"], tmp_path / "frames.dtap"))
        _measured(trace, ["frame"])
        with open_trace(trace) as opened:
            rows = dict(
                opened.sql("SELECT name, value FROM metrics WHERE per = 'frame' AND frame = 1 ORDER BY name").fetchall()
            )
        assert rows["fragments:count/generated"] == sum(int(str(fate[0])) for fate in ES)
        assert rows["fragments:count/discarded"] == sum(int(str(fate[1])) for fate in ES)
        assert rows["fragments:count/passed"] == sum(int(str(fate[2])) for fate in ES)

    def test_other_queries_of_samples_go_into_a_pass_of_their_own(self, recorded: dict[str, Path]):
        trace = recorded["fragments_gl"]
        known = listing.chosen(
            listing.metrics(trace, environment=LLVMPIPE), ["fragments:count/passed", "gl:samples/samples_passed"]
        )
        made = passes.plan(trace, known, ["frame"], environment=LLVMPIPE)
        assert len(made.passes) == 2
        assert not made.refused


class TestShaders:
    def test_runs_of_fragment_shaders_are_the_fragments_of_their_draws(self, recorded: dict[str, Path]):
        _measured(recorded["fragments"], ["draw", "frame"])
        with open_trace(recorded["fragments"]) as opened:
            found = {(one.program, one.stage): one for one in shader_cost.shader_costs(opened)}
        plain, pattern = sorted({program for program, _ in found})
        discarding = [int(str(fate[0])) for i, fate in enumerate(ES) if i in (2, 7, 10, 17)]
        assert found[pattern, "fragment"].runs == FRAMES * sum(discarding)
        every = FRAMES * sum(int(str(fate[0])) for fate in ES)
        assert found[plain, "fragment"].runs == every - FRAMES * sum(discarding)
        assert found[pattern, "fragment"].cost == glsl.Cost(operations=10, branches=1, discards=1)
        assert found[pattern, "fragment"].total == 10 * FRAMES * sum(discarding)
        assert found[pattern, "vertex"].runs == FRAMES * 6 * (1 + 2 + 1 + 1)

    def test_a_draw_is_estimated_at_the_operations_of_all_its_runs(self, recorded: dict[str, Path]):
        _measured(recorded["fragments"], ["draw", "frame"])
        with open_trace(recorded["fragments"]) as opened:
            found = opened.sql(
                "SELECT d.program, d.vertices, f.value, e.value, v.value, t.value, v.note FROM draws d "
                "JOIN metrics f ON f.seq = d.seq AND f.name = 'fragments:count/generated' "
                "JOIN metrics e ON e.seq = d.seq AND e.name = 'estimate:operations/fragment' "
                "JOIN metrics v ON v.seq = d.seq AND v.name = 'estimate:operations/vertex' "
                "JOIN metrics t ON t.seq = d.seq AND t.name = 'estimate:operations/total' "
                "WHERE d.kind = 'draw' AND d.frame = 1 ORDER BY d.seq"
            ).fetchall()
            texts = {(one.program, one.stage): one.cost for one in shader_cost.shader_costs(opened)}
        assert [row[2] for row in found] == [fate[0] for fate in ES]
        for program, vertices, fragments, fragment, vertex, total, note in found:
            assert fragment == texts[program, "fragment"].operations * fragments
            assert vertex == texts[program, "vertex"].operations * vertices
            assert total == vertex + fragment
            assert note is None
        _, pattern = sorted({row[0] for row in found})
        assert {row[3] for row in found if row[0] == pattern} == {10 * ALL, 20 * ALL, 10 * 70, 10 * 256}
        done = _drawtap("shaders", str(recorded["fragments"]), "--draws", "2", "--json")
        assert done.returncode == 0, done.stderr
        assert [row["total"] for row in json.loads(done.stdout)] == sorted((row[5] for row in found), reverse=True)[
            :1
        ] * 2
        assert _drawtap("shaders", str(recorded["fragments"]), "--draws", "0").returncode == 2

    def test_fixed_function_has_no_estimate_and_says_so(self, recorded: dict[str, Path]):
        _measured(recorded["fragments_es1"], ["draw"])
        with open_trace(recorded["fragments_es1"]) as opened:
            notes = opened.sql(
                "SELECT DISTINCT value, note FROM metrics WHERE name LIKE 'estimate:%' AND per = 'draw'"
            ).fetchall()
        assert notes == [(None, "fixed function: there is no text to count in")]


class TestOverdraw:
    def test_every_pixel_has_exactly_its_fragments(self, recorded: dict[str, Path]):
        with open_trace(recorded["fragments"]) as opened:
            found = list(overdraw.overdraw(opened, environment=LLVMPIPE))
        assert [(one.frame, one.counts.shape, one.why) for one in found] == [
            (frame, shape, "") for frame in range(FRAMES) for shape in ((HEIGHT, WIDTH), (16, 16))
        ]
        window, target = found[:2]
        assert (target.counts == 2).all()
        x, y = np.arange(WIDTH), np.arange(HEIGHT)[:, None]
        truth = np.full((HEIGHT, WIDTH), 1 + 2 + 1 + 1 + 2 + 2 + 2 + 2 + 1 + 1, np.uint32)  # whole draws
        truth += (x >= 16) & (x < 48) & (y >= 0)
        truth += 2 * ((x >= 5) & (x < 15) & (y >= 6) & (y < 13)).astype(np.uint32)
        truth += (x >= 8) & (x < 24) & (y >= 8) & (y < 24)
        truth += (x + 0.5) * HEIGHT + (y + 0.5) * WIDTH < ALL
        truth += (x >= 30) & (x < 34) & (y >= 22) & (y < 26)
        truth += (y == 30) & (x >= 0)
        assert (window.counts[::-1] == truth).all()

    def test_a_program_that_draws_to_windows_and_framebuffers_is_counted_right_in_both(
        self, programs: Bench, tmp_path: Path
    ):
        width, height, frames = 47, 37, 8
        trace = programs.recorded(["fragments_turned", str(frames)], tmp_path).traces[0]
        with open_trace(trace) as opened:
            found = list(overdraw.overdraw(opened, environment=LLVMPIPE))
        x, y = np.arange(width) + 0.5, np.arange(height)[:, None] + 0.5
        truth = x * height + y * width < width * height
        assert len(found) == 2 * frames
        for one in found:
            assert one.why == ""
            assert (one.counts[::-1] == truth).all()

    def test_the_figures_are_those_of_the_pixels(self, recorded: dict[str, Path]):
        trace = recorded["fragments"]
        _measured(trace, ["draw", "frame"])
        with open_trace(trace) as opened:
            rows = dict(
                opened.sql(
                    "SELECT name, value FROM metrics WHERE name LIKE '%overdraw%' AND per = 'frame' AND frame = 0"
                ).fetchall()
            )
            pictures = [one.counts for one in overdraw.overdraw(opened, range(1), environment=LLVMPIPE)]
        pixels = np.concatenate([one.ravel() for one in pictures])
        covered = pixels[pixels > 0]
        assert rows["fragments:overdraw/mean"] == pytest.approx(covered.mean())
        assert rows["fragments:overdraw/most"] == covered.max()
        assert rows["fragments:overdraw/covered"] == covered.size
        for limit in (1, 2, 4, 8):
            assert rows[f"fragments:overdraw/above_{limit}"] == pytest.approx(100 * (covered > limit).mean())


class TestNothingChanges:
    @pytest.mark.sample(2)
    @pytest.mark.parametrize("name", ["fragments", "fragments_depth", "fragments_gl", "fragments_es1", *MORE])
    def test_images_answers_and_state_are_the_same_while_it_counts(
        self, recorded: dict[str, Path], name: str, tmp_path: Path
    ):
        _check_unchanged(recorded[name], tmp_path)


def _overdraw(*arguments: str) -> subprocess.CompletedProcess[str]:
    return _drawtap("overdraw", *arguments)


def _drawtap(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_drawtap(*arguments, environment={**os.environ, **LLVMPIPE})


class TestPictures:
    def test_each_target_of_each_frame_is_a_picture(self, recorded: dict[str, Path], tmp_path: Path):
        folder = tmp_path / "overdraw"
        done = _overdraw(str(recorded["fragments"]), "-o", str(folder), "--frames", "1", "--json")
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)
        assert [(row["frame"], row["target"], row["most"], row["note"]) for row in rows] == [
            (1, "window", 19, ""),
            (1, rows[1]["target"], 2, ""),
        ]
        assert rows[1]["mean"] == 2
        assert rows[1]["covered_percent"] == 100
        assert sorted(file.name for file in folder.iterdir()) == ["frame000001-1.png", "frame000001.png"]
        assert (folder / "frame000001.png").read_bytes().startswith(b"\x89PNG")

    def test_where_draws_are_unknown_the_rest_is_a_lower_bound(self, recorded: dict[str, Path], tmp_path: Path):
        done = _overdraw(str(recorded["fragments_gl"]), "-o", str(tmp_path / "overdraw"), "--frames", "1", "--json")
        assert done.returncode == 0, done.stderr
        [why] = {fate[0] for fate in GL if isinstance(fate[0], str)}
        rows = json.loads(done.stdout)
        said = f"lower bounds: fragments unknown for 1 of {len(GL)} draws: {why}"
        assert [row["note"] for row in rows] == [said] * len(rows)
        assert sum(row["fragments"] for row in rows) == sum(fate[0] for fate in GL if isinstance(fate[0], int))

    def test_a_folder_that_is_there_stays_as_it_is(self, recorded: dict[str, Path], tmp_path: Path):
        done = _overdraw(str(recorded["fragments"]), "-o", str(tmp_path))
        assert done.returncode == 2
        assert "--force" in done.stderr
        assert not list(tmp_path.iterdir())

    def test_colours_are_those_of_the_legend(self):
        counts = np.array([[0, 1, 2, 3], [4, 5, 31, 1000]], np.uint32)
        image = view.picture(counts)
        zoom = 16
        colours = [tuple(int(v) for v in image[y * zoom, x * zoom, :3]) for y in range(2) for x in range(4)]
        steps = [colour for _, colour in view.STEPS]
        assert colours == [steps[0], steps[1], steps[2], steps[3], steps[4], steps[4], steps[8], steps[9]]
        below = image[2 * zoom :].reshape(-1, 4)[:, :3]
        shown = {tuple(int(v) for v in colour) for colour in below}
        assert shown >= set(steps)
