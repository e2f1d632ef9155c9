"""A recording survives every end of the program and of the recorder: each call that returned is in it."""

from __future__ import annotations

import functools
import json
import os
import platform
import random
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from drawtap.capture import launch
from drawtap.commands.record import outcome
from drawtap.parts import TAP, part
from shared import run_drawtap, steps

pytestmark = pytest.mark.gl
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Killed:
    """The program and where it counts its calls."""

    program: Path
    folder: Path
    name: str = "killed.dtap"

    def start(
        self,
        end: str,
        threads: int,
        calls: int = 0,
        *options: str,
        frame: int = 0,
        door: tuple[str, ...] = ("-m", "drawtap"),
        **environment: str,
    ) -> subprocess.Popen[str]:
        """Record the program; the recorder and it share a process group of their own."""
        (self.folder / "progress").unlink(missing_ok=True)
        self.trace.unlink(missing_ok=True)
        command = [sys.executable, *door, "record", "-o", str(self.trace), *options, "--", str(self.program)]
        command += [str(self.folder / "progress"), end, str(threads), str(calls), str(frame)]
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment() | environment,
            start_new_session=True,
        )

    @property
    def trace(self) -> Path:
        return self.folder / self.name

    def counts(self, threads: int) -> list[int]:
        """Return how many calls of each thread have returned."""
        try:
            return list(struct.unpack_from(f"<{threads}Q", (self.folder / "progress").read_bytes()))
        except (FileNotFoundError, struct.error):
            return [0] * threads

    def wait_for(self, threads: int, calls: int) -> None:
        """Wait until each thread has made that many calls."""
        _wait_for(lambda: min(self.counts(threads)) >= calls)

    def info(self) -> dict[str, Any]:
        """Return what `drawtap info` says of the trace."""
        answer = run_drawtap("info", self.trace, "--json")
        assert answer.returncode == 0, answer.stderr
        found = json.loads(answer.stdout)
        assert isinstance(found, dict)
        return found

    def end(self) -> dict[str, Any]:
        """Return what the recorder wrote at the end of the trace."""
        ends = [note for note in self.info()["annotations"] if note["kind"] == "end"]
        assert ends
        return dict(ends[-1])

    def recorded(self) -> int:
        """Return how many of the counted calls are in the trace."""
        return int(self.ask('SELECT count(*) AS n FROM "glVertexAttrib4f"')[0]["n"])

    def ask(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a question to the trace."""
        answer = run_drawtap("sql", self.trace, query, "--json")
        assert answer.returncode == 0, answer.stderr
        return list(json.loads(answer.stdout))

    def wait_until_whole(self, code: int, count: int) -> None:
        """Wait until the program's own drainers have ended, and there are so many whole files."""
        assert code == 0

        def done() -> bool:
            files = list(self.folder.glob("own*.dtap"))
            return len(files) == count and all(f.read_bytes().endswith(b"DTAPEND\n") for f in files)

        _wait_for(done, 60)
        _wait_for(lambda: not _drainer_of(Path("own.dtap")), 60)

    def check(self, threads: int, *, trace: Path | None = None) -> None:
        """Compare the trace with the counts: nothing that returned is missing, and the arguments are in order."""
        query = (
            'SELECT "index" AS thread, count(*) AS calls, '
            "count(*) FILTER (x <> ((n - 1) % 4194304) OR y <> x + 0.5) AS wrong "
            'FROM (SELECT *, row_number() OVER (PARTITION BY "index" ORDER BY seq) AS n FROM "glVertexAttrib4f") '
            "GROUP BY 1"
        )
        answer = run_drawtap("sql", trace or self.trace, query, "--json")
        assert answer.returncode == 0, answer.stderr
        rows = {row["thread"]: row for row in json.loads(answer.stdout)}
        for thread, returned in enumerate(self.counts(threads)):
            row = rows.get(thread, {"calls": 0, "wrong": 0})
            assert returned <= row["calls"] <= returned + 1, (thread, returned, row)
            assert row["wrong"] == 0


@pytest.fixture
def killed(tmp_path: Path, kill_calls: Path) -> Killed:
    return Killed(kill_calls, tmp_path)


@pytest.fixture(scope="session")
def kill_calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(tmp_path_factory.mktemp("kill"), HERE / "kill_calls.c")


@pytest.fixture(scope="session")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(tmp_path_factory.mktemp("noise"), HERE / "programs/stream_frames.c")


def _built(folder: Path, source: Path) -> Path:
    if shutil.which("cc") is None or not Path("/usr/include/EGL/egl.h").exists():
        pytest.skip("a C compiler and the GL headers are needed")
    target = folder / source.stem
    command = ["cc", "-O2", "-o", str(target), str(source), "-lEGL", "-lGLESv2", "-lm", "-lpthread"]
    subprocess.run(command, check=True)
    return target


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("end", "code"),
    [("return", 0), ("exit", 3), ("_exit", 4), ("quick_exit", 5), ("abort", 134), ("segv", 139), ("kill", 137)],
)
def test_every_way_to_end_keeps_every_call(killed: Killed, end: str, code: int) -> None:
    recorder = killed.start(end, threads=2, calls=30_000)
    _, said = recorder.communicate(timeout=300)
    assert recorder.returncode == code, said
    killed.check(2)


