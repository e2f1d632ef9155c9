"""API calls joined with what the kernel saw of the same time.

The calls are a stored recording; the kernel's events are made around them, so that every link is known.
"""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from drawtap.errors import InputError, UsageError
from drawtap.system.correlate import correlate, draw
from drawtap.system.model import build
from drawtap.trace.trace import open_trace
from kernel_events import MemoryTrace

API = Path(__file__).parent.parent / "data" / "trace-v1-es2_triangle.dtap"
TID = 6404  # of the recording
HELPER, WORKER, OTHER = 6410, 6411, 9999


@pytest.fixture(scope="module")
def calls():
    with open_trace(API) as api:
        rows = api.sql("SELECT seq, name, t_start, duration, frame FROM calls ORDER BY seq").fetchall()
    return {seq: (name, t, t + (d or 0), frame) for seq, name, t, d, frame in rows}


def joined(rows, **more):
    model = build(MemoryTrace(rows, **more))
    with open_trace(API) as api:
        found = correlate(api, model)
    return model, found


def switch(t, prev, next_, *, state=0, cpu=0):
    fields = {
        "prev_pid": prev,
        "prev_comm": f"t{prev}",
        "prev_state": state,
        "next_pid": next_,
        "next_comm": f"t{next_}",
    }
    return (t, "sched_switch", cpu, prev, f"t{prev}", fields)


def waking(t, by, who):
    return (t, "sched_waking", 0, by, f"t{by}", {"pid": who, "comm": f"t{who}", "target_cpu": 1})


def job(t, event, tid, number):
    return (t, event, 0, tid, "x", {"entity": 1, "fence": 4096 + number, "name": "gfx", "id": number})


def around(calls):
    return [switch(calls[0][1] - 1000, 0, TID), switch(calls[100][2] + 1000, TID, 0, state=1)]


def test_time_of_a_call_is_split_exactly(calls):
    name, begin, end, _ = calls[10]  # glCompileShader, 4.7 ms
    assert name == "glCompileShader"
    rows = [
        switch(calls[0][1] - 1000, 0, TID),
        switch(begin + 100_000, TID, OTHER, state=0),  # preempted
        switch(begin + 300_000, OTHER, TID, state=1),
        switch(begin + 1_000_000, TID, 0, state=1),  # blocks
        waking(begin + 1_500_000, OTHER, TID),
        switch(begin + 1_700_000, 0, TID),
        switch(calls[100][2] + 1000, TID, 0, state=1),
    ]
    model, found = joined(rows)
    (one,) = model.rows("SELECT * FROM api_calls WHERE seq = 10")
    assert (one["preempted_ns"], one["blocked_ns"], one["waking_ns"]) == (200_000, 500_000, 200_000)
    assert one["running_ns"] == end - begin - 900_000
    # Of every call the parts add up to its length.
    assert (
        model.scalar(
            "SELECT count(*) FROM api_calls WHERE t_end - t_start <> running_ns + preempted_ns + blocked_ns + waking_ns"
        )
        == 0
    )
    assert found.calls == found.covered == 101


def test_a_request_asked_for_inside_a_call(calls):
    _, begin, end, frame = calls[37]  # glDrawArrays
    rows = [
        *around(calls),
        job(begin + 1000, "drm_sched_job", TID, 1),
        job(begin + 2000, "drm_run_job", OTHER, 1),
        (end - 10, "drm_sched_process_job", 0, 0, "irq", {"fence": 4097}),
        job(end + 20, "drm_sched_job", TID, 2),  # between two calls: nobody's
        job(end + 10, "drm_sched_job", OTHER, 3),  # another thread
    ]
    model, _ = joined(rows)
    links = model.rows("SELECT * FROM links WHERE from_kind = 'call' AND to_kind = 'request'")
    assert [(x["from_id"], x["tier"], x["kind"]) for x in links] == [(37, 2, "submits")]
    (asked,) = model.rows("SELECT frame, requests, longest_wait_ns FROM api_frames WHERE requests > 0")
    assert asked == {"frame": frame, "requests": 1, "longest_wait_ns": 1000}


def test_the_draws_of_the_frame_whose_request_waited_longest(calls):
    rows = around(calls)
    for number, seq in enumerate((37, 43, 49), 1):  # the draws of frames 0, 1, 2
        _, begin, end, _ = calls[seq]
        rows += [
            job(begin + 10, "drm_sched_job", TID, number),
            job(begin + 10 + 100 * number, "drm_run_job", OTHER, number),
            (end + 200 * number, "drm_sched_process_job", 0, 0, "irq", {"fence": 4096 + number}),
        ]
    model, _ = joined(rows)
    question = """
        SELECT c.seq, c.name FROM api_calls c
        WHERE c.name LIKE 'glDraw%' AND c.frame = (
          SELECT arg_max(a.frame, r.wait_ns) FROM links l
          JOIN api_calls a ON a.seq = l.from_id JOIN requests r ON r.id = l.to_id
          WHERE l.from_kind = 'call' AND l.kind = 'submits') """
    longest = model.query("SELECT arg_max(frame, longest_wait_ns) FROM api_frames").fetchall()[0][0]
    assert model.query(question).fetchall() == [({0: 37, 1: 43, 2: 49}[longest], "glDrawArrays")]


