"""Copies and cuts of real recordings play: what a copy draws is what was recorded, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drawtap
from drawtap.replay import player
from drawtap.trace.core import Part, write
from shared import SOFTWARE

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

TABLES = ("frames", "contexts", "memory", "map_writes", "natives", "notes", "libraries", "blobs", "markers")
# Programs, and how many images and read-backs there are to compare: some of those of test_replay.py, which plays all.
PROGRAMS = {
    "es2_triangle": 22,
    "client_arrays_es2": 2,
    "client_arrays_gl1": 2,
    "es1_cube": 12,
    "readback": 10,
    "maps": 40,
    "pixels": 100,
    "shared_contexts": 8,
}


def _record(bench: Bench, name: str, trace: Path) -> Path:
    return bench.record([name], trace, "--hash-frames")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_copy_plays_as_recorded(programs: Bench, tmp_path: Path, name: str) -> None:
    player.program()
    with drawtap.open(_record(programs, name, tmp_path / "old.dtap")) as old:
        write([Part(old.core)], tmp_path / "new.dtap")
        with drawtap.open(tmp_path / "new.dtap") as new:
            assert list(new.text(flags=2 | 4 | 8)) == list(old.text(flags=2 | 4 | 8))
            for table in TABLES:
                assert new.table(table) == old.table(table), table
    replay = player.play(tmp_path / "new.dtap", ["--verify"], environment=SOFTWARE)
    assert replay.findings == ()
    assert replay.different == 0
    assert replay.compared >= PROGRAMS[name]
