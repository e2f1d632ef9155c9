"""Pictures of what draws of Vulkan left, taken while a recording is played."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from drawtap.replay import warm
from drawtap.replay.compare import decode_attachment
from drawtap.replay.place import Place
from drawtap.trace.trace import open_trace
from shared import run_drawtap
from vulkan.conftest import environment

SIZE, DRAWS = 8, 4


def known(mode: str, draw: int) -> npt.NDArray[np.uint8]:
    """The row of colours (RGBA) that draws.c says is there after a draw."""
    row = np.zeros((SIZE, 4), np.uint8)
    begin = 2 if mode in ("pass", "samples") and draw >= 2 else 0
    for i in range(begin, draw + 1):
        if mode == "subpasses" and i == DRAWS - 1:
            row = np.concatenate([np.zeros((i, 4), np.uint8), 255 - row[i:]])
        else:
            row[0 if mode == "samples" else i :] = (50 * i, 255 - 50 * i, 128, 255)
    return row


@functools.cache
def played(trace: Path, folder: Path, *more: str) -> tuple[dict[str, npt.NDArray[np.generic]], list[str]]:
    """Pictures after the draws by their file's name, and what the replay says of those that it cannot make."""
    arguments = ["--snapshots", folder, "--attachments", "color,depth,stencil", "--verify", "--json"]
    at = more or ("--snapshot-at", "draws")
    done = run_drawtap("replay", trace, *arguments, *at, environment=environment())
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["images"] else 1), done.stdout + done.stderr
    assert found["compared"] > 0  # the image that the program copied: what is drawn in the end is the same
    said = [finding["text"] for finding in found["findings"] if finding["what"] == "image"]
    paths = [Path(path) for path in found["images"]]
    return {path.stem: decode_attachment(path.read_bytes(), path.name) for path in paths}, said


@pytest.mark.parametrize("mode", ["pass", "rendering", "samples", "subpasses"])
def test_colours_are_the_known_ones(mode: str, draws: Path, tmp_path: Path) -> None:
    pictures, said = played(draws / f"{mode}.dtap", tmp_path)
    colours = {name: picture for name, picture in pictures.items() if not name.endswith(("depth", "stencil"))}
    assert len(colours) == 2 * DRAWS  # the command buffer is submitted twice
    for name, picture in colours.items():
        draw = int(name.split("-")[1])
        assert picture.tolist() == [known(mode, draw).tolist()] * SIZE, name
    assert not [text for text in said if not text.startswith(("depth", "stencil"))]


def test_integers_are_clipped(draws: Path, tmp_path: Path) -> None:
    """(i, 300, 7, 9) from column i on."""
    pictures, said = played(draws / "integers.dtap", tmp_path)
    assert not said
    for name, picture in pictures.items():
        if not name.endswith(("depth", "stencil")):
            expected = np.zeros((SIZE, 4), np.uint8)
            for i in range(int(name.split("-")[1]) + 1):
                expected[i:] = (i, 255, 7, 9)
            assert picture.tolist() == [expected.tolist()] * SIZE, name


@pytest.mark.parametrize("mode", ["pass", "rendering", "samples"])
def test_depth_and_stencil_are_the_known_ones(mode: str, draws: Path, tmp_path: Path) -> None:
    pictures, said = played(draws / f"{mode}.dtap", tmp_path)
    assert not said
    for name, picture in pictures.items():
        draw = int(name.split("-")[1])
        begin = 2 if mode in ("pass", "samples") and draw >= 2 else 0
        column = np.full(SIZE, draw) if mode == "samples" else np.arange(SIZE)
        inside = column >= begin
        if name.endswith("depth"):
            expected = np.where(inside, np.minimum(column, draw) / 4, 0)
            assert np.abs(picture / 65535 - expected).max() < 1 / 65000, name
        elif name.endswith("stencil"):
            expected = np.where(inside, np.minimum(column, draw) - begin + 1, 0)
            assert (picture == expected).all(), name


def test_what_cannot_be_pictured_is_named(draws: Path, tmp_path: Path) -> None:
    _, said = played(draws / "subpasses.dtap", tmp_path / "subpasses")
    assert set(said) == {f"{name}: the render pass does not preserve it" for name in ("depth", "stencil")}
    pictures, said = played(draws / "query.dtap", tmp_path / "query")
    assert said == ["the render pass cannot be interrupted: Query is not over"]
    assert {int(name.split("-")[1]) for name in pictures} == {0, 2, 3}


