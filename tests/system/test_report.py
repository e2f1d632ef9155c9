"""The page about a kernel trace: its figures, its levels of detail, and that a browser opens it."""

import html
import json
import re
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawtap.output.system_report import Block, unpacked
from drawtap.system import cpus, levels, reader
from drawtap.system.ctf_writer import write_ctf
from drawtap.system.model import build
from drawtap.system.simulator import MS, Client, GuestClock, Scenario, Scheduler, Vgpu, simulate
from kernel_events import MemoryTrace
from shared import new_page, steps


def page(drawtap, trace, folder, *options):
    out = folder / "page.html"
    result = drawtap("report", trace, "-o", out, "--force", *options)
    assert result.code == 0, result.err
    text = out.read_text(encoding="utf-8")
    head, columns = unpacked(re.search(r'<script type="text/plain" id="data">(.*?)</script>', text)[1])
    return text, head, columns


def figures(drawtap, trace, *options):
    return json.loads(drawtap("system", "metrics", trace, *options, "--json").out)


@pytest.fixture(scope="module")
def contention(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated") / "ctf"
    scenario = Scenario(
        "small",
        "",
        (
            Vgpu("VM1", 8, (Client(2 * MS, MS // 5, 1500, depth=2, name="short"),)),
            Vgpu("VM2", 8, (Client(300 * MS, 3 * MS, 8, name="long"),)),
        ),
        Scheduler(),
    )
    write_ctf(folder, simulate(scenario).events.columns(), threads={}, environment={"hostname": "simulation"})
    return folder


# ---- what the page says ---------------------------------------------------------------------------------------------


def test_the_page_has_the_figures_of_metrics(drawtap, drm_sched_trace, tmp_path):
    text, head, columns = page(drawtap, drm_sched_trace, tmp_path)
    plain = html.unescape(re.sub(r"<[^>]+>", " ", text[: text.index('id="data"')]))
    data = figures(drawtap, drm_sched_trace)
    for engine in data["engines"]:
        assert f"{engine['utilisation_percent']:.1f} %" in plain
        assert f'data-v="{engine["mean_wait_ns"]}"' in text
        assert f'data-v="{engine["percentiles"]["latency_ns"]["p99"]}"' in text
    for client in data["clients"]:
        assert client["client"] in plain
    assert "vgpu2-client (802) costs vgpu1-client (801)" in re.sub(r"\s+", " ", plain)
    # Every span of the model is in the page, with the right total.
    with reader.open(drm_sched_trace) as trace, build(trace) as model:
        shown = {row["track"]: i for i, row in enumerate(head["rows"])}
        want = model.query(
            "SELECT count(*), sum(ns)::BIGINT FROM ("
            "SELECT end_ns - begin_ns AS ns FROM spans "
            "WHERE list_contains(?, track) AND NOT (kind = 'blocked' AND track LIKE 'thread/%') UNION ALL "
            "SELECT end_ns - begin_ns FROM spans WHERE kind = 'running')",
            [list(shown)],
        ).fetchone()
    spans = {name: columns[c] for name, c in head["spans"]["columns"].items()}
    assert (len(spans["begin"]), int(spans["length"].sum())) == want
    assert head["detail"] == [[0, head["length"]]]


def test_busy_time_of_the_levels_is_that_of_metrics(drawtap, drm_sched_trace, contention, tmp_path):
    part = ("--from", "0.7", "--to", "1.9")
    for trace, ranges in ((drm_sched_trace, ((), part)), (contention, (part, ()))):
        for options in ranges[: steps(1, 2)]:
            _, head, columns = page(drawtap, trace, tmp_path, *options)
            data = figures(drawtap, trace, *options)
            for group, name in (("engines", "engine"), ("clients", "client"), ("vgpus", "vgpu")):
                shown = sorted(int(columns[s["column"]].sum()) for s in head["usage"][group])
                assert shown == sorted(row["busy_ns"] for row in data[group] if row["busy_ns"]), (group, name)


def test_arrows_and_queues(drawtap, drm_sched_trace, tmp_path):
    _, head, columns = page(drawtap, drm_sched_trace, tmp_path)
    arrows = {name: columns[c] for name, c in head["arrows"].items()}
    kinds = dict(zip(*np.unique(arrows["kind"], return_counts=True), strict=True))
    assert kinds[0] == 194  # each request is asked for by a thread that has a row
    assert kinds[1] == 194  # and waited for
    assert all(arrows["to_ns"] >= arrows["from_ns"])
    queue = next(r for r in head["rows"] if r["track"] == "gpu/rcs0/queue")
    assert queue["shape"] == "queue"
    labels = [r["label"] for r in head["rows"]]
    assert labels.index("rcs0 queue") < labels.index("rcs0") < labels.index("vgpu1-client (801)")


def test_means_of_counters_are_those_of_metrics(drawtap, contention, tmp_path):
    _, head, columns = page(drawtap, contention, tmp_path)
    lengths = {
        s["track"]: columns[s["mean"]]
        for panel in head["counters"]
        for s in panel["series"]
        if panel["unit"] == "count"
    }
    for engine in figures(drawtap, contention)["engines"]:
        mean = np.nan_to_num(lengths[f"{engine['device']}/{engine['engine']}/queue length"])
        width = np.full(len(mean), head["width"], dtype=float)
        width[-1] = head["length"] - head["width"] * (len(mean) - 1)
        assert float((mean * width).sum() / head["length"]) == pytest.approx(
            engine["queue"]["mean"], rel=1e-9, abs=1e-12
        )


def test_histograms_count_every_request(drawtap, contention, tmp_path):
    _, head, columns = page(drawtap, contention, tmp_path)
    ended = sum(e["ended"] for e in figures(drawtap, contention)["engines"])
    for measure in ("wait", "execution", "latency"):
        assert sum(int(columns[h["n"]].sum()) for h in head["histograms"] if h["measure"] == measure) == ended
    # 300 ms is in the step from 2^(112/4) ns on, or the next: jitter.
    long = next(h for h in head["histograms"] if h["measure"] == "execution" and h["client"] == "vGPU 2")
    assert {int(s) for s in columns[long["step"]]} <= {112, 113}


# ---- rows of CPUs ---------------------------------------------------------------------------------------------------

# Who was on each CPU, from the switches themselves: nothing of the model. Two CPUs, machines named by their threads.
_ON_CPUS = """
SELECT cpu, next_tid AS tid, arg_max(next_comm, t) AS comm, sum(until - t)::BIGINT AS ns, count(*) AS n FROM (
  SELECT cpu, t, next_tid, next_comm, lead(t) OVER (PARTITION BY cpu ORDER BY t) AS until FROM sched_switch
) WHERE until IS NOT NULL AND next_tid > 0 GROUP BY cpu, next_tid
"""


def test_cpus_have_rows_with_who_ran_there(drawtap, kvm_traces, tmp_path):
    text, head, columns = page(drawtap, kvm_traces[0], tmp_path)
    with reader.open(kvm_traces[0]) as trace, build(trace) as model:
        switches = model.rows(_ON_CPUS)
        # Before the first switch and after the last one of a CPU the thread is known too.
        edges = sum(
            row["ns"]
            for row in model.rows("SELECT end_ns - begin_ns AS ns FROM spans WHERE kind = 'running' AND is_open")
        )
    spans = {name: columns[c] for name, c in head["spans"]["columns"].items()}
    rows = {row["track"]: (i, row) for i, row in enumerate(head["rows"]) if row["shape"] == "cpu"}
    assert list(rows) == ["cpu/0", "cpu/1"]
    assert [row["label"] for _, row in rows.values()] == ["CPU 0", "CPU 1"]
    assert {row["group"] for _, row in rows.values()} == {"CPUs"}
    assert head["owners"][:4] == ["VM-533", "VM-532", "VM-535", "VM-536"]
    for track, (i, row) in rows.items():
        told = {r["tid"]: r for r in switches if f"cpu/{r['cpu']}" == track}
        drawn, here = {}, spans["track"] == i
        for base, length in zip(spans["base"][here], spans["length"][here], strict=True):
            name = head["spans"]["bases"][base]
            drawn.setdefault(int(name.rpartition("(")[2][:-1]), []).append(int(length))
        assert set(told) <= set(drawn)
        assert all(abs(sum(drawn[tid]) - told[tid]["ns"]) <= edges for tid in told)
        assert all(0 <= len(drawn[tid]) - told[tid]["n"] <= 2 for tid in told)
        # From sums: the same time, by machine and process.
        parts = {p["client"]: int(columns[p["column"]].sum()) for p in row["levels"]}
        assert sum(parts.values()) == sum(map(sum, drawn.values()))
        for machine in (r for r in told.values() if r["comm"].startswith("VM-")):
            assert parts[machine["comm"]] == sum(drawn[machine["tid"]])
            assert head["spans"]["owners"][f"{machine['comm']} ({machine['tid']})"] == machine["comm"]
    # Spans of a CPU do not overlap: one thread at a time.
    for i, _ in rows.values():
        here = spans["track"] == i
        assert np.all((spans["begin"] + spans["length"])[here][:-1] <= spans["begin"][here][1:])
    assert "Rows of CPUs have the colours of virtual machines and processes" in text
    # A window has the part inside, which is what the figures say.
    _, head, columns = page(drawtap, kvm_traces[0], tmp_path, "--from", "1", "--to", "1.5")
    ran = {m["vm"]: m["run_ns"] for m in figures(drawtap, kvm_traces[0], "--from", "1", "--to", "1.5")["vms"]}
    for vm, ns in ran.items():
        parts = [p for row in head["rows"] if row["shape"] == "cpu" for p in row["levels"] if p["client"] == vm]
        assert sum(int(columns[p["column"]].sum()) for p in parts) == ns


def test_cpus_stand_beside_the_engines(drawtap, drm_sched_trace, contention, tmp_path):
    _, head, _ = page(drawtap, drm_sched_trace, tmp_path)
    groups = list(dict.fromkeys(row["group"] for row in head["rows"]))
    assert groups == ["GPU", "CPUs", "Threads and virtual CPUs"]
    # Who asks for work is the same one on the CPUs.
    assert set(head["clients"]) <= set(head["owners"])
    # The page has time of its own for the eight that ran longest; the rest is there, together.
    assert len(head["owners"]) == 9
    assert re.fullmatch(r"others \(\d+\)", head["owners"][-1])
    text, head, _ = page(drawtap, contention, tmp_path)
    assert head["owners"] == []
    assert "who ran on the CPUs is not known" in text


def test_all_threads_of_a_machine_are_the_machine():
    names = {0: "swapper", 10: "win10", 11: "CPU 0/KVM", 12: "worker", 20: "game", 30: "kworker"}
    known = {tid: (comm, {11: 10, 12: 10, 30: None}.get(tid, tid)) for tid, comm in names.items() if tid}
    events = [
        (i * 100, "sched_switch", 0, a, names[a],
         {"prev_pid": a, "prev_comm": names[a], "prev_state": 1, "next_pid": b, "next_comm": names[b]})
        for i, (a, b) in enumerate(pairwise([0, 11, 12, 20, 11, 30, 0]))
    ]  # fmt: skip
    events.append((350, "kvm_entry", 0, 11, "CPU 0/KVM", {"vcpu_id": 0}))
    with build(MemoryTrace(events, known)) as model:
        found = {o.name: (o.is_vm, o.run_ns) for o in cpus.owners(model, model.window)}
        assert found == {"win10": (True, 300), "game (20)": (False, 100), "kworker (30)": (False, 100)}
        owners = cpus.owner_of_names(model, ["win10 vCPU 0 (11)", "worker (12)"])
        assert owners == {"win10 vCPU 0 (11)": "win10", "worker (12)": "win10"}
        sums = levels.on_cpus(model, levels.Buckets.of(*model.window, 5), ["win10"], "others (2)")
        assert [(x.kind, x.busy.tolist()) for x in sums] == [
            ("win10", [100, 100, 0, 100, 0]),
            ("others (2)", [0, 0, 100, 0, 100]),
        ]


# ---- memory ---------------------------------------------------------------------------------------------------------


def _memory_trace(path: Path) -> Path:
    # A machine, and ten processes that ask for more and more; one has little.
    lines = ["# tracer: nop", "#", "#           TASK-PID    TGID     CPU#  |||||  TIMESTAMP  FUNCTION"]
    lines.append("       CPU 0/KVM-41     (   40) [000] d..2. 1.000000: kvm_entry: vcpu 0, rip 0xff")
    for step in range(1, 4):
        for pid in (40, *range(51, 61)):
            lines.append(
                f"           p{pid}-{pid}     (   {pid}) [000] d..2. {1 + step / 10 + pid / 1e5:.6f}: "
                f"gpu_mem_total: gpu_id=0 pid={pid} size={step * pid * 1000}"
            )
    lines.append("       CPU 0/KVM-41     (   40) [000] d..2. 2.000000: kvm_exit: vcpu 0 reason HLT rip 0xff")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_curves_of_memory_by_machine_and_process(drawtap, tmp_path):
    trace = _memory_trace(tmp_path / "memory.txt")
    text, head, columns = page(drawtap, trace, tmp_path)
    panels = {
        title: (panel, more)
        for (panel, title, more) in (
            (next(p for p in head["counters"] if p["id"] == found[2]), found[1], found[3])
            for found in re.finditer(
                r'<h3>([^<]*)</h3><div id="(counter-\d+)-key" class="chips"></div>(?:<p class="hint">([^<]*)</p>)?',
                text,
            )
        )
    }
    assert list(panels) == ["Memory by virtual machine", "Memory by process"]
    (machine,) = panels["Memory by virtual machine"][0]["series"]
    assert machine["label"] == "p40"
    assert columns[machine["v"]].tolist() == [40_000, 80_000, 120_000]
    series, more = panels["Memory by process"][0]["series"], panels["Memory by process"][1]
    assert [s["label"] for s in series] == [f"p{pid} ({pid})" for pid in range(60, 52, -1)]
    assert more == "and 3 more, in no curve"
    data = figures(drawtap, trace)
    for s, row in zip(series, data["memory_processes"], strict=False):
        assert (s["label"], columns[s["v"]][-1], np.nanmax(columns[s["top"]])) == (
            row["client"], row["last_bytes"], row["max_bytes"],
        )  # fmt: skip
    assert len(data["memory_processes"]) == 11
    printed = drawtap("system", "metrics", trace).out
    assert re.search(r"Memory by virtual machine\n.*\np40 +gpu 0 +total", printed)


# ---- levels of detail -----------------------------------------------------------------------------------------------


def test_a_long_trace_has_spans_around_what_matters(drawtap, contention, tmp_path):
    text, head, columns = page(drawtap, contention, tmp_path, "--spans", "1500")
    spans = {name: columns[c] for name, c in head["spans"]["columns"].items()}
    assert 0 < len(spans["begin"]) <= 1500
    assert head["detail"] != [[0, head["length"]]]
    assert "spans are in the page singly" in text
    with reader.open(contention) as trace, build(trace) as model:
        zero = model.window[0]
        # In the times in detail nothing is missing,
        for a, b in head["detail"]:
            there = int(((spans["begin"] + spans["length"] >= a) & (spans["begin"] < b)).sum())
            assert there == model.scalar(
                "SELECT count(*) FROM spans WHERE end_ns >= ? AND begin_ns < ?", [zero + a, zero + b]
            )
    # and they are where the findings point.
    findings = json.loads(drawtap("system", "diagnose", contention, "--json").out)
    worst = findings[0]["worst_at_ns"] - zero
    assert any(a <= worst < b for a, b in head["detail"])
    assert f'data-at="{worst}"' in text


def test_no_spans_at_all(drawtap, contention, tmp_path):
    _, head, columns = page(drawtap, contention, tmp_path, "--spans", "0", "--events", "0")
    assert len(columns[head["spans"]["columns"]["begin"]]) == 0
    assert head["detail"] == []
    assert sum(int(columns[s["column"]].sum()) for s in head["usage"]["engines"]) > 0


class _Model:
    """Only what `levels` asks of a model."""

    def __init__(self, spans):
        self.connection = duckdb.connect(":memory:")
        self.connection.execute(
            "CREATE TABLE spans (id BIGINT, track VARCHAR, kind VARCHAR, begin_ns BIGINT, end_ns BIGINT, name VARCHAR, "
            "request BIGINT, vgpu INTEGER, tid INTEGER, cpu INTEGER)"
        )
        self.connection.execute("CREATE TABLE threads (tid INTEGER, pid INTEGER, comm VARCHAR, is_vcpu BOOLEAN, "
                                "vm VARCHAR, vcpu INTEGER)")  # fmt: skip
        rows = [(i, track, kind, b, b + n) for i, (track, kind, b, n) in enumerate(spans)]
        if rows:
            self.connection.executemany(
                "INSERT INTO spans (id, track, kind, begin_ns, end_ns) VALUES (?, ?, ?, ?, ?)", rows
            )
        self.window = (0, max([1, *(r[4] for r in rows)]))


@settings(max_examples=steps(20, 60), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["gpu/a", "gpu/a/queue", "vgpu/1/queue"]),
            st.sampled_from(["execution", "queued"]),
            st.integers(0, 10_000),
            st.integers(0, 3_000),
        ),
        max_size=40,
    ),
    st.integers(1, 300),
    st.integers(0, 5_000),
    st.integers(1, 9_000),
)
def test_levels_lose_no_nanosecond(spans, most, begin, length):
    model = _Model(spans)
    buckets = levels.Buckets.of(begin, begin + length, most)
    found = {(x.name, x.kind): x.busy for x in levels.tracks(model, buckets, threads=False)}
    for (track, kind), busy in found.items():
        for i, ns in enumerate(busy):
            lo, hi = begin + i * buckets.width, min(begin + (i + 1) * buckets.width, begin + length)
            want = sum(max(0, min(b + n, hi) - max(b, lo)) for t, k, b, n in spans if (t, k) == (track, kind))
            assert ns == want
    named = {(t, k) for t, k, b, n in spans if n and b < begin + length and b + n > begin}
    assert set(found) == named


@settings(max_examples=steps(15, 40), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9_999), st.integers(1, 500)), max_size=60), st.integers(0, 80))
def test_the_times_in_detail_keep_their_bound(pieces, bound):
    spans = [("gpu/a", "execution", b, n) for b, n in pieces]
    model = _Model(spans)
    buckets = levels.Buckets.of(*model.window, 64)
    chosen = levels.windows(model, buckets, [5_000, 100], bound)
    inside = [s for s in spans if any(s[2] + s[3] > a and s[2] < b for a, b in chosen)]
    assert len(inside) <= bound
    if len(spans) <= bound:
        assert chosen == [model.window]
    assert all(a < b for a, b in chosen)
    assert all(x[1] < y[0] for x, y in pairwise(chosen))


