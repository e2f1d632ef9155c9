"""Which program has the focus: asked of an X server, told to the manager, and what it does with it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from Xlib import X, Xatom

from drawtap.errors import UnavailableError
from drawtap.live.focus import Screen, program_of
from pretended import PATIENCE_S, wait_for
from shared import x_server

if TYPE_CHECKING:
    from conftest import Running

MS = 1_000_000
# A client of the server that makes a window, tells its number, and lives until its input ends.
OTHER = """
import sys
sys.path[:0] = sys.argv[2:]
from test_focus import Windows
screen = Windows(sys.argv[1])
print(screen.window(), flush=True)
sys.stdin.read()
"""


class Windows(Screen):
    """A client that has windows and gives the focus away, as programs and window managers do."""

    def window(self) -> int:
        made = self._root.create_window(0, 0, 9, 9, 0, X.CopyFromParent)
        made.map()
        self._display.sync()
        return made.id

    def give_keys(self, window: int) -> None:
        self._display.set_input_focus(window, X.RevertToNone, X.CurrentTime)
        self._display.flush()

    def make_active(self, window: int | None) -> None:
        if window is None:
            self._root.delete_property(self._active)
        else:
            self._root.change_property(self._active, Xatom.WINDOW, 32, [window])
        self._display.flush()


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    """Start an X server that draws into memory and has no window manager."""
    with x_server() as found:
        if found is None:
            pytest.skip("Xvfb is not installed")
        yield found


@contextlib.contextmanager
def other(display: str) -> Iterator[tuple[int, int]]:
    """Have another process with a window; gives its number and the window's."""
    words = [sys.executable, "-c", OTHER, display, str(Path(__file__).parent), *sys.path]
    made = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert made.stdin and made.stdout
    try:
        yield made.pid, int(made.stdout.readline())
    finally:
        made.communicate(timeout=PATIENCE_S)


def test_the_server_says_whose_window_has_the_focus(display: str) -> None:
    screen = Windows(display)
    own = screen.window()
    screen.give_keys(1)
    assert screen.focused_pid() is None  # the pointer decides, and nobody manages windows
    with other(display) as (pid, window):
        screen.give_keys(window)
        assert screen.focused_pid() == pid
        screen.make_active(own)  # a window manager knows better than the keys
        assert screen.focused_pid() == os.getpid()
        screen.make_active(0)
        assert screen.focused_pid() == 0
        screen.make_active(window)
        assert screen.focused_pid() == pid
    assert screen.focused_pid() == 0  # the window is gone
    screen.make_active(None)
    screen.close()
    assert program_of(os.getpid(), [1, os.getpid()]) == os.getpid()
    assert program_of(os.getppid(), [os.getpid()]) == os.getpid()  # a browser's process that draws
    assert program_of(os.getpid(), [os.getppid()]) is None


def test_what_has_no_focus_is_held_while_somebody_tells(start: Callable[..., Running], display: str) -> None:
    running = start({"manager": {"policies": ["background"]}, "policy": {"background": {"fps": 20, "after_s": 0.1}}})
    program = running.program()
    program.show(10, 10 * MS)
    screen = Windows(display)
    environment = {**os.environ, "DISPLAY": display, "DRAWTAP_MANAGER": str(running.folder.programs)}
    words = [sys.executable, "-m", "drawtap", "limit", "--focus", "follow", "--every", "0.05"]

    def known() -> list[bool | None]:
        return [m.focused for m in list(running.manager.programs.by_id.values())]

    with other(display) as (_, window):
        own = screen.window()
        screen.make_active(own)
        follower = subprocess.Popen(words, env=environment)
        try:
            wait_for(lambda: known() == [True] or follower.poll() is not None, "the focus")
            assert follower.poll() is None and program.interval_ns == 0
            screen.make_active(window)
            wait_for(lambda: program.interval_ns == 50 * MS, "the limit of what has no focus")
            assert known() == [False]
            late = running.program()  # it begins while another window has the focus
            wait_for(lambda: known() == [False, False] and late.interval_ns == 50 * MS, "the limit of the new one")
            late.socket.close()
            wait_for(lambda: known() == [False], "its end")
            screen.make_active(own)
            wait_for(lambda: program.interval_ns == 0, "no limit with the focus")
            screen.make_active(window)
            wait_for(lambda: program.interval_ns == 50 * MS, "the limit again")
        finally:
            follower.kill()  # however it ends
            follower.wait()
        wait_for(lambda: known() == [None] and program.interval_ns == 0, "nobody tells any more")
    screen.make_active(None)
    screen.close()


