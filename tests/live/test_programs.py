"""The manager and real programs: seen, held back, let go, recorded while they run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import drawtap
from drawtap.errors import UnavailableError
from drawtap.live import attach, policy
from drawtap.live.client import Client
from drawtap.live.folder import Folder
from drawtap.live.program import Limit, Program, Value
from drawtap.parts import part, preloadable, whole_tap
from pretended import PATIENCE_S, wait_for

pytestmark = pytest.mark.gl
_SOURCE = Path(__file__).parent / "programs" / "frames.c"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the program that shows frames."""
    if shutil.which("cc") is None or not Path("/usr/include/EGL/egl.h").exists():
        pytest.skip("a C compiler and the GL headers are needed")
    made = tmp_path_factory.mktemp("frames") / "frames"
    built = subprocess.run(
        ["cc", "-O1", str(_SOURCE), "-o", str(made), "-lEGL", "-lGLESv2"], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return made


@dataclass
class RunningProgram:
    """A program that runs: `counts` are the frames that it tells of, newest last."""

    process: subprocess.Popen[str]
    counts: list[int] = field(default_factory=list)

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.counts.append(int(line))

    def runs_faster_than(self, frames: int) -> bool:
        """Tell whether more than so many frames were shown between the last two lines (a tenth of a second)."""
        return len(self.counts) > 1 and self.counts[-1] - self.counts[-2] > frames


@dataclass
class Desktop:
    """Programs and managers in a runtime folder of their own."""

    folder: Folder
    program: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DRAWTAP_") or k == "DRAWTAP_NATIVE"}
        own = {"XDG_RUNTIME_DIR": str(self.folder.path.parent), "LIBGL_ALWAYS_SOFTWARE": "1"}
        return kept | own | {"XDG_CONFIG_HOME": str(self.folder.path.parent / "config")}

    def manager(self, *words: str) -> subprocess.Popen[str]:
        made = self._start([sys.executable, "-m", "drawtap", "manager", *words], {})

        def answers() -> bool:
            assert made.poll() is None
            try:
                with Client(self.folder) as client:
                    return bool(client.ask("hello")["manager"]["pid"] == made.pid)
            except UnavailableError:
                return False

        wait_for(answers, "the manager")
        return made

    def run(self, *words: str, before: Sequence[str] = (), **variables: str) -> RunningProgram:
        own = {"LD_PRELOAD": str(part(whole_tap())), "DRAWTAP_MANAGED": "1"} | variables
        shown = RunningProgram(self._start([*before, str(self.program), *words], own))
        threading.Thread(target=shown.listen, daemon=True).start()
        return shown

    def drawtap(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "drawtap", *words],
            capture_output=True,
            text=True,
            timeout=300,
            env=self.environment,
            check=False,
        )

    def programs(self) -> list[dict]:
        with Client(self.folder) as client:
            found: list[dict] = client.ask("list", recent=60)["programs"]
        return found

    def found(self, count: int = 1) -> list[dict]:
        """Wait until the manager sees so many programs that draw."""
        seen: list[dict] = []

        def there() -> bool:
            seen[:] = [p for p in self.programs() if p["surfaces"]]
            return len(seen) == count

        wait_for(there, f"{count} programs")
        return seen

    def _start(self, words: list[str], variables: dict[str, str]) -> subprocess.Popen[str]:
        made = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.environment | variables,
        )
        self.processes.append(made)
        return made


@pytest.fixture
def desktop(program: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desktop]:
    """Return a runtime folder with nothing in it yet; what was started ends with the test."""
    monkeypatch.delenv("DRAWTAP_MANAGER", raising=False)
    # Names of sockets are short.
    with tempfile.TemporaryDirectory(prefix="dt-", dir="/tmp", ignore_cleanup_errors=True) as runtime:
        made = Desktop(Folder(Path(runtime) / "drawtap"), program)
        yield made
        for process in made.processes:
            process.kill()
        for process in made.processes:
            process.communicate(timeout=PATIENCE_S)


def _intervals(desktop: Desktop, pid: int, number: int, more_than: int) -> list[float]:
    """Return the times between the frames that a surface shows from now on, in ms."""
    begun: list[int] = []
    last: list[float] = []

    def enough() -> bool:
        surface = next(p for p in desktop.programs() if p["pid"] == pid)["surfaces"][number]
        begun.append(surface["frames"])
        last[:] = surface["recent_ms"]
        return surface["frames"] - begun[0] > more_than

    wait_for(enough, "frames")
    return last[-more_than:]


