"""Recordings of Vulkan, played: the pictures are those of the program, and they are drawn."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from drawtap.corpus.renaming import left
from drawtap.parts import PLAYER_VULKAN, part
from drawtap.spec.registry import load_api
from drawtap.trace.edit import edit
from drawtap.trace.ranges import frame_ends
from drawtap.trace.trace import open_trace
from drawtap.web.recording import Recording
from sanitized import ROOT
from shared import run_drawtap, steps
from vulkan.conftest import HERE, RAYS, SIZE, Cube, Record, environment


def pictures(trace: Path, folder: Path, *more: str) -> list[bytes]:
    """Play a recording without a display and return its frames: RGB, the upper row first."""
    folder.mkdir()
    command = [part(PLAYER_VULKAN), "--snapshots", f"{folder}/", "--format", "rgba", *more, trace]
    done = subprocess.run(command, env={**environment(), "DISPLAY": ""}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    frames = []
    for path in sorted(folder.glob("*.rgba")):
        pixels = path.read_bytes()
        rows = [pixels[at : at + SIZE * 4] for at in range(0, len(pixels), SIZE * 4)][::-1]
        whole = bytearray(b"".join(rows))
        del whole[3::4]
        frames.append(bytes(whole))
    return frames


def numbers(trace: Path, *arguments: str) -> dict[str, object]:
    done = run_drawtap("replay", trace, "--json", *arguments, environment=environment())
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_engines_of_opengl_do_not_play_it(cube: Cube) -> None:
    done = run_drawtap("replay", cube.trace, "--on", "softpipe", environment=environment())
    assert (done.returncode, done.stdout) == (3, "")
    assert "softpipe is a driver of OpenGL, and the recording is of Vulkan" in done.stderr


def test_waits_before_the_first_frame_are_no_frames(cube: Cube) -> None:
    """vkcube waits for its textures. What a recorder counts while the program runs is in its last line."""
    with open_trace(cube.trace) as trace:
        end = json.loads(trace.info["annotations"][-1])
        assert (end["kind"], end["frames_recorded"], trace.info["frames"]) == ("end", 60, 60)


def test_frames_are_those_of_the_window(cube: Cube, tmp_path: Path) -> None:
    frames = pictures(cube.trace, tmp_path / "frames")
    assert len(frames) == len(set(frames)) == 60
    assert cube.window, "no picture of the window was taken while the program ran"
    assert cube.window <= set(frames)


def test_the_last_draw_leaves_what_the_frame_shows(cube: Cube, tmp_path: Path) -> None:
    frames = pictures(cube.trace, tmp_path / "frames")
    assert frames == pictures(cube.trace, tmp_path / "draws", "--snapshot-at", "draws")


def test_the_page_shows_draws_and_frames(cube: Cube, tmp_path: Path) -> None:
    frames = pictures(cube.trace, tmp_path / "frames")
    with contextlib.closing(Recording(cube.trace)) as seen:
        seen.environment = environment()
        ends = frame_ends(seen.trace)
        draw = seen.trace.sql("SELECT min(seq) FROM executed WHERE kind = 'draw'").fetchall()[0][0]
        for call, frame in ((ends[30], 30), (ends[31], 31), (ends[2], 2), (draw, 0)):
            shown = bytearray(seen.pictures.picture(call, "")[-SIZE * SIZE * 4 :])
            del shown[3::4]
            assert bytes(shown) == frames[frame], call
        while seen.strip.frames()["more"]:
            os.sched_yield()
        assert len(seen.strip.frames()["frames"]) == 40  # type: ignore[arg-type]
    done = run_drawtap("image", cube.trace, "#30", "-o", tmp_path / "30.rgba", environment=environment())
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "30.rgba").read_bytes() == (tmp_path / "frames" / "000030.rgba").read_bytes()


def test_frames_are_drawn(cube: Cube, tmp_path: Path) -> None:
    """Without its draws the program's pictures are not there: nothing else in the recording has them."""
    run_drawtap("edit", cube.trace, "-o", tmp_path / "none.dtap", "--drop", "vkCmdDraw")
    assert not set(pictures(tmp_path / "none.dtap", tmp_path / "frames")) & cube.window


