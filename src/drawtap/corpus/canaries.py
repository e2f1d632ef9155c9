"""Canaries: recordings whose images are known, played between the others.

Memory that fails, a card that is too hot or an update in the night change images too. So every machine plays the
recordings with the tag `canary` before its first task with an engine and now and then after it. Where one of them shows
an image that this build never drew, the machine is to blame, not the build: it gets no more tasks. Every canary that
tells something is a row of `checks`.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import drawtap
from drawtap.corpus import rows
from drawtap.corpus.engines import Engine, Run, machine
from drawtap.corpus.search import Corpus

if TYPE_CHECKING:
    from drawtap.corpus.store import Store

TAG = "canary"
EVERY = 20  # tasks with an engine
_DRAWN = ("ok", "differs")
_NOTHING = ("unsupported", "timeout", "victim", "infrastructure")  # outcomes that say nothing
_KNOWN = """
SELECT i.frame, list(DISTINCT i.digest) FROM images i JOIN runs r USING (task)
WHERE r.trace = ? AND r.engine = ? AND r.drawtap = ? AND r.outcome IN ('ok', 'differs')
GROUP BY i.frame ORDER BY i.frame
"""


def tagged(store: Store) -> list[str]:
    """Return the canaries of a store."""
    here = store.recordings()
    return sorted(id_ for id_, tags in store.tags().items() if TAG in tags and id_ in here)


def write_check(
    store: Store, trace: str, one: Engine, kind: str, alarm: str | None, *, spread: float | None = None
) -> None:
    """Write what a canary said about this machine: `kind` is images or speed, `alarm` None where all is well."""
    row: dict[str, object] = {"trace": trace, "engine": one.key, "name": one.name, "machine": machine()}
    row |= {"checked": time.time_ns(), "kind": kind, "alarm": alarm, "spread": spread}
    row["task"] = hashlib.sha256(json.dumps(row).encode()).hexdigest()
    rows.write_row(store, "checks", row)


class Canaries:
    """The canaries of a store on this machine; several threads may ask."""

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, threading.Lock()
        self._tasks: dict[str, int] = {}
        self._faults: dict[str, str] = {}

    def fault(self, one: Engine, play: Callable[[str], Run], write: Callable[[Run], None]) -> str | None:
        """Return what is wrong with this machine, before another task with an engine; None: nothing is known.

        `play` plays a recording; the first result of a canary is written, for later ones to be compared with.
        """
        with self._lock:
            number = self._tasks[one.key] = self._tasks.get(one.key, -1) + 1
            if one.key not in self._faults and number % EVERY == 0:
                self._look(one, play, write)
            return self._faults.get(one.key)

    def _look(self, one: Engine, play: Callable[[str], Run], write: Callable[[Run], None]) -> None:
        for trace in tagged(self._store):
            with Corpus(self._store) as tables:
                known: dict[int, list[str]] = dict(
                    tables.query(_KNOWN, (trace, one.key, drawtap.__version__)).fetchall()
                )
            run = play(trace)
            if not known and run.outcome in _DRAWN:
                write(run)
            if not known or run.outcome in _NOTHING:
                continue
            shown = run.hashes or {}
            other = next((frame for frame in known if shown.get(frame) not in known[frame]), None)
            what = f"draws frame {other} as never before" if run.hashes else f"ended with {run.outcome}"
            sound = run.outcome in _DRAWN and other is None
            write_check(self._store, trace, one, "images", None if sound else what)
            if sound:
                continue
            self._faults[one.key] = f"machine {machine()} is not sound: its canary {trace[:12]} {what}"
            return
