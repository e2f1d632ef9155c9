"""A recording survives every end of the program and of the recorder: each call that returned is in it."""

from __future__ import annotations

import functools
import json
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from drawtap.parts import TAP, part

pytestmark = pytest.mark.gl
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Killed:
    """The program and where it counts its calls."""

    program: Path
    folder: Path

    def start(self, end: str, threads: int, calls: int = 0) -> subprocess.Popen[str]:
        """Record the program; the recorder and it share a process group of their own."""
        (self.folder / "progress").unlink(missing_ok=True)
        self.trace.unlink(missing_ok=True)
        command = [sys.executable, "-m", "drawtap", "record", "-o", str(self.trace), "--", str(self.program)]
        command += [str(self.folder / "progress"), end, str(threads), str(calls)]
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        environment |= {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )

    @property
    def trace(self) -> Path:
        return self.folder / "killed.dtap"

    def counts(self, threads: int) -> list[int]:
        """Return how many calls of each thread have returned."""
        try:
            return list(struct.unpack_from(f"<{threads}Q", (self.folder / "progress").read_bytes()))
        except (FileNotFoundError, struct.error):
            return [0] * threads

    def wait_for(self, threads: int, calls: int) -> None:
        """Wait until each thread has made that many calls."""
        _wait_for(lambda: min(self.counts(threads)) >= calls)

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
        command = [sys.executable, "-m", "drawtap", "sql", str(trace or self.trace), query, "--json"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=120)
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
    """Build the program once."""
    if shutil.which("cc") is None or not Path("/usr/include/EGL/egl.h").exists():
        pytest.skip("a C compiler and the GL headers are needed")
    target = tmp_path_factory.mktemp("kill") / "kill_calls"
    command = ["cc", "-O2", "-o", str(target), str(HERE / "kill_calls.c"), "-lEGL", "-lGLESv2", "-lpthread"]
    subprocess.run(command, check=True)
    return target


@pytest.mark.parametrize(
    ("end", "code"),
    [("return", 0), ("exit", 3), ("_exit", 4), ("quick_exit", 5), ("abort", 134), ("segv", 139), ("kill", 137)],
)
def test_every_way_to_end_keeps_every_call(killed: Killed, end: str, code: int) -> None:
    recorder = killed.start(end, threads=2, calls=30_000)
    _, said = recorder.communicate(timeout=60)
    assert recorder.returncode == code, said
    killed.check(2)


@pytest.mark.slow
def test_killed_program_loses_no_call(killed: Killed) -> None:
    """Twenty kills at random moments, with one to three threads calling."""
    moments = random.Random(3)
    for trial in range(20):
        threads = 1 + trial % 3
        recorder = killed.start("sleep", threads)
        killed.wait_for(threads, 1)
        time.sleep(moments.random() * 0.2)
        os.kill(_child_named(recorder.pid, "kill_calls"), signal.SIGKILL)
        _, said = recorder.communicate(timeout=60)
        assert recorder.returncode == 137, said
        killed.check(threads)


def test_killed_drainer_loses_no_call(killed: Killed) -> None:
    """Kill the drainer under the program: the tap starts another, which goes on with the same file."""
    recorder = killed.start("return", threads=2, calls=600_000)
    for moment in (50_000, 200_000):
        killed.wait_for(1, moment)
        _wait_for(lambda: _drainer_of(killed.trace) > 0)
        os.kill(_drainer_of(killed.trace), signal.SIGKILL)
    recorder.communicate(timeout=60)
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


def test_a_preloaded_tap_records_only_where_it_is_told_to(killed: Killed) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DRAWTAP_") or k == "DRAWTAP_NATIVE"}
    environment |= {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1", "LD_PRELOAD": str(part(TAP))}
    line = [str(killed.program), "progress", "return", "1", "2000"]
    run = functools.partial(subprocess.run, line, cwd=killed.folder, text=True, timeout=60, stderr=subprocess.PIPE)
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
    program.communicate(timeout=60)
    with os.fdopen(reading, "rb") as pipe:
        assert (
            select.select([pipe], [], [], 60)[0] and pipe.read() == b""
        )  # whoever waits for the program does not wait for its drainer
    killed.wait_until_whole(0, 1)
    killed.check(1, trace=output)


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