def _is_named(word: str) -> bool:
    """Tell whether any process has `word` among its arguments."""
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and word.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                return True
    return False


def test_a_program_from_before_is_found_held_and_let_go(desktop):
    shown = desktop.run("2", "3")
    wait_for(lambda: len(shown.counts) > 2, "frames without a manager")
    manager = desktop.manager()
    (known,) = desktop.found()
    assert known["pid"] == shown.process.pid and known["name"] == "frames" and not known["recording"]
    wait_for(lambda: [s["frames"] > 9 for s in desktop.programs()[0]["surfaces"]] == [True, True], "frames of both")
    two, one = sorted(desktop.programs()[0]["surfaces"], key=lambda s: s["frames"])  # either may be the first seen
    often = one["number"]
    assert one["frames"] > 2 * two["frames"] > 0  # told apart by what is shown, not by who shows it
    assert (one["kind"], one["width"], one["height"], one["swap_interval"]) == ("egl", 64, 48, 0)
    # Absolute deadlines: however loaded the machine, frames come no faster than they may, on average exactly.
    said = desktop.drawtap("limit", "frames", "50", "--json")
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)[0]["limit"] == 50
    assert np.mean(_intervals(desktop, shown.process.pid, often - 1, 20)) > 20 * 0.94
    assert desktop.drawtap("limit", "frames", "none").returncode == 0
    assert desktop.drawtap("limit", "--surface", str(often), "frames", "20").returncode == 0
    assert np.mean(_intervals(desktop, shown.process.pid, often - 1, 8)) > 50 * 0.85
    with Client(desktop.folder) as client:
        client.ask("limit", program="frames", fps=2)
        client.ask("limit", program="frames", fps=2, surface=often)
    wait_for(lambda: len(shown.counts) > 3 and shown.counts[-1] - shown.counts[-2] <= 1, "slow frames")
    # Killed: what it said holds no longer than its lease, and nobody has to tell the program.
    manager.kill()
    wait_for(lambda: shown.runs_faster_than(4), "the program's own pace")
    # Another one finds the same program, with the frames that it has shown meanwhile.
    desktop.manager()
    (again,) = desktop.found()
    assert again["pid"] == shown.process.pid
    # What people said holds again.
    assert again["limit"]["fps"] == 2 and {s["limit"]["fps"] for s in again["surfaces"]} == {2}
    assert sum(s["frames"] for s in again["surfaces"]) > one["frames"] + two["frames"]


def test_programs_come_and_go(desktop):
    desktop.manager()
    first = desktop.run("1", "1")
    desktop.run("1", "1", "fork")
    seen = desktop.found(3)  # a child that draws is a program of its own
    assert len({p["pid"] for p in seen}) == 3
    first.process.kill()
    assert first.process.pid not in {p["pid"] for p in desktop.found(2)}
    off = desktop.run("1", "1", DRAWTAP_MANAGER="off")
    wait_for(lambda: len(off.counts) > 2, "frames")
    assert off.process.pid not in {p["pid"] for p in desktop.found(2)}
    alone = desktop.run("1", "1", DRAWTAP_MANAGER="off", DRAWTAP_LIMIT="20")
    wait_for(lambda: len(alone.counts) > 10, "frames")
    # Two frames a line of a tenth of a second, however slow the machine: never many more.
    assert alone.counts[-1] <= 2 * len(alone.counts) * 3
    # Nor under a manager that says nothing.
    held = desktop.run("1", "1", DRAWTAP_LIMIT="20")
    wait_for(lambda: len(held.counts) > 10, "frames")
    assert held.counts[-1] <= 2 * len(held.counts) * 3
    (known,) = [p for p in desktop.programs() if p["pid"] == held.process.pid]
    assert (known["limit"]["fps"], known["limit"]["origin"]) == (20, "start")
    assert desktop.drawtap("manager").returncode == 3


