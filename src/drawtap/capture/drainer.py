"""The drainer beside a program: started, heard, waited for, and followed where it is killed or stands still."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from socket import socketpair
from typing import Any

from drawtap.capture import pools
from drawtap.errors import UnavailableError

# After the program's end: a drainer that does nothing for so long is stopped.
_STOPPED_SECONDS, _LOOK_SECONDS = 5, 0.5


@dataclass(frozen=True)
class Sent:
    """A trace that went to a receiver: how much of it, and why not all (`error`, else "")."""

    program: str
    pid: int
    address: str
    calls: int
    frames: int
    frames_dropped: int
    taken: int
    whole: bool
    error: str


class Drainer:
    # The drainer gets a session of its own: Ctrl-C and a closing terminal must not end it before the program.
    def __init__(
        self,
        drainer: Path,
        socket: Path,
        output: Path | None,
        about: Mapping[str, Any],
        options: Sequence[str],
        *,
        lock: int | None = None,
    ) -> None:
        # `lock` of the folder with the socket: that one stays as long as the drainer, even if this process is killed.
        self.files: list[Path] = []
        self._written: dict[Path, Mapping[str, Any]] = {}
        self.messages: list[str] = []
        self.sent: list[Sent] = []
        self._errors: list[Mapping[str, Any]] = []
        self.pids: set[int] = set()  # of processes that were taken in
        self.left_out: list[str] = []
        self.foreign: list[str] = []
        self.saved: list[Mapping[str, Any]] = []
        self.kept: list[Mapping[str, Any]] = []
        self._watched = 0
        self._killed = self._stood_still = self._given_up = False
        self._became = "was nothing"  # what a killed flight recorder held
        self._peeks: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.refused: list[str] = []
        self.pools = pools.Pools()
        said = ["--annotation", json.dumps(about)]
        self._take_over = functools.partial(pools.command, drainer, output, [*options, *said])
        self._keeps_all, self._paused = "--ring" in options, "--paused" in options
        self._output = output or Path("recording.dtap")  # a flight recorder has one
        self._ready, ready = os.pipe()
        self._status, status = socketpair()
        arguments = [
            str(drainer),
            "--socket",
            str(socket),
            *([] if output is None else ["--output", str(output)]),
            *options,
            "--ready-fd",
            str(ready),
            "--status",
            str(status.fileno()),
            *said,
        ]
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(ready, status.fileno(), *([] if lock is None else [lock])),
            start_new_session=True,
        )
        os.close(ready)
        status.close()

    def __enter__(self) -> Drainer:
        readable, _, _ = select.select([self._ready], [], [], 20)
        started = bool(readable) and bool(os.read(self._ready, 64))
        os.close(self._ready)
        # The status lines are read as they come: a full pipe must not hold the drainer up.
        self._reader = threading.Thread(target=self._read_status, daemon=True)
        self._reader.start()
        if not started:
            self._process.kill()
            self._process.wait()
            self._reader.join(timeout=5)
            raise self._why_not_started()
        return self

    def _why_not_started(self) -> UnavailableError:
        said = "; ".join(self.messages) or f"status {self._process.returncode}"
        codes = {error.get("code") for error in self._errors}
        if codes == {"refused"}:
            (refusal,) = self._errors
            hint = "--token-file, or DRAWTAP_TOKEN, says the word" if refusal["about"] == "token" else None
            return UnavailableError(f"the receiver at {refusal['at']} refuses: {refusal['why']}", hint=hint)
        if codes == {"receiver"}:
            return UnavailableError(
                f"there is no receiver at {said}", hint="drawtap receive is one; --wait[=SECONDS] waits for it"
            )
        return UnavailableError(f"the drainer did not start: {said}")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._close_input()
        if kind is KeyboardInterrupt:
            return  # children of the program may still draw: the drainer goes on by itself
        if not self._given_up:
            self._end_within(10)
            self._reader.join(timeout=5)
        self.pools.close()

    def _end_within(self, seconds: float) -> bool:
        """Wait so long for the drainer to end, then kill it; False: not even that ends it now."""
        for ends in (seconds, _STOPPED_SECONDS):
            try:
                self._process.wait(timeout=ends)
                return True
            except subprocess.TimeoutExpired:
                self._process.kill()
        return False

    def watch(self, pid: int) -> None:
        """Name the program, so that the drainer notices its end even if this process is gone."""
        self._watched = pid
        self._tell(_wish("watch", pid=pid, until_input_ends=True))

    def finish(
        self, status: int, late: Callable[[], None], is_to_end: Callable[[], bool], waits: Callable[[str], None]
    ) -> None:
        """Tell how the program ended and wait until the file is whole, as long as the drainer is at work.

        New processes are taken in until `late` returns. `waits` hears once which children are still recorded. Where
        `is_to_end`, they are recorded no longer.
        """
        wish = _wish("signal", value=-status) if status < 0 else _wish("exit", value=status)
        self._tell(wish)
        late()
        self._close_input()
        if not self._wait_while_it_works(is_to_end, waits):
            self._give_up()
            return
        self._reader.join(timeout=5)
        self.take_over(wish)
        if (self._process.returncode or 0) > 0:
            self.messages.append(f"the recorder's process ended with status {self._process.returncode}")

    def _wait_while_it_works(self, is_to_end: Callable[[], bool], waits: Callable[[str], None]) -> bool:
        """Wait for the drainer to end, and end one that is stopped; False: it cannot even be ended now.

        Between two looks nothing is counted: this process may have been stopped as well.
        """
        still, before, told, alive = 0, None, False, None
        while still < _STOPPED_SECONDS / _LOOK_SECONDS:
            try:
                self._process.wait(timeout=_LOOK_SECONDS)
                return True
            except subprocess.TimeoutExpired:
                if alive is None and (alive := ", ".join(self._alive())):
                    waits(alive)
                if is_to_end() and not told:
                    self.refused += [f"{which}: it still ran when the recording was ended" for which in self._alive()]
                    self._process.terminate()
                    told = True
                now = (self.pools.beats(), _switches(self._process.pid))
                still, before = still + 1 if now == before else 0, now
        self._stood_still = True
        return self._end_within(0)

    def _alive(self) -> Iterator[str]:
        for pid in sorted(self.pids):
            with contextlib.suppress(OSError):
                Path(f"/proc/{pid}/exe").readlink()  # a process that has ended has none
                yield f"process {pid} ({Path(f'/proc/{pid}/comm').read_text(errors='replace').strip()})"

    def _give_up(self) -> None:
        # It goes on where it was once it can, and is ended then: nobody else may write to its file before.
        self._given_up = True
        self.messages.append(
            f"the recorder's process ({self._process.pid}) has stood still for {_STOPPED_SECONDS} s since the program"
            " ended, and cannot be ended: what it had not written is lost"
        )
        self.pools.count(self._take_over(end_it=True), self._hear)
        self.pools.close()

    def take_over(self, wishes: str, *, end_it: bool = False) -> None:
        """Where the drainer was killed, have what it had not written taken out of the programs' memory.

        `told` says to it how the program ended, "" where it lives; `end_it`: its recording is ended then.
        """
        self._reader.join(timeout=5)
        code = self._process.poll()
        if code is None or code >= 0 or self._killed:
            return
        self._killed = True
        by = self._how_killed()
        if self._keeps_all:
            self._reader.join()
            # Some went into the memory before the program noticed, and nobody took them from there.
            standing: list[pools.Entry] = []
            self.pools.count(self._take_over(end_it=True), standing.append)
            later = self.pools.unrecorded() + sum(int(entry.get("calls") or 0) for entry in standing)
            after = f"; {later:,} calls were made after that, and are not recorded" if later else ""
            self.messages.append(f"{by}: what the flight recorder held {self._became}{after}")
            self.pools.close()
            return
        if not len(self.pools):
            if self.pids:
                self.messages.append(f"{by}; every recording was finished")
            else:
                self.refused.append(f"{by} before a program came")
            return
        watched = _wish("watch", pid=self._watched) if self._watched else ""
        successor = self._take_over(end_it=end_it)
        self.pools.empty_into(successor, watched + wishes, self._hear_successor)
        self.pools.count(successor, self._hear)
        missing = "some of what it had not written is lost" if len(self.pools) else "what it had not written was saved"
        self.messages.append(f"{by}: {missing}")
        self.pools.close()

    @property
    def ended_well(self) -> bool:
        """Tell whether it has said all that it had to say."""
        return self._process.poll() == 0

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """Finish the files of programs that are still recorded."""
        self._process.terminate()
        self._end_within(20)
        self._reader.join(timeout=5)

    def _read_status(self) -> None:
        with self._status:
            for entry in pools.lines(self._status, self.pools.take):
                self.pools.hear(entry)
                self._hear(entry)
        self._peeks.put(None)
        # At once: the program may go on for long, and this process can be killed as well.
        if self._keeps_all and self._process.wait() < 0:
            self._rescue()

    def _rescue(self) -> None:
        from drawtap.capture import rescue

        for pool, window in self.pools.windows():
            try:
                saved = rescue.save(pool, window, self._output, self._how_killed())
            except UnavailableError as error:
                text = f"process {window.pid}: what the flight recorder held of it is lost: {error.message}"
                self._became = "is lost"
                self.refused.append(text)
                continue
            if saved is not None:
                self._became = "was saved"
                self.saved.append(saved)
                self.files.append(Path(str(saved["file"])))

    def _how_killed(self) -> str:
        code = self._process.returncode or 0
        if self._stood_still:
            still = f"stood still for {_STOPPED_SECONDS} s after the program had ended, and was ended"
            return f"the recorder's process {still}"
        return f"the recorder's process was ended by signal {-code} ({signal.Signals(-code).name})"

    def _hear(self, entry: Mapping[str, Any]) -> None:
        event = entry.get("event")
        if event == "process":
            self.pids.add(int(entry.get("pid") or 0))
        elif event == "left out":
            name = Path(str(entry.get("program"))).name
            if name not in self.left_out:
                self.left_out.append(name)
        elif event == "file":
            if entry.get("file"):
                self.files.append(self._path(str(entry["file"])))
                self._written[self.files[-1]] = entry
            if why := entry.get("write_error"):
                self._hear_unwritten(entry, str(why))
            if entry.get("stream") and (entry.get("calls") or entry.get("taken")):
                self.sent.append(_sent(entry))
        elif event == "foreign":
            self.foreign.append(Path(str(entry.get("program"))).name)
        elif event == "unfinished":
            self._hear_unfinished(entry)
        elif event == "error" and entry.get("refused"):
            self.refused.append(_refused(entry))
        elif event == "error":
            self._errors.append(entry)
            self.messages.append(str(entry.get("text")))
        elif event == "saved":
            self.saved.append(entry)
            self.files.append(self._path(str(entry["file"])))
        elif event == "ring":
            self.kept.append(entry)
        elif event == "peek":
            path = entry.get("path")
            self._peeks.put(None if path is None else str(path))

    def _hear_successor(self, entry: Mapping[str, Any]) -> None:
        self._hear(entry)
        # A process says hello at its first call: without one in its memory, it was never let in.
        if entry.get("event") == "file" and not entry.get("calls") and not entry.get("file") and not self._paused:
            self.refused.append(_refused({**entry, "text": "the recorder's process was killed as it came"}))

    def _hear_unwritten(self, entry: Mapping[str, Any], why: str) -> None:
        # Where the file is there, the report of the file says what is missing.
        if not entry.get("file") or not Path(str(entry["file"])).exists():
            calls = sum(int(entry.get(name) or 0) for name in ("calls_lost", "calls_unrecorded"))
            self.refused.append(_refused({**entry, "text": f"{calls:,} calls: {why}"}))

    def _path(self, told: str) -> Path:
        """Return the path of a file that the drainer tells as text, which the name of a file need not be."""
        stem = str(self._output.with_suffix(""))
        as_told = stem.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return Path(stem + told.removeprefix(as_told) if told.startswith(as_told) else told)

    def look_for_files(self) -> frozenset[Path]:
        """Return the files that are gone since they were written, or that are others by now, and say so."""
        gone = {file: entry for file, entry in self._written.items() if not _is_as_written(file, entry)}
        for file, entry in gone.items():
            calls = f"{int(entry.get('calls') or 0):,} calls"
            text = f"{calls} were in {file.name}, which was moved, deleted or replaced before drawtap ended"
            self.refused.append(_refused({**entry, "text": text}))
        self.files[:] = [file for file in self.files if file not in gone]
        return frozenset(gone)

    def _hear_unfinished(self, entry: Mapping[str, Any]) -> None:
        file = Path(str(entry.get("file") or ""))
        if file.is_file() and file not in self.files:
            self.files.append(file)
        calls, program = int(entry.get("calls") or 0), Path(str(entry.get("program") or "")).name
        self.refused.append(
            f"process {entry.get('pid')} ({program}): at most {calls:,} calls, which stood in"
            " memory and were not written"
        )

    def save(self, reason: str, detail: str, *, limited: bool = False) -> None:
        """Ask a flight recorder to write what it has; if `limited`, not too often. Good in a signal handler."""
        assert self._process.stdin is not None
        line = _wish("save", reason=reason, detail=" ".join(detail.split()), limited=limited)
        with contextlib.suppress(OSError, ValueError):
            os.write(self._process.stdin.fileno(), line.encode())

    def peek(self) -> str | None:
        """Return where a flight recorder's window can be read as a trace, until the next call; None: there is none."""
        self._tell(_wish("peek"))
        try:
            return self._peeks.get(timeout=20)
        except queue.Empty:
            return None

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()

    def _close_input(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()


def _is_as_written(file: Path, entry: Mapping[str, Any]) -> bool:
    if "inode" not in entry or entry.get("write_error"):  # it has other words about it
        return True
    try:
        now = file.stat()
    except OSError:
        return False
    return (now.st_ino, now.st_mtime_ns) == (entry["inode"], entry["changed_ns"])


def _sent(entry: Mapping[str, Any]) -> Sent:
    numbers = {name: int(entry.get(name) or 0) for name in ("pid", "calls", "frames", "frames_dropped", "taken")}
    program, error = Path(str(entry.get("program"))).name, str(entry.get("stream_error") or "")
    whole = bool(entry.get("complete")) and not error
    return Sent(program=program, address=str(entry["stream"]), whole=whole, error=error, **numbers)


def _refused(entry: Mapping[str, Any]) -> str:
    number, program = entry.get("pid"), Path(str(entry.get("program") or "")).name
    which = f"process {number}" + (f" ({program})" if program else "") if number else ""
    return ": ".join(filter(None, (which, str(entry.get("text")))))


def _switches(pid: int) -> str:
    # The number of times that a process's first thread has gone to sleep: a drainer without a program has no other
    # beat.
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("voluntary_ctxt_switches:")), "")


def _wish(what: str, **more: object) -> str:
    # A line of a drainer's standard input (native/drain/options.cc).
    return json.dumps({"do": what, **more}) + "\n"
