"""The drainer: everything that was committed is in the trace, whoever dies, and bad memory never hurts it."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the checker stands beside this file; test folders are no packages

from container_check import Hashes, check_calls, read_container, referred_blobs

from shared import steps

ROOT = Path(__file__).resolve().parents[2]
SIGNATURES = """\
F\t0\ttoy\ttoyNothing\t0\t0\t-\t-
F\t1\ttoy\ttoyEnable\t0\t1\t-\t-
P\tcap\tToyCap\tenum\t4:0\tCap\t-
F\t2\ttoy\ttoyUniform4f\t0\t5\t-\t-
P\tlocation\tint\ti32\t4:0\t-\t-
P\tx\tfloat\tf32\t4:1\t-\t-
P\ty\tfloat\tf32\t4:2\t-\t-
P\tz\tfloat\tf32\t4:3\t-\t-
P\tw\tfloat\tf32\t4:4\t-\t-
F\t3\ttoy\ttoyData\t3\t1\t-\t-
P\tsize\tlong\ti64\t8:0\t-\t-
P\tbytes\tlong\ti64\t8:1\t-\t-
P\tdata\tconst void*\tptr\t-\t-\t-
D\t8:2\tu8\tin\t-
P\ttarget\tunsigned\tu32\t4:0\t-\t-
F\t4\ttoy\ttoyGet\t3\t1\t-\t-
P\tname\tconst char*\tptr\t-\t-\t-
D\t8:0\tu8\tin\t-
P\tnumber\tlong\ti64\t8:1\t-\t-
P\tout\tvoid*\tptr\t-\t-\t-
D\t8:2\tu8\tout\t-
P\tflag\tunsigned\tu32\t4:0\t-\t-
F\t7\ttoy\ttoyNeverCalled\t1\t0\t-\t-
G\tCap\tenum
E\tTOY_BLEND\t0
E\tTOY_DEPTH\t1
G\tUnused\tenum
E\tTOY_NOWHERE\t0
"""


@dataclass(frozen=True)
class Tools:
    drain: Path
    app: Path
    hashes: Hashes


@dataclass
class Drain:
    process: subprocess.Popen[bytes]
    folder: Path
    trace: Path
    socket: Path
    status_path: Path

    def finish(self, timeout: float = 60) -> list[dict[str, Any]]:
        """Wait for the drainer to end by itself and return its status lines."""
        assert self.process.wait(timeout) == 0
        return self.status()

    def status(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.status_path.read_text().splitlines()]

    def files(self) -> list[dict[str, Any]]:
        return [line for line in self.status() if line["event"] == "file"]

    def errors(self) -> list[str]:
        return [line["code"] for line in self.status() if line["event"] == "error"]


@dataclass
class Bench:
    """Starts drainers and applications in a folder, and ends what is left."""

    tools: Tools
    folder: Path
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def drain(self, *options: str, name: str = "t.dtap", idle: float | None = 0.3, **popen: Any) -> Drain:
        read_end, write_end = os.pipe()
        status = self.folder / f"status-{len(self.running)}"
        command = [str(self.tools.drain), "--socket", str(self.folder / "s"), "--output", str(self.folder / name)]
        command += ["--status", str(status), "--ready-fd", str(write_end), *options]
        if idle is not None:
            command += ["--exit-when-idle", str(idle)]
        process = subprocess.Popen(command, pass_fds=[write_end], stdin=subprocess.PIPE, **popen)
        self.running.append(process)
        os.close(write_end)
        with os.fdopen(read_end) as ready:
            assert ready.read() == "ready\n"
        return Drain(process, self.folder, self.folder / name, self.folder / "s", status)

    def app(self, *settings: str, **popen: Any) -> subprocess.Popen[bytes]:
        signatures = self.folder / "toy.sig"
        if not signatures.exists():
            signatures.write_text(SIGNATURES)
        progress = self.folder / "progress"
        progress.unlink(missing_ok=True)
        command = [str(self.tools.app), str(self.folder / "s"), str(signatures), str(progress), *settings]
        process = subprocess.Popen(command, **({"stdout": subprocess.DEVNULL} | popen))
        self.running.append(process)
        return process

    def progress(self, threads: int) -> list[int]:
        return list(struct.unpack_from(f"<{threads}Q", (self.folder / "progress").read_bytes()))


def _build(folder: Path, out: str, compiler: str, sources: list[Path], *options: str) -> Path:
    target = folder / out
    command = [compiler, "-O2", "-I", str(ROOT / "native/third_party"), "-o", str(target), *map(str, sources), *options]
    subprocess.run(command, check=True)
    return target


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    folder = tmp_path_factory.mktemp("drain-tools")
    sources = sorted((ROOT / "native/drain").glob("*.cc")) + sorted((ROOT / "native/common").glob("*.cc"))
    headers = sorted((ROOT / "native/drain").glob("*.h")) + sorted((ROOT / "native/common").glob("*.h"))
    built = ROOT / "src/drawtap/_native/drawtap-drain"
    newest = max(path.stat().st_mtime for path in sources + headers)
    if "DRAWTAP_TEST_DRAIN" in os.environ:  # a build with sanitizers, for instance
        drain = Path(os.environ["DRAWTAP_TEST_DRAIN"])
    elif built.exists() and built.stat().st_mtime > newest:
        drain = built
    else:
        drain = _build(folder, "drawtap-drain", "g++", sources, "-std=c++20", "-lzstd", "-lpthread")
    here = ROOT / "tests/native"
    app = _build(folder, "drain_app", "gcc", [here / "drain_app.c"], "-std=gnu11", "-lpthread")
    hashes = _build(folder, "libdrain_hash.so", "gcc", [here / "drain_hash.c"], "-shared", "-fPIC")
    return Tools(drain, app, Hashes(hashes))


@pytest.fixture
def bench(tools: Tools, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tools, tmp_path)
    yield made
    for process in made.running:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdin:
            process.stdin.close()


# ---- what is written ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threads", "calls", "blobs", "options"),
    [
        (1, 1, 0, []),
        (1, 16, 0, ["--level", "19"]),
        (1, 200_000, 0, []),
        (1, 50_000, 40, ["--workers", "1"]),
        (7, 60_000, 9, ["--workers", "3", "--chunk-bytes", "65536", "--pool-limit", "1000000"]),
        (3, 100_000, 100, ["--workers", "2", "--chunk-bytes", "65536"]),
        (3, 100_000, 100, ["--workers", "2", "--chunk-bytes", "2097152"]),
    ],
)
def test_every_value_arrives(bench: Bench, threads: int, calls: int, blobs: int, options: list[str]) -> None:
    """Contents that come with a number are named by their hash in the file, and stored once for all threads."""
    drain = bench.drain(*options)
    app = bench.app(f"threads={threads}", f"calls={calls}", f"blobs={blobs}", f"unnamed={int('65536' in options)}")
    assert app.wait(60) == 0
    drain.finish()
    trace = read_container(drain.trace, bench.tools.hashes)
    assert check_calls(trace, bench.tools.hashes, blobs=blobs) == dict.fromkeys(range(threads), calls)
    (summary,) = drain.files()
    assert summary["complete"]
    assert summary["records"] == threads * calls
    assert summary["calls"] == sum(c.meta["calls"] for c in trace.calls) == trace.annotation("end")["calls"]
    assert summary["bytes_file"] == trace.size


def test_file_describes_only_what_it_uses(bench: Bench) -> None:
    drain = bench.drain()
    assert bench.app("calls=100").wait(20) == 0
    drain.finish()
    text = read_container(drain.trace, bench.tools.hashes).signatures
    assert "toyGet" in text
    assert "TOY_DEPTH" in text
    assert "toyNeverCalled" not in text
    assert "TOY_NOWHERE" not in text


def test_annotations_tell_the_circumstances(bench: Bench) -> None:
    drain = bench.drain("--annotation", '{"kind": "settings", "fps": 60}', "--timing", "entry", idle=None)
    assert drain.process.stdin is not None
    app = bench.app("calls=100", "exit=1")
    wishes = [
        {"do": "annotate", "annotation": {"kind": "label", "text": "ä"}},
        {"do": "watch", "pid": app.pid},
    ]
    drain.process.stdin.write("".join(f"{json.dumps(wish, ensure_ascii=False)}\n" for wish in wishes).encode())
    drain.process.stdin.flush()
    app.wait(20)
    drain.process.stdin.write(b'{"do": "exit", "value": 7}\n')
    drain.process.stdin.flush()
    drain.finish()
    trace = read_container(drain.trace, bench.tools.hashes)
    recording, end = trace.annotation("recording"), trace.annotation("end")
    assert recording["pid"] == app.pid
    assert recording["timing"] == "entry"
    assert recording["machine"]["cores"] >= 1
    assert recording["command_line"][0] == str(bench.tools.app)
    assert "calls=100" in recording["command_line"]
    assert trace.annotation("settings")["fps"] == 60
    assert trace.annotation("label")["text"] == "ä"
    assert end["exit_code"] == 7
    assert not end["sealed_by_exit"]


def test_signal_of_the_watched_program_is_noted(bench: Bench) -> None:
    drain = bench.drain(idle=None)
    assert drain.process.stdin is not None
    app = bench.app("calls=100", "exit=2", "hold=1000")
    drain.process.stdin.write(f'{{"do": "watch", "pid": {app.pid}}}\n'.encode())
    drain.process.stdin.flush()  # before the program ends: else its file is whole already
    assert app.wait(20) == -signal.SIGABRT
    drain.process.stdin.write(b'{"do": "signal", "value": 6}\n')
    drain.process.stdin.flush()
    drain.finish()
    trace = read_container(drain.trace, bench.tools.hashes)
    assert trace.annotation("end")["signal"] == 6
    assert check_calls(trace, bench.tools.hashes) == {0: 100}


def test_content_is_compressed_where_that_helps_only(bench: Bench) -> None:
    drain = bench.drain()
    assert bench.app("calls=20000", "blobs=10", "threads=4").wait(60) == 0
    drain.finish()
    trace = read_container(drain.trace, bench.tools.hashes)
    check_calls(trace, bench.tools.hashes, blobs=10)
    whole = {name: len(content) for name, content in trace.blobs.items()}
    assert len(whole) == 24
    # Half of the contents are noise. None grew, and the others shrank much.
    noise = [stored / size for _, _, size, stored in trace.blob_parts if stored == size]
    regular = [stored / size for _, _, size, stored in trace.blob_parts if stored < size and size > 1000]
    assert noise
    assert regular
    assert max(regular) < 0.5


def test_memory_is_given_back_at_rest_and_taken_again(bench: Bench) -> None:
    drain = bench.drain("--chunk-bytes", "65536")
    app = bench.app("threads=3", "calls=400000", "rest=4000")
    _wait_for(lambda: min(bench.progress(3)) >= 200_000)
    time.sleep(0.3)
    busy = _pool_pages(app.pid)
    if busy < 40 * 16:
        pytest.skip("this machine drains faster than the burst fills the pool: there is nothing to give back")
    _wait_for(lambda: _pool_pages(app.pid) < busy / 2)
    assert app.wait(60) == 0
    drain.finish()
    trace = read_container(drain.trace, bench.tools.hashes)
    assert check_calls(trace, bench.tools.hashes) == dict.fromkeys(range(3), 400_000)


def _pool_pages(pid: int) -> int:
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        if "drawtap-pool" in str(entry.readlink()):
            return entry.stat().st_blocks // 8
    raise AssertionError("the application has no pool")


# ---- several processes --------------------------------------------------------------------------------------


def test_each_process_gets_a_file(bench: Bench) -> None:
    drain = bench.drain()
    first = bench.app("calls=1000", "hold=300")
    _wait_for(lambda: bench.progress(1)[0] == 1000)
    second = bench.app("calls=500")
    assert first.wait(20) == 0
    assert second.wait(20) == 0
    drain.finish()
    by_pid = {f["pid"]: Path(f["file"]) for f in drain.files()}
    assert len(by_pid) == 2
    names = {p.name for p in by_pid.values()}
    assert "t.dtap" in names
    assert names - {"t.dtap"} <= {f"t-{first.pid}.dtap", f"t-{second.pid}.dtap"}
    assert check_calls(read_container(by_pid[first.pid], bench.tools.hashes), bench.tools.hashes) == {0: 1000}
    assert check_calls(read_container(by_pid[second.pid], bench.tools.hashes), bench.tools.hashes) == {0: 500}


def test_process_without_calls_leaves_no_file_but_is_reported(bench: Bench) -> None:
    drain = bench.drain()
    idle = bench.app("hello_only=1", "hold=100")
    busy = bench.app("calls=100", "hold=200")
    assert idle.wait(20) == 0
    assert busy.wait(20) == 0
    drain.finish()
    files = {f["pid"]: f["file"] for f in drain.files()}
    assert files == {idle.pid: None, busy.pid: str(drain.trace)}
    assert sorted(p.name for p in bench.folder.glob("*.dtap")) == ["t.dtap"]


def test_processes_that_start_at_the_same_moment_are_all_recorded(bench: Bench) -> None:
    drain = bench.drain(idle=None)
    signatures = bench.folder / "toy.sig"
    signatures.write_text(SIGNATURES)
    number = os.getpid()
    hello = struct.pack(
        "<6I2Q1024s1024s1024s", 0x4F4C4548, 1, number, 0, 1, 0, 1, 1, os.fsencode(signatures), b"p", b""
    )
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(12)]
        for line in lines:
            line.connect(str(drain.socket))
        _wait_for(lambda: _unaccepted(drain.socket) == 0)
        drain.process.send_signal(signal.SIGSTOP)
        for line in lines:
            line.sendall(hello)
        drain.process.send_signal(signal.SIGCONT)  # all of them have said hello when it looks again
        for line in lines:
            line.settimeout(300)
        # magic, version, accepted
        assert [struct.unpack_from("<3I", line.recv(4096))[2] for line in lines] == [1] * len(lines)
    drain.process.terminate()
    drain.finish()
    assert drain.errors() == []


def _unaccepted(path: Path) -> int:
    """Return how many clients have connected to the socket at `path` and were not accepted: they have no inode yet."""
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    return sum(line[-1] == str(path) and line[6] == "0" for line in lines)


def test_who_came_before_the_watched_program_ended_is_heard(bench: Bench) -> None:
    """A program that the tap is not for says so and is gone, while the drainer already learns of the last end."""
    stops = _build(bench.folder, "libstops.so", "gcc", [ROOT / "tests/native/drain_stops.c"], "-shared", "-fPIC")
    drain = bench.drain(idle=None, env=os.environ | {"LD_PRELOAD": str(stops)})
    assert drain.process.stdin is not None
    with subprocess.Popen(["true"]) as watched:
        os.waitid(os.P_PID, watched.pid, os.WEXITED | os.WNOWAIT)
        drain.process.stdin.write(f'{{"do": "watch", "pid": {watched.pid}}}\n'.encode())
        drain.process.stdin.flush()
        assert os.WIFSTOPPED(os.waitpid(drain.process.pid, os.WUNTRACED)[1])  # after its poll, with nobody there
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(drain.socket))
            line.sendall(struct.pack("<6I2Q1024s1024s1024s", 0x4F4C4548, 1, 7, 2, 0, 0, 0, 0, b"", b"/other", b""))
        drain.process.send_signal(signal.SIGCONT)
        assert [(s["event"], s["program"]) for s in drain.finish() if "program" in s] == [("foreign", "/other")]


def test_exec_begins_another_file(bench: Bench) -> None:
    drain = bench.drain()
    app = bench.app("calls=100", "again=50", "exit=1")
    assert app.wait(20) == 0
    drain.finish()
    files = {Path(f["file"]).name: f for f in drain.files()}
    assert {f["pid"] for f in files.values()} == {app.pid}
    assert set(files) == {"t.dtap", f"t-{app.pid}.dtap"}
    first = read_container(drain.trace, bench.tools.hashes)
    assert check_calls(first, bench.tools.hashes) == {0: 100}
    assert first.annotation("end")["reason"] == "exec"
    second = read_container(bench.folder / f"t-{app.pid}.dtap", bench.tools.hashes)
    assert check_calls(second, bench.tools.hashes) == {0: 50}


def test_ends_when_who_started_it_is_gone_and_nobody_draws(bench: Bench) -> None:
    drain = bench.drain(idle=None)
    assert drain.process.stdin is not None
    app = bench.app("calls=1000", stdin=subprocess.PIPE)
    assert app.wait(60) == 0
    _wait_for(lambda: drain.files() != [], 60)
    assert drain.process.poll() is None  # whoever holds its standard input may start another program
    drain.process.stdin.close()
    drain.finish(60)
    assert check_calls(read_container(drain.trace, bench.tools.hashes), bench.tools.hashes) == {0: 1000}


def test_stays_with_a_program_whose_starter_is_gone(bench: Bench) -> None:
    drain = bench.drain(idle=None)
    assert drain.process.stdin is not None
    app = bench.app("calls=1000", "hold=3000")  # longer than a drainer waits with nobody to record
    _wait_for(lambda: (bench.folder / "progress").exists() and bench.progress(1) == [1000], 60)
    drain.process.stdin.close()
    assert app.wait(60) == 0
    drain.finish(60)
    assert check_calls(read_container(drain.trace, bench.tools.hashes), bench.tools.hashes) == {0: 1000}


def test_refuses_a_process_whose_signatures_are_broken(bench: Bench) -> None:
    # Lines that are skipped in one go, some longer than what is looked at in one step, count as every other line.
    members = "G\tCap\tenum\n" + "E\tTOY_BLEND\t0\n" * 9 + f"E\tTOY_{'LONG' * 40}\t1\n" + "E\tTOY_DEPTH\t1\n"
    function = f"F\t1\ttoy\ttoyEnable\t0\t1\t-\t{'GL_SOME_EXTENSION,' * 9}\n"
    for text, wrong in (
        ("", "no function is described"),
        ("F\t1\ttoy\ttoyEnable\t0", "signature line 1: the text ends inside a line"),
        (
            members + function + "P\tcap\tC\tenum\t4:0\t-\t-\n" + "P\tx\tC\tenum\t4:1\t-\t-\n",
            "signature line 15: the slot",
        ),
    ):
        (bench.folder / "toy.sig").write_text(text)
        drain = bench.drain()
        assert bench.app("calls=10", stderr=subprocess.DEVNULL).wait(20) == 5
        drain.finish()
        assert drain.errors() == ["signatures"]
        assert [wrong in line["text"] for line in drain.status() if line["event"] == "error"] == [True]
        assert not drain.trace.exists()


def test_strangers_on_the_socket_do_no_harm(bench: Bench) -> None:
    drain = bench.drain()
    assert drain.socket.stat().st_mode & 0o777 == 0o600
    junk = random.Random(7)
    for size in (0, 1, 100, 3112, 3112, 9000):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(drain.socket))
            s.sendall(junk.randbytes(size))
    lasting = socket.socket(socket.AF_UNIX)
    lasting.connect(str(drain.socket))
    assert bench.app("calls=100").wait(20) == 0
    lasting.close()
    drain.finish()
    assert check_calls(read_container(drain.trace, bench.tools.hashes), bench.tools.hashes) == {0: 100}


# ---- death --------------------------------------------------------------------------------------------------


def test_killed_application_loses_nothing(bench: Bench) -> None:
    """Fifty kills (a sample: four) at random moments: each call that was committed is in the trace, with its values."""
    moments = random.Random(1)
    threads = 3
    for trial in range(steps(4, 50)):  # with and without contents and names
        drain = bench.drain(name=f"k{trial}.dtap", idle=0.05)
        blobs = 50 if trial % 2 else 0
        settings = [f"threads={threads}", "calls=100000000", f"blobs={blobs}", f"unnamed={trial // 2 % 2}"]
        app = bench.app(*settings, "pause=300")
        _wait_for(lambda: sum(bench.progress(threads)) > 0)
        time.sleep(moments.random() ** 2 * 0.15)
        app.kill()
        app.wait()
        committed = bench.progress(threads)
        drain.finish()
        trace = read_container(drain.trace, bench.tools.hashes)
        seen = _check_prefix(trace, bench, blobs)
        for thread, count in enumerate(committed):
            assert count <= seen.get(thread, 0) <= count + 1, (trial, thread)
        drain.trace.unlink()


def _check_prefix(trace: Any, bench: Bench, blobs: int) -> dict[int, int]:
    if blobs:  # the last content may be cut off in the middle: then no call refers to it
        referred = {name for chunk in trace.calls for name in referred_blobs(chunk)}
        trace.blobs = {b: content for b, content in trace.blobs.items() if b in referred}
        trace.blob_parts = [p for p in trace.blob_parts if p[0] in referred]
    return check_calls(trace, bench.tools.hashes, blobs=blobs)


def test_killed_drainer_is_followed_by_another(bench: Bench) -> None:
    """Kill the drainer again and again; a new one goes on with the pool and the file, and nothing is lost."""
    moments = random.Random(2)
    for trial in range(steps(1, 6)):
        name = f"a{trial}.dtap"
        drain = bench.drain(name=name, idle=None)
        # It stays for a while, so that the last of its drainers is not killed when there is nobody to start another.
        app = bench.app("threads=3", "calls=150000", "blobs=30", f"unnamed={trial % 2}", "pause=500", "hold=1000")
        _wait_for(lambda: min(bench.progress(3)) > 0)
        deaths = 0
        while min(bench.progress(3)) < 150000 and deaths < 6:
            time.sleep(0.005 + moments.random() * 0.05)
            drain.process.kill()
            drain.process.wait()
            deaths += 1
            partial = drain.trace
            if partial.exists() and partial.stat().st_size > 32:
                read_container(partial, bench.tools.hashes, whole=False)
            drain = bench.drain(name=name, idle=3)
        assert app.wait(60) == 0
        drain.finish()
        assert deaths > 0
        assert drain.errors() == []
        trace = read_container(drain.trace, bench.tools.hashes)
        assert check_calls(trace, bench.tools.hashes, blobs=30) == {0: 150000, 1: 150000, 2: 150000}
        drain.trace.unlink()


def test_pool_of_a_dead_pair_is_recovered_by_descriptor(bench: Bench) -> None:
    """Application and drainer are both killed; whoever still has the pool's descriptor gets everything."""
    drain = bench.drain(idle=None)
    app = bench.app("threads=2", "calls=1000000", "pause=2000")
    _wait_for(lambda: min(bench.progress(2)) > 20_000)
    drain.process.send_signal(signal.SIGSTOP)
    time.sleep(0.05)
    pool = _pool_descriptor(app.pid)
    try:
        app.kill()
        app.wait()
        drain.process.kill()
        drain.process.wait()
        committed = bench.progress(2)
        status = bench.folder / "recovered"
        command = [str(bench.tools.drain), "--output", str(bench.folder / "other.dtap"), "--adopt-fd", str(pool)]
        subprocess.run(
            [*command, "--status", str(status)], pass_fds=[pool], check=True, timeout=300, stdin=subprocess.DEVNULL
        )
    finally:
        os.close(pool)
    lines = [json.loads(line) for line in status.read_text().splitlines()]
    (summary,) = [line for line in lines if line["event"] == "file"]
    trace = read_container(Path(summary["file"]), bench.tools.hashes)
    seen = check_calls(trace, bench.tools.hashes)
    assert all(committed[t] <= seen[t] <= committed[t] + 1 for t in range(2))


