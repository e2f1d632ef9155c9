"""Recordings of one driver on another: lavapipe and SwiftShader show the same, as far as Vulkan says what is shown."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from shared import run_drawtap, x_server
from vulkan.conftest import HERE, Cube, build, environment, swiftshader

# Drivers may place vertices on grids of their own and filter texels with other weights: pixels at edges differ, and
# few others.
ALIKE = ("--ssim", "0.99", "--rmse", "3", "--no-bisect", "--json")


@pytest.fixture
def drivers(tmp_path: Path) -> Path:
    """A file that names both."""
    file = tmp_path / "drivers.toml"
    of = {"lavapipe": environment(), "swiftshader": swiftshader()}
    file.write_text("".join(f'[{name}.env]\nVK_ICD_FILENAMES = "{e["VK_ICD_FILENAMES"]}"\n' for name, e in of.items()))
    return file


def compared(drivers: Path, *arguments: str | Path) -> tuple[int, list[dict[str, object]]]:
    sides = ("--engines", drivers, "--on", "lavapipe", "--on", "swiftshader")
    done = run_drawtap("compare", *arguments, *sides, environment=environment())
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)["frames"]


def test_a_cube_of_lavapipe(drivers: Path, cube: Cube, tmp_path: Path) -> None:
    code, frames = compared(drivers, cube.trace, "--frames", "0:6", *ALIKE)
    assert (code, len(frames)) == (0, 6), frames
    assert not all(frame["exact"] for frame in frames), "both sides were one driver"
    less, none = tmp_path / "less.dtap", tmp_path / "none.dtap"
    run_drawtap("edit", cube.trace, "-o", less, "--set", "vkCmdDraw vertexCount = 18")
    sides = ("--frames", "2:3", "--ssim", "0.99", "--rmse", "3", "--json")
    done = run_drawtap("compare", cube.trace, less, *sides, environment=environment())
    draw = json.loads(done.stdout)["first_draw"]
    # Its command buffer is recorded once, before the first frame.
    assert "vertexCount = 36" in draw["a"]["text"] and "vertexCount = 18" in draw["b"]["text"]
    assert draw["a"]["call"] < draw["a"]["submit"]
    assert draw["before"] is None and draw["after"]["max_difference"] > 100
    run_drawtap("edit", cube.trace, "-o", none, "--drop", "vkCmdDraw")
    done = run_drawtap("compare", cube.trace, none, "--frames", "2", environment=environment())
    assert done.returncode == 1
    assert "first draw  none: draws are compared in pairs, and this frame has 1 in A, 0 in B" in done.stdout


def test_a_cube_of_swiftshader(drivers: Path, cube: Cube, tmp_path: Path) -> None:
    """Its images need more memory on lavapipe than the recording has for them."""
    trace = tmp_path / "cube.dtap"
    with x_server("-screen", "0", "640x480x24") as display:
        if display is None:
            pytest.skip("Xvfb is not installed")
        own = {**swiftshader(), "DISPLAY": display}
        program = ("vkcube", "--c", "6", "--width", "300", "--height", "300")
        done = run_drawtap("record", "-q", "-o", trace, "--", *program, environment=own)
        assert done.returncode == 0, done.stderr
    for more in ((trace,), (cube.trace, trace, "--frames", "0:6")):
        code, frames = compared(drivers, *more, *ALIKE)
        assert (code, len(frames)) == (0, 6), frames


def test_copies_and_clears_are_equal(drivers: Path, past: Path) -> None:
    code, frames = compared(drivers, past / "all.dtap", "--json")
    assert (code, len(frames)) == (0, 16)
    assert all(frame["exact"] for frame in frames)


def test_what_swiftshader_drew_is_drawn_by_lavapipe(header: Path, tmp_path: Path) -> None:
    program = build(header, HERE / "draws.c", tmp_path / "draws", "-l:libvulkan.so.1")

    def played(mode: str) -> subprocess.CompletedProcess[str]:
        trace = tmp_path / f"{mode}.dtap"
        done = run_drawtap("record", "-q", "-o", trace, "--", program, mode, environment=swiftshader())
        assert done.returncode == 0, done.stderr
        return run_drawtap("replay", trace, "--verify", "--json", environment=environment())

    for mode in ("pass", "samples", "integers"):
        found = json.loads(played(mode).stdout)
        assert "llvmpipe" in found["engine"]
        assert (found["compared"], found["different"], found["skipped"]) == (1, 0, 0)
    # The program writes the rows of an image with linear tiling itself: they stand elsewhere on another driver.
    refused = played("dispatch")
    assert refused.returncode == 3
    assert "an image needs more or other memory" in refused.stderr
