"""Recordings of Vulkan become C source that compiles with nothing of ours and draws the same pixels."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import vulkan_scene
from drawtap.formats.c import export_c
from drawtap.parts import PLAYER_VULKAN, part
from drawtap.trace.trace import open_trace
from shared import run_drawtap
from vulkan.conftest import HERE, MODES, RAYS, Cube, Record, build, environment
from vulkan_scene import DEVICE, VulkanScene

FLAGS = "-O0 -Wall -Wextra -Werror -pedantic -DPLAY_CHECK -DPLAY_SNAPSHOT"


def exported(trace: Path, folder: Path, *options: str) -> Path:
    done = run_drawtap("export", trace, "-f", "c", "-o", folder, *options)
    assert done.returncode == 0, done.stderr
    return folder


def built(folder: Path) -> Path:
    for tool in ("make", "cc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if not Path("/usr/include/vulkan/vulkan.h").exists():
        pytest.skip("the headers of Vulkan are not installed (Debian: libvulkan-dev)")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    done = subprocess.run(["make", f"CFLAGS={FLAGS}"], cwd=folder, env=inherited, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "play"


def played(program: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run an export in its folder; frames are saved in the folder `shown`."""
    shown = program.parent / "shown"
    shown.mkdir(exist_ok=True)
    given = {**environment(), "DISPLAY": "", "PLAY_SNAPSHOTS": str(shown), **more}
    return subprocess.run([program, *arguments], env=given, capture_output=True, text=True)


def same_frames(trace: Path, folder: Path, first: int, end: int) -> None:
    """Hold the frames that an export showed against those of the player, byte by byte."""
    images = folder / "images"
    images.mkdir()
    command = [
        part(PLAYER_VULKAN),
        "--snapshots",
        f"{images}/",
        "--format",
        "rgba",
        "--frames",
        f"{first}:{end}",
        trace,
    ]
    done = subprocess.run(command, env={**environment(), "DISPLAY": ""}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = {int(path.stem.removeprefix("frame_")): path for path in (folder / "shown").glob("*.rgba")}
    assert sorted(shown) == list(range(first, end))
    for number, path in shown.items():
        assert path.read_bytes() == (images / f"{number:06d}.rgba").read_bytes(), f"frame {number} differs"
    assert len({path.read_bytes() for path in shown.values()}) == end - first


def test_a_window_shows_the_same(cube: Cube, tmp_path: Path) -> None:
    program = built(exported(cube.trace, tmp_path / "c", "--frames", "0:6"))
    done = played(program, "--hash-frames")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines[:6]] == [f"{n}:" for n in range(6)]
    assert len({line.split()[-1] for line in lines[:6]}) == 6
    assert lines[6] == "6 frames, 0 read-backs, 0 differ"
    same_frames(cube.trace, program.parent, 0, 6)


def test_frames_before_the_wanted_ones_are_set_up(cube: Cube, tmp_path: Path) -> None:
    program = built(exported(cube.trace, tmp_path / "c", "--frames", "4:6"))
    text = (program.parent / "frames_000.c").read_text()
    assert "void setup_3(void)" in text and "void frame_4(void)" in text and "frame_6" not in text
    assert played(program).returncode == 0
    same_frames(cube.trace, program.parent, 4, 6)


@pytest.mark.exhaustive  # cuts and their C source have tests of their own
def test_a_cut_is_written_too(cube: Cube, tmp_path: Path) -> None:
    cut = tmp_path / "cut.dtap"
    done = run_drawtap("extract", cube.trace, "--frames", "20", "-o", cut, environment=environment())
    assert done.returncode == 0, done.stderr
    program = built(exported(cut, tmp_path / "c"))
    assert played(program).returncode == 0
    with open_trace(cut) as trace:
        same_frames(cut, program.parent, 0, len(trace.frames))


@pytest.mark.sample(1)
@pytest.mark.parametrize("mode", ["all", "fresh"])
def test_old_work_and_read_backs(mode: str, past: Path, tmp_path: Path) -> None:
    """past.c draws with what earlier frames left: copies, queries, secondary buffers, reused objects."""
    with open_trace(past / f"{mode}.dtap") as trace:
        made = export_c(trace, tmp_path / "c", calls_per_file=100, calls_per_function=20)
        frames = len(trace.frames)
    assert len(made.files) > 2
    assert not made.left_out
    program = built(tmp_path / "c")
    done = played(program)
    assert (done.returncode, done.stderr) == (0, "")
    found = re.search(r"(\d+) frames, (\d+) read-backs, 0 differ", done.stdout)
    assert found and int(found[1]) == frames and int(found[2]) >= 4
    same_frames(past / f"{mode}.dtap", tmp_path / "c", 0, frames)


@pytest.mark.sample(2)
@pytest.mark.parametrize("mode", MODES)
def test_read_backs_are_those_of_the_program(mode: str, draws: Path, tmp_path: Path) -> None:
    done = played(built(exported(draws / f"{mode}.dtap", tmp_path / "c")))
    assert (done.returncode, done.stderr) == (0, "")
    found = re.search(r"(\d+) read-backs, 0 differ", done.stdout)
    assert found and int(found[1]) >= 1


