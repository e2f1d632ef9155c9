"""What all tests share: the command line in this process, and a folder of their own for drawtap's caches."""

from __future__ import annotations

import gc
import hashlib
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import schedule
from shared import BROWSER, BROWSER_MS, WHOLE, of_all_workers, run_drawtap

# A busy machine is slow: how long an example takes says nothing.
hypothesis.settings.register_profile(
    "busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("busy")


def pytest_configure() -> None:
    """Let Ctrl-C be what it is in a terminal: under nohup and `&` it is ignored, and programs of tests inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the files that take longest; leave out what `exhaustive` and `sample(n)` mark, unless asked for all.

    A worker takes one file after the other. One of minutes at the end would leave the others without work.
    """
    known = schedule.known_seconds()
    items.sort(key=lambda item: (-known.get(schedule.file_of(item.nodeid), schedule.NEW_FILE_S), item.path))
    if WHOLE:
        return
    marked: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        marked[item.nodeid.partition("[")[0]].append(item)
    left_out: set[pytest.Item] = set()
    for group in marked.values():
        left_out.update(item for item in group if item.get_closest_marker("exhaustive"))
        if sample := group[0].get_closest_marker("sample"):
            # Always the same ones, spread over all of them: a hash knows nothing of their order.
            spread = sorted(group, key=lambda item: hashlib.sha1(item.nodeid.encode()).digest())
            left_out.update(spread[sample.args[0] :])
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Dir:
    """Let each worker read the files of a folder from another one on: what one has compiled, the others find."""
    return _Turned.from_parent(parent, path=path)


class _Turned(pytest.Dir):
    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        entries = list(super().collect())
        workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        first = len(entries) * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) // workers
        return entries[first:] + entries[:first]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how well the work was shared out, and keep how long each file took, where that is asked for."""
    reports = [one for found in terminalreporter.stats.values() for one in found if isinstance(one, pytest.TestReport)]
    if terminalreporter.config.getoption("numprocesses", None):
        terminalreporter.write_line(
            f"one worker had no test left {schedule.idle_seconds(reports):.1f} s before the end"
        )
    if table := os.environ.get("DRAWTAP_SECONDS"):
        schedule.write_seconds(Path(table), schedule.measured_seconds(reports))


def pytest_collection_finish() -> None:
    """Take what was imported and collected, which stays, out of the way of the garbage collector."""
    gc.collect()
    gc.freeze()


@dataclass(frozen=True)
class Answer:
    """What `drawtap ARGUMENTS` did."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session", autouse=True)
def _caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Share drawtap's caches among all that this run makes, fixtures included, and leave the user's alone."""
    with pytest.MonkeyPatch.context() as patch:
        if "XDG_CACHE_HOME" not in os.environ:
            patch.setenv("XDG_CACHE_HOME", str(of_all_workers(tmp_path_factory) / "cache"))
        yield


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # Colours and columns must not depend on who runs the tests.
    for name in ("NO_COLOR", "FORCE_COLOR", "DRAWTAP_DEBUG", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    # A manager that runs on this machine is none of the tests' business.
    monkeypatch.setenv("DRAWTAP_MANAGER", "off")
    monkeypatch.setenv("DRAWTAP_PROGRESS", "off")  # lines of long work come where the machine is busy


@pytest.fixture(scope="module", autouse=True)
def _no_player_stays() -> Iterator[None]:
    """End the players that this process keeps for further questions."""
    yield
    if warm := sys.modules.get("drawtap.replay.warm"):
        warm.close_all()


@pytest.fixture
def drawtap() -> Callable[..., Answer]:
    """Return a function that runs the command line in this process."""

    def call(*arguments: str | Path) -> Answer:
        done = run_drawtap(*arguments)
        return Answer(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture(scope="session")
def browser():
    """Start a browser without a window: one for all tests of a worker."""
    if BROWSER is None:
        pytest.skip("no Chromium is installed here")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Without a GPU, drawn by its own software alone: a stand-in for a GPU takes a fourth of the browser's time.
        without_gpu = ["--disable-gpu", "--disable-software-rasterizer"]
        running = driver.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", *without_gpu], timeout=BROWSER_MS
        )
        yield running
        running.close()


@pytest.fixture
def computed_state_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep indexes of state in the test's folder. Skips where the library of state is not built."""
    from drawtap.errors import UnavailableError
    from drawtap.trace import state

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    try:
        state._library()
    except UnavailableError as error:
        pytest.skip(str(error))