def helped(calls, *, delay=5000):
    _, begin, end, _ = calls[37]
    return [
        *around(calls),
        switch(calls[0][1] - 900, HELPER, 0, state=1, cpu=1),  # sleeps
        waking(begin + 1000, TID, HELPER),
        switch(begin + 2000, 0, HELPER, cpu=1),
        job(begin + 1000 + delay, "drm_sched_job", HELPER, 1),
        job(begin + 3000 + delay, "drm_run_job", OTHER, 1),
        (begin + 9000 + delay, "drm_sched_process_job", 0, 0, "irq", {"fence": 4097}),
        switch(end + 200_000_000, HELPER, 0, state=1, cpu=1),
    ]


def test_a_helper_thread_that_the_call_woke(calls):
    model, found = joined(helped(calls))
    (link,) = model.rows("SELECT * FROM links WHERE from_kind = 'call' AND to_kind = 'request'")
    assert (link["from_id"], link["tier"], link["kind"]) == (37, 3, "submits")
    assert link["confidence"] == pytest.approx(0.5, abs=0.001)  # nothing says that it is the same process
    assert found.links == {(2, "wakes"): 1, (3, "sets off"): 1, (3, "submits"): 1}
    (span,) = model.rows("SELECT s.tid, s.kind FROM links l JOIN spans s ON s.id = l.to_id WHERE l.kind = 'sets off'")
    assert span == {"tid": HELPER, "kind": "running"}


def test_a_helper_of_the_same_process_is_surer(calls):
    model, _ = joined(helped(calls), pids={HELPER: TID, TID: TID})
    found = model.query("SELECT kind, confidence FROM links WHERE tier = 3 ORDER BY kind").fetchall()
    assert found == [("sets off", 0.8), ("submits", 0.8)]


def test_the_longer_ago_the_less_sure_and_then_not_at_all(calls):
    late = joined(helped(calls, delay=50_000_000))[0]
    assert late.scalar("SELECT confidence FROM links WHERE tier = 3 AND kind = 'submits'") == pytest.approx(
        0.25, abs=0.001
    )
    never = joined(helped(calls, delay=150_000_000))[0]
    assert never.scalar("SELECT count(*) FROM links WHERE tier = 3 AND kind = 'submits'") == 0


def test_a_thread_of_another_process_is_no_helper(calls):
    _model, found = joined(helped(calls), pids={HELPER: 1, TID: 6404})
    assert (3, "submits") not in found.links
    assert (2, "wakes") in found.links  # that is still what happened


def test_a_fence_that_the_kernel_names(calls):
    _, begin, end, _ = calls[56]  # glFinish
    _, draw, _, _ = calls[49]
    fence = {"driver": "drm_sched", "timeline": "gfx", "seqno": 5}
    rows = [
        *around(calls),
        (draw + 10, "dma_fence_init", 0, TID, "x", {**fence, "context": 7}),
        (draw + 11, "dma_fence_init", 0, TID, "x", {**fence, "context": 8}),
        job(draw + 12, "drm_sched_job", TID, 1),
        job(draw + 20, "drm_run_job", OTHER, 1),
        (begin + 100, "dma_fence_wait_start", 0, TID, "x", {**fence, "context": 8}),
        (end - 100, "drm_sched_process_job", 0, 0, "irq", {"fence": 4097}),
        (end - 50, "dma_fence_wait_end", 0, TID, "x", {**fence, "context": 8}),
    ]
    model, found = joined(rows)
    assert found.links == {(1, "waits for"): 1, (2, "submits"): 1}
    chain = model.query(
        "SELECT s.from_id, w.to_id FROM links s JOIN links w ON w.from_kind = 'request' AND w.from_id = s.to_id "
        "AND w.to_kind = 'call' WHERE s.kind = 'submits'"
    ).fetchall()
    assert chain == [(49, 56)]  # the draw that glFinish waited for


def test_threads_that_the_kernel_did_not_see(calls):
    rows = [switch(calls[0][1], 0, OTHER), switch(calls[100][2], OTHER, 0, state=1)]
    model, found = joined(rows)
    assert found.covered == 0
    assert any("system-wide" in note for note in found.notes)
    assert model.scalar("SELECT count(running_ns) FROM api_calls") == 0


