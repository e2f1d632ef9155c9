"""Open the socket, print the address, serve until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from drawtap.errors import UnavailableError, UsageError


def serve(
    files: Sequence[Path], *, host: str, port: int, browser: bool, frame_end: str | None = None, place: str = ""
) -> None:
    """Serve recordings to a browser until Ctrl-C or SIGTERM; the first line on standard output is the address.

    `place` is what the page shows first, in the form of its address (`call=1234`). Raises UnavailableError where the
    packages for it are missing or the address is taken, and what opening a recording raises.
    """
    try:
        import uvicorn

        from drawtap.web.app import Seen, application, opened
    except ImportError as error:
        raise UnavailableError(f"drawtap view needs {error.name}", hint="pip install 'drawtap[web]'") from None
    with contextlib.ExitStack() as stack:
        recordings: list[Seen] = []
        for file in files:
            recording: Seen = opened(file, frame_end)
            stack.callback(recording.close)
            recordings.append(recording)
        token = secrets.token_urlsafe(24)
        listening = _listen(host, port)
        stack.callback(listening.close)
        app = application(recordings, token=token, host=host)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=1, ws="none"
        )
        shown = "127.0.0.1" if host in ("", "0.0.0.0") else f"[{host}]" if ":" in host else host
        server = uvicorn.Server(config)
        # An interrupt as an exception could be lost in a finalizer: until the server takes signals, this one ends it.
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGINT, lambda *_: setattr(server, "should_exit", True))
            stack.callback(signal.signal, signal.SIGINT, before)
        address = f"http://{shown}:{listening.getsockname()[1]}/#token={token}" + (f"&{place}" if place else "")
        with contextlib.suppress(KeyboardInterrupt):
            print(address, flush=True)
            if browser and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
                webbrowser.open(address)
            server.run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OverflowError:
        raise UsageError(f"there is no port {port}", hint="0 takes a free one") from None
    except OSError as error:
        hint = "--port 0 takes a free one" if port else "--host names an address of this machine"
        raise UnavailableError(f"cannot listen on {host}:{port}: {error.strerror or error}", hint=hint) from None
