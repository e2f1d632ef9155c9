"""Figures of kernel traces: memory, threads, machines, windows of time, what an incomplete trace leaves out."""

import pytest

from drawtap.system.metrics import metrics
from drawtap.system.model import build
from kernel_events import APP, MS, MemoryTrace, job, kvm, reasons, requests, switch


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
    monkeypatch.setattr(models, "_MEMORY_BYTES", wanted)
    ask = "SELECT current_setting('memory_limit')"
    ((own,),) = duckdb.connect().execute(ask).fetchall()
    for text, size in (("18.4 GiB", 18.4 * 2**30), ("953.6 MiB", 953.6 * 2**20), ("12 bytes", 12), ("1.0 KiB", 1024)):
        fake = type("C", (), {"execute": lambda s, _, t=text: s, "fetchall": lambda s, t=text: [(t,)]})()
        assert limit_of(fake) == size
    with build(trace) as model:
        ((found,),) = model.connection.execute(ask).fetchall()
    assert found == (limit if limit and limit_of(duckdb.connect()) > wanted else own)
