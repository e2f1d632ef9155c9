"""Recordings play again, pixel for pixel: our own programs, and real ones; on another engine; through the commands."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import drawtap
from drawtap.replay import player, warm
from drawtap.replay.picture import packed
from drawtap.replay.place import place
from shared import SOFTWARE, run_drawtap, scenes

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

TIMEOUT_S = 300
# Every program, and how many images and read-backs there are to compare: a hash a frame, and what it reads itself.
PROGRAMS = {
    "es2_triangle": 22,
    "client_arrays_es2": 2,
    "client_arrays_gl1": 2,
    "es1_cube": 12,
    "readback": 10,
    "maps": 40,
    "pixels": 100,
    "shared_contexts": 8,
    "ff_lit": 30,
    "ff_lists": 30,
    "ff_state": 30,
    "fbo_chain": 30,
    "transfers": 24,
    "modern": 24,
    "draw_over": 36,
    "two_contexts": 24,
}


@pytest.fixture(scope="module", autouse=True)
def _player() -> None:
    player.program()


def _record(bench: Bench, argv: list[str], trace: Path, *, window: bool = False, late: bool = False) -> Path:
    return bench.record(argv, trace, "--hash-frames", window=window, late=late)


def _play(trace: Path, *arguments: str, **environment: str) -> player.Replay:
    return player.play(trace, arguments, environment={**SOFTWARE, **environment})


@pytest.fixture(scope="module")
def triangle(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _record(programs, ["es2_triangle", "10"], tmp_path_factory.mktemp("triangle") / "t.dtap")


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_image_is_the_one_that_the_program_saw(name: str, programs: Bench, tmp_path: Path) -> None:
    played = _play(_record(programs, [name], tmp_path / "t.dtap"), "--verify")
    assert played.compared >= PROGRAMS[name]
    assert [f for f in played.findings if f.what != "config"] == []
    assert played.different == 0
    assert played.skipped == 0


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_names_of_objects_are_those_that_the_driver_gives(name: str, programs: Bench, tmp_path: Path) -> None:
    # The same driver would give the recorded names again: the player takes the first of every kind away.
    played = _play(_record(programs, [name], tmp_path / "t.dtap"), "--verify", "--shift-names")
    assert played.compared >= PROGRAMS[name]
    assert (played.different, played.skipped) == (0, 0)
    assert [f for f in played.findings if f.what not in ("config", "uniform")] == []


def test_threads_can_be_played_on_one(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["shared_contexts"], tmp_path / "t.dtap")
    one = _play(trace, "--verify", "--single-thread", "--hashes")
    many = _play(trace, "--verify", "--hashes")
    assert one.different == many.different == 0
    assert one.hashes == many.hashes
    assert one.compared == many.compared > 0


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("glxgears", []),
        pytest.param("es2gears_x11", [], marks=pytest.mark.exhaustive),
        ("glmark2-es2", scenes("320x240", "build:nframes=10", "desktop:nframes=10")),
        ("glmark2", scenes("320x240", "buffer:update-method=map:nframes=10", "texture:nframes=10")),
    ],
)
def test_windows_are_played_as_pbuffers(program: str, arguments: list[str], programs: Bench, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    if programs.display is None:
        pytest.skip("Xvfb is not installed")
    for seconds in ("0.5", "5", "60"):  # a loaded machine draws few frames in a second
        command = [program, *arguments] if arguments else ["timeout", seconds, program]
        late = not arguments and seconds != "60"
        trace = _record(programs, command, tmp_path / f"{seconds}.dtap", window=True, late=late)
        if late and not trace.exists():
            continue
        played = _play(trace, "--verify")
        if arguments or played.frames > 1:
            break
    assert played.frames > 1
    assert played.compared >= played.frames - 1
    assert played.different == 0


def test_another_engine_shows_almost_the_same(triangle: Path) -> None:
    played = _play(triangle, "--hashes", GALLIUM_DRIVER="softpipe")
    assert played.engine.startswith("softpipe")
    assert len(played.hashes) == 10
    assert played.skipped == 0


def test_verify_finds_what_differs(programs: Bench, tmp_path: Path) -> None:
    # The two rasterisers decide ties differently: a triangle's edge through pixel centres shows it.
    trace = _record(programs, ["client_arrays_gl1"], tmp_path / "t.dtap")
    played = _play(trace, "--verify", GALLIUM_DRIVER="softpipe")
    assert played.different > 0
    assert {f.what for f in played.findings} & {"read-back", "frame"}
    assert all(f.call > 0 for f in played.findings if f.what in ("read-back", "frame"))


def test_frames_loops_and_images(triangle: Path, tmp_path: Path) -> None:
    played = _play(triangle, "--frames", "2:5", "--loop", "3", "--benchmark", "--snapshots", f"{tmp_path}/f")
    assert played.frames == 2 + 3 * 3
    assert len(played.frame_times_ns) == 9
    assert [path.name for path in played.images[:3]] == ["f000002.png", "f000003.png", "f000004.png"]
    width, height, pixels = _png(tmp_path / "f000003.png")
    assert (width, height) == (64, 48)
    assert len(set(pixels)) > 2  # something is on it
    # drawtap image writes the same picture, compressed.
    assert run_drawtap("image", triangle, "#3", "-o", tmp_path / "one.png").returncode == 0
    assert _png(tmp_path / "one.png") == (width, height, pixels)
    assert (tmp_path / "one.png").stat().st_size < (tmp_path / "f000003.png").stat().st_size / 2
    # The loop draws the same frames again.
    again = _play(triangle, "--frames", "2:5", "--loop", "2", "--hashes")
    once = _play(triangle, "--frames", "2:5", "--hashes")
    assert again.hashes == once.hashes
    assert set(once.hashes) == {2, 3, 4}


def _png(path: Path) -> tuple[int, int, list[bytes]]:
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, stored, size = 8, b"", (0, 0)
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        content = data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + content) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        if kind == b"IHDR":
            size = struct.unpack(">II", content[:8])
        elif kind == b"IDAT":
            stored += content
        at += 12 + length
    raw = zlib.decompress(stored)
    width, height = size
    assert len(raw) == (width * 4 + 1) * height
    rows = [raw[y * (width * 4 + 1) + 1 : (y + 1) * (width * 4 + 1)] for y in range(height)]
    return width, height, [row[x * 4 : x * 4 + 4] for row in rows for x in range(width)]


def test_preloaded_and_slow_are_the_same(triangle: Path) -> None:
    assert _play(triangle, "--preload", "--hashes").hashes == _play(triangle, "--window", "1", "--hashes").hashes
    assert _play(triangle, "--as-recorded", "--hashes").hashes == _play(triangle, "--hashes").hashes


def _drawtap(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    return run_drawtap(*arguments, environment={**environment, **SOFTWARE})


def test_nothing_to_compare_is_not_equal(programs: Bench, tmp_path: Path) -> None:
    trace = programs.record(["held_es"], tmp_path / "t.dtap")
    for words in (("verify", str(trace)), ("replay", str(trace), "--verify")):
        done = _drawtap(*words, "--on", "llvmpipe")
        assert (done.returncode, done.stderr) == (1, "")
        assert "no image and no read-back to compare" in done.stdout


def test_a_recording_that_lost_its_calls_is_no_success(triangle: Path, tmp_path: Path) -> None:
    whole, cut = triangle.read_bytes(), tmp_path / "cut.dtap"
    cut.write_bytes(whole[: len(whole) // 2])
    done = run_drawtap("replay", cut)
    assert done.returncode == 4, done.stdout
    assert "has no call to play" in done.stderr and "cut off" in done.stderr


def test_pixels_that_nothing_drew_do_not_depend_on_old_memory(triangle: Path, tmp_path: Path) -> None:
    picture = tmp_path / "before.rgba"
    with drawtap.open(triangle) as trace:
        clear = trace.sql("SELECT min(seq) FROM calls WHERE name = 'glClear'").fetchall()[0][0]
        with warm.Warm(triangle, environment={**SOFTWARE, "MALLOC_PERTURB_": "90"}) as playing:
            assert playing.image(place(trace, str(clear - 1)), picture) is None
    assert set(picture.read_bytes()[::4]) == {0}


def test_snapshots_of_what_is_not_there_are_no_success(triangle: Path, programs: Bench, tmp_path: Path) -> None:
    without, folder = programs.record(["held_es"], tmp_path / "t.dtap"), tmp_path / "images"
    never = ["--frame-end", "glDrawArrays"]
    for words, why in ((["draws"], "no draw was played"), (["frames", *never], "no frame ended")):
        done = _drawtap("replay", str(without), "--snapshots", str(folder), "--snapshot-at", *words)
        assert done.returncode == 1, done.stdout
        assert f"none saved: {why}" in done.stdout
    words = ["--snapshots", str(folder), "--snapshot-at", "draws", "--json"]
    assert "no draw was played" in json.loads(_drawtap("replay", str(without), *words).stdout)["no_images"]
    for words in (["--snapshot-at", "calls:5,123456789"], ["--snapshot-at", "calls:" + "9" * 20], ["--loop", "9" * 20]):
        done = _drawtap("replay", str(triangle), "--snapshots", str(folder), *words)
        assert done.returncode == 2, done.stdout
        assert words[1].rpartition(":")[2].rpartition(",")[2] in done.stderr
    assert not list(folder.iterdir())


def test_commands(triangle: Path, tmp_path: Path) -> None:
    done = _drawtap("replay", str(triangle), "--verify", "--on", "llvmpipe")
    assert done.returncode == 0, done.stderr
    assert "25 of 25 images and read-backs are equal" in done.stdout
    image = tmp_path / "frame.png"
    done = _drawtap("image", str(triangle), "#3", "-o", str(image), "--on", "llvmpipe")
    assert done.returncode == 0, done.stderr
    assert "image of frame 3" in done.stdout
    again = _drawtap("image", str(triangle), "#3", "-o", str(image), "--on", "llvmpipe")
    assert (again.returncode, "--force replaces it" in again.stderr) == (2, True)
    odd = tmp_path / os.fsdecode(b"\xff.png")
    with drawtap.open(triangle) as trace, warm.Warm(triangle, environment=SOFTWARE) as playing:
        for _ in range(2):
            assert playing.image(place(trace, "#3"), odd) is None
            assert packed(odd.read_bytes()) == image.read_bytes()
    _drawtap("replay", str(triangle), "--snapshots", str(tmp_path / "all"), "--on", "llvmpipe")
    assert image.read_bytes() == packed((tmp_path / "all" / "000003.png").read_bytes())
    done = _drawtap("replay", str(triangle), "--on", "lvmpipe")
    assert done.returncode == 2
    assert "llvmpipe" in done.stderr


def test_engines_say_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRAWTAP_ANGLE", raising=False)
    done = _drawtap("replay", "--engines", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["engine"]: row for row in json.loads(done.stdout)}
    assert rows["llvmpipe"]["works"] == rows["softpipe"]["works"] == "yes"
    assert "llvmpipe" in rows["llvmpipe"]["renderer"]
    assert rows["softpipe"]["renderer"] == "softpipe"
    assert rows["angle"]["works"] == "no"
    assert "DRAWTAP_ANGLE" in rows["angle"]["renderer"]


def test_calls_can_be_left_out(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["draw_over", "12"], tmp_path / "t.dtap")
    whole = _play(trace, "--hashes")
    with drawtap.open(trace) as opened:
        calls = len(opened.calls)
        ends = [int(str(row["end_seq"])) - 1 for row in opened.table("frames")]
        draws = [int(str(seq)) for (seq,) in opened.sql("SELECT seq FROM glDrawArrays ORDER BY seq")]
    keep = np.ones(calls, np.bool_)
    keep[ends[:5]] = False  # shows that are not missed
    bits = tmp_path / "keep"
    np.packbits(keep, bitorder="little").tofile(bits)
    played = _play(trace, "--hashes", "--errors", "--keep", str(bits))
    assert played.calls == calls - 5
    assert played.hashes == {frame: value for frame, value in whole.hashes.items() if frame >= 5}
    keep[draws[7]] = False
    np.packbits(keep, bitorder="little").tofile(bits)
    played = _play(trace, "--hashes", "--keep", str(bits))
    assert played.hashes[6] == whole.hashes[6]
    assert played.hashes[7] != whole.hashes[7]


def test_errors_are_told_where_asked(programs: Bench, tmp_path: Path) -> None:
    trace = _record(programs, ["draw_over", "3"], tmp_path / "t.dtap")
    with drawtap.open(trace) as opened:
        calls = len(opened.calls)
        (program,) = (int(str(seq)) for (seq,) in opened.sql("SELECT seq FROM glUseProgram"))
    keep = np.ones(calls, np.bool_)
    keep[program] = False
    np.packbits(keep, bitorder="little").tofile(tmp_path / "keep")
    played = _play(trace, "--errors", "--keep", str(tmp_path / "keep"))
    assert {f.function for f in played.findings if f.what == "gl-error"} >= {"glUniform4f"}
    assert not [f for f in _play(trace, "--errors").findings if f.what == "gl-error"]
