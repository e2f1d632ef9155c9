"""A listening socket of the manager: it hands connections over, and rests where no descriptor is left."""

from __future__ import annotations

import asyncio
import errno
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from drawtap.live import accepting
from drawtap.live.accepting import Acceptor


class Journal:
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str, str]] = []

    def say_seldom(self, what: str, who: str, level: str) -> None:
        self.said.append((what, who, level))


class Full:
    """A socket whose process has no descriptor left for the first `times` connections."""

    def __init__(self, path: Path, times: int) -> None:
        self._socket, self._times = socket.socket(socket.AF_UNIX), times
        self._socket.bind(str(path))

    def __getattr__(self, name: str) -> object:
        return getattr(self._socket, name)

    def accept(self) -> tuple[socket.socket, object]:
        if self._times:
            self._times -= 1
            raise OSError(errno.EMFILE, "too many open files")
        return self._socket.accept()


@pytest.mark.parametrize("closed_while_it_rests", [False, True])
def test_a_socket_rests_where_no_descriptor_is_left(
    closed_while_it_rests: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accepting, "_REST_S", 0.01)
    taken: list[socket.socket] = []
    journal, wrong = Journal(), []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: wrong.append(context))
        acceptor = Acceptor(Full(tmp_path / "s", 1), 8, taken.append, journal, "clients")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(tmp_path / "s"))
            while not journal.said:
                await asyncio.sleep(0)
            while not taken and not closed_while_it_rests:
                await asyncio.sleep(0)
            acceptor.close()
            await asyncio.sleep(0.05)  # longer than the rest

    with ThreadPoolExecutor(1) as thread:  # this one may run the loop of a browser
        thread.submit(asyncio.run, run()).result()
    assert (len(taken), journal.said, wrong) == (
        0 if closed_while_it_rests else 1,
        [("no-descriptors", "clients", "warning")],
        [],
    )
    for connection in taken:
        connection.close()
