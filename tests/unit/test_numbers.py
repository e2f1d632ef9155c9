"""Every number of a report and of a checklist is what SQL counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import drawtap
from drawtap.output.recording_page import ReportOptions, collected
from drawtap.output.report import Report
from drawtap.output.text import duration, number, size
from drawtap.trace.trace import Trace
from writer import Writer

RECORDING = Path(__file__).parents[1] / "data" / "trace-v1-es2_triangle.dtap"
SHOWN = "frame IN (SELECT frame FROM frames WHERE end_function IS NOT NULL)"
FRAMES = "SELECT count(*) FROM frames WHERE end_function IS NOT NULL"
RATE = "SELECT 1e9 * count(*) / {} FROM frames WHERE end_function IS NOT NULL"


@pytest.fixture(scope="module")
def trace() -> Iterator[Trace]:
    with drawtap.open(RECORDING) as opened:
        yield opened


@pytest.fixture(scope="module")
def report(trace: Trace) -> Report:
    return collected(trace, ReportOptions(pictures=0))


def _one(trace: Trace, query: str):
    [[value]] = trace.sql(query).fetchall()
    return value


def _asked(query: str, text: Callable[[float], str] = number) -> Callable[[Trace], str]:
    return lambda trace: text(_one(trace, query))


def _per_frame(query: str) -> Callable[[Trace], str]:
    return lambda trace: number(round(_one(trace, query) / _one(trace, FRAMES)))


CALLS = _asked("SELECT count(*) FROM calls")
LENGTH = _asked("SELECT max(t_end) - min(t_start) FROM calls", duration)
FILE: Callable[[Trace], str] = lambda trace: size(trace.path.stat().st_size)  # noqa: E731
TILES = {
    "frames": _asked(FRAMES),
    "frames a second": _asked(RATE.format("sum(interval_of)").replace(
        "FROM frames", "FROM (SELECT *, coalesce(interval, duration) AS interval_of FROM frames)"), "{:.1f}".format),
    "calls": CALLS,
    "calls a frame": _per_frame("SELECT count(*) FROM calls"),
    "duration": LENGTH,
    "content in arrays": _asked("SELECT sum(payload_bytes) FROM calls", size),
    "recording": FILE,
}  # fmt: skip
OVERVIEW = {
    "trace file size": FILE,
    "duration": LENGTH,
    "calls": CALLS,
    "frames": _asked(FRAMES),
    "frames / second": _asked(RATE.format("(max(t_end) - min(t_start))"), "{:.2f}".format),
    "render calls": _asked(f"SELECT count(*) FROM draws WHERE kind = 'draw' AND {SHOWN}"),
    "triangles / frame": _per_frame(f"SELECT sum(primitives) FROM draws WHERE mode = 'GL_TRIANGLES' AND {SHOWN}"),
    "texture data": _asked("SELECT coalesce(sum(texture_bytes), 0) FROM content", size),
    "surfaces": _asked("SELECT DISTINCT width || ' x ' || height FROM draws WHERE framebuffer = 0", str),
}
# Totals over the frames, counted without the table that the report reads; None: only from that table.
TOTALS = {
    "calls": f"SELECT count(*) FROM calls WHERE {SHOWN}",
    "render calls": f"SELECT count(*) FROM draws WHERE kind = 'draw' AND {SHOWN}",
    "clears": f"SELECT count(*) FROM draws WHERE kind = 'clear' AND {SHOWN}",
    "uniform calls": f"SELECT count(*) FROM calls WHERE starts_with(name, 'glUniform') AND {SHOWN}",
    "buffer data": f"SELECT sum(data_bytes) FROM glBufferData WHERE {SHOWN}",
    "primitives": f"SELECT sum(primitives) FROM draws WHERE kind = 'draw' AND {SHOWN}",
    "vertices": f"SELECT sum(vertices * instances) FROM draws WHERE kind = 'draw' AND {SHOWN}",
    "read-backs": f"SELECT count(*) FROM glReadPixels WHERE {SHOWN}",
    "shader compiles": f"SELECT count(*) FROM glCompileShader WHERE {SHOWN}",
    "program links": f"SELECT count(*) FROM glLinkProgram WHERE {SHOWN}",
    "context switches": f"SELECT count(*) FROM eglMakeCurrent WHERE draw <> 0 AND {SHOWN}",
    "time inside the API": f"SELECT sum(duration) FROM calls WHERE {SHOWN}",
    "frame duration": "SELECT sum(duration) FROM frames WHERE end_function IS NOT NULL",
}


def test_tiles_and_overview(trace: Trace, report: Report) -> None:
    assert {name: text for text, name in report.tiles} == {name: ask(trace) for name, ask in TILES.items()}
    assert dict(report.overview) == {name: ask(trace) for name, ask in OVERVIEW.items()}


def test_frames_functions_and_slow_calls(trace: Trace, report: Report) -> None:
    frames = trace.sql("SELECT frame, calls, upload_bytes FROM frames WHERE end_function IS NOT NULL ORDER BY frame")
    assert [(f.number, f.calls, f.upload_bytes) for f in report.frames] == frames.fetchall()
    counted = trace.sql(f"SELECT frame, count(*) FROM calls WHERE {SHOWN} GROUP BY frame ORDER BY frame")
    assert [(f.number, f.calls) for f in report.frames] == counted.fetchall()
    functions = trace.sql("SELECT name, count(*), max(duration), sum(duration)::BIGINT FROM calls GROUP BY name")
    known = {name: rest for name, *rest in functions.fetchall()}
    assert {f["name"] for f in report.functions} == set(known)
    for f in report.functions:
        # Durations of calls are rounded to ns one by one, sums of them once.
        count, longest, total = known[f["name"]]
        assert [f["calls"], f["max_ns"], f["total_ns"]] == [count, longest, pytest.approx(total, abs=count)]
    assert all(f["mean_ns"] == pytest.approx(f["total_ns"] / f["calls"], rel=1e-3) for f in report.functions)
    slow = trace.sql("SELECT seq, frame, thread, duration FROM calls ORDER BY duration DESC LIMIT 25").fetchall()
    assert [(c.seq, c.frame, c.thread, c.duration_ns) for c in report.slowest] == slow
    assert sum(report.rates) == trace.sql("SELECT count(*) FROM frames WHERE interval > 0").fetchall()[0][0]


def test_statistics_and_plots(trace: Trace, report: Report) -> None:
    from drawtap.analysis import content

    columns = {title: name for name, (title, _) in content.SERIES.items()}
    for row in report.statistics:
        if row.title in TOTALS:
            rounding = 100 if row.unit == "ns" else 0
            assert row.total == pytest.approx(_one(trace, TOTALS[row.title]), abs=rounding, rel=0), row.title
        query = "SELECT sum({0}), min({0}), avg({0}), max({0}) FROM frames JOIN content USING (frame)"
        source = "frames." if columns[row.title] in {"calls", "draws", "duration", "interval"} else ""
        [values] = trace.sql(query.format(source + columns[row.title])).fetchall()
        assert (row.total, row.minimum, row.mean, row.maximum) == pytest.approx(tuple(map(float, values))), row.title
        assert sum(row.bins) in {len(report.frames), len(report.frames) - 1}, row.title
    assert {row.title for row in report.statistics} >= set(TOTALS)
    totals = {plot.title: sum(v or 0 for _, _, values in plot.series for v in values) for plot in report.plots}
    assert totals["Calls"] == _one(trace, TOTALS["calls"])
    assert totals["Render calls"] == _one(trace, TOTALS["render calls"])
    assert totals["Uploads over time"] == _one(trace, TOTALS["buffer data"])
    assert totals["Time inside the API"] == pytest.approx(_one(trace, TOTALS["time inside the API"]), abs=100)


def test_small_tables(trace: Trace, report: Report) -> None:
    tables = {table.title: table for table in (*report.tables, *report.redundancy)}
    assert tables["Threads"].rows[0][-1] == number(_one(trace, "SELECT count(*) FROM calls WHERE thread = 0"))
    nothing = "SELECT count(*) FROM redundancy r JOIN calls c USING (seq)"
    assert sum(int(row[1]) for row in tables["by function"].rows) == _one(trace, nothing)
    for name, calls, share, time, _ in tables["by function"].rows:
        mine = f"{nothing} WHERE c.name = '{name}'"
        assert calls == number(_one(trace, mine))
        assert share == f"{100 * _one(trace, mine) / _one(trace, 'SELECT count(*) FROM calls'):.1f} %"
        assert time == duration(_one(trace, mine.replace("count(*)", "sum(c.duration)::BIGINT")))


@pytest.fixture(scope="module")
def wasteful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 frames; in each the same state is set twice and a list of triangles is drawn without indices."""
    w = Writer()
    t = w.thread(context=1)
    now = 1_000_000
    for _ in range(40):
        for _ in range(2):
            t.call("glClear", mask=16640, start=now, duration=500)
            t.call("glEnable", cap=3042, start=now + 1000, duration=100)
        t.call("glDrawElements", mode=4, count=30, type=5123, indices=0, start=now + 2000, duration=900)
        t.call("eglSwapBuffers", dpy=1, surface=2, result=1, start=now + 3000, duration=5000)
        now += 1_000_000
    t.flush()
    return w.write(tmp_path_factory.mktemp("wasteful") / "wasteful.dtap")


def test_findings_count_calls_and_frames(drawtap, wasteful: Path) -> None:
    rules = {rule["rule"]: rule for rule in json.loads(drawtap("checklist", wasteful, "--json").out)["rules"]}
    redundant = rules["redundant-calls"]
    query = ("SELECT count(*) AS calls, count(DISTINCT frame) AS frames, sum(duration)::BIGINT AS ns"
             " FROM redundancy JOIN calls USING (seq) WHERE kind = 'same value' AND frame > 0")  # fmt: skip
    [row] = json.loads(drawtap("sql", wasteful, query, "--json").out)
    assert {name: redundant[name] for name in row} == row
    assert row["frames"] > 30
    text = drawtap("checklist", wasteful, "--rule", "redundant-calls").out
    assert f"{row['calls']} calls in {row['frames']} frames" in text
    unlimited = rules["unlimited-frames"]
    assert unlimited["calls"] == 0 and unlimited["frames"] == 39
    assert "39 frames\n" in drawtap("checklist", wasteful, "--rule", "unlimited-frames").out
