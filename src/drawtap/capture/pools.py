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
from pathlib import Path

_BEAT, _BEAT_BYTES = 164, 4  # dt_pool_header.beat, which a drainer that is at work raises (native/common/ring.h)
_LINE_BYTES = 65536
_MOST_DESCRIPTORS = 16  # in one message
Entry = Mapping[str, object]


class Pools:
    """The memory of the programs whose recordings are not finished, by the inode of each."""

    def __init__(self) -> None:
        self._held: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, descriptor: int) -> None:
        """Keep memory that a drainer sent; this object closes the descriptor."""
        inode = os.fstat(descriptor).st_ino
        self._held.setdefault(inode, descriptor)
        if self._held[inode] != descriptor:
            os.close(descriptor)

    def release(self, inode: int) -> None:
        """Let go of the memory of a recording that is finished."""
        with contextlib.suppress(KeyError):
            os.close(self._held.pop(inode))

    def beats(self) -> tuple[bytes, ...]:
        """Return a mark of each memory's drainer, which changes all the time while that is at work."""
        return tuple(os.pread(descriptor, _BEAT_BYTES, _BEAT) for descriptor in self._held.values())

    def close(self) -> None:
        """Let go of all of it."""
        for inode in list(self._held):
            self.release(inode)

    def empty_into(self, command: Sequence[str], told: str, hear: Callable[[Entry], None]) -> None:
        """Have drainers, started as `command`, write what stands in the memory, one recording after the other.

        Each first waits for the program to end, and for a drainer that the program itself may have started. `told`
        goes to its standard input; `hear` gets its status lines.
        """
        for inode, descriptor in list(self._held.items()):
            if not _have_done([*command, "--adopt-fd", str(descriptor)], descriptor, told, hear):
                self.release(inode)

    def count(self, command: Sequence[str], hear: Callable[[Entry], None]) -> None:
        """Have a drainer say, by memory, how many calls stand there that may not be in a file (event "unfinished")."""
        for descriptor in self._held.values():
            _have_done([*command, "--adopt-fd", str(descriptor), "--count", "yes"], descriptor, "", hear)


def _have_done(command: Sequence[str], descriptor: int, told: str, hear: Callable[[Entry], None]) -> int:
    """Run a drainer that has a descriptor and return its exit code."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            child = subprocess.Popen(
                [*command, "--status", str(theirs.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=(descriptor, theirs.fileno()),
                start_new_session=True,
            )
        assert child.stdin is not None
        with contextlib.suppress(OSError), child.stdin:
            child.stdin.write(told.encode())
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