def test_a_running_program_is_recorded_and_left_again(desktop, tmp_path):
    manager = desktop.manager()
    shown = desktop.run("1", "1", DRAWTAP_HASH_FRAMES="1")
    (known,) = desktop.found()
    pid = str(known["pid"])
    for number in range(2):
        file = tmp_path / f"{number}.dtap"
        said = desktop.drawtap("record", "--pid", pid, "--frames", "7", "-o", str(file), "--why", "test")
        assert said.returncode == 0, said.stderr
        with drawtap.open(file) as trace:
            assert len(trace.sql("SELECT * FROM frames").fetchall()) == 7
            # Whole frames, and before the first what the program had made.
            query = "SELECT DISTINCT name FROM calls WHERE seq >= (SELECT max(seq) FROM notes WHERE code = 'base-ends')"
            names = {row[0] for row in trace.sql(query).fetchall()}
            assert names == {"eglSwapBuffers", "glClearColor", "glClear"}
            notes = trace.sql("SELECT code FROM notes").fetchall()
            assert [row[0] for row in notes] == ["began-late", "base-begins", "base-ends"]
        played = desktop.drawtap("replay", str(file), "--verify")
        assert played.returncode == 0 and "7 of 7 images" in played.stdout, played.stdout + played.stderr
    # It is the program's frames that are recorded: none is lost, and none waits for anybody.
    assert not desktop.found()[0]["recording"]
    refused = desktop.drawtap("record", "--pid", pid, "--frames", "7", "-o", str(file))
    assert refused.returncode == 2 and "exists" in refused.stderr
    nobody = desktop.drawtap("record", "--pid", "nobody", "--frames", "1")
    assert nobody.returncode == 2 and "frames (" in nobody.stderr
    # Who records dies: the program does not notice, and can be recorded again.
    tracer = desktop._start(
        [sys.executable, "-m", "drawtap", "record", "--pid", pid, "-o", str(tmp_path / "x.dtap")], {}
    )
    wait_for(lambda: desktop.found()[0]["recording"], "the recording")
    tracer.kill()
    wait_for(lambda: not desktop.found()[0]["recording"], "its end")
    wait_for(lambda: not _is_named(str(tmp_path / "x.dtap")), "the end of its recorder")
    count = len(shown.counts)
    wait_for(lambda: len(shown.counts) > count, "frames")
    # Interrupted as people do it: the file is whole, the program goes on.
    file = tmp_path / "y.dtap"
    tracer = desktop._start([sys.executable, "-m", "drawtap", "record", "--pid", pid, "-o", str(file)], {})
    wait_for(lambda: desktop.found()[0]["recording"], "the recording")
    tracer.send_signal(signal.SIGINT)
    assert tracer.wait(PATIENCE_S) == 0
    with drawtap.open(file) as trace:
        assert trace.sql("SELECT count(*) FROM calls").fetchall()[0][0] > 0
    # The manager dies while somebody records: the recorder goes on to the end that was asked for.
    file = tmp_path / "z.dtap"
    tracer = desktop._start([sys.executable, "-m", "drawtap", "record", "--pid", pid, "-o", str(file)], {})
    wait_for(lambda: desktop.found()[0]["recording"], "the recording")
    manager.kill()
    manager.wait(PATIENCE_S)
    count = len(shown.counts)
    wait_for(lambda: len(shown.counts) > count + 3, "frames without a manager")
    tracer.send_signal(signal.SIGINT)
    assert tracer.wait(PATIENCE_S) == 0
    with drawtap.open(file) as trace:
        assert trace.sql("SELECT count(*) FROM calls WHERE name = 'eglSwapBuffers'").fetchall()[0][0] > 3
    assert shown.process.poll() is None


def test_a_recording_whose_manager_is_gone_ends_as_asked():
    """It has no end but that of the recording itself, which the third look finds."""
    looks = []

    class Gone:
        fileno = staticmethod(lambda: reading)

        def events(self, seconds):
            raise UnavailableError("the manager has hung up")

    class Recorder:
        def files(self, seconds):
            looks.append(seconds)
            return ("t.dtap",) if len(looks) == 3 else ()

    (reading, writing), (quiet, interrupt) = os.pipe(), os.pipe()
    os.close(writing)  # a closed connection can be read
    assert attach._wait(Gone(), 0.0, quiet, Recorder()) is False
    assert len(looks) == 3
    os.write(interrupt, b"x")
    assert attach._wait(Gone(), 0.0, quiet, Recorder()) is True  # Ctrl-C was first
    assert len(looks) == 3
    for descriptor in (reading, quiet, interrupt):
        os.close(descriptor)


