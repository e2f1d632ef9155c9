"""One kernel trace as the page asks it: rows of the timeline, figures of any window, contention, events, SQL."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.errors import DrawtapError, UsageError
from drawtap.output.kernel_figures import tables
from drawtap.output.system_report import figures
from drawtap.system import levels, listing, rule
from drawtap.system.kept import model_of
from drawtap.system.metrics import MEANINGS, metrics, series
from drawtap.system.reader import open as open_kernel
from drawtap.trace.result import Result, connect
from drawtap.web.answer import Answer
from drawtap.web.kernel_tracks import KernelRows
from drawtap.web.own_tracks import OwnTracks, Small
from drawtap.web.recording import MOST_ROWS, STOP_S, answer
from drawtap.web.saving import file_of
from drawtap.web.tracks import Tracks

if TYPE_CHECKING:
    from drawtap.system.model import KernelModel

MOST_EVENTS = 1000  # of one answer
_BINS = 200  # of the usage over time


class KernelView:
    """A kernel trace with its model, which is made in the background from the first request on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trace = open_kernel(path)
        self.time = KernelTime(self)
        self._model: KernelModel | None = None
        self._making = threading.Lock()
        self._asking = threading.Lock()  # one question of the user's at a time: events become tables meanwhile
        self._running: dict[str, int] = {}  # questions by name: the thread that asks

    @property
    def model(self) -> KernelModel:
        """The tables of the trace. Making them may take minutes; who asks meanwhile waits."""
        with self._making:
            if self._model is None:
                self._model = model_of(self.trace)
                self._model.make_safe()
            return self._model

    def close(self) -> None:
        """Forget the tables."""
        self.trace.cancel()
        self.time.close()
        if self._model is not None:
            self._model.close()
        self.trace.close()

    def interrupt(self) -> None:
        """Stop the questions that run now; whoever asked gets no answer."""
        self.trace.cancel()
        if self._model is not None:
            self._model.interrupt()

    def overview(self) -> Answer:
        """Return the first content of the page."""
        about = {"format": self.trace.format, "clock": self.trace.clock.name, **self.trace.environment}
        return {"name": self.path.name, "kind": "kernel", "calls": 0, "frames": 0, "problems": [], "about": about}

    def schema(self) -> Answer:
        """Return the tables with their columns."""
        return {
            "tables": {name: [column.name for column in self.model.columns(name)] for name in self.model.table_names()},
            "help": "",
        }

    # ---- questions ----------------------------------------------------------------------------------------------

    def query(self, sql: str) -> Result:
        """Answer a question of the user's."""
        return self.model.query(sql)

    def sql(self, text: str, query: str) -> Answer:
        """Answer a question in SQL that only reads."""
        with self.named(query), self._asking:
            return answer(self.query(text))

    def save(self, text: str, form: str, query: str) -> Path:
        """Return a temporary file with the whole answer to a question: csv, parquet or arrow."""
        with self.named(query), self._asking:
            return file_of(self.query(text), form)

    def stop(self, query: str) -> bool:
        """Stop a running question; tell whether there was one."""
        thread, end = self._running.get(query), time.monotonic() + STOP_S
        while thread is not None and self._running.get(query) == thread and time.monotonic() < end:
            self.model.interrupt(thread)  # lost where the question has not begun yet: again
            time.sleep(0.02)
        return thread is not None

    @contextlib.contextmanager
    def named(self, query: str) -> Iterator[None]:
        """Let `stop` find all that this thread asks inside the block under one name."""
        self._running[query] = threading.get_ident()
        try:
            yield
        finally:
            self._running.pop(query, None)

    @contextlib.contextmanager
    def lent(self) -> Iterator[_Asked]:
        """Yield what answers one question after the other."""
        with self._asking:
            yield _Asked(self)

    # ---- panels -------------------------------------------------------------------------------------------------

    def _window(self, begin: int, end: int) -> tuple[int, int]:
        if begin >= end:
            raise UsageError("the window is empty", hint="t0 is less than t1")
        zero, last = self.model.window
        return zero + begin, min(zero + end, last)

    def figures(self, begin: int, end: int) -> Answer:
        """Return the figures of a window as `drawtap system metrics` has them: tables, and what their columns mean."""
        a, b = self._window(begin, end)
        data = metrics(self.model, begin=a, end=b)
        with_meanings = [figures(replace(t, rows=list(t.rows)), MEANINGS) for t in tables(data, {})]
        return {"tables": [asdict(table) for table in with_meanings if table.rows], "drivers": data["drivers"]}

    def lengths(self, begin: int, end: int) -> Answer:
        """Return how many requests took how long in a window, by measure, engine and client: steps and their counts.

        A step is a number of quarter octaves: step s holds lengths from 2^(s/4) ns on.
        """
        a, b = self._window(begin, end)
        histograms = levels.histograms(self.model, levels.Buckets.of(a, b, 1))
        names = ("measure", "engine", "client", "bucket", "step", "n")
        return {
            "rows": [
                dict(zip(names, (*row[:3], *(part.tolist() for part in row[3:])), strict=True)) for row in histograms
            ]
        }

    def usage(self, begin: int, end: int) -> Answer:
        """Return how busy each client kept each engine over a window, as `drawtap system metrics --series` has it.

        `begin` and `width` of the bins in ns; of each client and engine its busy share (0 to 1) by bin.
        """
        a, b = self._window(begin, end)
        count = min(_BINS, b - a)
        width = -(-(b - a) // count)
        by_series: dict[str, list[float]] = {}
        for row in series(self.model, "clients", bins=count, begin=a, end=b):
            shares = by_series.setdefault(f"{row['client']} · {row['engine']}", [0.0] * count)
            shares[(row["t_ns"] - a) // width] += row["busy"]
        return {"begin": begin, "width": width, "series": [[name, shares] for name, shares in by_series.items()]}

    def contention(self, begin: int, end: int) -> Answer:
        """Return who kept whom waiting in a window, the costliest first, as `drawtap system diagnose` says it."""
        a, b = self._window(begin, end)
        zero = self.model.window[0]
        findings = [asdict(finding) for finding in rule.findings(self.model, begin=a, end=b)]
        for row in findings:
            row["worst_at_ns"] = None if row["worst_at_ns"] is None else row["worst_at_ns"] - zero
        problems: list[Mapping[str, object]] = [asdict(problem) for problem in self.trace.problems]
        return {"findings": findings, "drivers": self.model.drivers, "problems": problems}

    def events(self, begin: int, end: int) -> Answer:
        """Return the first events of a window: ns, event, CPU, thread, name, fields as text; whether there are more."""
        a, b = self._window(begin, end)
        zero = self.model.window[0]
        with connect() as connection:
            rows = listing.rows(self.trace, connection, begin=a, end=b + 1, most=MOST_EVENTS + 1)
        shown: list[list[object]] = [[int(str(t)) - zero, *rest] for t, *rest in rows[:MOST_EVENTS]]
        return {"columns": list(listing.COLUMNS), "rows": shown, "more": len(rows) > MOST_EVENTS, "most": MOST_ROWS}


class _Asked:
    def __init__(self, view: KernelView) -> None:
        self._view = view

    def sql(self, query: str) -> Result:
        """Answer a question."""
        return self._view.query(query)


class KernelTime:
    """The rows of a kernel trace's timeline."""

    def __init__(self, view: KernelView) -> None:
        self._view = view
        self._small = Small()
        self._lock = threading.Lock()
        self._job: threading.Thread | None = None
        self.tracks = Tracks(0, 0)
        self._own = OwnTracks(self._small, self.tracks, view.lent)

    def looked(self, *, findings: bool) -> bool:
        """Begin to make the rows; tell whether they are still being made."""
        with self._lock:
            if self._job is None:
                self._job = threading.Thread(target=self._make, daemon=True)
                self._job.start()
        return self._job.is_alive()

    def _make(self) -> None:
        try:
            begin, end = self._view.model.window
            self.tracks.zero, self.tracks.length = begin, end - begin + 1
            KernelRows(self._view.model, self.tracks)
            if not self._view.model.drivers:
                self.tracks.notes.append("no event of this trace is known to a driver: the SQL panel has the events")
        except DrawtapError as error:
            self.tracks.notes.append(error.message + (f" ({error.hint})" if error.hint else ""))
        except KeyboardInterrupt:
            self.tracks.notes.append("stopped")

    def own(self, sql: str) -> int:
        """Add a row for a question of the user's and return its number."""
        return self._own.add(sql)

    def close(self) -> None:
        """Forget the rows."""
        if self._job is not None:
            self._job.join(timeout=10)
        self._small.close()
