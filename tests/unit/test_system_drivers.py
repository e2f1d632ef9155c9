"""What drivers make of their events: one request life from each kernel's own words."""

import re

from drawtap.system.driver import DRIVERS
from drawtap.system.metrics import metrics
from drawtap.system.model import build
from drawtap.tables.kernel import TABLES
from kernel_events import APP, MS, OTHER, MemoryTrace, job, kvm, reasons, requests


def test_every_driver_says_what_it_does():
    for name, entry in DRIVERS.items():
        assert len(entry.help.splitlines()) > 1, name


def test_the_tables_are_as_they_say():
    model, _ = requests(job(0, "drm_sched_job", 1))
    for table in TABLES.values():
        described = model.rows(f"DESCRIBE SELECT * FROM {table.name}")
        # Values that occur often are stored as an ENUM, which is text to whoever asks.
        found = [(row["column_name"], re.sub(r"ENUM\(.*", "VARCHAR", row["column_type"])) for row in described]
        assert found == [(c.name, c.type) for c in table.columns], table.name


class TestDrmSched:
    def test_a_job_begins_when_its_predecessor_is_off_the_ring(self):
        _, (first, second) = requests(
            job(0, "drm_sched_job", 0xFFFF_0000_0000_0010),
            job(5, "drm_sched_job", 0xFFFF_0000_0000_0020, number=2),
            job(10, "drm_run_job", 0xFFFF_0000_0000_0010, tid=OTHER),
            job(12, "drm_run_job", 0xFFFF_0000_0000_0020, number=2, tid=OTHER),
            (40, "drm_sched_process_job", 0, 0, "irq", {"fence": 0xFFFF_0000_0000_0010}),
            (90, "drm_sched_process_job", 0, 0, "irq", {"fence": 0xFFFF_0000_0000_0020}),
        )
        assert (first["queued_ns"], first["begin_ns"], first["end_ns"]) == (0, 10, 40)
        assert (second["submitted_ns"], second["begin_ns"], second["begin_from"]) == (12, 40, "order")
        assert (second["wait_ns"], second["execution_ns"], second["latency_ns"]) == (35, 50, 85)
        assert first["tid"] == APP
        assert first["client"] == "app (100)"
        assert first["unmatched"] is None

    def test_helper_threads_are_their_process(self):
        # Mesa's driver submits from a thread of its own; the process is the client where the trace tells it.
        rows = [job(0, "drm_sched_job", 16, tid=101), job(1, "drm_sched_job", 32, number=2, tid=100)]
        trace = MemoryTrace(rows, pids={100: 100, 101: 100}, threads={100: ("game", 100), 101: ("amdgpu_cs:0", 100)})
        assert set(build(trace).query("SELECT client, pid FROM requests").fetchall()) == {("app (100)", 100)}

    def test_fence_addresses_are_used_again(self):
        _, found = requests(
            job(0, "drm_sched_job", 16),
            job(1, "drm_run_job", 16),
            (2, "drm_sched_process_job", 0, 0, "irq", {"fence": 16}),
            job(10, "drm_sched_job", 16, number=2),
            job(11, "drm_run_job", 16, number=2),
            (15, "drm_sched_process_job", 0, 0, "irq", {"fence": 16}),
        )
        assert [(r["queued_ns"], r["end_ns"]) for r in found] == [(0, 2), (10, 15)]

    def test_a_lost_queue_event_does_not_join_two_lives(self):
        _, found = requests(
            job(0, "drm_sched_job", 16),
            job(1, "drm_run_job", 16),
            (2, "drm_sched_process_job", 0, 0, "irq", {"fence": 16}),
            job(11, "drm_run_job", 16, number=2),
            (15, "drm_sched_process_job", 0, 0, "irq", {"fence": 16}),
        )
        assert [(r["queued_ns"], r["submitted_ns"], r["execution_ns"]) for r in found] == [(0, 1, 1), (None, 11, 4)]
        assert "asked for before the trace" in found[1]["unmatched"]
        assert found[1]["wait_ns"] is None

    def test_what_is_open_at_the_end_stays_open(self):
        model, (found,) = requests(job(0, "drm_sched_job", 16), job(1, "drm_run_job", 16))
        assert found["begin_ns"] is None
        assert found["end_ns"] is None
        assert "open at the end of the trace" in found["unmatched"]
        assert ("drm_sched_process_job", "none in the trace: when jobs were done is not known") in reasons(model)
        assert model.scalar("SELECT max(value) FROM counters WHERE track = 'gpu/gfx/queue length'") == 1

    def test_an_engine_that_overtakes_is_said_not_to_work_in_order(self):
        model, found = requests(
            job(0, "drm_sched_job", 16),
            job(0, "drm_sched_job", 32, number=2),
            job(1, "drm_run_job", 16),
            job(2, "drm_run_job", 32, number=2),
            (10, "drm_sched_process_job", 0, 0, "irq", {"fence": 32}),
            (20, "drm_sched_process_job", 0, 0, "irq", {"fence": 16}),
        )
        assert {(r["begin_ns"], r["end_ns"], r["begin_from"]) for r in found} == {(1, 20, "order"), (2, 10, "overlap")}
        (engine,) = metrics(model, begin=0, end=20)["engines"]
        assert engine["utilisation_percent"] == 95  # the union
        assert engine["summed_percent"] == 135
        assert any("several at a time" in reason for _, reason in reasons(model))

    def test_dependencies_block_until_the_last_is_met(self):
        _, found = requests(
            job(0, "drm_sched_job", 16),
            (1, "drm_sched_job_wait_dep", 0, APP, "app", {"name": "gfx", "id": 1, "fence": 99, "ctx": 5, "seqno": 1}),
            (1, "drm_sched_job_wait_dep", 0, APP, "app", {"name": "gfx", "id": 1, "fence": 98, "ctx": 6, "seqno": 1}),
            (4, "dma_fence_signaled", 0, 0, "irq", {"driver": "x", "timeline": "x", "context": 5, "seqno": 1}),
            (7, "dma_fence_signaled", 0, 0, "irq", {"driver": "x", "timeline": "x", "context": 6, "seqno": 1}),
            job(8, "drm_run_job", 16),
            (9, "drm_sched_process_job", 0, 0, "irq", {"fence": 16}),
        )
        (life,) = [r for r in found if r["driver"] == "drm_sched"]
        assert life["ready_ns"] == 7

    def test_a_dependency_that_is_not_seen_met_leaves_it_open(self):
        _, found = requests(
            job(0, "drm_sched_job", 16),
            (1, "drm_sched_job_wait_dep", 0, APP, "app", {"name": "gfx", "id": 1, "fence": 99, "ctx": 5, "seqno": 1}),
            (1, "drm_sched_job_wait_dep", 0, APP, "app", {"name": "gfx", "id": 1, "fence": 98, "ctx": 6, "seqno": 1}),
            (4, "dma_fence_signaled", 0, 0, "irq", {"driver": "x", "timeline": "x", "context": 5, "seqno": 1}),
            job(8, "drm_run_job", 16),
        )
        (life,) = [r for r in found if r["driver"] == "drm_sched"]
        assert life["ready_ns"] is None

    def test_the_finished_fence_links_who_waits_for_the_job(self):
        fence = {"driver": "drm_sched", "timeline": "gfx"}
        model, (found,) = requests(
            (0, "dma_fence_init", 0, APP, "app", {**fence, "context": 5, "seqno": 3}),
            (1, "dma_fence_init", 0, APP, "app", {**fence, "context": 6, "seqno": 3}),
            job(2, "drm_sched_job", 16),
            job(3, "drm_run_job", 16, tid=OTHER),
            (4, "dma_fence_wait_start", 0, APP, "app", {**fence, "context": 6, "seqno": 3}),
            (9, "drm_sched_process_job", 0, 0, "irq", {"fence": 16}),
            (10, "dma_fence_wait_end", 0, APP, "app", {**fence, "context": 6, "seqno": 3}),
        )
        assert (found["context"], found["seqno"]) == (6, 3)
        (link,) = model.rows("SELECT * FROM links WHERE kind = 'waits for'")
        assert (link["from_kind"], link["from_id"], link["to_ns"]) == ("request", found["id"], 10)

    def test_events_since_6_17_have_64_bit_fences(self):
        big = 2**63 + 5

        def new(t, event, number, /, **more):
            return (t, event, 0, APP, "app", {"fence_context": big, "fence_seqno": number, **more})

        about = {"name": "gfx", "dev": "0000:03:00.0", "client_id": 12}
        _, (first, second) = requests(
            new(0, "drm_sched_job_queue", 2**40, **about),
            new(1, "drm_sched_job_queue", 2**40 + 1, **about),
            new(2, "drm_sched_job_add_dep", 2**40 + 1, ctx=big, seqno=2**40),
            new(3, "drm_sched_job_run", 2**40, **about),
            new(8, "drm_sched_job_done", 2**40),
            new(9, "drm_sched_job_run", 2**40 + 1, **about),
            new(20, "drm_sched_job_done", 2**40 + 1),
        )
        assert (first["context"], first["seqno"]) == (big, 2**40)
        assert first["device"] == "0000:03:00.0"
        assert first["client"] == "app client 12"
        assert second["ready_ns"] == 8
        assert (second["begin_ns"], second["execution_ns"]) == (9, 11)


