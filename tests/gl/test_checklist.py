"""Rules of the checklist on real programs: `habits` has a habit done badly and done well for each of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import drawtap
from drawtap.analysis.checklist import judge
from drawtap.analysis.rule import RULES
from drawtap.replay import player
from drawtap.trace.graph import packed

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

HABITS = (
    "synchronous-functions", "state-queries", "name-lookups", "client-arrays", "shader-compiles", "texture-loading",
    "same-texture-again", "texture-modified", "depth-clearing", "targets-not-cleared", "depth-not-discarded",
    "recreated-objects", "buffer-stalls", "context-switches", "small-draws", "state-thrash", "gl-errors",
    "swap-without-draw", "unchanged-frames", "flush-in-frame", "late-opaque-draws", "uniform-churn", "fence-stalls",
    "mipmap-usage", "redundant-calls", "vertices-past-end",
)  # fmt: skip


def test_the_program_has_these_habits(programs: Bench) -> None:
    said = subprocess.run([str(programs.programs / "habits")], capture_output=True, text=True, check=True)
    assert tuple(said.stdout.split()) == HABITS
    assert set(HABITS) <= set(RULES.names())


@pytest.mark.sample(5)
@pytest.mark.parametrize("habit", HABITS)
def test_a_habit_is_found_where_it_is_bad(habit: str, programs: Bench, tmp_path: Path) -> None:
    verdicts = {}
    for way in ("bad", "good"):
        command = [str(programs.programs / "habits"), habit, way]
        folder = tmp_path / way
        folder.mkdir()
        with drawtap.open(programs.recorded_as(command, folder, programs.environment())) as trace:
            found = judge(trace, habit)
            verdicts[way] = found.verdict
            assert found.verdict != "not looked", found.reason
            for row in found.evidence:
                assert row.seq is None or row.seq < len(trace.calls)
    assert verdicts == {"bad": "finding", "good": "pass"}


def test_a_report_of_a_real_program_has_its_pictures(programs: Bench, tmp_path: Path) -> None:
    command = [str(programs.programs / "habits"), "texture-loading", "bad", "30"]
    trace = programs.recorded_as(command, tmp_path, programs.environment())
    line = [sys.executable, "-m", "drawtap", "report", str(trace), "-o", str(tmp_path / "r.html"), "--pictures", "8"]
    done = subprocess.run(line, capture_output=True, text=True, env=programs.environment(), timeout=300)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "r.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert len(data["strip"]) == 8
    assert all(url.startswith("data:image/png;base64,") for _, url in data["strip"])
    assert len({url for _, url in data["strip"]}) > 1
    assert "32 × 32" in page  # the texture
    assert "gl_FragCoord" in page  # the shader
    assert "Textures loaded while frames are drawn" in page


def test_engines_are_compared(programs: Bench, tmp_path: Path) -> None:
    command = [str(programs.programs / "habits"), "small-draws", "bad", "30"]
    trace = programs.recorded_as(command, tmp_path, programs.environment())
    line = [sys.executable, "-m", "drawtap", "verdict", str(trace), "--json", "--on", "softpipe", "--on", "llvmpipe"]
    done = subprocess.run(line, capture_output=True, text=True, env=programs.environment(), timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [e["engine"] for e in told["engines"]] == ["softpipe", "llvmpipe"]
    assert all(e["frame_ns"] > 0 for e in told["engines"])
    assert abs(sum(c["share"] for c in told["classes"]) - 1) < 0.02


def test_textures_that_display_lists_draw_are_not_replaced_unseen(programs: Bench, tmp_path: Path) -> None:
    frames = 4
    path = programs.record(["list_textures", str(frames)], tmp_path / "lists.dtap")
    with drawtap.open(path) as trace:
        found = judge(trace, "replaced-textures")
        uploads = [int(str(seq)) for (seq,) in trace.sql('SELECT seq FROM "glTexImage2D" ORDER BY seq')]
        calls = len(trace.calls)
    # The first of each frame's three, and what was uploaded before the first frame.
    useless = [uploads[0], *uploads[2::3]]
    assert [row.seq for row in found.evidence] == useless
    whole = player.play(path, ["--hashes"], environment=programs.environment()).hashes
    keep = np.ones(calls, np.bool_)
    keep[useless] = False
    packed(keep).tofile(tmp_path / "bits")
    without = player.play(path, ["--hashes", "--keep", str(tmp_path / "bits")], environment=programs.environment())
    assert whole and without.hashes == whole
    keep[uploads[3]] = False
    packed(keep).tofile(tmp_path / "bits")
    wrong = player.play(path, ["--hashes", "--keep", str(tmp_path / "bits")], environment=programs.environment())
    assert wrong.hashes != whole
