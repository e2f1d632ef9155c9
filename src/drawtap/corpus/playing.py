"""Play recordings of a corpus on engines, each in a process of its own that is watched.

A player stores the call that comes next in shared memory. Where nothing changes there for too long, the driver hangs in
that call; a player that grows too large, or takes too long in all, is ended too. The outcome is a value, never an
exception. It goes into the corpus under the key of the task, and a task with a result is not played again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import mmap
import os
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

import drawtap
from drawtap import activity
from drawtap.corpus import rows
from drawtap.corpus.adding import restore
from drawtap.corpus.canaries import Canaries
from drawtap.corpus.engines import Engine, Run
from drawtap.corpus.resets import Reset, Resets, turn
from drawtap.corpus.search import done_tasks
from drawtap.corpus.store import Store
from drawtap.replay import player
from drawtap.scratch import Scratch
from drawtap.trace.trace import open_trace

#: Outcomes that say something about the driver, from bad to good; the others say that nothing was found out.
ABOUT_THE_DRIVER = ("crash", "hang", "oom", "device-lost", "gl-error", "skipped-calls", "differs", "ok")
FAILED = ABOUT_THE_DRIVER[:-1]
_NOT_KEPT = ("machine-lost", "victim")  # they say nothing about the recording: another time it is played
QUARANTINE = "quarantine"  # a tag: it is played where that is wanted alone
_REPEATS = 2  # of a victim
_NO_BEAT = (1 << 64) - 1
_STEP_S = 0.05
_GRACE_S = 1.0  # between a polite end and a killed one
_STUCK_S = 10.0  # a killed process that is still there is stuck in the kernel
_LOG_BYTES = 4000


@dataclass(frozen=True)
class Limits:
    """When a player is ended: no new call for `stall_s`, `seconds` in all, more memory than `memory_bytes`."""

    stall_s: float = 20.0
    seconds: float = 600.0
    memory_bytes: int = 4 << 30


def task_key(trace: str, engine: Engine, attempt: str = "") -> str:
    """Return the name of a task: the same recording, engine and player give the same, unless it is tried again."""
    words = ("images", trace, engine.key, drawtap.__version__, attempt)
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


@dataclass(frozen=True)
class Task:
    """A recording that is to be played on an engine; `key` names its result."""

    key: str
    trace: str
    engine: Engine


def free(store: Store, traces: Sequence[str]) -> list[str]:
    """Return the recordings that are not in quarantine: one that is took its workers with it."""
    tags = store.tags()
    return [id_ for id_ in traces if QUARANTINE not in tags.get(id_, {})]


def tasks_of(
    store: Store, traces: Sequence[str], engines: Sequence[Engine], attempts: Sequence[str] = ("",)
) -> list[Task]:
    """Return the tasks of recordings on engines that have no result yet; each of `attempts` is a task of its own."""
    done = done_tasks(store)
    every = [Task(task_key(id_, one, attempt), id_, one) for id_ in traces for one in engines for attempt in attempts]
    return [task for task in every if task.key not in done]


def play_all(
    store: Store,
    traces: Sequence[str],
    engines: Sequence[Engine],
    limits: Limits,
    *,
    jobs: int,
    again: bool = False,
    attempts: Sequence[str] = ("",),
) -> Iterator[Run]:
    """Play every recording on every engine, `jobs` at a time, and yield the results of what was not played yet.

    A recording that hung or crashed an engine has a result too: it is not played there again, unless `again`. Nor is
    one in quarantine. Each of `attempts` is a task of its own.
    """
    traces = traces if again else free(store, traces)
    tasks = tasks_of(store, traces, engines, (str(time.time_ns()),) if again else attempts)
    with Scratch() as name, ThreadPoolExecutor(jobs) as pool:
        files = Files(store, Path(name))
        running: set[Future[Run]] = set()
        finished = 0
        with contextlib.closing(files.resets), activity.step(f"playing {len(tasks)} recordings"):
            for task in tasks:
                running.add(pool.submit(play_task, files, task, limits))
                if len(running) >= 2 * jobs:  # no more files than are needed soon
                    ended, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in ended:
                        finished += 1
                        yield future.result()
                activity.at(finished, len(tasks))
            while running:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    finished += 1
                    activity.at(finished, len(tasks))
                    yield future.result()


class Files:
    """Recordings as files, for as long as tasks need them."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder, self._lock = store, folder, threading.RLock()

    @functools.cached_property
    def resets(self) -> Resets:
        """Listen to resets from now on."""
        return Resets()

    @functools.cached_property
    def canaries(self) -> Canaries:
        """Watch this machine from now on."""
        return Canaries(self.store)

    def get(self, id_: str) -> Path:
        """Return the file of a recording; the first time it is restored."""
        path = self.folder / f"{id_}.dtap"
        with self._lock:
            if not path.exists():
                restore(self.store, id_, path)
        return path