def test_people_tell_too(start: Callable[..., Running], drawtap, monkeypatch: pytest.MonkeyPatch) -> None:
    running = start()
    running.program()
    monkeypatch.setenv("DRAWTAP_MANAGER", str(running.folder.programs))
    monkeypatch.delenv("DISPLAY", raising=False)
    for word, focused in ((str(os.getpid()), True), ("none", False), ("python*", True), ("unknown", None)):
        assert drawtap("limit", "--focus", word).code == 0
        assert [m.focused for m in list(running.manager.programs.by_id.values())] == [focused]
    for wrong in (("follow", "--every", "9"), ("nobody",), ("x", "glmark2", "30")):
        assert drawtap("limit", "--focus", *wrong).code == 2
    assert drawtap("focus", "x", "--follow").code == drawtap("focus").code == 2  # the old name
    assert drawtap("focus", "none").code == 0
    answer = drawtap("focus", "--follow")
    assert answer.code == 3 and "DISPLAY" in answer.err


def _entry(family: int, address: bytes, number: bytes, data: bytes) -> bytes:
    parts = (address, number, b"MIT-MAGIC-COOKIE-1", data)
    return family.to_bytes(2, "big") + b"".join(len(part).to_bytes(2, "big") + part for part in parts)


def test_cookies_for_every_host_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong, cookies = bytes(range(16)), bytes(16), tmp_path / "cookies"
    cookies.write_bytes(_entry(0xFFFF, b"", b"", right))
    host = socket.gethostname().encode()
    others = _entry(0xFFFF, b"", b"987654", wrong) + _entry(256, b"not." + host, b"", wrong)
    with x_server("-auth", str(cookies)) as display:
        if display is None:
            pytest.skip("Xvfb is not installed")
        number = display[1:].encode()
        for content in (
            _entry(0xFFFF, b"", b"", right),
            others + _entry(0xFFFF, b"any", number, right) + _entry(256, host, number, wrong),  # the first that fits
            others + _entry(256, host, number, right) + _entry(0xFFFF, b"", b"", wrong),
        ):
            mine = tmp_path / "mine"
            mine.write_bytes(content)
            monkeypatch.setenv("XAUTHORITY", str(mine))
            Screen(display).close()
            assert os.environ["XAUTHORITY"] == str(mine)
        for useless in (others, _entry(0xFFFF, b"", b"", wrong)):
            mine.write_bytes(useless)
            with pytest.raises(UnavailableError, match="there is no X server"):
                Screen(display)


@pytest.mark.parametrize("display", ["", ":99999", "far.away:0", "nonsense", ":x"])
def test_servers_that_are_not_there(display: str) -> None:
    with pytest.raises(UnavailableError):
        Screen(display)


@pytest.mark.parametrize(
    "said", [b"", b"\0\3" + b"\0" * 4 + b"\1\0no!\0", b"\1\0\13\0\0\0\0\0", b"\1\0\13\0\0\0\xff\xff"]
)
def test_servers_that_talk_nonsense(said: bytes) -> None:
    number = 10**6 + os.getpid()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0/tmp/.X11-unix/X{number}")
        listener.listen()

        def answer() -> None:
            there, _ = listener.accept()
            there.recv(100)
            there.sendall(said)
            there.close()

        talker = threading.Thread(target=answer)
        talker.start()
        with pytest.raises(UnavailableError, match="no!" if b"no!" in said else "does not answer"):
            Screen(f":{number}")
        talker.join()


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drawtap.live.focus._SECONDS", 0.3)
    number = 2 * 10**6 + os.getpid()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0/tmp/.X11-unix/X{number}")
        listener.listen()
        with pytest.raises(UnavailableError, match=r"does not answer: not within 0.3 s"):
            Screen(f":{number}")


def test_it_says_what_asking_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Xlib.display", None)
    with pytest.raises(UnavailableError, match="python-xlib is not installed"):
        Screen(":0")
