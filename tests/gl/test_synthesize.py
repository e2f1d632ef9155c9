"""Synthetic programs, compiled, recorded and measured: they do what was asked for, and as much as a real program."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drawtap
from drawtap.analysis import synthesis, synthesis_counts, synthesis_request
from drawtap.metrics import listing, synthetic
from shared import run_drawtap

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

TIMEOUT_S = 300
#: What this machine's drivers do not tell of OpenGL ES 2 on their own.
PLAYED = {"fragments", "texture_fetches", "backface_culled", "frustum_culled"}


def _synthesize(bench: Bench, *arguments: str | Path, code: int = 0) -> dict[str, object]:
    done = run_drawtap("synthesize", *arguments, "--json", environment=bench.environment())
    assert done.returncode == code, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def _features(said: dict[str, object]) -> dict[str, dict[str, object]]:
    return {row["feature"]: row for row in said["features"]}  # type: ignore[attr-defined,index]


def _told_here(bench: Bench, trace: Path) -> set[str]:
    """The features that playing tells on this driver, by what its back-ends say."""
    there = {m.id for m in listing.metrics(trace, environment=bench.environment()) if not m.missing}
    told = {name for name, ids in synthetic.METRICS.items() if there.intersection(ids)}
    return told | ({"texture_fetches"} if "fragments" in told else set())


def test_a_file_is_met_by_the_compiled_program(programs: Bench, tmp_path: Path) -> None:
    request = tmp_path / "load.toml"
    request.write_text(
        "width = 160\nheight = 120\nframes = 6\n[features]\ndraws = 12\ntriangles = 700\noverdraw = 2.25\n"
        "texture_fetches = 60000\nstate_calls = 80\nbinds = 25\nuniforms = 20\ntexture_uploads = 0.5\ntexels = 900\n"
        "buffer_uploads = 2\nbuffer_bytes = 5000\ntexture_memory = 300000\n"
        "backface_culled = 100\nfrustum_culled = 50\n",
        encoding="utf-8",
    )
    said = _synthesize(programs, request, "-o", tmp_path / "load")
    assert said["met"] is True
    if shutil.which("cc"):
        assert said["checked"] == "the compiled program, recorded and played"
    told = _told_here(programs, tmp_path / "load" / "program.dtap")
    for name, row in _features(said).items():
        if row["measured"] is None:
            assert name in PLAYED - told and row["why_not"], name
            continue
        assert row["met"] is True, row
        assert abs(float(str(row["measured"])) - float(str(row["asked"]))) <= 0.05 * float(str(row["asked"])), name
    # What stands in the folder makes the same program again.
    again = synthesis_request.read(tmp_path / "load" / "request.toml")
    made = synthesis.make(again, tmp_path / "again.dtap")
    with drawtap.open(made.path) as two, drawtap.open(tmp_path / "load" / "program.dtap") as one:
        assert [str(c) for c in one.calls] == [str(c) for c in two.calls]


def test_more_than_the_tolerance_is_an_error(programs: Bench, tmp_path: Path) -> None:
    # One draw in a thousand frames is none in five.
    features = "draws=2,triangles=4,uniforms=0.001"
    said = _synthesize(programs, "--set", features, "--length", "5", "-o", tmp_path / "a", code=1)
    assert said["met"] is False
    row = _features(said)["uniforms"]
    assert (row["measured"], row["met"], row["difference"]) == (0.0, False, -1.0)
    assert any("off by more than 5 %: uniforms" in str(note) for note in said["notes"])  # type: ignore[attr-defined]


@pytest.mark.parametrize("scene", ["build", pytest.param("desktop", marks=pytest.mark.exhaustive)])
def test_as_much_as_glmark2(programs: Bench, tmp_path: Path, scene: str) -> None:
    if shutil.which("glmark2-es2") is None or programs.display is None:
        pytest.skip("glmark2-es2 or Xvfb is not installed")
    environment = programs.environment()
    environment.pop("EGL_PLATFORM")
    command = ["glmark2-es2", "-s", "120x90", "-b", f"{scene}:duration=1000:nframes=4"]
    source = programs.recorded_as(command, tmp_path, environment)
    said = _synthesize(programs, source, "-o", tmp_path / "like", "--length", "6")
    assert said["met"] is True, said["features"]
    features = _features(said)
    with drawtap.open(source) as trace:
        counted = synthesis_counts.counted(trace)
    for name, value in counted.items():
        if value:
            assert features[name]["asked"] == value
            assert features[name]["measured"] == pytest.approx(value, rel=0.05), name
    for name in _told_here(programs, source) & {"fragments", "texture_fetches"}:
        if name in features:
            assert features[name]["met"] is True, features[name]
    assert ("texture_fetches" in features) == (scene == "desktop" and "fragments" in _told_here(programs, source))
    assert features["draws"]["asked"] == {"build": 1.0, "desktop": 14.0}[scene]
    if scene == "desktop":
        assert any("not repeated: " in str(note) and "framebuffer binds" in str(note) for note in said["notes"])  # type: ignore[attr-defined]


def test_what_cannot_be_measured_is_told(programs: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in programs.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(synthetic, "METRICS", {"fragments": ("amd:*/no_such",)})
    made = synthesis.make(synthesis_request.Request({"draws": 1, "triangles": 2, "fragments": 9}), tmp_path / "a.dtap")
    with drawtap.open(made.path) as trace:
        found = synthetic.measure(trace, ["draws", "fragments"], frames=range(1, 3))
    assert found.values == {"draws": 1.0}
    assert found.missing == {"fragments": "no back-end has it (amd:*/no_such)"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "{}/a"], "no feature is requested"),
        (["--set", "draws=1"], "there is no place for the program"),
        (["--set", "draw=1", "-o", "{}/a"], "there is no feature 'draw'"),
        (["--set", "draws", "-o", "{}/a"], "'draws' says no value"),
        (["--set", "draws=1", "--size", "12", "-o", "{}/a"], "'12' is no size"),
        (["--set", "draws=1", "--without", "x", "-o", "{}/a"], "there is no feature 'x'"),
        (["--set", "draws=1", "--frames", "1:2", "-o", "{}/a"], "--frames names frames of a recording"),
        (["--set", "draws=1", "--tolerance", "0", "-o", "{}/a"], "a tolerance of 0"),
        (["{}/none.dtap", "-o", "{}/a"], "there is no file"),
    ],
)
def test_what_makes_no_sense(drawtap, tmp_path, arguments, said):
    answer = drawtap("synthesize", *(word.format(tmp_path) for word in arguments))
    assert answer.code == 2 or "no file" in said
    assert said in answer.err