@given(st.lists(st.integers(-(2**62), 2**62)), st.booleans())
def test_columns_come_back(values, differences):
    column = np.array(sorted(values) if differences else values, dtype=np.int64)
    if differences and len(column) and (int(column[-1]) - int(column[0])) >= 2**62:
        column = column // 4
    block = Block()
    at = block.ints(column, sorted_=differences)
    other = block.floats(column.astype(float) / 3)
    head, columns = unpacked(block.packed({"a": 1}))
    assert head["a"] == 1
    assert columns[at].tolist() == column.tolist()
    assert columns[other].tolist() == (column.astype(float) / 3).tolist()


# ---- events ---------------------------------------------------------------------------------------------------------


def test_events_with_their_fields(drawtap, drm_sched_trace, tmp_path):
    _, head, columns = page(drawtap, drm_sched_trace, tmp_path)
    events = head["events"]
    named = [events["names"][i] for i in columns[events["event"]]]
    with reader.open(drm_sched_trace) as trace:
        counts = {name: kind.count for name, kind in trace.event_names().items()}
    assert {n: named.count(n) for n in set(named)} == counts
    assert len(events["text"]) == len(named)
    job = named.index("drm_sched_job")
    assert "name=" in events["text"][job]
    assert np.all(np.diff(columns[events["t"]]) >= 0)