def test_killed_program_loses_no_call(killed: Killed) -> None:
    """Twenty kills (three in a sample) at random moments, with one to three threads calling."""
    moments = random.Random(3)
    for trial in range(steps(3, 20)):
        threads = 1 + trial % 3
        recorder = killed.start("sleep", threads)
        killed.wait_for(threads, 1)
        time.sleep(moments.random() * 0.2)
        os.kill(_child_named(recorder.pid, "kill_calls"), signal.SIGKILL)
        _, said = recorder.communicate(timeout=300)
        assert recorder.returncode == 137, said
        killed.check(threads)


def test_killed_drainer_loses_no_call(killed: Killed) -> None:
    """Kill the drainer under the program: the tap starts another, which goes on with the same file."""
    recorder = killed.start("return", threads=2, calls=600_000)
    for moment in (50_000, 200_000):
        killed.wait_for(1, moment)
        _wait_for(lambda: _drainer_of(killed.trace) > 0)
        os.kill(_drainer_of(killed.trace), signal.SIGKILL)
    recorder.communicate(timeout=300)
    _wait_for(lambda: killed.trace.exists() and killed.trace.read_bytes().endswith(b"DTAPEND\n"))
    killed.check(2)


def test_killed_recorder_lets_the_program_and_the_trace_finish(killed: Killed) -> None:
    recorder = killed.start("return", threads=1, calls=200_000)
    killed.wait_for(1, 20_000)
    recorder.kill()
    recorder.wait()
    _wait_for(lambda: killed.trace.exists() and killed.trace.read_bytes().endswith(b"DTAPEND\n"))
    assert killed.counts(1) == [200_000]
    killed.check(1)
    assert recorder.stdout
    assert recorder.stderr
    recorder.stdout.close()
    recorder.stderr.close()


def test_drainer_and_program_killed_together_lose_no_call(killed: Killed) -> None:
    """What the drainer had not written stands in memory that the recorder holds, and goes into the same file."""
    # Room for all that the program does until it is stopped: on a busy machine that takes a while.
    recorder = killed.start("sleep", 2, 0, "--buffer", "1G")
    killed.wait_for(2, 30_000)
    drainer, program = _drainer_of(killed.trace), _child_named(recorder.pid, "kill_calls")
    os.kill(drainer, signal.SIGSTOP)
    before = killed.counts(2)
    _wait_for(lambda: killed.counts(2) > [count + 5000 for count in before])
    os.kill(program, signal.SIGSTOP)  # so that it does not get another drainer
    os.kill(drainer, signal.SIGKILL)
    os.kill(program, signal.SIGKILL)
    _, said = recorder.communicate(timeout=300)
    assert recorder.returncode == 137, said
    assert "killed.dtap: " in said and "was not written" not in said
    assert "ended by signal 9 (SIGKILL): what it had not written was saved" in " ".join(said.split())
    assert killed.info()["problems"] == []
    killed.check(2)