def i915(t, stage, seqno, *, ctx=11, engine=(0, 0), tid=APP, **more):
    fields = {"dev": 0, "ctx": ctx, "class": engine[0], "instance": engine[1], "seqno": seqno, **more}
    return (t, f"i915_request_{stage}", 0, tid, "app", fields)


class TestI915:
    def test_a_whole_life(self):
        _, (found,) = requests(
            i915(0, "queue", 5, flags=0),
            i915(1, "add", 5),
            i915(4, "submit", 5, tid=OTHER),
            i915(6, "in", 5, prio=2, port=0, tid=OTHER),
            i915(16, "out", 5, completed=1, tid=OTHER),
            i915(30, "retire", 5, tid=OTHER),
        )
        assert (found["device"], found["engine"], found["context"], found["seqno"]) == ("card0", "rcs0", 11, 5)
        times = ("created_ns", "queued_ns", "ready_ns", "begin_ns", "end_ns", "retired_ns")
        assert tuple(found[t] for t in times) == (0, 1, 4, 6, 16, 30)
        assert (found["begin_from"], found["priority"], found["tid"]) == ("event", 2, APP)

    def test_out_without_completion_is_preemption(self):
        model, (found,) = requests(
            i915(0, "add", 5),
            i915(1, "in", 5, prio=0, port=0),
            i915(4, "out", 5, completed=0),
            i915(10, "in", 5, prio=0, port=0),
            i915(15, "out", 5, completed=1),
        )
        assert found["preemptions"] == 1
        assert found["execution_ns"] == 8
        assert found["latency_ns"] == 15
        spans = model.query("SELECT begin_ns, end_ns FROM spans WHERE kind = 'execution' ORDER BY 1").fetchall()
        assert spans == [(1, 4), (10, 15)]

    def test_the_second_port_waits_for_the_first(self):
        _, (first, second) = requests(
            i915(0, "add", 1),
            i915(0, "add", 2, ctx=12),
            i915(1, "in", 1, prio=0, port=0),
            i915(2, "in", 2, ctx=12, prio=0, port=1),
            i915(9, "out", 1, completed=1),
            i915(12, "out", 2, ctx=12, completed=1),
        )
        assert (second["begin_ns"], second["begin_from"], second["execution_ns"]) == (9, "order", 3)
        assert first["begin_from"] == "event"

    def test_same_number_in_two_contexts_and_engines(self):
        _, found = requests(i915(0, "add", 1), i915(1, "add", 1, ctx=12), i915(2, "add", 1, engine=(1, 0)))
        assert [(r["context"], r["engine"]) for r in found] == [(11, "rcs0"), (12, "rcs0"), (11, "bcs0")]

    def test_without_low_level_tracepoints_the_engine_is_not_guessed(self):
        model, (found,) = requests(i915(0, "queue", 5), i915(1, "add", 5), i915(30, "retire", 5))
        assert found["begin_ns"] is None
        assert found["end_ns"] is None
        assert found["latency_ns"] is None
        assert found["unmatched"] == "only retired: the kernel does not tell when it ended"
        assert any("LOW_LEVEL_TRACEPOINTS" in reason for _, reason in reasons(model))
        (engine,) = metrics(model)["engines"]
        assert engine["utilisation_percent"] is None
        assert engine["unmatched"] == [{"reason": found["unmatched"], "count": 1}]

    def test_its_fences_tell_the_end_of_requests(self):
        signal = {"driver": "i915", "timeline": "x", "context": 11, "seqno": 5}
        _, (found,) = requests(i915(1, "add", 5), (9, "dma_fence_signaled", 0, 0, "irq", signal))
        assert (found["done_ns"], found["latency_ns"], found["begin_ns"]) == (9, 8, None)

    def test_linux_4_14_ends_with_the_engines_numbers(self):
        def old(t, stage, seqno, number, **more):
            fields = {"dev": 0, "ring": 0, "ctx": 3, "seqno": seqno, "global": number, **more}
            return (t, f"i915_gem_request_{stage}", 0, APP, "app", fields)

        _, (first, second) = requests(
            old(0, "add", 1, 0),
            old(1, "add", 2, 0),
            (3, "i915_gem_request_in", 0, OTHER, "k", {"dev": 0, "ring": 0, "ctx": 3, "seqno": 1, "global_seqno": 70}),
            (4, "i915_gem_request_in", 0, OTHER, "k", {"dev": 0, "ring": 0, "ctx": 3, "seqno": 2, "global_seqno": 71}),
            (9, "intel_engine_notify", 0, 0, "irq", {"dev": 0, "ring": 0, "seqno": 71, "waiters": 1}),
            old(10, "out", 2, 71),
        )
        # The first was merged into the second: nothing tells of its own end, only that both were done by then.
        assert first["end_ns"] == second["end_ns"] == 9
        assert first["engine"] == "rcs0"

    def test_memory_objects(self):
        model, _ = requests(
            (0, "i915_gem_object_destroy", 0, APP, "app", {"obj": 7}),
            (1, "i915_gem_object_create", 0, APP, "app", {"obj": 2**63 + 1, "size": 4096}),
            (2, "i915_gem_object_create", 0, APP, "app", {"obj": 8, "size": 100}),
            (3, "i915_gem_object_destroy", 0, APP, "app", {"obj": 2**63 + 1}),
            i915(4, "add", 1),
        )
        (memory,) = metrics(model)["memory"]
        assert (memory["max_bytes"], memory["last_bytes"]) == (4196, 100)
        assert (
            "i915_gem_object_create",
            "objects from before the trace, or lost: their memory is not known",
        ) in reasons(model)

    def test_memory_is_of_who_made_the_object(self):
        model, _ = requests(
            (1, "i915_gem_object_create", 0, APP, "app", {"obj": 7, "size": 4096}),
            (2, "i915_gem_object_create", 0, OTHER, "k", {"obj": 8, "size": 100}),
            (3, "i915_gem_object_destroy", 0, OTHER, "k", {"obj": 7}),  # a thread of the kernel frees it
            (4, "i915_gem_object_create", 0, OTHER, "k", {"obj": 7, "size": 50}),  # the address again
            i915(5, "add", 1),
        )
        rows = model.query("SELECT client, basis, t_ns, bytes FROM memory_use ORDER BY client, t_ns").fetchall()
        assert rows == [
            (f"app ({APP})", "made", 1, 4096),
            (f"app ({APP})", "made", 3, 0),
            (f"k ({OTHER})", "made", 2, 100),
            (f"k ({OTHER})", "made", 4, 150),
        ]
        assert not any("before the trace" in reason for event, reason in reasons(model) if "gem" in event)


