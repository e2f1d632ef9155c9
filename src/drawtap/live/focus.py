"""Which program has the focus, as an X server tells it: the few requests that it takes, without a library.

Sources: X Window System Protocol, version 11; X-Resource extension 1.2; Extended Window Manager Hints
(_NET_ACTIVE_WINDOW).
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Collection, Iterator
from pathlib import Path

from drawtap.errors import UnavailableError

_COOKIE = b"MIT-MAGIC-COOKIE-1"
_SECONDS = 10.0  # for the server to answer
_POINTER_ROOT = 1
_MOST_BYTES = 1 << 20


class Screen:
    """A connection to the X server that `display` names ($DISPLAY).

    Raises UnavailableError where there is none, where it is not on this machine, or where it cannot tell processes.
    """

    def __init__(self, display: str | None = None) -> None:
        name = os.environ.get("DISPLAY", "") if display is None else display
        if not name:
            raise UnavailableError(
                "there is no X server to ask: DISPLAY is not set", hint="drawtap focus PROGRAM tells it by hand"
            )
        host, _, rest = name.rpartition(":")
        number = rest.partition(".")[0]
        if host not in ("", "unix") or not number.isdigit():
            raise UnavailableError(f"the X server {name} is not on this machine", hint="DISPLAY=:0 is one that is")
        self._socket = _connected(name, number)
        try:
            self.greeting = self._greet(name, number)
            self.root = _first_root(self.greeting, name)
            self._active = self._atom("_NET_ACTIVE_WINDOW")
            self._resources = self._extension("X-Resource")
            if not self._resources:
                raise UnavailableError(f"the X server {name} does not tell whose window it is: it has no X-Resource")
        except BaseException:
            self._socket.close()
            raise

    def focused_pid(self) -> int | None:
        """Return the process whose window has the focus, 0 where none of this machine has it, None where nobody tells.

        Raises UnavailableError when the server is gone.
        """
        window = self._active_window()
        if window is None:
            window = self._input_focus()
            if window in (_POINTER_ROOT, self.root):
                return None  # nobody manages windows here, and the focus follows the pointer
        return self._owner(window) if window else 0

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    # ---- requests --------------------------------------------------------------------------------------------

    def _active_window(self) -> int | None:
        answer = self.ask(struct.pack("<BBHIIIII", 20, 0, 6, self.root, self._active, 0, 0, 1))
        if answer is None or answer[1] != 32 or len(answer) < 36:
            return None
        return int(struct.unpack_from("<I", answer, 32)[0])

    def _input_focus(self) -> int:
        answer = self.ask(struct.pack("<BBH", 43, 0, 1))
        return int(struct.unpack_from("<I", answer, 8)[0]) if answer else 0

    def _owner(self, window: int) -> int:
        answer = self.ask(struct.pack("<BBHIII", self._resources, 4, 4, 1, window, 2))
        if answer is None:
            return 0
        (count,) = struct.unpack_from("<I", answer, 8)
        at = 32
        for _ in range(count):
            if at + 12 > len(answer):
                break
            _, mask, length = struct.unpack_from("<III", answer, at)
            if mask == 2 and length >= 4 and at + 16 <= len(answer):
                return int(struct.unpack_from("<I", answer, at + 12)[0])
            at += 12 + length
        return 0  # the window is gone, or that of a program on another machine

    def _atom(self, name: str) -> int:
        answer = self.ask(struct.pack("<BBHHxx", 16, 0, 2 + _words(name), len(name)) + _padded(name.encode()))
        return int(struct.unpack_from("<I", answer, 8)[0]) if answer else 0

    def _extension(self, name: str) -> int:
        answer = self.ask(struct.pack("<BBHHxx", 98, 0, 2 + _words(name), len(name)) + _padded(name.encode()))
        return answer[9] if answer and answer[8] else 0

    def ask(self, request: bytes) -> bytes | None:
        """Send a request and return its answer, None where the server finds it wrong."""
        try:
            self._socket.sendall(request)
            while True:
                head = self._take(32)
                if head[0] == 0:
                    return None
                if head[0] == 1:
                    (more,) = struct.unpack_from("<I", head, 4)
                    return head + self._take(4 * more)
        except OSError as error:
            raise UnavailableError(f"the X server does not answer: {error.strerror or error}") from None

    def _greet(self, name: str, number: str) -> bytes:
        cookie = _cookie(number)
        kind = _COOKIE if cookie else b""
        hello = struct.pack("<BxHHHHxx", ord("l"), 11, 0, len(kind), len(cookie)) + _padded(kind) + _padded(cookie)
        try:
            self._socket.sendall(hello)
            status, length, _, _, more = struct.unpack("<BBHHH", self._take(8))
            text = self._take(4 * more)
        except OSError as error:
            raise UnavailableError(f"the X server {name} does not answer: {error.strerror or error}") from None
        if status != 1:
            said = text[:length].decode("latin-1").strip()
            raise UnavailableError(f"the X server {name} refuses: {said}", hint="XAUTHORITY names the file of cookies")
        return text

    def _take(self, count: int) -> bytes:
        if count > _MOST_BYTES:
            raise OSError("it says too much")
        taken = b""
        while len(taken) < count:
            part = self._socket.recv(count - len(taken))
            if not part:
                raise OSError("it has hung up")
            taken += part
        return taken


def _first_root(greeting: bytes, name: str) -> int:
    if len(greeting) >= 32:
        vendor, formats = struct.unpack_from("<H3xB", greeting, 16)
        at = 32 + (vendor + 3) // 4 * 4 + 8 * formats
        if at + 4 <= len(greeting):
            return int(struct.unpack_from("<I", greeting, at)[0])
    raise UnavailableError(f"the X server {name} has no screen")


def program_of(pid: int, known: Collection[int]) -> int | None:
    """Return which of the processes `known` a window of `pid` stands for.

    It is the process itself, or one that it started: browsers have a process that draws. None: none of them.
    """
    if pid in known:
        return pid
    return next((each for each in known if pid in _parents(each)), None)


def _parents(pid: int) -> Iterator[int]:
    while pid > 1:
        try:
            text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
            pid = int(text.rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
        yield pid


def _connected(name: str, number: str) -> socket.socket:
    path = f"/tmp/.X11-unix/X{number}"
    said = ""
    for address in ("\0" + path, path):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        made.settimeout(_SECONDS)
        try:
            made.connect(address)
        except OSError as error:
            made.close()
            said = error.strerror or str(error)
            continue
        return made
    raise UnavailableError(f"there is no X server {name}: {said}", hint="DISPLAY says which one is asked")


def _cookie(number: str) -> bytes:
    # Entries: a family, then address, number of the display, kind and data, each with its length.
    file = os.environ.get("XAUTHORITY") or str(Path.home() / ".Xauthority")
    try:
        data = Path(file).read_bytes()
    except OSError:
        return b""
    at = 0
    while at + 2 <= len(data):
        at += 2
        parts = []
        for _ in range(4):
            if at + 2 > len(data):
                return b""
            (length,) = struct.unpack_from(">H", data, at)
            parts.append(data[at + 2 : at + 2 + length])
            at += 2 + length
        _, display, kind, secret = parts
        if kind == _COOKIE and display in (b"", number.encode()):
            return secret
    return b""


def _words(text: str) -> int:
    return (len(text) + 3) // 4


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
