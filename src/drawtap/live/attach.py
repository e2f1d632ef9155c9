"""Record a program that runs already, and leave it again."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from drawtap.capture import control, launch
from drawtap.errors import DrawtapError, UnavailableError
from drawtap.live.client import Client

_FINISH_SECONDS = 10.0  # for a program to come to the end of its frame and let go
_LOOK_SECONDS = 0.1  # between two looks at a recording without a manager


@dataclass(frozen=True)
class Attached:
    """The outcome: the recordings, and the recorder's complaints."""

    pid: int
    name: str
    files: tuple[Path, ...]
    messages: tuple[str, ...]


@dataclass(frozen=True)
class AttachOptions:
    """The part to record: a number of `frames`, or `seconds`, or (both 0) until `interrupted`."""

    frames: int = 0
    seconds: float = 0.0
    timing: str = "both"
    why: str = "asked for"


def record_running(
    client: Client, program: str, output: Path, wanted: AttachOptions, *, force: bool, begun: Callable[[str], None]
) -> Attached:
    """Record a program that the manager knows. Ctrl-C ends the recording, not the program.

    `begun` gets the program's name when its calls come. Raises UsageError where `output` exists, UnavailableError
    where the program cannot be recorded.
    """
    made = client.ask("trace", program=int(program) if program.isdigit() else program, frames=wanted.frames)
    token, name, pid = str(made["token"]), str(made["name"]), int(made["pid"])
    socket = Path(str(made["folder"])) / "socket"
    with (
        _interrupts() as interrupted,
        launch.recorder(socket, output, force=force, timing=wanted.timing, note=wanted.why) as recorder,
    ):
        client.ask("trace-begin", token=token)
        begun(f"{name} ({pid})")
        there = _wait(client, wanted.seconds, interrupted, recorder)
        with contextlib.suppress(DrawtapError):
            client.ask("trace-end", token=token)
        # Nobody tells the program to let go where the manager is gone: the end of the recorder does.
        files = recorder.files(seconds=_FINISH_SECONDS if there else 0)
    return Attached(pid, name, files or recorder.files(seconds=0), recorder.messages)


@contextlib.contextmanager
def _interrupts() -> Iterator[int]:
    # Ctrl-C may come at any moment, and must always end the recording and not this process. Yields a descriptor that
    # can be read once it has come.
    reading, writing = os.pipe()

    def come(number: int, frame: FrameType | None) -> None:
        os.write(writing, b"x")

    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, come) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield reading
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)


def _wait(client: Client, seconds: float, interrupted: int, recorder: launch.Recorder) -> bool:
    """Wait until the recording is to end; return whether the manager is there. The recorder works without it."""
    there, end = True, time.monotonic() + seconds if seconds else None
    while end is None or time.monotonic() < end:
        left = None if end is None else max(0.0, end - time.monotonic())
        if not there:
            if recorder.files(seconds=0):
                return False
            left = min(left or _LOOK_SECONDS, _LOOK_SECONDS)
        readable, _, _ = select.select([*([client.fileno()] if there else []), interrupted], [], [], left)
        if interrupted in readable:
            return there
        if not readable:
            continue
        try:
            if next(client.events(seconds=5))["event"] == "trace-over":
                return True
        except TimeoutError:
            return True
        except UnavailableError:
            there = False
    return there


def record_paused(pid: int, wanted: AttachOptions) -> Attached:
    """Record with the recorder that a program was started with; it goes to that recorder's file.

    Raises UnavailableError where the program has none.
    """
    recording = control.find(pid)
    if wanted.frames:
        control.trigger(pid, f"frames {wanted.frames}")
        with contextlib.suppress(KeyboardInterrupt, UnavailableError):
            while (now := control.find(pid)).frames_left or now.wanted or now.state == "recording":
                time.sleep(0.05)
    else:
        control.trigger(pid, "start")
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(wanted.seconds or 1e9)
        control.trigger(pid, "stop")
    with contextlib.suppress(UnavailableError):
        recording = control.find(pid)
    return Attached(pid, Path(recording.program).name, (Path(recording.trace),) if recording.trace else (), ())
