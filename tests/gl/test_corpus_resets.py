"""A device that is reset takes several replays with it: one is to blame, the others are played again."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from drawtap.corpus import playing, search
from drawtap.corpus.resets import Reset, Resets, reset_of
from drawtap.corpus.store import Store
from gl.test_corpus_replay import AT, draw, fakes, played, store, triangle  # noqa: F401 - fixtures
from pretended import wait_for

pytestmark = pytest.mark.gl

EVENT = (Path(__file__).parent.parent / "data" / "uevent-wedged.txt").read_bytes().replace(b"\n", b"\0")
DEVICE = "/devices/pci0000:00/0000:00:01.1/0000:01:00.0"


def test_the_kernel_announces_a_reset() -> None:
    assert reset_of(EVENT, 5) == Reset(5, DEVICE, "rebind,bus-reset")
    assert reset_of(EVENT + b"PID=77\0TASK=game\0", 5) == Reset(5, DEVICE, "rebind,bus-reset", 77)
    for other in (EVENT.replace(b"WEDGED", b"HOTPLUG"), EVENT.replace(b"=drm\0", b"=usb\0"), b"\xff\0", b""):
        assert reset_of(other, 5) is None


class _Watched(Resets):
    """Remembers which processes were seen to use a device."""

    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self.users: set[int] = set()

    def devices_of(self, pid: int) -> set[str]:
        found = super().devices_of(pid)
        self.users |= {pid} if found else set()
        return found


@dataclass(frozen=True)
class Kernel:
    """Sends events; `users` are processes that are known to use the device."""

    send: Callable[[bytes], object]
    users: set[int]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    """Return a kernel that has a device of ours: its node is dri/renderD128."""
    (tmp_path / f"sys{DEVICE}").mkdir(parents=True)
    (tmp_path / "sys/class/drm/renderD128").mkdir(parents=True)
    (tmp_path / "sys/class/drm/renderD128/device").symlink_to(tmp_path / f"sys{DEVICE}")
    (tmp_path / "dri").mkdir()
    (tmp_path / "dri/renderD128").touch()
    end, heard = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    resets = _Watched(heard, nodes=tmp_path / "dri", sys=tmp_path / "sys")
    monkeypatch.setattr(playing, "Resets", lambda: resets)
    with end:
        yield Kernel(end.send, resets.users)


@pytest.mark.parametrize("told", ["by the driver", "by the kernel", "by nobody"])
def test_victims_of_a_reset_are_played_again(
    store: Store,  # noqa: F811
    fakes: Path,  # noqa: F811
    triangle: Path,  # noqa: F811
    kernel: Kernel,
    told: str,
) -> None:
    folder = Path(store.where).parent
    own = f', FAKE_FILE = "{folder}/gate", FAKE_NODE = "{folder}/dri/renderD128"'
    if told == "by the driver":
        own += ', FAKE_FAULT = "guilty"'
    file = folder / "engines.toml"
    file.write_text(re.sub(r'(FAKE_DOES = "(?:lost|wait)")', lambda found: found[1] + own, fakes.read_text()))

    def reset() -> None:
        wait_for(lambda: len(kernel.users) == 2 == len(list(folder.glob("gate-*"))), "two players")
        (guilty,) = (pid for pid in kernel.users if b"FAKE_DOES=lost" in Path(f"/proc/{pid}/environ").read_bytes())
        kernel.send(EVENT + (f"PID={guilty}\0".encode() if told == "by the kernel" else b""))
        (folder / "gate").touch()

    thread = threading.Thread(target=reset)
    thread.start()
    found = played(store, file, "lost-1.0", "wait-1.0")
    thread.join()
    lost, beside = found["lost-1.0"], found["wait-1.0"]
    assert (lost.outcome, lost.last_seq, lost.function) == ("device-lost", draw(triangle, AT), "glDrawArrays"), lost
    assert (beside.outcome, beside.frames) == ("ok", 10)
    # Whoever stood beside was played twice; where nobody says whose fault it was, both were.
    assert len(list(folder.glob("gate-*"))) == (4 if told == "by nobody" else 3)
    with search.Corpus(store) as tables:
        outcomes = tables.query("SELECT name, outcome FROM runs ORDER BY name").fetchall()
    assert outcomes == [("lost-1.0", "device-lost"), ("wait-1.0", "ok")]


def test_a_victim_is_not_judged(store: Store, fakes: Path, kernel: Kernel) -> None:  # noqa: F811
    text = fakes.read_text().replace(
        'FAKE_DOES = "lost"', 'FAKE_FILE = "/", FAKE_DOES = "lost", FAKE_FAULT = "innocent"'
    )
    file = Path(store.where).parent / "engines.toml"
    file.write_text(text)
    (run,) = played(store, file, "lost-1.0").values()
    assert (run.outcome, run.hashes, run.last_seq) == ("victim", None, None)
    assert not search.done_tasks(store)
