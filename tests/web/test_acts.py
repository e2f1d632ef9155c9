"""Random acts on the page, always the same: nothing is left behind, nothing stays unanswered, nothing goes wrong."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import drawtap as package
from shared import BROWSER, steps
from web.conftest import WAIT_S, Server

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")

_KEYS = ("ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End", "ArrowRight", "ArrowLeft", "Enter", "Escape")
_TEXT = {"/", "Ctrl-k"}  # the keys after these are text
_FILTERS = ("", "is:draw", "texture", "changes:blend", "-gl*", "widht=3", "frame=2..5 OR fails", "redundant", "(")
_PLACES: dict[str, tuple[object, ...]] = {
    "tab": ("call", "state", "picture", "shader", "objects", "texture", "findings", "sql", "notes", "time", "mesh",
            "whatif", "buffer", "passes", "compared", "nothing"),
    "filter": _FILTERS,
    "mode": ("hide", "dim"),
    "list": ("tree", "flat"),
    "of": ("", "color1", "depth", "stencil"),
    "over": ("", "drawn", "drawn,depth,wire", "overdraw", "boxes,culled"),
    "px": ("", "3,5", "60,60", "9999,1"),
    "mesh": ("", "in", "pass"),
    "what": ("", "drop 160", "fly 3", "set 155 v0 = 0.5"),
    "object": ("", "texture/1/1", "texture/1/3", "renderbuffer/1/1", "buffer/1/2"),
    "fields": ("", "bytes", "float2 at; ubyte4n c", "flot x"),
    "from": (0, 7),
    "pin": (None, 90),
    "layer": ("", "1", "99"),
    "sql": ("", "SELECT * FROM frames", "SELECT 1 +", "SELECT count(*) FROM calls a, calls b WHERE a.seq < b.seq"),
    "stage": ("", "raster", "nothing"),
    "bars": ("", "frame:draws", "nothing"),
    "time": ("", "open"),
    "with": (None, 1, 7),
    "rec": (0, 1),
    "callb": (None, 3, 10**9),
    "edit": (None, 8, 10**9),
    "instance": (None, 2, 10**9),
    "sampled": ("", "yes"),
    "view": ("", "0,1000000", "5,4", "a,b"),
    "area": ("", "0,500000,0,2", "x"),
    "ab": ("", "1000,90000", "7"),
    "own": ("", '["SELECT t_start AS begin, duration FROM calls", "SELECT 1 +"]', "[3", "3"),
    "range": ("", "0-15", "9-2", "x", "0-99999999999"),
    "hold": ("", "a", "b"),
    "side": ("", "a", "b", "difference", "flicker"),
}  # fmt: skip
_ELSEWHERE = {"call", "page", "prog"}  # acts of their own; pages about several recordings, and running programs
_EVERY = 500  # acts between two looks at what is pending, and at memory


@pytest.fixture
def two(chain: Path, tmp_path: Path) -> Iterator[Server]:
    """Serve a recording and a changed one."""
    other = tmp_path / "other.dtap"
    with package.open(chain) as trace:
        draws = [seq for (seq,) in trace.sql("SELECT seq FROM draws WHERE kind = 'draw' ORDER BY seq")]
    with package.edit(chain) as changed:
        changed.drop(draws[len(draws) // 2])
        changed.insert(draws[3], "glFinish")
        changed.save(other)
    running = Server(chain, other)
    yield running
    running.close()
    for notes in (chain, other):
        notes.with_name(f"{notes.name}.notes.json").unlink(missing_ok=True)


class _Acts:
    """What somebody could do, chosen by dice."""

    def __init__(self, page, dice: random.Random) -> None:
        self.page, self.dice = page, dice
        self.calls = page.page.evaluate("drawtap.recording.calls")
        self.commands = page.page.evaluate("drawtap.keys.commands.flatMap((one) => one.keys)")
        self.commands = [key for key in self.commands if key not in _TEXT]
        # What is new on the page is acted on too.
        assert set(_PLACES) | _ELSEWHERE == set(page.place())
        assert set(page.page.evaluate("drawtap.panels.map((one) => one.id)")) <= set(_PLACES["tab"])

    def one(self) -> str:
        """Do something; return what."""
        kind = self.dice.random()
        if kind < 0.35:
            return self._press(self.dice.choice(_KEYS))
        if kind < 0.6:
            return self._press(self.dice.choice(self.commands))
        if kind < 0.7:
            act = f"drawtap.go({self.dice.randrange(-2, self.calls + 2)})"
        elif kind < 0.9:
            key = self.dice.choice([*_PLACES])
            act = f"drawtap.store.set({json.dumps({key: self.dice.choice(_PLACES[key])})})"
        elif kind < 0.93:
            act = self.dice.choice(("drawtap.store.back()", "drawtap.store.forward()"))
        else:
            return self._click()
        self.page.page.evaluate(f"void {act}")
        return act

    def _press(self, key: str) -> str:
        self.page.press(key)
        return key

    def _click(self) -> str:
        what = self.dice.choice((".row:visible", "#panel button:visible", "#panel a:visible", "#bar button:visible"))
        found = self.page.page.locator(what)
        with contextlib.suppress(playwright.Error):  # it went away meanwhile
            count = found.count()
            if count:
                found.nth(self.dice.randrange(count)).click(timeout=300)
        return what


def _processes(server: Server) -> list[int]:
    """Return the descendants of a server."""
    found, new = [], [server.process.pid]
    while new:
        words = ["pgrep", "-P", ",".join(map(str, new))]
        new = [int(pid) for pid in subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()]
        found += new
    return found


def _server_mib(server: Server) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def _page_mib(page) -> float:
    tools = page.page.context.new_cdp_session(page.page)
    tools.send("HeapProfiler.collectGarbage")
    used = tools.send("Runtime.getHeapUsage")  # rows and pictures stand in buffers, which are no objects
    tools.detach()
    return sum(used.get(part, 0) for part in ("usedSize", "embedderHeapUsedSize", "backingStorageSize")) / (1 << 20)


@pytest.mark.timeout(5400)
def test_random_acts_leave_nothing_behind(opened, two):
    acts, dice = steps(300, 20_000), random.Random(int(os.environ.get("DRAWTAP_ACTS_SEED", "20")))
    acts = int(os.environ.get("DRAWTAP_ACTS", acts))
    page = opened("", two)
    page.page.on("dialog", lambda dialog: dialog.dismiss())
    pending: set[object] = set()
    page.page.on("request", lambda request: pending.add(request))
    page.page.on("requestfinished", lambda request: pending.discard(request))
    page.page.on("requestfailed", lambda request: pending.discard(request))
    chosen = _Acts(page, dice)
    done: list[str] = []

    def settled() -> None:
        end = time.monotonic() + WAIT_S
        while pending and time.monotonic() < end:
            page.page.wait_for_timeout(50)
        assert not pending, [request.url for request in pending]  # type: ignore[attr-defined]
        assert page.errors == [], done[-20:]

    memory: list[tuple[float, float]] = []
    for number in range(1, acts + 1):
        done.append(chosen.one())
        assert page.errors == [], done[-20:]
        if number % _EVERY == 0 or number == acts:
            settled()
            memory.append((_server_mib(two), _page_mib(page)))
    # Players of two recordings: plain, cursor, parked, those that look, two that prove, one for the strip; comparisons.
    assert len(_processes(two)) <= 2 * 12
    assert two.ask("/api/session").status == 200
    # What a question or a picture takes goes again: the least of some looks is what stays.
    # The first quarter opens what the panels need: indices, tables, players.
    some = len(memory) // 4
    early, late = (
        [min(part) for part in zip(*looks, strict=True)]
        for looks in (memory[some : 2 * some] or memory, memory[-some:])
    )
    assert late[0] < early[0] + 40, memory
    assert late[1] < early[1] + 40, memory
    assert max(page for _, page in memory) < 300, memory
    left = _processes(two)
    assert two.close() == 0
    end = time.monotonic() + WAIT_S
    while alive := [pid for pid in left if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < end, alive
        time.sleep(0.05)
