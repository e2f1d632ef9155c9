"""Programs that registered: their sockets, pages and letters.

A program is what is at the other end of one connection: numbers of processes are used again, and a process keeps its
number when it becomes another program. Nothing that a program sends is believed beyond its own page.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import os
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from drawtap.errors import DrawtapError, InputError, UnavailableError
from drawtap.live import pages
from drawtap.live.accepting import Acceptor
from drawtap.live.config import Profile
from drawtap.live.identity import About, Peer, about, peer_of, pidfd_of
from drawtap.live.journal import Journal
from drawtap.live.program import Alarm, Importance, Limit, Program
from drawtap.live.shares import Shares

_HELLO_SECONDS = 5.0
_MOST_WAITING = 64  # connections that have not said who they are
_MOST_LETTERS = 100  # a second
_GONE_NS = 10_000_000_000  # a surface that was not shown for so long is left out


@dataclass(eq=False)
class Managed:
    """One registered program, and what people and the configuration say about it."""

    id: int
    connection: socket.socket
    peer: Peer
    about: About
    inner_pid: int
    api: str
    recorded: bool
    stats: pages.StatsPage
    control: pages.ControlPage
    pidfd: int = -1
    started_ns: int = field(default_factory=time.monotonic_ns)
    profile: Profile | None = None
    profile_given: Mapping[str, Any] = field(default_factory=dict)  # what it sets of `Program`
    profile_limit: Limit | None = None  # that the profile sets
    own_limit: Limit | None = None  # that it was started with: drawtap run --fps
    importance: Importance | None = None
    target_fps: float | None = None
    weight: float | None = None
    user_limit: Limit | None = None
    surface_limits: dict[int, Limit] = field(default_factory=dict)  # by key of the surface
    focused: bool | None = None
    limit: Limit | None = None
    alarms: tuple[Alarm, ...] = ()
    answered: Callable[[int, int, str], None] | None = None  # kind, number of the letter, text
    letters: int = 0
    letters_from: int = 0
    letters_since: float = 0.0

    @property
    def pid(self) -> int:
        """Return the process number here, or the program's own where it lives in another pid namespace."""
        return self.peer.pid or self.inner_pid

    def program(self, now_ns: int) -> Program:
        """Return what is known now."""
        surfaces = self.stats.surfaces(now_ns)
        gone_ns = now_ns - _GONE_NS
        if any(s.last_ns < gone_ns for s in surfaces):
            surfaces = tuple(s for s in surfaces if s.last_ns >= gone_ns)
        if self.surface_limits:
            surfaces = tuple(replace(s, limit=self.surface_limits.get(s.key)) for s in surfaces)
        given = self.profile_given
        if self.importance is not None or self.target_fps is not None or self.weight is not None:
            own = {k: getattr(self, k) for k in ("importance", "target_fps", "weight")}
            given = {**given, **{k: v for k, v in own.items() if v is not None}}
        return Program(
            self.id,
            self.pid,
            self.about.name,
            self.about.exe,
            self.peer.uid,
            self.about.command,
            self.about.cgroup,
            self.started_ns,
            surfaces,
            limit=self.limit,
            freed=self.user_limit.reason if self.user_limit and not self.user_limit.fps else "",
            focused=self.focused,
            recording=self.stats.recording,
            alarms=self.alarms,
            frames=self.stats.frames,
            values=self.stats.values(now_ns),
            **given,
        )

    def send(self, kind: int, text: str = "", frames: int = 0) -> int:
        """Send a letter and return its number. Raises UnavailableError where the program does not take it."""
        number = self.letters + 1
        letter = pages.LETTER.pack(pages.MAGIC, kind, number, frames, text.encode())
        try:
            self.connection.send(letter)
        except OSError as error:
            raise UnavailableError(f"{self.about.name} takes no letters: {error.strerror}") from error
        self.letters = number
        self.control.announce_letter()
        return number


@dataclass(eq=False)
class _Waiting:
    connection: socket.socket
    peer: Peer
    timer: asyncio.TimerHandle | None = None