def test_some_events_of_many(drawtap, drm_sched_trace, tmp_path):
    text, head, columns = page(drawtap, drm_sched_trace, tmp_path, "--events", "100")
    assert len(columns[head["events"]["t"]]) == 100
    assert "100 of the 5 656 in the trace" in text


def test_listed_events(drawtap, drm_sched_trace):
    def listed(*arguments):
        result = drawtap("list", drm_sched_trace, *arguments, "--json")
        assert result.code == 0, result.err
        return json.loads(result.out)

    assert len(listed()) == 1000
    assert len(listed("--limit", "0")) == 5656
    jobs = listed("-e", "drm_sched_job", "-l", "0")
    assert len(jobs) == 194
    assert {row["event"] for row in jobs} == {"drm_sched_job"}
    assert {row["comm"] for row in jobs} == {"vgpu1-client", "vgpu2-client"}
    assert "job_count=" in jobs[0]["fields"]
    both = listed("-e", "drm_sched_job", "--event", "drm_run_job", "--from", "1", "--to", "1.5")
    assert {row["event"] for row in both} == {"drm_sched_job", "drm_run_job"}
    assert 0 < len(both) < 100
    text = drawtap("list", drm_sched_trace, "-l", "3")
    assert "the first 3" in text.out + text.err
    wrong = drawtap("list", drm_sched_trace, "-e", "drm_sched_jop")
    assert wrong.code == 2
    assert "drm_sched_job" in wrong.err