def test_a_program_that_shows_nothing_is_known_and_recorded(desktop, tmp_path):
    desktop.manager()
    shown = desktop.run("0")
    wait_for(lambda: len(desktop.programs()) == 1, "the program")
    wait_for(lambda: len(shown.counts) > 2, "work")
    (known,) = desktop.programs()
    assert known["pid"] == shown.process.pid and known["surfaces"] == [] and known["frames"] == 0
    said = desktop.drawtap("top", "--once")
    assert said.returncode == 0 and "no frames" in said.stdout
    # What it waits for is the end of a frame where nothing else is.
    file = tmp_path / "computed.dtap"
    said = desktop.drawtap("record", "--pid", "frames", "--frames", "5", "-o", str(file))
    assert said.returncode == 0, said.stderr
    with drawtap.open(file) as trace:
        # What stands before belongs to the program's state when the recording began.
        taken = "SELECT max(seq) FROM notes WHERE code = 'base-ends'"
        counts = dict(trace.sql(f"SELECT name, count(*) FROM calls WHERE seq >= ({taken}) GROUP BY name").fetchall())
    assert counts == {"glClearColor": 5, "glClear": 5, "glFinish": 5}


def test_a_program_in_namespaces_of_its_own_is_held_and_recorded(desktop, tmp_path):
    container = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc"]
    if shutil.which("unshare") is None or subprocess.run([*container, "true"], check=False).returncode:
        pytest.skip("this system makes no user namespaces")
    desktop.manager()
    desktop.run("1", "1", before=container)
    (known,) = desktop.found()
    assert (Path("/proc") / str(known["pid"]) / "comm").read_text().strip() == "frames"  # its number here, not there
    assert desktop.drawtap("limit", str(known["pid"]), "50").returncode == 0
    assert np.mean(_intervals(desktop, known["pid"], 0, 20)) > 20 * 0.94
    file = tmp_path / "contained.dtap"
    said = desktop.drawtap("record", "--pid", str(known["pid"]), "--frames", "3", "-o", str(file))
    assert said.returncode == 0, said.stderr
    with drawtap.open(file) as trace:
        assert len(trace.sql("SELECT * FROM frames").fetchall()) == 3


def test_an_alarm_leaves_its_mark_in_a_recording(desktop, tmp_path):
    (desktop.folder.path.parent / "manager.toml").write_text(
        """[manager]
period = 0.05
[[program]]
name = "frames"
target = 9999
[[alarm]]
rule = "target-missed"
seconds = 0.1
actions = ["mark"]
"""
    )
    desktop.manager("--config", str(desktop.folder.path.parent / "manager.toml"))
    file = tmp_path / "marked.dtap"
    recorder = desktop._start(
        [sys.executable, "-m", "drawtap", "record", "-o", str(file), "--", str(desktop.program), "1", "1"], {}
    )
    wait_for(lambda: any(p["alarms"] for p in desktop.programs()), "the alarm")
    seen = desktop.programs()[0]["surfaces"][0]["frames"]
    wait_for(lambda: desktop.programs()[0]["surfaces"][0]["frames"] > seen + 2, "a frame that takes the letter")
    assert recorder.stdin is not None
    recorder.stdin.close()
    assert recorder.wait(PATIENCE_S) == 0
    recorder.stdin = None
    with drawtap.open(file) as trace:
        marks = trace.sql("SELECT text FROM marks").fetchall()
    assert marks and all("target-missed" in str(text) for (text,) in marks)


@pytest.mark.sample(1)
@pytest.mark.parametrize("pacing", ["early", "late"])
def test_a_frame_that_waits_is_let_go_at_once(desktop, pacing):
    (desktop.folder.path.parent / "manager.toml").write_text("[manager]\nperiod = 0.05\nspin_us = 300\n")
    desktop.manager("--config", str(desktop.folder.path.parent / "manager.toml"))
    desktop.run("1", "1")
    (known,) = desktop.found()
    said = desktop.drawtap("limit", "frames", "50", "--pacing", pacing, "--json")
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)[0]["limit"] == 50
    # Late pacing waits after a frame: one that was shown two intervals late is followed by two that are not.
    assert np.mean(_intervals(desktop, known["pid"], 0, 20)) > 20 * 0.85
    with Client(desktop.folder) as client:

        def shown(recent: int = 0) -> dict:
            return dict(client.ask("list", recent=recent)["programs"][0]["surfaces"][0])

        def let_go() -> bool:
            """Hold it to a frame a second, allow more while one waits, and tell whether that came before its time."""
            client.ask("limit", program="frames", fps=1, pacing=pacing)
            before = shown()["frames"]
            wait_for(lambda: shown()["frames"] > before + 1, "slow frames")
            waiting = shown()["frames"]
            client.ask("limit", program="frames", fps=20, pacing=pacing)
            wait_for(lambda: shown()["frames"] > waiting + 1, "more frames")
            now = shown(600)
            past = now["frames"] - waiting
            return past <= len(now["recent_ms"]) and bool(now["recent_ms"][-past] < 700)

        # A loaded machine may be late with any one of these.
        wait_for(let_go, "a frame that does not wait to the end")