class Programs:
    """Accept programs and let go of them."""

    def __init__(self, journal: Journal, most: int) -> None:
        self.by_id: dict[int, Managed] = {}
        self.most = most
        self.refused = 0
        self.found: Callable[[Managed], None] = lambda program: None
        self.lost: Callable[[Managed], None] = lambda program: None
        self._journal = journal
        self._next = 1
        self._waiting: set[_Waiting] = set()
        self._shares = Shares()
        self._acceptor: Acceptor | None = None

    def listen(self, listening: socket.socket) -> None:
        """Accept programs at a bound socket."""
        self._acceptor = Acceptor(listening, 32, self._greet, self._journal, "accept")

    def close(self) -> None:
        """Free all programs and stop to listen."""
        if self._acceptor:
            self._acceptor.close()
        for waiting in list(self._waiting):
            self._drop(waiting)
        for program in list(self.by_id.values()):
            self._let_go(program)

    # ---- connections -----------------------------------------------------------------------------------------

    def _greet(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        try:
            peer = peer_of(connection)
        except OSError:
            connection.close()
            return
        if self._shares.comes_too_often(peer.uid):
            self._refuse(connection, peer, "too often")
            return
        if not self._shares.has_room(peer.uid, Counter(w.peer.uid for w in self._waiting), _MOST_WAITING):
            self._refuse(connection, peer, "too many at once")
            return
        loop = asyncio.get_running_loop()
        waiting = _Waiting(connection, peer)
        waiting.timer = loop.call_later(_HELLO_SECONDS, self._drop, waiting)
        self._waiting.add(waiting)
        loop.add_reader(connection, self._hear_hello, waiting)

    def _refuse(self, connection: socket.socket, peer: Peer, why: str) -> None:
        self.refused += 1
        self._journal.say_seldom("refused", why, "warning", pid=peer.pid, uid=peer.uid, why=why, so_far=self.refused)
        with contextlib.suppress(OSError):
            connection.send(pages.WELCOME.pack(pages.MAGIC, pages.VERSION, 0, 0))
        connection.close()

    def _drop(self, waiting: _Waiting) -> None:
        if waiting in self._waiting:
            self._waiting.discard(waiting)
            if waiting.timer:
                waiting.timer.cancel()
            asyncio.get_running_loop().remove_reader(waiting.connection)
            waiting.connection.close()

    def _hear_hello(self, waiting: _Waiting) -> None:
        connection = waiting.connection
        try:
            data, descriptors = _receive(connection, pages.HELLO.size)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        self._waiting.discard(waiting)
        if waiting.timer:
            waiting.timer.cancel()
        asyncio.get_running_loop().remove_reader(connection)
        try:
            self._register(connection, waiting.peer, data, descriptors)
        except (DrawtapError, OSError, ValueError, struct.error) as error:
            said = error.message if isinstance(error, DrawtapError) else str(error)
            self._refuse(connection, waiting.peer, said)
        finally:
            for fd in descriptors:
                os.close(fd)

    def _register(self, connection: socket.socket, peer: Peer, data: bytes, descriptors: list[int]) -> None:
        if not data:
            raise InputError("it said nothing")
        if len(data) != pages.HELLO.size or len(descriptors) != 1:
            raise InputError("its hello is not understood")
        magic, version, inner_pid, flags, exe, api = pages.HELLO.unpack(data)
        if (magic, version) != (pages.MAGIC, pages.VERSION):
            raise InputError("its hello is of another version")
        if not self._shares.has_room(peer.uid, Counter(p.peer.uid for p in self.by_id.values()), self.most):
            raise UnavailableError("there are too many programs")
        stats = pages.StatsPage(descriptors[0])
        try:
            control = pages.ControlPage()
        except OSError:
            stats.close()
            raise
        program = Managed(
            self._next,
            connection,
            peer,
            about(peer.pid, _text(exe)),
            inner_pid,
            _text(api),
            bool(flags & pages.HELLO_RECORDING),
            stats,
            control,
            own_limit=stats.own_limit,
        )
        welcome = pages.WELCOME.pack(pages.MAGIC, pages.VERSION, 1, 0)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [control.fd]))]
        try:
            self.found(program)  # sets what holds before the program sees the page
            connection.sendmsg([welcome], rights)
        except OSError:
            stats.close()
            control.close()
            raise
        self._next += 1
        self.by_id[program.id] = program
        program.pidfd = pidfd_of(connection, peer)
        loop = asyncio.get_running_loop()
        loop.add_reader(connection, self._hear, program)
        if program.pidfd >= 0:
            loop.add_reader(program.pidfd, self._let_go, program)
        self._journal.say(
            "program-found",
            id=program.id,
            pid=program.pid,
            uid=peer.uid,
            name=program.about.name,
            exe=str(program.about.exe),
            profile=program.profile.title if program.profile else None,
        )

    def _hear(self, program: Managed) -> None:
        for _ in range(16):
            try:
                data, descriptors = _receive(program.connection, pages.LETTER.size)
            except BlockingIOError:
                return
            except OSError:
                data, descriptors = b"", []
            for fd in descriptors:
                os.close(fd)
            if not data:
                self._let_go(program)
                return
            now = time.monotonic()
            if now - program.letters_since > 1.0:
                program.letters_since, program.letters_from = now, 0
            program.letters_from += 1
            if len(data) != pages.LETTER.size or program.letters_from > _MOST_LETTERS:
                self._journal.say("program-refused", "warning", id=program.id, pid=program.pid, why="not understood")
                self._let_go(program)
                return
            magic, kind, number, _, text = pages.LETTER.unpack(data)
            if magic == pages.MAGIC and program.answered:
                program.answered(kind, number, _text(text))

    def _let_go(self, program: Managed) -> None:
        if self.by_id.pop(program.id, None) is None:
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(program.connection)
        program.connection.close()
        if program.pidfd >= 0:
            loop.remove_reader(program.pidfd)
            os.close(program.pidfd)
        frames = program.stats.frames
        program.stats.close()
        program.control.close()
        self.lost(program)
        self._journal.say("program-gone", id=program.id, pid=program.pid, name=program.about.name, frames=frames)


def _receive(connection: socket.socket, size: int) -> tuple[bytes, list[int]]:
    # One byte more than is wanted: what is longer is refused. Descriptors are ours to close, whatever comes with them.
    data, rights, _, _ = connection.recvmsg(size + 1, socket.CMSG_SPACE(4 * 8), socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, content in rights:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(content[: len(content) - len(content) % 4])
    return data, list(descriptors)


def _text(raw: bytes) -> str:
    text = raw.split(b"\0", 1)[0].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "?" for c in text)