def test_pool_of_a_program_that_lives_is_taken_where_its_recording_is_to_end(bench: Bench) -> None:
    drain = bench.drain(idle=None)
    app = bench.app("threads=2", "calls=1000000", "pause=2000")
    _wait_for(lambda: min(bench.progress(2)) > 20_000)
    pool = _pool_descriptor(app.pid)
    try:
        app.send_signal(signal.SIGSTOP)  # it would look for another drainer itself
        drain.process.kill()
        drain.process.wait()
        committed = bench.progress(2)
        command = [str(bench.tools.drain), "--output", str(drain.trace), "--adopt-fd", str(pool), "--end-it", "yes"]
        subprocess.run(command, pass_fds=[pool], check=True, timeout=300, stdin=subprocess.DEVNULL)
    finally:
        os.close(pool)
    trace = read_container(drain.trace, bench.tools.hashes)
    assert trace.annotation("end")["reason"] == "stopped"
    seen = check_calls(trace, bench.tools.hashes)
    assert all(committed[t] <= seen[t] <= committed[t] + 1 for t in range(2))


def _pool_descriptor(pid: int) -> int:
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        if "drawtap-pool" in str(entry.readlink()):
            return os.open(entry, os.O_RDWR)
    raise AssertionError("the application has no pool")


def test_sigterm_finishes_the_file_while_the_application_lives(bench: Bench) -> None:
    drain = bench.drain(idle=None)
    app = bench.app("threads=2", "calls=100000000", "pause=100")
    _wait_for(lambda: min(bench.progress(2)) > 30_000)
    drain.process.send_signal(signal.SIGINT)  # is the program's business
    drain.process.terminate()
    drain.finish()
    trace = read_container(drain.trace, bench.tools.hashes)
    assert min(check_calls(trace, bench.tools.hashes).values()) > 30_000
    assert trace.annotation("end")["reason"] == "stopped"
    assert app.wait(20) == 0  # told to stop, it ends by itself