def play_task(files: Files, task: Task, limits: Limits) -> Run:
    """Play a task in a process of its own and write its result into the store."""

    fault = machine_fault(files, task.engine, limits)
    if fault is not None:
        return Run(task.key, task.trace, task.engine, "machine-lost", detail=fault)
    run = _played(files, task, limits)
    if run.outcome not in _NOT_KEPT:
        rows.write_run(files.store, run)
    return run


def machine_fault(files: Files, one: Engine, limits: Limits) -> str | None:
    """Return what is wrong with this machine by its canaries, before another task with an engine; None: nothing."""

    def canary(trace: str) -> Run:
        return _played(files, Task(task_key(trace, one), trace, one), limits)

    return files.canaries.fault(one, canary, lambda run: rows.write_run(files.store, run))


def _played(files: Files, task: Task, limits: Limits) -> Run:
    path = files.get(task.trace)
    for repeat in range(1 + _REPEATS):
        with tempfile.TemporaryDirectory(prefix="home-", dir=files.folder) as home, turn(alone=repeat > 0):
            run = play(path, task.engine, limits, Path(home), resets=files.resets, alone=repeat > 0)
        if run.outcome != "victim":
            break
    run = replace(run, task=task.key, trace=task.trace)
    return run if run.last_seq is None else replace(run, function=function_of(path, run.last_seq))


def function_of(path: Path, seq: int) -> str | None:
    """Return the function of a call of a recording, None where there is no such call."""
    with open_trace(path) as trace:
        return trace.calls[seq].name if seq < trace.call_count else None


def play(
    path: Path, one: Engine, limits: Limits, home: Path, *, resets: Resets | None = None, alone: bool = False
) -> Run:
    """Play a recording file on an engine under limits, with an empty home; the outcome says what happened.

    `alone`: no other replay runs here meanwhile, so a reset that nobody is blamed for is this one's fault.
    """
    started, began = time.time_ns(), time.monotonic()
    with _heartbeat() as (descriptor, beat), (home / "out").open("w+b") as out, (home / "err").open("w+b") as err:
        command = [*_dies_with_us(), str(player.program()), "--verify", "--hashes", "--errors"]
        child = subprocess.Popen(
            [*command, "--heartbeat", str(descriptor), str(path)],
            env=player.environment_with({**_empty_home(home), **one.environment}),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=[descriptor],
            start_new_session=True,
        )
        try:
            _limit(child.pid)
            devices: set[str] = set()
            ended = _watch(child, beat, limits, lambda: devices.update(resets.devices_of(child.pid) if resets else ()))
        finally:
            if child.poll() is None:
                _end(child)
        out.seek(0)
        lines = list(_lines(out.read()))
        size = err.seek(0, os.SEEK_END)
        err.seek(max(0, size - _LOG_BYTES))
        log = err.read().decode(errors="replace")
        at = beat()
    run = Run("", "", one, ended or "", started, time.monotonic() - began, log=log)
    last = None if at == _NO_BEAT else at & 0xFFFF_FFFF_FFFF
    if ended:
        run = replace(run, last_seq=last, detail=_said(ended, limits))
    else:
        run = _outcome(run, child.returncode, lines, last)
    heard = resets.during(began, devices) if resets else []
    return _after_reset(run, lines, (child.pid, last), heard, alone=alone)


def _after_reset(
    run: Run,
    lines: Sequence[Mapping[str, object]],
    ended: tuple[int, int | None],
    resets: Sequence[Reset],
    *,
    alone: bool,
) -> Run:
    """Return the result of a run, device-lost or victim where its device was reset."""
    lost = [line for line in lines if line.get("kind") == "finding" and "GL_CONTEXT_LOST" in str(line.get("text"))]
    status = next((str(line["reset"]) for line in lines if "reset" in line), "")
    if run.outcome == "machine-lost" or not (lost or status or resets):
        return run
    pid, last = ended
    how = f"reset, recovered by {resets[0].recovery}" if resets else "the context was lost"
    blamed = {one.pid for one in resets} - {None}
    if status == "guilty" or pid in blamed:
        ours = True
    elif status == "innocent" or blamed:
        ours = False
    else:
        ours = alone
    if not ours:
        return replace(run, outcome="victim", last_seq=None, hashes=None, detail=f"{how}: by another program")
    seq = min((_int(line, "call") for line in lost), default=last)
    return replace(run, outcome="device-lost", last_seq=seq, hashes=None, detail=how)


