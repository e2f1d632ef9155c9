"""Requests that did not end, whose end was not recorded, or that the trace cuts off; and queues by Little's law."""

from __future__ import annotations

import pytest

from drawtap.system.metrics import metrics
from drawtap.system.model import build
from drawtap.system.rule import findings
from kernel_events import MemoryTrace

MS = 1_000_000
APP, OTHER = 100, 7


def model_of(*rows):
    return build(MemoryTrace(rows))


def drm(t, event, fence, *, entity=1, number=1, tid=APP):
    return (t, event, 0, tid, f"app{tid}", {"entity": entity, "fence": fence, "name": "gfx", "id": number})


def off(t, fence):
    return (t, "drm_sched_process_job", 0, 0, "irq", {"fence": fence})


def amd(t, event, seqno, *, context=12, ring="18446620000000000000"):
    fields = {"context": context, "seqno": seqno, "timeline": "gfx", "ring": ring}
    return (t, event, 0, APP, "game", fields)


def signal(t, seqno, context=12):
    return (t, "dma_fence_signaled", 0, 0, "irq", {"driver": "drm_sched", "timeline": "gfx", "context": context,
                                                  "seqno": seqno})  # fmt: skip


def i915(t, stage, seqno, *, ctx=11, **more):
    fields = {"dev": 0, "ctx": ctx, "class": 0, "instance": 0, "seqno": seqno, **more}
    return (t, f"i915_request_{stage}", 0, APP, "app", fields)


def engine(model, **window):
    (found,) = metrics(model, **window)["engines"]
    return found


class TestUnrecordedEnds:
    def test_fences_of_a_context_end_in_order(self):
        # 100 jobs of 1 ms, one every 10 ms, each 2 ms in the queue; every seventh end is lost, some with their start.
        rows = []
        for n in range(100):
            t = n * 10 * MS
            rows.append(amd(t, "amdgpu_cs_ioctl", n + 1))
            if n % 14 != 3:
                rows.append(amd(t + 2 * MS, "amdgpu_sched_run_job", n + 1))
            if n % 7 != 3:
                rows.append(signal(t + 3 * MS, n + 1))
        model = model_of(*rows)
        gfx = engine(model)
        a, b = model.window
        law = model.scalar(
            "SELECT sum(begin_ns - queued_ns) / ? FROM requests WHERE begin_ns IS NOT NULL", [float(b - a)]
        )
        assert gfx["queue"]["mean"] == pytest.approx(law)
        assert gfx["queue"]["max"] == 1
        assert model.scalar("SELECT count(*) FROM requests WHERE is_open") == 0
        lost = model.rows("SELECT queued_ns, ended_by_ns, execution_ns FROM requests WHERE end_ns IS NULL ORDER BY id")
        assert len(lost) == 14
        assert {r["ended_by_ns"] - r["queued_ns"] for r in lost} == {13 * MS}
        assert {r["execution_ns"] for r in lost} == {None}
        assert [(r["count"], "later one ended" in r["reason"]) for r in gfx["unmatched"]] == [(14, True)]

    def test_jobs_without_fence_numbers_end_in_the_order_of_their_entity(self):
        model = model_of(
            drm(0, "drm_sched_job", 16, number=1),
            drm(5, "drm_sched_job", 32, number=2),
            drm(6, "drm_run_job", 32, number=2),
            off(20, 32),
            drm(30, "drm_sched_job", 48, number=3),
        )
        found = model.query("SELECT ended_by_ns, is_open FROM requests ORDER BY id").fetchall()
        assert found == [(20, False), (None, False), (None, True)]
        assert model.scalar("SELECT arg_max(value, t_ns) FROM counters WHERE track = 'gpu/gfx/queue length'") == 1

    def test_preempted_work_is_not_off_because_another_ended(self):
        model = model_of(
            i915(0, "add", 1),
            i915(1, "in", 1, port=0),
            i915(2, "add", 1, ctx=12),
            i915(3, "out", 1, completed=0),
            i915(3, "in", 1, ctx=12, port=0),
            i915(9, "out", 1, ctx=12, completed=1),
            i915(50, "add", 2, ctx=12),
        )
        assert model.query("SELECT is_open, ended_by_ns FROM requests ORDER BY id").fetchall() == [
            (True, None),
            (False, None),
            (True, None),
        ]
        assert engine(model)["busy_ns"] == 2 + 6


