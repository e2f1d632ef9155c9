"""What tests of several folders share: what takes long to build, once for all workers, and X servers."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import io
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
import pytest

from drawtap.instrument import generate_vg
from drawtap.spec.registry import load_api

#: Whether every test runs with all its steps (make test-all), or a sample of the long ones (make test).
WHOLE = os.environ.get("DRAWTAP_TESTS") == "all"
#: What shows pages without a window, None where there is none. The shell takes half of the browser's processor time.
_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, _BROWSERS)), None)
#: How long a browser may take for one thing: on a busy machine Playwright's own 30 s are too few for a page.
BROWSER_MS = 300_000
T = TypeVar("T")
_LOCK_S = 900
_DISPLAY_S = 60

#: What makes EGL draw with Mesa's software renderer, without a window system.
SOFTWARE = {"EGL_PLATFORM": "surfaceless", "LIBGL_ALWAYS_SOFTWARE": "1"}


def steps(sample: int, whole: int) -> int:
    """Return how often a test does something: `whole` where all tests were asked for."""
    return whole if WHOLE else sample


def _locked(lock: IO[str], name: str) -> None:
    end = time.monotonic() + _LOCK_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            assert time.monotonic() < end, f"another worker has been making {name} for {_LOCK_S} s"
            time.sleep(0.1)


def run_alone(work: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run a coroutine in a thread of its own: the browser of other tests keeps a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


def scenes(size: str, *names: str) -> list[str]:
    """Return options of glmark2 for scenes that end after their frames, and not after ten seconds of a busy machine."""
    return ["-s", size, *(word for name in (":duration=1000", *names) for word in ("-b", name))]


def new_page(browser):
    """Return a new page of a browser, or of a context of one, which waits as long as a busy machine needs."""
    page = browser.new_page()
    page.set_default_timeout(BROWSER_MS)
    return page


def of_all_workers(factory: pytest.TempPathFactory) -> Path:
    """Return the folder of this run that all its workers know."""
    root = factory.getbasetemp()
    return root.parent if "PYTEST_XDIST_WORKER" in os.environ else root


def once(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], Path]) -> Path:
    """Return what `fill` made in a folder of this name; the first worker calls it while the others wait."""
    root = of_all_workers(factory)
    folder, answer = root / name, root / f"{name}.made"
    with (root / f"{name}.lock").open("w") as lock:
        _locked(lock, name)
        if not answer.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed half-way
            folder.mkdir()
            answer.write_text(str(fill(folder)), encoding="utf-8")
        return Path(answer.read_text(encoding="utf-8"))


@contextlib.contextmanager
def _variables(environment: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    _change_to(environment)
    try:
        yield
    finally:
        _change_to(before)


def _change_to(environment: Mapping[str, str]) -> None:
    # Only what differs: threads of native libraries may be reading the others.
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    for name, value in environment.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


class _Stream(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self) -> str:
        raw = self.buffer
        assert isinstance(raw, io.BytesIO)
        return raw.getvalue().decode()

    def fileno(self) -> int:
        return sys.__stdout__.fileno() if sys.__stdout__ else 1


def run_drawtap(
    *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `drawtap ARGUMENTS` in this process; `environment` takes the place of this process's."""
    from drawtap import cli

    words, out, err = [str(a) for a in arguments], _Stream(), _Stream()
    with _variables(os.environ if environment is None else environment), redirect_stdout(out), redirect_stderr(err):
        code = cli.run(words)
    return subprocess.CompletedProcess(words, code, out.text(), err.text())


def run_recorder(*arguments: str | Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `drawtap ARGUMENTS` in this process, as `run_drawtap`, and return what its programs print, too."""
    from drawtap import cli

    words = [str(a) for a in arguments]
    with contextlib.ExitStack() as ends:
        kept = [ends.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
        with contextlib.ExitStack() as stack:
            for number, file, redirect in zip((1, 2), kept, (redirect_stdout, redirect_stderr), strict=True):
                stack.enter_context(_printed_into(file, number))
                printer = stack.enter_context(open(number, "w", encoding="utf-8", closefd=False))
                stack.enter_context(redirect(printer))
            stack.enter_context(_variables(environment))
            code = cli.run(words)
        for file in kept:
            file.seek(0)
        out, err = (io.TextIOWrapper(file, encoding="utf-8").read() for file in kept)
    return subprocess.CompletedProcess(words, code, out, err)


@contextlib.contextmanager
def _printed_into(file: IO[bytes], number: int) -> Iterator[None]:
    before = os.dup(number)
    os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        os.dup2(before, number)
        os.close(before)


def write_headers(folder: Path) -> Path:
    """Write the headers of OpenVG into `folder`, and return it."""
    for name, text in generate_vg.headers(load_api("vg")).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def _end_with_parent() -> None:
    # PR_SET_PDEATHSIG: where the tests are killed, nobody is left to end it.
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


@contextlib.contextmanager
def x_server(*options: str) -> Iterator[str | None]:
    """Run an X server that draws into memory, without a window manager; yield DISPLAY, None where there is no Xvfb."""
    if shutil.which("Xvfb") is None:
        yield None
        return
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-noreset", "-nolisten", "tcp", "-screen", "0", "320x240x24", *options],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
        preexec_fn=_end_with_parent,
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as pipe:
            ready, _, _ = select.select([pipe], [], [], _DISPLAY_S)
            number = pipe.readline().strip() if ready else ""
        assert number, "Xvfb did not start"
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


def player_png(image: np.ndarray) -> bytes:
    """Return an RGBA image as PNG as the player writes it: without filters."""
    height, width = image.shape[:2]
    rows = np.zeros((height, width * 4 + 1), np.uint8)
    rows[:, 1:] = image.reshape(height, width * 4)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows.tobytes()))
        + chunk(b"IEND", b"")
    )


def read_packed_png(path: Path) -> np.ndarray:
    """Return a PNG as `drawtap.output.picture.png` writes it, RGBA: a row has what the one above lacks."""
    content, packed, head, at = path.read_bytes(), b"", b"", 8
    while at < len(content):
        length, kind = struct.unpack_from(">I4s", content, at)
        body, at = content[at + 8 : at + 8 + length], at + length + 12
        head, packed = (body if kind == b"IHDR" else head), (packed + body if kind == b"IDAT" else packed)
    width, height, depth, colors = struct.unpack_from(">IIBB", head)
    channels = {2: 3, 6: 4}[colors]
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, width * channels + 1)
    assert depth == 8
    assert (rows[:, 0] == 2).all()
    pixels = np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8).reshape(height, width, channels)
    return pixels if channels == 4 else np.dstack([pixels, np.full((height, width), 255, np.uint8)])
