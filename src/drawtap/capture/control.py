"""Ask the drainers of running programs: what they record, and to start, stop or go on for some frames.

Every drainer listens in the user's runtime folder (docs/stream-protocol.md, "Control"). A program is found by its
number: every drainer answers whether it records the program.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import socket
import stat
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from drawtap.errors import ChildError, UnavailableError, UsageError

_LONGEST = 1 << 20
_SECONDS = 10.0
_LOOK = 0.1  # seconds between looks whether a file is there


@dataclass(frozen=True)
class Program:
    """A program that is recorded or waits to be: `state` is recording, paused or stopped.

    `wanted` says what it will be at its next frame end; `trace` names the file or the receiver, ""
    before the first call.
    """

    pid: int
    program: str
    state: str
    wanted: bool
    frames: int
    frames_left: int
    frames_dropped: int
    calls: int
    bytes: int
    trace: str
    socket: Path


def folder() -> Path:
    """Return the folder of the control sockets, which need not exist."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/") and os.access(runtime, os.W_OK):
        return Path(runtime) / "drawtap"
    return Path(f"/tmp/drawtap-{os.geteuid()}")


def ask(path: Path, request: str, *, seconds: float = _SECONDS) -> Mapping[str, object]:
    """Send one request to the drainer at `path` and return its answer.

    Raises UnavailableError where nobody is there or answers, UsageError with the drainer's words where it refuses.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        line.settimeout(seconds)
        try:
            line.connect(str(path))
            line.send(request.encode())
            data = line.recv(_LONGEST)
            answer = json.loads(data)
        except (OSError, ValueError) as error:
            raise UnavailableError(f"the recorder at {path} does not answer: {error or 'no answer'}") from error
    if not isinstance(answer, dict):
        raise UnavailableError(f"the recorder at {path} does not answer in its protocol")
    if not answer.get("ok"):
        raise UsageError(str(answer.get("error") or "the recorder refuses"))
    return answer


def programs() -> list[Program]:
    """Return what is recorded now by recorders of this user, by process number. Dead recorders' sockets are removed."""
    return sorted(_all(), key=lambda p: p.pid)


def find(pid: int) -> Program:
    """Return the program with that number. Raises UnavailableError with what is recorded instead."""
    every = programs()
    for program in every:
        if program.pid == pid:
            return program
    known = described(pid)
    message = f"there is no process {pid}" if known is None else f"{known} is not under a recorder of yours"
    names = ", ".join(f"{p.pid} ({Path(p.program).name})" for p in every)
    hint = "drawtap record --paused -- PROGRAM starts one that waits, drawtap record --pid records one of drawtap run"
    raise UnavailableError(message, hint=f"recorded are {names}" if names else hint)


def number_of(which: str) -> int:
    """Return the number of the recorded process that a number or a name (with `*` and `?`) means.

    Raises UnavailableError where there is none, UsageError where there are several.
    """
    if which.isdigit():
        return int(which)
    every = programs()
    named = [p for p in every if any(fnmatch.fnmatchcase(name, which) for name in (Path(p.program).name, _comm(p.pid)))]
    if len(named) == 1:
        return named[0].pid
    names = ", ".join(f"{p.pid} ({Path(p.program).name})" for p in named or every)
    if named:
        raise UsageError(f"{which} is the name of {len(named)} programs", hint=f"which: {names}")
    hint = f"recorded are {names}" if names else "drawtap record --paused -- PROGRAM starts one that waits"
    raise UnavailableError(f"no program {which} is under a recorder of yours", hint=hint)


def described(pid: int) -> str | None:
    """Return how messages call the process `pid`: with its name, and its user if another. None where there is none."""
    try:
        owner = Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None
    about = [_comm(pid), f"user {owner}" if owner != os.geteuid() else ""]
    return f"process {pid} ({', '.join(filter(None, about))})" if any(about) else f"process {pid}"


def _comm(pid: int) -> str:
    # As it was called: a link has a name of its own.
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def trigger(pid: int, request: str) -> Program:
    """Ask the recorder of process `pid` for `request` ("start", "stop", "frames N") and return what it is then.

    Raises UnavailableError and UsageError as `find` and `ask` do.
    """
    program = find(pid)
    verb, _, rest = request.partition(" ")
    answer = ask(program.socket, f"{verb} {pid} {rest}".strip())
    return _program(answer.get("program"), program.socket)


def save(pid: int, output: Path | None, times: Mapping[str, int]) -> Mapping[str, object]:
    """Have the flight recorder of process `pid` write a file, and return what it says of it when it is there.

    `times`: `before` and `after` in ns. Raises UnavailableError and UsageError as `find` and `ask` do, ChildError where
    it could not be written.
    """
    program = find(pid)
    words = ["save", str(pid), *(f"{name}={value}" for name, value in times.items())]
    if output is not None:
        words.append(f"output={urllib.parse.quote(str(output))}")
    number = ask(program.socket, " ".join(words))["save"]
    while True:
        time.sleep(_LOOK)
        result = ask(program.socket, f"saved {pid} {number}")["result"]
        if not isinstance(result, dict):
            raise ChildError(f"the recorder at {program.socket} answers nonsense")
        if result.get("error"):
            raise ChildError(f"nothing was saved: {result['error']}")
        if result.get("done"):
            return result


def _all() -> Iterator[Program]:
    place = folder()
    try:
        about = place.lstat()
        sockets = sorted(place.iterdir())
    except OSError:
        return
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
        raise ChildError(f"{place} is not a folder of yours", hint="remove it, or set XDG_RUNTIME_DIR")
    for path in sockets:
        if path.suffix == ".sock" or not path.is_socket():  # those are the manager's, in the same folder
            continue
        try:
            answer = ask(path, "status", seconds=2)
        except UnavailableError as error:
            if isinstance(error.__cause__, ConnectionRefusedError):
                with contextlib.suppress(OSError):
                    path.unlink()
            continue
        entries = answer.get("programs")
        for entry in entries if isinstance(entries, list) else []:
            yield _program(entry, path)


def _program(entry: object, path: Path) -> Program:
    if not isinstance(entry, dict):
        raise ChildError(f"the recorder at {path} answers nonsense")
    numbers = {
        name: int(entry.get(name) or 0) for name in ("pid", "frames", "frames_left", "frames_dropped", "calls", "bytes")
    }
    texts = {name: str(entry.get(name) or "") for name in ("program", "state", "trace")}
    return Program(**numbers, **texts, wanted=bool(entry.get("wanted")), socket=path)  # type: ignore[arg-type]