def gvt(t, event, workload, *, vgpu=1, **more):
    return (
        t,
        f"gvt_workload_{event}",
        0,
        OTHER,
        "gvt",
        {"vgpu_id": vgpu, "workload_id": workload, "ring_id": 0, **more},
    )


class TestGvt:
    def test_a_workload_and_its_request_are_one_life(self):
        def host(t, stage, **more):
            fields = {"dev": 0, "ring": 0, "ctx": 3, "seqno": 9, "global_seqno": 70, **more}
            return (t, f"i915_gem_request_{stage}", 0, OTHER, "gvt", fields)

        model, (found,) = requests(
            gvt(0, "queue", 64),
            gvt(50, "submit", 64, ctx=3, seqno=9),
            host(52, "add"),
            host(53, "submit"),
            host(54, "in", port=0),
            (80, "intel_engine_notify", 0, 0, "irq", {"dev": 0, "ring": 0, "seqno": 70}),
            host(81, "out"),
            gvt(85, "complete", 64),
            (90, "gvt_sched_switch", 0, OTHER, "gvt", {"vgpu_id": 1, "left_ns": -20}),
        )
        assert found["vgpu"] == 1
        assert found["client"] == "vGPU 1"
        times = ("created_ns", "queued_ns", "ready_ns", "begin_ns", "end_ns", "done_ns")
        assert tuple(found[t] for t in times) == (0, 52, 53, 54, 80, 85)
        assert found["wait_ns"] == 54
        (vgpu,) = metrics(model, begin=0, end=100)["vgpus"]
        assert vgpu["utilisation_percent"] == 26
        assert model.query("SELECT value FROM counters WHERE track = 'vgpu/1/time left'").fetchall() == [(-20.0,)]

    def test_same_number_on_two_vgpus_is_told_apart_by_its_context(self):
        _, found = requests(
            gvt(0, "queue", 64, vgpu=1),
            gvt(1, "queue", 65, vgpu=2),
            gvt(2, "submit", 64, vgpu=1, ctx=3, seqno=9),
            gvt(3, "submit", 65, vgpu=2, ctx=4, seqno=9),
            (
                4,
                "i915_gem_request_add",
                0,
                OTHER,
                "gvt",
                {"dev": 0, "ring": 0, "ctx": 4, "seqno": 9, "global_seqno": 0},
            ),
            (
                5,
                "i915_gem_request_add",
                0,
                OTHER,
                "gvt",
                {"dev": 0, "ring": 0, "ctx": 3, "seqno": 9, "global_seqno": 0},
            ),
        )
        assert [(r["vgpu"], r["context"], r["created_ns"], r["queued_ns"]) for r in found] == [
            (1, 3, 0, 5),
            (2, 4, 1, 4),
        ]

    def test_the_vcpu_that_queues_tells_whose_vgpu_it_is(self):
        def queue(t, workload, tid):
            fields = {"vgpu_id": 1, "workload_id": workload, "ring_id": 0}
            return (t, "gvt_workload_queue", 0, tid, "VM-7", fields)

        model, found = requests(
            kvm(0, "entry", 70, "VM-7"),
            queue(1, 64, 70),
            gvt(2, "submit", 64),
            gvt(9, "complete", 64),
            queue(10, 65, 71),  # by a thread of which that is not known
            gvt(12, "submit", 65),
            gvt(19, "complete", 65),
        )
        assert [r["vm"] for r in found] == ["VM-7", "VM-7"]
        (guest,) = metrics(model, begin=0, end=20)["guests"]
        assert (guest["vm"], guest["utilisation_percent"]) == ("VM-7", 70)
        (vgpu,) = metrics(model, begin=0, end=20)["vgpus"]
        assert vgpu["queue"] == {"mean": 0.15, "max": 1}

    def test_without_the_hosts_events_submission_to_completion_bounds_it(self):
        _, (first, second) = requests(
            gvt(0, "queue", 64),
            gvt(1, "submit", 64),
            gvt(9, "complete", 64),
            gvt(10, "queue", 64),
            gvt(12, "submit", 64),
            gvt(20, "complete", 64),
        )
        assert (first["execution_ns"], second["execution_ns"], second["begin_from"]) == (8, 8, "order")

    def test_stock_kernels_tell_by_the_thread_that_parsed(self):
        model, found = requests(
            (0, "gvt_command", 0, 50, "gvt:rcs0", {"vgpu_id": 2, "ring_id": 0, "cmd_len": 3}),
            i915(1, "add", 1, tid=50),
            i915(2, "add", 2, tid=APP),
            (9, "inject_msi", 0, 50, "gvt:rcs0", {"id": 2, "address": 0, "data": 0}),
        )
        assert [r["vgpu"] for r in found] == [2, None]
        assert model.scalar("SELECT count(*) FROM spans WHERE track = 'vgpu/2/interrupts'") == 1


