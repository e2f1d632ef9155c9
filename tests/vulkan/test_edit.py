"""Recordings of Vulkan with changes: they draw what the specification says of the calls that are left."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from drawtap.replay.compare import decode_attachment
from drawtap.trace.trace import open_trace
from shared import run_drawtap
from vulkan.conftest import environment
from vulkan.test_snapshots import SIZE, known


def edited(source: Path, to: Path, *how: str) -> str:
    """Edit and play both; return what was said. Nothing may be broken, or go wrong where it is played."""
    done = run_drawtap("edit", source, "-o", to, "--force", "--check", *how, environment=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing goes wrong" in done.stdout
    return done.stdout


def picture(trace: Path, folder: Path, draw: int) -> list[list[list[int]]]:
    """Return the pixels that a draw leaves where it runs first, by row."""
    done = run_drawtap("image", trace, str(draw), "-o", folder / "p.png", environment=environment())
    assert done.returncode == 0, done.stderr
    rows: list[list[list[int]]] = decode_attachment((folder / "p.png").read_bytes(), "the draw").tolist()
    return rows


def drawn(trace: Path) -> list[int]:
    """Return the draws in the order in which they run first."""
    with open_trace(trace) as opened:
        query = "SELECT seq FROM executed WHERE kind = 'draw' GROUP BY seq ORDER BY min(number)"
        return [int(seq) for (seq,) in opened.sql(query).fetchall()]


@pytest.mark.parametrize("mode", ["rendering", "pass"])
def test_without_its_last_draw_the_others_are_there(mode: str, draws: Path, tmp_path: Path) -> None:
    source, less = draws / f"{mode}.dtap", tmp_path / "less.dtap"
    edited(source, less, "--drop", str(drawn(source)[3]))
    left = drawn(less)
    assert len(left) == 3
    assert picture(less, tmp_path, left[2]) == [known(mode, 2).tolist()] * SIZE


def test_a_query_goes_with_its_end(draws: Path, tmp_path: Path) -> None:
    source, less = draws / "query.dtap", tmp_path / "less.dtap"
    edited(source, less, "--drop", "vkCmdBeginQuery", "--drop", "vkCmdEndQuery")
    assert picture(less, tmp_path, drawn(less)[3]) == [known("query", 3).tolist()] * SIZE
    done = run_drawtap("edit", source, "-o", less, "--force", "--drop", "vkCmdEndQuery")
    assert done.returncode == 1
    assert re.search(r"call \d+ vkEndCommandBuffer: query 0 of VkQueryPool 0x[0-9a-f]+ is not ended", done.stdout)
