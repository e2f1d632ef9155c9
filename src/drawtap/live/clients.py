"""The manager's door for people and their programs: the protocol, answered."""

from __future__ import annotations

import asyncio
import contextlib
import grp
import json
import os
import socket
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from drawtap.errors import DrawtapError, UnavailableError, UsageError
from drawtap.live.accepting import Acceptor
from drawtap.live.folder import Folder
from drawtap.live.identity import Peer, groups_of, is_admin, peer_of
from drawtap.live.journal import Journal
from drawtap.live.manager import Manager, Trace, bind, titles, totals
from drawtap.live.program import Importance, Limit, Pacing, Program
from drawtap.live.programs import Managed
from drawtap.live.protocol import MOST_LINE, VERSION, parse, program_json
from drawtap.live.shares import Shares, is_first

_MOST_UNREAD = 1 << 20  # bytes that wait for a client which does not read: more, and it is let go
IDLE_SECONDS = 300.0  # of a client that has asked for nothing that lasts
IDLE_BEFORE_LEAVING = 1.0  # a client that was silent for so long makes room for another
DEAF_SECONDS = 10.0


class Clients:
    """Answer the protocol at `control.sock`."""

    def __init__(self, manager: Manager, journal: Journal) -> None:
        self._manager = manager
        self._journal = journal
        self._open: dict[asyncio.Task[None], _Client] = {}
        self._shares = Shares()
        self._acceptor: Acceptor | None = None

    async def start(self, folder: Folder) -> None:
        """Listen. Raises UnavailableError where that cannot be."""
        group = self._manager.config.settings.admin_group
        try:
            grp.getgrnam(group or "root")
        except KeyError:
            raise UnavailableError(f"there is no group {group!r}", hint="[manager] admin_group") from None
        # The asking user decides the rights: a system's manager shows everybody programs of their own.
        made = bind(folder.clients, socket.SOCK_STREAM, 0o666 if self._manager.shared else 0o600)
        self._acceptor = Acceptor(made, 64, self._accept, self._journal, "clients")

    async def close(self, folder: Folder) -> None:
        """Hang up."""
        if self._acceptor:
            self._acceptor.close()
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        folder.clients.unlink(missing_ok=True)

    def _accept(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        if not self._admit(connection):
            connection.close()

    def _admit(self, connection: socket.socket) -> bool:
        try:
            peer = peer_of(connection)
        except OSError:
            return False
        most = self._manager.config.settings.max_clients
        if self._shares.comes_too_often(peer.uid):
            self._refused(peer.uid, "too often")
            return False
        if not self._shares.has_room(peer.uid, self._held(), most) and not self._makes_room(peer.uid, most):
            self._refused(peer.uid, "too many")
            with contextlib.suppress(OSError):
                connection.send(_line(_failure(UnavailableError("the manager has too many clients"), None)))
            return False
        client = _Client(self._manager, connection, peer)
        task = asyncio.get_running_loop().create_task(self._serve(client, connection))
        self._open[task] = client
        task.add_done_callback(self._open.pop)
        return True

    def _refused(self, uid: int, why: str) -> None:
        self._journal.say_seldom("refused", ("clients", uid, why), "warning", uid=uid, why=why)

    def _held(self) -> Counter[int]:
        return Counter(client.peer.uid for client in self._open.values() if not client.leaves)

    def _makes_room(self, uid: int, most: int) -> bool:
        # The user with most clients loses the client that has been idle for longest. A user who has no more than
        # another loses none.
        held = self._held()
        others = [user for user in held if not is_first(user)]
        whose = uid if held[uid] or not others else max(others, key=lambda user: held[user])
        if whose != uid and held[whose] <= held[uid] + 1:
            return False
        late = time.monotonic() - IDLE_BEFORE_LEAVING
        own = [c for c in self._open.values() if c.peer.uid == whose]
        idle = [c for c in own if not c.lasts and not c.leaves and c.last < late]
        if not idle:
            return False
        gone = min(idle, key=lambda client: client.last)
        gone.leaves = True
        if not self._shares.has_room(uid, self._held(), most):
            gone.leaves = False
            return False
        gone.hang_up("the manager has too many clients: this one was idle for longest")
        return True

    async def _serve(self, client: _Client, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=connection, limit=MOST_LINE)
        client.begin(writer)
        try:
            await client.serve(reader)
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError, asyncio.CancelledError):
            pass
        except Exception as error:
            self._journal.say_seldom("fault", "client", "error", text=f"{type(error).__name__}: {error}")
        finally:
            client.close()
            if writer.transport.get_write_buffer_size():
                writer.transport.abort()  # it would wait for somebody who does not read
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()


