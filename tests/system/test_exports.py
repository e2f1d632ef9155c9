"""Kernel timelines in other formats, opened by those who made the formats."""

# ruff: noqa: E501 - queries are easier to read in one line

from __future__ import annotations

import json
import shutil
import subprocess

import duckdb
import pytest

from drawtap.system import reader
from drawtap.system.exporter import EXPORTS, Window
from drawtap.system.model import build
from kernel_events import MemoryTrace
from kernel_files import gpu_packets, message
from trace_processor import ask, bundle


@pytest.fixture(scope="module")
def opened(drm_sched_trace):
    with reader.open(drm_sched_trace) as trace, build(trace) as model:
        yield trace, model


def counts(model):
    spans, marks = model.query(
        "SELECT count(*) FILTER (end_ns > begin_ns), count(*) FILTER (end_ns = begin_ns) FROM spans"
    ).fetchone()
    arrows = model.scalar("SELECT count(*) FROM links WHERE from_kind = 'span' AND to_kind = 'span'")
    return spans, marks, arrows, model.scalar("SELECT count(*) FROM counters")


def test_perfetto_as_trace_processor_sees_it(opened, tmp_path):
    bundle()
    trace, model = opened
    path = tmp_path / "x.pftrace"
    assert EXPORTS.get("perfetto").write(trace, model, path) == path.stat().st_size
    slices, engines, flows, counters, wrong, parents, kinds = ask(
        path.read_bytes(),
        [
            "SELECT count(*), min(ts), max(ts + dur) FROM slice",
            "SELECT t.name, count(*), sum(s.dur) FROM slice s JOIN track t ON t.id = s.track_id "
            "WHERE t.name IN ('rcs0', 'bcs0') AND s.category = 'execution' GROUP BY 1 ORDER BY 1",
            "SELECT count(*), sum(b.ts >= a.ts) FROM flow f JOIN slice a ON a.id = f.slice_out JOIN slice b ON b.id = f.slice_in",
            "SELECT count(*), max(value) FROM counter",
            "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0",
            "SELECT p.name, t.name FROM track t JOIN track p ON p.id = t.parent_id WHERE t.name LIKE 'queue%' ORDER BY 1, 2",
            "SELECT count(*) FROM slice s JOIN args a USING (arg_set_id) WHERE a.key LIKE '%request' AND s.category = 'queued'",
        ],
        tmp_path,
    )
    spans, marks, arrows, numbers = counts(model)
    first, last = model.query("SELECT min(begin_ns), max(end_ns) FROM spans").fetchone()
    assert slices == [(spans + marks, first, last)]
    ours = model.query(
        "SELECT split_part(track, '/', 2), count(*), sum(end_ns - begin_ns) FROM spans WHERE kind = 'execution' "
        "GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert engines == [(name, count, int(busy)) for name, count, busy in ours]
    assert flows == [(arrows, arrows)]
    assert counters == [(numbers, model.scalar("SELECT max(value) FROM counters"))]
    assert wrong == []
    assert ("rcs0", "queue") in parents
    assert ("rcs0", "queue length") in parents
    # Requests that wait at the same time stand on rows of their own.
    assert any(name.startswith("queue (") for _, name in parents)
    assert kinds == [(model.scalar("SELECT count(*) FROM spans WHERE kind = 'queued' AND request IS NOT NULL"),)]


def test_chrome_json(opened, tmp_path):
    trace, model = opened
    path = tmp_path / "x.json"
    assert EXPORTS.get("chrome").write(trace, model, path) == path.stat().st_size
    events = json.loads(path.read_text())["traceEvents"]
    spans, marks, arrows, numbers = counts(model)
    kinds = {kind: [e for e in events if e["ph"] == kind] for kind in "XisfCM"}
    assert [len(kinds[k]) for k in "XisfC"] == [spans, marks, arrows, arrows, numbers]
    total = model.scalar("SELECT sum(end_ns - begin_ns) FROM spans")
    assert round(sum(e["dur"] for e in kinds["X"]) * 1000) == total
    rows = {}
    for e in sorted(kinds["X"], key=lambda e: e["ts"]):
        end = rows.get((e["pid"], e["tid"]), 0)
        assert e["ts"] >= end - 1e-6, "events of a row overlap"
        rows[e["pid"], e["tid"]] = e["ts"] + e["dur"]
    names = {e["args"]["name"] for e in kinds["M"]}
    assert {"gpu", "threads", "rcs0/queue"} <= names


def test_chrome_json_as_trace_processor_sees_it(opened, tmp_path):
    bundle()
    trace, model = opened
    path = tmp_path / "x.json"
    EXPORTS.get("chrome").write(trace, model, path)
    spans, marks, arrows, numbers = counts(model)
    slices, flows, counters = ask(
        path.read_bytes(), [f"SELECT count(*) FROM {name}" for name in ("slice", "flow", "counter")], tmp_path
    )
    assert (slices, flows, counters) == ([(spans + marks,)], [(arrows,)], [(numbers,)])


def everything(trace, name, fields):
    connection = duckdb.connect()
    connection.register("e", trace.events(name, ["cpu", "tid", "comm", *fields]))
    return connection.execute("SELECT * FROM e ORDER BY ALL").fetchall()


@pytest.mark.parametrize("source", ["drm_sched_trace", "kvm_traces", "qemu_log"])
def test_ctf_has_every_event_with_every_field(source, request, tmp_path):
    path = request.getfixturevalue(source)
    path = path[0] if isinstance(path, tuple) else path
    folder = tmp_path / "ctf"
    with reader.open(path) as trace, build(trace) as model:
        EXPORTS.get("ctf").write(trace, model, folder)
        spans, marks, _, numbers = counts(model)
        with reader.open(folder) as again:
            assert again.problems == ()
            assert again.environment["domain"] == "kernel"
            assert again.clock.monotonic == trace.clock.monotonic
            assert (again.clock.epoch_offset_ns or 0) == (trace.clock.epoch_offset_ns or 0)
            found = {n: t.count for n, t in again.event_names().items()}
            assert found.pop("drawtap_span", 0) == spans + marks
            assert found.pop("drawtap_counter", 0) == numbers
            assert found == {n: t.count for n, t in trace.event_names().items()}
            for name in found:
                fields = [f.name for f in trace.fields(name)]
                renamed = {"prev_pid": "prev_tid", "next_pid": "next_tid"} if name == "sched_switch" else {}
                renamed = {"pid": "tid"} if name == "sched_waking" else renamed
                theirs = {f.name for f in again.fields(name)}
                sources = [(f, renamed.get(f, f) if renamed.get(f, f) in theirs else f) for f in fields]
                before = everything(trace, name, [f"f{i}=event.{f}" for i, (f, _) in enumerate(sources)])
                after = everything(again, name, [f"f{i}=event.{g}" for i, (_, g) in enumerate(sources)])
                # CTF does not know that a CPU, a thread or a name is unknown.
                known = [
                    (t, cpu or 0, -1 if tid is None else tid, comm or "", *rest) for t, cpu, tid, comm, *rest in before
                ]
                assert sorted(known) == sorted(after), name


def test_ctf_as_babeltrace2_reads_it(opened, tmp_path):
    if shutil.which("babeltrace2") is None:
        pytest.skip("babeltrace2 is not installed")
    trace, model = opened
    EXPORTS.get("ctf").write(trace, model, tmp_path / "ctf")
    command = ["babeltrace2", "--clock-cycles", "--no-delta", str(tmp_path / "ctf")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    spans, marks, _, numbers = counts(model)
    assert len(lines) == spans + marks + numbers + sum(t.count for t in trace.event_names().values())
    assert lines == sorted(lines, key=lambda line: int(line[1:21]))
    switch = next(line for line in lines if "sched_switch" in line)
    assert "prev_tid = 796, prev_prio = 120, prev_state = 256" in switch
    assert "next_tid = 15" in switch


def test_parquet(opened, tmp_path):
    trace, model = opened
    folder = tmp_path / "tables"
    EXPORTS.get("parquet").write(trace, model, folder)
    with duckdb.connect() as connection:
        for name in ("requests", "spans", "counters", "links", "executions", "threads", "state", "unmatched"):
            count = connection.execute(f"SELECT count(*) FROM '{folder / name}.parquet'").fetchone()[0]
            assert count == model.scalar(f"SELECT count(*) FROM {name}")
        events = f"'{folder}/events/sched_switch.parquet'"
        switches = connection.execute(f"SELECT count(*), max(next_pid) FROM {events}").fetchone()
    assert switches[0] == trace.event_names()["sched_switch"].count


def test_command(drawtap, drm_sched_trace, tmp_path):
    target = tmp_path / "x.pftrace"
    answer = drawtap("export", drm_sched_trace, "-o", target)
    assert answer.code == 0, answer.err
    assert "perfetto" in answer.out
    assert drawtap("export", drm_sched_trace, "-o", target).code == 2
    assert drawtap("export", drm_sched_trace, "-o", target, "--force").code == 0
    assert drawtap("export", drm_sched_trace, "-o", tmp_path / "x.bin").code == 2
    assert drawtap("export", drm_sched_trace, "-o", tmp_path / "no" / "x.json").code == 2
    assert drawtap("export", tmp_path / "none", "-o", tmp_path / "y.json").code == 4
    folder = tmp_path / "ctf"
    assert drawtap("export", drm_sched_trace, "-f", "ctf", "-o", folder).code == 0
    before = sorted(p.name for p in folder.iterdir())
    assert drawtap("export", drm_sched_trace, "-f", "ctf", "-o", folder).code == 2
    assert drawtap("export", drm_sched_trace, "-f", "ctf", "-o", folder, "--force").code == 0
    assert sorted(p.name for p in folder.iterdir()) == before
    assert not [p for p in tmp_path.iterdir() if p.name.endswith(".part")]


def test_every_format_is_documented():
    for name, entry in EXPORTS.items():
        assert entry.help.strip(), name


def test_ftrace_of_perfetto_is_what_trace_processor_sees(tmp_path):
    bundle()
    # Written by the tests, read by both.
    switches = [(10_000 + 100 * i, (i % 3) + 5) for i in range(30)]
    events = [
        (2, message((1, t), (2, 9), (4, message((1, "a"), (2, 9), (3, 120), (4, 1), (5, f"t{to}"), (6, to), (7, 120)))))
        for t, to in switches
    ]
    clocks = message((1, message((1, 6), (2, 9000))), (1, message((1, 3), (2, 9000))))
    path = tmp_path / "x.pftrace"
    path.write_bytes(message((1, message((6, clocks))), (1, message((1, message((1, 1), *events))))))
    (theirs,) = ask(
        path.read_bytes(),
        ["SELECT s.ts, t.tid, t.name FROM sched s JOIN thread t USING (utid) ORDER BY s.ts"],
        tmp_path,
    )
    with reader.open(path) as trace:
        connection = duckdb.connect()
        connection.register("e", trace.events("sched_switch", ["next_pid", "next_comm"]))
        assert [r for r in theirs if r[0] >= switches[0][0]][-len(switches) :] == connection.execute(
            "SELECT * FROM e"
        ).fetchall()


def test_packets_of_a_gpu_are_what_trace_processor_sees(tmp_path):
    bundle()
    path = tmp_path / "gpu.pftrace"
    path.write_bytes(gpu_packets())
    stages, counters = ask(
        path.read_bytes(),
        [
            "SELECT s.name, t.name, s.dur, s.submission_id FROM gpu_slice s JOIN track t ON t.id = s.track_id "
            "WHERE s.submission_id > 0 AND t.name <> 'Vulkan Events' ORDER BY s.ts, s.dur DESC",
            "SELECT t.name, c.value FROM counter c JOIN gpu_counter_track t ON t.id = c.track_id "
            "WHERE t.name IN ('busy', 'read', 'clock') ORDER BY c.ts, t.name",
        ],
        tmp_path,
    )
    with reader.open(path) as trace, build(trace) as model:
        assert (
            stages
            == model.query(
                # A stage's own name is newer than this trace_processor.
                "SELECT if(stage = 'shading', 'binning', stage), queue, coalesce(duration_ns, 0), submission_id FROM gpu_render_stage "
                "WHERE submission_id > 0 ORDER BY t, duration_ns DESC"
            ).fetchall()
        )
        ours = model.query("SELECT track[6:], value, t_ns FROM counters WHERE track LIKE 'gpu0/%' ORDER BY t_ns, track")
        found = [(n, v * (1e-6 if n == "clock" else 1)) for n, v, _ in ours.fetchall() if "queue" not in n]
        # It closes each counter with a zero, where the last value of ours holds on.
        assert counters[: len(found)] == found


@pytest.fixture(scope="module")
def part(opened):
    _, model = opened
    begin, end = model.window
    third = (end - begin) // 3
    return Window(begin + third, begin + 2 * third)


def test_a_part_has_its_events_and_what_lasts_into_it(opened, part, tmp_path):
    trace, model = opened
    EXPORTS.get("ctf").write(trace, model, tmp_path / "ctf", part)
    EXPORTS.get("parquet").write(trace, model, tmp_path / "tables", part)
    touching = model.scalar(f"SELECT count(*) FROM spans WHERE begin_ns < {part.end} AND end_ns >= {part.begin}")
    with reader.open(tmp_path / "ctf") as again, duckdb.connect() as connection:
        for name in trace.event_names():
            connection.register("e", trace.events(name))
            inside = connection.execute(
                f"SELECT count(*) FROM e WHERE t >= {part.begin} AND t < {part.end}"
            ).fetchall()[0][0]
            connection.unregister("e")
            counted = again.event_names()[name].count if name in again.event_names() else 0
            assert counted == inside, name
            path = tmp_path / "tables" / "events" / f"{name}.parquet"
            assert connection.execute(f"SELECT count(*) FROM '{path}'").fetchall() == [(inside,)]
        assert again.event_names()["drawtap_span"].count == touching
        jobs = connection.execute(f"SELECT count(*) FROM '{tmp_path}/tables/requests.parquet'").fetchall()[0][0]
        assert 0 < jobs < model.scalar("SELECT count(*) FROM requests")
        track = "gpu/rcs0/queue length"
        held = f"SELECT arg_max(value, t_ns) FROM {{}} WHERE track = '{track}' AND t_ns <= {part.begin}"
        assert connection.execute(held.format(f"'{tmp_path}/tables/counters.parquet'")).fetchall()[0][
            0
        ] == model.scalar(held.format("counters"))


def test_a_part_has_the_memory_that_holds_in_it():
    rows = [
        (t, "gpu_mem_total", 0, 40, "a", {"gpu_id": 0, "pid": pid, "size": size})
        for t, pid, size in ((0, 40, 1), (10, 40, 2), (10, 50, 5), (30, 40, 3), (90, 50, 6))
    ]
    with build(MemoryTrace(rows)) as model:
        sql = Window(20, 60).memory()
        found = model.query(f"SELECT pid, t_ns, bytes FROM ({sql}) ORDER BY pid, t_ns").fetchall()
    assert found == [(40, 10, 2), (40, 30, 3), (50, 10, 5)]


def test_a_part_for_viewers(opened, part, tmp_path):
    trace, model = opened
    EXPORTS.get("chrome").write(trace, model, tmp_path / "x.json", part)
    drawn = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    spans = model.scalar(
        f"SELECT count(*) FROM spans WHERE end_ns > begin_ns AND begin_ns < {part.end} AND end_ns >= {part.begin}"
    )
    assert sum(e["ph"] in ("X", "B") for e in drawn) == spans > 0
    starts, ends = ({e["id"] for e in drawn if e["ph"] == phase} for phase in "sf")
    assert starts == ends != set()


def test_a_part_on_the_command_line(drawtap, drm_sched_trace, tmp_path):
    whole, part = tmp_path / "whole.pftrace", tmp_path / "part.pftrace"
    assert drawtap("export", drm_sched_trace, "-o", whole).code == 0
    assert drawtap("export", drm_sched_trace, "-o", part, "--from", "1", "--to", "1200ms").code == 0
    assert 0 < part.stat().st_size < whole.stat().st_size / 4
    assert drawtap("export", drm_sched_trace, "-o", tmp_path / "no.json", "--from", "99").code == 2
    assert not (tmp_path / "no.json").exists()
