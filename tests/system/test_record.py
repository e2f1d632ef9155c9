"""Record the running kernel, where this machine lets us."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from drawtap.errors import UnavailableError, UsageError
from drawtap.system import reader, recorder
from drawtap.system.recorders.tracefs import TracefsRecorder

SOURCE = Path(__file__).resolve().parents[2] / "src"


def _root() -> Path:
    try:
        root = recorder.tracefs()
    except UnavailableError as error:
        pytest.skip(f"the kernel cannot be traced here: {error}")
    probe = root / "instances" / f"drawtap-test-{os.getpid()}"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        pytest.skip(f"the kernel cannot be traced here: {error}")
    return root


@pytest.fixture
def root() -> Path:
    return _root()


def run(*arguments, **options):
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "drawtap", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=False, **options)


def instances(root: Path) -> list[str]:
    return [p.name for p in (root / "instances").iterdir() if p.name.startswith("drawtap-") and "test" not in p.name]


CHILD = "import time, sys; t = time.monotonic_ns(); time.sleep(0.05); print(t, time.monotonic_ns()); sys.exit(3)"


def test_a_program_between_two_readings_of_the_clock(root, tmp_path):
    path = tmp_path / "k.dat"
    before = time.monotonic_ns()
    done = run("system", "record", "-o", path, "--events", "sched", "--", sys.executable, "-c", CHILD)
    after = time.monotonic_ns()
    assert done.returncode == 3, done.stderr
    begin, end = map(int, done.stdout.split())
    assert instances(root) == []
    assert [p.name for p in tmp_path.iterdir()] == ["k.dat"]
    with reader.open(path) as trace:
        assert trace.clock.monotonic
        assert trace.problems == ()
        first, last = trace.bounds()
        assert before <= first < begin < end < last <= after
        # The program slept once: off a CPU between the two readings.
        connection = duckdb.connect()
        connection.register("e", trace.events("sched_switch", ["prev_pid", "prev_comm", "prev_state", "next_pid"]))
        sleeps = connection.execute(
            "SELECT count(*) FROM e WHERE t BETWEEN ? AND ? AND prev_comm LIKE 'python%' AND prev_state <> 0",
            [begin, end],
        ).fetchone()
        assert sleeps[0] >= 1


def test_trace_cmd_reads_the_same(root, tmp_path):
    if shutil.which("trace-cmd") is None:
        pytest.skip("trace-cmd is not installed")
    path = tmp_path / "k.dat"
    assert run("system", "record", "-q", "-o", path, "--events", "sched", "--", "sleep", "0.1").returncode == 0
    shown = subprocess.run(["trace-cmd", "report", "-R", "-t", path], capture_output=True, text=True, check=True).stdout
    text = tmp_path / "text"
    text.write_text(shown)
    with reader.open(path) as ours, reader.open(text) as theirs:
        counts = {n: t.count for n, t in ours.event_names().items()}
        assert counts == {n: t.count for n, t in theirs.event_names().items()}
        assert counts["sched_switch"] > 0
        connection = duckdb.connect()
        rows = []
        for name, trace in (("ours", ours), ("theirs", theirs)):
            connection.register(name, trace.events("sched_switch", ["cpu", "tid", "prev_comm", "prev_pid", "next_pid"]))
            rows.append(connection.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall())
        assert rows[0] == rows[1]


def test_events_that_were_lost_are_reported(root, tmp_path, monkeypatch):
    # A buffer of a few pages, and nobody who empties it in time.
    monkeypatch.setattr("drawtap.system.recorders.tracefs._WAIT_MS", 50)
    path = tmp_path / "k.dat"
    wish = recorder.KernelRecordOptions(("raw_syscalls:sys_enter", "raw_syscalls:sys_exit"), 4, path)
    if "raw_syscalls:sys_enter" not in recorder.known_events(root):
        pytest.skip("this kernel does not trace system calls")
    recording = TracefsRecorder(wish)
    recording.start()
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        os.getppid()
    result = recording.stop()
    assert sum(result.lost.values()) > 0
    with reader.open(path) as trace:
        lost = [p for p in trace.problems if p.kind == "lost"]
        assert lost
        assert trace.event_names()["sys_enter"].count > 0


def test_ctrl_c_ends_it_and_removes_the_instance(root, tmp_path):
    path = tmp_path / "k.dat"
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "drawtap", "system", "record", "-o", str(path), "--events", "sched"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert "Ctrl-C" in process.stderr.readline()
        assert any(name == f"drawtap-{process.pid}" for name in instances(root))
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(60) == 0, said
    assert f"drawtap-{process.pid}" not in instances(root)
    with reader.open(path) as trace:
        assert trace.event_names()["sched_switch"].count > 0


def test_beside_a_recording_of_calls(root, tmp_path):
    path = tmp_path / "x.dtap"
    done = run("record", "--system", "-o", path, "--", sys.executable, "-c", CHILD)
    assert done.returncode == 3, done.stderr
    begin, end = map(int, done.stdout.split())
    assert "x.dat" in done.stderr
    with reader.open(tmp_path / "x.dat") as trace:
        first, last = trace.bounds()
        assert first < begin < end < last
    assert instances(root) == []


def test_what_a_killed_recorder_left_is_removed(root, tmp_path):
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    left = root / "instances" / f"drawtap-{gone.pid}"
    left.mkdir()
    assert run("system", "record", "-q", "-o", tmp_path / "k.dat", "-e", "sched", "--", "true").returncode == 0
    assert not left.exists()


def test_perf_records_the_same_clock(root, tmp_path):
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    path = tmp_path / "k.data"
    before = time.monotonic_ns()
    done = run("system", "record", "-o", path, "-e", "sched", "--with", "perf", "--", "sleep", "0.2")
    if done.returncode == 3:
        pytest.skip(f"perf may not record here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    with reader.open(path) as trace:
        assert trace.format == "perf"
        assert trace.clock.monotonic
        first, last = trace.bounds()
        assert before <= first < last <= time.monotonic_ns()


def test_lttng_without_its_modules_says_so(root, tmp_path):
    if shutil.which("lttng") is None:
        pytest.skip("lttng is not installed")
    done = run("system", "record", "-o", tmp_path / "k", "-e", "sched", "--with", "lttng", "--", "true")
    if done.returncode == 0:
        with reader.open(tmp_path / "k") as trace:
            assert trace.format == "ctf"
    else:
        assert done.returncode == 3
        assert "lttng" in done.stderr
        assert "Traceback" not in done.stderr


def test_without_rights(tmp_path):
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv to give rights away")
    tmp_path.chmod(0o777)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]
    code = "import sys; from drawtap.cli import run; sys.exit(run(sys.argv[1:]))"
    command = [*nobody, sys.executable, "-c", code, "system", "record", "-o", str(tmp_path / "k.dat"), "--", "true"]
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=False)
    if "No module named" in done.stderr or "Permission denied: '" in done.stderr:
        pytest.skip("nobody else may read the sources here")
    assert done.returncode == 3, done.stderr
    assert "tracing" in done.stderr
    assert "root" in done.stderr
    assert not (tmp_path / "k.dat").exists()


def test_wrong_wishes(root, drawtap, tmp_path):
    answer = drawtap("system", "record", "-o", tmp_path / "k", "--events", "sched_swich", "--", "true")
    assert answer.code == 2
    assert "sched_switch" in answer.err
    assert drawtap("system", "record", "-o", tmp_path / "k", "--buffer", "many", "--", "true").code == 2
    (tmp_path / "k").write_text("mine")
    answer = drawtap("system", "record", "-o", tmp_path / "k", "--", "true")
    assert answer.code == 2
    assert "--force" in answer.err
    assert (tmp_path / "k").read_text() == "mine"
    assert drawtap("system", "record", "-o", tmp_path / "l", "--", "no-such-program").code == 127


KNOWN = frozenset(
    {
        "sched:sched_switch",
        "sched:sched_waking",
        "i915:i915_request_queue",
        "i915:i915_reg_rw",
        "kvm:kvm_entry",
        "irq:x",
    }
)


def test_sets_of_events():
    events, without = recorder.chosen_events("gpu,sched,kvm", KNOWN)
    assert events == ("i915:i915_request_queue", "sched:sched_switch", "sched:sched_waking", "kvm:kvm_entry")
    assert without == ()
    assert recorder.chosen_events("irq,sched_switch", KNOWN)[0] == ("irq:x", "sched:sched_switch")
    assert recorder.chosen_events("amdgpu,sched:sched_waking", KNOWN) == (("sched:sched_waking",), ("amdgpu",))
    assert recorder.chosen_events("i915:i915_reg_rw", KNOWN)[0] == ("i915:i915_reg_rw",)
    with pytest.raises(UsageError, match="sched_swich"):
        recorder.chosen_events("sched_swich", KNOWN)
    with pytest.raises(UnavailableError):
        recorder.chosen_events("amdgpu", KNOWN)
    assert recorder.without_drivers(("sched:sched_switch", "dma_fence:dma_fence_init"))
    assert not recorder.without_drivers(("i915:i915_request_queue",))


def test_a_driver_that_is_not_loaded_is_named():
    shared = KNOWN | {"drm:drm_vblank_event", "dma_fence:dma_fence_init"}
    with pytest.raises(UnavailableError, match="amdgpu") as error:
        recorder.chosen_events("amdgpu", shared)  # what all drivers share is not amdgpu's
    assert "loaded" in error.value.hint
    assert recorder.chosen_events("amdgpu,kvm", shared) == (("kvm:kvm_entry",), ("amdgpu",))
    # Drivers without events of their own submit over the shared scheduler.
    events, without = recorder.chosen_events("mali", shared | {"gpu_scheduler:drm_run_job"})
    assert "gpu_scheduler:drm_run_job" in events
    assert without == ("mali",)
    assert recorder.chosen_events("i915", shared)[1] == ()


def test_tracing_that_is_not_mounted_is_no_question_of_rights(tmp_path, monkeypatch):
    mount_point = tmp_path / "tracing"
    mount_point.mkdir()
    monkeypatch.setattr(recorder, "TRACEFS", (mount_point, tmp_path / "debug"))
    with pytest.raises(UnavailableError, match="not mounted") as error:
        recorder.tracefs()
    assert "mount -t tracefs" in error.value.hint
    assert "needs root" not in error.value.hint
    (mount_point / "events").mkdir()
    assert recorder.tracefs() == mount_point


def test_what_is_ignored_stays_ignored_in_the_program(tmp_path: Path) -> None:
    # As nohup and & ask for it.
    asked = 'trap "" HUP QUIT; exec "$0" -m drawtap run -- grep SigIgn /proc/self/status'
    done = subprocess.run(["sh", "-c", asked, sys.executable], cwd=tmp_path, capture_output=True, text=True)
    ignored = int(done.stdout.split()[1], 16)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        assert ignored >> (number - 1) & 1
    assert not ignored >> (signal.SIGINT - 1) & 1
