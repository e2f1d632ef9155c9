"""Recordings are compared on two engines of this machine, and with each other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drawtap
from drawtap.replay import compare, engine
from shared import run_drawtap

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

TIMEOUT_S = 300


def _drawtap(bench: Bench, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_drawtap(*arguments, environment=bench.environment())


@pytest.fixture(scope="module")
def triangle(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return programs.record(["es2_triangle", "10"], tmp_path_factory.mktemp("triangle") / "t.dtap")


@pytest.fixture(autouse=True)
def _two_engines() -> None:
    for name in ("llvmpipe", "softpipe"):
        answer = engine.ask(engine.ENGINES.get(name))
        if not answer.works:
            pytest.skip(f"{name}: {answer.reason}")


def test_a_recording_is_equal_to_itself(programs: Bench, triangle: Path) -> None:
    answer = _drawtap(programs, "compare", triangle, triangle, "--on", "llvmpipe", "--json")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found["same"] is True
    assert [f["exact"] for f in found["frames"]] == [True] * 10
    assert found["first_draw"] is None


def test_two_engines_and_the_first_draw_that_differs(programs: Bench, triangle: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    arguments = ("--on", "llvmpipe", "--on", "softpipe")
    answer = _drawtap(programs, "compare", triangle, *arguments, "-o", page, "--json")
    found = json.loads(answer.stdout)
    different = [f["frame"] for f in found["frames"] if not f["same"]]
    if not different:  # this Mesa's two rasterisers agree on the triangle
        assert answer.returncode == 0
        return
    assert answer.returncode == 1
    assert found["first_frame"] == different[0]
    # The triangle's frames have one draw after a clear: nothing else can be it.
    draw = found["first_draw"]
    assert "glDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)" in draw["a"]["text"]
    assert draw["before"]["exact"] is True
    assert draw["after"]["max_difference"] == found["frames"][different[0]]["max_difference"] > 0
    assert page.read_text().count("data:image/png;base64,") >= 6
    # Edges alone: a tolerance of likeness accepts what a bound on the largest difference does not.
    assert _drawtap(programs, "compare", triangle, *arguments, "--ssim", "0.9").returncode == 0
    assert _drawtap(programs, "compare", triangle, *arguments, "--max-difference", "1").returncode == 1


def test_two_recordings_name_both_calls(programs: Bench, tmp_path: Path) -> None:
    # The second program's frames are other ones from a draw on that is known.
    a = programs.record(["two_draws", "5", "9"], tmp_path / "a.dtap")
    b = programs.record(["two_draws", "5", "3"], tmp_path / "b.dtap")
    with drawtap.open(a) as one, drawtap.open(b) as other:
        found = compare.compare(compare.Played(one, "llvmpipe"), compare.Played(other, "llvmpipe"))
    assert not found.same
    assert found.first is not None and found.first.frame == 3
    assert found.draw is not None
    assert found.draw.a.text == found.draw.b.text == "glDrawArrays(mode = GL_TRIANGLES, first = 6, count = 3)"
    assert found.draw.before is not None and found.draw.before.exact


def test_what_cannot_be_compared_is_said(programs: Bench, triangle: Path) -> None:
    for arguments in ((), ("--on", "llvmpipe"), ("--on", "llvmpipe", "--on", "softpipe", "--on", "zink")):
        assert _drawtap(programs, "compare", triangle, *arguments).returncode == 2
    assert _drawtap(programs, "compare", triangle, "/nowhere.dtap").returncode == 4
    assert _drawtap(programs, "compare", triangle, triangle, "--frames", "50:60").returncode == 2


def test_one_recording_on_two_engines_has_the_same_work(programs: Bench, tmp_path: Path) -> None:
    trace = programs.recorded(["two_draws", "4"], tmp_path).traces[0]
    command = [sys.executable, "-m", "drawtap", "slower", str(trace), "--json"]
    command += ["--on", "llvmpipe", "--on", "softpipe", "--threshold", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=programs.environment())
    assert done.returncode in (0, 1), done.stderr  # which is slower is up to the machine
    said = json.loads(done.stdout)
    assert (said["frames"], said["same_work"]) == (3, True)
    assert "llvmpipe" in said["a"]["name"] and "softpipe" in said["b"]["name"]
    assert not [c for c in said["causes"] if not c["beside"]], "the same work explains nothing"
    for frame in said["slower"]:
        assert frame["b"] > frame["a"] > 0
    if said["slower"]:
        assert sum(part["share"] for part in said["parts"]) == pytest.approx(1, abs=0.01)
