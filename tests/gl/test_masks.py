"""Masks of fragments and meshes add up to the metrics, draw by draw."""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import drawtap
from drawtap.metrics import listing, passes, profile
from drawtap.replay import look, player
from drawtap.replay.warm import Warm
from drawtap.trace.trace import open_trace
from shared import run_drawtap, scenes, steps

if TYPE_CHECKING:
    from conftest import Bench

LLVMPIPE = {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}
FRAME = 2
PROGRAMS = {
    "fragments": ["fragments", "4"],
    "fragments_gl": ["fragments_gl", "4"],
    "fragments_es1": ["fragments_es1", "4"],
    "es1_cube": ["es1_cube"],
    "ff_lit": ["ff_lit"],
    "geometry": ["geometry"],
}


@pytest.fixture(scope="module")
def recorded(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    player.program()
    folder = tmp_path_factory.mktemp("masks")
    return {name: programs.record(argv, folder / f"{name}.dtap") for name, argv in PROGRAMS.items()}


def _metrics(path: Path, wanted: str) -> dict[int, dict[str, float | None]]:
    """Return the metrics of each draw, None where one is not known."""
    with open_trace(path) as opened:
        known = listing.chosen(listing.metrics(path, environment=LLVMPIPE), wanted.split(","))
        made = passes.plan(path, known, ["draw"], environment=LLVMPIPE)
        profile.profile(opened, made, profile.ProfileOptions(), environment=LLVMPIPE)
    found: dict[int, dict[str, float | None]] = defaultdict(dict)
    with open_trace(path) as opened:
        asked = "SELECT seq, name, value FROM metrics WHERE per = 'draw'"
        for seq, name, value in opened.sql(asked).fetchall():
            found[seq][name.rpartition("/")[2]] = value
    return found


def _draws(trace: drawtap.Trace) -> list[int]:
    frame = min(FRAME, len(trace.frames) - 1)
    return [s for (s,) in trace.sql(f"SELECT seq FROM draws WHERE kind = 'draw' AND frame = {frame}").fetchall()]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["fragments", "fragments_gl", "fragments_es1", "es1_cube", "ff_lit"])
def test_masks_add_up_to_the_metrics(recorded, name):
    metrics = _metrics(recorded[name], "fragments:count/*")
    compared = 0
    with drawtap.open(recorded[name]) as trace, Warm(recorded[name], environment=LLVMPIPE, looks=True) as asked:
        for seq in _draws(trace):
            found = look.masks(trace, seq, asked.look)
            sums = {mask: int(counts.sum()) for mask, counts in found.counts.items()}
            for mask, metric in (("covered", "generated"), ("discarded", "discarded"), ("drawn", "passed")):
                value = metrics[seq][metric]
                if mask in sums and value is not None:
                    assert sums[mask] == value, (seq, mask)
                    compared += 1
    assert compared > 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["geometry", "es1_cube", "ff_lit"])
def test_meshes_add_up_to_the_metrics(recorded, name):
    metrics = _metrics(recorded[name], "geometry:primitives/*,geometry:triangles/area")
    compared = 0
    with drawtap.open(recorded[name]) as trace, Warm(recorded[name], environment=LLVMPIPE, looks=True) as asked:
        for seq in _draws(trace):
            found, known = look.mesh(trace, seq, asked.look), metrics[seq]
            if known["submitted"] is None:
                assert found.why
                continue
            counts = found.counts()
            assert len(found.fates) == known["submitted"], seq
            assert counts["degenerate"] == known["degenerate"]
            assert counts["frustum"] == known["frustum_culled"]
            assert counts["backface"] == known["backface_culled"]
            assert counts["clipped"] + counts["rasterised"] == known["rasterised"]
            assert float(found.areas.sum()) == pytest.approx(known["area"], rel=1e-5)
            compared += 1
    assert compared > 0


def test_masks_of_real_scenes_add_up(programs: Bench, tmp_path: Path):
    if shutil.which("glmark2-es2") is None or programs.display is None:
        pytest.skip("glmark2-es2 or Xvfb is not installed")
    options = scenes("128x96", "shading:nframes=2", "refract:nframes=2", "desktop:nframes=2")
    recorded = programs.recorded([str(shutil.which("glmark2-es2")), *options], tmp_path)
    assert recorded.result.returncode == 0, recorded.result.stdout + recorded.result.stderr
    [path] = recorded.traces
    metrics = _metrics(path, "fragments:count/*")
    with drawtap.open(path) as trace, Warm(path, environment=LLVMPIPE, looks=True) as asked:
        asked_for = f"SELECT seq FROM draws WHERE kind = 'draw' AND frame IN ({FRAME}, {len(trace.frames) - 1})"
        draws = [seq for (seq,) in trace.sql(asked_for).fetchall()]
        assert len(draws) > 2
        for seq in draws[:: steps(3, 1)]:
            found = look.masks(trace, seq, asked.look)
            for mask, metric in (("covered", "generated"), ("discarded", "discarded"), ("drawn", "passed")):
                assert int(found.counts[mask].sum()) == metrics[seq][metric], (seq, mask)