def test_amdgpu_ends_with_its_finished_fence_not_the_scheduled_one():
    about = {"sched_job_id": 1, "timeline": "gfx_0.0.0", "context": 6, "seqno": 4, "ring": "gfx_0.0.0", "num_ibs": 1}
    fence = {"driver": "drm_sched", "timeline": "gfx_0.0.0", "seqno": 4}
    _, (found,) = requests(
        (0, "amdgpu_cs_ioctl", 0, APP, "game", about),
        (3, "amdgpu_sched_run_job", 0, OTHER, "gfx", about),
        (4, "dma_fence_signaled", 0, OTHER, "gfx", {**fence, "context": 5}),
        (9, "dma_fence_signaled", 0, 0, "irq", {**fence, "context": 6}),
    )
    assert (found["driver"], found["queued_ns"], found["begin_ns"], found["end_ns"]) == ("amdgpu", 0, 3, 9)


def test_amdgpu_since_6_17_names_no_timeline():
    about = {"dev": "0000:03:00.0", "ring": "gfx_0.0.0", "fence_context": 2**32 + 6, "fence_seqno": 4, "num_ibs": 1}
    fence = {"driver": "drm_sched", "timeline": "gfx_0.0.0", "seqno": 4, "context": 6}
    _, (found,) = requests(
        (0, "amdgpu_cs_ioctl", 0, APP, "game", about),
        (3, "amdgpu_sched_run_job", 0, OTHER, "gfx", about),
        (9, "dma_fence_signaled", 0, 0, "irq", fence),
    )
    assert (found["context"], found["seqno"], found["device"]) == (2**32 + 6, 4, "0000:03:00.0")
    assert (found["wait_ns"], found["execution_ns"]) == (3, 6)