def test_a_drainer_of_the_programs_own_is_waited_for(killed: Killed) -> None:
    """The drainer is killed, the program gets another and ends: the recorder tells of the file that this one wrote."""
    recorder = killed.start("return", threads=2, calls=300_000)
    killed.wait_for(2, 30_000)
    os.kill(_drainer_of(killed.trace), signal.SIGKILL)
    _, said = recorder.communicate(timeout=300)
    assert recorder.returncode == 0, said
    assert "killed.dtap: " in said and "was not written" not in said
    assert killed.info()["problems"] == []
    killed.check(2)


def test_a_stopped_drainer_holds_the_program_for_a_while_only(killed: Killed) -> None:
    """The program goes on without, every call is counted, and recording does when the drainer does."""
    options = ("--when-full", "drop-frames")
    recorder = killed.start("sleep", 1, 0, *options, frame=5000)
    killed.wait_for(1, 30_000)
    drainer = _drainer_of(killed.trace)
    os.kill(drainer, signal.SIGSTOP)
    # Far more than the memory takes that is ready: 32 bytes a call, 512 KB a chunk, at most 40 chunks ahead.
    limit = killed.counts(1)[0] + 2_000_000
    _wait_for(lambda: killed.counts(1)[0] > limit, 60)
    os.kill(drainer, signal.SIGCONT)
    limit = killed.counts(1)[0] + 500_000
    _wait_for(lambda: killed.counts(1)[0] > limit, 60)
    os.kill(_child_named(recorder.pid, "kill_calls"), signal.SIGKILL)
    _, said = recorder.communicate(timeout=300)
    assert recorder.returncode == 137, said
    end, returned = killed.end(), killed.counts(1)[0]
    shown = returned // 5000
    unrecorded = end["calls_unrecorded"]
    assert unrecorded > 500_000
    # Of each lost frame its swap is lost as well, and the call in flight may be in it.
    recorded = killed.recorded()
    lost_swaps = shown - _swaps(killed)
    assert abs(recorded + unrecorded - lost_swaps - returned) <= 2
    assert "calls were made while the recorder took none" in " ".join(said.split())
    assert killed.info()["complete"] is False
    codes = [note["code"] for note in killed.ask("SELECT code FROM notes WHERE code = 'calls-lost'")]
    assert codes