def test_overdraw_is_the_sum_of_the_masks(recorded):
    path = recorded["fragments_gl"]
    with drawtap.open(path) as trace, Warm(path, environment=LLVMPIPE, looks=True) as asked:
        draws = _draws(trace)
        total, said = look.overdraw(trace, draws[4], asked.look)
        sums = sum(look.masks(trace, seq, asked.look).counts["covered"] for seq in draws[:5])
        assert said["draws"] == 5
        assert np.array_equal(total, sums)


def test_vertices_go_in_as_the_program_gave_them(recorded):
    with drawtap.open(recorded["es1_cube"]) as trace, Warm(recorded["es1_cube"], looks=True) as asked:
        found = look.mesh(trace, _draws(trace)[0], asked.look)
    assert found.inputs[0].name == "position"
    assert {abs(v) for v in found.inputs[0].values.ravel().tolist()} <= {0.0, 0.5, 1.0}
    # Every corner that comes out belongs to a vertex that goes in.
    assert len(found.places) == found.positions.shape[0] * found.positions.shape[1]
    assert set(found.indices[found.places].tolist()) <= set(found.vertices.tolist())
    assert look.mesh_csv(found).count("\n") == 1 + int((found.indices != 0xFFFFFFFF).sum())
    assert look.mesh_obj(found).count("\nf ") == len(found.fates)


def test_a_file_of_a_pass_has_each_draw_as_a_file_of_its_own_has_it(recorded, tmp_path, monkeypatch):
    path = recorded["fragments_gl"]

    def primitives(file: Path) -> list[str]:
        return [line for line in file.read_text().splitlines() if line.startswith(("v ", "f ", "l ", "p "))]

    with drawtap.open(path) as trace:
        seq, *_ = every = _draws(trace)
        asked = f"SELECT first_seq, last_seq FROM passes WHERE kind = 'draw' AND {seq} BETWEEN first_seq AND last_seq"
        first, last = trace.sql(asked).fetchall()[0]
        draws = [call for call in every if first <= call <= last]
    assert len(draws) > 1
    whole = tmp_path / "pass.obj"
    answer = run_drawtap("image", path, str(seq), "--mesh", whole, "--whole-pass", "--force")
    assert answer.returncode == 0, answer.stderr
    expected, without = [], 0
    for call in draws:
        alone = run_drawtap("image", path, str(call), "--mesh", tmp_path / "one.obj", "--force")
        assert alone.returncode in (0, 3), alone.stderr
        without += alone.returncode == 3
        expected += primitives(tmp_path / "one.obj") if alone.returncode == 0 else []
    assert primitives(whole) == expected
    assert whole.read_text().count("\n# call ") == len(draws)
    assert (f"{without} draws without any" in answer.stdout) == (without > 0)
    # What exceeds the size of a file is named, in the file and on the terminal.
    monkeypatch.setattr("drawtap.commands.image._PASS_CORNERS", 1)
    answer = run_drawtap("image", path, str(seq), "--mesh", whole, "--whole-pass", "--force")
    assert f"{len(draws) - 1} draws without any" in answer.stdout
    assert whole.read_text().count(": left out: with it the pass has more than 1 corners") == len(draws) - 1


def test_a_call_that_draws_nothing_has_no_mask(recorded):
    with drawtap.open(recorded["fragments"]) as trace:
        clear = trace.sql("SELECT seq FROM calls WHERE name = 'glClear' LIMIT 1").fetchall()[0][0]
    for given in (("--mesh", "m.obj"), ("--overlay", "depth", "-o", "m.png")):
        answer = run_drawtap("image", recorded["fragments"], str(clear), *given)
        assert (answer.returncode, "draws no primitives" in answer.stderr) == (3, True), answer.stderr


def test_the_verb_writes_masks_and_meshes(recorded, tmp_path):
    path = recorded["fragments_gl"]
    with drawtap.open(path) as trace, Warm(path, environment=LLVMPIPE, looks=True) as asked:
        seq = _draws(trace)[0]
        found, vertices = look.masks(trace, seq, asked.look), look.mesh(trace, seq, asked.look)
    for name, target in (("covered", "covered.npy"), ("overdraw", "over.npy"), ("covered", "covered.png")):
        answer = run_drawtap("image", path, str(seq), "--overlay", name, "-o", tmp_path / target)
        assert answer.returncode == 0, answer.stderr
    assert np.array_equal(np.load(tmp_path / "covered.npy"), found.counts["covered"])
    assert np.array_equal(np.load(tmp_path / "over.npy"), found.counts["covered"])
    assert (tmp_path / "covered.png").read_bytes().startswith(b"\x89PNG")
    for target, text in (("m.obj", look.mesh_obj(vertices)), ("m.csv", look.mesh_csv(vertices))):
        answer = run_drawtap("image", path, str(seq), "--mesh", tmp_path / target)
        assert answer.returncode == 0, answer.stderr
        assert (tmp_path / target).read_text() == text
    assert run_drawtap("image", path, str(seq), "--mesh", "m.stl").returncode == 2
    assert run_drawtap("image", path, str(seq), "--whole-pass", "--mesh", "m.csv").returncode == 2
    assert run_drawtap("image", path, str(seq), "--whole-pass").returncode == 2
    assert run_drawtap("image", path, str(seq), "--overlay", "colour", "-o", "m.png").returncode == 2
