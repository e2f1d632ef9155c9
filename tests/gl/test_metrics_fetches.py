"""Texture reads of draws, counted while their shaders run, held against arithmetic."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drawtap.metrics import listing, passes, profile, tables
from drawtap.metrics.passes import Pass, request_text
from drawtap.replay import player
from drawtap.trace.trace import open_trace

if TYPE_CHECKING:
    from conftest import Bench

LLVMPIPE = {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}
APIS = ("es2", "es3", "compat", "core")
WIDTH, HEIGHT, FRAMES, MANY = 64, 48, 2, 600
ALL = WIDTH * HEIGHT
PARTS = "a macro of its shader makes up calls of texture2D from parts"
WITHIN = "a condition of the preprocessor stands within a call of texture2D"

#: What each draw of tests/gl/programs/fetches.c reads, in order.
OLD: Sequence[object] = [
    ALL,
    5 * ALL,
    16 * HEIGHT * 2 + (WIDTH - 16) * HEIGHT,
    ALL + WIDTH * (HEIGHT - 10),
    6 * ALL,
    32 * HEIGHT + 8 * HEIGHT,
    0,
    2 * ALL,
    ALL // 2,
    0,
    PARTS,
    WITHIN,
]
NEW: Sequence[object] = [ALL, 6 * ALL, WIDTH * (HEIGHT // 4) * (1 + 2 + 3 + 4), 5 * ALL - 3 * HEIGHT, ALL, 0]
COMMON: Sequence[object] = [ALL, 70, *[1] * MANY]
FIXED: Sequence[object] = [ALL, 2 * ALL, 2 * ALL, 2 * ALL, 0]
WANTED = {
    "es2": [*OLD, *COMMON, 0],
    "es3": [*NEW, *COMMON],
    "compat": [*OLD, *COMMON, 0, *FIXED],
    "core": [*NEW, *COMMON],
}


@pytest.fixture(scope="module")
def recordings(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    player.program()
    found = {}
    for api in APIS:
        done = programs.recorded(["fetches", api, str(FRAMES)], tmp_path_factory.mktemp(api))
        assert done.result.returncode == 0, done.result.stdout + done.result.stderr
        found[api] = done.traces[0]
    return found


def measured(trace: Path, ids: Sequence[str], per: Sequence[str], environment: Mapping[str, str] = LLVMPIPE) -> None:
    with open_trace(trace) as opened:
        known = listing.chosen(listing.metrics(trace, environment=environment), ids)
        profile.profile(
            opened,
            passes.plan(trace, known, per, environment=environment),
            profile.ProfileOptions(),
            environment=environment,
        )


def reads(trace: Path, metric: str, frame: int) -> list[object]:
    with open_trace(trace) as opened:
        rows = opened.sql(
            "SELECT m.value, m.note FROM metrics m JOIN calls c USING (seq) WHERE m.per = 'draw' AND "
            f"m.name = 'fragments:texture/{metric}' AND m.frame = {frame} AND c.name <> 'glClear' ORDER BY m.seq"
        ).fetchall()
    return [note if value is None else int(value) for value, note in rows]


@pytest.mark.sample(2)
@pytest.mark.parametrize("api", APIS)
def test_every_draw_reads_exactly_what_arithmetic_says(recordings: dict[str, Path], api: str):
    measured(recordings[api], ["fragments:texture/*"], ["draw"])
    for frame in range(FRAMES):
        assert reads(recordings[api], "fetches", frame) == WANTED[api]
        earlier = reads(recordings[api], "vertex_fetches", frame)
        # Three of each of the six vertices, where the vertex shader reads.
        expected = [note if isinstance(note, str) else 0 for note in WANTED[api]]
        if api in ("es2", "compat"):
            expected[len(OLD) + len(COMMON)] = 6 * 3
        assert earlier == expected


def test_what_hidden_draws_read_is_counted(programs: Bench, tmp_path: Path):
    """A rasteriser by tiles may forget what is still to be drawn to a tile that is then covered whole."""
    trace = programs.recorded(["fetches", "covered", str(FRAMES)], tmp_path).traces[0]
    measured(trace, ["fragments:texture/*"], ["draw"])
    for frame in range(FRAMES):
        assert reads(trace, "fetches", frame) == [512 * 512, 6 * 512 * 512, 0]


#: What each draw of `fetches stages` reads: in stages before fragments, and in those. Of the third only how many pixels
#: it covers is sure: those at an edge, two triangles have parts of.
STAGES = [(2 * 3 * 1 + 6 * 2, ALL), (2 * 5, ALL), (0, ALL), (0, 4 * ALL), (0, 4 * ALL)]


@pytest.mark.sample(1)
@pytest.mark.parametrize("driver", ["llvmpipe", "zink"])
def test_stages_between_and_samples_read_as_often_as_they_run(
    recordings: dict[str, Path], programs: Bench, tmp_path: Path, driver: str
):
    environment = {**LLVMPIPE, "GALLIUM_DRIVER": driver}
    if driver not in json.dumps(player.probe(environment)):
        pytest.skip(f"{driver} does not run here (Debian: mesa-vulkan-drivers)")
    done = programs.recorded(["fetches", "stages", str(FRAMES)], tmp_path)
    assert done.result.returncode == 0, done.result.stdout + done.result.stderr
    [trace] = done.traces
    measured(trace, ["fragments:texture/*"], ["draw"], environment)
    for frame in range(FRAMES):
        found = list(zip(reads(trace, "vertex_fetches", frame), reads(trace, "fetches", frame), strict=True))
        assert ALL <= found[2][1] <= ALL + WIDTH + HEIGHT  # type: ignore[operator]
        found[2] = STAGES[2]
        # zink of Mesa 22 shades no samples behind a draw that does not, whoever draws.
        known = 3 if driver == "zink" else len(STAGES)
        assert found[:known] == STAGES[:known]
    if driver == "zink":
        measured(recordings["es3"], ["fragments:texture/*"], ["draw"], environment)
        assert reads(recordings["es3"], "fetches", 1) == WANTED["es3"]


def test_in_es_1_each_unit_that_is_on_is_read_once_a_fragment(programs: Bench, tmp_path: Path):
    trace = programs.recorded(["fragments_es1", "1"], tmp_path).traces[0]
    measured(trace, ["fragments:texture/*"], ["draw"])
    # The fifth draw covers half of the picture twice, with the texture on; the five after it read none.
    assert reads(trace, "fetches", 0) == [0, 0, 70, ALL, ALL, 0, 0, 0, 0, 0]
    assert reads(trace, "vertex_fetches", 0) == [0] * 10


def test_frames_have_the_sum_and_the_table_says_that_it_was_counted(recordings: dict[str, Path]):
    measured(recordings["es3"], ["fragments:texture/*"], ["frame"])
    with open_trace(recordings["es3"]) as opened:
        [table] = tables.tables(opened)
    [row] = [row for row in table.rows if row.title == "texture fetches"]
    assert row.series is not None
    total = sum(int(str(count)) for count in WANTED["es3"])
    assert (row.series.minimum, row.series.maximum) == (total, total)
    assert row.source == "fragments:texture/fetches (counted)"


@pytest.mark.parametrize("api", ["es2", "compat", "core"])
def test_images_answers_and_state_are_the_same_while_it_counts(recordings: dict[str, Path], api: str, tmp_path: Path):
    trace = recordings[api]
    known = listing.chosen(listing.metrics(trace, environment=LLVMPIPE), ["fragments:texture/*"])
    request = tmp_path / "request"
    request.write_text(request_text(known, ["draw"], passes=[Pass(tuple(known), ("draw",))]))
    with open_trace(trace) as opened:
        [(last,)] = opened.sql("SELECT max(seq) FROM calls WHERE name = 'glReadPixels'").fetchall()
    common = ["--verify", "--hashes", "--query-state", str(last), "--query-file"]
    plain = player.play(trace, [*common, str(tmp_path / "plain")], environment=LLVMPIPE)
    measuring = ["--measure", str(request), "--measured", str(tmp_path / "rows")]
    again = player.play(trace, [*common, str(tmp_path / "again"), *measuring], environment=LLVMPIPE)
    assert plain.compared > 0
    assert (again.compared, again.different) == (plain.compared, 0), again.findings
    assert again.hashes == plain.hashes
    assert (tmp_path / "again").read_text() == (tmp_path / "plain").read_text()
