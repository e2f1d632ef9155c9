"""Long contents are recorded byte by byte and stored once, whoever of tap and drainer finds their hash."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import drawtap

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

# Seed and changed byte of every upload of programs/contents.c.
UPLOADS = [*((1, byte) for byte in range(10)), (1, 9), (1, 9), (1, 3), (2, 0), (2, 0), (2, 0), (3, 0), (1, 0), (4, 0)]
LONG, PLACE, QUIET, NOISY = 1_300_000, 70_001, 4, 200_000


def _content(seed: int, byte: int) -> bytes:
    x = (np.arange(LONG, dtype=np.uint32) ^ np.uint32(seed << 24)) * np.uint32(0x9E3779B1)
    x = (x ^ x >> 15) * np.uint32(0x85EBCA77)
    made = (x ^ x >> 13).astype(np.uint8)
    if seed == QUIET:
        made[NOISY:] = 0
    made[PLACE] = byte
    return made.tobytes()


def test_contents_of_a_killed_program(programs: Bench, tmp_path: Path) -> None:
    """Contents that differ in one byte stay apart, equal ones are one, noise is as it was; the last one is there."""
    trace = programs.record(["contents"], tmp_path / "contents.dtap")
    with drawtap.open(trace) as recording:
        rows = recording.sql(
            'SELECT data_data AS data, data_blob AS hash FROM "glBufferSubData" ORDER BY seq'
        ).fetchall()
        stored = recording.sql("SELECT hash, bytes, stored_bytes FROM blobs").fetchall()
    assert [bytes(row[0]) == _content(*upload) for row, upload in zip(rows, UPLOADS, strict=True)] == [True] * 19
    names = {upload: row[1] for row, upload in zip(rows, UPLOADS, strict=True)}
    assert [row[1] for row in rows] == [names[upload] for upload in UPLOADS]
    assert len(set(names.values())) == len(names) == 13
    long = [row for row in stored if row[1] == LONG]
    assert sorted(row[0] for row in long) == sorted(names.values())
    # Noise is stored as it is: each content once, and not more of it than there is. What only begins with it is not.
    sizes = {row[0]: row[2] for row in long}
    assert sizes.pop(names[QUIET, 0]) < 2 * NOISY
    assert set(sizes.values()) == {LONG}