@pytest.mark.parametrize("dies", [True, False])
def test_a_drainer_that_stands_still_after_the_program_is_not_waited_for(killed: Killed, dies: bool) -> None:
    """It is ended, and another writes what it had not; one that the kernel does not let go leaves a count."""
    undying = (
        "import subprocess, drawtap.cli as c, drawtap.capture.drainer as d;"
        "subprocess.Popen.kill = lambda self: None; d._STOPPED_SECONDS = 1; c.main()"
    )
    # What comes after the stop must fit into the program's memory: a full one is another story.
    recorder = killed.start("halt", 1, 30_000, door=("-m", "drawtap") if dies else ("-c", undying))
    killed.wait_for(1, 15_000)
    drainer, program = _drainer_of(killed.trace), _child_named(recorder.pid, "kill_calls")
    os.kill(drainer, signal.SIGSTOP)
    _wait_for(lambda: Path(f"/proc/{program}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    os.kill(program, signal.SIGCONT)
    try:
        recorder.wait(timeout=300)
    finally:
        if not dies:
            os.kill(drainer, signal.SIGKILL)  # it has this pipe as well
    _, said = recorder.communicate(timeout=300)
    words, returned = " ".join(said.split()), killed.counts(1)[0]
    assert returned == 30_000
    if dies:
        assert recorder.returncode == 0, said
        assert "stood still for 5 s after the program had ended, and was ended: what it had not written" in words
        assert killed.info()["problems"] == []
        killed.check(1)
    else:
        assert recorder.returncode == 1, said  # the program's own is 0
        assert "cannot be ended" in words
        (missing,) = re.findall(r"at most ([\d,]+) calls, which stood in memory", words)
        written = killed.recorded() if killed.trace.exists() else 0
        assert returned <= written + int(missing.replace(",", ""))


def test_a_full_disk_is_said_and_every_call_is_counted(killed: Killed, noise: Path) -> None:
    """A limit on the size of files is a full disk to the drainer: 300 frames bring 6 MB that nothing compresses."""

    def recorded(name: str, limit: int) -> tuple[int, str]:
        limits = (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        done = subprocess.run(
            [sys.executable, "-m", "drawtap", "record", "-o", str(killed.folder / name), "--", str(noise), "300"],
            env=_environment(),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits),
            capture_output=True,
            text=True,
            timeout=300,
        )
        return done.returncode, " ".join(done.stderr.split())

    assert recorded("whole.dtap", resource.RLIM_INFINITY)[0] == 0
    whole = replace(killed, name="whole.dtap").info()
    assert whole["complete"] is True and whole["problems"] == []
    code, said = recorded("killed.dtap", 3 << 20)
    assert code == 1, said  # the program's own is 0
    assert "File too large" in said and "was not written" not in said and "did it draw" not in said
    end, info = killed.end(), killed.info()
    assert end["calls_unrecorded"] > 0
    assert info["calls"] == end["calls"]
    assert info["calls"] + end["calls_lost"] + end["calls_unrecorded"] == whole["calls"]
    assert info["complete"] is False
    assert any("calls were made after recording had ended" in problem["text"] for problem in info["problems"])
    assert "calls_unrecorded" in {row["kind"] for row in killed.ask("SELECT kind FROM problems")}


def test_a_process_that_cannot_be_recorded_is_named(killed: Killed) -> None:
    (killed.folder / "bad.sig").write_text("\n")
    recorder = killed.start("return", 1, 1000, DRAWTAP_SIGNATURES=str(killed.folder / "bad.sig"))
    _, said = recorder.communicate(timeout=300)
    assert recorder.returncode == 1, said  # the program's own is 0
    assert "not recorded" in said and "(kill_calls): " in said and "no function is described" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="changes its user, or its root folder: takes root")
@pytest.mark.parametrize(
    ("leaves", "said"), [("setuid(65534)", "user 65534"), ("chroot('/sys')", "root folder to /sys")]
)
def test_a_process_that_cannot_reach_the_recorder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaves: str, said: str
) -> None:
    look = launch._stranger

    def look_and_end(pid: int) -> dict[int, tuple[str, str]]:
        if found := look(pid):
            os.kill(pid, signal.SIGKILL)
        return found

    monkeypatch.setattr(launch, "_stranger", look_and_end)
    monkeypatch.setattr(launch, "_LOOKS", (0.01,) * 3000)
    monkeypatch.setenv("DRAWTAP_QUIET", "1")
    program = f"import ctypes, os, time; ctypes.CDLL('libEGL.so.1'); os.{leaves}; time.sleep(300)"
    recording = launch.record([sys.executable, "-c", program], tmp_path / "t.dtap")
    assert recording.signal == signal.SIGKILL
    assert recording.files == ()
    (why,) = recording.refused
    assert said in why and "(python" in why


@pytest.mark.skipif(os.geteuid() != 0, reason="changes its user: takes root")
def test_a_program_that_starts_as_another_user_is_named_however_short_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not all(folder.stat().st_mode & 1 for folder in part(TAP).resolve().parents):
        pytest.skip(f"another user cannot load {part(TAP)}")
    monkeypatch.setattr(launch, "_LOOKS", ())  # nobody sees it while it runs
    monkeypatch.setenv("DRAWTAP_QUIET", "1")
    calls = "import ctypes; ctypes.CDLL('libEGL.so.1').eglGetError()"
    program = f"import os; os.setuid(65534); os.execv('/usr/bin/env', ['env', 'python3', '-c', {calls!r}])"
    recording = launch.record([sys.executable, "-c", program], tmp_path / "t.dtap")
    assert recording.files == ()
    (why,) = recording.refused
    assert "(python3): its tap was loaded and could not reach the recorder: Permission denied (EACCES)" in why


