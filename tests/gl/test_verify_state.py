"""The computed state against the driver's, over recorded programs: not one value may differ."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from drawtap.errors import UnavailableError
from drawtap.parts import STATE, part
from drawtap.replay import player
from drawtap.replay import verify as held
from drawtap.replay.verify import points_of, verify
from drawtap.trace.trace import open_trace
from shared import SOFTWARE, run_drawtap

if TYPE_CHECKING:
    from conftest import Bench
    from drawtap.trace.trace import Trace

pytestmark = pytest.mark.gl

TIMEOUT_S = 300
# And how many variables of the program's state are compared at least.
PROGRAMS = {
    "es2_triangle": 140,
    "client_arrays_es2": 140,
    "client_arrays_gl1": 350,
    "es1_cube": 140,
    "readback": 150,
    "maps": 200,
    "pixels": 350,
    "shared_contexts": 150,
    "ff_lit": 350,
    "ff_lists": 350,
    "ff_state": 300,
    "fbo_chain": 180,
    "transfers": 300,
    "modern": 300,
    "draw_over": 120,
    "two_contexts": 150,
    "debug_context flags": 120,
    "compressed": 350,
    "wasteful": 150,
    # Other seeds find what drivers forget: materials that were set since glPushAttrib, for one.
    "state_gl 2500 8": 450,
    "state_gl 2500 10": 450,
    "state_gl 2500 9 core": 350,
    "state_es 2500 8": 290,
    "state_es 2500 11 2": 220,
}
SCENES = {
    "glxgears": [],
    "es2gears_x11": [],
    "glmark2-es2": [
        "-s", "160x120",
        *(f for scene in ("build", "texture:texture-filter=mipmap", "shading:shading=phong", "bump", "effect2d",
                          "desktop", "buffer:update-method=subdata", "ideas", "jellyfish", "refract", "shadow")
          for f in ("-b", f"{scene}:nframes=4")),
    ],
    "glmark2": [
        "-s", "160x120", "-b", "build:use-vbo=false:nframes=4", "-b", "buffer:update-method=map:nframes=4",
        "-b", "terrain:nframes=2", "-b", "conditionals:nframes=3", "-b", "pulsar:nframes=4",
    ],
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _native() -> None:
    player.program()
    try:
        part(STATE)
    except UnavailableError as error:
        pytest.skip(str(error))


def record(bench: Bench, argv: list[str], trace: Path, *, window: bool = False) -> Path:
    return bench.record(argv, trace, window=window)


def no_disagreement(path: Path, variables: int) -> None:
    with open_trace(path) as trace:
        found = verify(trace, points_of(trace, None), environment=SOFTWARE)
    assert found.disagreements == []
    assert len(found.variables) >= variables


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, programs: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    no_disagreement(record(programs, name.split(), tmp_path / "t.dtap"), PROGRAMS[name])


# Current without a surface first; with messages on from the start.
@pytest.mark.parametrize("name", ["no_config 1", "debug_context attribute"])
def test_contexts_that_begin_otherwise(
    name: str, programs: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    no_disagreement(record(programs, name.split(), tmp_path / "t.dtap"), 120)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", SCENES)
def test_windows(name: str, programs: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = [name, *SCENES[name]] if SCENES[name] else ["timeout", "2", name]
    no_disagreement(record(programs, command, tmp_path / "t.dtap", window=True), 130)


def test_a_window_whose_back_buffer_is_named_by_its_side(
    programs: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    no_disagreement(
        record(programs, programs.arguments(["front_buffer", "left"]), tmp_path / "t.dtap", window=True), 130
    )


@pytest.mark.parametrize(("target", "disagree"), [("GL_TEXTURE_2D_MULTISAMPLE", 0), ("GL_TEXTURE_2D", 1)])
def test_filters_of_multisample_textures_mean_nothing(
    target: str, disagree: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "share.textures[3].GL_TEXTURE_MIN_FILTER"
    computed = {"share.textures[3].target": f'"{target}"', path: '"GL_NEAREST_MIPMAP_LINEAR"'}
    monkeypatch.setattr(held, "computed_state", lambda *_: computed)
    found = held.Verified([7])
    held._compare(cast("Trace", None), 7, {path: '"GL_NEAREST"'}, found)
    assert (len(found.disagreements), found.compared) == (disagree, disagree)


def test_command(programs: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trace = str(record(programs, ["es2_triangle"], tmp_path / "t.dtap"))

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return run_drawtap(*command)

    done = run("verify", trace, "--state", "--every", "20", "--on", "llvmpipe", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["disagreements"] == []
    assert told["compared"] > 1000
    assert "share.programs[].GL_VALIDATE_STATUS" in told["not_compared"]
    done = run("verify", trace, "--state", "--every", "50", "--on", "llvmpipe")
    assert "0 disagree" in done.stdout
    assert "Not compared" in done.stdout
    done = run("state", trace, "#3", "context.GL_VIEWPORT", "--json")
    assert json.loads(done.stdout) == [{"path": "context.GL_VIEWPORT", "value": [0, 0, 64, 48]}]
    done = run("state", trace, "#3", "--changes")
    assert 'uniforms["turn"]' in done.stdout
    assert run("state", trace, "#3", "context.GL_NONSENSE").returncode == 2
