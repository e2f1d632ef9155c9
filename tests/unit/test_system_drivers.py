"""What drivers make of their events: one request life from each kernel's own words."""

import re

import pytest

from drawtap.system.driver import DRIVERS
from drawtap.system.metrics import metrics
from drawtap.system.model import build
from drawtap.tables.kernel import TABLES
from kernel_events import MemoryTrace

MS = 1_000_000
APP = 100  # the thread that asks
OTHER = 7  # a kernel thread


def requests(*rows, pids=None):
    model = build(MemoryTrace(rows, pids=pids))
    return model, model.rows("SELECT * FROM requests ORDER BY id")


def reasons(model):
    return {(r["event"], r["reason"]): r["count"] for r in model.rows("SELECT * FROM unmatched")}


def job(t, event, fence, *, entity=1, number=1, tid=APP, ring="gfx"):
    return (t, event, 0, tid, "app", {"entity": entity, "fence": fence, "name": ring, "id": number})


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


def test_memory_and_activity_by_process():
    model, _ = requests(
        (0, "gpu_mem_total", 0, APP, "a", {"gpu_id": 0, "pid": 0, "size": 100}),
        (5, "gpu_mem_total", 0, APP, "a", {"gpu_id": 0, "pid": 44, "size": 60}),
        (10, "gpu_mem_total", 0, APP, "a", {"gpu_id": 0, "pid": 0, "size": 300}),
        (
            20,
            "gpu_work_period",
            0,
            0,
            "irq",
            {"gpu_id": 0, "uid": 1000, "start_time_ns": 10, "end_time_ns": 20, "total_active_duration_ns": 4},
        ),
    )
    memory = {m["track"]: m for m in metrics(model)["memory"]}
    assert memory["gpu/0/memory"]["mean_bytes"] == 200
    assert memory["process/44/gpu 0 memory"]["last_bytes"] == 60
    active = model.query(
        "SELECT t_ns, value FROM counters WHERE track = 'gpu/0/uid/1000/active' ORDER BY t_ns"
    ).fetchall()
    assert active == [(10, 40.0), (20, 0.0)]
    (activity,) = metrics(model, begin=10, end=30)["activity"]
    assert (activity["mean_percent"], activity["max_percent"]) == (20, 40)


def test_memory_by_machine_and_process():
    def told(t, pid, size, gpu=0):
        return (t, "gpu_mem_total", 0, APP, "a", {"gpu_id": gpu, "pid": pid, "size": size})

    rows = (
        told(0, 0, 500),  # of the GPU: nobody's
        told(10, 40, 100),
        told(20, 50, 30),
        told(20, 60, 7),
        told(30, 40, 60),
        told(40, 40, 5, gpu=1),
        (40, "kvm_entry", 0, 41, "CPU 0/KVM", {"vcpu_id": 0}),
        (45, "kvm_entry", 0, 51, "CPU 0/KVM", {"vcpu_id": 0}),
        (50, "kvm_exit", 0, 51, "CPU 0/KVM", {"exit_reason": 1}),
    )
    known = {40: ("win10", 40), 41: ("CPU 0/KVM", 40), 50: ("win11", 50), 51: ("CPU 0/KVM", 50), 60: ("game", 60)}
    with build(MemoryTrace(rows, known)) as model:
        data = metrics(model)
        machines = {(m["vm"], m["device"]): m for m in data["memory_vms"]}
        assert set(machines) == {("win10", "gpu 0"), ("win10", "gpu 1"), ("win11", "gpu 0")}
        assert machines["win10", "gpu 0"]["mean_bytes"] == (100 * 20 + 60 * 20) / 40
        assert (machines["win10", "gpu 0"]["max_bytes"], machines["win10", "gpu 0"]["last_bytes"]) == (100, 60)
        processes = {(p["client"], p["vm"], p["device"]): p["last_bytes"] for p in data["memory_processes"]}
        assert processes == {
            ("win10 (40)", "win10", "gpu 0"): 60,
            ("win10 (40)", "win10", "gpu 1"): 5,
            ("win11 (50)", "win11", "gpu 0"): 30,
            ("game (60)", None, "gpu 0"): 7,
        }
        # A window has what holds in it, also where nothing changes.
        (win10,) = (m for m in metrics(model, begin=35, end=39)["memory_vms"] if m["vm"] == "win10")
        assert (win10["mean_bytes"], win10["max_bytes"]) == (60, 60)