SANDBOXED = """
import ctypes, os, platform, struct
egl = ctypes.CDLL("libEGL.so.1")
libc = ctypes.CDLL(None)
x86 = {{"socket": 41, "sendmsg": 46, "recvmsg": 47, "sendto": 44, "mmap": 9, "openat": 257}}
arm = {{"socket": 198, "sendmsg": 211, "recvmsg": 212, "sendto": 206, "mmap": 222, "openat": 56}}
numbers = {{"x86_64": x86, "aarch64": arm}}[platform.machine()]
filters = struct.pack("=HBBI", 0x20, 0, 0, 0)  # the call's number; the next lines answer EPERM to each of the names
for name in {names!r}:
    filters += struct.pack("=HBBI", 0x15, 0, 1, numbers[name]) + struct.pack("=HBBI", 0x06, 0, 0, 0x50001)
filters = ctypes.create_string_buffer(filters + struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000))
program = ctypes.create_string_buffer(struct.pack("@HP", (len(filters) - 1) // 8, ctypes.addressof(filters)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0): os._exit(77)
egl.eglGetError()
"""


@pytest.mark.parametrize("names", [("socket",), ("socket", "openat")])
def test_a_sandbox_that_keeps_the_tap_from_the_recorder_is_said(tmp_path: Path, names: tuple[str, ...]) -> None:
    if platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("no numbers of system calls for this machine")
    trace = tmp_path / "t.dtap"
    done = run_drawtap("record", "-o", trace, "--", sys.executable, "-c", SANDBOXED.format(names=names))
    if "exit code 77" in done.stderr:
        pytest.skip("no seccomp here")
    assert done.returncode == 1, done.stderr
    assert "its tap was loaded and could not reach the recorder: Operation not permitted (EPERM)" in done.stderr
    assert Path(sys.executable).name in done.stderr
    assert "called nothing" not in done.stderr and not trace.exists()


UNREACHED = "its tap was loaded and could not reach the recorder: "
TAKES_NOTHING = "it could not take the memory that its calls were to go to: "
LIMITED = """
import ctypes, resource
egl = ctypes.CDLL("libEGL.so.1")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_{what}, ({value}, {value}))
egl.eglGetError()
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (SANDBOXED.format(names=("sendmsg",)), UNREACHED + "Operation not permitted (EPERM)"),
        (SANDBOXED.format(names=("recvmsg",)), TAKES_NOTHING + "Operation not permitted"),
        (SANDBOXED.format(names=("mmap",)), TAKES_NOTHING + "Operation not permitted"),
        (SANDBOXED.format(names=("recvmsg", "sendto")), UNREACHED + "Operation not permitted (EPERM)"),
        (LIMITED.format(what="AS", value="used + (1 << 20)"), TAKES_NOTHING + "Cannot allocate memory"),
    ],
)
def test_a_process_that_cannot_take_the_recorders_answer_says_why(tmp_path: Path, program: str, said: str) -> None:
    if platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("no numbers of system calls for this machine")
    trace = tmp_path / "t.dtap"
    done = run_drawtap("record", "-o", trace, "--", sys.executable, "-c", program)
    if "exit code 77" in done.stderr:
        pytest.skip("no seccomp here")
    assert done.returncode == 1, done.stderr
    assert said in done.stderr
    assert Path(sys.executable).name in done.stderr and "called nothing" not in done.stderr and not trace.exists()


def test_a_sandboxed_program_that_process_leaves_out_is_not_said(tmp_path: Path) -> None:
    program = SANDBOXED.format(names=("socket",))
    options = ("-o", tmp_path / "t.dtap", "--process", "other")
    done = run_drawtap("record", *options, "--", sys.executable, "-c", program)
    assert "could not reach the recorder" not in done.stderr


DAEMON = """
import ctypes, os, time
{before}
program = os.getpid()
if os.fork(): os._exit(0)
while os.path.exists(f"/proc/{{program}}"): time.sleep(0.01)  # drawtap has taken its status
{after}
"""


def test_a_child_that_first_calls_after_the_program_ended_is_recorded(tmp_path: Path) -> None:
    program = DAEMON.format(before="egl = ctypes.CDLL('libEGL.so.1')", after="egl.eglGetError()")
    recording = launch.record([sys.executable, "-c", program], tmp_path / "t.dtap")
    assert (recording.code, recording.refused, recording.files) == (0, (), (tmp_path / "t.dtap",))
    assert "eglGetError" in run_drawtap("list", tmp_path / "t.dtap").stdout


@pytest.mark.parametrize(("draws", "ctrl_c"), [(True, True), (True, False), (False, False)])
def test_a_child_that_outlives_the_recording_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, draws: bool, ctrl_c: bool
) -> None:
    def waits(which: str) -> None:
        if ctrl_c:
            raise KeyboardInterrupt

    monkeypatch.setattr(launch, "_SILENT_SECONDS", 0)
    monkeypatch.setattr(launch, "_PATIENT_SECONDS", launch._LATE_SECONDS)
    program = DAEMON.format(before="ctypes.CDLL('libEGL.so.1')" if draws else "", after="time.sleep(300)")
    recording = launch.record([sys.executable, "-c", program], tmp_path / "t.dtap", waits=waits)
    (which,) = recording.refused if ctrl_c else recording.running
    assert len(recording.refused) + len(recording.running) == 1
    child = int(which.split()[1])
    assert Path(f"/proc/{child}/exe").readlink() == Path(sys.executable).resolve()
    os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_wait_for_children_with_a_summary(tmp_path: Path, number: signal.Signals) -> None:
    trace, child = tmp_path / "t.dtap", tmp_path / "child"
    background = "import ctypes, os, time; ctypes.CDLL('libEGL.so.1');"
    background += f"open({str(child)!r}, 'w').write(str(os.getpid())); time.sleep(300)"
    program = f"""
