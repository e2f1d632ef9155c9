"""The scheduler of GVT-g, simulated: its recordings give the figures of Belkhiri & Dagenais 2024 when analysed."""

import json
import shutil
import subprocess

import pytest

from drawtap.errors import InputError, UsageError
from drawtap.system import reader
from drawtap.system.ctf_writer import Columns, write_ctf
from drawtap.system.metrics import groups
from drawtap.system.model import build
from drawtap.system.simulator import MS, SCENARIOS, SECOND, US, Client, Scenario, Scheduler, Vgpu, simulate
from drawtap.system.whatif import load_scenario
from shared import steps


def outcomes(drawtap, *arguments):
    result = drawtap("system", "simulate", *arguments, "--json")
    assert result.code == 0, result.err
    return {
        (run["variant"], vgpu["name"]): {**vgpu, "run_ends": run["ends_s"]}
        for run in json.loads(result.out)["runs"]
        for vgpu in run["vgpus"]
    }


def test_alone(drawtap):
    one = outcomes(drawtap, "alone")["as it is", "VM1"]
    assert one["ends_s"] == pytest.approx(27, abs=0.5)
    assert one["utilisation_percent"] == pytest.approx(80, abs=1)


def test_an_idle_neighbour_costs_half(drawtap):
    one = outcomes(drawtap, "idle-neighbour")["as it is", "VM1"]
    assert one["ends_s"] == pytest.approx(48, abs=0.5)
    assert one["utilisation_percent"] == pytest.approx(45, abs=1)


def test_with_the_slow_down_of_the_paper(drawtap):
    one = outcomes(drawtap, "slow-neighbour")["as it is", "VM1"]
    assert one["ends_s"] == pytest.approx(58, abs=1)
    assert one["utilisation_percent"] == pytest.approx(46, abs=1)


def test_a_hotspot_ends_when_its_neighbour_does(drawtap):
    found = outcomes(drawtap, "hotspot")
    during, after = found["as it is", "VM1"]["phases_percent"]
    assert during == pytest.approx(16, abs=1)
    assert after == pytest.approx(45, abs=1)
    assert found["as it is", "VM1"]["preemptions"] == 0


@pytest.mark.exhaustive  # four times a minute of a GPU
def test_hotspot_and_what_if(drawtap):
    found = outcomes(drawtap, "hotspot", "--what-if", "no carry", "--what-if", "work conserving", "--what-if", "both")
    during, after = found["as it is", "VM1"]["phases_percent"]
    assert during == pytest.approx(16, abs=1)
    assert after == pytest.approx(45, abs=1)
    assert found["as it is", "VM2"]["phases_percent"][0] == pytest.approx(80, abs=1)
    # What the paper proposes against contention makes it worse for the victim,
    assert found["no carry", "VM1"]["phases_percent"][0] < during / 2
    # and so does giving away idle time, as long as work is not taken off the engine.
    assert found["work conserving", "VM1"]["phases_percent"][0] < during / 2
    assert found["both", "VM1"]["phases_percent"][0] == pytest.approx(45, abs=2)
    assert found["both", "VM1"]["preemptions"] > 1000
    assert found["as it is", "VM1"]["preemptions"] == 0


@pytest.mark.parametrize(("executions", "waits"), [("exponential", 1.0), ("even", 0.5)])
def test_open_arrivals_give_the_queues_of_theory(tmp_path, executions, waits):
    # M/M/1 and M/D/1 at half load, executions of one second on average.
    count, rate, tick = 8_000, 0.5, 0.1
    client = Client(SECOND, round(SECOND / rate), count, arrivals="poisson", executions=executions, jitter=0)
    rules = Scheduler(work_conserving=True, tick_ns=round(tick * SECOND), period_ns=SECOND)
    done = simulate(Scenario("queue", "", (Vgpu("one", clients=(client,)),), rules), until_ns=100_000 * SECOND)
    assert not done.stopped
    write_ctf(tmp_path / "t", done.events.columns())
    with reader.open(tmp_path / "t") as trace, build(trace) as model:
        (figures,) = groups(model, "vgpus", model.window)
        waiting = model.scalar("SELECT avg(begin_ns - created_ns) / 1e9 FROM requests")
        seconds = (model.window[1] - model.window[0]) / SECOND
    assert figures["jobs"] == figures["ended"] == count
    # Variance of the mean wait of so many in a row in M/M/1 (they depend on each other); in M/D/1 it is smaller.
    load = rate
    variance = load * (2 + 5 * load - 4 * load**2 + load**3) / (1 - load) ** 4 / count
    margin = 3 * variance**0.5 + tick
    assert waiting == pytest.approx(waits, abs=margin)
    # By Little's law; and so many arrivals take as long as they do on average, within three deviations.
    assert count / seconds == pytest.approx(rate, rel=3 / count**0.5)
    assert figures["queue"]["mean"] == pytest.approx(count / seconds * waiting, rel=0.01)
    assert figures["queue"]["mean"] == pytest.approx(rate * waits, abs=margin)