def test_memory_of_two_processes_of_one_machine_is_added():
    rows = [
        (t, "amdgpu_bo_create", 0, tid, "q", {"bo": t, "pages": pages}) for t, tid, pages in ((1, 40, 1), (2, 42, 2))
    ]
    rows.append((3, "kvm_entry", 0, 41, "win10", {"vcpu_id": 0}))
    with build(MemoryTrace(rows, {40: ("win10", 40), 41: ("win10", 40), 42: ("worker", 40)})) as model:
        (machine,) = metrics(model)["memory_vms"]
        assert (machine["vm"], machine["basis"], machine["last_bytes"]) == ("win10", "allocated", 3 * 4096)
    with build(MemoryTrace(rows, {40: ("win10", 40), 41: ("win10", None)})) as model:
        assert not metrics(model)["memory_vms"]
        assert any("nor is the memory of their machines" in reason for _, reason in reasons(model))


def test_missed_vertical_blanks():
    rows = [(n * 16 * MS, "drm_vblank_event", 0, 0, "irq", {"crtc": 0, "seq": n}) for n in (1, 2, 5, 6)]
    rows.append((3000 * MS, "drm_vblank_event", 0, 0, "irq", {"crtc": 0, "seq": 180}))
    model, _ = requests(*rows)
    (display,) = metrics(model)["displays"]
    assert (display["events"], display["missed"], display["period_ns"]) == (5, 2, 16 * MS)


def switch(t, cpu, prev, next_, *, state=0):
    return (t, "sched_switch", cpu, prev, f"t{prev}", {
        "prev_comm": f"t{prev}", "prev_pid": prev, "prev_state": state, "next_comm": f"t{next_}", "next_pid": next_,
    })  # fmt: skip


class TestThreads:
    def test_running_preempted_blocked_woken(self):
        model, _ = requests(
            switch(0, 0, 0, 5),
            switch(10, 0, 5, 6, state=256),
            switch(30, 0, 6, 5, state=1),
            (35, "sched_waking", 0, 5, "t5", {"comm": "t6", "pid": 6, "target_cpu": 0}),
            switch(40, 0, 5, 6, state=2),
            switch(50, 0, 6, 0, state=1),
        )
        spans = model.query(
            "SELECT tid, kind, begin_ns, end_ns FROM spans WHERE track LIKE 'thread/%' AND end_ns <= 50 "
            "ORDER BY tid, begin_ns"
        ).fetchall()
        assert spans == [
            (5, "running", 0, 10),
            (5, "preempted", 10, 30),
            (5, "running", 30, 40),
            (5, "blocked", 40, 50),
            (6, "running", 10, 30),
            (6, "blocked", 30, 35),
            (6, "waking", 35, 40),
            (6, "running", 40, 50),
        ]
        assert model.query("SELECT from_id, to_id, from_ns, to_ns FROM links WHERE kind = 'wakes'").fetchall() == [
            (5, 6, 35, 40)
        ]

    def test_states_as_text(self):
        rows = [switch(0, 0, 0, 5), switch(10, 0, 5, 6, state="R+"), switch(20, 0, 6, 5, state="S")]
        rows[0][5]["prev_state"] = "R"
        model, _ = requests(*rows)
        kinds = dict(
            model.query(
                "SELECT tid, kind FROM spans WHERE kind IN ('preempted', 'blocked') AND begin_ns >= 10"
            ).fetchall()
        )
        assert kinds[5] == "preempted"

    def test_lost_switches_are_nobodys_time(self):
        model, _ = requests(switch(0, 0, 0, 5), switch(10, 0, 9, 6), switch(20, 0, 6, 0))
        assert model.query("SELECT tid, begin_ns, end_ns FROM spans WHERE kind = 'running' ORDER BY 2").fetchall() == [
            (6, 10, 20)
        ]
        assert any("switches were lost" in reason for _, reason in reasons(model))

    def test_what_ran_before_the_first_switch_is_open(self):
        model, _ = requests(
            (0, "sched_waking", 1, 9, "t9", {"comm": "t4", "pid": 4, "target_cpu": 0}), switch(10, 0, 5, 6)
        )
        assert model.query(
            "SELECT begin_ns, end_ns, is_open FROM spans WHERE tid = 5 AND kind = 'running'"
        ).fetchall() == [(0, 10, True)]

    def test_state_over_time(self):
        model, _ = requests(switch(0, 0, 0, 5), switch(10, 0, 5, 6, state=256), switch(30, 0, 6, 5, state=1))
        at = "SELECT value FROM state WHERE path = ? AND begin_ns <= ? AND end_ns > ?"
        assert model.scalar(at, ["threads/5/state", 15, 15]) == "preempted"
        assert model.scalar(at, ["threads/5/state", 9, 9]) == "running"
        assert model.scalar(at, ["nowhere", 9, 9]) is None


