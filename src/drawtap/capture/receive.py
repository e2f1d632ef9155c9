"""The receiver's end of streams: what programs are recorded elsewhere becomes files here.

A thread for each connection; the bytes go to the file as they come, and the recorder gets the number of bytes that
arrived. A recorder that vanishes leaves a file that ends with its last whole chunk.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from drawtap.capture import stream
from drawtap.capture.stream import Address, StreamError
from drawtap.errors import DrawtapError, UnavailableError, UsageError
from drawtap.trace.trace import open_trace

_MOST_STREAMS = 64
_FILE_MAGIC, _CHUNK_MAGIC, _END = b"DTAP\r\n\x1a\n", b"DTCK", b"DTAPEND\n"
_CHUNK = struct.Struct("<4sHHQQII")
_FOOTER = 5
_ACCEPT_SECONDS = 0.1


@dataclass
class Stream:
    """One trace that arrives, or did: `state` is open, whole or torn, `error` why it is torn.

    While it is open, `calls` and `frames` are what the recorder said last; afterwards they count the file's own.
    """

    file: Path
    program: str
    pid: int
    calls: int = 0
    frames: int = 0
    frames_dropped: int = 0
    bytes: int = 0
    state: str = "open"
    error: str = ""


class Receiver:
    """Takes streams at an address: listens there, or connects to a recorder that does (`connect`).

    `place` is a file for the first trace, whose name those that follow vary, or a folder. Use as a context manager.
    `streams` and `refused` (connections that became none, with the reason) grow as they come.
    """

    _LET_IT_BE = ": a token that both know lets it be"

    def __init__(
        self, address: Address, place: Path, *, token: bytes = b"", connect: bool = False, force: bool = False
    ) -> None:
        self.streams: list[Stream] = []
        self.refused: list[str] = []
        self._address, self._place, self._token, self._force = address, place, token, force
        self._connect = connect
        self._lock = threading.Lock()
        self._lines: set[socket.socket] = set()
        self._stopping = False
        self._gone = False
        self._listener: socket.socket | None = None
        self._first = True
        if not place.is_dir() and place.exists() and not force:
            raise UsageError(f"{place} exists", hint="--force replaces it; a folder takes any number of traces")
        if not place.is_dir() and not place.absolute().parent.is_dir():
            raise UsageError(f"there is no folder {place.parent}", hint=f"mkdir -p {place.parent} makes it")

    @property
    def address(self) -> str:
        """Return where it is reached: with the port that the system chose for port 0."""
        if self._listener is None or self._address.path is not None:
            return self._address.text
        host, port = self._listener.getsockname()[:2]
        return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"

    def __enter__(self) -> Receiver:
        if self._connect:
            self._start(self._call)
        else:
            self._listener = _listener(self._address)
            self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up: recorders that still send notice, and go on without."""
        with self._lock:
            self._stopping = True
            lines = list(self._lines)
        for line in lines:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RD)
        end = time.monotonic() + 5
        while self._lines and time.monotonic() < end:
            time.sleep(0.01)
        if self._listener is not None:
            self._listener.close()
            if self._address.path is not None:
                self._address.path.unlink(missing_ok=True)

    @property
    def is_idle(self) -> bool:
        """Tell whether a trace was received and none is arriving."""
        return bool(self.streams) and all(s.state != "open" for s in self.streams)

    @property
    def is_over(self) -> bool:
        """Tell whether no more can come: the recorder that it connects to is gone."""
        return self._gone and all(s.state != "open" for s in self.streams)

    def _start(self, work: Callable[..., object], *arguments: object) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()

    def _accept(self) -> None:
        assert self._listener is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            while not self._stopping:
                if not selector.select(_ACCEPT_SECONDS):
                    continue
                try:
                    line, _ = self._listener.accept()
                except OSError:
                    continue
                if (self._address.path is not None or not self._token) and not stream.is_own(line):
                    self._refuse("a process of another user was turned away" + self._LET_IT_BE)
                    line.close()
                elif len(self._lines) >= 2 * _MOST_STREAMS:
                    line.close()  # a flood: not even an answer
                else:
                    with self._lock:
                        self._lines.add(line)
                    self._start(self._serve, line)

    def _call(self) -> None:
        # One connection waits for the next program that is recorded there.
        delay = 0.05
        while not self._stopping:
            try:
                line = _connected(self._address)
                stream.say_hello(line, self._token)
                if self._address.path is None and not self._token and not stream.is_own(line):
                    raise StreamError(f"{self._address.text} belongs to another user{self._LET_IT_BE}")
            except (OSError, StreamError) as error:
                if self.streams or isinstance(error, StreamError):
                    self._refuse(str(error)) if isinstance(error, StreamError) else None
                    self._gone = True
                    return
                time.sleep(delay)
                delay = min(delay * 2, 0.5)
                continue
            opened = threading.Event()
            self._start(self._take, line, opened)
            while not opened.wait(0.1) and not self._stopping:
                pass

    def _refuse(self, why: str) -> None:
        with self._lock:
            if len(self.refused) < 1000:
                self.refused.append(why)

    def _serve(self, line: socket.socket) -> None:
        open_ones = sum(s.state == "open" for s in self.streams)
        try:
            stream.welcome(line, self._token, "it takes no more streams now" if open_ones >= _MOST_STREAMS else "")
        except StreamError as error:
            self._refuse(error.message)
            with self._lock:
                self._lines.discard(line)
            line.close()
            return
        self._take(line, threading.Event())

    def _take(self, line: socket.socket, opened: threading.Event) -> None:
        with self._lock:
            self._lines.add(line)
        try:
            line.settimeout(None)
            if line.family != socket.AF_UNIX:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            about = _open_message(line)
            if about is not None:
                opened.set()
                self._write(line, about)
        except (OSError, StreamError) as error:
            self._refuse(f"a recorder went before its trace began: {error}")
        finally:
            opened.set()
            with self._lock:
                self._lines.discard(line)
            line.close()

    def _write(self, line: socket.socket, about: Mapping[str, object]) -> None:
        pid = about.get("pid")
        entry = Stream(Path(), _clean(about.get("program")), pid if isinstance(pid, int) else 0)
        try:
            with self._lock:
                entry.file, file = self._new_file(entry)
                self.streams.append(entry)
        except OSError as error:
            _tell(line, f"the receiver cannot make a file: {error.strerror}")
            self._refuse(f"no file can be made: {error}")
            return
        chunks = _Chunks()
        try:
            _copy(line, file, entry, chunks)
            state = "whole"
        except (OSError, StreamError) as error:
            entry.error = "the receiver was stopped" if self._stopping else str(error)
            state = "torn"
            _tell(line, entry.error)
            with contextlib.suppress(OSError):
                os.ftruncate(file, chunks.good)
            entry.bytes = chunks.good
        finally:
            os.close(file)
        entry.calls, entry.frames = _counted(entry.file) if chunks.good else (0, 0)
        if not chunks.good:
            entry.file.unlink(missing_ok=True)  # not even a header
        entry.state = state

    def _new_file(self, entry: Stream) -> tuple[Path, int]:
        # No name of the other side's choosing: of the program's, only letters are taken, and nothing is replaced.
        if self._place.is_dir():
            stem, folder = Path(entry.program).stem or "trace", self._place
        else:
            stem, folder = self._place.stem, self._place.parent
            if self._first:
                self._first = False
                if self._force:
                    self._place.unlink(missing_ok=True)
                return self._place, _create(self._place)
            stem = f"{stem}-{entry.pid}"
        suffix = self._place.suffix if not self._place.is_dir() and self._place.suffix else ".dtap"
        number = 1
        while True:
            path = folder / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
            with contextlib.suppress(FileExistsError):
                return path, _create(path)
            number += 1