@pytest.mark.parametrize("form", ["A2B10G10R10_UNORM_PACK32", "R16G16B16A16_SFLOAT"])
def test_frames_of_other_formats_are_shown(form: str, cube: Cube, tmp_path: Path) -> None:
    """The window gets another format in all structures that name it; the frames look the same."""
    enums = load_api("vk").enums
    new = struct.pack("<I", enums[f"VK_FORMAT_{form}"])
    with edit(cube.trace) as editor:
        [(old,)] = editor.trace.sql("SELECT DISTINCT imageFormat FROM VkSwapchainCreateInfoKHR").fetchall()
        for function in ("vkCreateSwapchainKHR", "vkCreateImageView", "vkCreateRenderPass"):
            rows = editor.trace.sql(f"SELECT seq, pCreateInfo_blob, pCreateInfo_data FROM {function}").fetchall()
            for seq, blob, data in rows:
                content = data if data is not None else editor.trace.core.blob(blob)
                words = [content[at : at + 4] for at in range(0, len(content), 4)]
                was = struct.pack("<I", enums[old])
                editor.set(seq, pCreateInfo=b"".join(new if word == was else word for word in words))
        editor.save(tmp_path / "other.dtap")
    frames = ("--frames", "0:3")
    known = pictures(cube.trace, tmp_path / "known", *frames)
    found = pictures(tmp_path / "other.dtap", tmp_path / "found", *frames)
    assert len(found) == len(known) == 3
    for a, b in zip(known, found, strict=True):
        assert np.abs(np.frombuffer(a, "u1").astype("i2") - np.frombuffer(b, "u1")).max() <= 1


def test_a_replay_is_told_as_others_are(cube: Cube, tmp_path: Path) -> None:
    found, again = numbers(cube.trace, "--hashes", "--benchmark"), numbers(cube.trace, "--hashes", "--frames", "10:12")
    hashes, times = found["hashes"], found["frame_times_ns"]
    assert isinstance(hashes, list)
    assert isinstance(times, list)
    assert (found["frames"], found["skipped"], len(hashes), len(times)) == (60, 0, 60, 60)
    assert again["hashes"] == hashes[10:12]
    saved = numbers(cube.trace, "--snapshots", str(tmp_path), "--snapshot-at", "frames:20")
    assert [Path(str(path)).name for path in saved["images"]] == ["000000.png", "000020.png", "000040.png"]  # type: ignore[attr-defined]
    for more in (["--loop", "2"], ["--window"]):
        refused = run_drawtap("replay", cube.trace, *more, environment=environment())
        assert refused.returncode == 3
        assert "yet" in refused.stderr


def test_what_the_device_stored_is_compared_not_taken(recorded: Path, tmp_path: Path) -> None:
    """A driver on the processor writes into the mapped pages. What it wrote is no part of what is played."""
    found = numbers(recorded, "--verify")
    assert (found["different"], found["skipped"]) == (0, 0)
    assert int(str(found["compared"])) >= 4
    other = tmp_path / "other.dtap"
    run_drawtap("edit", recorded, "-o", other, "--set", "vkCmdFillBuffer data = 7")
    done = run_drawtap("replay", other, "--verify", environment=environment())
    assert done.returncode == 1
    assert "bytes of mapped memory differ" in done.stdout


def test_pages_of_the_program_that_vulkan_imports_are_recorded_and_played(record: Record, tmp_path: Path) -> None:
    """What the device stores in a page of two imports is a change of both, and its store in one of them alone."""
    path = record("imported") / "imported.dtap"
    with open_trace(path) as trace:
        assert trace.sql("SELECT code FROM notes WHERE code = 'vulkan-imported-memory'").fetchall() == []
        [(at, size)] = trace.sql('SELECT "offset", data_bytes FROM memory_writes ORDER BY seq LIMIT 1').fetchall()
        assert (at, size) in ((0, 3 * 4096), (0, 2 * 4096))  # all of an import at first
    found = numbers(path, "--verify")
    assert (found["different"], found["skipped"]) == (0, 0)
    assert int(str(found["compared"])) >= 4
    other = tmp_path / "other.dtap"
    run_drawtap("edit", path, "-o", other, "--drop", "vkCmdCopyBufferToImage")
    done = run_drawtap("replay", other, "--verify", environment=environment())
    assert done.returncode == 1
    assert "bytes of mapped memory differ" in done.stdout


def test_a_replay_without_a_device_says_that_there_was_none(recorded: Path, tmp_path: Path) -> None:
    with edit(recorded) as editor:
        [first] = editor.trace.sql('SELECT min(seq) FROM "vkCreateDevice"').fetchone()
        editor.drop([seq for (seq,) in editor.trace.sql(f"SELECT seq FROM calls WHERE seq >= {first}").fetchall()])
        editor.save(tmp_path / "none.dtap")
    done = run_drawtap("replay", tmp_path / "none.dtap", environment=environment())
    assert done.returncode == 0, done.stderr
    assert "no driver: the recording makes no device" in done.stdout