def test_a_difference_is_told(recorded: Path, tmp_path: Path) -> None:
    """headless.c fills buffers and reads them: another number is found."""
    folder = exported(recorded, tmp_path / "c")
    source = folder / "frames_000.c"
    text = source.read_text()
    changed = re.sub(r"(vkCmdFillBuffer\(\w+, \w+, \w+, \w+, )\w+\)", r"\g<1>7)", text)
    assert changed != text
    source.write_text(changed)
    done = played(built(folder))
    assert done.returncode == 1
    assert re.search(
        r"read-back \d+ \(\d+ bytes of mapped memory from \d+ on\) differs from the recording", done.stderr
    )


def test_another_device_is_refused(recorded: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.dtap"
    run_drawtap("edit", recorded, "-o", other, "--set", "vkBindBufferMemory memoryOffset = 64")
    program = built(exported(other, tmp_path / "c"))
    done = played(program)
    assert done.returncode == 1
    assert "a buffer needs more or other memory on this driver than on" in done.stderr
    done = played(program, PLAY_DEVICE="no such device")
    assert done.returncode == 1
    assert "there is no device with the name that $PLAY_DEVICE has" in done.stderr


def test_what_cannot_be_written_is_refused_by_name(rays: Path, tmp_path: Path) -> None:
    done = run_drawtap("export", rays, "-f", "c", "-o", tmp_path / "c")
    assert (done.returncode, done.stdout) == (3, "")
    assert f"this cannot be written as C: ray tracing (1 call, {RAYS})" in done.stderr
    assert not (tmp_path / "c").exists()


def test_names_that_are_none_become_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording may come from anybody, and who compiles its source trusts the words in there."""
    s = VulkanScene().vkCreateInstance({"enabledLayerCount": 0}, pInstance=[0x30])
    exported(s.write(tmp_path / "good.dtap"), tmp_path / "good")
    name = "VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO"
    made = vulkan_scene._signatures
    monkeypatch.setattr(vulkan_scene, "_signatures", lambda names: made(names).replace(name, "1}}; abort(); f((T){{1"))
    done = run_drawtap("export", s.write(tmp_path / "bad.dtap"), "-f", "c", "-o", tmp_path / "bad")
    assert done.returncode == 4
    assert "a name in the recording is none that C has" in done.stderr


def test_objects_that_were_not_made_are_named(tmp_path: Path) -> None:
    s = VulkanScene().vkCreateImage(DEVICE, {"extent": {"width": 64}}, pImage=[0x10])
    done = run_drawtap("export", s.write(tmp_path / "t.dtap"), "-f", "c", "-o", tmp_path / "c")
    assert done.returncode == 4
    assert re.search("call 0 vkCreateImage: VkDevice 0x[0-9a-f]+ was not made in this recording", done.stderr)


def test_the_source_is_readable(cube: Cube, tmp_path: Path) -> None:
    folder = exported(cube.trace, tmp_path / "c", "--frames", "0:3")
    text = (folder / "frames_000.c").read_text()
    for words in (
        "VK(play_create_instance(&(VkInstanceCreateInfo){.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, ",
        ".clearValueCount = 2, .pClearValues = (VkClearValue[]){{.color = {.float32 = {0.2f, 0.2f, 0.2f, 0.2f}}}, ",
        ".usage = VK_IMAGE_USAGE_SAMPLED_BIT",
        "vkCmdDraw(command_buffer_",
        ", 36, 1, 0, 0);",
        "VK(play_present(queue_",
        "host_frame(play_current);",
    ):
        assert words in text, words
    assert not re.search(r"0x[0-9a-f]{9,}", text)  # no handle of the recorded program
    assert "vkcube" in (folder / "README.md").read_text().splitlines()[0]
    whole = "".join(path.read_text() for path in folder.iterdir() if path.suffix in {".c", ".h", ".md", ".txt"})
    assert "drawtap" not in whole  # it stands alone


def test_threads_that_record_at_the_same_time(header: Path, tmp_path: Path) -> None:
    """Three threads fill parts of a buffer, and a fourth submits. In the export one thread makes all calls."""
    program = build(header, HERE / "threads.c", tmp_path / "threads", "-l:libvulkan.so.1", "-lpthread")
    trace = tmp_path / "t.dtap"
    done = run_drawtap("record", "-q", "-o", trace, "--", program, environment=environment())
    assert done.returncode == 0, done.stderr
    with open_trace(trace) as recorded:
        [(threads,)] = recorded.sql("SELECT count(DISTINCT thread) FROM vkCmdFillBuffer").fetchall()
    assert threads == 3
    done = played(built(exported(trace, tmp_path / "c")))
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 read-backs, 0 differ" in done.stdout


def test_a_timeline_is_waited_for_before_it_is_destroyed(record: Record, tmp_path: Path) -> None:
    """A driver may touch it behind the end of the work that signals it, in a thread of its own."""
    program = built(exported(record("polled") / "polled.dtap", tmp_path / "c"))
    lines = [line for path in sorted((tmp_path / "c").glob("*.c")) for line in path.read_text().splitlines()]
    ends = [number for number, line in enumerate(lines) if "vkDestroySemaphore(" in line]
    assert ends
    assert all("play_wait_value(" in lines[number - 1] for number in ends)
    done = played(program)
    assert (done.returncode, done.stderr) == (0, "")
