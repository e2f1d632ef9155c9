"""Questions about recordings of OpenVG in the form of Kyostila's thesis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import drawtap

# Figure 32 of the thesis, as it is printed.
FIGURE_32 = """
SELECT event.seq, event.name FROM trace
WHERE event.sensors.average_path_size < 16 AND
event.state.path.segment_count > 10;
"""


def test_detailed_paths_that_are_drawn_small(request: pytest.FixtureRequest, recorded: Callable[..., Path]) -> None:
    run, trace = request.getfixturevalue("drawtap"), recorded("detailed")
    answer = run("profile", trace, "--metrics", "vg:*", "--per", "draw")
    assert answer.code == 0, answer.out + answer.err
    with drawtap.open(trace) as opened:
        draws = [
            seq for (seq,) in opened.sql("SELECT seq FROM calls WHERE name = 'vgDrawPath' ORDER BY seq").fetchall()
        ]
        # Each frame draws a large rectangle, a large star, a small star and a small rectangle.
        assert len(draws) == 12
        assert opened.sql(FIGURE_32).fetchall() == [(seq, "vgDrawPath") for seq in draws[2::4]]
        sizes = opened.sql(
            "SELECT event.sensors.average_path_size, event.state.path.coordinate_count FROM trace"
        ).fetchall()
        assert [size for size, _ in sizes if size is not None and size > 0][:1] == [1600.0]
