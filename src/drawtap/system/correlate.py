"""Join a recording of API calls with a kernel trace of the same time: what a call set off, and what it waited for.

Both count CLOCK_MONOTONIC. Beside the kernel's tables there are then:

    api_calls    seq, frame, tid, name, t_start, t_end, and how its time went: running_ns, preempted_ns, blocked_ns,
                 waking_ns (woken, but not yet on a CPU); NULL where the kernel trace says nothing of that thread or
                 time
    api_frames   frame, first_seq, end_seq, t_start, t_end, draws, the same sums over its calls, requests,
                 longest_wait_ns

and `links` has rows that lead from calls (`from_kind` or `to_kind` is `call`, the id is `seq`). Tiers say how sure a
link is, and `confidence` how much to give for it:

    tier 1  `waits for`   the kernel names the fence that the thread waited for inside the call; it is the request's
    tier 2  `submits`     the thread asked for the request inside the call
            `woken by`, `wakes`   a wake-up inside the call, by or of another thread
    tier 3  `submits`     a helper thread asked, after a call woke it: exact in the wake-up, likely in what it was for
            `sets off`    a helper thread that the call woke ran, until it was off the CPU again
            Threads of other processes are no helpers; where the trace does not tell processes, the confidence is lower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from drawtap.errors import InputError, UsageError
from drawtap.trace.result import Stream

if TYPE_CHECKING:
    from drawtap.system.model import KernelModel
    from drawtap.trace.trace import Trace

_KINDS = ("running", "preempted", "blocked", "waking")
# A helper that is woken several times before it asks: only the last wake-up is taken, and only so long before.
_HELPER_NS = 100_000_000


@dataclass(frozen=True)
class Correlation:
    """The result of a join: the time both cover, calls inside it, links by (tier, kind)."""

    begin_ns: int
    end_ns: int
    calls: int
    covered: int
    links: dict[tuple[int, str], int]
    notes: tuple[str, ...]


def correlate(api: Trace, model: KernelModel) -> Correlation:
    """Add the tables and links to `model`.

    Raises UsageError where the two have no time in common, InputError where the kernel's clock is another one.
    """
    clock = model.source.clock
    if not clock.monotonic:
        raise InputError(
            f"the kernel trace counts the clock {clock.name!r}, API recordings CLOCK_MONOTONIC",
            hint="record with trace_clock=mono, perf record -k CLOCK_MONOTONIC, or LTTng",
        )
    _load(api, model)
    begin, end = _overlap(model)
    _times(model)
    notes = []
    threads = model.query("SELECT count(DISTINCT c.tid) FROM api_calls c SEMI JOIN spans s ON s.tid = c.tid").fetchall()
    if not threads[0][0]:
        notes.append("the kernel trace has no span of a thread that made calls: was it recorded system-wide?")
    _waits(model)
    _submits(model)
    _helpers(model)
    _wakes(model)
    _frames(model)
    counts = model.query(
        "SELECT tier, kind, count(*) FROM links WHERE from_kind = 'call' OR to_kind = 'call' GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    calls, covered = model.query("SELECT count(*), count(running_ns) FROM api_calls").fetchall()[0]
    if not model.scalar("SELECT count(*) FROM requests"):
        notes.append("the kernel trace has no GPU requests: links are those of threads")
    return Correlation(begin, end, calls, covered, {(t, k): n for t, k, n in counts}, tuple(notes))


def draw(model: KernelModel) -> None:
    """Add frames and calls as spans, for pictures: tracks `api/frames` and `api/TID/calls`, inside the kernel's window.

    Links from calls to requests, and to what a woken thread did, get a twin from span to span. Call after `correlate`.
    """
    begin, end = model.window
    run = model.connection.execute
    run(
        f"""
        CREATE OR REPLACE TABLE api_spans AS
        SELECT (SELECT coalesce(max(id), -1) FROM spans) + row_number() OVER (ORDER BY begin_ns, seq NULLS FIRST) AS id,
               *
        FROM (
          SELECT NULL::BIGINT AS seq, 'api/frames' AS track, t_start AS begin_ns, t_end AS end_ns,
                 'frame ' || frame AS name, 'frame' AS kind, NULL::INTEGER AS tid
          FROM api_frames WHERE t_end > {begin} AND t_start < {end}
          UNION ALL
          -- Times are rounded: a call may seem to end in the first ns of the next.
          SELECT seq, 'api/' || tid || '/calls', t_start, CASE WHEN next_ns BETWEEN t_end - 10 AND t_end THEN next_ns
                 ELSE t_end END, name, 'call', tid
          FROM (SELECT *, lead(t_start) OVER (PARTITION BY tid ORDER BY seq) AS next_ns FROM api_calls)
          WHERE t_end > {begin} AND t_start < {end}
        )
        """
    )
    run(
        "INSERT INTO spans BY NAME SELECT id, track, begin_ns, end_ns, name, kind, tid, false AS is_open FROM api_spans"
    )
    run("CREATE OR REPLACE TABLE spans AS SELECT * FROM spans ORDER BY begin_ns, end_ns")
    _link(
        model,
        """
        WITH firsts AS (
          SELECT request, arg_min(id, begin_ns) AS id FROM spans WHERE request IS NOT NULL GROUP BY request
        )
        SELECT 'span' AS from_kind, a.id AS from_id, l.from_ns, 'span' AS to_kind, coalesce(f.id, l.to_id) AS to_id,
               l.to_ns, l.kind, l.tier, l.confidence
        FROM links l JOIN api_spans a ON a.seq = l.from_id
        LEFT JOIN firsts f ON l.to_kind = 'request' AND f.request = l.to_id
        WHERE l.from_kind = 'call' AND ((l.to_kind = 'request' AND f.id IS NOT NULL) OR l.to_kind = 'span')
        """,
    )
    run("DROP TABLE api_spans")


def _load(api: Trace, model: KernelModel) -> None:
    connection = model.connection
    sources = {
        "api_raw": "SELECT seq, frame, thread, name, t_start, duration FROM calls",
        "api_threads": "SELECT thread, pid, tid FROM threads",
        "api_ends": "SELECT frame, first_seq, end_seq, draws FROM frames",
    }
    for table, sql in sources.items():
        connection.register("_stream", Stream(api.sql(sql).__arrow_c_stream__))
        try:
            connection.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM _stream")
        finally:
            connection.unregister("_stream")
    connection.execute(
        "CREATE OR REPLACE TABLE api_calls AS SELECT c.seq::BIGINT AS seq, c.frame::BIGINT AS frame, "
        "t.tid::INTEGER AS tid, t.pid::INTEGER AS pid, c.name::VARCHAR AS name, c.t_start::BIGINT AS t_start, "
        "(c.t_start + coalesce(c.duration, 0))::BIGINT AS t_end "
        "FROM api_raw c JOIN api_threads t USING (thread) WHERE c.t_start IS NOT NULL ORDER BY c.seq"
    )
    connection.execute("DROP TABLE api_raw")
    connection.execute("DROP TABLE api_threads")


def _overlap(model: KernelModel) -> tuple[int, int]:
    first, last = model.query("SELECT min(t_start), max(t_end) FROM api_calls").fetchall()[0]
    if first is None:
        raise UsageError("the recording has no calls with times")
    begin, end = max(first, model.window[0]), min(last, model.window[1])
    if begin >= end:
        raise UsageError(
            "the two have no time in common",
            hint=f"calls from {first / 1e9:.3f} s to {last / 1e9:.3f} s of CLOCK_MONOTONIC, the kernel from "
            f"{model.window[0] / 1e9:.3f} s to {model.window[1] / 1e9:.3f} s",
        )
    return begin, end


def _times(model: KernelModel) -> None:
    """Split every call's time: sums up to its end minus sums up to its begin, each found by one search a call."""
    sums = ", ".join(
        f"coalesce(sum(CASE WHEN kind = '{k}' THEN end_ns - begin_ns END) OVER w, 0) AS {k}" for k in _KINDS
    )
    model.connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE lines AS
        SELECT tid, begin_ns, end_ns, kind, {sums}
        FROM spans WHERE track LIKE 'thread/%' AND kind IN {_KINDS} AND tid IN (SELECT DISTINCT tid FROM api_calls)
        WINDOW w AS (PARTITION BY tid ORDER BY begin_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        """
    )
    for edge in ("t_start", "t_end"):
        parts = ", ".join(
            f"l.{k} + CASE WHEN l.kind = '{k}' THEN least(c.{edge}, l.end_ns) - l.begin_ns ELSE 0 END AS {k}"
            for k in _KINDS
        )
        model.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE at_{edge} AS SELECT c.seq, {parts} FROM api_calls c "
            f"ASOF JOIN lines l ON c.tid = l.tid AND c.{edge} >= l.begin_ns"
        )
    differences = ", ".join(f"(e.{k} - b.{k})::BIGINT AS {k}_ns" for k in _KINDS)
    model.connection.execute(
        f"CREATE OR REPLACE TABLE api_calls AS SELECT c.*, {differences} FROM api_calls c "
        f"LEFT JOIN at_t_start b USING (seq) LEFT JOIN at_t_end e USING (seq) ORDER BY c.seq"
    )
    for table in ("lines", "at_t_start", "at_t_end"):
        model.connection.execute(f"DROP TABLE {table}")


def _link(model: KernelModel, sql: str) -> None:
    model.connection.execute(f"INSERT INTO links BY NAME SELECT * FROM ({sql})")


def _waits(model: KernelModel) -> None:
    _link(
        model,
        """
        SELECT 'request' AS from_kind, l.from_id, l.from_ns, 'call' AS to_kind, c.seq AS to_id, l.to_ns,
               'waits for' AS kind, 1 AS tier, 1.0 AS confidence
        FROM (SELECT l.from_id, l.from_ns, l.to_ns, s.tid, s.begin_ns FROM links l JOIN spans s ON s.id = l.to_id
              WHERE l.kind = 'waits for' AND l.from_kind = 'request' AND l.to_kind = 'span') l
        ASOF JOIN api_calls c ON c.tid = l.tid AND l.begin_ns >= c.t_start
        WHERE l.begin_ns <= c.t_end
        """,
    )


def _submits(model: KernelModel) -> None:
    _link(
        model,
        """
        SELECT 'call' AS from_kind, c.seq AS from_id, r.t AS from_ns, 'request' AS to_kind, r.id AS to_id, r.t AS to_ns,
               'submits' AS kind, 2 AS tier, 0.95 AS confidence
        FROM (SELECT id, tid, coalesce(created_ns, queued_ns) AS t FROM requests
              WHERE tid IS NOT NULL AND coalesce(created_ns, queued_ns) IS NOT NULL) r
        ASOF JOIN api_calls c ON c.tid = r.tid AND r.t >= c.t_start
        WHERE r.t <= c.t_end
        """,
    )


def _helpers(model: KernelModel) -> None:
    """Requests of threads that made no calls: who woke the thread last, and from inside which call?

    The confidence falls with the time between the wake-up and the request. Where the processes are known to be
    different there is no link.
    """
    _link(
        model,
        f"""
        WITH asked AS (
          SELECT r.id, r.tid, coalesce(r.created_ns, r.queued_ns) AS t FROM requests r
          WHERE r.tid IS NOT NULL AND coalesce(r.created_ns, r.queued_ns) IS NOT NULL
            AND r.id NOT IN (SELECT to_id FROM links WHERE from_kind = 'call' AND kind = 'submits')
        ), woken AS (
          SELECT a.id, a.tid, a.t, w.from_id AS waker, w.from_ns AS woken_ns FROM asked a
          ASOF JOIN (SELECT from_id, from_ns, to_id FROM links WHERE kind = 'wakes' AND from_kind = 'thread') w
          ON a.tid = w.to_id AND a.t >= w.from_ns
        )
        SELECT 'call' AS from_kind, c.seq AS from_id, w.woken_ns AS from_ns, 'request' AS to_kind, w.id AS to_id,
               w.t AS to_ns, 'submits' AS kind, 3 AS tier,
               round(CASE WHEN h.pid = c.pid THEN 0.8 ELSE 0.5 END * (1 - (w.t - w.woken_ns) / {_HELPER_NS}.0), 3)
                 AS confidence
        FROM woken w ASOF JOIN api_calls c ON c.tid = w.waker AND w.woken_ns >= c.t_start
        LEFT JOIN threads h ON h.tid = w.tid
        WHERE w.woken_ns <= c.t_end AND w.t - w.woken_ns < {_HELPER_NS} AND (h.pid IS NULL OR h.pid = c.pid)
        """,
    )


def _wakes(model: KernelModel) -> None:
    inside = """
        FROM (SELECT * FROM links WHERE kind = 'wakes' AND from_kind = 'thread' AND to_kind = 'thread') w
        ASOF JOIN api_calls c ON c.tid = w.{who} AND w.from_ns >= c.t_start WHERE w.from_ns <= c.t_end
    """
    _link(
        model,
        "SELECT 'call' AS from_kind, c.seq AS from_id, w.from_ns, 'thread' AS to_kind, w.to_id, w.to_ns, "
        f"'wakes' AS kind, 2 AS tier, 1.0 AS confidence {inside.format(who='from_id')}",
    )
    _link(
        model,
        "SELECT 'thread' AS from_kind, w.from_id, w.from_ns, 'call' AS to_kind, c.seq AS to_id, w.to_ns, "
        f"'woken by' AS kind, 2 AS tier, 1.0 AS confidence {inside.format(who='to_id')}",
    )
    # The first work of a woken thread of the same process: the span in which it ran.
    _link(
        model,
        """
        SELECT 'call' AS from_kind, w.from_id, w.from_ns, 'span' AS to_kind, s.id AS to_id, s.begin_ns AS to_ns,
               'sets off' AS kind, 3 AS tier,
               CASE WHEN h.pid = c.pid THEN 0.8 ELSE 0.5 END AS confidence
        FROM (SELECT * FROM links WHERE from_kind = 'call' AND kind = 'wakes') w
        JOIN spans s ON s.kind = 'running' AND s.tid = w.to_id AND s.begin_ns = w.to_ns
        JOIN api_calls c ON c.seq = w.from_id
        LEFT JOIN threads h ON h.tid = w.to_id
        WHERE h.pid IS NULL OR h.pid = c.pid
        """,
    )


def _frames(model: KernelModel) -> None:
    sums = ", ".join(f"sum({k}_ns)::BIGINT AS {k}_ns" for k in _KINDS)
    names = ", ".join(f"c.{k}_ns" for k in _KINDS)
    model.connection.execute(
        f"""
        CREATE OR REPLACE TABLE api_frames AS
        WITH calls AS (
          SELECT frame, min(t_start) AS t_start, max(t_end) AS t_end, {sums} FROM api_calls GROUP BY frame
        ), asked AS (
          SELECT c.frame, count(DISTINCT r.id) AS requests, max(r.wait_ns) AS longest_wait_ns,
                 max(r.latency_ns) AS longest_latency_ns
          FROM links l JOIN api_calls c ON c.seq = l.from_id JOIN requests r ON r.id = l.to_id
          WHERE l.from_kind = 'call' AND l.to_kind = 'request' AND l.kind = 'submits' GROUP BY c.frame
        )
        SELECT c.frame, f.first_seq::BIGINT AS first_seq, f.end_seq::BIGINT AS end_seq, f.draws::BIGINT AS draws,
               c.t_start, c.t_end, {names}, coalesce(a.requests, 0) AS requests, a.longest_wait_ns, a.longest_latency_ns
        FROM calls c LEFT JOIN api_ends f ON f.frame = c.frame LEFT JOIN asked a ON a.frame = c.frame ORDER BY c.frame
        """
    )
    model.connection.execute("DROP TABLE api_ends")
