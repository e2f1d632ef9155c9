"""Every released version of the trace format stays readable: one recording of each is kept with what it says.

The files in tests/data were written by the release that introduced the version and are never written again.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import drawtap

DATA = Path(__file__).parent.parent / "data"
KEPT = sorted(DATA.glob("trace-v*.dtap"))


def test_there_is_a_file_of_each_version() -> None:
    header = (Path(__file__).parents[2] / "native" / "common" / "format.h").read_text()
    current = int(header.split("#define DT_FILE_VERSION ")[1].split("u")[0])
    kept = {int(path.name.split("-")[1][1:]) for path in KEPT}
    assert kept == set(range(1, current + 1))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_kept_file_reads_as_it_did(path: Path) -> None:
    with drawtap.open(path) as trace:
        assert trace.table("problems") == []
        assert "\n".join(trace.text(flags=1)) + "\n" == path.with_suffix(".txt").read_text()
        facts = json.loads(path.with_suffix(".json").read_text())
        assert {key: trace.info[key] for key in facts} == facts


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_kept_file_answers_in_sql(path: Path) -> None:
    with drawtap.open(path) as trace:
        facts = json.loads(path.with_suffix(".json").read_text())
        assert trace.sql("SELECT count(*) FROM calls").fetchall()[0][0] == facts["calls"]
        assert trace.sql("SELECT count(*) FROM frames").fetchall()[0][0] == facts["frames"]
