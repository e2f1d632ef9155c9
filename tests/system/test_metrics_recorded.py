"""The figures of the recordings in tests/data/kernel, through the command line."""

import json

import pytest

from drawtap.system import reader
from drawtap.system.metrics import metrics, series
from drawtap.system.model import build


def answer(drawtap, *arguments):
    result = drawtap("system", "metrics", *arguments, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_two_clients_of_the_drm_scheduler(drawtap, drm_sched_trace):
    data = answer(drawtap, drm_sched_trace)
    engines = {e["engine"]: e for e in data["engines"]}
    assert sum(e["jobs"] for e in data["engines"]) == 194
    assert engines["rcs0"]["utilisation_percent"] == pytest.approx(97.8, abs=0.05)
    assert engines["rcs0"]["mean_wait_ns"] == pytest.approx(143.8e6, abs=0.05e6)
    clients = {c["client"]: c for c in data["clients"] if c["engine"] == "rcs0"}
    assert clients["vgpu1-client (801)"]["utilisation_percent"] == pytest.approx(19.2, abs=0.05)
    assert clients["vgpu2-client (802)"]["utilisation_percent"] == pytest.approx(78.6, abs=0.05)
    assert clients["vgpu1-client (801)"]["mean_execution_ns"] == pytest.approx(9.9e6, abs=0.05e6)
    assert data["unmatched"] == []
    for engine in data["engines"]:
        assert engine["mean_latency_ns"] == pytest.approx(engine["mean_wait_ns"] + engine["mean_execution_ns"])
        p = engine["percentiles"]["latency_ns"]
        assert p["p50"] <= p["p90"] <= p["p95"] <= p["p99"] <= p["max"]


def test_machines_before_and_after_a_move(drawtap, kvm_traces):
    before, after = (next(vm for vm in answer(drawtap, trace)["vms"] if vm["vm"] == "VM-532") for trace in kvm_traces)
    assert before["run_ns"] == pytest.approx(1.65e9, abs=5e6)
    assert before["stolen_ns"] == pytest.approx(1.60e9, abs=5e6)
    assert before["preemptions"] == 198
    assert after["run_ns"] == pytest.approx(3.11e9, abs=5e6)
    assert after["stolen_ns"] == pytest.approx(0.11e9, abs=5e6)
    assert after["preemptions"] == 210
    assert (before["stolen_by"][0]["by"], before["stolen_by"][0]["preemptions"]) == ("VM-533", 176)
    assert (after["stolen_by"][0]["by"], after["stolen_by"][0]["preemptions"]) == ("VM-535", 141)
    # Who took it adds up to what was lost, but for CPUs that idled while the thread was on its way to another.
    assert sum(t["stolen_ns"] for t in before["stolen_by"]) == pytest.approx(before["stolen_ns"], rel=0.01)


def test_windows_add_up_to_the_whole(drm_sched_trace):
    with reader.open(drm_sched_trace) as trace, build(trace) as model:
        begin, end = model.window
        middle = (begin + end) // 2
        busy = [
            {(c["client"], c["engine"]): c["busy_ns"] or 0 for c in metrics(model, begin=a, end=b)["clients"]}
            for a, b in ((begin, end), (begin, middle), (middle, end))
        ]
        for client, whole in busy[0].items():
            assert whole == busy[1].get(client, 0) + busy[2].get(client, 0)
        parts = series(model, "clients", bins=77)
        width = -(-(end - begin) // 77)
        assert sum(p["busy"] for p in parts) * width == pytest.approx(sum(busy[0].values()))
        assert max(p["busy"] for p in parts) <= 1 + 1e-9


def test_every_request_is_drawn_on_its_way(drm_sched_trace):
    with reader.open(drm_sched_trace) as trace, build(trace) as model:
        assert model.scalar("SELECT count(*) FROM spans WHERE kind = 'execution'") == 194
        assert model.scalar("SELECT count(*) FROM links WHERE kind = 'waits for'") == 194
        # The arrows of a request lead from the end of one part to the begin of the next.
        assert model.scalar("SELECT count(*) FROM links WHERE kind = 'way' AND to_ns < from_ns") == 0
        running = (
            "SELECT value FROM state WHERE path = 'gpus/gpu/engines/rcs0/running' AND begin_ns <= ? AND end_ns > ?"
        )
        for t in range(model.window[0] + 60_000_000, model.window[1], 500_000_000):
            on = model.scalar(
                "SELECT count(*) FROM executions WHERE engine = 'rcs0' AND begin_ns <= ? AND end_ns > ?", [t, t]
            )
            assert int(str(model.scalar(running, [t, t]))) == on


def test_queues_of_a_recording_keep_to_littles_law(drm_sched_trace):
    # Not by the model: jobs are put together here from the events, and begin when their ring is free.
    with reader.open(drm_sched_trace) as trace, build(trace) as model:
        jobs: dict[int, list] = {}
        rows = model.query(
            "SELECT t, 0 AS step, fence, name FROM drm_sched_job UNION ALL SELECT t, 1, fence, name FROM drm_run_job "
            "UNION ALL SELECT t, 2, fence, NULL FROM drm_sched_process_job ORDER BY t, step"
        ).fetchall()
        ended, free = [], {}
        for t, step, fence, ring in rows:
            if step == 0:
                jobs[fence] = [ring, t, None]
            elif step == 1:
                jobs[fence][2] = t
            else:
                ring, queued, submitted = jobs.pop(fence)
                begin = max(submitted, free.get(ring, submitted))
                free[ring] = t
                ended.append((ring, queued, begin))
        assert len(ended) == 194
        assert not jobs
        first, last = model.window
        middle = (first + last) // 2
        for a, b in ((first, last), (first, middle), (middle, last)):
            for found in metrics(model, begin=a, end=b)["engines"]:
                waits = [max(0, min(e, b) - max(q, a)) for ring, q, e in ended if ring == found["engine"]]
                assert found["queue"]["mean"] == pytest.approx(sum(waits) / (b - a))
        for found in metrics(model)["engines"]:
            rate = found["jobs"] / (last - first)
            assert found["queue"]["mean"] == pytest.approx(rate * found["mean_wait_ns"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "soon"), "is no time"),
        (("--from", "2s", "--to", "1s"), "is empty"),
    ],
)
def test_windows_that_make_no_sense(drawtap, drm_sched_trace, arguments, message):
    result = drawtap("system", "metrics", drm_sched_trace, *arguments)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_usage_over_time(drawtap, drm_sched_trace):
    data = answer(drawtap, drm_sched_trace, "--from", "1", "--to", "2", "--every", "100ms")
    engine = [row for row in data["series"]["engines"] if row["engine"] == "rcs0"]
    assert len(engine) == 10
    assert all(row["busy"] == pytest.approx(1, abs=0.02) for row in engine)
    clients = [row["busy"] for row in data["series"]["clients"] if row["engine"] == "rcs0"]
    assert sum(clients) == pytest.approx(sum(row["busy"] for row in engine))
    assert "█" in drawtap("system", "metrics", drm_sched_trace).out
    assert drawtap("system", "metrics", drm_sched_trace, "--every", "0").code == 2


def test_text_for_people(drawtap, kvm_traces):
    out = drawtap("system", "metrics", kvm_traces[0]).out
    assert "Virtual machines" in out
    assert "1.60 s" in out
    assert "Displays" not in out  # nothing to show


def test_what_qemu_wrote(drawtap, qemu_log):
    data = answer(drawtap, qemu_log)
    assert data["engines"] == []
    assert any("no fences" in u["reason"] for u in data["unmatched"])
    query = "SELECT track, count(*) AS n FROM spans WHERE kind = 'mark' GROUP BY track ORDER BY n DESC, track LIMIT 2"
    found = json.loads(drawtap("sql", qemu_log, query, "--json").out)
    assert found == [{"track": "qemu/res_flush", "n": 458}, {"track": "qemu/res_xfer_toh_2d", "n": 458}]
