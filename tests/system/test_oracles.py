"""The same events, times and fields as babeltrace2, trace-cmd and perf give, where they are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from drawtap.system import reader
from kernel_files import RICH_METADATA, lttng_trace, rich_stream


def output_of(*command):
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def _value(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, list):
        return "[ " + ", ".join(f"[{i}] = {v}" for i, v in enumerate(value)) + " ]"
    return str(value)


def _as_babeltrace(trace) -> dict[str, list[str]]:
    # What babeltrace2 would print of each event, made of our columns.
    connection = duckdb.connect()
    lines: dict[str, list[str]] = {}
    for name, kind in trace.event_names().items():
        fields = [f.name for f in kind.fields]
        sources = [f"f{i}=event.{f}" for i, f in enumerate(fields)]
        connection.register("e", trace.events(name, ["cpu", "tid", "comm", *sources]))
        found = []
        for t, cpu, tid, comm, *values in connection.execute("SELECT * FROM e").fetchall():
            payload = ", ".join(f"{f} = {_value(v)}" for f, v in zip(fields, values, strict=True))
            context = f'tid = {tid}, procname = "{comm}"' if comm is not None else f"tid = {tid}"
            found.append(f"[{t:020d}] {{host}} {name}: {{ cpu_id = {cpu} }}, {{ {context} }}, {{ {payload} }}")
        lines[name] = found
    return lines


def _compare(folder, host) -> int:
    theirs: dict[str, list[str]] = {}
    for line in output_of("babeltrace2", "--clock-cycles", "--no-delta", folder).splitlines():
        theirs.setdefault(line.split(": ", 1)[0].rpartition(" ")[2], []).append(line)
    with reader.open(folder) as trace:
        ours = {n: [line.replace("{host}", host) for line in lines] for n, lines in _as_babeltrace(trace).items()}
    assert ours.keys() == theirs.keys()
    for name, lines in theirs.items():
        assert ours[name] == lines, name
    return sum(map(len, theirs.values()))


def test_recorded_ctf_is_what_babeltrace2_prints(kvm_traces):
    assert _compare(kvm_traces[0], "(none)") == 14921
    assert _compare(kvm_traces[1], "(none)") == 17167


def test_written_ctf_is_what_babeltrace2_prints(tmp_path):
    assert _compare(lttng_trace(tmp_path / "t"), "here") == 120


@pytest.mark.parametrize("order", ["le", "be"])
def test_all_of_tsdl_is_read_as_babeltrace2_does(tmp_path, order):
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "metadata").write_text(RICH_METADATA % {"order": order})
    (folder / "stream").write_bytes(rich_stream(order))
    shown = output_of("babeltrace2", "--clock-cycles", "--no-delta", folder).splitlines()
    assert len(shown) == 3
    assert "a = -3, b = 3, level = " in shown[0]
    assert "real = 1.5, single = -0.25, nested = { x = 11, inner = { y = 12 } }, n = 3" in shown[0]
    assert 'list = [ [0] = 7, [1] = 8, [2] = 9 ], text = "ab", long = "xyz"' in shown[0]
    assert '[1] = { k = 2, s = "item2" } ]' in shown[1]
    assert 'two = "second"' in shown[1] or 'choice = { "second" }' in shown[1] or '"second"' in shown[1]
    assert "other:event: { v = -2 }" in shown[2]


def test_recorded_trace_dat_is_what_trace_cmd_prints(drm_sched_trace, tmp_path):
    text = tmp_path / "report.txt"
    text.write_text(output_of("trace-cmd", "report", "-R", "-t", drm_sched_trace))
    connection = duckdb.connect()
    compared = 0
    with reader.open(drm_sched_trace) as binary, reader.open(text) as printed:
        theirs = printed.event_names()
        assert {n: t.count for n, t in binary.event_names().items()} == {n: t.count for n, t in theirs.items()}
        for name, kind in theirs.items():
            columns = ["cpu", "tid", "comm", *(f"x_{f.name}=event.{f.name}" for f in kind.fields)]
            connection.register("a", binary.events(name, columns))
            connection.register("b", printed.events(name, columns))
            ours = connection.execute("SELECT * REPLACE (t AS t) FROM a ORDER BY ALL").fetchall()
            said = connection.execute("SELECT * FROM b ORDER BY ALL").fetchall()
            assert ours == said, name
            compared += len(said)
    assert compared == 5656


def test_a_recording_of_perf_is_what_perf_prints(tmp_path):
    path = tmp_path / "perf.data"
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    record = ["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-e", "sched:sched_switch,sched:sched_waking", "-a"]
    done = subprocess.run(
        [*record, "-o", str(path), "--", "sleep", "0.2"], capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode or not path.exists():
        pytest.skip(f"perf may not record here: {done.stderr.strip()[:200]}")
    shown = output_of("perf", "script", "-i", path, "--ns", "-F", "comm,tid,cpu,time,event,trace")
    pattern = re.compile(
        r"^ *(?P<comm>.+?) +(?P<tid>-?\d+) \[(?P<cpu>\d+)\] +(?P<s>\d+)\.(?P<ns>\d+): +"
        r"sched:(?P<event>\w+): +(?P<args>.*)$"
    )
    switches = []
    total = 0
    for line in shown.splitlines():
        match = pattern.match(line)
        assert match, line
        total += 1
        if match["event"] == "sched_switch":
            state = re.fullmatch(
                r"prev_comm=(.*) prev_pid=(\d+) prev_prio=(\d+) prev_state=\S+ ==> "
                r"next_comm=(.*) next_pid=(\d+) next_prio=(\d+)",
                match["args"],
            )
            prev, ppid, pprio, following, npid, nprio = state.groups()
            t = int(match["s"]) * 10**9 + int(match["ns"])
            tid = None if match["tid"] == "-1" else int(match["tid"])  # a thread that was gone already
            switches.append((t, int(match["cpu"]), tid, prev, int(ppid), int(pprio), following, int(npid), int(nprio)))
    with reader.open(path) as trace:
        connection = duckdb.connect()
        fields = ["cpu", "tid", "prev_comm", "prev_pid", "prev_prio", "next_comm", "next_pid", "next_prio"]
        connection.register("e", trace.events("sched_switch", fields))
        assert Counter(connection.execute("SELECT * FROM e").fetchall()) == Counter(switches)
        assert sum(t.count for t in trace.event_names().values()) == total
        assert trace.clock.monotonic


@pytest.fixture
def ust_trace(tmp_path):
    """A trace of LTTng's user-space tracer, made here: the allocations of `ls`."""
    for program in ("lttng", "lttng-sessiond"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    wrappers = sorted(Path("/usr/lib").glob("*/liblttng-ust-libc-wrapper.so*"))
    if not wrappers:
        pytest.skip("liblttng-ust-libc-wrapper is not installed")
    environment = {**os.environ, "HOME": str(tmp_path), "LTTNG_UST_REGISTER_TIMEOUT": "-1"}
    session, folder = f"drawtap-test-{os.getpid()}", tmp_path / "ust"

    def do(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["lttng", "--no-sessiond", *words],
            capture_output=True,
            text=True,
            timeout=300,
            env=environment,
            check=False,
        )

    # One may run already; then this one ends at once and that one serves.
    daemon = subprocess.Popen(
        ["lttng-sessiond", "--no-kernel"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(100):
            if do("list").returncode == 0:
                break
            time.sleep(0.1)
        else:
            pytest.skip("lttng-sessiond does not run here")
        made = [
            do("create", session, f"--output={folder}"),
            do("enable-channel", "-u", "-s", session, "--subbuf-size=64k", "ch"),
            do("enable-event", "-u", "-s", session, "-c", "ch", "-a"),
            do("add-context", "-u", "-s", session, "-c", "ch", "-t", "vtid", "-t", "vpid", "-t", "procname"),
            do("start", session),
        ]
        failed = [step.stderr for step in made if step.returncode]
        if failed:
            pytest.skip(f"lttng makes no session here: {failed[0][:200]}")
        before = time.monotonic_ns()
        subprocess.run(
            ["ls", "/usr"], env={**environment, "LD_PRELOAD": str(wrappers[0])}, stdout=subprocess.DEVNULL, check=True
        )
        after = time.monotonic_ns()
        do("stop", session)
        do("destroy", session)
    finally:
        if daemon.poll() is None:
            daemon.terminate()
            daemon.wait(30)
    return folder, before, after


def test_a_recording_of_lttng_ust_is_what_babeltrace2_prints(ust_trace):
    folder, before, after = ust_trace
    shown = output_of("babeltrace2", "--clock-cycles", "--no-delta", folder).splitlines()
    pattern = re.compile(
        r"\[0*(\d+)\] .*lttng_ust_libc:malloc: .*vtid = (\d+), vpid = (\d+).*size = (\d+), ptr = (0x\w+) }"
    )
    theirs = [m.groups() for line in shown if (m := pattern.match(line))]
    assert theirs
    with reader.open(folder) as trace:
        assert trace.problems == ()
        assert trace.clock.monotonic
        assert sum(t.count for t in trace.event_names().values()) == len(shown)
        first, last = trace.bounds()
        assert before < first < last < after
        connection = duckdb.connect()
        connection.register("e", trace.events("lttng_ust_libc:malloc", ["tid", "pid", "size", "ptr"]))
        ours = connection.execute("SELECT * FROM e").fetchall()
    assert Counter(ours) == Counter((int(t), int(a), int(b), int(c), int(d, 16)) for t, a, b, c, d in theirs)