def test_one_draw_of_one_submission(draws: Path, tmp_path: Path) -> None:
    """A draw that is recorded once runs whenever its command buffer is submitted."""
    trace = draws / "pass.dtap"
    every, _ = played(trace, tmp_path / "all")
    ran = sorted(name for name in every if not name.endswith(("depth", "stencil")))
    first, again = (name for name in ran if "-00002-" in name)
    call, submit = int(first.split("call")[1]), int(again[6:15])
    for at, name in ((f"calls:{call}", first), (f"calls:{call}@{submit}", again)):
        pictures, said = played(trace, tmp_path / at, "--snapshot-at", at)
        assert not said
        assert set(pictures) == {name, f"{name}-depth", f"{name}-stencil"}
        assert (pictures[name] == every[name]).all()
    _, said = played(trace, tmp_path / "none", "--snapshot-at", f"calls:{call}@1,{submit},{call - 1}")
    assert set(said) == {
        "call 1 does not submit it",
        "no command buffer that holds it was submitted",
        "vkCmdPushConstants draws nothing; snapshots are taken after draws",
    }


def test_a_parked_player_has_the_picture_of_any_draw(draws: Path, tmp_path: Path) -> None:
    """Forwards, back within a submission, and of an earlier one, which begins anew."""
    trace = draws / "pass.dtap"
    every, _ = played(trace, tmp_path)
    ran = sorted(name for name in every if not name.endswith(("depth", "stencil")))
    with warm.Warm(trace, environment=environment()) as player:
        for starts, number in ((1, 1), (1, 3), (1, 0), (1, 6), (1, 4), (2, 2)):
            name = ran[number]
            paths, why = player.attachments(Place(int(name[6:15]), int(name.split("call")[1])), tmp_path / "of")
            found = {name + path.stem.removeprefix("of"): path for path in paths}
            assert not why
            assert player.starts == starts
            for each in (name, f"{name}-depth", f"{name}-stencil"):
                assert (decode_attachment(found[each].read_bytes(), each) == every[each]).all(), each
        assert player.image(0, tmp_path / "none.png") == "nothing was shown before"


def test_image_takes_draws(draws: Path, tmp_path: Path) -> None:
    trace = draws / "pass.dtap"
    with open_trace(trace) as opened:
        rows = opened.sql("SELECT seq, submit_seq FROM executed WHERE kind = 'draw' ORDER BY number").fetchall()
    first, again = rows[2], rows[6]
    assert first[0] == again[0]
    # a draw; as a call submits it; a command behind it; a call that submits: the last draw
    for call, draw in ((first[0], 2), (f"{again[0]}@{again[1]}", 2), (rows[1][0] + 1, 1), (again[1], 3)):
        done = run_drawtap("image", trace, call, "-o", tmp_path / "draw.png", "--force", environment=environment())
        assert done.returncode == 0, done.stderr
        picture = decode_attachment((tmp_path / "draw.png").read_bytes(), "draw.png")
        assert picture.tolist() == [known("pass", draw).tolist()] * SIZE, call
    done = run_drawtap("image", trace, f"{again[0]}@{again[0]}", "-o", tmp_path / "none.png", environment=environment())
    assert (done.returncode, (tmp_path / "none.png").exists()) == (2, False)
    assert f"call {again[0]} does not submit draw {again[0]}" in done.stderr


def test_a_dispatch_has_what_it_stored(draws: Path, tmp_path: Path) -> None:
    trace = draws / "dispatch.dtap"
    arguments = ["--snapshots", tmp_path, "--snapshot-at", "draws", "--attachments", "color,buffers", "--verify"]
    done = run_drawtap("replay", trace, *arguments, "--json", environment=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["compared"] > 0
    assert not [finding for finding in found["findings"] if finding["what"] == "image"]
    for submit in {name.name[:15] for name in tmp_path.iterdir()}:
        for k in (1, 2):
            [words] = tmp_path.glob(f"{submit}-{k - 1:05}-*-storage0.0.bin")
            [image] = tmp_path.glob(f"{submit}-{k - 1:05}-*-storage0.2.png")
            assert np.frombuffer(words.read_bytes(), "<u4").tolist() == [i * k for i in range(SIZE)]
            assert (decode_attachment(image.read_bytes(), image.name) == (k, k, 0, 255)).all()
    assert len(list(tmp_path.iterdir())) == 8  # two dispatches, submitted twice


def test_words_without_a_meaning_for_vulkan(draws: Path, tmp_path: Path) -> None:
    for more, told in (
        (["--snapshot-at", "every"], "draw when they are submitted"),
        (["--attachments", "depth"], "--snapshot-at draws has the other attachments"),
    ):
        done = run_drawtap(
            "replay", draws / "pass.dtap", "--snapshots", tmp_path, *more, environment={**os.environ, **environment()}
        )
        assert done.returncode == 3
        assert told in done.stderr
