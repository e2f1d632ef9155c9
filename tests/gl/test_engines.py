"""Scenes of a real program on every engine that this machine has, and the first draw in which two of them differ."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bench import exact

import drawtap
from drawtap.errors import UnavailableError
from drawtap.replay import compare, engine, player

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

DESKTOP = "desktop:effect=shadow:windows=4"


@pytest.fixture(scope="module")
def scenes(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if shutil.which("glmark2-es2") is None:
        pytest.skip("glmark2-es2 is not installed")
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    folder = tmp_path_factory.mktemp("scenes")
    return {
        name: exact.record(exact.glmark("glmark2-es2", name, 3), folder / f"{n}.dtap", {"DISPLAY": programs.display})
        for n, name in enumerate(("build:use-vbo=true", DESKTOP))
    }


def _played(trace: drawtap.Trace, name: str) -> compare.Played:
    answer = engine.ask(engine.ENGINES.get(name))
    if not answer.works:
        pytest.skip(f"{name}: {answer.reason}")
    return compare.Played(trace, name)


@pytest.mark.parametrize("name", ["softpipe", "zink", "angle", "swiftshader"])
@pytest.mark.parametrize("scene", ["build:use-vbo=true", DESKTOP])
def test_every_engine_shows_the_scene(name: str, scene: str, scenes: dict[str, Path]) -> None:
    with drawtap.open(scenes[scene]) as trace:
        other = _played(trace, name)
        played = player.play(trace.path, environment=engine.environment_of(name))
        assert (played.frames, played.skipped) == (3, 0)
        found = compare.compare(_played(trace, "llvmpipe"), other, tolerance=compare.Tolerance(ssim=0.99), bisect=False)
    assert found.same
    assert len(found.frames) == 3


@pytest.fixture(scope="module")
def stand_in_gpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler on this machine")
    library = tmp_path_factory.mktemp("gpus") / "gpus.so"
    source = Path(__file__).parent / "stand_in_gpus.c"
    subprocess.run(
        [
            compiler,
            "-Wall",
            "-Wextra",
            "-Wl,--no-as-needed",
            "-shared",
            "-fPIC",
            source,
            "-o",
            library,
            "-lEGL",
            "-lGLESv2",
            "-ldl",
        ],
        check=True,
    )
    return library


@pytest.fixture
def opened(stand_in_gpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Preload the stand-in; return the file with the numbers of the devices that are opened."""
    for name in ("EGL_PLATFORM", "LIBGL_ALWAYS_SOFTWARE", "GALLIUM_DRIVER", "MESA_LOADER_DRIVER_OVERRIDE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LD_PRELOAD", str(stand_in_gpus))
    monkeypatch.setenv("STAND_IN_OPENED", str(tmp_path / "opened"))
    (tmp_path / "opened").touch()
    return tmp_path / "opened"


# The stand-in's devices: 0 is the processor, 1 does not start, 2 and 3 draw.
@pytest.mark.parametrize(
    ("chosen", "device"),
    [
        ({}, "2"),
        ({"DRAWTAP_EGL_DEVICE": "3"}, "3"),
        ({"DRAWTAP_EGL_DEVICE": "0"}, "0"),
        ({"EGL_PLATFORM": "device"}, "2"),
        ({"EGL_PLATFORM": "surfaceless"}, ""),
        ({"LIBGL_ALWAYS_SOFTWARE": "1"}, ""),
        ({"LIBGL_ALWAYS_SOFTWARE": "1", "DRAWTAP_EGL_DEVICE": "3"}, ""),
    ],
)
def test_without_a_display_a_gpu_is_taken_before_the_processor(
    chosen: dict[str, str], device: str, opened: Path
) -> None:
    answer = player.probe(chosen)
    assert answer["renderer"], answer
    assert opened.read_text().strip() == device


@pytest.mark.parametrize("number", ["1", "4", "first"])
def test_a_device_that_is_not_there_is_named(number: str, opened: Path) -> None:
    answer = player.probe({"DRAWTAP_EGL_DEVICE": number})
    assert f"DRAWTAP_EGL_DEVICE is '{number}': no device of that number works; EGL lists 4" in str(answer["error"])
    assert not opened.read_text()


@pytest.mark.parametrize(
    ("chosen", "device"),
    [({}, "2"), ({"DRAWTAP_EGL_DEVICE": "3"}, "3"), ({"EGL_PLATFORM": "device"}, "2")],
)
def test_the_demo_and_the_doctor_draw_on_the_gpu_that_the_player_takes(
    chosen: dict[str, str], device: str, stand_in_gpus: Path, opened: Path
) -> None:
    # Python asks a library for its functions, not the process: the stand-in takes the place of EGL's.
    load = f"import ctypes; ctypes.CDLL = lambda name, of=ctypes.CDLL: of({str(stand_in_gpus)!r})"
    demo = "from drawtap import demo_program; demo_program._start()"
    doctor = "from drawtap.capture import probe; probe._ask(surfaceless=True)"
    for program in (demo, doctor):
        subprocess.run([sys.executable, "-c", f"{load}; {program}"], check=True, env={**os.environ, **chosen})
    assert opened.read_text().split() == [device, device]


def test_the_first_draw_that_differs_is_the_first_of_all_draws(scenes: dict[str, Path]) -> None:
    with drawtap.open(scenes[DESKTOP]) as trace:
        a, b = _played(trace, "llvmpipe"), _played(trace, "softpipe")
        found = compare.compare(a, b)
        assert found.first is not None and found.draw is not None, "the two rasterisers agree on this scene"
        draws = a.draws(found.first.frame)
        assert len(draws) > 4
        # Not by halves but one by one.
        different = []
        for draw in draws:
            one, other = a.image_at(draw.at), b.image_at(draw.at)
            assert one is not None and other is not None
            different.append(not compare.difference(one, other).exact)
    assert found.draw.a.call == found.draw.b.call == draws[different.index(True)].call
    assert found.draw.before is not None and found.draw.before.exact and not found.draw.after.exact


def test_libraries_without_numbers_get_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "libraries"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DRAWTAP_ANGLE", str(folder))
    (folder / "libEGL.so").write_bytes(bytes(1000))  # a stub
    (folder / "libGLESv2.so").write_bytes(bytes(100_000))
    with pytest.raises(UnavailableError, match=r"no libEGL\.so in"):
        engine.environment_of("angle")
    (folder / "libEGL.so").write_bytes(bytes(100_000))
    for _ in range(2):
        links = Path(engine.environment_of("angle")["LD_LIBRARY_PATH"].split(os.pathsep)[0])
        assert (links / "libEGL.so.1").resolve() == folder / "libEGL.so"
        assert (links / "libGLESv2.so.2").resolve() == folder / "libGLESv2.so"
    # The name of the folder means nothing to the other engines.
    assert "DRAWTAP_PLAY_ANGLE" not in engine.environment_of("llvmpipe")
