"""Questions about recordings of OpenVG in the form of Kyostila's thesis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import drawtap
from drawtap.commands.textures import textures
from shared import read_packed_png

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


def test_images_are_saved_as_files(recorded: Callable[..., Path], tmp_path: Path) -> None:
    recording, out = recorded("images"), tmp_path / "out"
    with drawtap.open(recording) as trace:
        rows = list(textures(trace, output=out).objects())
    assert len(rows) == 4
    assert {row["source"] for row in rows} == {"read back"}
    assert not any(row["note"] for row in rows)
    red, green, blue, magenta = (255, 0, 0, 255), (0, 255, 0, 255), (0, 0, 255, 255), (255, 0, 255, 255)
    names = [str(row["files"]) for row in rows]
    whole, grey, packed, child = (read_packed_png(out / name).tolist() for name in names)
    assert whole == [[list(blue), list(magenta)], [list(red), list(green)]]  # the top row first
    assert grey == [[[v, v, v, 255] for v in row] for row in ((30, 40), (10, 20))]
    assert packed == [[list(blue), [255] * 4], [list(red), list(green)]]
    assert child == [[list(magenta)], [list(green)]]
    with drawtap.open(recording) as trace:
        (cleared,) = trace.sql('SELECT seq FROM "vgClearImage"').fetchall()
        assert len(list(textures(trace, output=tmp_path / "before", at=str(cleared[0] - 1)).objects())) == 4
    assert read_packed_png(tmp_path / "before" / names[0])[0, 1].tolist() == [255, 255, 255, 128]