def _said(ended: str, limits: Limits) -> str:
    return {
        "hang": f"no new call for {limits.stall_s:g} s",
        "timeout": f"not done after {limits.seconds:g} s",
        "oom": f"it took more than {limits.memory_bytes >> 20} MiB",
        "machine-lost": "the player cannot be ended: it is stuck in the kernel",
    }[ended]


def _outcome(run: Run, code: int, lines: list[dict[str, object]], last: int | None) -> Run:
    result = next((line for line in lines if line.get("kind") == "result"), None)
    if code < 0 or result is None:
        if code == 3:
            return replace(run, outcome="unsupported", detail=_last_line(run.log))
        if code in (2, 4):
            return replace(run, outcome="infrastructure", detail=_last_line(run.log))
        # Nobody here killed it: what the kernel kills without a word was too large.
        number = -code if code < 0 else None
        outcome = "oom" if number == signal.SIGKILL else "crash"
        name = signal.Signals(number).name if number in set(signal.Signals) else f"exit code {code}"
        return replace(run, outcome=outcome, signal=number, last_seq=last, detail=name)
    hashes = {
        int(str(line["frame"])): str(line["hash"]) for line in lines if line.get("kind") == "frame" and "hash" in line
    }
    run = replace(run, frames=_int(result, "frames"), calls=_int(result, "calls"), hashes=hashes)
    findings = [line for line in lines if line.get("kind") == "finding"]
    errors = [line for line in findings if line.get("what") in ("gl-error", "vg-error")]
    wrong = [line for line in findings if line.get("what") in ("frame", "read-back")]
    if errors:
        first = min(errors, key=lambda line: _int(line, "call"))
        return replace(run, outcome="gl-error", last_seq=_int(first, "call") or None, detail=str(first.get("text")))
    if _int(result, "skipped"):
        return replace(run, outcome="skipped-calls", detail=f"{result['skipped']} calls cannot be played here")
    if _int(result, "different"):
        first = min(wrong, key=lambda line: _int(line, "call")) if wrong else {}
        detail = f"{result['different']} of {result['compared']} images and read-backs differ from the recording"
        return replace(run, outcome="differs", last_seq=_int(first, "call") or None, detail=detail)
    return replace(run, outcome="ok")


def _int(line: Mapping[str, object], name: str) -> int:
    value = line.get(name)
    return int(value) if isinstance(value, int | float) else 0


def _last_line(log: str) -> str:
    said = [line for line in log.strip().splitlines() if line.strip()]
    return said[-1].removeprefix("drawtap-play: ")[:300] if said else ""


def _lines(out: bytes) -> Iterator[dict[str, object]]:
    for text in out.decode(errors="replace").splitlines():
        with contextlib.suppress(ValueError, RecursionError):  # something that the driver printed
            line = json.loads(text)
            if isinstance(line, dict):
                yield line


@contextlib.contextmanager
def _heartbeat() -> Iterator[tuple[int, Callable[[], int]]]:
    """Yield shared memory for the player's heartbeat, and what reads it."""
    descriptor = os.memfd_create("heartbeat")
    try:
        os.truncate(descriptor, mmap.PAGESIZE)
        page = mmap.mmap(descriptor, mmap.PAGESIZE)
        struct.pack_into("<Q", page, 0, _NO_BEAT)
        yield descriptor, lambda: int(struct.unpack_from("<Q", page)[0])
        page.close()
    finally:
        os.close(descriptor)


def _watch(
    child: subprocess.Popen[bytes], beat: Callable[[], int], limits: Limits, look: Callable[[], object]
) -> str | None:
    """Wait for a player; return why it was ended, None where it ended by itself. `look` is called now and then."""
    began = changed = time.monotonic()
    seen = beat()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_STEP_S)
            return None
        now, at = time.monotonic(), beat()
        look()
        if at != seen:
            seen, changed = at, now
        why = None
        if _resident(child.pid) > limits.memory_bytes:
            why = "oom"
        elif now - began > limits.seconds:
            why = "timeout"
        elif now - changed > limits.stall_s and seen != _NO_BEAT:
            why = "hang"
        if why:
            return why if _end(child) else "machine-lost"


def _resident(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * mmap.PAGESIZE


def _end(child: subprocess.Popen[bytes]) -> bool:
    """End a player and everything that it started; False: it cannot be ended."""
    for number, patience in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _STUCK_S)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(patience)
            return True
    return False


def _dies_with_us() -> list[str]:
    tool = shutil.which("setpriv")
    return [tool, "--pdeathsig", "KILL", "--"] if tool else []


def _limit(pid: int) -> None:
    with contextlib.suppress(OSError, ValueError):
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        # Where memory is short, the system takes a player rather than whoever watches it.
        Path(f"/proc/{pid}/oom_score_adj").write_text("900", encoding="ascii")


def _empty_home(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "MESA_SHADER_CACHE_DIR": str(home / "shaders"),
    }