# ---- what is not there, and what is wrong ----------------------------------------------------------------------------


def test_a_trace_that_no_driver_knows(drawtap, tmp_path):
    trace = tmp_path / "trace.txt"
    trace.write_text(
        "# tracer: nop\n#\n           <...>-1  [000] ....  1.000000: my_event: a=1\n"
        "           <...>-1  [000] ....  2.000000: my_event: a=2\n"
    )
    text, head, _ = page(drawtap, trace, tmp_path)
    assert "no event of this trace is known to a driver" in text
    assert head["rows"] == []


def test_a_cut_trace_says_what_is_missing(drawtap, drm_sched_trace, tmp_path):
    cut = tmp_path / "cut.dat"
    cut.write_bytes(drm_sched_trace.read_bytes()[: drm_sched_trace.stat().st_size * 6 // 10])
    result = drawtap("report", cut)
    if result.code == 0:
        assert "truncated" in (tmp_path / "cut.dat.html").read_text(encoding="utf-8")
    else:
        assert result.code == 4
        assert "hint" in result.err or "cut.dat" in result.err


def test_wrong_input_and_wrong_arguments(drawtap, drm_sched_trace, tmp_path):
    out = tmp_path / "page.html"
    assert drawtap("report", tmp_path / "none.dat", "-o", out).code == 4
    noise = tmp_path / "noise"
    noise.write_bytes(b"\x17\x08\x44nothing of the kind")
    assert drawtap("report", noise, "-o", out).code == 4
    assert not out.exists()
    assert drawtap("report", drm_sched_trace, "-o", out, "--from", "5", "--to", "4").code == 2
    assert drawtap("report", drm_sched_trace, "-o", out, "--spans", "-1").code == 2
    assert drawtap("report", drm_sched_trace, "-o", tmp_path / "no" / "folder.html").code == 2
    out.write_text("mine")
    again = drawtap("report", drm_sched_trace, "-o", out)
    assert (again.code, out.read_text()) == (2, "mine")
    assert "--force" in again.err


def test_names_of_the_trace_cannot_break_the_page(drawtap, tmp_path):
    trace = tmp_path / "trace.txt"
    trace.write_text(
        "# tracer: nop\n#\n  </script><b>x-1  [000] ....  1.000000: sched_switch: prev_comm=</script><b>x prev_pid=1 "
        "prev_prio=120 prev_state=S ==> next_comm=<!--y next_pid=2 next_prio=120\n"
        "  <!--y-2  [000] ....  2.000000: sched_switch: prev_comm=<!--y prev_pid=2 prev_prio=120 prev_state=S ==> "
        "next_comm=swapper/0 next_pid=0 next_prio=120\n"
    )
    text, head, _ = page(drawtap, trace, tmp_path)
    assert "</script><b>x" not in text
    assert "<!--y" not in text
    assert any("<!--y" in r["label"] for r in head["rows"])


# ---- a browser ------------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(browser):
    """Return what opens a page: its document once it drew itself, and what it said to the console."""

    def load(path: Path, hash_: str = "", then=lambda view: None) -> tuple[str, list[str]]:
        view = new_page(browser)
        complaints: list[str] = []
        view.on("console", lambda message: complaints.append(message.text))
        view.on("pageerror", lambda error: complaints.append(str(error)))
        view.goto(f"file://{path}{hash_}")
        view.wait_for_selector("#loading", state="detached")  # what it says after its first drawing
        view.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        then(view)
        document = view.content()
        view.close()
        return document, complaints

    return load


def test_a_browser_draws_it_without_complaint(drawtap, opened, *, drm_sched_trace, contention, kvm_traces, tmp_path):
    for trace in (drm_sched_trace, contention, kvm_traces[0], _memory_trace(tmp_path / "memory.txt")):
        page(drawtap, trace, tmp_path, *(("--spans", "1500") if trace == contention else ()))
        document, complaints = opened(tmp_path / "page.html")
        assert not complaints
        if trace == kvm_traces[0]:
            data = figures(drawtap, trace)
            used = dict(re.findall(r"<span title=\"(VM-[^\"]*)\">[^<]*</span><b>([^<]*)</b>", document))
            assert used == {m["vm"]: f"{m['run_ns'] / data['window']['duration_ns']:.2f}" for m in data["vms"]}
        if trace == drm_sched_trace:
            shares = dict(re.findall(r"<span title=\"([^\"]*rcs0)\">[^<]*</span><b>([^<]*)</b>", document))
            data = figures(drawtap, trace)
            for client in (c for c in data["clients"] if c["engine"] == "rcs0"):
                assert shares[f"{client['client']} · rcs0"] == f"{client['utilisation_percent']:.1f} %"
            assert "5 656 of 5 656 events".replace(" ", "\u202f", 1) in document.replace("&#8239;", "\u202f").replace(
                "5\u202f656 of 5\u202f656", "5\u202f656 of 5 656"
            )


def test_a_browser_shows_the_way_of_a_guests_request(drawtap, opened, tmp_path):
    scenario = Scenario("small", "", (Vgpu("VM1", 8, (Client(2 * MS, MS, 40, name="game"),)),))
    done = simulate(scenario)
    write_ctf(tmp_path / "host", done.events.columns())
    clock = GuestClock(5_000 * MS, 20e-6)
    write_ctf(tmp_path / "inside", done.events.guest_columns(1, clock), environment={"hostname": "VM1"})
    text, head, columns = page(drawtap, tmp_path / "host", tmp_path, "--guest", tmp_path / "inside")
    rows = {row["track"]: row for row in head["rows"] if row["group"] == "Guest VM1"}
    assert list(rows) == ["guest/VM1/card0/rcs0/queue", "guest/VM1/card0/rcs0/notify"]
    assert "Guest traces" in text
    queue = [row["track"] for row in head["rows"]].index("guest/VM1/card0/rcs0/queue")
    spans = {name: columns[c] for name, c in head["spans"]["columns"].items()}
    # The first is asked for just before the host's trace begins; here it is cut off.
    assert set(spans["request"][spans["track"] == queue]) == set(range(40))
    document, complaints = opened(tmp_path / "page.html", f"#t=0,{head['length'] // 4},r=3")
    assert not complaints
    way = re.sub(r"<[^>]+>", " ", re.search(r'<div id="way">(.*?)</ol>', document, re.DOTALL)[1])
    said = ("waits in the guest", "waits in the hypervisor", "on the engine (rcs0)", "the guest does not know")
    assert [way.find(words) for words in said] == sorted(way.find(words) for words in said)
    assert all(words in way for words in said)


def test_a_browser_shows_the_way_of_a_request(drawtap, opened, drm_sched_trace, tmp_path):
    _, head, _ = page(drawtap, drm_sched_trace, tmp_path)
    document, complaints = opened(tmp_path / "page.html", f"#t=0,{head['length'] // 4},r=20")
    assert not complaints
    way = re.search(r'<div id="way">(.*?)</ol>', document, re.DOTALL)
    assert way, "the way is hidden"
    said = re.sub(r"<[^>]+>", " ", way[1])
    assert "waits in the queue" in said
    assert "on the engine (rcs0)" in said


# What the graph draws of five zooms: of each row that it draws from sums, the sum in its steps and that in the columns.
_DRAWN = """() => {
  const { graph, data, look, draw } = systemReport, out = [];
  for (let zoom = 0; zoom < 5; zoom++) {
    const span = data.length / 3 ** zoom;
    look(data.length / 3, data.length / 3 + span);
    draw();
    for (const [id, level] of graph.kept) {
      if (level.single) continue;
      const sum = (values) => values.reduce((a, b) => a + b, 0);
      for (const p of level.parts) {
        const fine = graph.row(id).levels[p.part].steps[0], first = level.begin / fine.width;
        const there = sum(fine.values.slice(first, level.end / fine.width));
        out.push([sum(p.count ?? p.busy), there, level.step, Number.isInteger(first)]);
      }
    }
  }
  return out;
}"""


def test_the_graph_of_the_page_is_that_of_the_viewer(drawtap, opened, drm_sched_trace, contention, tmp_path):
    def by_keys(view) -> None:
        view.focus("#graph .tracks")
        for key in ("ArrowDown", "ArrowDown", ".", ".", "f", "f"):
            view.keyboard.press(key)
        span, row = view.evaluate("[systemReport.graph.span.length, systemReport.graph.span.row.label]")
        assert row == "bcs0"
        assert view.evaluate("systemReport.view().b - systemReport.view().a") < 2 * span
        assert view.is_visible("#way")
        view.keyboard.press("Escape")
        assert not view.is_visible("#way")
        view.evaluate("document.activeElement.blur()")
        for key in ("0", "w", "d"):
            view.keyboard.press(key)
        a, b = view.evaluate("[systemReport.view().a, systemReport.view().b]")
        assert 0 < a < b

    def sums(view) -> None:
        drawn = view.evaluate(_DRAWN)
        assert len({step for _, _, step, _ in drawn}) >= 3
        assert all(whole and shown == there for shown, there, _, whole in drawn)

    for trace, then in ((drm_sched_trace, by_keys), (contention, sums)):
        page(drawtap, trace, tmp_path, "--spans", "6000" if then is by_keys else "0")
        _, complaints = opened(tmp_path / "page.html", then=then)
        assert not complaints