def hang():
    """Return a GPU that does ten jobs of 1 ms in the first 20 ms, then hangs until 1 s with two that wait."""
    rows = []
    for n in range(10):
        rows += [
            drm(n * 2 * MS, "drm_sched_job", 16 * n, number=n),
            drm(n * 2 * MS, "drm_run_job", 16 * n, number=n),
            off(n * 2 * MS + MS, 16 * n),
        ]
    for k, tid in ((0, APP), (1, 200), (2, 200)):
        at = 20 * MS + k * MS
        rows += [drm(at, "drm_sched_job", 1000 + k, number=20 + k, entity=tid, tid=tid)]
        rows += [drm(at, "drm_run_job", 1000 + k, number=20 + k, entity=tid, tid=OTHER)]
    return [*rows, (1000 * MS, "sched_waking", 0, 1, "x", {"comm": "x", "pid": 1, "target_cpu": 0})]


def noise(t):
    return (t, "sched_waking", 0, 1, "x", {"comm": "x", "pid": 1, "target_cpu": 0})


class TestCutOff:
    def test_a_hang_is_busy_drawn_and_the_first_finding(self):
        model = model_of(*hang())
        gfx = engine(model)
        assert gfx["utilisation_percent"] == pytest.approx(99.0)
        assert gfx["queue"]["max"] == 2
        (open_,) = model.rows("SELECT * FROM spans WHERE kind = 'execution' AND is_open")
        assert (open_["begin_ns"], open_["end_ns"]) == (20 * MS, 1000 * MS)
        assert model.scalar("SELECT count(*) FROM spans WHERE kind = 'ring' AND is_open") == 2
        assert model.scalar("SELECT execution_ns FROM requests WHERE is_open AND begin_ns IS NOT NULL") is None
        first = findings(model)[0]
        assert first.rule == "hung-engine"
        assert (first.culprit, first.cost_ns) == ("app100 (100)", 980 * MS)
        assert "2 others wait" in first.what

    def test_the_end_of_a_recording_is_no_hang(self):
        rows = [r for r in hang() if r[0] < 21 * MS]
        model = model_of(*rows, (21 * MS, "sched_waking", 0, 1, "x", {"comm": "x", "pid": 1, "target_cpu": 0}))
        assert engine(model)["busy_ns"] == 11 * MS
        assert [f for f in findings(model) if f.rule == "hung-engine"] == []

    def test_an_engine_that_was_reset_and_went_on_does_not_hang(self):
        model = model_of(
            *[r for r in hang() if r[0] < 1000 * MS],
            *(off(500 * MS, 1001), off(501 * MS, 1002)),
            (1000 * MS, "sched_waking", 0, 1, "x", {"comm": "x", "pid": 1, "target_cpu": 0}),
        )
        assert [f for f in findings(model) if f.rule == "hung-engine"] == []
        assert model.scalar("SELECT count(*) FROM requests WHERE is_open") == 0

    def test_work_at_the_begin_and_the_end_counts_with_the_part_inside(self):
        # One job is on the engine from before 0 to 30, one from 40 to 60, one from 80 on.
        rows = [
            (0, "sched_waking", 0, 1, "x", {"comm": "x", "pid": 1, "target_cpu": 0}),
            off(30, 7),
            drm(35, "drm_sched_job", 16, number=2),
            drm(40, "drm_run_job", 16, number=2),
            off(60, 16),
            drm(80, "drm_sched_job", 32, number=3),
            drm(80, "drm_run_job", 32, number=3),
            (100, "sched_waking", 0, 1, "x", {"comm": "x", "pid": 1, "target_cpu": 0}),
        ]
        model = model_of(*rows)
        assert engine(model)["utilisation_percent"] == 70
        assert model.query("SELECT begin_ns, end_ns, is_open FROM executions ORDER BY 1").fetchall() == [
            (0, 30, True),
            (40, 60, False),
            (80, 100, True),
        ]
        assert model.query("SELECT begin_ns, wait_ns, execution_ns FROM requests ORDER BY id").fetchall() == [
            (None, None, None),
            (40, 5, 20),
            (80, 0, None),
        ]

    def test_an_end_in_the_middle_whose_start_was_lost_is_not_from_the_begin(self):
        model = model_of(
            i915(0, "add", 1),
            i915(5, "in", 1, port=0),
            i915(10, "out", 1, completed=1),
            i915(50, "out", 2, completed=1),
            i915(100, "add", 3),
        )
        assert engine(model)["busy_ns"] == 5

    def test_a_preempted_request_counts_from_the_begin_to_its_preemption(self):
        model = model_of(
            (0, "sched_waking", 0, 1, "x", {"comm": "x", "pid": 1, "target_cpu": 0}),
            i915(10, "out", 1, completed=0),
            i915(20, "in", 1, port=0),
            i915(25, "out", 1, completed=1),
            i915(50, "add", 2),
        )
        assert engine(model)["busy_ns"] == 15
        assert model.query("SELECT begin_ns, end_ns, execution_ns FROM requests ORDER BY id").fetchall()[0] == (
            None,
            25,
            None,
        )

    def test_without_any_end_nothing_is_said_to_run(self):
        model = model_of(drm(0, "drm_sched_job", 16), drm(1, "drm_run_job", 16), drm(90, "drm_sched_job", 32))
        assert model.scalar("SELECT count(*) FROM executions") == 0

    @pytest.mark.parametrize(
        ("others", "described"),
        [
            ([], []),  # nobody knows whether ends were recorded, but the hardware gets no more
            ([], ["drm_sched_process_job"]),  # one of the recorded events
            ([(5 * MS, "sdma0", 90), (6 * MS, None, 90)], []),  # of another engine one ended
        ],
    )
    @pytest.mark.parametrize("waiting", [0, 2])
    def test_a_hang_of_the_first_job_is_the_first_finding(self, others, described, waiting):
        rows = [noise(0), noise(1000 * MS)]
        for n in range(1 + waiting):
            rows.append(drm((10 + n) * MS, "drm_sched_job", 16 + n, number=n))
        rows.append(drm(20 * MS, "drm_run_job", 16, tid=OTHER))
        for t, ring, fence in others:
            if ring:
                job = {"entity": 9, "fence": fence, "name": ring, "id": 1}
                rows += [(t, "drm_sched_job", 0, 5, "copy", job), (t, "drm_run_job", 0, OTHER, "w", job)]
            else:
                rows.append(off(t, fence))
        model = build(MemoryTrace(rows, described={e: {"fence": "UBIGINT"} for e in described}))
        (gfx,) = [e for e in metrics(model)["engines"] if e["engine"] == "gfx"]
        assert (gfx["utilisation_percent"], gfx["ended"]) == (pytest.approx(98.0), 0)
        drawn = model.query("SELECT begin_ns, end_ns, is_open FROM spans WHERE track = 'gpu/gfx'").fetchall()
        assert drawn == [(20 * MS, 1000 * MS, True)]
        first = findings(model)[0]
        assert (first.rule, first.culprit, first.victim, first.cost_ns) == (
            "hung-engine", "app100 (100)", "gpu/gfx", 980 * MS,
        )  # fmt: skip
        assert f"nothing ended there; {waiting} others wait" in first.what

    def test_ends_that_were_not_recorded_are_no_hang(self):
        rows = [noise(0), noise(1000 * MS)]
        for n in range(40):
            rows += [drm(n * MS, "drm_sched_job", 16 * n, number=n), drm(n * MS, "drm_run_job", 16 * n, number=n)]
        model = model_of(*rows)
        assert [f for f in findings(model) if f.rule == "hung-engine"] == []
        assert model.scalar("SELECT count(*) FROM executions") == 0

    def test_amdgpus_jobs_from_before_the_trace_count(self):
        model = model_of(
            (0, "sched_waking", 0, 1, "x", {"comm": "x", "pid": 1, "target_cpu": 0}),
            signal(5, 4, context=11),  # the scheduled fence: nobody submitted on that context
            signal(30, 4),
            amd(40, "amdgpu_cs_ioctl", 5),
            amd(50, "amdgpu_sched_run_job", 5),
            signal(100, 5),
        )
        assert engine(model)["engine"] == "gfx"
        assert engine(model)["busy_ns"] == 80


