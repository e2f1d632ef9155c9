"""Programs that are slowed in one known way: `drawtap slower` and `verdict` name that way and no other.

The calls are those of programs on a driver. Their times are computed, as a driver that puts drawing off would take
them: no machine is too slow for these tests, and none too busy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drawtap
from drawtap.analysis import slower, spent
from drawtap.analysis.checklist import checklist
from drawtap.analysis.verdict import verdict
from drawtap.trace.trace import Trace
from shared import once

if TYPE_CHECKING:
    from conftest import Bench


@dataclass(frozen=True)
class Way:
    """A way to slow frames: the parts that pay, the work that explains it, the verdict, and pieces of work a frame."""

    parts: set[str]
    work: set[str]
    dominant: str
    kind: str
    pieces: int = 1


# make test has the same rules with frames that are made up (tests/unit/test_slower.py).
pytestmark = pytest.mark.exhaustive

RENDERED = {"render calls", "vertices", "triangles", "primitives"}
SET = {"state calls", "redundant calls"}
WAYS: Mapping[str, Way] = {
    "draws": Way({spent.DRAWN, spent.DRAWS}, RENDERED, "content", "drawn"),
    "draws-then-finish": Way({spent.DRAWN, spent.DRAWS}, RENDERED, "content", "drawn"),
    "shader": Way({spent.DRAWN}, set(), "content", "drawn"),
    "uploads": Way({spent.UPLOADS}, {"texture upload calls", "texel uploads", "texture data"}, "content", "uploads", 4),
    "mipmaps": Way({spent.COPIES, spent.DRAWN}, {"mipmaps and copies"}, "content", "copies"),
    "binds": Way({spent.BINDS}, {"binds", *SET}, "usage", "redundant", 100),
    "state": Way({spent.STATE}, SET, "usage", "state", 50),
    "processor": Way({spent.OUTSIDE}, set(), "other", "outside", 1),
    "vertices": Way({spent.VERTICES}, {"vertices", "triangles", "primitives"}, "usage", "vertices", 4),
    "readbacks": Way({spent.WAITS}, {"read-backs", "read back"}, "usage", "waiting", 3),
}

#: What calls take themselves, in ns. All others take CALL_NS.
OWN_NS = {"glTexSubImage2D": 1e6, "glGenerateMipmap": 1e6, "glReadPixels": 5e4, "glFinish": 1e3, "glDrawArrays": 2e3}
CALL_NS = 100.0
#: What a draw of the whole target leaves to do for each round of its shader's loop, and who waits for it.
DRAWN_NS = 3e4
WAITS = ("glReadPixels", "glFinish")
#: Between the calls of a frame, and where the program itself is what takes so long.
OUTSIDE_NS, PROGRAM_NS = 1e5, 5e6


def _computed(trace: Trace, way: str) -> slower.Readings:
    """Return what each call and each frame takes on a driver that draws when somebody waits for it."""
    rounds, waiting = (200 if way == "shader" else 1), 0.0
    calls: dict[int, float] = {}
    outside = PROGRAM_NS if way == "processor" else OUTSIDE_NS
    frames: dict[int, float] = {}
    for seq, frame, name in trace.sql("SELECT seq, frame, name FROM calls ORDER BY seq").fetchall():
        calls[seq] = OWN_NS.get(name, CALL_NS)
        if name in WAITS:
            calls[seq] += waiting
            waiting = 0.0
        elif name == "glDrawArrays":
            waiting += DRAWN_NS * rounds
        if frame is not None:
            frames[frame] = frames.get(frame, outside) + calls[seq]
    ended = [frame for (frame,) in trace.sql("SELECT frame FROM frames WHERE end_function IS NOT NULL").fetchall()]
    return slower.Readings({frame: frames[frame] for frame in ended}, calls, {}, {}, {})


@pytest.fixture(scope="module")
def recorded(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that records a way once."""

    def record(way: str) -> Path:
        pieces = str(WAYS[way].pieces) if way in WAYS else "1"

        def fill(folder: Path) -> Path:
            return programs.record(["slowed", way, "4", pieces], folder / f"{way}.dtap")

        return once(tmp_path_factory, f"slowed-{way}", fill)

    return record


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Trace, str], slower.Readings]:
    """Return a function that lets a verdict read computed times in place of recorded ones."""

    def give(trace: Trace, way: str) -> slower.Readings:
        readings = _computed(trace, way)
        monkeypatch.setattr(spent, "spent", lambda trace, _thread=None: spent.spent_of(trace, readings.calls))
        monkeypatch.setattr(spent, "recording", lambda _trace, _thread=None: {})
        monkeypatch.setattr("drawtap.analysis.verdict.frame_time", lambda row: readings.times[row["frame"]])
        return readings

    return give


@pytest.mark.parametrize("way", WAYS)
def test_the_known_way_is_the_one_that_is_named(
    recorded: Callable[[str], Path], computed: Callable[[Trace, str], slower.Readings], way: str
) -> None:
    known = WAYS[way]
    with drawtap.open(recorded("nothing")) as one, drawtap.open(recorded(way)) as other:
        sides = [slower.played(trace, name, _computed(trace, name)) for trace, name in ((one, "nothing"), (other, way))]
        found = slower.explain(*sides)
        computed(other, way)
        said = verdict(other, checklist(other))
    causes = [c for c in found.causes if not c.beside]
    assert {c.name for c in causes} <= known.work | {"binds", "state calls", "redundant calls", "render calls"}, causes
    assert all(c.b > c.a for c in causes)
    grown = sum(max(0.0, p.difference) for p in found.parts)
    assert all(c.ns <= grown * 1.0001 for c in causes)
    assert sum(p.share for p in found.parts) == pytest.approx(1)
    assert said.spent[known.kind] > 0
    assert len(found.slower) == 3, found.verdict  # all but the first, which loads
    heaviest = max(found.parts, key=lambda p: p.share)
    assert heaviest.name in known.parts, [(p.name, p.share) for p in found.parts]
    assert (causes[0].name in known.work) if known.work else not causes, causes
    assert ("the shaders differ" in " ".join(found.notes)) == (way == "shader")
    assert said.dominant == known.dominant, said.classes


def test_a_wait_for_drawing_is_not_the_fault_of_the_wait(
    recorded: Callable[[str], Path], computed: Callable[[Trace, str], slower.Readings]
) -> None:
    with drawtap.open(recorded("draws")) as trace:
        computed(trace, "draws")
        said = verdict(trace, checklist(trace))
        took = spent.spent(trace)
    assert took.functions[spent.DRAWN].keys() == {"glReadPixels"}
    assert said.spent["drawn"] > 0.5 * sum(said.spent.values())
    content = next(c for c in said.classes if c.name == "content")
    assert any("in calls that waited for it (glReadPixels)" in line for line in content.evidence)
