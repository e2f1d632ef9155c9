"""Histories of a pixel, held against what the specification says of each command of fates.c and draws.c."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drawtap.errors import UnavailableError
from drawtap.replay.compare import decode_attachment
from drawtap.replay.look import pixel_history
from drawtap.replay.place import Place, place
from drawtap.replay.warm import Warm
from drawtap.trace.trace import Trace, open_trace
from drawtap.trace.vulkan_draw import DrawState
from drawtap.web.recording import Recording
from shared import run_drawtap
from vulkan.conftest import Cube, environment
from vulkan.test_snapshots import DRAWS, known

X, Y = 10, 12
CLEARED, RED, GREEN, YELLOW = [51, 102, 153, 255], [255, 0, 0, 255], [0, 255, 0, 255], [255, 255, 0, 255]
TEXEL, WHITE = [1, 2, 3, 4], [255, 255, 255, 255]
Fate = tuple[str, list[str], str | None, str, list[int]]
#: The fates of the pixel: kind, what changes, the first test that fails, the outcome, the colour behind it.
FATES: list[Fate] = [
    ("clear", ["color", "depth", "stencil"], None, "wrote", CLEARED),
    ("draw", ["color", "depth"], None, "wrote", RED),
    ("draw", [], "depth", "failed", RED),
    ("draw", [], "culling", "failed", RED),
    ("draw", [], "scissor", "failed", RED),
    ("draw", [], "discard", "failed", RED),
    ("draw", [], "coverage", "failed", RED),
    ("draw", [], "stencil", "failed", RED),
    ("draw", [], None, "masked", RED),
    ("draw", [], None, "same", RED),
    ("draw", ["color", "depth"], None, "wrote", GREEN),
    ("draw", ["stencil"], None, "wrote", GREEN),
    ("draw", ["stencil"], "stencil", "wrote", GREEN),
    ("clear", ["color"], None, "wrote", YELLOW),
    ("upload", ["color"], None, "wrote", TEXEL),
    ("copy", ["color"], None, "wrote", WHITE),
    ("draw", ["color", "depth"], None, "wrote", GREEN),
]


def _draws(trace: Trace) -> list[tuple[int, int]]:
    rows = trace.sql("SELECT seq, submit_seq FROM executed WHERE kind = 'draw' ORDER BY number").fetchall()
    return [(int(seq), int(submit)) for seq, submit in rows]


def _history(trace: Trace, at: Place | int, x: int = X, y: int = Y, buffer: int = 0) -> dict[str, Any]:
    with Warm(Path(trace.path), environment=environment(), looks=True) as asked:
        return dict(pixel_history(trace, at, x, y, asked.look, buffer=buffer))


def _fates(events: list[dict[str, Any]]) -> list[Fate]:
    return [(e["kind"], e["changed"], e["failed"], e["outcome"], e["after"]["color"]) for e in events]


@pytest.mark.parametrize("mode", ["pass", "rendering"])
def test_every_test_is_named_by_the_first_that_fails(mode: str, fates: Path) -> None:
    with open_trace(fates / f"{mode}.dtap") as trace:
        draw, submit = _draws(trace)[-1]
        first = _draws(trace)[0][1]
        found = _history(trace, Place(submit, draw))
    events = found["events"]
    assert first < submit
    assert _fates(events)[1:] == FATES[1:]
    assert (events[0]["kind"], events[0]["outcome"], events[0]["after"]["color"]) == ("clear", "wrote", CLEARED)
    assert found["format"] == "unorm8"
    assert found["now"]["color"] == GREEN
    if mode == "pass":  # a barrier has not brought the images into a layout: there is nothing before
        assert _fates(events)[0] == FATES[0]
        assert events[0]["before"] == {"color": None, "depth": None, "stencil": None}
    for part in ("color", "depth", "stencil"):
        assert [e["before"][part] for e in events[1:14]] == [e["after"][part] for e in events[:13]]
    depths = [1] + [0.5] * 9 + [0.375] * 4
    assert [e["after"]["depth"] for e in events[:14]] == [[depth] for depth in depths]
    assert [e["after"]["stencil"] for e in events[:14]] == [[0]] * 11 + [[1], [2], [2]]
    assert events[-1]["after"]["depth"] == [0.125]
    assert [e["submit"] for e in events] == [first] * (len(FATES) - 1) + [submit]
    assert (
        events[1]["tests"] == {"covers": 1, "depth": 1}
        if mode == "pass"
        else {"covers", "culling"} < {*events[1]["tests"]}
    )


def test_a_query_of_the_program_hides_tests_but_no_value(fates: Path) -> None:
    with open_trace(fates / "query.dtap") as trace:
        draw, submit = _draws(trace)[-1]
        events = _history(trace, Place(submit, draw))["events"]
        calls = [seq for seq, _ in _draws(trace)]
    unknown = [e for e in events if e["outcome"] == "unknown"]
    assert [e["call"] for e in unknown] == calls[9:11]
    assert all("Query of the program runs" in e["reason"] for e in unknown)
    [between] = [e for e in events if e["kind"] == "between"]
    assert (between["changed"], between["after"]["color"]) == (["color", "depth"], GREEN)
    assert (between["call"], between["until"]) == (calls[8], calls[11])
    others = [e for e in events if e["kind"] != "between" and e["outcome"] != "unknown"]
    assert _fates(others) == FATES[:9] + FATES[11:]


def test_a_draw_whose_shaders_store_is_not_performed_again(fates: Path) -> None:
    """The values are known, the tests of those draws are not; the shader that discards stores nothing."""
    with open_trace(fates / "stores.dtap") as trace:
        draw, submit = _draws(trace)[-1]
        events = _history(trace, Place(submit, draw))["events"]
    draws = [e for e in events if e["kind"] == "draw"]
    tested = [e for e in draws if e["tests"]]
    assert [(e["failed"], e["outcome"]) for e in tested] == [("discard", "failed"), (None, "wrote")]
    assert {e["unknown"] for e in draws if not e["tests"]} == {
        "its shaders write memory: drawn again, they would do so again"
    }
    values = [e["after"]["color"] for e in events if e["outcome"] == "wrote"]
    assert values == [fate[4] for fate in FATES if fate[3] == "wrote"]


def test_a_history_ends_at_the_chosen_draw(draws: Path) -> None:
    """Each submission of draws.c is a frame; it clears twice, and draw i covers the columns from i on."""
    with open_trace(draws / "pass.dtap") as trace:
        ran = _draws(trace)
        at = Place(ran[6][1], ran[6][0])  # of the second submission
        found = _history(trace, at, 2, 3)
        assert _history(trace, at, 1, 3)["now"]["color"] == [0, 0, 0, 0]
        with pytest.raises(UnavailableError, match="8 x 8 pixels"):
            _history(trace, at, 8, 3)
    colours = [known("pass", draw)[2].tolist() for draw in range(DRAWS)]
    drawn = [(e["call"], e["submit"], e["after"]["color"]) for e in found["events"] if e["kind"] == "draw"]
    assert drawn == [(*ran[4 + i], colours[i]) for i in range(3)]
    assert [e["after"]["color"] for e in found["events"] if e["kind"] == "clear"] == [[0, 0, 0, 0]] * 2


@pytest.mark.parametrize(("mode", "draw"), [("samples", 3), ("integers", 3), ("subpasses", 2), ("rendering", 3)])
def test_values_are_those_of_the_format(mode: str, draw: int, draws: Path) -> None:
    with open_trace(draws / f"{mode}.dtap") as trace:
        seq, submit = _draws(trace)[draw]
        found = _history(trace, Place(submit, seq), 3, 0)
    if mode == "integers":
        assert (found["format"], found["now"]["color"]) == ("uint", [3, 300, 7, 9])
        assert [e["kind"] for e in found["events"] if e["outcome"] == "wrote"][:2] == ["clear", "clear"]
        return
    assert found["now"]["color"] == known(mode, draw)[3].tolist()
    assert found["format"] == "unorm8"


def test_the_pixel_of_a_window_is_the_pixel_of_its_picture(cube: Cube, tmp_path: Path) -> None:
    with open_trace(cube.trace) as trace:
        draw, submit = _draws(trace)[3]
        where = Place(submit, draw)
        with Warm(cube.trace, environment=environment(), frame_end=trace.frame_end, looks=True) as player:
            paths, _ = player.attachments(where, tmp_path / "of")
            picture = decode_attachment(paths[0].read_bytes(), "picture")
            for x, y in ((150, 150), (3, 5)):
                found = pixel_history(trace, where, x, y, player.look)
                assert found["now"]["color"] == np.asarray(picture)[picture.shape[0] - 1 - y, x].tolist()
                assert [e["kind"] for e in found["events"]] == (["clear", "draw"] if x == 150 else ["clear"])
                assert {e["outcome"] for e in found["events"]} <= {"wrote", "same"}


def test_the_page_has_the_same(fates: Path) -> None:
    """The picture's pixels count from below."""
    path = fates / "pass.dtap"
    with open_trace(path) as trace:
        draw, submit = _draws(trace)[-1]
        events = _history(trace, Place(submit, draw))["events"]
    with contextlib.closing(Recording(path)) as seen:
        seen.environment = environment()
        answer = seen.looks.pixel(draw, "", X, Y)
        assert (answer["events"], answer["cut"]) == (events, False)
        assert seen.looks.pixel(submit, "depth", X, Y)["events"] == events