def test_amdgpu_does_not_count_jobs_of_the_scheduler_twice():
    about = {"sched_job_id": 1, "timeline": "gfx", "context": 6, "seqno": 4, "ring": "gfx", "num_ibs": 1}
    _, found = requests((0, "amdgpu_cs_ioctl", 0, APP, "game", about), job(1, "drm_sched_job", 16))
    assert [r["driver"] for r in found] == ["drm_sched"]


def test_xe_jobs():
    def xe(t, stage, fence=2**63 + 64):
        return (
            t,
            f"xe_sched_job_{stage}",
            0,
            APP,
            "game",
            {"seqno": 1, "guc_id": 3, "fence": fence, "dev": "0000:00:02.0"},
        )

    queue = {"class": 3, "gt_id": 0, "guc_id": 3}
    _, (first, second) = requests(
        (0, "xe_exec_queue_create", 0, APP, "game", queue),
        xe(1, "create"),
        xe(2, "exec"),
        xe(4, "run"),
        (9, "xe_hw_fence_signal", 0, 0, "irq", {"ctx": 8, "seqno": 1, "fence": 2**63 + 64}),
        xe(12, "free"),
        xe(20, "create"),
    )
    assert (first["engine"], first["device"]) == ("gt0-bcs", "0000:00:02.0")
    times = ("created_ns", "queued_ns", "submitted_ns", "begin_ns", "end_ns", "retired_ns")
    assert tuple(first[t] for t in times) == (1, 2, 4, 4, 9, 12)
    assert second["created_ns"] == 20