class _Chunks:
    # Follows the chunks of a trace as its bytes pass: `good` is where the last whole one ends.
    def __init__(self) -> None:
        self.good = self.at = 0
        self.is_whole = False
        self._head = bytearray()
        self._skip = 0
        self._wanted = "file"

    def feed(self, view: memoryview) -> None:
        while len(view):
            if self._skip:
                count = min(self._skip, len(view))
                self._skip -= count
            else:
                count = min((16 if self._wanted == "end" else 32) - len(self._head), len(view))
                self._head += view[:count]
            self.at += count
            view = view[count:]
            if self._skip:
                continue
            if self._wanted == "payload":
                self.good, self._wanted = self.at, "chunk"
            elif self._wanted == "footer":
                self.good, self._wanted = self.at, "end"
            elif len(self._head) == (16 if self._wanted == "end" else 32):
                self._header()

    def _header(self) -> None:
        head, self._head = bytes(self._head), bytearray()
        if self._wanted == "file":
            if head[:8] != _FILE_MAGIC:
                raise StreamError("what is sent is no trace")
            self.good, self._wanted = self.at, "chunk"
        elif self._wanted == "end":
            if head[8:] != _END:
                raise StreamError("the trace goes on after its end")
            self.good, self.is_whole, self._wanted = self.at, True, "nothing"
        elif self._wanted == "nothing":
            raise StreamError("the trace goes on after its end")
        else:
            magic, kind, _, size, _, meta, _ = _CHUNK.unpack(head)
            if magic != _CHUNK_MAGIC or meta > size:
                raise StreamError("what is sent is no chunk of a trace")
            self._skip = size
            self._wanted = "footer" if kind == _FOOTER else "payload"
            if not size:
                self.good, self._wanted = self.at, "chunk"