def test_timelines_outlive_the_thread_of_a_driver_that_signals_them(record: Record) -> None:
    """The program polls and waits a while; the player gets to the end of a timeline at once."""
    path = record("polled") / "polled.dtap"
    for _ in range(steps(6, 20)):
        command = [part(PLAYER_VULKAN), path]
        freed = {**environment(), "MALLOC_PERTURB_": "165"}  # memory that is given back changes
        done = subprocess.run(command, env=freed, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("dropped", "told"),
    [
        ("vkCreateBuffer", r"call \d+ vk\w+: VkBuffer 0x[0-9a-f]+ was not made in this recording"),
        ("vkAllocateMemory", "VkDeviceMemory 0x[0-9a-f]+ was not made in this recording"),
        ("vkCreateInstance", "VkInstance 0x[0-9a-f]+ was not made in this recording"),
    ],
)
def test_what_a_recording_lacks(dropped: str, told: str, recorded: Path, tmp_path: Path) -> None:
    less = tmp_path / "less.dtap"
    run_drawtap("edit", recorded, "-o", less, "--drop", dropped)
    done = run_drawtap("replay", less, environment=environment())
    assert done.returncode not in (0, 1)
    assert re.search(told, done.stderr), done.stderr


def test_a_device_is_chosen_by_its_name(recorded: Path) -> None:
    for name, code in (("llvmpipe", 0), ("no such device", 3)):
        done = run_drawtap("replay", recorded, environment={**environment(), "DRAWTAP_VULKAN_DEVICE": name})
        assert done.returncode == code, done.stderr


def test_what_needs_other_memory_here_is_refused(recorded: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.dtap"
    run_drawtap("edit", recorded, "-o", other, "--set", "vkBindBufferMemory memoryOffset = 64")
    done = run_drawtap("replay", other, environment=environment())
    assert done.returncode == 3
    assert "a buffer needs more or other memory" in done.stderr


def test_what_cannot_be_played_is_refused_by_name(rays: Path) -> None:
    done = run_drawtap("replay", rays)
    assert done.returncode == 3
    assert f"ray tracing (1 call, {RAYS})" in done.stderr


def _sanitized(folder: Path, name: str, *sources: Path) -> Path:
    """Compile a program of this folder with a source of the player that has its name, under sanitizers."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    native, player = ROOT / "build/native/native", ROOT / "native/player/vulkan"
    include = (native / "player/play-vk", ROOT / "build/native/khronos", player, ROOT / "native/mirror")
    flags = ["-std=c++20", "-g1", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    flags += [flag for each in include for flag in ("-I", each)]
    subprocess.run(
        ["g++", *flags, HERE / f"{name}.cc", player / f"{name}.cc", *sources, "-o", folder / name], check=True
    )
    return folder / name


def test_which_work_ends(tmp_path: Path) -> None:
    """Work is stuck that waits for itself, for work that waits for it, or for nobody."""
    done = subprocess.run([_sanitized(tmp_path, "running")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_relocation_of_contents_by_chance(tmp_path: Path) -> None:
    """The player's relocation reads no byte outside of a content, whatever the content has."""
    program = _sanitized(tmp_path, "relocation", ROOT / "build/native/native/player/play-vk/vulkan_trees.cc")
    count = steps(20_000, 1_000_000)
    done = subprocess.run([program, str(count)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    whole, refused = map(int, done.stdout.split())
    assert whole > count // 100
    assert whole + refused == count


def test_a_cube_with_other_names_is_the_same(cube: Cube, tmp_path: Path) -> None:
    """The shaders of vkcube have names; all frames are drawn as before."""
    made = tmp_path / "named.dtap"
    done = run_drawtap("redact", cube.trace, "-o", made, "--level", "names", "--json", environment=environment())
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["frames"], said["read_backs"]) == (60, 0)
    assert "vkcube" not in said["texts"]["VkApplicationInfo.pApplicationName"]
    with open_trace(cube.trace) as old, open_trace(made) as new:
        assert left(old)["SPIR-V.OpName"] != left(new)["SPIR-V.OpName"]


def test_a_recording_without_frames_is_proven_by_its_read_backs(recorded: Path, tmp_path: Path) -> None:
    made = tmp_path / "named.dtap"
    done = run_drawtap("redact", recorded, "-o", made, "--level", "names", "--json", environment=environment())
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["frames"] == 0
    assert said["read_backs"] > 0