class TestVirtioGpu:
    def test_commands_by_their_numbers(self):
        def command(t, event, seqno, kind):
            fields = {
                "dev": 0,
                "vq": 0,
                "name": "control",
                "type": kind,
                "flags": 0,
                "fence_id": 0,
                "ctx_id": 1,
                "seqno": seqno,
            }
            return (t, f"virtio_gpu_cmd_{event}", 0, APP, "app", fields)

        model, (first, second) = requests(
            command(0, "queue", 1, 0x207),
            command(1, "queue", 2, 0x104),
            command(7, "response", 1, 0x1100),
            command(9, "response", 2, 0x1100),
        )
        assert (first["label"], first["done_ns"], first["latency_ns"]) == ("SUBMIT_3D", 7, 7)
        assert (second["engine"], second["begin_ns"]) == ("control", None)
        assert metrics(model)["engines"][0]["utilisation_percent"] is None

    def test_older_commands_by_their_fences_and_their_order(self):
        def command(t, event, flags, fence):
            fields = {"dev": 0, "vq": 0, "name": 0xFFFF, "type": 0x105, "flags": flags, "fence_id": fence, "ctx_id": 0}
            return (t, f"virtio_gpu_cmd_{event}", 0, APP, "app", fields)

        _, found = requests(
            command(0, "queue", 0, 0),
            command(1, "queue", 1, 77),
            command(2, "queue", 0, 0),
            command(5, "response", 0, 0),
            command(6, "response", 0, 0),
            command(9, "response", 1, 77),
        )
        assert [(r["queued_ns"], r["done_ns"]) for r in found] == [(0, 5), (1, 9), (2, 6)]
        assert found[0]["engine"] == "control"

    def test_the_log_of_qemu(self):
        model, (found,) = requests(
            (0, "virtio_gpu_cmd_res_flush", 0, 9, None, {"res": 2}),
            (1, "virtio_gpu_fence_ctrl", 0, 9, None, {"fence": 5, "type": 0x207}),
            (4, "virtio_gpu_fence_resp", 0, 9, None, {"fence": 5}),
        )
        assert (found["driver"], found["latency_ns"]) == ("qemu_virtio_gpu", 3)
        assert model.query("SELECT track, name FROM spans WHERE kind = 'mark'").fetchall() == [
            ("qemu/res_flush", "resource 2")
        ]

    def test_a_guest_without_fences_is_said_to_have_none(self):
        model, found = requests((0, "virtio_gpu_cmd_res_flush", 0, 9, None, {"res": 2}))
        assert found == []
        assert any("no fences" in reason for _, reason in reasons(model))


