"""Recordings are played on workers of dask.distributed, some of which are killed or stopped meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drawtap.corpus import engines, farm, search, verdicts
from drawtap.corpus.engines import Run
from drawtap.corpus.playing import Limits, tasks_of
from drawtap.corpus.store import Store
from drawtap.errors import UnavailableError
from gl.test_corpus_replay import fakes, store, triangle  # noqa: F401 - fixtures
from pretended import wait_for
from shared import run_drawtap

pytestmark = [pytest.mark.gl, pytest.mark.slow]

dask = pytest.importorskip("dask", reason="dask is an extra: pip install 'drawtap[farm]'")
pytest.importorskip("distributed", reason="dask.distributed is an extra: pip install 'drawtap[farm]'")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Return a client of two workers; one that does not answer for some seconds counts as lost, a task after two."""
    rules = {"distributed.scheduler.worker-ttl": "8s", "distributed.scheduler.allowed-failures": 1}
    with dask.config.set(rules), farm.connected(None, 2) as made:
        yield made


def _tasks(store: Store, file: Path, *names: str) -> list[Any]:  # noqa: F811
    return tasks_of(store, list(store.recordings()), engines.named(names, file))


def test_outcomes_come_from_workers(client: Any, store: Store, fakes: Path) -> None:  # noqa: F811
    tasks = _tasks(store, fakes, "sound", "crash-1.0", "stop-1.0", "eat-1.0")
    runs = farm.play_on(client, store, tasks, Limits(stall_s=6, memory_bytes=1 << 30))
    assert {run.engine.name: (run.outcome, run.function) for run in runs} == {
        "sound": ("ok", None),
        "crash-1.0": ("crash", "glDrawArrays"),
        "stop-1.0": ("hang", "glDrawArrays"),
        "eat-1.0": ("oom", "glDrawArrays"),
    }
    assert search.done_tasks(store) == {task.key for task in tasks}
    assert not _tasks(store, fakes, "sound", "crash-1.0")


def test_a_worker_minimizes(client: Any, store: Store, fakes: Path) -> None:  # noqa: F811
    (crash,) = engines.named(["crash-1.0"], fakes)
    (trace,) = store.recordings()
    assert [one.label for one in verdicts.of_pictures(store, [trace], crash, None, verdicts.Effort())] == ["crash"]
    (made,) = farm.minimize_on(client, store, [trace], (crash, None), seconds=5, limits=Limits())
    assert (made.trace, made.label, made.calls < made.before) == (trace, "crash", True)
    assert set(store.recordings()) == {trace, made.id}
    with pytest.raises(UnavailableError, match="another build"):
        list(farm.minimize_on(client, store, [trace], (replace(crash, key="0"), None), seconds=5, limits=Limits()))


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_worker_loses_nothing(
    client: Any,
    store: Store,  # noqa: F811
    fakes: Path,  # noqa: F811
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    gate, file = tmp_path / "gate", tmp_path / "engines.toml"
    text = next(part for part in fakes.read_text().split("\n[") if part.startswith('"none-1.0"]'))
    file.write_text("[" + text.replace('FAKE_DOES = "none"', f'FAKE_DOES = "wait", FAKE_FILE = "{gate}"'))
    tasks = _tasks(store, file, "none-1.0")
    runs: list[Run] = []
    playing = threading.Thread(target=lambda: runs.extend(farm.play_on(client, store, tasks, Limits(stall_s=300))))
    playing.start()
    pids = client.run(os.getpid)

    def busy() -> str | None:
        return next((at for at, keys in client.processing().items() if keys and _players(pids[at])), None)

    wait_for(busy, "a player")
    at = busy()
    assert at is not None
    os.kill(pids[at], number)
    wait_for(lambda: any(keys for other, keys in client.processing().items() if other != at), "another worker")
    gate.touch()
    playing.join()
    if number == signal.SIGSTOP:
        with contextlib.suppress(ProcessLookupError):  # its nanny may have ended it
            os.kill(pids[at], signal.SIGCONT)
    assert [(run.task, run.outcome) for run in runs] == [(tasks[0].key, "ok")]
    with search.Corpus(store) as tables:
        assert tables.query("SELECT count(*), count(DISTINCT task) FROM runs").fetchall() == [(1, 1)]
        assert tables.scalar("SELECT count(*) FROM images") == runs[0].frames


def _players(pid: int) -> bool:
    """Tell whether a worker has started a player: its children are of any of its threads."""
    return any((task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir())


def test_what_takes_workers_with_it_goes_into_quarantine(client: Any, store: Store, fakes: Path) -> None:  # noqa: F811
    tasks = _tasks(store, fakes, "kill-1.0")
    (run,) = farm.play_on(client, store, tasks, Limits(stall_s=300))
    assert (run.outcome, run.detail) == ("machine-lost", "2 workers were lost with it: quarantine")
    (trace,) = store.recordings()
    assert store.tags(trace)[trace]["quarantine"] == "machine-lost"
    words = ("corpus", "replay", "--tag", "app=triangle", "--on", "sound", "--corpus", store.where, "--engines", fakes)
    answer = run_drawtap(*words)
    assert f"in quarantine, for they took workers with them: {trace[:12]}" in answer.stdout
    assert search.done_tasks(store) == set()
    assert run_drawtap(*words, "--again").returncode == 0
    assert len(search.done_tasks(store)) == 1


def test_a_worker_with_another_build_refuses(client: Any, store: Store, fakes: Path) -> None:  # noqa: F811
    (task,) = _tasks(store, fakes, "sound")
    other = replace(task, engine=replace(task.engine, key="0" * 32))
    (run,) = farm.play_on(client, store, [other], Limits())
    assert (run.outcome, "another build" in run.detail) == ("infrastructure", True)
    assert not search.done_tasks(store)


def test_the_command_says_what_makes_no_sense(store: Store, fakes: Path) -> None:  # noqa: F811
    words = ("corpus", "replay", "--tag", "app=triangle", "--on", "sound", "--corpus", store.where, "--engines", fakes)
    assert run_drawtap(*words, "--workers", 0).returncode == 2
    assert run_drawtap(*words, "--workers", 1, "--scheduler", "tcp://127.0.0.1:1").returncode == 2
