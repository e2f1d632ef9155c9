"""New connections of a socket that the event loop watches."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable

from drawtap.live.journal import Journal

_REST_S = 0.5  # of the socket, where this process has no descriptor left


class Acceptor:
    """Listens at a bound socket and hands its connections over, a few at a time, until `close`."""

    def __init__(
        self, bound: socket.socket, most: int, take: Callable[[socket.socket], None], journal: Journal, who: str
    ) -> None:
        """Begin, in the running loop; the journal says of `who` that descriptors are missing."""
        bound.setblocking(False)
        bound.listen(128)
        self._socket, self._most, self._take = bound, most, take
        self._journal, self._who = journal, who
        self._loop = asyncio.get_running_loop()
        self._rest: asyncio.TimerHandle | None = None
        self._watch()

    def close(self) -> None:
        """Stop to listen."""
        if self._rest:
            self._rest.cancel()
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def _watch(self) -> None:
        self._rest = None
        self._loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        for _ in range(self._most):
            try:
                connection, _ = self._socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._journal.say_seldom("no-descriptors", self._who, "warning")
                    # The connection stays in the queue and would wake us at once, again and again.
                    self._loop.remove_reader(self._socket)
                    self._rest = self._loop.call_later(_REST_S, self._watch)
                return
            self._take(connection)