def test_msm_says_when_the_gpu_worked_in_ticks():
    ids = {"pid": 44, "id": 1, "ringid": 0}
    _, (found,) = requests(
        (0, "msm_gpu_submit", 0, APP, "game", {**ids, "nr_bos": 1, "nr_cmds": 1}),
        (1000, "msm_gpu_submit_flush", 0, APP, "game", {**ids, "seqno": 9, "ticks": 1_000_000}),
        (
            5 * MS,
            "msm_gpu_submit_retired",
            0,
            OTHER,
            "msm",
            {**ids, "seqno": 9, "elapsed": MS, "clock": 500, "start_ticks": 1_000_192, "end_ticks": 1_019_392},
        ),
    )
    assert (found["begin_ns"], found["end_ns"]) == (1000 + 10_000, 1000 + 1_010_000)
    assert (found["execution_ns"], found["begin_from"], found["pid"]) == (MS, "event", 44)


def test_mali_slots():
    def slot(t, kind, atom):
        return (
            t,
            "mali_job_slots_event",
            0,
            OTHER,
            "mali",
            {"gpu_id": 0, "event_id": kind << 24 | 1 << 16, "tgid": 5, "pid": 6, "job_id": atom},
        )

    _, (first, again) = requests(
        slot(0, 1, 3), slot(4, 3, 3), slot(6, 1, 3), slot(9, 2, 3), slot(20, 1, 3), slot(21, 2, 3)
    )
    assert (first["engine"], first["execution_ns"], first["preemptions"], first["tid"]) == ("slot1", 7, 1, 6)
    assert again["execution_ns"] == 1
    assert first["wait_ns"] is None


def test_fences_alone_tell_of_no_engine():
    fence = {"driver": "nouveau", "timeline": "ch1", "context": 6, "seqno": 4}
    model, (found,) = requests((0, "dma_fence_init", 0, APP, "a", fence), (9, "dma_fence_signaled", 0, 0, "irq", fence))
    assert (found["device"], found["engine"], found["latency_ns"], found["begin_ns"]) == ("nouveau", "ch1", 9, None)
    assert any("not when it was on an engine" in reason for _, reason in reasons(model))
