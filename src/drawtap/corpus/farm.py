"""Play recordings of a corpus on many machines: dask.distributed brings tasks to workers (extra `farm`).

A task is a recording and an engine. Its worker fetches the recording from the store, plays it in a process of its own
under the same watchdog as here, and writes the result into the store. Only a row travels back. A task whose worker is
lost goes to another one; a result that two workers wrote counts once, since both have the task's name. A worker with
another build of the engine refuses: its result would be about something else.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from drawtap import activity
from drawtap.corpus.engines import Engine, Run, identified
from drawtap.corpus.minimizing import Minimized, minimize
from drawtap.corpus.playing import QUARANTINE, Files, Limits, Task, play_task
from drawtap.corpus.store import Store
from drawtap.errors import DrawtapError, UnavailableError, UsageError
from drawtap.scratch import Scratch

_KEPT = 4  # recordings that a worker keeps as files
_RETRIES = 2
Builds = tuple[Engine, Engine | None]  # the build that fails, and the build that it differs from
ENGINE = "engine:"  # resources of workers that begin so name the engines that they play


@contextlib.contextmanager
def connected(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Yield a client of a scheduler, or of a cluster of `workers` processes here.

    Raises UsageError where both are named or there are no workers, UnavailableError where dask is not installed or the
    scheduler does not answer.
    """
    if scheduler is not None and workers is not None:
        raise UsageError("a scheduler has its own workers", hint="--scheduler or --workers")
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers} makes no sense", hint="--workers 2")
    distributed = _distributed()
    if scheduler is None:
        with (
            distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = distributed.Client(scheduler, timeout=30)
    except (OSError, ValueError, TimeoutError) as error:
        hint = "tcp://HOST:8786, as dask scheduler prints it"
        raise UnavailableError(f"{scheduler} does not answer: {error}", hint=hint) from None
    with client:
        yield client


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise UnavailableError("a farm needs dask.distributed", hint="pip install 'drawtap[farm]'") from error


def play_on(client: Any, store: Store, tasks: Sequence[Task], limits: Limits) -> Iterator[Run]:
    """Play tasks on the workers of a client and yield their results. A lost task is a result too: machine-lost.

    A recording that took several workers with it goes into quarantine, a tag.
    """
    announced = {name for worker in _workers(client).values() for name in worker.get("resources", {})}
    futures = {}
    for task in tasks:
        wanted = ENGINE + task.engine.name
        if not any(name.startswith(ENGINE) for name in announced):
            needs: dict[str, int] = {}
        elif wanted in announced:
            needs = {wanted: 1}
        else:
            yield _lost(task, "unsupported", f"no worker announces {wanted}")
            continue
        future = client.submit(
            _play, store.where, task, limits, key=task.key, resources=needs or None, retries=_RETRIES, pure=False
        )
        futures[future] = task
    done = 0
    with activity.step(f"playing {len(tasks)} recordings on {len(_workers(client))} workers"):
        for future in _distributed().as_completed(list(futures)):
            activity.at(done := done + 1, len(tasks))
            error, task = future.exception(), futures[future]
            if error is None:
                yield future.result()
            elif isinstance(error, _distributed().KilledWorker):
                store.tag(task.trace, {QUARANTINE: "machine-lost"})
                yield _lost(task, "machine-lost", f"{1 + error.allowed_failures} workers were lost with it: quarantine")
            else:
                yield _lost(task, "machine-lost", str(error).splitlines()[0] if str(error) else repr(error))
            future.release()


def minimize_on(
    client: Any, store: Store, traces: Sequence[str], builds: Builds, *, seconds: float, limits: Limits
) -> Iterator[Minimized]:
    """Minimize recordings on the workers of a client, one a worker, and yield the results in their order.

    Raises what `minimizing.minimize` raises, UnavailableError where no worker announces the engines.
    """
    announced = {name for worker in _workers(client).values() for name in worker.get("resources", {})}
    wanted = {ENGINE + one.name for one in builds if one is not None}
    named = any(name.startswith(ENGINE) for name in announced)
    if named and not wanted <= announced:
        raise UnavailableError(f"no worker announces {', '.join(sorted(wanted - announced))}")
    needs = dict.fromkeys(wanted, 1) if named else None
    futures = [
        client.submit(
            _minimize, store.where, id_, builds, (seconds, limits), resources=needs, retries=_RETRIES, pure=False
        )
        for id_ in traces
    ]
    with activity.step(f"minimizing {len(traces)} recordings on {len(_workers(client))} workers"):
        for done, future in enumerate(futures):
            activity.at(done, len(futures))
            yield future.result()


def _workers(client: Any) -> Mapping[str, Mapping[str, Any]]:
    workers: Mapping[str, Mapping[str, Any]] = client.scheduler_info(n_workers=-1)["workers"]
    return workers


def _lost(task: Task, outcome: str, detail: str) -> Run:
    return Run(task.key, task.trace, task.engine, outcome, detail=detail)


# ---- on a worker -----------------------------------------------------------------------------------------------------


class _Kept(Files):
    """Recordings as files on a worker; the last ones stay."""

    def __init__(self, where: str) -> None:
        self._temporary = Scratch()  # as long as the worker lives
        super().__init__(Store(where), Path(self._temporary.name))
        self._files: OrderedDict[str, Path] = OrderedDict()

    def get(self, id_: str) -> Path:
        with self._lock:
            self._files[id_] = super().get(id_)
            self._files.move_to_end(id_)
            while len(self._files) > _KEPT:
                self._files.popitem(last=False)[1].unlink(missing_ok=True)  # who plays it has it open
            return self._files[id_]


_kept = functools.cache(_Kept)
_engine_here = functools.cache(lambda name, family, environment: identified(name, family, dict(environment)))


def _minimize(where: str, trace: str, builds: Builds, effort: tuple[float, Limits]) -> Minimized:
    """Minimize a recording on this worker. Raises UnavailableError where it has another build of an engine."""
    new, base = (None if one is None else _same_here(one) for one in builds)
    assert new is not None
    return minimize(_kept(where).store, trace, new, base, seconds=effort[0], limits=effort[1])


def _same_here(one: Engine) -> Engine:
    here: Engine = _engine_here(one.name, one.family, tuple(sorted(one.environment.items())))
    if here.key != one.key:
        raise UnavailableError(f"this worker has another build of {one.name}: {here.renderer}")
    return here


def _play(where: str, task: Task, limits: Limits) -> Run:
    """Play a task on this worker, unless its result is there."""
    one = task.engine
    try:
        return play_task(_kept(where), replace(task, engine=_same_here(one)), limits)
    except DrawtapError as error:
        return _lost(task, "infrastructure", error.message)
