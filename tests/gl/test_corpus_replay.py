"""Recordings are played on engines, each in a process of its own; what goes wrong there has a name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shared
from drawtap.replay import player
from gl.conftest import Bench
from shared import run_drawtap

pytestmark = pytest.mark.gl

SOFTWARE = {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}


@pytest.fixture(scope="module")
def triangle(tmp_path_factory: pytest.TempPathFactory, programs: Bench) -> Path:
    """Return a recording of ten frames with the hash of each."""
    player.program()

    def record(folder: Path) -> Path:
        return programs.record(["es2_triangle"], folder / "triangle.dtap", "--hash-frames")

    return shared.once(tmp_path_factory, "corpus-triangle", record)


def test_json_of_a_replay_has_numbers(triangle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SOFTWARE.items():
        monkeypatch.setenv(name, value)
    answer = run_drawtap("replay", triangle, "--verify", "--benchmark", "--hashes", "--json")
    assert answer.returncode == 0, answer.stderr
    said = json.loads(answer.stdout)
    played = player.play(triangle, ["--hashes"])
    assert said["hashes"] == [{"frame": f, "hash": h} for f, h in sorted(played.hashes.items())]
    assert len(said["hashes"]) == said["frames"] == played.frames
    assert len(said["frame_times_ns"]) in (said["frames"], said["frames"] - 1)
    assert all(isinstance(ns, int) and ns > 0 for ns in said["frame_times_ns"])
    assert said["compared"] > 0
    assert said["different"] == 0
