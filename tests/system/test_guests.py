"""Traces of guests joined with the host's: against clocks, requests and threads of which the truth is known."""

import json

import pytest

from drawtap.errors import InputError, UsageError
from drawtap.system.ctf_writer import write_ctf
from drawtap.system.guests import add_guest
from drawtap.system.model import build
from drawtap.system.simulator import MS, Client, GuestClock, Scenario, Vgpu, simulate
from kernel_events import MemoryTrace

US = 1_000
CLOCKS = {1: GuestClock(700_000 * MS, 38e-6), 2: GuestClock(3_000 * MS, -120e-6)}


def near(t):
    """What the guest VM1 calls a time of the host."""
    return CLOCKS[1].guest_time(t)


@pytest.fixture(scope="module")
def run():
    clients = (Client(2 * MS, MS, 400, name="game", depth=2), Client(5 * MS, 3 * MS, 100, engine=3, name="video"))
    vgpus = (Vgpu("VM1", 8, clients), Vgpu("VM2", 8, (Client(9 * MS, 20 * MS, 60, name="office"),)))
    return simulate(Scenario("pair", "", vgpus, seed=7))


@pytest.fixture(scope="module")
def recorded(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("guests")
    write_ctf(folder / "host", run.events.columns(), threads={2010: "VM1", 2020: "VM2"})
    for v, clock in CLOCKS.items():
        environment = {"hostname": f"VM{v}"}
        write_ctf(folder / f"guest{v}", run.events.guest_columns(v, clock), environment=environment)
    return folder


def asked(drawtap, folder, query, *guests):
    options = [x for g in guests for x in ("--guest", g)]
    answer = drawtap("sql", folder / "host", query, *options, "--json", "--no-cache")
    assert answer.code == 0, answer.err
    data = json.loads(answer.out)
    return data["rows"] if isinstance(data, dict) else data


class TestSimulated:
    # Names of hosts are in the traces: the machine is found by the requests alone.
    def guests(self, folder):
        return folder / "guest2", f"VM1={folder / 'guest1'}"

    def test_the_clock_is_right_within_its_error(self, drawtap, recorded):
        for row in asked(drawtap, recorded, "SELECT * FROM guests", *self.guests(recorded)):
            truth = CLOCKS[row["vgpu"]]
            assert row["guest"] == f"VM{row['vgpu']}"
            assert row["contradiction_ns"] == 0
            assert 0 < row["error_ns"] < 40 * US
            assert 1 + row["drift"] == pytest.approx(1 / (1 + truth.drift), abs=5e-6)
            for t in (0, row["begin_ns"], row["end_ns"]):
                g = truth.guest_time(t)
                found = g + row["offset_ns"] + row["drift"] * (g - row["zero_ns"])
                assert abs(found - t) <= row["error_ns"] + 2, (row["guest"], t)

    def test_every_request_is_joined_with_its_own(self, drawtap, recorded):
        rows = asked(
            drawtap,
            recorded,
            "SELECT g.*, r.vgpu, r.guest_context, r.guest_seqno, r.end_ns AS gpu_end, c.error_ns "
            "FROM guest_requests g JOIN guests c USING (guest) LEFT JOIN requests r ON r.id = g.host_request",
            *self.guests(recorded),
        )
        assert len(rows) == 400 + 100 + 60
        for row in rows:
            assert (row["guest"], row["context"], row["seqno"]) == (
                f"VM{row['vgpu']}", row["guest_context"], row["guest_seqno"],
            )  # fmt: skip
            assert row["joined_by"] == "number"
            assert row["latency_ns"] == row["gpu_end"] - row["asked_ns"]
            # The driver needs a while for each way, and never less than nothing.
            assert row["guest_wait_ns"] >= -row["error_ns"]
            assert row["notice_ns"] >= -row["error_ns"]
            assert row["guest_wait_ns"] + row["notice_ns"] < MS
        told = asked(drawtap, recorded, "SELECT * FROM unmatched WHERE driver LIKE 'guest%'", *self.guests(recorded))
        assert told == []

    def test_the_figures_of_metrics(self, drawtap, recorded):
        options = [x for g in self.guests(recorded) for x in ("-g", g)]
        answer = drawtap("system", "metrics", recorded / "host", *options, "--json", "--from", "0.1", "--to", "0.5")
        data = json.loads(answer.out)
        a, b = data["window"]["begin_ns"], data["window"]["end_ns"]
        want = asked(
            drawtap,
            recorded,
            "SELECT guest, count(*) AS n, avg(latency_ns) AS mean FROM guest_requests "
            f"WHERE asked_ns BETWEEN {a} AND {b} GROUP BY guest ORDER BY guest",
            *self.guests(recorded),
        )
        assert [(g["guest"], g["requests"], g["joined"], g["mean_latency_ns"]) for g in data["guest_traces"]] == [
            (w["guest"], w["n"], w["n"], pytest.approx(w["mean"])) for w in want
        ]

    def test_diagnose_finds_who_waits_inside_of_a_guest(self, recorded):
        from drawtap.system import reader
        from drawtap.system.drawn import opened
        from drawtap.system.rule import findings

        rules = ("held-in-guest", "late-notice")
        with (
            reader.open(recorded / "host") as trace,
            opened(trace, guests=[str(g) for g in self.guests(recorded)], keep=False) as model,
        ):
            before = findings(model)
            assert not [f for f in before if f.rule in rules]  # its driver is quick
            run = model.connection.execute
            # Each of these would have been asked for 2 ms before it was, and known 1 ms later; two overlap.
            run(f"UPDATE guest_requests SET asked_ns = asked_ns - {2 * MS} WHERE guest = 'VM1' AND tid = 300")
            run(f"UPDATE guest_requests SET end_ns = end_ns + {MS} WHERE guest = 'VM1' AND tid = 301")
            slow = {(f.rule, f.culprit, f.victim): f for f in findings(model) if f.rule in rules}
            [(n, least)] = run(
                "SELECT count(*), sum(end_ns - host_end_ns) FROM guest_requests WHERE guest = 'VM1' AND tid = 301"
            ).fetchall()
        held = slow.pop(("held-in-guest", "VM1", "VM1: thread 300"))
        late = slow.pop(("late-notice", "VM1", "VM1: thread 301"))
        assert not slow
        assert (held.count, late.count, late.cost_ns) == (399, n, least)  # the host got one when its trace began
        assert 400 * MS < held.cost_ns < 400 * 3 * MS
        assert held.worst_ns >= 2 * MS

    def test_diagnose_takes_traces_of_guests(self, drawtap, recorded):
        options = [x for g in self.guests(recorded) for x in ("--guest", g)]
        answer = drawtap("system", "diagnose", recorded / "host", *options, "--json")
        assert answer.code in (0, 1), answer.err
        wrong = drawtap("system", "diagnose", recorded / "host", "--guest", recorded / "none")
        assert wrong.code == InputError.exit_code

    def test_a_trace_that_nobody_knows_says_what_it_would_need(self, drawtap, recorded, drm_sched_trace, tmp_path):
        answer = drawtap("sql", recorded / "host", "SELECT 1", "-g", f"VM9={drm_sched_trace}", "--no-cache")
        assert answer.code == InputError.exit_code
        assert "the trace of the guest VM9 cannot be joined with the host's" in answer.err
        assert "guest_seqno" in answer.err
        answer = drawtap("sql", recorded / "host", "SELECT 1", "-g", tmp_path / "none", "--no-cache")
        assert answer.code == InputError.exit_code
        assert "No such file" in answer.err
        both = (recorded / "guest1", "-g", f"VM1={recorded / 'guest1'}")
        answer = drawtap("sql", recorded / "host", "SELECT 1", "-g", *both, "--no-cache")
        assert "two guests are called VM1" in answer.err

    def test_the_wrong_machine_does_not_fit(self, drawtap, recorded):
        given = f"vGPU 2={recorded / 'guest1'}"
        answer = drawtap("sql", recorded / "host", "SELECT 1", "-g", given, "--no-cache")
        assert answer.code == InputError.exit_code
        assert "contradict each other" in answer.err


def host(*more, numbers=True, count=20):
    """A host whose vGPU 1 gets a request every 10 ms, works on it for 4 ms and tells the guest."""
    rows = list(more)
    for n in range(count):
        t = n * 10 * MS
        own = {"guest_ctx": 1, "guest_seqno": n + 1} if numbers else {}
        work = {"vgpu_id": 1, "workload_id": n, "ring_id": 0}
        rows += [
            (t, "gvt_workload_queue", 0, 50, "CPU 0/KVM", {**work, **own}),
            (t + MS, "gvt_workload_submit", 0, 51, "w", {**work, "ctx": 9, "seqno": n + 1}),
            (t + 5 * MS, "gvt_workload_complete", 0, 51, "w", work),
        ]
    return build(MemoryTrace(rows))


def guest(*more, first=0, count=20, delays=(7 * US, 5 * US), clock=CLOCKS[1]):
    rows = list(more)
    for n in range(first, count):
        t, common = n * 10 * MS, {"dev": 0, "ctx": 1, "class": 0, "instance": 0, "seqno": n + 1}
        for stage, at, fields in (
            ("add", t - delays[0] - 90 * US, {}),
            ("in", t - delays[0], {"port": 0}),
            ("out", t + 5 * MS + delays[1], {"completed": 1}),
        ):
            rows.append((clock.guest_time(at), f"i915_request_{stage}", 0, 300, "game", {**common, **fields}))
    return build(MemoryTrace(rows, threads={300: ("game", 300)}))


class TestPairs:
    def test_the_middle_of_both_directions(self):
        model = host()
        add_guest(model, guest(), "VM1", "x")
        (row,) = model.rows("SELECT * FROM guests")
        assert (row["guest_first"], row["host_first"], row["vgpu"]) == (20, 20, 1)
        t = near(50 * MS)
        found = t + row["offset_ns"] + row["drift"] * (t - row["zero_ns"])
        # 7 us late on one way, 5 us on the other.
        assert found == pytest.approx(50 * MS + US, abs=US // 2)
        assert row["error_ns"] >= 6 * US

    def test_what_is_not_in_both_is_counted(self):
        model = host(count=12)
        add_guest(model, guest(first=4, count=20), "VM1", "x")
        told = dict(
            model.query("SELECT event || ': ' || reason, count FROM unmatched WHERE driver = 'guest VM1'").fetchall()
        )
        assert told == {
            "request of the guest: asked for after the host's trace ends": 8,
            "request of the host: over before the guest's trace begins": 4,
        }
        assert model.scalar("SELECT count(host_request) FROM guest_requests") == 8

    def test_numbers_that_occur_twice_join_nothing(self):
        again = {"vgpu_id": 1, "workload_id": 99, "ring_id": 0, "guest_ctx": 1, "guest_seqno": 3}
        model = host((33 * MS, "gvt_workload_queue", 0, 50, "CPU 0/KVM", again))
        add_guest(model, guest(), "VM1", "x")
        assert model.query("SELECT seqno, unmatched FROM guest_requests WHERE host_request IS NULL").fetchall() == [
            (3, "its numbers are also those of another request")
        ]

    def test_events_made_for_it_and_requests_by_order(self):
        # The host's probes have no numbers of the guest; every second request was lost in the guest's trace.
        sync_in, sync_out = [], []
        for n in range(30):
            t, values = n * 7 * MS, {"cnt": n, "vm_uid": 5}
            for event, sign in (("gh", -1), ("hg", 1)):
                sync_in.append((near(t + sign * 2 * US), f"vmsync_{event}_guest", 0, 9, "s", values))
                sync_out.append((t, f"vmsync_{event}_host", 0, 50, "s", values))
        model = host(*sync_out, numbers=False)
        inside = guest(*sync_in)
        inside.connection.execute("DELETE FROM requests WHERE id % 2 = 1")
        add_guest(model, inside, "VM1", "x")
        (row,) = model.rows("SELECT * FROM guests")
        assert (row["guest_first"], row["host_first"]) == (30, 30)
        assert row["error_ns"] <= 3 * US
        found = model.query(
            "SELECT g.seqno - 1, r.created_ns, joined_by FROM guest_requests g JOIN requests r ON r.id = host_request "
            "ORDER BY 1"
        ).fetchall()
        assert found == [(n, n * 10 * MS, "order") for n in range(0, 20, 2)]
        assert (10,) in model.query("SELECT count FROM unmatched WHERE event = 'request of the host'").fetchall()

    def test_fences_of_virtio_gpu(self):
        inside, outside = [], []
        for n in range(40):
            t, work = n * 8 * MS, {"dev": 0, "vq": 0, "type": 0x207, "flags": 1, "fence_id": n + 1, "ctx_id": 2}
            inside += [
                (near(t - 9 * US), "virtio_gpu_cmd_queue", 0, 300, "game", {**work, "name": "control"}),
                (near(t + 3 * MS + 4 * US), "virtio_gpu_cmd_response", 0, 0, "irq", {**work, "name": "control"}),
            ]
            outside += [
                (t, "virtio_gpu_fence_ctrl", 0, 77, "qemu", {"fence": n + 1, "type": 0x207}),
                (t + 3 * MS, "virtio_gpu_fence_resp", 0, 77, "qemu", {"fence": n + 1}),
            ]
        model = build(MemoryTrace(outside))
        add_guest(model, build(MemoryTrace(inside)), "any", "x")
        (row,) = model.rows("SELECT * FROM guests")
        assert (row["guest_first"], row["host_first"], row["vm"]) == (40, 40, None)
        found = model.query("SELECT count(*), min(latency_ns), max(latency_ns), any_value(label) FROM guest_requests")
        count, least, most, label = found.fetchone()
        assert (count, label) == (40, "SUBMIT_3D")
        assert 3 * MS <= least <= most <= 3 * MS + 20 * US

    def test_one_direction_says_that_nothing_bounds_it(self):
        model = host()
        inside = guest()
        inside.connection.execute("UPDATE requests SET end_ns = NULL")
        add_guest(model, inside, "VM1", "x")
        assert model.scalar("SELECT error_ns FROM guests") is None
        assert model.scalar("SELECT count(*) FROM unmatched WHERE event = 'clock'") == 1

    def test_two_machines_that_could_both_be_it(self):
        rows = []
        for v in (1, 2):
            for n in range(10):
                work = {"vgpu_id": v, "workload_id": n, "ring_id": 0, "guest_ctx": 1, "guest_seqno": n + 1}
                rows.append((n * 10 * MS, "gvt_workload_queue", 0, 50, "q", work))
        model = build(MemoryTrace(rows))
        with pytest.raises(InputError, match="vGPU 1 and vGPU 2 could both be the guest mine"):
            add_guest(model, guest(count=10), "mine", "x")
        add_guest(model, guest(count=10), "vGPU 2", "x")
        assert model.scalar("SELECT vgpu FROM guests") == 2
        with pytest.raises(UsageError, match="two guests"):
            add_guest(model, guest(count=10), "vGPU 2", "x")


def test_threads_of_a_guest_are_not_the_hosts():
    def switch(t, before, after, comm):
        fields = {"prev_comm": "p", "prev_pid": before, "prev_state": 0, "next_comm": comm, "next_pid": after}
        return (t, "sched_switch", 0, before, "p", fields)

    # Thread 300 runs in the guest from 20 to 30 ms; the host has a thread 300 of its own.
    model = host(switch(15 * MS, 0, 300, "own"), switch(18 * MS, 300, 0, "swapper/0"))
    inside = guest(switch(near(20 * MS), 0, 300, "game"), switch(near(30 * MS), 300, 0, "swapper/0"))
    add_guest(model, inside, "VM1", "x")
    (ran,) = model.rows("SELECT * FROM spans WHERE track = 'guest/VM1/thread/300' AND kind = 'running'")
    assert (ran["begin_ns"], ran["end_ns"]) == (pytest.approx(20 * MS, abs=3 * US), pytest.approx(30 * MS, abs=3 * US))
    assert (ran["tid"], ran["cpu"]) == (None, None)
    assert model.query("SELECT guest, tid, comm FROM guest_threads").fetchall() == [("VM1", 300, "game")]
    assert model.query("SELECT sum(end_ns - begin_ns) FROM spans WHERE tid = 300 AND kind = 'running'").fetchall() == [
        (3 * MS,)
    ]
    ids = model.query("SELECT count(*), count(DISTINCT id) FROM spans").fetchone()
    assert ids[0] == ids[1]
    # The way of a request goes through the guest's queue and back.
    way = model.query(
        "SELECT track FROM spans WHERE request = (SELECT host_request FROM guest_requests WHERE seqno = 3) "
        "ORDER BY begin_ns, end_ns"
    ).fetchall()
    tracks = [t for (t,) in way]
    assert (tracks[0], tracks[-1]) == ("guest/VM1/card0/rcs0/queue", "guest/VM1/card0/rcs0/notify")
    assert "vgpu/1/queue" in tracks
    assert "gpu/rcs0" in tracks