def test_another_time(calls):
    with pytest.raises(UsageError, match="no time in common"):
        joined([switch(5, 0, TID), switch(10, TID, 0)])


def test_another_clock(calls):
    trace = MemoryTrace(around(calls))
    trace.clock.monotonic = False
    trace.clock.name = "local"
    with open_trace(API) as api, pytest.raises(InputError, match="CLOCK_MONOTONIC"):
        correlate(api, build(trace))


def test_a_kernel_trace_of_another_machine(drawtap, drm_sched_trace):
    result = drawtap("system", "correlate", API, drm_sched_trace)
    assert result.code == 2
    assert "no time in common" in result.err
    assert drawtap("system", "correlate", "none.dtap", drm_sched_trace).code == 4


@pytest.fixture
def kernel(calls, tmp_path):
    """Return a folder of CTF in which call 50 is preempted."""
    from drawtap.system.ctf_writer import Columns, write_ctf

    rows = sorted(
        [
            (calls[0][1] - 1000, 0, 0, 0, TID),
            (calls[50][1], TID, TID, 0, OTHER),
            (calls[51][1], OTHER, OTHER, 1, TID),
            (calls[100][2] + 1, TID, TID, 1, 0),
        ]
    )
    fields = (("prev_tid", "s32"), ("prev_state", "s64"), ("next_tid", "s32"))
    write_ctf(tmp_path / "kernel", [Columns.from_rows("sched_switch", fields, rows)])
    return tmp_path / "kernel"


def test_the_command(drawtap, calls, kernel, tmp_path):
    keep = tmp_path / "both.duckdb"
    result = drawtap("system", "correlate", API, kernel, "--keep", keep, "--json")
    assert result.code == 0, result.err
    data = json.loads(result.out)
    assert data["covered"] == data["calls"] == 101
    assert data["functions"][0]["name"] == "glReadPixels"  # 50, which was preempted
    assert keep.exists()
    query = "SELECT seq, preempted_ns FROM api_calls WHERE preempted_ns > 0"
    found = json.loads(drawtap("system", "correlate", API, kernel, query, "--json").out)
    assert found == [{"seq": 50, "preempted_ns": calls[50][2] - calls[50][1]}]
    assert drawtap("system", "correlate", API, kernel, "--keep", keep).code == 2


def test_frames_and_calls_are_spans(calls):
    model, _ = joined(helped(calls))
    before = model.scalar("SELECT count(*) FROM spans")
    draw(model)
    rows = model.query(
        f"SELECT name, begin_ns, end_ns FROM spans WHERE track = 'api/{TID}/calls' ORDER BY begin_ns, id"
    ).fetchall()
    assert [name for name, _, _ in rows] == [name for name, *_ in calls.values()]
    assert all(abs(e - calls[seq][2]) <= 10 and b == calls[seq][1] for seq, (_, b, e) in enumerate(rows))
    assert all(e <= b for (_, _, e), (_, b, _) in pairwise(rows))
    frames = model.scalar("SELECT count(*) FROM spans WHERE kind = 'frame'")
    assert frames == model.scalar("SELECT count(*) FROM api_frames") > 2
    assert model.scalar("SELECT count(DISTINCT id) FROM spans") == before + len(calls) + frames
    # The call leads to the first of the request that its helper asked for.
    query = """
        SELECT a.name, a.begin_ns, b.request, l.tier FROM links l JOIN spans a ON a.id = l.from_id
        JOIN spans b ON b.id = l.to_id WHERE l.from_kind = 'span' AND l.kind = 'submits' """
    assert model.query(query).fetchall() == [("glDrawArrays", calls[37][1], 0, 3)]


def test_one_page_and_one_timeline_of_both(drawtap, calls, kernel, tmp_path):
    page, timeline = tmp_path / "both.html", tmp_path / "both.json"
    assert drawtap("report", kernel, "--calls", API, "-o", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert "API calls" in text
    assert "frames" in text
    assert drawtap("export", kernel, "--calls", API, "-o", timeline).code == 0
    drawn = json.loads(timeline.read_text(encoding="utf-8"))["traceEvents"]
    assert sum(e["name"] == "glDrawArrays" for e in drawn) == sum(name == "glDrawArrays" for name, *_ in calls.values())
    # There is no counter in this trace.
    assert drawtap("export", kernel, "-o", tmp_path / "k.pftrace").code == 0
    assert drawtap("report", kernel, "--calls", "none.dtap", "-o", tmp_path / "no.html").code == 4
    assert not (tmp_path / "no.html").exists()
