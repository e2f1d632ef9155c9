"""The program with the focus, as an X server reports it (through python-xlib).

Sources: X-Resource extension 1.2; Extended Window Manager Hints (_NET_ACTIVE_WINDOW).
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from drawtap.errors import UnavailableError

_BY_HAND = "drawtap limit --focus PROGRAM tells it by hand"
_SECONDS = 10.0  # for the server to answer
_COOKIE = b"MIT-MAGIC-COOKIE-1"
_FAMILY_WILD = 0xFFFF  # of cookies that are for every host (libXau)


class Screen:
    """A connection to the X server that `display` names ($DISPLAY).

    Raises UnavailableError where there is none, where it is not on this machine, or where it cannot tell processes, and
    without python-xlib.
    """

    def __init__(self, display: str | None = None) -> None:
        try:
            import Xlib.display
        except ImportError:
            raise UnavailableError(
                "python-xlib is not installed", hint=f"pip install 'drawtap[focus]', or {_BY_HAND}"
            ) from None
        self.name = os.environ.get("DISPLAY", "") if display is None else display
        if not self.name:
            raise UnavailableError("there is no X server to ask: DISPLAY is not set", hint=_BY_HAND)
        host, _, rest = self.name.rpartition(":")
        if host not in ("", "unix"):
            raise UnavailableError(f"the X server {self.name} is not on this machine", hint="DISPLAY=:0 is one that is")
        with (
            self._answers(),
            contextlib.redirect_stdout(sys.stderr),  # it prints what it thinks of ~/.Xauthority
            _cookie_of_any_host(rest.partition(".")[0]),
        ):
            self._display: Any = Xlib.display.Display(f"unix/:{rest}")
        if not self._display.has_extension("X-Resource"):
            self.close()
            raise UnavailableError(f"the X server {self.name} does not tell whose window it is: it has no X-Resource")
        self._root = self._display.screen().root
        with self._answers():
            self._active = self._display.intern_atom("_NET_ACTIVE_WINDOW")

    def focused_pid(self) -> int | None:
        """Return the process whose window has the focus, 0 where none of this machine has it, None where nobody tells.

        Raises UnavailableError when the server is gone.
        """
        from Xlib import X

        with self._answers():
            active = self._root.get_full_property(self._active, X.AnyPropertyType)
            if active is not None and active.format == 32 and len(active.value):
                window = int(active.value[0])
            else:
                focus = self._display.get_input_focus().focus
                window = int(getattr(focus, "id", focus))
                if window in (X.PointerRoot, self._root.id):
                    return None  # nobody manages windows here, and the focus follows the pointer
            return self._owner(window) if window else 0

    def close(self) -> None:
        """Hang up."""
        from Xlib.error import ConnectionClosedError

        with contextlib.suppress(ConnectionClosedError):  # the server was faster
            self._display.close()

    def _owner(self, window: int) -> int:
        from Xlib.error import XError
        from Xlib.ext.res import LocalClientPIDMask

        with contextlib.suppress(XError):
            for each in self._display.res_query_client_ids([{"client": window, "mask": LocalClientPIDMask}]).ids:
                if each.spec.mask == LocalClientPIDMask and each.value:
                    return int(each.value[0])
        return 0  # the window is gone, or belongs to a program on another machine

    @contextlib.contextmanager
    def _answers(self) -> Iterator[None]:
        from Xlib.error import ConnectionClosedError, DisplayConnectionError, DisplayNameError, XError

        where = "DISPLAY names the X server, XAUTHORITY the file of cookies"
        try:
            with _within(_SECONDS):
                yield
        except DisplayNameError:
            raise UnavailableError(f"{self.name} is no name of an X server", hint="DISPLAY=:0 is one") from None
        except DisplayConnectionError as error:
            said = error.msg.decode("latin-1").strip() if isinstance(error.msg, bytes) else error.msg
            raise UnavailableError(f"there is no X server {self.name} for us: {said}", hint=where) from None
        except (ConnectionClosedError, XError, OSError, struct.error) as error:
            raise UnavailableError(f"the X server {self.name} does not answer: {error}", hint=where) from None


@contextlib.contextmanager
def _cookie_of_any_host(number: str) -> Iterator[None]:
    """Have python-xlib find the cookie that libXau finds: display managers write FamilyWild, which it does not know.

    While this lives, XAUTHORITY names a file in memory with that cookie, written for this host.
    """
    from Xlib import xauth
    from Xlib.error import XauthError

    host = socket.gethostname().encode()
    cookies: list[bytes] = []
    with contextlib.suppress(XauthError):
        cookies = [
            data
            for family, address, display, name, data in xauth.Xauthority().entries
            if family == _FAMILY_WILD or (family == xauth.FamilyLocal and address == host)
            if display in (b"", number.encode()) and name == _COOKIE
        ]
    if not cookies:
        yield
        return
    parts = (host, number.encode(), _COOKIE, cookies[0])
    packed = b"".join(len(part).to_bytes(2, "big") + part for part in parts)
    before = os.environ.get("XAUTHORITY")
    with os.fdopen(os.memfd_create("cookie"), "wb", buffering=0) as file:
        file.write(xauth.FamilyLocal.to_bytes(2, "big") + packed)
        os.environ["XAUTHORITY"] = f"/proc/self/fd/{file.fileno()}"
        try:
            yield
        finally:
            del os.environ["XAUTHORITY"]
            if before is not None:
                os.environ["XAUTHORITY"] = before


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError where it takes longer: python-xlib waits for answers without end. Only in the main thread."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not within {seconds:g} s")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def program_of(pid: int, known: Collection[int]) -> int | None:
    """Return which of the processes `known` a window of `pid` stands for.

    It is the process itself, or a child: browsers have a process that draws. None: none of them.
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
