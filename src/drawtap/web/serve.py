"""Open the socket, print the address, serve until Ctrl-C."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import os
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.errors import UnavailableError, UsageError
from drawtap.trace.core import is_recording
from drawtap.web.frames import Opening

if TYPE_CHECKING:
    from drawtap.web.fleet import Fleet
    from drawtap.web.steering import Steering

_ARENA_MAX = -8  # of mallopt (malloc.h)


def serve(
    files: Sequence[Path],
    *,
    host: str,
    port: int,
    browser: bool,
    frame_end: str | None = None,
    place: str = "",
    engines: Sequence[str] = (),
    live: bool = False,
    fleet: Fleet | None = None,
) -> None:
    """Serve recordings to a browser until Ctrl-C or SIGTERM; the first line on standard output is the address.

    `place` is what the page shows first, in the form of its address (`call=1234`); `engines` has one for each file, or
    none; `live` shows what a manager sees, `fleet` a corpus. Raises what `Serving` raises.
    """
    _bound_heaps()
    serving = Serving(files, host=host, port=port, frame_end=frame_end, engines=engines, live=live, fleet=fleet)
    gc.freeze()  # what stays until the end: without it, cycles that come and go are collected sooner
    address = serving.address + (f"&{place}" if place else "")
    with contextlib.ExitStack() as stack, contextlib.suppress(KeyboardInterrupt):
        # An interrupt as an exception could be lost in a finalizer: until the server takes signals, this one ends it.
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGINT, lambda *_: serving.stop())
            stack.callback(signal.signal, signal.SIGINT, before)
        print(address, flush=True)
        if browser and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            webbrowser.open(address)
        serving.run()


def _bound_heaps() -> None:
    """Let threads share heaps, one a processor: those of their own keep for themselves what others could use."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # glibc
        library.mallopt(_ARENA_MAX, max(os.cpu_count() or 1, 2))


class Serving:
    """A server with its recordings. `run` serves until `stop`, Ctrl-C or SIGTERM, and closes all at the end.

    With `steering` a program drives the page, which may then stand in a frame of another page of this machine. Raises
    UnavailableError where the packages for it are missing or the address is taken, and what opening a recording raises.
    """

    def __init__(
        self,
        files: Sequence[Path],
        *,
        host: str,
        port: int,
        frame_end: str | None = None,
        steering: Steering | None = None,
        engines: Sequence[str] = (),
        live: bool = False,
        fleet: Fleet | None = None,
    ) -> None:
        with contextlib.ExitStack() as stack:
            openings: list[Opening | None] = []
            for file in files:
                openings.append(Opening(file, frame_end) if file.exists() and is_recording(file) else None)
                if (begun := openings[-1]) is not None:
                    stack.callback(begun.begin().close)
            try:
                import asyncio  # this and the next while frames are read: to load them takes about as long

                import uvicorn
                from starlette.concurrency import run_in_threadpool

                from drawtap.web.app import Seen, application, opened
            except ImportError as error:
                raise UnavailableError(f"drawtap view needs {error.name}", hint="pip install 'drawtap[web]'") from None
            recordings: list[Seen] = []
            for file, engine, opening in zip(files, engines or ["system"] * len(files), openings, strict=True):
                recording: Seen = opened(file, frame_end, engine, opening)
                stack.callback(recording.close)
                recordings.append(recording)
            token = secrets.token_urlsafe(24)
            self._socket = _listen(host, port)
            stack.callback(self._socket.close)
            app = application(recordings, token=token, host=host, steering=steering, live=live, fleet=fleet)
            stack.callback(app.state.close)
            config = uvicorn.Config(
                app, log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=1, ws="none"
            )

            class Server(uvicorn.Server):
                """Is warm before the first question, and answers late ones quickly or not at all."""

                async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                    await super().startup(sockets)
                    self.warming = asyncio.create_task(run_in_threadpool(app.state.warm))

                async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
                    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
                    for one in recordings:
                        one.interrupt()
                    await super().shutdown(sockets)

            self._server = Server(config)
            shown = "127.0.0.1" if host in ("", "0.0.0.0") else f"[{host}]" if ":" in host else host
            self.address = f"http://{shown}:{self._socket.getsockname()[1]}/#token={token}"
            self._steering = steering
            self._open = stack.pop_all()

    def run(self) -> None:
        """Serve, and close everything at the end."""
        with self._open:
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Let `run` end; any thread may call this."""
        if self._steering is not None:
            self._steering.end()
        self._server.should_exit = True


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family)
        # Connections take this from here; asyncio sets it for sockets alone that were made for TCP by number. Without
        # it an answer's second part waits for the first one's acknowledgement: 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OverflowError:
        raise UsageError(f"there is no port {port}", hint="0 takes a free one") from None
    except OSError as error:
        hint = "--port 0 takes a free one" if port else "--host names an address of this machine"
        raise UnavailableError(f"cannot listen on {host}:{port}: {error.strerror or error}", hint=hint) from None
