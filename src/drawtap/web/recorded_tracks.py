"""Rows of a recording: frames, debug groups, draws, calls of threads, metrics, sensors, findings, and its kernel trace.

Small tables are copied into a database in memory with their times; calls stay in the recording.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drawtap.errors import DrawtapError, UsageError
from drawtap.trace import sensors
from drawtap.trace.sql_text import quote, quote_text
from drawtap.web.drawn import has_lists
from drawtap.web.levels import Columns, CounterSource, SpanSource
from drawtap.web.own_tracks import OwnTracks, Small
from drawtap.web.series import is_number
from drawtap.web.tracks import Track, Tracks

if TYPE_CHECKING:
    from drawtap.system.reader import KernelTrace
    from drawtap.trace.trace import Trace
    from drawtap.web.frames import Frames

Lent = Callable[[], contextlib.AbstractContextManager["Trace"]]
_MOST_MARKS = 20_000
_STOP_S = 10
_CORRELATED = 5_000_000  # calls: a longer recording is drawn beside its kernel trace without arrows
_CALLS = "SELECT {track} AS track, seq AS id, t_start AS b, t_start + coalesce(duration, 0) AS e, name FROM calls"
_SEVERITIES = {"error": "✕ errors", "warning": "▲ warnings", "note": "● notes"}


class RecordedTracks:
    """The rows of a recording. `looked` adds those that take longer, in the background; `close` it at the end."""

    def __init__(self, trace: Trace, lent: Lent, frames: Frames) -> None:
        """`frames`: whoever opens the page has them already."""
        info = trace.info
        first, last = info["t_first"], (info["t_first"] or 0) + (info["duration"] or 0)
        self._trace = self._asked = trace  # `_asked`: the trace that finds
        self._lent = lent
        self._known_frames = frames
        self._small = Small()
        self._lock = threading.Lock()
        self._jobs: dict[str, threading.Thread] = {}
        self._model: Any = None
        self._marks: list[list[object]] = []
        self.tracks = Tracks(first or 0, max(last - (first or 0), 0) + 1 if first else 0)
        self._own = OwnTracks(self._small, self.tracks, lent)
        if not first:
            self.tracks.notes.append("the recording has no times: record without --timing none")
            return
        self.tracks.add([*self._frames(), *self._groups(), *self._draws(), *self._threads()])
        self.tracks.add([*self._metrics(), *self._sensors(), *self._problems()])

    def close(self) -> None:
        """Forget what was made; what still runs ends with its next question."""
        for name, job in self._jobs.items():
            end = time.monotonic() + _STOP_S
            while job.is_alive() and time.monotonic() < end:
                for trace in (self._trace, self._asked) if name == "findings" else ():
                    trace.cancel()  # lost where its next question has not begun yet: again
                job.join(timeout=0.02)
        if self._model is not None:
            self._model.close()
        self._small.close()

    # ---- questions ----------------------------------------------------------------------------------------------

    def _run(self, sql: str) -> Columns:
        with self._lent() as trace:
            return trace.sql(sql).numpy()

    def _copy(self, name: str, sql: str, lent: Trace | None = None) -> int:
        """Copy the rows of a question into a table of the database in memory and return their number."""
        with contextlib.ExitStack() as stack:
            trace = lent or stack.enter_context(self._lent())
            return self._small.copy(name, sql, trace)

    def _spans(self, table: str, series: int = 1) -> SpanSource:
        return SpanSource(
            self._small.run, lambda *_: f"SELECT * FROM {quote(table)}", self.tracks.zero, self.tracks.length,
            series=series,
        )  # fmt: skip

    def _calls(self, track: str, within: Callable[[str], str], series: int) -> SpanSource:
        """Return the calls that a condition chooses; `within` makes it of bounds of seq: "" or " AND ..."."""

        def rows(first: int | None, end: int | None) -> str:
            bounds = "" if first is None else f" AND seq >= {first} AND seq < {end}"
            return f"{_CALLS.format(track=track)} WHERE t_start IS NOT NULL AND {within(bounds)}{bounds}"

        return SpanSource(self._run, rows, self.tracks.zero, self.tracks.length, series=series)

    # ---- rows ---------------------------------------------------------------------------------------------------

    def _frames(self) -> Iterator[Track]:
        sql = "SELECT frame, t_start, duration, draws FROM frames ORDER BY frame"
        columns = self._known_frames.spans()
        self._small.connection.cursor().execute(
            "CREATE TABLE frames AS SELECT 'frames' AS track, id, b, e, 'frame ' || id AS name FROM "
            "(SELECT unnest(?::BIGINT[]) AS id, unnest(?::BIGINT[]) AS b, unnest(?::BIGINT[]) AS e)",
            columns,
        )
        if columns[0]:
            yield Track("Recording", "frames", "spans", self._spans("frames"), (("frames", "frame"),), "frame", sql=sql)

    def _groups(self) -> Iterator[Track]:
        if not self._copy("markers", "SELECT seq, end_seq, kind, text, thread FROM markers"):
            return
        self._copy(
            "times",
            "SELECT seq, t_start AS b, t_start + coalesce(duration, 0) AS e FROM calls "
            "WHERE seq IN (SELECT seq FROM markers UNION ALL SELECT end_seq - 1 FROM markers)",
        )
        cursor = self._small.connection.cursor()
        cursor.execute(
            """
            CREATE OR REPLACE TABLE groups AS
            SELECT (CASE WHEN m.kind = 'group' THEN 'groups ' ELSE 'messages ' END) || m.thread AS track, m.seq AS id,
                   a.b, CASE WHEN m.kind = 'group' THEN greatest(coalesce(z.e, a.e), a.e) ELSE a.b END AS e,
                   m.text AS name
            FROM markers m JOIN times a ON a.seq = m.seq LEFT JOIN times z ON z.seq = m.end_seq - 1
            WHERE m.kind IN ('group', 'insert')
            """
        )
        names = [row[0] for row in cursor.execute("SELECT DISTINCT track FROM groups ORDER BY track").fetchall()]
        source = self._spans("groups", len(names))
        for name in names:
            what, _, thread = str(name).partition(" ")
            shape, kind = ("queue", "group") if what == "groups" else ("marks", "message")
            label = f"debug {what}" + (f" of {self._thread(int(thread))}" if len(names) > 2 else "")
            sql = f"SELECT seq, end_seq, depth, text FROM markers WHERE thread = {thread} ORDER BY seq"
            yield Track("Recording", label, shape, source, ((str(name), kind),), "call", sql=sql)

    def _draws(self) -> Iterator[Track]:
        functions = [f for f in self._trace.core.table_rows("functions") if f["calls"]]
        flags = {str(f["name"]): frozenset(str(f["flags"]).split(",")) for f in functions}
        names = ", ".join(map(quote_text, sorted(name for name, of in flags.items() if "draw" in of)))
        if not names:
            return
        # The call of a list draws, not the calls that the list keeps: the table of draws knows.
        lists = has_lists(flags.values())

        def within(bounds: str) -> str:
            return f"seq IN (SELECT seq FROM draws WHERE kind = 'draw'{bounds})" if lists else f"name IN ({names})"

        sql = f"SELECT seq, frame, t_start, duration, name FROM calls WHERE {within('')} ORDER BY seq LIMIT 1000"
        source = self._calls("'draws'", within, 1)
        yield Track("Recording", "draws", "spans", source, (("draws", "draw"),), "call", sql=sql)

    def _thread(self, number: int) -> str:
        row = next((t for t in self._trace.core.table_rows("threads") if t["thread"] == number), None)
        return f"{row['name'] or 'thread'} ({row['tid']})" if row else f"thread {number}"

    def _threads(self) -> Iterator[Track]:
        threads = [t for t in self._trace.core.table_rows("threads") if t["calls"]]
        source = self._calls("thread::VARCHAR", lambda _: "true", len(threads))
        for row in threads:
            number = row["thread"]
            sql = f"SELECT seq, t_start, duration, name FROM calls WHERE thread = {number} ORDER BY seq LIMIT 1000"
            part = (str(number), "call")
            yield Track("Recording", f"calls of {self._thread(number)}", "spans", source, (part,), "call", sql=sql)

    def _metrics(self) -> Iterator[Track]:
        with self._lent() as trace:
            if not trace.sql("SELECT count(*) FROM metrics WHERE value IS NOT NULL").fetchall()[0][0]:
                return
        self._copy(
            "metrics",
            """
            SELECT m.name || ' per ' || m.per AS track, coalesce(m.t, c.t_start) AS t, m.value, m.unit, m.name, m.per
            FROM metrics m LEFT JOIN calls c ON c.seq = m.seq WHERE m.value IS NOT NULL
            QUALIFY m.run IS NOT DISTINCT FROM max(m.run) OVER (PARTITION BY m.name, m.per)
            """,
        )
        yield from self._counted(
            "metrics", "Metrics", "SELECT seq, number, value FROM metrics WHERE name || ' per ' || per = "
        )

    def _sensors(self) -> Iterator[Track]:
        parts = []
        with self._lent() as trace:
            for table in sensors.tables(self._trace.path):
                columns = trace.database.columns(table)
                key = next((c.name for c in columns if c.name in ("seq", "frame")), None)
                named = [c.name for c in columns if c.name != key and is_number(c.type)]
                of = "calls" if key == "seq" else "frames"
                parts += [
                    f"SELECT {quote_text(f'{table}: {name}')} AS track, o.t_start AS t, "
                    f"s.{quote(name)}::DOUBLE AS value, '' AS unit "
                    f"FROM {quote(table)} s JOIN {of} o USING ({key}) WHERE s.{quote(name)} IS NOT NULL"
                    for name in named
                ]
        if parts:
            self._copy("sensors", " UNION ALL ".join(parts))
            yield from self._counted("sensors", "Sensors", "")

    def _problems(self) -> Iterator[Track]:
        texts = {seq: text for seq, severity, text in self.marks() if severity == "problem"}
        if not texts:
            return
        with self._lent() as trace:
            begins = trace.sql(f"SELECT seq, t_start FROM calls WHERE seq IN ({', '.join(map(str, texts))})").fetchall()
        self._small.connection.cursor().execute(
            "CREATE TABLE problems AS SELECT 'problems' AS track, * FROM (SELECT unnest(?::BIGINT[]) AS id, "
            "unnest(?::BIGINT[]) AS b, unnest(?::BIGINT[]) AS e, unnest(?::VARCHAR[]) AS name) WHERE b IS NOT NULL",
            [[seq for seq, _ in begins], *[[t for _, t in begins]] * 2, [str(texts[seq]) for seq, _ in begins]],
        )
        source, series = self._spans("problems"), (("problems", "error"),)
        yield Track("Problems", "✖ problems", "marks", source, series, "call", sql="SELECT * FROM problems")

    def _counted(self, table: str, group: str, question: str) -> Iterator[Track]:
        source = CounterSource(
            self._small.run, f"SELECT track, t, value FROM {table} WHERE t IS NOT NULL", self.tracks.zero
        )
        rows = self._small.connection.cursor().execute(
            f"SELECT track, any_value(unit) FROM {table} GROUP BY track ORDER BY track"
        )
        for name, unit in rows.fetchall():
            sql = question and question + quote_text(str(name))
            yield Track(group, str(name), "counter", source, ((str(name), "counter"),), unit=str(unit or ""), sql=sql)

    # ---- what takes longer --------------------------------------------------------------------------------------

    def looked(self, *, findings: bool) -> bool:
        """Begin what was not begun yet: the kernel trace beside the recording, and findings; tell whether any runs."""
        with self._lock:
            beside = self._trace.path.with_suffix(".dat")
            if "kernel" not in self._jobs and beside.is_file() and self.tracks.length:
                self._begin("kernel", lambda: self._kernel(beside))
            if findings and "findings" not in self._jobs and self.tracks.length:
                self._begin("findings", self._findings)
            return any(job.is_alive() for job in self._jobs.values())

    def _begin(self, name: str, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            except DrawtapError as error:
                self.tracks.notes.append(f"{name}: {error.message}" + (f" ({error.hint})" if error.hint else ""))
            except KeyboardInterrupt:
                self.tracks.notes.append(f"{name}: stopped")

        self._jobs[name] = threading.Thread(target=run, daemon=True)
        self._jobs[name].start()

    def _kernel(self, path: Path) -> None:
        from drawtap.system.reader import open as open_kernel

        self.add_kernel(open_kernel(path))

    def add_kernel(self, kernel: KernelTrace) -> None:
        """Add the rows of a kernel trace of the same time. Raises UsageError where it counts another clock."""
        from drawtap.system.correlate import correlate
        from drawtap.system.kept import model_of
        from drawtap.system.model import build
        from drawtap.web.kernel_tracks import KernelRows

        if not kernel.clock.monotonic:
            raise UsageError(
                f"{kernel.path.name} counts the clock {kernel.clock.name!r}, the calls CLOCK_MONOTONIC",
                hint="drawtap system record takes the clock of the calls",
            )
        joins = self._trace.info["calls"] <= _CORRELATED
        model = self._model = build(kernel) if joins else model_of(kernel)
        calls: dict[int, int] = {}
        if joins:
            with self._lent() as trace:
                self.tracks.notes += correlate(trace, model).notes
            rows = {t.label: n for n, t in enumerate(self.tracks.tracks)}
            for thread in self._trace.core.table_rows("threads"):
                label = f"calls of {self._thread(thread['thread'])}"
                if label in rows:
                    calls[thread["tid"]] = rows[label]
        KernelRows(model, self.tracks, calls)

    def _findings(self) -> None:
        with self._lent() as trace:
            self._asked = trace
            any_rows = self._copy(
                "findings",
                "SELECT f.severity, f.rule, f.seq AS id, c.t_start AS b, c.t_start AS e, "
                "f.rule || ': ' || f.what AS name, 'findings ' || f.severity AS track "
                f"FROM findings f JOIN calls c ON c.seq = f.seq LIMIT {_MOST_MARKS}",
                trace,
            )
        rows = (
            self._small.connection.cursor()
            .execute("SELECT DISTINCT id, severity, rule FROM findings ORDER BY id")
            .fetchall()
        )
        self._marks += [list(row) for row in rows]
        source = self._spans("findings", len(_SEVERITIES))
        sql = "SELECT rule, seq, what FROM findings WHERE severity = '{}'"
        self.tracks.add(
            Track("Findings", label, "marks", source, ((f"findings {name}", name),), "call", sql=sql.format(name))
            for name, label in _SEVERITIES.items()
            if any_rows and any(row[1] == name for row in rows)
        )

    def marks(self) -> list[list[object]]:
        """Return calls with a mark: number, severity, and the rule that found it or the kind of a problem."""
        problems = self._trace.info["problems"] if self._trace.info["calls"] else []
        chunks = self._trace.core.table_rows("chunks") if problems else []
        marks = list(self._marks)
        for problem in problems:
            # The damaged part lies before the next whole chunk of calls.
            after = [c for c in chunks if c["type"] == "calls" and c["offset"] >= (problem.get("offset") or 0)]
            first = min(after, key=lambda c: int(c["offset"]), default=None)
            marks.append([first["first_call"] if first else self._trace.info["calls"] - 1, "problem", problem["text"]])
        return marks

    def own(self, sql: str) -> int:
        """Add a row for a question of the user's and return its number."""
        return self._own.add(sql)
