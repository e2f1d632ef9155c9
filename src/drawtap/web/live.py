"""The programs of a manager for the page: frame times as they come, limits and classes, recordings on demand."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio

from drawtap.errors import DrawtapError, UnavailableError, UsageError
from drawtap.live.client import Client
from drawtap.live.program import Importance
from drawtap.web.answer import Answer, asked

_PERIOD_S = 0.5  # between two looks
_RECENT = 600  # frame times of a surface in one look
_WAIT_S = 20  # of a request for the next look; the page asks again
_TICK_S = 0.05
_UNWATCHED_S = 45  # nobody has asked for so long: the manager is left alone
_AGAIN_S = 1.0
_MOST_SECONDS = 60.0  # of one recording
_MOST_FRAMES = 100_000


class Live:
    """Follows the manager while somebody looks. Every method may be called from any thread. `close` it at the end.

    Recordings go to `folder`; `opened` gets each and returns its number on the page.
    """

    def __init__(self, folder: Path, opened: Callable[[Path], int]) -> None:
        self._folder, self._opened = folder, opened
        self._look: Answer = {}
        self._number = 0
        self._asked = 0.0
        self._watching: threading.Thread | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._recordings: list[Answer] = []

    # ---- looking ------------------------------------------------------------------------------------------------

    async def after(self, number: int) -> Answer:
        """Return what the manager sees once that is newer than look `number`, or the same again after a while.

        `programs` and `manager` are as drawtap.live.protocol has them, `you` says who asks; `error` and `hint` stand
        there instead where no manager answers. `recordings` are those that were begun here.
        """
        self._watch()
        with anyio.move_on_after(_WAIT_S):
            while self._number <= number and not self._ended.is_set():
                await anyio.sleep(_TICK_S)
        self._asked = time.monotonic()
        with self._lock:
            return {**self._look, "number": self._number, "recordings": [dict(one) for one in self._recordings]}

    def _watch(self) -> None:
        self._asked = time.monotonic()
        with self._lock:
            if (self._watching is None or not self._watching.is_alive()) and not self._ended.is_set():
                self._watching = threading.Thread(target=self._follow, daemon=True)
                self._watching.start()

    def _follow(self) -> None:
        while self._is_wanted():
            try:
                with Client() as client:
                    hello = client.ask("hello")
                    you = {"uid": os.getuid(), "admin": hello["admin"]}
                    self._seen({**client.ask("list", recent=_RECENT), "you": you})
                    client.ask("watch", period=_PERIOD_S, recent=_RECENT)
                    for event in client.events(seconds=_PERIOD_S + 10):
                        if not self._is_wanted():
                            return
                        if event["event"] == "programs":
                            self._seen({**event, "you": you})
            except DrawtapError as error:
                self._seen({"error": error.message, "hint": error.hint})
            except OSError as error:  # a manager that stands still
                self._seen({"error": f"the manager does not answer: {error}", "hint": None})
            self._ended.wait(_AGAIN_S)

    def _is_wanted(self) -> bool:
        return not self._ended.is_set() and time.monotonic() - self._asked < _UNWATCHED_S

    def _seen(self, look: Mapping[str, Any]) -> None:
        wanted = ("time_ns", "programs", "manager", "you", "error", "hint")
        with self._lock:
            self._look = {key: look[key] for key in wanted if key in look}
            self._number += 1

    # ---- acting -------------------------------------------------------------------------------------------------

    def ask(self, text: str) -> Answer:
        """Hand a wish to the manager: `limit` or `class`, as drawtap.live.protocol has them, in JSON.

        Raises UsageError for any other, and the error that the manager answers with.
        """
        wish = asked(text)
        op = wish.pop("op", None)
        if op not in ("limit", "class"):
            raise UsageError(
                "the page sets limits and classes", hint=f"classes: {', '.join(i.value for i in Importance)}"
            )
        with Client() as client:
            programs = client.ask(op, **wish)["programs"]
        return {"programs": len(programs)}

    def record(self, text: str) -> Answer:
        """Begin to record a running program, JSON {"program": PID, "frames": N} or {"program": PID, "seconds": S}.

        Looks say when it is done, and under which number the page has it.
        """
        wish = asked(text)
        pid, frames, seconds = wish.get("program"), wish.get("frames", 0), wish.get("seconds", 0)
        numbers = (pid, frames, seconds)
        if not all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers) or not (
            0 <= frames <= _MOST_FRAMES and 0 <= seconds <= _MOST_SECONDS and (frames or seconds)
        ):
            raise UsageError(
                "say which program, and how much of it",
                hint=f"up to {_MOST_FRAMES:,} frames or {_MOST_SECONDS:g} seconds",
            )
        if not os.access(self._folder, os.W_OK):
            raise UnavailableError(f"nothing can be written to {self._folder}", hint="start drawtap view elsewhere")
        with self._lock:
            if any(one["program"] == pid and one["state"] == "recording" for one in self._recordings):
                raise UsageError(f"program {pid} is being recorded already", hint="wait for its end")
            job: Answer = {"number": len(self._recordings), "program": pid, "name": "", "state": "recording"}
            self._recordings.append(job)
        threading.Thread(target=self._record, args=(job, int(frames), float(seconds)), daemon=True).start()
        return job

    def _record(self, job: Answer, frames: int, seconds: float) -> None:
        from drawtap.live.attach import AttachOptions, record_running

        pid = job["program"]
        output = self._folder / f"{pid}-{time.strftime('%H%M%S')}-{job['number']}.dtap"
        wanted = AttachOptions(frames, seconds or _MOST_SECONDS, why="drawtap view --live")
        try:
            with Client(seconds=60) as client:
                done = record_running(client, str(pid), output, wanted, force=False, begun=lambda _: None)
            if not done.files:
                raise UnavailableError("nothing was recorded", hint="; ".join(done.messages) or None)
            outcome = {
                "state": "done",
                "name": done.name,
                "file": str(done.files[0]),
                "page": self._opened(done.files[0]),
            }
        except DrawtapError as error:
            outcome = {"state": "failed", "error": error.message, "hint": error.hint}
        except OSError as error:
            outcome = {"state": "failed", "error": str(error), "hint": None}
        with self._lock:
            job.update(outcome)
            self._number += 1

    def close(self) -> None:
        """Look no more."""
        self._ended.set()
