"""OpenGL programs on zink, recorded as the Vulkan programs that they are, and played."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from drawtap.errors import UnavailableError
from drawtap.parts import PLAYER_VULKAN, TAP_VULKAN, is_there
from drawtap.replay import engine, look
from drawtap.replay.compare import decode_attachment
from drawtap.replay.look import pixel_history
from drawtap.replay.place import Place
from drawtap.replay.warm import Warm
from drawtap.trace.core import write
from drawtap.trace.trace import open_trace
from drawtap.trace.vulkan_past import vulkan_past
from gl.conftest import Bench
from gl.test_pixel_history import FRAME, X, Y
from shared import run_drawtap
from vulkan.test_export_c import built, exported
from vulkan.test_export_c import played as run

# The least number of read-backs to compare. The last one stores bytes in the device's memory and reads none.
PROGRAMS = {"readback": 10, "es2_triangle": 8, "mapped_frames": 0}


def zink_environment() -> dict[str, str]:
    if not is_there(TAP_VULKAN) or not is_there(PLAYER_VULKAN):
        pytest.skip("the tap or the player of Vulkan is not built (make build)")
    try:
        return dict(engine.environment_of("zink"))
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_the_program_read_back_is_drawn_again(program: str, programs: Bench, tmp_path: Path) -> None:
    zink = zink_environment()
    trace = tmp_path / "zink.dtap"
    command = ["record", "-q", "--api", "vk", "-o", trace, "--", programs.programs / program]
    done = run_drawtap(*command, environment={**programs.environment(), **zink})
    assert done.returncode == 0, done.stderr
    vulkan = {name: value for name, value in zink.items() if name.startswith("VK_")}
    played = run_drawtap("replay", trace, "--verify", "--json", environment={**os.environ, **vulkan})
    found = json.loads(played.stdout)
    assert found["different"] == 0, found["findings"]
    assert found["compared"] >= PROGRAMS[program]
    assert found["skipped"] == 0
    # The last half of what it submits, with what that needs of the first: each read-back is the same.
    with open_trace(trace) as whole:
        query = "SELECT seq FROM calls WHERE name LIKE 'vkQueueSubmit%' ORDER BY seq"
        submits = [int(str(seq)) for (seq,) in whole.sql(query).fetchall()]
        first, end = submits[len(submits) // 2], whole.core.count()
        part = vulkan_past(whole, first, end)
        write([part.part(whole, images=np.zeros(end, np.bool_))], tmp_path / "half.dtap")
    assert part.keep[:first].sum() < first
    played = run_drawtap("replay", tmp_path / "half.dtap", "--verify", "--json", environment={**os.environ, **vulkan})
    half = json.loads(played.stdout)
    assert (half["different"], half["findings"], half["skipped"]) == (0, [], 0)


def test_c_source_reads_back_the_same(programs: Bench, tmp_path: Path) -> None:
    """Zink switches features on in a long chain of structures, and updates descriptors by templates."""
    zink = zink_environment()
    command = ["record", "-q", "--api", "vk", "-o", tmp_path / "zink.dtap", "--", programs.programs / "es2_triangle"]
    done = run_drawtap(*command, environment={**programs.environment(), **zink})
    assert done.returncode == 0, done.stderr
    played = run(built(exported(tmp_path / "zink.dtap", tmp_path / "c")))
    found = re.search(r"(\d+) read-backs, 0 differ", played.stdout)
    assert found and int(found[1]) >= 5, played.stderr


def test_draws_leave_what_they_leave_in_opengl(programs: Bench, tmp_path: Path) -> None:
    """A frame of this program is one draw, in OpenGL as in Vulkan."""
    zink = zink_environment()
    found: list[dict[str, list[npt.NDArray[np.generic]]]] = []
    for name, options, more in (("gl", (), {}), ("vk", ("--api", "vk"), zink)):
        trace, folder = tmp_path / f"{name}.dtap", tmp_path / name
        command = ["record", "-q", *options, "-o", trace, "--", programs.programs / "es2_triangle"]
        assert run_drawtap(*command, environment={**programs.environment(), **more}).returncode == 0
        vulkan = {key: value for key, value in more.items() if key.startswith("VK_")}
        arguments = ["--snapshots", folder, "--snapshot-at", "draws", "--attachments", "color,depth"]
        played = run_drawtap("replay", trace, *arguments, environment={**programs.environment(), **vulkan})
        assert played.returncode == 0, played.stderr
        pictures: dict[str, list[npt.NDArray[np.generic]]] = {"color": [], "depth": []}
        for path in sorted(folder.iterdir()):
            kind = "depth" if path.stem.endswith("depth") else "color"
            pictures[kind].append(decode_attachment(path.read_bytes(), path.name))
        found.append(pictures)
    opengl, vulkan_ = found
    assert len(opengl["color"]) == len(vulkan_["color"]) == 10
    for one, other in zip(opengl["color"], vulkan_["color"], strict=True):
        assert np.abs(one.astype(int) - other.astype(int)).max() <= 1  # both drivers round a colour between two
    for one, other in zip(opengl["depth"], vulkan_["depth"], strict=True):
        assert (one == other).all()
    _same_fragments_and_vertices(
        (tmp_path / "gl.dtap", programs.environment()), (tmp_path / "vk.dtap", {**programs.environment(), **vulkan})
    )


def _same_fragments_and_vertices(opengl: tuple[Path, dict[str, str]], vulkan: tuple[Path, dict[str, str]]) -> None:
    """Both APIs count the same fragments of the first draw, and have the same vertices."""
    found = []
    for path, environment in (opengl, vulkan):
        with open_trace(path) as trace, Warm(path, environment=environment, looks=True) as player:
            if path == opengl[0]:
                rows = trace.sql("SELECT seq, NULL FROM draws WHERE kind = 'draw' ORDER BY seq LIMIT 1").fetchall()
            else:
                query = "SELECT submit_seq, seq FROM executed WHERE kind = 'draw' ORDER BY number LIMIT 1"
                rows = trace.sql(query).fetchall()
            at = Place(*rows[0])
            found.append((look.masks(trace, at, player.look), look.mesh(trace, at, player.look)))
    (masks, mesh), (counted, captured) = found
    assert not masks.why
    assert not counted.why
    assert masks.counts["drawn"].any()
    for name, counts in masks.counts.items():
        assert np.array_equal(counts, counted.counts[name]), name
    assert (captured.why, captured.why_in) == (mesh.why, mesh.why_in) == ("", "")
    assert np.array_equal(mesh.fates, captured.fates)
    assert [one.name for one in mesh.inputs] == [one.name for one in captured.inputs]
    for one, other in zip(mesh.inputs, captured.inputs, strict=True):
        assert np.array_equal(one.of(0, 0, len(mesh.vertices)), other.of(0, 0, len(captured.vertices)))
    half = mesh.positions.copy()
    half[..., 2] = (half[..., 2] + half[..., 3]) / 2
    # Zink moves the depth where the driver has no control of its range.
    assert any(np.allclose(clip, captured.positions) for clip in (mesh.positions, half))


def test_the_history_of_a_pixel_is_that_of_opengl(programs: Bench, tmp_path: Path) -> None:
    """Each draw fails the test that the specification of OpenGL says; a clear outside of the scissor box is none."""
    zink = zink_environment()
    trace = tmp_path / "vk.dtap"
    command = ["record", "-q", "--api", "vk", "-o", trace, "--", programs.programs / "pixel_history_gl", "core"]
    assert run_drawtap(*command, environment={**programs.environment(), **zink}).returncode == 0
    vulkan = {key: value for key, value in zink.items() if key.startswith("VK_")}
    with open_trace(trace) as opened, Warm(trace, environment=vulkan, looks=True) as player:
        rows = opened.sql("SELECT submit_seq, seq FROM executed WHERE kind = 'draw' ORDER BY number DESC LIMIT 2")
        # The last draw is to a texture.
        submit, draw = rows.fetchall()[-1]
        events = pixel_history(opened, Place(int(submit), int(draw)), X, Y, player.look)["events"]
    fates = [(e["kind"], e["changed"], e["failed"], e["after"]["color"]) for e in events]
    assert fates == [fate for fate in FRAME if fate[0] != "clear" or fate[2] is None]
    assert [e["outcome"] for e in events[7:9]] == ["masked", "same"]
