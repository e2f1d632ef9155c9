"""The shared memory of recorded programs, held beside the drainer that empties it.

A drainer sends the memory of each program with the line that says it came. Should it be killed, what it had not written
is still here: another drainer is given the memory and takes it out, into the same file.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

# In dt_pool_header (native/common/ring.h): what a drainer raises that is at work, and calls that went nowhere.
_BEAT, _BEAT_BYTES = 164, 4
_UNRECORDED, _COUNT_BYTES = 176, 8
_LINE_BYTES = 65536
_MOST_DESCRIPTORS = 16  # in one message
Entry = Mapping[str, Any]
_Key = TypeVar("_Key", int, str)


@dataclass(frozen=True)
class Window:
    """The state of a flight recorder of process `pid`: memory files, and the job that makes a recording of them.

    `raw` is a trace of the calls that it holds; `base` one of earlier calls that still matter, and `frames` the frames
    of those, None where nothing has left the window yet. `calls_lost` is how many the recorder had no memory for.
    """

    pid: int
    raw: int
    base: int | None
    frames: int | None
    job: Mapping[str, object]
    calls_lost: int

    def close(self) -> None:
        """Let go of the memory files."""
        for descriptor in (self.raw, self.base, self.frames):
            if descriptor is not None:
                os.close(descriptor)


class Pools:
    """The memory of the programs whose recordings are not finished, by the inode of each."""

    def __init__(self) -> None:
        self._held: dict[int, int] = {}
        self._came: dict[int, int] = {}  # with a line that has not been read, by inode
        self._parts: dict[int, dict[str, int]] = {}
        self._windows: dict[int, Window] = {}

    def __len__(self) -> int:
        return len(self._held)

    def take(self, descriptor: int) -> None:
        """Keep memory that a drainer sent; this object closes the descriptor."""
        _replace(self._came, os.fstat(descriptor).st_ino, descriptor)

    def hear(self, entry: Entry) -> None:
        """Learn from a drainer's line what the memory is that came along."""
        pool, inode = (int(entry.get(name) or 0) for name in ("pool", "inode"))
        if entry.get("event") == "process" and pool in self._came:
            _replace(self._held, pool, self._came.pop(pool))
        elif entry.get("event") == "window part" and inode in self._came:
            _replace(self._parts.setdefault(pool, {}), str(entry.get("part")), self._came.pop(inode))
        elif entry.get("event") == "window" and "raw" in (parts := self._parts.pop(pool, {})):
            if pool in self._windows:
                self._windows[pool].close()
            pid, lost = (int(entry.get(name) or 0) for name in ("pid", "calls_lost"))
            job = entry["job"]
            self._windows[pool] = Window(pid, parts["raw"], parts.get("base"), parts.get("frames"), job, lost)
        elif entry.get("event") == "file":
            self.release(pool)

    def windows(self) -> list[tuple[int, Window]]:
        """Return the memory of programs (a descriptor) with what the flight recorder of each holds."""
        return [(self._held[pool], window) for pool, window in self._windows.items() if pool in self._held]

    def unrecorded(self) -> int:
        """Return how many calls the programs have made that went into no memory."""
        read = (os.pread(descriptor, _COUNT_BYTES, _UNRECORDED) for descriptor in self._held.values())
        return sum(int.from_bytes(count, "little") for count in read)

    def release(self, inode: int) -> None:
        """Let go of the memory of a recording that is finished."""
        with contextlib.suppress(KeyError):
            os.close(self._held.pop(inode))
        with contextlib.suppress(KeyError):
            self._windows.pop(inode).close()

    def beats(self) -> tuple[bytes, ...]:
        """Return a mark of each memory's drainer, which changes all the time while that is at work."""
        return tuple(os.pread(descriptor, _BEAT_BYTES, _BEAT) for descriptor in self._held.values())

    def close(self) -> None:
        """Let go of all of it."""
        for inode in {*self._held, *self._windows}:
            self.release(inode)
        for descriptor in (*self._came.values(), *(fd for parts in self._parts.values() for fd in parts.values())):
            os.close(descriptor)
        self._came, self._parts = {}, {}

    def empty_into(self, command: Sequence[str], wishes: str, hear: Callable[[Entry], None]) -> None:
        """Have drainers, started as `command`, write what stands in the memory, one recording after the other.

        Each first waits for the program to end, and for a drainer that the program itself may have started. `told`
        goes to its standard input; `hear` gets its status lines.
        """
        for inode, descriptor in list(self._held.items()):
            if not have_done([*command, "--adopt-fd", str(descriptor)], [descriptor], wishes, hear):
                self.release(inode)

    def count(self, command: Sequence[str], hear: Callable[[Entry], None]) -> None:
        """Have a drainer say, by memory, how many calls stand there that may not be in a file (event "unfinished")."""
        for descriptor in self._held.values():
            have_done([*command, "--adopt-fd", str(descriptor), "--count", "yes"], [descriptor], "", hear)


def _replace(held: dict[_Key, int], key: _Key, descriptor: int) -> None:
    if key in held:
        os.close(held[key])
    held[key] = descriptor


def have_done(command: Sequence[str], files: Sequence[int], wishes: str, hear: Callable[[Entry], None]) -> int:
    """Run a drainer that has these descriptors and return its exit code."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            child = subprocess.Popen(
                [*command, "--status", str(theirs.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=(*files, theirs.fileno()),
                start_new_session=True,
            )
        assert child.stdin is not None
        with contextlib.suppress(OSError), child.stdin:
            child.stdin.write(wishes.encode())
        with child:
            for entry in lines(ours, os.close):
                hear(entry)
    return child.returncode


def lines(line: socket.socket, take: Callable[[int], None]) -> Iterator[Entry]:
    """Yield what a drainer says until it hangs up; `take` gets the descriptors that come along, before their lines."""
    rest = b""
    room = socket.CMSG_SPACE(_MOST_DESCRIPTORS * array.array("i").itemsize)
    while True:
        data, ancillary, _, _ = line.recvmsg(_LINE_BYTES, room)
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                whole = array.array("i")
                whole.frombytes(content[: len(content) - len(content) % whole.itemsize])
                for descriptor in whole:
                    take(descriptor)
        if not data:
            return
        *done, rest = (rest + data).split(b"\n")
        for text in done:
            with contextlib.suppress(ValueError):
                entry = json.loads(text.decode(errors="replace"))
                if isinstance(entry, dict):
                    yield entry


def command(drainer: Path, output: Path | None, options: Sequence[str], *, end_it: bool) -> list[str]:
    """Return how a drainer is started that takes over; `end_it`: recording of a program that lives is ended."""
    named = [] if output is None else ["--output", str(output)]
    return [str(drainer), *named, *options, "--control", "none", "--end-it", "yes" if end_it else "no"]
