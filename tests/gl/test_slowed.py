"""Programs that are slowed in one known way: `drawtap slower` and `verdict` name that way and no other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drawtap
from drawtap.analysis import slower, spent
from drawtap.analysis.checklist import checklist
from drawtap.analysis.verdict import verdict

if TYPE_CHECKING:
    from conftest import Bench

# What frames were slowed by: the part that it is paid in, work that explains it, and the class and kind of the verdict.
RENDERED = {"render calls", "vertices", "triangles", "primitives"}
SET = {"state calls", "redundant calls"}
WAYS: Mapping[str, tuple[set[str], set[str], str, str]] = {
    "draws": ({spent.DRAWN, spent.DRAWS}, RENDERED, "content", "drawn"),
    "draws-then-finish": ({spent.DRAWN, spent.DRAWS}, RENDERED, "content", "drawn"),
    "shader": ({spent.DRAWN}, set(), "content", "drawn"),
    "uploads": ({spent.UPLOADS}, {"texture upload calls", "texel uploads", "texture data"}, "content", "uploads"),
    "mipmaps": ({spent.COPIES, spent.DRAWN}, {"mipmaps and copies"}, "content", "copies"),
    "binds": ({spent.BINDS}, {"binds", *SET}, "usage", "redundant"),
    "state": ({spent.STATE}, SET, "usage", "state"),
    "processor": ({spent.OUTSIDE}, set(), "other", "outside"),
    "vertices": ({spent.VERTICES}, {"vertices", "triangles", "primitives"}, "usage", "vertices"),
    "readbacks": ({spent.WAITS}, {"read-backs", "read back"}, "usage", "waiting"),
}


# A busy machine takes time from a program, and it is this time that is judged here. make test has the same rules with
# times that are given (tests/unit/test_slower.py).
pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module", autouse=True)
def _undisturbed() -> Iterator[None]:
    """Let the programs run before what else runs here, where we may: time that another takes is outside of the API."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    if os.geteuid() == 0:
        os.setpriority(os.PRIO_PROCESS, 0, -19)
    yield
    if os.geteuid() == 0:
        os.setpriority(os.PRIO_PROCESS, 0, before)


@pytest.fixture(scope="module")
def programs(programs: Bench) -> Bench:
    """Return the programs without a cache of shaders: times are compared, and one may find what another left."""
    return replace(programs, caches=False)


@pytest.fixture(scope="module")
def plain(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return programs.record(["slowed", "nothing", "4"], tmp_path_factory.mktemp("slowed") / "nothing.dtap")


@pytest.mark.parametrize("way", WAYS)
def test_the_known_way_is_the_one_that_is_named(programs: Bench, plain: Path, tmp_path: Path, way: str) -> None:
    parts, work, dominant, kind = WAYS[way]
    path = programs.record(["slowed", way, "4"], tmp_path / "slow.dtap")
    with drawtap.open(plain) as one, drawtap.open(path) as other:
        found = slower.explain(slower.recorded(one), slower.recorded(other))
        said = verdict(other, checklist(other))
    # Whatever else the machine does: only work that grew is a cause, and no cause gets more than parts that grew.
    causes = [c for c in found.causes if not c.beside]
    assert {c.name for c in causes} <= work | {"binds", "state calls", "redundant calls", "render calls"}, causes
    assert all(c.b > c.a for c in causes)
    grown = sum(max(0.0, p.difference) for p in found.parts)
    assert all(c.ns <= grown * 1.0001 for c in causes)
    assert sum(p.share for p in found.parts) == pytest.approx(1 if found.slower else 0)
    assert said.spent[kind] > 0
    assert len(found.slower) >= 2, found.verdict  # of three: the machine may hold up a frame of the plain program
    heaviest = max(found.parts, key=lambda p: p.share)
    assert heaviest.name in parts, [(p.name, p.share) for p in found.parts]
    assert (causes[0].name in work) if work else not causes, causes
    assert ("the shaders differ" in " ".join(found.notes)) == (way == "shader")
    assert said.dominant == dominant, said.classes


def test_a_wait_for_drawing_is_not_the_fault_of_the_wait(programs: Bench, tmp_path: Path) -> None:
    path = programs.record(["slowed", "draws", "4"], tmp_path / "draws.dtap")
    with drawtap.open(path) as trace:
        said = verdict(trace, checklist(trace))
        took = spent.spent(trace)
    assert took.functions[spent.DRAWN].keys() == {"glReadPixels"}
    assert said.spent["drawn"] > 0.5 * sum(said.spent.values())
    content = next(c for c in said.classes if c.name == "content")
    assert any("in calls that waited for it (glReadPixels)" in line for line in content.evidence)