def kvm(t, kind, tid, comm="VM", **more):
    return (t, f"kvm_x86_{kind}", 0, tid, comm, {"vcpu_id": 123456, **more})


class TestMachines:
    def test_what_a_machine_lost_and_to_whom(self):
        model, _ = requests(
            kvm(1, "entry", 5, "t5"),
            kvm(9, "exit", 5, "t5"),
            kvm(11, "entry", 6, "t6"),
            switch(0, 0, 0, 5),
            switch(10, 0, 5, 8, state=0),  # first a thread of the host
            switch(12, 0, 8, 6, state=1),
            switch(30, 0, 6, 5, state=0),
            switch(40, 0, 5, 0, state=1),
        )
        one, two = metrics(model)["vms"]
        assert (one["vm"], one["run_ns"], one["stolen_ns"], one["preemptions"]) == ("t5", 20, 20, 1)
        assert one["guest_ns"] == 8
        assert [(t["by"], t["stolen_ns"], t["preemptions"]) for t in one["stolen_by"]] == [("t6", 18, 1), ("t8", 2, 0)]
        assert (two["stolen_ns"], two["preemptions"]) == (10, 1)

    def test_a_window_clips(self):
        model, _ = requests(
            kvm(1, "entry", 5, "one"),
            switch(0, 0, 0, 5),
            switch(10, 0, 5, 8),
            switch(20, 0, 8, 5, state=1),
            switch(30, 0, 5, 0, state=1),
        )
        (one,) = metrics(model, begin=5, end=15)["vms"]
        assert (one["run_ns"], one["stolen_ns"], one["preemptions"]) == (5, 5, 1)

    @pytest.mark.parametrize(
        ("pids", "names"),
        [
            ({5: 50, 6: 60}, {5: "qemu-one (50)", 6: "qemu-one (60)"}),
            ({}, {5: "vCPU 5", 6: "vCPU 6"}),
        ],
    )
    def test_qemu_calls_all_vcpus_alike(self, pids, names):
        trace = MemoryTrace(
            [kvm(1, "entry", 5, "CPU 0/KVM"), kvm(2, "entry", 6, "CPU 0/KVM")],
            pids=pids,
            threads={50: ("qemu-one", 50), 60: ("qemu-one", 60)},
        )
        model = build(trace)
        assert dict(model.query("SELECT tid, vm FROM threads WHERE is_vcpu").fetchall()) == names


class TestWindows:
    def test_utilisation_is_clipped(self):
        model, _ = requests(
            job(0, "drm_sched_job", 16),
            job(0, "drm_run_job", 16),
            (100, "drm_sched_process_job", 0, 0, "irq", {"fence": 16}),
        )
        (engine,) = metrics(model, begin=90, end=190)["engines"]
        assert engine["utilisation_percent"] == 10
        assert engine["jobs"] == engine["ended"] == 1
        assert engine["mean_execution_ns"] == 100
        (engine,) = metrics(model, begin=10, end=20)["engines"]
        assert (engine["utilisation_percent"], engine["ended"], engine["mean_execution_ns"]) == (100, 0, None)

    def test_queue_length_is_a_mean_over_time(self):
        model, _ = requests(
            job(0, "drm_sched_job", 16),
            job(50, "drm_run_job", 16),
            (60, "drm_sched_process_job", 0, 0, "irq", {"fence": 16}),
            (100, "drm_sched_process_job", 0, 0, "irq", {"fence": 99}),
        )
        engines = {e["engine"]: e for e in metrics(model)["engines"]}
        assert engines["gfx"]["queue"] == {"mean": 0.5, "max": 1}