import ctypes, os, subprocess, sys, time
ctypes.CDLL("libEGL.so.1").eglGetError()
subprocess.Popen([sys.executable, "-c", {background!r}], stderr=subprocess.DEVNULL)
while not os.path.exists({str(child)!r}): time.sleep(0.01)
"""
    command = [sys.executable, "-m", "drawtap", "record", "-o", str(trace), "--", sys.executable, "-c", program]
    heard = functools.partial(signal.signal, number, signal.SIG_DFL)  # nohup has SIGHUP ignored
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heard) as recorder:
        assert recorder.stderr is not None
        for line in recorder.stderr:
            if "waiting for what may still draw" in line:
                break
        recorder.send_signal(number)
        said = recorder.stderr.read()
    os.kill(int(child.read_text()), signal.SIGKILL)
    assert recorder.returncode == 128 + number, said
    assert f"{number.name} ended the recording after the program's end" in said
    assert "it had called nothing when the recording was ended" in said
    assert "eglGetError" in run_drawtap("list", trace).stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_recording_of_a_child_that_still_draws(tmp_path: Path, number: signal.Signals) -> None:
    trace, numbers = tmp_path / "t.dtap", tmp_path / "numbers"
    program = f"""
import ctypes, os, time
egl = ctypes.CDLL("libEGL.so.1")
if os.fork(): os._exit(0)
os.close(2)
egl.eglGetError()
open({str(numbers)!r}, "w").write(str(os.getpid()))
while True: egl.eglGetError(); time.sleep(0.01)
"""
    command = [sys.executable, "-m", "drawtap", "record", "-o", str(trace), "--", sys.executable, "-c", program]
    heard = functools.partial(signal.signal, number, signal.SIG_DFL)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heard) as recorder:
        assert recorder.stderr is not None
        for line in recorder.stderr:
            if "waiting for what may still draw: process" in line:
                break
        child = numbers.read_text()
        recorder.send_signal(number)
        try:
            _, said = recorder.communicate(timeout=20)
        finally:
            os.kill(int(child), signal.SIGKILL)
    assert recorder.returncode == 128 + number, said
    assert re.search(rf"process {child} \(.+\): it still ran when the recording was ended", said), said
    assert "eglGetError" in run_drawtap("list", trace).stdout


def test_a_name_that_another_recording_took_is_said_and_left(killed: Killed) -> None:
    killed.trace.unlink(missing_ok=True)
    script = f'cp "$0" {killed.trace}; exec "$@"'
    done = _recorded(
        killed, "-o", str(killed.trace), "--force", "--", "sh", "-c", script, __file__, *_returning(killed)
    )
    assert done.returncode == 0, done.stderr
    assert killed.trace.read_bytes() == Path(__file__).read_bytes()
    (own,) = killed.folder.glob(f"{killed.trace.stem}-*.dtap")
    assert f"{killed.trace} is of another recording; this one went to {own.name}" in done.stderr
    own.unlink()
    done = _recorded(killed, "-o", str(killed.trace), "--force", "--", "cp", __file__, str(killed.trace))
    assert "is of another recording" in done.stderr and "no calls" in done.stderr
    assert killed.trace.read_bytes() == Path(__file__).read_bytes()


# Takes a name just after the drainer has seen that it is free.
BETWEEN = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
int access(const char* path, int how) {
  const int answer = ((int (*)(const char*, int))dlsym(RTLD_NEXT, "access"))(path, how), error = errno;
  if (answer && !strcmp(program_invocation_short_name, "drawtap-drain") && strstr(path, "/taken.dtap")) {
    const int other = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (other < 0 || write(other, "another", 7) != 7) _exit(9);
    close(other);
  }
  errno = error;
  return answer;
}
"""