def test_open_clients_wait_for_no_answer():
    # Executions take three times as long as the time between two requests.
    periodic = Client(30 * MS, 10 * MS, 5, arrivals="periodic", jitter=0)
    recorded = Client(30 * MS, 0, 3, start_ns=MS, arrivals="recorded", times_ns=(0, 5 * MS, 5 * MS), jitter=0)
    done = simulate(Scenario("open", "", (Vgpu("one", clients=(periodic, recorded)),)))
    asked = {c.name: c for c in done.events.columns()}["gvt_workload_queue"]
    assert sorted(int(t) for t in asked.t) == [t * MS for t in (1, 6, 6, 10, 20, 30, 40, 50)]


def test_arrivals_of_a_recording(tmp_path, drm_sched_trace, drawtap):
    with reader.open(drm_sched_trace) as trace, build(trace) as model:
        times = [
            t for (t,) in model.query("SELECT coalesce(created_ns, queued_ns) AS t FROM requests ORDER BY t").fetchall()
        ]
    shutil.copy(drm_sched_trace, tmp_path / "trace.dat")
    path = tmp_path / "mine.toml"
    path.write_text('[[vgpu]]\n[[vgpu.client]]\nrecorded = "trace.dat"\nexecution_us = 50\n')
    (client,) = load_scenario(str(path)).vgpus[0].clients
    assert client.times_ns == tuple(t - times[0] for t in times)
    assert outcomes(drawtap, path)["as it is", "VM1"]["requests"] == len(times)
    path.write_text('[[vgpu]]\n[[vgpu.client]]\nrecorded = "trace.dat"\nrecorded_engine = "x"\nexecution_us = 50\n')
    with pytest.raises(InputError, match="no request on x"):
        load_scenario(str(path))


@pytest.mark.parametrize(
    "client",
    [
        Client(MS, MS, 1, arrivals="poison"),
        Client(MS, MS, 1, executions="odd"),
        Client(MS, 0, 1, arrivals="poisson"),
        Client(MS, MS, 2, arrivals="periodic", depth=2),
        Client(MS, MS, 2, arrivals="recorded", times_ns=(5, 1)),
        Client(MS, MS, 2, times_ns=(1, 5)),
    ],
)
def test_open_clients_that_make_no_sense(client):
    with pytest.raises(UsageError):
        simulate(Scenario("bad", "", (Vgpu("one", clients=(client,)),)))