class TestIncomplete:
    def test_edges_of_an_incomplete_trace_are_left_out(self):
        from types import SimpleNamespace

        rows = [switch(0, 1, 9, 4, state=1), switch(10, 0, 5, 6, state=0), switch(20, 0, 6, 5, state=1)]
        whole = build(MemoryTrace(rows))
        assert whole.scalar("SELECT count(*) FROM spans WHERE is_open") > 0
        trace = MemoryTrace(rows)
        trace.problems = (SimpleNamespace(kind="lost", where="CPU 0", text="12 events were lost", count=12),)
        model = build(trace)
        assert model.scalar("SELECT count(*) FROM spans WHERE is_open") == 0
        assert model.query("SELECT tid, kind, begin_ns, end_ns FROM spans ORDER BY begin_ns").fetchall() == [
            (6, "running", 10, 20)
        ]
        assert any("incomplete" in reason for _, reason in reasons(model))


def test_rows_of_a_track_do_not_overlap():
    rows = []
    for n in range(6):
        rows += [
            job(n, "drm_sched_job", 16 * (n + 1), number=n),
            job(10 + n, "drm_run_job", 16 * (n + 1), number=n),
            (20 + 10 * n, "drm_sched_process_job", 0, 0, "irq", {"fence": 16 * (n + 1)}),
        ]
    rows += [job(35, "drm_sched_job", 16, number=9), job(36, "drm_run_job", 16, number=9)]
    rows += [(90, "drm_sched_process_job", 0, 0, "irq", {"fence": 16})]
    model, _ = requests(*rows)
    lanes = model.query(
        "SELECT request, min(lane), max(lane) FROM spans WHERE track = 'gpu/gfx/queue' GROUP BY 1 ORDER BY 1"
    )
    # The second life of a fence takes the lowest row that is free again.
    assert lanes.fetchall() == [(0, 0, 0), (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 5), (6, 0, 0)]


def test_tables_of_a_large_trace_are_in_a_file_that_goes_away(monkeypatch, tmp_path):
    from drawtap.system import model as models

    trace = MemoryTrace([job(0, "drm_sched_job", 16)])
    trace.path = tmp_path / "trace.dat"
    trace.path.write_bytes(b"x" * 100)
    monkeypatch.setattr(models, "_LARGE_BYTES", 50)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with build(trace) as model:
        assert list(tmp_path.glob("drawtap-*/kernel.duckdb"))
        assert model.scalar("SELECT count(*) FROM requests") == 1
    assert not list(tmp_path.glob("drawtap-*"))


@pytest.mark.parametrize(("wanted", "limit"), [(3_000_000_000, "2.7 GiB"), (10**18, None)])
def test_memory_for_a_large_trace_is_bounded_and_never_beyond_the_machines(monkeypatch, tmp_path, wanted, limit):
    import duckdb

    from drawtap.system import model as models
    from drawtap.trace.memory import limit_of

    trace = MemoryTrace([job(0, "drm_sched_job", 16)])
    trace.path = tmp_path / "trace.dat"
    trace.path.write_bytes(b"x" * 100)
    monkeypatch.setattr(models, "_LARGE_BYTES", 50)
    monkeypatch.setattr(models, "_LEAST_MEMORY_BYTES", wanted)
    ask = "SELECT current_setting('memory_limit')"
    ((own,),) = duckdb.connect().execute(ask).fetchall()
    for text, size in (("18.4 GiB", 18.4 * 2**30), ("953.6 MiB", 953.6 * 2**20), ("12 bytes", 12), ("1.0 KiB", 1024)):
        fake = type("C", (), {"execute": lambda s, _, t=text: s, "fetchall": lambda s, t=text: [(t,)]})()
        assert limit_of(fake) == size
    with build(trace) as model:
        ((found,),) = model.connection.execute(ask).fetchall()
    assert found == (limit if limit and limit_of(duckdb.connect()) > wanted else own)