def test_run_starts_programs_for_the_manager(desktop, program, drawtap: Callable[..., object]):
    said = desktop.drawtap("run", "--print-environment")
    assert said.returncode == 0 and f"LD_PRELOAD={preloadable(part(whole_tap()))}\nDRAWTAP_MANAGED=1\n" in said.stdout
    for wrong in ("0", "fast", "60,sometimes"):
        assert desktop.drawtap("run", "--fps", wrong, "--", str(program)).returncode == 2
    process = subprocess.Popen(
        [sys.executable, "-m", "drawtap", "run", "--", str(program), "1", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=desktop.environment,
    )
    desktop.processes.append(process)  # type: ignore[arg-type]
    desktop.manager()
    desktop.found()
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(PATIENCE_S) == 0
    wait_for(lambda: not desktop.programs(), "its end")
    process.stdin = None


def test_a_trace_that_an_alarm_could_not_write_is_in_the_log(desktop):
    (desktop.folder.path.parent / "manager.toml").write_text(
        """[manager]
period = 0.05
traces = "/proc"  # where nobody makes files
[[program]]
name = "frames"
target = 9999
[[alarm]]
rule = "target-missed"
seconds = 0.1
actions = [{ do = "trace", frames = 2 }]
"""
    )
    desktop.manager("--config", str(desktop.folder.path.parent / "manager.toml"))
    desktop.run("1", "1")

    def failed() -> list[dict]:
        with Client(desktop.folder) as client:
            return [entry for entry in client.ask("log")["entries"] if entry["event"] == "trace-failed"]

    wait_for(failed, "the log to say so")
    [entry] = failed()
    assert entry["code"] in (2, 3) and "/proc" in entry["text"] and entry["file"].startswith("/proc/alarm-")


def _block(kind: str) -> str:
    """Return a block of the page on numbers of a program's own."""
    page = (Path(__file__).parents[2] / "docs" / "howto" / "values.md").read_text()
    return page.partition(f"```{kind}\n")[2].partition("```")[0]


def test_numbers_of_a_programs_own_reach_alarms_policies_and_recordings(desktop, tmp_path):
    (tmp_path / "queue.c").write_text(_block("c"))
    header = desktop.drawtap("build", "--include").stdout.strip()
    desktop.program = tmp_path / "game"
    told = [f'-DTELL="{tmp_path / "queue.c"}"', f"-I{header}"]
    subprocess.run(["cc", *told, str(_SOURCE), "-o", str(desktop.program), "-lEGL", "-lGLESv2"], check=True)
    alarm = _block("toml").replace(', { do = "trace", frames = 60 }', "")
    (desktop.folder.path.parent / "manager.toml").write_text(f"[manager]\nperiod = 0.05\n{alarm}")
    desktop.manager("--config", str(desktop.folder.path.parent / "manager.toml"))
    file = tmp_path / "told.dtap"
    recorder = desktop._start(
        [sys.executable, "-m", "drawtap", "record", "-o", str(file), "--", str(desktop.program), "1", "1"], {}
    )
    wait_for(lambda: any(p["alarms"] for p in desktop.programs()), "the alarm")
    [seen] = desktop.programs()
    assert seen["values"].keys() == {"waiting"} and seen["values"]["waiting"]["value"] > 100
    assert seen["values"]["waiting"]["sets"] > 100
    assert seen["alarms"][0]["rule"] == "value" and seen["alarms"][0]["text"].startswith("waiting is ")
    assert recorder.stdin is not None
    recorder.stdin.close()
    assert recorder.wait(PATIENCE_S) == 0
    recorder.stdin = None
    with drawtap.open(file) as trace:
        told = [value for (value,) in trace.sql("SELECT value FROM metrics WHERE name = 'waiting'").fetchall()]
    assert told[:100] == list(range(100))


def test_the_policy_of_the_page_follows_a_programs_number():
    names = {name: getattr(policy, name) for name in ("Decision", "Snapshot")}
    scope = {**names, "policy": lambda _: lambda made: made, "dataclass": dataclass, "Limit": Limit}
    exec(_block("python"), scope)
    made = scope["Patient"]()

    def held(waiting: float) -> list[int]:
        game = Program(1, 11, "game", values={"waiting": Value(waiting, 5)})
        return list(made.decide(policy.Snapshot(10, (game, Program(2, 12, "other"))), None).limits)

    assert held(200) == [2] and held(50) == []