class _Client:
    def __init__(self, manager: Manager, connection: socket.socket, peer: Peer) -> None:
        self._manager = manager
        self._writer: asyncio.StreamWriter | None = None
        self.peer = self._peer = peer
        self.last = time.monotonic()  # when it asked
        self.leaves = False  # the manager has let it go: its place is given away
        self._watching: asyncio.Task[None] | None = None
        self._waiting: set[asyncio.Task[None]] = set()
        self._traces: list[Trace] = []
        self._tells_focus = False  # for as long as the connection lasts
        self._admin = is_admin(self._peer, groups_of(connection, self._peer), manager.config.settings.admin_group)

    @property
    def lasts(self) -> bool:
        """Tell whether it asked for something that lasts: then it may be silent."""
        return bool(self._watching or self._traces or self._tells_focus)

    def begin(self, writer: asyncio.StreamWriter) -> None:
        """Speak through `writer` from now on."""
        self._writer = writer
        if self.leaves:
            writer.transport.abort()

    def hang_up(self, why: str) -> None:
        """Tell it to go."""
        self.send(_failure(UnavailableError(why), None))
        if self._writer:
            self._writer.close()

    async def serve(self, reader: asyncio.StreamReader) -> None:
        assert self._writer is not None
        while True:
            try:
                line = await asyncio.wait_for(reader.readuntil(b"\n"), None if self.lasts else IDLE_SECONDS)
            except asyncio.LimitOverrunError:
                self.send(_failure(UsageError(f"a request has at most {MOST_LINE} bytes"), None))
                return
            if not line.strip():
                continue
            self.last = time.monotonic()
            request: dict[str, Any] = {}
            try:
                request = parse(line)
                answer = await self._answer(request)
                self.send({"ok": True, **({"id": request["id"]} if "id" in request else {}), **answer})
            except DrawtapError as error:
                self.send(_failure(error, request.get("id")))
            # The manager lets a client go that asks and does not read.
            await asyncio.wait_for(self._writer.drain(), DEAF_SECONDS)

    def send(self, message: Mapping[str, object]) -> None:
        if self._writer is None:
            return
        transport = self._writer.transport
        if transport.is_closing():
            return
        if transport.get_write_buffer_size() > _MOST_UNREAD:
            transport.abort()
            return
        self._writer.write(_line(message))

    def close(self) -> None:
        """Forget the client: what it was recording is over."""
        for task in (self._watching, *self._waiting):
            if task:
                task.cancel()
        for trace in self._traces:
            self._manager.end_trace(trace)
        if self._tells_focus:
            for managed in self._own():
                managed.focused = None

    # ---- requests --------------------------------------------------------------------------------------------

    async def _answer(self, request: Mapping[str, Any]) -> dict[str, object]:
        op = request["op"]
        if op == "trace-begin":
            return await self._trace_begin(request)
        answers = {
            "hello": self._hello,
            "list": self._list,
            "limit": self._limit,
            "class": self._class,
            "focus": self._focus,
            "watch": self._watch,
            "policy": self._policy,
            "config": self._config,
            "log": self._log,
            "trace": self._trace,
            "trace-end": self._trace_end,
        }
        return answers[op](request)

    def _select(self, request: Mapping[str, Any]) -> list[Managed]:
        return self._manager.select(request["program"], None if self._admin else self._peer.uid)

    def _visible(self) -> list[Program]:
        programs = (*self._manager.seen.programs, *self._manager.observed)
        return [p for p in programs if self._admin or p.uid == self._peer.uid]

    def _must_be_admin(self) -> None:
        if not self._admin:
            raise UnavailableError("only the manager's user and its administrators may do that")

    def _programs(self, recent: int) -> dict[str, object]:
        now = self._manager.seen.now_ns
        programs = [program_json(p, now, recent=recent) for p in self._visible()]
        return {"time_ns": now, "programs": programs, "manager": totals(self._manager)}

    def _hello(self, request: Mapping[str, Any]) -> dict[str, object]:
        from drawtap import __version__

        return {"protocol": VERSION, "drawtap": __version__, "manager": totals(self._manager), "admin": self._admin}

    def _list(self, request: Mapping[str, Any]) -> dict[str, object]:
        self._manager.tick()
        return self._programs(request.get("recent", 0))

    def _limit(self, request: Mapping[str, Any]) -> dict[str, object]:
        selected = self._select(request)
        fps = request.get("fps")
        who = f"user {self._peer.uid}" if self._peer.uid != os.geteuid() else "you"
        pacing = Pacing(request.get("pacing", self._manager.config.settings.pacing))
        limit = None
        if request.get("free"):
            limit = Limit(0.0, f"{who} said so", "user")
        elif fps is not None:
            limit = Limit(float(fps), f"{who} said so", "user", pacing, chosen=True)
        for managed in selected:
            self._manager.limit(managed, limit, request.get("surface"))
        return {"programs": self._of(selected)}

    def _class(self, request: Mapping[str, Any]) -> dict[str, object]:
        selected = self._select(request)
        for managed in selected:
            if "class" in request:
                wanted = request["class"]
                managed.importance = Importance(wanted) if wanted else None
            if "target_fps" in request:
                managed.target_fps = request["target_fps"]
            if "weight" in request:
                managed.weight = request["weight"]
            self._manager.keep(managed)
        self._manager.tick()
        return {"programs": self._of(selected)}

    def _focus(self, request: Mapping[str, Any]) -> dict[str, object]:
        chosen = [] if request["program"] is None else self._select(request)
        unknown = request.get("unknown", False)
        self._tells_focus = request.get("held", False) and not unknown
        for managed in self._own():
            managed.focused = None if unknown else managed in chosen
        self._manager.tick()
        return {"programs": self._of(chosen)}

    def _own(self) -> list[Managed]:
        mine = self._manager.programs.by_id.values()
        return [m for m in mine if self._admin or m.peer.uid == self._peer.uid]

    def _of(self, selected: list[Managed]) -> list[dict[str, object]]:
        now = self._manager.seen.now_ns
        ids = {m.id for m in selected}
        return [program_json(p, now) for p in self._manager.seen.programs if p.id in ids]

    def _watch(self, request: Mapping[str, Any]) -> dict[str, object]:
        if self._watching:
            self._watching.cancel()
        self._watching = asyncio.create_task(self._send_programs(request.get("period", 1.0), request.get("recent", 0)))
        return {}

    async def _send_programs(self, period: float, recent: int) -> None:
        while True:
            await asyncio.sleep(period)
            # A client that is slow misses some: each is a whole picture.
            assert self._writer is not None
            if self._writer.transport.get_write_buffer_size() < _MOST_UNREAD // 4:
                self.send({"event": "programs", **self._programs(recent)})

    def _policy(self, request: Mapping[str, Any]) -> dict[str, object]:
        if "policies" in request:
            self._must_be_admin()
            self._manager.set_policies(self._manager.config.make_policies(request["policies"]))
            self._manager.journal.say("policy", policies=list(self._manager.policies), uid=self._peer.uid)
            self._manager.tick()
        return {
            "policies": list(self._manager.policies),
            "settings": {name: repr(policy) for name, policy in self._manager.policies.items()},
            "notes": list(self._manager.notes),
        }

    def _config(self, request: Mapping[str, Any]) -> dict[str, object]:
        if request.get("reload"):
            self._must_be_admin()
            self._manager.reload()
        config = self._manager.config
        return {
            "file": str(config.path) if config.path else None,
            "error": self._manager.config_error,
            "policies": list(self._manager.policies),
            "profiles": [p.title for p in config.profiles],
        }

    def _log(self, request: Mapping[str, Any]) -> dict[str, object]:
        self._must_be_admin()
        return {"entries": list(self._manager.journal.recent)[-request.get("most", 50) :]}

    # ---- traces ----------------------------------------------------------------------------------------------

    def _trace(self, request: Mapping[str, Any]) -> dict[str, object]:
        selected = self._select(request)
        if len(selected) > 1:
            raise UsageError("one program is recorded at a time", hint=f"which: {titles(selected)}")
        managed = selected[0]
        if managed.peer.uid != self._peer.uid:
            hint = f"sudo -u '#{managed.peer.uid}' drawtap record --pid {managed.pid} asks as that user"
            raise UnavailableError("only a program's own user can record it", hint=hint)
        trace = self._manager.make_trace(managed, request.get("frames", 0))
        self._traces.append(trace)
        return {"token": trace.token, "folder": str(trace.folder), "pid": managed.pid, "name": managed.about.name}

    def _own_trace(self, request: Mapping[str, Any]) -> Trace:
        for trace in self._traces:
            if trace.token == request["token"]:
                return trace
        raise UsageError("this connection has no such trace")

    async def _trace_begin(self, request: Mapping[str, Any]) -> dict[str, object]:
        trace = self._own_trace(request)
        await self._manager.begin_trace(trace)
        task = asyncio.create_task(self._tell_over(trace))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)
        return {"token": trace.token}

    async def _tell_over(self, trace: Trace) -> None:
        await trace.over.wait()
        self.send({"event": "trace-over", "token": trace.token})

    def _trace_end(self, request: Mapping[str, Any]) -> dict[str, object]:
        self._manager.end_trace(self._own_trace(request))
        return {}


def _line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def _failure(error: DrawtapError, key: object) -> dict[str, object]:
    made: dict[str, object] = {"ok": False, "error": error.message, "hint": error.hint, "code": error.exit_code}
    if key is not None:
        made["id"] = key
    return made
