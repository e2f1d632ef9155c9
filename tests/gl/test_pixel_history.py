"""Histories of a pixel, held against what the specification says of each draw of tests/gl/programs/pixel_history.c."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import drawtap
from drawtap.replay import player
from drawtap.replay.look import pixel_history
from drawtap.replay.warm import Warm
from shared import run_drawtap

if TYPE_CHECKING:
    from conftest import Bench

X, Y = 10, 12
CLEARED, RED, BLENDED, BLUE = [51, 102, 153, 255], [255, 0, 0, 255], [127, 128, 0, 191], [0, 0, 255, 255]
GREEN, BLACK = [0, 255, 0, 255], [0, 0, 0, 255]
Fate = tuple[str, list[str], str | None, list[int]]
#: What happens to the pixel: kind, what changes, the first test that fails, the colour behind it.
FRAME: list[Fate] = [
    ("clear", ["color", "depth", "stencil"], None, CLEARED),
    ("draw", ["color", "depth"], None, RED),
    ("draw", [], "depth", RED),
    ("draw", [], "culling", RED),
    ("draw", [], "scissor", RED),
    ("clear", [], "scissor", RED),
    ("draw", [], "discard", RED),
    ("draw", [], "stencil", RED),
    ("draw", [], None, RED),  # masked
    ("draw", [], None, RED),  # the same values
    ("draw", ["color"], None, BLENDED),
    ("draw", ["stencil"], None, BLENDED),
    ("draw", ["stencil"], "stencil", BLENDED),
    ("draw", ["color", "depth"], None, BLUE),
]
TEXTURE: list[Fate] = [
    ("clear", ["color"], None, RED),
    ("upload", ["color"], None, GREEN),
    ("draw", ["color"], None, BLUE),
]
COPIED: list[Fate] = [("clear", ["color"], None, BLACK), ("copy", ["color"], None, BLUE)]
PROFILES = {
    "es3": "pixel_history_es",
    "es2": "pixel_history_es",
    "core": "pixel_history_gl",
    "compat": "pixel_history_gl",
    "es1": "pixel_history_es1",
}


@pytest.fixture(scope="module")
def recorded(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    player.program()
    folder = tmp_path_factory.mktemp("pixel")
    return {p: programs.record([binary, p], folder / f"{p}.dtap") for p, binary in PROFILES.items()}


def _history(trace: drawtap.Trace, call: int, x: int = X, y: int = Y) -> list[dict[str, Any]]:
    with Warm(Path(trace.path), looks=True) as asked:
        found: Any = pixel_history(trace, call, x, y, asked.look)
    return found["events"]


def _fates(events: list[dict[str, Any]]) -> list[Fate]:
    return [(e["kind"], e["changed"], e["failed"], e["after"]["color"]) for e in events]


def _last(trace: drawtap.Trace, name: str, at: int = 0) -> int:
    asked = f"SELECT seq FROM calls WHERE name = '{name}' AND frame = 1 ORDER BY seq DESC"
    return trace.sql(asked).fetchall()[at][0]


@pytest.mark.parametrize("profile", ["es3", "es2", "core", "compat"])
def test_every_test_is_named_by_the_first_that_fails(recorded, profile):
    with drawtap.open(recorded[profile]) as trace:
        # The second draw from the end is to the window, the last one to the texture.
        events = _history(trace, _last(trace, "glDrawArrays", 1))
    assert _fates(events) == FRAME
    assert [e["outcome"] for e in events[8:10]] == ["masked", "same"]
    assert [e["before"]["color"] for e in events[1:]] == [e["after"]["color"] for e in events[:-1]]
    assert [e["after"]["stencil"] for e in events[10:]] == [[0], [1], [2], [2]]
    assert abs(events[1]["after"]["depth"][0] - 0.5) < 1e-6
    assert abs(events[-1]["after"]["depth"][0] - 0.125) < 1e-6


@pytest.mark.parametrize("profile", ["es3", "es2", "core", "compat"])
def test_uploads_and_copies_are_writers_too(recorded, profile):
    with drawtap.open(recorded[profile]) as trace:
        events = _history(trace, _last(trace, "glDrawArrays"))
        assert _fates(events) == TEXTURE
        assert trace.calls[events[1]["call"]].name == "glTexSubImage2D"
        if profile == "es2":
            return
        # The last blit is to another rectangle.
        events = _history(trace, _last(trace, "glBlitFramebuffer"))
        assert _fates(events) == FRAME + COPIED
        assert events[-1]["call"] == _last(trace, "glBlitFramebuffer", 1)


def test_without_queries_the_values_are_known_and_the_tests_say_why_not(recorded):
    with drawtap.open(recorded["es1"]) as trace:
        events = _history(trace, _last(trace, "glDrawArrays"))
    wrote = [(e["kind"], e["after"]["color"]) for e in events if "color" in e["changed"]]
    assert wrote == [("clear", CLEARED), ("draw", RED), ("draw", BLENDED), ("draw", BLUE)]
    assert all(e["tests"] or "OpenGL ES 1" in e["unknown"] for e in events)


def test_the_verb_prints_the_same(recorded):
    path = recorded["es3"]
    with drawtap.open(path) as trace:
        call = _last(trace, "glDrawArrays", 1)
        events = _history(trace, call)
    answer = run_drawtap("image", path, str(call), "--pixel", f"{X},{Y}", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["events"] == events
    text = run_drawtap("image", path, str(call), "--pixel", f"{X},{Y}").stdout
    assert "face culling" in text
    for pixel, code, words in (("3", 2, "is no pixel"), ("32,0", 3, "the image has 32 x 32 pixels")):
        wrong = run_drawtap("image", path, str(call), "--pixel", pixel)
        assert (wrong.returncode, words in wrong.stderr) == (code, True), wrong.stderr
    assert "where does the picture go" in run_drawtap("image", path, str(call)).stderr


def test_the_program_notices_nothing(recorded):
    """A picture behind a history is the picture without one."""
    for profile, path in recorded.items():
        with drawtap.open(path) as trace:
            call, end = _last(trace, "glDrawArrays", 1), trace.frames[1].end_seq - 2
            pictures = []
            for looks in (False, True):
                with Warm(path, looks=looks) as asked:
                    if looks:
                        asked.look(trace.frames[1].first_seq, call, {"find": "history", "x": X, "y": Y, "buffer": 0})
                    folder = path.parent / f"{profile}-{looks}"
                    files, _ = asked.attachments(end, folder)
                    pictures.append([file.read_bytes() for file in files])
                    pictures[-1].append(json.dumps(asked.state(end)).encode() if profile != "es1" else b"")
        assert pictures[0] == pictures[1], profile
