"""Kernel traces in the page: rows, figures and contention as the other verbs have them; rows beside a recording."""

from __future__ import annotations

import lzma
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from drawtap.errors import UsageError
from drawtap.system.model import build
from drawtap.system.reader import open as open_kernel
from drawtap.trace.library import Cancelled
from drawtap.trace.trace import open_trace
from drawtap.web.frames import Frames
from drawtap.web.recorded_tracks import RecordedTracks
from kernel_events import MemoryTrace
from shared import BROWSER
from web.conftest import Server
from web.test_time import read, rows_of

DATA = Path(__file__).parents[1] / "data"
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def drm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace.dat with two clients of the DRM scheduler."""
    path = tmp_path_factory.mktemp("kernel") / "drm.dat"
    path.write_bytes(lzma.decompress((DATA / "kernel" / "drm-sched-6.1.dat.xz").read_bytes()))
    return path


@pytest.fixture(scope="module")
def kernel(drm: Path) -> Iterator[Server]:
    """Serve it, and wait for its rows."""
    running = Server(drm)
    while running.get("timeline")["more"]:
        pass
    yield running
    assert running.close() == 0


def test_rows_are_those_of_the_table_of_spans(kernel, drm):
    rows = rows_of(kernel)
    length = kernel.get("timeline")["length"]
    with open_kernel(drm) as trace, build(trace) as model:
        for label, track in (("rcs0", "%rcs0"), ("rcs0 queue", "%rcs0/queue"), ("CPU 0", None)):
            where = f"track LIKE '{track}'" if track else "track LIKE 'thread/%' AND kind = 'running' AND cpu = 0"
            (busy,) = model.query(f"SELECT sum(end_ns - begin_ns)::BIGINT FROM spans WHERE {where}").fetchone()
            area = kernel.get(f"area?ids={rows[label]['id']}&t0=0&t1={length}")
            names = model.scalar(f"SELECT count(DISTINCT name || kind) FROM spans WHERE {where}")
            if names < 12:
                assert sum(row[4] for row in area["rows"]) == busy
            answer = kernel.ask(f"/api/0/tracks?ids={rows[label]['id']}&t0=0&t1={length}&px=32")
            assert read(answer.body)[0]["tracks"][0]["parts"]
        assert {row["label"] for row in rows.values() if row["shape"] == "counter"} >= {
            name for (name,) in model.query("SELECT DISTINCT track FROM counters").fetchall()
        }


def test_figures_and_contention_are_those_of_the_verbs(kernel, drm):
    length = kernel.get("timeline")["length"]
    found = kernel.get(f"contention?t0=0&t1={length}")["findings"]
    said = subprocess.run(
        [sys.executable, "-m", "drawtap", "system", "diagnose", "--json", str(drm)], capture_output=True, check=False
    )
    for finding in found:
        assert finding["culprit"].encode() in said.stdout
    assert len(found) == 2
    tables = {t["title"]: t for t in kernel.get(f"figures?t0=0&t1={length}")["tables"]}
    assert [row[1][1] for row in tables["Engines"]["rows"]] == ["bcs0", "rcs0"]
    assert kernel.get(f"events?t0=0&t1={length}")["more"]
    for path in ("frames", "calls?seqs=1", "state/1", "figures?t0=5&t1=5"):
        assert kernel.ask(f"/api/0/{path}").status == 400


def test_the_steps_of_a_request(kernel):
    rows = rows_of(kernel)
    (key, *_rest) = kernel.get(f"beside/{rows['rcs0']['id']}?at=0")["span"]
    way = kernel.get(f"way/{key}")
    labels = {row["id"]: label for label, row in rows.items()}
    assert {labels[step[0]] for step in way} >= {"rcs0", "rcs0 queue"}
    assert [step[2] for step in way] == sorted(step[2] for step in way)


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(1300, "light"), (900, "dark")])
def test_the_page_of_a_kernel_trace_by_keys(opened, kernel, width, scheme):
    page = opened("", kernel, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.wait("d.timeline.graph.kept.size > 3")
    page.reads("Who keeps whom waiting")
    page.page.evaluate(
        "(() => { const g = drawtap.timeline.graph; g.focus = g.rows.find((r) => r.label === 'rcs0').id; })()"
    )
    # No owner has a colour of the legend.
    page.wait("d.timeline.graph.painter.hues.size > 1 && d.timeline.graph.legend().length > 1")
    page.wait(
        "(() => { const g = d.timeline.graph, of = new Set(g.painter.hues.values());"
        " return g.legend().every(([, colour]) => !of.has(colour)); })()"
    )
    page.press(".")
    page.wait("d.timeline.graph.way.length > 1")
    page.reads("Way of the request")
    page.tour(
        figures=("2", "Engines"),
        lengths=("3", "ended in this time"),
        events=("4", "the first"),
        sql=("5", "DuckDB's dialect"),
        notes=("6", "Bookmarks"),
        time=("z", "Sums of what is in view"),
        contention=("1", "rcs0"),
    )
    assert page.toured_all()
    assert page.fits()


def test_a_kernel_trace_of_the_same_time_stands_below_the_calls():
    path = DATA / "trace-v1-es2_triangle.dtap"
    with open_trace(path) as trace:
        calls = trace.sql("SELECT seq, t_start, duration FROM calls ORDER BY seq").fetchall()
        (tid,) = {t["tid"] for t in trace.table("threads")}
        _, begin, length = calls[37]  # glDrawArrays

        def switch(t: int, before: int, after: int) -> tuple:
            fields = {"prev_pid": before, "prev_comm": "x", "prev_state": 0, "next_pid": after, "next_comm": "x"}
            return (t, "sched_switch", 0, before, "x", fields)

        job = {"entity": 1, "fence": 4097, "name": "gfx", "id": 1}
        rows = [
            switch(calls[0][1] - 10, 0, tid),
            (begin + 10, "drm_sched_job", 0, tid, "x", job),
            (begin + 20, "drm_run_job", 0, 9, "x", job),
            (begin + length + 50, "drm_sched_process_job", 0, 0, "irq", {"fence": 4097}),
            switch(calls[-1][1] + 10, tid, 0),
        ]

        @contextmanager
        def lent():
            yield trace

        seen = RecordedTracks(trace, lent, Frames(trace))
        try:
            seen.add_kernel(MemoryTrace(rows))
            labels = [track.label for track in seen.tracks.tracks]
            (arrow,) = [a for a in seen.tracks.arrowed(0, seen.tracks.length) if a[4] == "submits"]
            assert labels[arrow[0]].startswith("calls of")
            assert labels[arrow[2]] in ("gfx", "gfx queue")
            assert (arrow[1], arrow[5]) == (begin + 10 - seen.tracks.zero, 37)
            other = MemoryTrace(rows)
            other.path, other.clock.name, other.clock.monotonic = Path("k.dat"), "local", False
            with pytest.raises(UsageError, match="counts the clock"):
                seen.add_kernel(other)
        finally:
            seen.close()


def test_lengths_count_each_request_once(kernel, drm):
    length = kernel.get("timeline")["length"]
    rows = kernel.get(f"lengths?t0=0&t1={length}")["rows"]
    with open_kernel(drm) as trace, build(trace) as model:
        for measure in ("wait", "execution", "latency"):
            counted = sum(sum(row["n"]) for row in rows if row["measure"] == measure)
            lengths = f"SELECT {measure}_ns, client FROM requests WHERE {measure}_ns IS NOT NULL"
            assert counted == model.scalar(f"SELECT count(*) FROM ({lengths})") > 0
            for client, least in model.query(
                f"SELECT client, min({measure}_ns) FROM ({lengths}) GROUP BY ALL"
            ).fetchall():
                steps = [row["step"][0] for row in rows if (row["measure"], row["client"]) == (measure, client)]
                assert 2 ** (min(steps) / 4) <= max(least, 1) < 2 ** ((min(steps) + 1) / 4)


def test_usage_by_client_is_that_of_metrics(kernel, drm):
    from drawtap.system.metrics import metrics

    length = kernel.get("timeline")["length"]
    found = kernel.get(f"usage?t0=0&t1={length}")
    with open_kernel(drm) as trace, build(trace) as model:
        clients = metrics(model)["clients"]
        window = model.window[1] - model.window[0]
    shares = {name: sum(shares) * found["width"] / window for name, shares in found["series"]}
    assert shares
    assert {f"{row['client']} · {row['engine']}" for row in clients} == set(shares)
    for row in clients:
        expected = row["utilisation_percent"] / 100
        assert shares[f"{row['client']} · {row['engine']}"] == pytest.approx(expected, rel=0.01)


def test_questions_stop_by_name_and_others_go_on(drm):
    from drawtap.web.kernel import KernelView

    view, found = KernelView(drm), []
    name = 'a "name"'
    begun = threading.Event()

    def ask() -> None:
        with view.named(name):
            begun.set()
            try:
                view.model.query(
                    "SELECT count(*) FROM range(1000000) a, range(100000) b WHERE a.range < b.range"
                ).fetchall()
            except Cancelled:
                found.append("stopped")

    try:
        assert view.model.query("SELECT 1").fetchall() == [(1,)]
        assert view.stop(name) is False
        asking = threading.Thread(target=ask)
        asking.start()
        assert begun.wait(60)
        assert view.stop(name) is True
        asking.join()
        assert found == ["stopped"]
        assert view.model.query("SELECT 2").fetchall() == [(2,)]
    finally:
        view.close()