def test_forgotten_socket_does_not_end_a_recording(bench: Bench) -> None:
    """A program that lives on after its socket ended still has the pool, and is recorded to its end."""
    drain = bench.drain()
    app = bench.app("calls=20000", "pause=100", "hold=700")
    _wait_for(lambda: bench.progress(1)[0] > 100)
    _shutdown_socket(app.pid, bench)
    assert app.wait(30) in (0, 4)
    drain.finish()
    assert check_calls(read_container(drain.trace, bench.tools.hashes), bench.tools.hashes)[0] > 100


def _shutdown_socket(pid: int, bench: Bench) -> None:
    pidfd = os.pidfd_open(pid)
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if str(entry.readlink()).startswith("socket:"):
                number = ctypes.CDLL(None).syscall(438, pidfd, int(entry.name), 0)  # pidfd_getfd
                if number < 0:
                    pytest.skip("this system does not let one process take another's descriptor")
                with socket.socket(fileno=number) as taken:
                    taken.shutdown(socket.SHUT_WR)
                return
    finally:
        os.close(pidfd)
    raise AssertionError("the application has no socket")


# ---- full disks and bad memory ------------------------------------------------------------------------------


def test_size_limit_leaves_a_whole_file_and_a_running_program(bench: Bench) -> None:
    limit = 2 * 1024 * 1024
    drain = bench.drain(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)), idle=None)
    app = bench.app("threads=2", "calls=100000000", "blobs=0")
    assert app.wait(60) == 0  # it was told to stop recording, and never blocked
    drain.process.terminate()
    drain.finish()
    assert "write" in drain.errors()
    trace = read_container(drain.trace, bench.tools.hashes)
    assert trace.size <= limit
    assert sum(check_calls(trace, bench.tools.hashes).values()) > 0
    end = trace.annotation("end")
    assert end["calls_lost"] > 0
    assert "write_error" in end
    assert not drain.files()[0]["complete"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_full_disk_leaves_a_whole_file(bench: Bench) -> None:
    disk = bench.folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("this system does not let root mount a tmpfs")
    try:
        drain = bench.drain(name="disk/t.dtap", idle=None)
        assert bench.app("threads=2", "calls=100000000").wait(60) == 0
        drain.process.terminate()
        drain.finish()
        assert "write" in drain.errors()
        kept = bench.folder / "kept.dtap"
        shutil.copy(drain.trace, kept)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    trace = read_container(kept, bench.tools.hashes)
    assert sum(check_calls(trace, bench.tools.hashes).values()) > 0
    assert trace.annotation("end")["calls_lost"] > 0


def test_unwritable_folder_is_reported(bench: Bench) -> None:
    drain = bench.drain(name="missing/t.dtap")
    assert bench.app("calls=100").wait(20) == 0
    drain.finish()
    assert drain.errors() == ["write"]
    assert drain.files()[0]["calls_lost"] == 94


@pytest.mark.sample(2)
@pytest.mark.parametrize("how", range(1, 9))
def test_scribbled_pool_never_hurts_the_drainer(bench: Bench, how: int) -> None:
    drain = bench.drain("--chunk-bytes", "131072")
    app = bench.app("threads=3", "calls=60000", f"corrupt={how}", "blobs=500" if how % 2 else "blobs=0")
    try:
        assert app.wait(6) in (0, -signal.SIGSEGV, -signal.SIGBUS)
    except subprocess.TimeoutExpired:
        app.kill()
    drain.finish()
    trace = read_container(drain.trace, bench.tools.hashes)
    assert sum(c.meta["records"] for c in trace.calls) > 1000
    (summary,) = drain.files()
    if how in (1, 2, 3):
        assert summary["invalid_records"] + summary["invalid_bytes"] > 0
        assert not summary["complete"]
        assert trace.annotation("end")["invalid_records"] == summary["invalid_records"]


def test_command_line_is_checked(tools: Tools) -> None:
    for arguments in (
        [],
        ["--output", "x"],
        ["--nonsense", "1"],
        ["--level", "x"],
        ["--timing", "never"],
        ["--socket"],
    ):
        result = subprocess.run([tools.drain, *arguments], capture_output=True, text=True)
        assert result.returncode == 2
        assert result.stderr.startswith("drawtap-drain: ")
    assert subprocess.run([tools.drain, "--version"], capture_output=True, text=True).stdout.startswith(
        "drawtap-drain "
    )


def _wait_for(condition: Any, seconds: float = 60) -> None:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            if condition():
                return
        except (FileNotFoundError, struct.error):
            pass
        time.sleep(0.002)
    raise AssertionError("waited in vain")


_REFUSED = [
    *((option, "seconds", ("soon", "2s", "-1", "")) for option in ("--wait", "--stall", "--exit-when-idle")),
    *((option, "yes or no", ("true", "1", "")) for option in ("--paused", "--remote", "--end-it", "--keep-existing")),
]


@pytest.mark.parametrize(("option", "expected", "values"), _REFUSED, ids=lambda value: str(value))
def test_values_that_an_option_does_not_take_are_refused(
    bench: Bench, option: str, expected: str, values: tuple[str, ...]
) -> None:
    command = [str(bench.tools.drain), "--socket", str(bench.folder / "s"), "--output", str(bench.folder / "x.dtap")]
    for value in values:
        done = subprocess.run([*command, option, value], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith(f"drawtap-drain: {option} {value}: expected {expected}"), done.stderr
