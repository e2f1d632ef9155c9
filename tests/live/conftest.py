"""A manager in this process."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from drawtap.live.client import Client
from drawtap.live.clients import Clients
from drawtap.live.config import Config, load_config, parse
from drawtap.live.folder import Folder
from drawtap.live.journal import Journal
from drawtap.live.manager import Manager
from pretended import PATIENCE_S, PretendedProgram


@dataclass
class Running:
    """A manager that runs in a thread of this process."""

    manager: Manager
    folder: Folder
    loop: asyncio.AbstractEventLoop
    log: io.StringIO
    programs: list[PretendedProgram] = field(default_factory=list)

    def program(self, **how: object) -> PretendedProgram:
        made = PretendedProgram(self.folder, **how)  # type: ignore[arg-type]
        self.programs.append(made)
        return made

    def client(self) -> Client:
        return Client(self.folder)

    def events(self, name: str) -> list[dict[str, object]]:
        entries = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [e for e in entries if e["event"] == name]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Running]]:
    """Return a function that starts a manager with a configuration (a table, or a file's path)."""
    started: list[tuple[Running, threading.Thread]] = []
    monkeypatch.setattr(sys, "stderr", sys.stderr)

    def make(config: dict[str, object] | Path | None = None, *, after: Running | None = None) -> Running:
        folder = after.folder if after else Folder(tmp_path / f"m{len(started)}")
        given = {"without": ["cpu", "fdinfo", "nvml", "psi", "sysfs"]}
        if isinstance(config, Path):
            made = load_config(config)
        else:
            own = dict(config or {})
            table = {"period": 0.05, "load": 1.0, **given, **own.pop("manager", {})}  # type: ignore[dict-item]
            made = parse({"manager": table, **own})
        running = _start(folder, made)
        started.append(running)
        return running[0]

    yield make
    for running, thread in started:
        for program in running.programs:
            program.close()
        with contextlib.suppress(RuntimeError):  # the test has stopped it
            running.loop.call_soon_threadsafe(running.manager.stop)
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
        assert not running.events("fault"), running.events("fault")


def _start(folder: Folder, config: Config) -> tuple[Running, threading.Thread]:
    ready = threading.Event()
    found: list[Running] = []
    log = io.StringIO()
    failed: list[BaseException] = []

    async def live() -> None:
        journal = Journal()
        journal._file = log
        manager = Manager(folder, config, journal)
        manager.start()
        clients = Clients(manager, journal)
        await clients.start(folder)
        found.append(Running(manager, folder, asyncio.get_running_loop(), log))
        ready.set()
        try:
            await manager.run()
        finally:
            await clients.close(folder)
            manager.close()

    def work() -> None:
        try:
            asyncio.run(live())
        except BaseException as error:
            failed.append(error)
            ready.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert ready.wait(PATIENCE_S)
    if failed:
        raise failed[0]
    return found[0], thread
