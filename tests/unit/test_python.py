"""Python as people are used to it: names that Tab finds, answers that print, hand-overs to other libraries."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import drawtap
from drawtap import verbs
from drawtap.errors import UsageError
from drawtap.trace.trace import Trace

RECORDING = Path(__file__).parents[1] / "data" / "trace-v1-es2_triangle.dtap"
QUERY = "SELECT seq, name FROM calls ORDER BY seq"


@pytest.fixture
def trace() -> Iterator[Trace]:
    with drawtap.open(RECORDING) as opened:
        yield opened


def test_tab_finds_the_api():
    assert {"open", "record", "edit", "image", "Trace", "DrawtapError", "verbs"} <= set(dir(drawtap))
    assert "TYPE_CHECKING" not in dir(drawtap)
    for name in drawtap.__all__:
        assert getattr(drawtap, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        drawtap.opne  # noqa: B018


def test_an_answer_prints_as_a_table_and_can_still_be_read(trace):
    answer = trace.sql("SELECT name, count(*), sum(count) AS n FROM glDrawArrays JOIN calls USING (seq) GROUP BY name")
    assert repr(answer).splitlines() == ["name          count(*)   n", "glDrawArrays        10  30"]
    assert answer.columns == ("name", "count(*)", "n")
    assert answer.fetchall() == [("glDrawArrays", 10, 30)]
    long = trace.sql(QUERY)
    assert len(str(long).splitlines()) == 22 and str(long).endswith("...")
    assert "<td>eglInitialize</td>" in long._repr_html_()
    assert [row[0] for row in long] == list(range(101))
    assert str(trace.sql("SELECT 1 AS one WHERE false")) == "one\n(no rows)"
    assert "&lt;b&gt;" in trace.sql("SELECT '<b>' AS text")._repr_html_()


def test_nothing_is_lost_between_looking_and_taking(trace):
    answer = trace.sql(QUERY)
    assert answer.fetchone() == (0, "eglGetDisplay")
    repr(answer)
    assert list(answer.numpy()["seq"]) == list(range(1, 101))
    looked = trace.sql(QUERY)
    repr(looked)
    assert list(looked.numpy()["seq"]) == list(range(101))


def test_answers_go_to_other_libraries(trace, monkeypatch):
    frame = trace.sql("SELECT name, count(*) FROM calls GROUP BY name").df()
    assert list(frame.columns) == ["name", "count(*)"] and frame["count(*)"].sum() == 101
    taken = []
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(from_arrow=lambda table: taken.append(table) or "made"))
    assert trace.sql(QUERY).pl() == "made"
    assert taken[0].__arrow_c_stream__() is not None
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(drawtap.DrawtapError, match=r"polars is not installed here \(pip install polars\)"):
        trace.sql(QUERY).pl()


def test_times_count_from_the_beginning_as_on_the_command_line(trace, drawtap):
    import json

    shown = json.loads(drawtap("frames", RECORDING, "--json").out)
    first = trace.info["t_first"]
    assert [frame.start for frame in trace.frames] == [row["t_start"] - first for row in shown]
    assert trace.calls[7].start == trace.calls[7].t_start - first


def test_traces_and_frames_show_themselves(trace):
    assert "<th>calls</th><td>101</td>" in trace._repr_html_()
    frame = trace.frames[1]
    assert repr(frame).startswith("<Frame 1: calls 40 to 45, start 60.")
    assert "<caption>Frame 1</caption>" in frame._repr_html_()
    assert repr(trace.frames) == f"<10 frames of {RECORDING}>"


@pytest.mark.parametrize("name", ["game.dtap", "symbolic.dtap", "hard.csv"])
def test_nothing_writes_over_a_recording_that_is_open(tmp_path, name):
    game, target = tmp_path / "game.dtap", tmp_path / name
    shutil.copyfile(RECORDING, game)
    (tmp_path / "symbolic.dtap").symlink_to(game)
    (tmp_path / "hard.csv").hardlink_to(game)
    with drawtap.open(game) as trace:
        writes = [
            lambda: verbs.report(trace, output=target, force=True),
            lambda: verbs.export(trace, format="apitrace", output=target, force=True),
            lambda: verbs.extract(trace, frames="1", output=target, force=True),
            lambda: trace.sql(f"COPY (SELECT seq FROM calls) TO '{target}'"),
            lambda: trace.sql(f"COPY calls TO '{target}' (FORMAT csv)"),
            *([lambda: trace.sql(f"SELECT seq INTO '{target}' FROM calls")] if target.suffix == ".dtap" else []),
        ]
        for write in writes:
            with pytest.raises(UsageError, match="the recording itself is not replaced") as refused:
                write()
            assert refused.value.hint == f"name another file than {target}"
    assert game.read_bytes() == RECORDING.read_bytes()
    with drawtap.open(RECORDING) as other:  # what is closed may be replaced
        assert verbs.extract(other, frames="1", output=game, force=True)
    assert game.read_bytes() != RECORDING.read_bytes()