def test_the_verb_prints_the_same(fates: Path) -> None:
    path = fates / "pass.dtap"
    with open_trace(path) as trace:
        draw, submit = _draws(trace)[-1]
        assert place(trace, str(draw)) == Place(submit, draw)
        events = _history(trace, Place(submit, draw))["events"]
    answer = run_drawtap("image", path, f"{draw}@{submit}", "--pixel", f"{X},{Y}", "--json", environment=environment())
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["events"] == events
    text = run_drawtap("image", path, str(draw), "--pixel", f"{X},{Y}", environment=environment()).stdout
    assert "face culling" in text
    assert f"{draw}@{submit}" in text
    for call, pixel, code, words in (
        (draw, "3", 2, "is no pixel"),
        (draw, "16,0", 3, "the image has 16 x 16 pixels"),
        (0, "1,1", 3, "choose a draw"),
    ):
        wrong = run_drawtap("image", path, str(call), "--pixel", pixel, environment=environment())
        assert (wrong.returncode, words in wrong.stderr) == (code, True), wrong.stderr


@pytest.mark.parametrize("mode", ["pass", "rendering"])
def test_images_behind_a_history_are_those_without_one(mode: str, fates: Path, tmp_path: Path) -> None:
    """Colour, depth and stencil of all pixels, which the copied command buffer left."""
    with open_trace(fates / f"{mode}.dtap") as trace:
        draw, submit = _draws(trace)[-1]
        [color], deep = DrawState(trace, draw, submit).targets()
        assert color is not None
        assert deep is not None
        wanted = [
            {"class": "image", "name": of.image, "level": 0, "aspect": aspect, "block": [1, 1, size]}
            for of, aspect, size in ((color, 1, 4), (deep, 2, 4), (deep, 4, 1))
        ]
        held = []
        for looks in (False, True):
            with Warm(Path(trace.path), environment=environment(), looks=looks) as player:
                if looks:
                    pixel_history(trace, Place(submit, draw), X, Y, player.look)
                (tmp_path / str(looks)).mkdir()
                found = player.contents(submit, wanted, tmp_path / str(looks))
                assert player.starts == 1
                assert not any(said["why"] for _, said in found)
                held.append([file.read_bytes() for file, _ in found])
    assert held[0] == held[1]
    assert len(held[0][0]) == 16 * 16 * 4