@pytest.fixture
def small():
    clients = (Client(2 * MS, MS, 40, name="a", jitter=0.2), Client(MS, MS // 2, 20, engine=1, depth=2))
    return Scenario("small", "", (Vgpu("one", 8, clients), Vgpu("two", 4, (Client(30 * MS, 0, 5),))))


def recorded(scenario, folder):
    done = simulate(scenario)
    count = write_ctf(folder, done.events.columns())
    return done, count


def test_work_is_done_once_and_whole(small, tmp_path):
    from drawtap.system.model import build

    done, _ = recorded(small, tmp_path / "t")
    with reader.open(tmp_path / "t") as trace, build(trace) as model:
        rows = model.query(
            "SELECT vgpu, engine, count(*), count(unmatched) FROM requests GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        assert rows == [(1, "bcs0", 20, 0), (1, "rcs0", 40, 0), (2, "rcs0", 5, 0)]
        # One workload of an engine is in flight at a time, and all engines go to one virtual GPU.
        overlap = """
            SELECT count(*) FROM executions a JOIN executions b ON a.begin_ns < b.end_ns AND b.begin_ns < a.end_ns
            JOIN requests r ON r.id = a.request JOIN requests s ON s.id = b.request
            WHERE a.request <> b.request AND ({}) """
        assert model.scalar(overlap.format("a.engine = b.engine")) == 0
        assert model.scalar(overlap.format("r.vgpu <> s.vgpu")) == 0
    assert set(done.finished_ns) == {(1, 0), (1, 1), (2, 0)}


def test_preempted_work_takes_as_long_in_all(tmp_path):
    from drawtap.system.model import build

    clients = tuple((Client(37 * MS, 0, 10, jitter=0),) for _ in range(2))
    scenario = Scenario("p", "", tuple(Vgpu(f"v{i}", 8, c) for i, c in enumerate(clients)), Scheduler(preemption=True))
    recorded(scenario, tmp_path / "t")
    with reader.open(tmp_path / "t") as trace, build(trace) as model:
        times = model.query("SELECT execution_ns, preemptions FROM requests WHERE execution_ns IS NOT NULL").fetchall()
        assert len(times) >= 19  # the run ends with the last client's answer
        assert {round(t / MS, 1) for t, _ in times} == {37.0}
        assert sum(p for _, p in times) > 100


def test_a_seed_repeats_a_run(small):
    assert simulate(small).finished_ns == simulate(small).finished_ns


def test_debts_keep_a_vgpu_waiting():
    done = []
    for carry in (10, 1):
        scenario = Scenario("debts", "", SCENARIOS["hotspot"].vgpus, Scheduler(carry_periods=carry))
        columns = {c.name: c for c in simulate(scenario, until_ns=6000 * MS).events.columns()}
        done.append(sum(columns["gvt_workload_complete"].values[0] == 2))
    assert done[0] < done[1]


@pytest.mark.skipif(shutil.which("babeltrace2") is None, reason="babeltrace2 is not installed")
def test_babeltrace_reads_the_same(small, tmp_path):
    _, count = recorded(small, tmp_path / "t")
    out = subprocess.run(["babeltrace2", tmp_path / "t"], check=True, capture_output=True, text=True).stdout
    assert len(out.splitlines()) == count
    with reader.open(tmp_path / "t") as trace:
        for name, kind in trace.event_names().items():
            assert out.count(f" {name}: ") == kind.count


def test_many_packets_and_no_events(tmp_path):
    rows = [(t, 7, t % 3, -t) for t in range(120_001)]
    assert (
        write_ctf(tmp_path / "many", [Columns.from_rows("e", (("a", "u8"), ("b", "s64")), rows)], threads={7: "x" * 40})
        == 120_001
    )
    with reader.open(tmp_path / "many") as trace:
        assert trace.event_names()["e"].count == 120_001
        assert trace.bounds() == (0, 120_000)
    assert write_ctf(tmp_path / "none", []) == 0


def test_a_page_with_plots(drawtap, tmp_path):
    page = tmp_path / "page.html"
    result = drawtap("system", "simulate", "alone", "-o", page)
    assert result.code == 0, result.err
    assert page.read_text().count("<polyline") == 1
    assert drawtap("system", "simulate", "alone", "-o", page).code == 2


SCENARIO = """
seed = 3
[scheduler]
period_ms = 20
work_conserving = true
[[vgpu]]
name = "left"
weight = 4
[[vgpu.client]]
execution_ms = 1.5
gap_us = 100
count = 50
[[vgpu]]
"""


def test_a_scenario_from_a_file(drawtap, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(SCENARIO)
    found = load_scenario(str(path))
    assert found.scheduler.period_ns == 20 * MS
    assert [v.name for v in found.vgpus] == ["left", "VM2"]
    assert found.vgpus[0].clients[0].gap_ns == 100_000
    assert ("as it is", "left") in outcomes(drawtap, path)


def test_what_is_open_when_a_run_is_stopped_waits_for_its_card(drawtap, tmp_path):
    (tmp_path / "s.toml").write_text(
        "[[vgpu]]\n[[vgpu.client]]\nexecution_ms = 300\ngap_ms = 5\ncount = 90\n"
        "[[vgpu]]\n[[vgpu.client]]\nexecution_ms = 20\ngap_ms = 1\ncount = 900\ndepth = 4\n"
    )
    data = json.loads(
        drawtap("system", "simulate", tmp_path / "s.toml", "--until", "3", "-r", tmp_path / "r", "--json").out
    )
    (run,) = data["runs"]
    assert run["stopped_s"] == 3
    assert all(v["ends_s"] is None and v["phases_percent"] and v["mean_wait_ns"] for v in run["vgpus"])
    info = json.loads(drawtap("info", run["recording"], "--json").out)
    assert info["environment"]["stopped"].startswith("after 3 s")
    query = "SELECT device, engine, count(*) AS n, count(unmatched) AS open FROM requests GROUP BY ALL"
    (group,) = json.loads(drawtap("sql", run["recording"], query, "--json").out)
    assert (group["device"], group["engine"]) == ("card0", "rcs0")
    assert group["open"] > 1
    assert drawtap("system", "simulate", "alone", "--until", "0").code == 2


def test_a_run_without_end_is_stopped_and_said_so(drawtap, tmp_path):
    path = tmp_path / "long.toml"
    path.write_text("[[vgpu]]\n[[vgpu.client]]\nexecution_s = 50\ngap_ms = 1\ncount = 100\n")
    result = drawtap("system", "simulate", path)
    assert result.code == 0, result.err
    assert "stopped after 600 s, when VM1" in result.out


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("[[vgpu]", InputError, "no TOML"),
        ("vgpu = 3", InputError, "no array of tables"),
        ("[[vgpu]]\nwait = 3", InputError, "wait means nothing"),
        ("[[vgpu]]\nweight = 'much'", InputError, "is no int"),
        ("[[vgpu]]\n[[vgpu.client]]\ngap_ms = 1", InputError, "without execution_ns, count"),
        ("[[vgpu]]\n[[vgpu.client]]\ngap_ms = 1\nexecution_ms = 0\ncount = 1", UsageError, "asks for nothing"),
        ("[[vgpu]]\nweight = 99", UsageError, "weight 99"),
        ("[scheduler]\nperiod_ms = 0.1\n[[vgpu]]", UsageError, "cannot be"),
        ("", UsageError, "without virtual GPUs"),
        ("speed = 3\n[[vgpu]]", InputError, "speed means nothing"),
    ],
)
def test_files_that_make_no_sense(tmp_path, text, error, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(error, match=message):
        load_scenario(str(path))


@pytest.mark.parametrize(
    "arguments",
    [("nowhere",), ("hotspot", "--weights", "a,b"), ("hotspot", "--weights", "1"), ("hotspot", "--what-if", "x")],
)
def test_wrong_use(drawtap, arguments):
    result = drawtap("system", "simulate", *arguments)
    assert result.code == 2
    assert "Traceback" not in result.err


def test_shares_follow_the_weights_where_debts_are_kept():
    def share(weights, **rules):
        clients = (Client(1500 * US, 200 * US, 400_000, jitter=0), Client(800 * MS, 200 * US, 99))
        vgpus = tuple(Vgpu(f"VM{n}", w, (c,)) for n, (w, c) in enumerate(zip(weights, clients, strict=True)))
        run = simulate(Scenario("weights", "", vgpus, Scheduler(**rules)), until_ns=40 * SECOND)
        (done,) = (c for c in run.events.columns() if c.name == "gvt_workload_complete")
        return int((done.values[0] == 1).sum()) * 1500 * US / run.end_ns

    weights = ((8, 8), (12, 4), (14, 2), (16, 1))[:: steps(3, 1)]
    kept = [share(w, carry_periods=600) for w in weights]
    assert kept == sorted(kept)
    assert kept[-1] > 1.5 * kept[0]
    forgotten = [share(w) for w in weights]
    assert max(forgotten) - min(forgotten) < 0.02  # the debt of a workload of 800 ms is forgotten before it is paid
