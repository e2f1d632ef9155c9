"""What programs showed is what playing again shows, byte for byte; some scenes through apitrace's files both ways."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bench import exact

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

FRAMES = 5
# Client arrays, mipmaps, several passes into textures, mapped and written buffers, indices in buffers, shadows.
EXCHANGED = (
    "build:use-vbo=false",
    "texture:texture-filter=mipmap",
    "bump:bump-render=height",
    "desktop:blur-radius=5:effect=blur:passes=1:separable=true:windows=4",
    "buffer:columns=200:interleave=true:update-dispersion=0.9:update-fraction=0.5:update-method=map",
    "buffer:columns=200:interleave=false:update-dispersion=0.9:update-fraction=0.5:update-method=subdata",
    "jellyfish",
    "shadow",
)
OTHERS = tuple(name for name in exact.DEFAULT_BENCHMARKS if name not in EXCHANGED)


def _display(bench: Bench, program: str) -> dict[str, str]:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    if bench.display is None:
        pytest.skip("Xvfb is not installed")
    return {"DISPLAY": bench.display}


def test_the_list_is_the_whole_default_list() -> None:
    assert len(exact.DEFAULT_BENCHMARKS) == len(set(exact.DEFAULT_BENCHMARKS)) == 33
    assert set(EXCHANGED) <= set(exact.DEFAULT_BENCHMARKS)


@pytest.mark.sample(2)
@pytest.mark.parametrize("program", ["glmark2-es2", "glmark2"])
@pytest.mark.parametrize("benchmark", EXCHANGED)
def test_scenes_are_exact_and_so_they_are_through_apitrace(
    program: str, benchmark: str, programs: Bench, tmp_path: Path
) -> None:
    display = _display(programs, program)
    for tool in ("apitrace", "eglretrace", "glretrace"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    found = exact.check(exact.glmark(program, benchmark, FRAMES), tmp_path, display, apitrace=True)
    assert found.exact, found
    assert found.frames == found.exported == found.imported == FRAMES


@pytest.mark.sample(4)
@pytest.mark.parametrize("program", ["glmark2-es2", "glmark2"])
@pytest.mark.parametrize("benchmark", OTHERS)
def test_every_other_scene_is_exact(program: str, benchmark: str, programs: Bench, tmp_path: Path) -> None:
    found = exact.check(exact.glmark(program, benchmark, FRAMES), tmp_path, _display(programs, program))
    assert found.exact, found
    assert found.frames == FRAMES


# Scenes of OpenGL ES are among the others.
@pytest.mark.parametrize("name", [pytest.param("es2gears_x11", marks=pytest.mark.exhaustive), "glxgears"])
def test_gears_are_exact(name: str, programs: Bench, tmp_path: Path) -> None:
    for seconds in (1, 10, 60):  # a loaded machine draws few frames in a second, or none
        (folder := tmp_path / str(seconds)).mkdir()
        found = exact.check(exact.Program(name, (name,), seconds=seconds), folder, _display(programs, name))
        if found.frames > 10:
            break
    assert found.exact, found
    assert found.frames > 10


def test_what_is_not_exact_is_said() -> None:
    assert exact.Exactness("a", 10, 0).exact
    for different in ({"different": 1}, {"skipped": 1}, {"errors": 1}, {"imported_different": 1}, {"problem": "no"}):
        assert not exact.Exactness(**{"program": "a", "frames": 10, "different": 0, **different}).exact  # type: ignore[arg-type]