def test_a_name_that_another_recording_takes_in_the_same_instant_is_left(killed: Killed) -> None:
    trace, source, between = (killed.folder / name for name in ("taken.dtap", "between.c", "between.so"))
    source.write_text(BETWEEN)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", between, source, "-ldl"], check=True)
    program = "import ctypes; ctypes.CDLL('libEGL.so.1').eglGetError()"
    command = [sys.executable, "-m", "drawtap", "record", "-o", trace, "--", sys.executable, "-c", program]
    environment = {**os.environ, "LD_PRELOAD": str(between)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert trace.read_bytes() == b"another"
    (own,) = killed.folder.glob("taken-*.dtap")
    assert f"{trace} is of another recording; this one went to {own.name}" in done.stderr
    assert "eglGetError" in run_drawtap("list", own).stdout


def test_a_file_that_is_gone_before_the_summary_is_said_without_guesses(tmp_path: Path) -> None:
    trace = tmp_path / "t.dtap"
    program = "import ctypes; ctypes.CDLL('libEGL.so.1').eglGetError()"
    recording = launch.record([sys.executable, "-c", program], trace)
    trace.unlink()
    calls, whole, verdicts = outcome(recording, trace)
    assert (calls, whole) == (0, False)
    assert len(verdicts) == 1 and "cannot be read" in verdicts[0].finding


def test_a_file_that_another_one_replaces_before_the_end_is_said(killed: Killed) -> None:
    moved = killed.folder / "moved.dtap"
    until_there = f"until test -s {killed.trace}; do sleep 0.01; done"
    script = f'"$@" && {until_there} && mv {killed.trace} {moved} && cp {moved} {killed.trace}'
    done = _recorded(killed, "-o", str(killed.trace), "--force", "--", "sh", "-c", script, "sh", *_returning(killed))
    assert done.returncode == 1, done.stderr  # the program's own is 0
    assert "not recorded" in done.stderr and "were in killed.dtap, which was moved, deleted or replaced" in done.stderr
    assert "\u2713" not in done.stderr
    killed.check(1, trace=moved)


def test_names_need_not_be_text_and_folders_may_be_deep(killed: Killed) -> None:
    deep = killed.folder / ("deep" * 30)
    deep.mkdir(exist_ok=True)
    name = os.fsdecode(b"\xff.dtap")
    done = _recorded(killed, "-o", name, "--force", "--", *_returning(killed), os.fsdecode(b"\xfe"), TMPDIR=str(deep))
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("\u2713 recorded") and "!" not in done.stderr
    judged = subprocess.run(
        [sys.executable, "-m", "drawtap", "checklist", killed.folder / name, "--json"],
        stdout=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C.UTF-8"},  # there Python writes the bytes of names as they are
        check=False,
    )
    assert json.loads(judged.stdout.decode())["trace"] == "\ufffd.dtap"
    (killed.folder / name).rename(killed.trace)
    assert "\ufffd" in str(killed.info()["annotations"])
    assert not list(deep.iterdir())


def _returning(killed: Killed) -> list[str]:
    (killed.folder / "progress").unlink(missing_ok=True)
    return [str(killed.program), str(killed.folder / "progress"), "return", "1", "2000", "0"]


def _recorded(killed: Killed, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "drawtap", "record", *words],
        cwd=killed.folder,
        env=_environment() | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_calls_reach_the_disk_while_the_program_runs(killed: Killed) -> None:
    """With --sync a program that makes few calls hands them over all the same."""
    recorder = killed.start("slow", 1, 0, "--sync", "0.2", frame=2)
    # At most 200 calls a second of 32 bytes: a chunk would be full in 80 seconds.
    _wait_for(lambda: killed.trace.exists() and int(killed.ask("SELECT count(*) AS n FROM calls")[0]["n"]) >= 20)
    os.killpg(recorder.pid, signal.SIGKILL)
    recorder.communicate(timeout=300)


def test_a_preloaded_tap_records_only_where_it_is_told_to(killed: Killed) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DRAWTAP_") or k == "DRAWTAP_NATIVE"}
    environment |= {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1", "LD_PRELOAD": str(part(TAP))}
    line = [str(killed.program), "progress", "return", "1", "2000"]
    run = functools.partial(subprocess.run, line, cwd=killed.folder, text=True, timeout=300, stderr=subprocess.PIPE)
    done = run(env=environment)
    assert done.returncode == 0
    assert done.stderr.count("not recording") == 1 and "DRAWTAP_OUTPUT" in done.stderr
    assert not list(killed.folder.glob("*.dtap"))
    for number in (1, 2):  # what is there already stays
        killed.wait_until_whole(run(env=environment | {"DRAWTAP_OUTPUT": "own.dtap"}).returncode, number)
    for trace in killed.folder.glob("own*.dtap"):
        killed.check(1, trace=trace)


def test_a_drainer_of_the_programs_own_leaves_its_files_alone(killed: Killed) -> None:
    environment = {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1", "LD_PRELOAD": str(part(TAP))}
    reading, writing = os.pipe()
    output = killed.folder / "own.dtap"
    program = subprocess.Popen(
        [str(killed.program), str(killed.folder / "progress"), "sleep", "1", "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | environment | {"DRAWTAP_OUTPUT": str(output)},
        pass_fds=[writing],
    )
    os.close(writing)
    killed.wait_for(1, 1)
    _wait_for(lambda: _drainer_of(output) > 0)
    drainer = Path(f"/proc/{_drainer_of(output)}/fd")
    assert [str((drainer / n).readlink()) for n in "01"] == ["/dev/null", "/dev/null"]
    program.kill()
    program.communicate(timeout=300)
    with os.fdopen(reading, "rb") as pipe:
        assert (
            select.select([pipe], [], [], 60)[0] and pipe.read() == b""
        )  # whoever waits for the program does not wait for its drainer
    killed.wait_until_whole(0, 1)
    killed.check(1, trace=output)


def _environment() -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    return inherited | {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}


def _swaps(killed: Killed) -> int:
    return int(killed.ask('SELECT count(*) AS n FROM "eglSwapBuffers"')[0]["n"])


def _child_named(parent: int, name: str) -> int:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    (found,) = [int(pid) for pid in children if Path(f"/proc/{pid}/comm").read_text().strip() == name]
    return found


def _drainer_of(trace: Path) -> int:
    """Return the drainer that writes `trace`: others may run on this machine."""
    for entry in Path("/proc").iterdir():
        try:
            arguments = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if arguments and arguments[0].endswith(b"drawtap-drain") and str(trace).encode() in arguments:
            return int(entry.name)
    return 0


def _wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.003)