def _copy(line: socket.socket, file: int, entry: Stream, chunks: _Chunks) -> None:
    room = memoryview(bytearray(stream.LONGEST_MESSAGE))
    while True:
        kind, size = stream.MESSAGE.unpack(stream.read_exactly(line, stream.MESSAGE.size))
        if size > stream.LONGEST_MESSAGE:
            raise StreamError("a message is too long")
        stream.fill(line, room[:size])
        if kind == stream.DATA:
            chunks.feed(room[:size])
            _write_all(file, room[:size])
            entry.bytes += size
            line.sendall(stream.MESSAGE.pack(stream.TAKEN, 8) + entry.bytes.to_bytes(8, "little"))
        elif kind == stream.STATUS:
            _note(entry, _object(room[:size]))
        elif kind == stream.ERROR:
            raise StreamError(f"the recorder says: {bytes(room[:500]).decode(errors='replace')[: min(size, 500)]}")
        elif kind == stream.END:
            _note(entry, _object(room[8:size]))
            if int.from_bytes(room[:8], "little") != entry.bytes or not chunks.is_whole:
                raise StreamError("the recorder says that this is all, but the trace is not whole")
            return


def _note(entry: Stream, status: Mapping[str, object]) -> None:
    for name in ("calls", "frames", "frames_dropped"):
        value = status.get(name)
        if isinstance(value, int):
            setattr(entry, name, value)


def _counted(file: Path) -> tuple[int, int]:
    # The recorder's words are about the recorded calls: not all of them arrive, and it counts frames before their
    # calls.
    try:
        with open_trace(file) as trace:
            return len(trace.calls), int(trace.info["frames"])
    except DrawtapError:
        return 0, 0  # opening the file says why


def _object(data: memoryview | bytes) -> Mapping[str, object]:
    try:
        value = json.loads(bytes(data))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _open_message(line: socket.socket) -> Mapping[str, object] | None:
    # None: a recorder whose program made no call leaves without a word.
    try:
        kind, size = stream.MESSAGE.unpack(stream.read_exactly(line, stream.MESSAGE.size))
    except ConnectionResetError:
        return None
    if kind != stream.OPEN or size > stream.LONGEST_TEXT:
        raise StreamError("it does not say what it is about to send")
    return _object(stream.read_exactly(line, size))


def _tell(line: socket.socket, text: str) -> None:
    data = text.encode()[:500]
    with contextlib.suppress(OSError):
        line.settimeout(1)
        line.sendall(stream.MESSAGE.pack(stream.ERROR, len(data)) + data)


def _clean(program: object) -> str:
    name = Path(program).name if isinstance(program, str) else ""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:64].lstrip(".-") or "trace"


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _write_all(file: int, view: memoryview) -> None:
    while len(view):
        view = view[os.write(file, view) :]


def _connected(address: Address) -> socket.socket:
    if address.path is None:
        return socket.create_connection((address.host, address.port), timeout=stream.HANDSHAKE_SECONDS)
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.settimeout(stream.HANDSHAKE_SECONDS)
        line.connect(str(address.path))
    except OSError:
        line.close()
        raise
    if not stream.is_own(line):
        line.close()
        raise StreamError(f"{address.text} belongs to another user")
    return line


def _listener(address: Address) -> socket.socket:
    try:
        if address.path is None:
            family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
            listener = socket.create_server((address.host, address.port), family=family, backlog=64)
            listener.setblocking(False)
            return listener
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with contextlib.suppress(OSError):
            if address.path.is_socket() and not _is_alive(address.path):
                address.path.unlink()
        before = os.umask(0o177)
        try:
            listener.bind(str(address.path))
        finally:
            os.umask(before)
        listener.listen(64)
        listener.setblocking(False)
        return listener
    except OSError as error:
        raise UnavailableError(f"{address.text}: {error.strerror or error}") from error


def _is_alive(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(1)
        try:
            line.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
    return True