class TestNames:
    def test_amdgpus_engine_is_its_timeline_not_an_address(self):
        for ring in ("0xffff888104567890", "ffff888104567890", "18446620000000000000"):
            model = model_of(amd(0, "amdgpu_cs_ioctl", 1, ring=ring), amd(1, "amdgpu_sched_run_job", 1, ring=ring))
            assert model.scalar("SELECT engine FROM requests") == "gfx"

    @pytest.mark.parametrize(
        ("ring", "place", "name"), [(0, (0, 0), "rcs0"), (1, (1, 0), "bcs0"), (3, (2, 1), "vcs1"), (4, (3, 0), "vecs0")]
    )
    def test_a_ring_of_gvt_is_the_class_and_instance_of_i915(self, ring, place, name):
        def gvt(t, event, **more):
            fields = {"vgpu_id": 1, "workload_id": 64, "ring_id": ring, **more}
            return (t, f"gvt_workload_{event}", 0, OTHER, "gvt", fields)

        engine_ = {"class": place[0], "instance": place[1]}
        model = model_of(
            gvt(0, "queue"),
            gvt(10, "submit", ctx=11, seqno=9),
            i915(12, "add", 9, **engine_),
            i915(15, "in", 9, port=0, **engine_),
            i915(40, "out", 9, completed=1, **engine_),
            gvt(45, "complete"),
        )
        assert model.query("SELECT engine, vgpu, created_ns, begin_ns, end_ns FROM requests").fetchall() == [
            (name, 1, 0, 15, 40)
        ]

    def test_work_in_the_hypervisor_waits_there_and_is_drawn(self):
        def gvt(t, event, workload, **more):
            fields = {"vgpu_id": 1, "workload_id": workload, "ring_id": 0, **more}
            return (t, f"gvt_workload_{event}", 0, OTHER, "gvt", fields)

        model = model_of(
            gvt(0, "queue", 64),
            gvt(10, "submit", 64, ctx=11, seqno=9),
            gvt(30, "complete", 64),
            gvt(40, "queue", 65),
            (100, "sched_waking", 0, 1, "x", {"comm": "x", "pid": 1, "target_cpu": 0}),
        )
        (vgpu,) = metrics(model)["vgpus"]
        assert vgpu["queue"]["mean"] == pytest.approx(0.7)
        assert model.scalar("SELECT coalesce(sum(value), 0) FROM counters WHERE track = 'gpu/rcs0/queue length'") == 0
        drawn = model.query(
            "SELECT begin_ns, end_ns, is_open FROM spans WHERE track = 'vgpu/1/queue' ORDER BY 1"
        ).fetchall()
        assert drawn == [(0, 10, False), (40, 100, True)]


