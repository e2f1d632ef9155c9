"""Talk to a manager."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator, Mapping
from typing import Any

from drawtap.errors import DrawtapError, InputError, UnavailableError, UsageError
from drawtap.live.folder import Folder, client_folder

_ERRORS: Mapping[int, type[DrawtapError]] = {2: UsageError, 3: UnavailableError, 4: InputError}


class Client:
    """A connection to the manager; answers come as the protocol has them (drawtap.live.protocol).

    Raises UnavailableError where no manager runs, and whatever error the manager answers with.
    """

    def __init__(self, folder: Folder | None = None, *, seconds: float = 15.0) -> None:
        self.folder = folder or client_folder()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(seconds)
        try:
            self._connect(seconds)
        except OSError as error:
            self._socket.close()
            if isinstance(error, PermissionError):
                raise UnavailableError(
                    f"not allowed to talk to the manager at {self.folder.path}",
                    hint="it is another user's; drawtap manager --system (as root) looks after everybody's programs",
                ) from None
            raise UnavailableError(
                f"no manager runs (nobody listens at {self.folder.clients})",
                hint="drawtap manager & starts one; drawtap manager --print-unit has one started with the session",
            ) from None
        self._lines = self._socket.makefile("rb")
        self._events: list[dict[str, Any]] = []

    def _connect(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                return self._socket.connect(str(self.folder.clients))
            except BlockingIOError:  # as many as its queue takes wait for the manager
                if time.monotonic() > end:
                    raise UnavailableError(f"the manager at {self.folder.path} takes no more clients") from None
                time.sleep(0.01)

    def ask(self, op: str, **fields: object) -> dict[str, Any]:
        """Send a request and return its answer."""
        try:
            with contextlib.suppress(BrokenPipeError):  # what it said when it hung up can still be read
                self._socket.sendall(json.dumps({"op": op, **fields}).encode() + b"\n")
            while "event" in (message := self._read()):
                self._events.append(message)
        except OSError as error:
            raise UnavailableError(f"the manager does not answer: {error.strerror or error}") from None
        if not message.get("ok"):
            raise _ERRORS.get(int(message.get("code", 3)), DrawtapError)(
                str(message.get("error")), hint=message.get("hint")
            )
        return message

    def events(self, *, seconds: float | None = None) -> Iterator[dict[str, Any]]:
        """Yield what the manager sends by itself, for ever; TimeoutError where nothing came for `seconds`."""
        self._socket.settimeout(seconds)
        while True:
            while self._events:
                yield self._events.pop(0)
            yield self._read()

    def fileno(self) -> int:
        """Return the descriptor, to wait for it."""
        return self._socket.fileno()

    def _read(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise UnavailableError("the manager has hung up")
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    def close(self) -> None:
        """Hang up."""
        self._lines.close()
        self._socket.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