def test_cpus_that_begin_at_different_times_are_said():
    def switch(t, cpu, before, after):
        fields = {"prev_comm": "a", "prev_pid": before, "prev_state": 0, "next_comm": "b", "next_pid": after}
        return (t, "sched_switch", cpu, before, "a", fields)

    def turns(cpu, first, last):
        times = range(first, last, 10)
        return [switch(t, cpu, 10 * cpu + 1 + n % 2, 10 * cpu + 2 - n % 2) for n, t in enumerate(times)]

    # Of CPU 1 the first 600 were overwritten; CPU 2 is idle at first, as later on.
    quiet = [switch(500 + 40 * n, 2, 0 if n % 2 else 25, 25 if n % 2 else 0) for n in range(1)]
    model = model_of(*turns(0, 0, 1000), *turns(1, 600, 1000), *quiet)
    said = [r for r in model.rows("SELECT * FROM unmatched") if "different times" in r["reason"]]
    assert [(r["count"], "CPU 1 0.000001 s" in r["reason"]) for r in said] == [(1, True)]
    # Who left CPU 1 first is not said to have run there from the begin.
    assert model.scalar("SELECT min(begin_ns) FROM spans WHERE kind = 'running' AND cpu = 1") == 600
    even = model_of(*turns(0, 0, 1000), *turns(1, 5, 1000))
    assert even.query("SELECT reason FROM unmatched WHERE reason LIKE '%different times%'").fetchall() == []
