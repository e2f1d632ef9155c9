"""Put steps together to lives: from the table `steps` to `requests`, their spans, queue lengths and links.

Rules, each in one place:

- A request is one (driver, k1, k2, k3).
- An engine works on one request at a time, in the order in which it gets them. A request that was handed over while the
  engine was busy begins when its predecessor is off (`begin_from` is `order`). If a request is off before a
  predecessor, the engine does not keep to that, and the request began when it was handed over (`overlap`).
- Requests of a context end in order, as its fences do, and so do requests on an engine in order. A request without a
  recorded end ended no later than a later request (`ended_by_ns`); its time on the engine is unknown.
- If nothing came after it, it is still there at the end of the trace (`is_open`): it waits, or is on the engine.
- Work on an engine at the begin or the end of the trace counts with the part inside (`executions.is_open`), if the
  trace would show its end. This holds if other requests of the engine ended, or if the trace describes the driver's
  event for ends. A trace without any end shows a hang if no more was handed over than the hardware holds, and then
  nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import duckdb

from drawtap.system import native
from drawtap.system.driver import STEP_COLUMNS, THREAD_KINDS
from drawtap.trace.result import Stream
from drawtap.trace.sql_text import quote_text

# The facts that steps tell about a request: name, sum, value without any such step, and the columns or phases of the
# sum. A trace has few of these columns and phases, and each sum costs for every step: `_lives` leaves the others out.
_FACTS = (
    ("device", "coalesce(any_value(device), 'gpu')", "'gpu'", ("device",)),
    (
        "engine",
        "coalesce(any_value(engine) FILTER (phase NOT IN ('created', 'done')), any_value(engine))",
        "NULL::VARCHAR",
        ("engine",),
    ),
    ("context", "any_value(context)", "NULL::UBIGINT", ("context",)),
    ("seqno", "any_value(seqno)", "NULL::UBIGINT", ("seqno",)),
    ("client", "any_value(client)", "NULL::VARCHAR", ("client",)),
    ("tid", "arg_min(tid, t)", "NULL::INTEGER", ("tid",)),
    ("pid", "arg_min(pid, t)", "NULL::INTEGER", ("pid",)),
    ("comm", "arg_min(comm, t)", "NULL::VARCHAR", ("comm",)),
    ("vgpu", "any_value(vgpu)", "NULL::INTEGER", ("vgpu",)),
    ("guest_context", "any_value(guest_context)", "NULL::UBIGINT", ("guest_context",)),
    ("guest_seqno", "any_value(guest_seqno)", "NULL::UBIGINT", ("guest_seqno",)),
    ("priority", "arg_max(priority, t)", "NULL::INTEGER", ("priority",)),
    ("label", "any_value(label)", "NULL::VARCHAR", ("label",)),
    ("created_ns", "min(t) FILTER (phase = 'created')", "NULL::BIGINT", ("created",)),
    ("queued_ns", "min(t) FILTER (phase = 'queued')", "NULL::BIGINT", ("queued",)),
    ("blocked", "count(*) FILTER (phase = 'blocked')", "0::BIGINT", ("blocked",)),
    ("met", "count(*) FILTER (phase = 'ready')", "0::BIGINT", ("ready",)),
    ("ready_ns", "max(t) FILTER (phase = 'ready')", "NULL::BIGINT", ("ready",)),
    ("submitted_ns", "min(t) FILTER (phase = 'submitted')", "NULL::BIGINT", ("submitted",)),
    ("end_ns", "max(t) FILTER (phase = 'end')", "NULL::BIGINT", ("end",)),
    ("done_ns", "max(t) FILTER (phase = 'done')", "NULL::BIGINT", ("done",)),
    ("retired_ns", "max(t) FILTER (phase = 'retired')", "NULL::BIGINT", ("retired",)),
    ("begins", "count(*) FILTER (phase = 'begin')", "0::BIGINT", ("begin",)),
    ("preemptions", "count(*) FILTER (phase = 'preempted')", "0::BIGINT", ("preempted",)),
    ("began_ns", "min(t) FILTER (phase = 'begin')", "NULL::BIGINT", ("begin",)),
    ("preempted_ns", "min(t) FILTER (phase = 'preempted')", "NULL::BIGINT", ("preempted",)),
    (
        "last_mark",
        "arg_max(phase, t) FILTER (phase IN ('begin', 'preempted', 'end'))",
        "NULL::VARCHAR",
        ("begin", "preempted", "end"),
    ),
    ("timeline", "any_value(coalesce(timeline, context))", "NULL::UBIGINT", ("timeline", "context")),
    ("place", "any_value(coalesce(place, seqno))", "NULL::UBIGINT", ("place", "seqno")),
)

# Times on an engine as told: begin to preempted or end. Without `begin`: submitted to end.
_RAW = """
CREATE TABLE executions_raw AS
WITH marks AS (
  SELECT l.id, s.t, s.phase,
         lead(s.t) OVER w AS next_t, lead(s.phase) OVER w AS next_phase
  FROM steps s JOIN lives l USING (driver, k1, k2, k3)
  WHERE l.begins > 0 AND s.phase IN ('begin', 'preempted', 'end')
  WINDOW w AS (PARTITION BY l.id ORDER BY s.t, CASE s.phase WHEN 'begin' THEN 1 ELSE 0 END)
)
SELECT id, t AS begin_ns, next_t AS end_ns, next_phase = 'end' AS final, true AS told
FROM marks WHERE phase = 'begin' AND next_phase IN ('preempted', 'end')
UNION ALL
SELECT id, submitted_ns, end_ns, true, false FROM lives
WHERE begins = 0 AND submitted_ns IS NOT NULL AND end_ns >= submitted_ns AND engine IS NOT NULL
"""

# An engine of which one request was off before another that it got earlier works on several at a time.
_PARALLEL = """
CREATE TABLE parallel AS
SELECT DISTINCT device, engine FROM (
  SELECT l.device, l.engine, r.begin_ns, r.end_ns,
         max(r.end_ns) OVER (PARTITION BY l.device, l.engine ORDER BY r.begin_ns, r.id, r.end_ns
                             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS free_ns
  FROM executions_raw r JOIN lives l USING (id)
) WHERE free_ns > begin_ns AND end_ns < free_ns
"""

# Whose end was not recorded: when a later one of its context, or of its engine where that works in order, had ended.
_FATES = """
CREATE TABLE fates AS
WITH ends AS (
  SELECT *, coalesce(end_ns, done_ns) AS over_ns, coalesce(began_ns, submitted_ns) AS given_ns,
         coalesce(created_ns, queued_ns, submitted_ns, began_ns) AS first_ns
  FROM lives
), mixed AS (
  -- Where all ended, or none, nothing is bounded: these are not sorted.
  SELECT * FROM ends SEMI JOIN (
    SELECT device AS e FROM ends GROUP BY device
    HAVING count(over_ns) > 0 AND count(*) > count(coalesce(over_ns, retired_ns))
  ) ON device = e
), ordered AS (
  SELECT id, CASE WHEN timeline IS NOT NULL AND place IS NOT NULL THEN
           min(over_ns) OVER (PARTITION BY driver, device, engine, timeline ORDER BY place, id
                              ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) END AS context_ns,
         CASE WHEN preemptions = 0 AND given_ns IS NOT NULL THEN
           min(CASE WHEN given_ns IS NOT NULL THEN over_ns END)
             OVER (PARTITION BY device, engine, given_ns IS NULL ORDER BY given_ns, id
                   ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) END AS engine_ns
  FROM mixed
), bounds AS (
  SELECT e.id, e.first_ns, least(CASE WHEN context_ns >= e.first_ns THEN context_ns END,
               CASE WHEN engine_ns >= e.first_ns AND p.engine IS NULL THEN engine_ns END) AS ended_by_ns
  FROM ends e LEFT JOIN ordered USING (id)
  LEFT JOIN parallel p ON p.device = e.device AND p.engine IS NOT DISTINCT FROM e.engine
  WHERE e.end_ns IS NULL AND e.done_ns IS NULL AND e.retired_ns IS NULL
)
SELECT id, ended_by_ns, ended_by_ns IS NULL AND first_ns IS NOT NULL AS is_open FROM bounds
"""

# Where no end was recorded, missing events show a hang: a scheduler hands over nothing more than the hardware can hold.
_HELD_BY_HARDWARE = 16
_HANG_NS = 100_000_000

# The requests that the begin or the end of the trace cuts off. Only where the trace tells, or would tell, when requests
# of the engine got on it and off it: else nobody knows. On an engine in order nothing that the trace saw come is off
# before what was there already.
_CUT = f"""
CREATE TABLE executions_cut AS
WITH stuck AS (
  SELECT driver FROM lives GROUP BY driver
  HAVING count(coalesce(end_ns, done_ns, retired_ns)) = 0
     AND count(coalesce(began_ns, submitted_ns)) BETWEEN 1 AND {_HELD_BY_HARDWARE}
     AND max(coalesce(began_ns, submitted_ns)) <= (SELECT end_ns FROM trace_window) - {_HANG_NS}
), told AS (
  SELECT device, engine, min(end_ns) FILTER (coalesce(began_ns, submitted_ns) IS NOT NULL) AS first_end_ns
  FROM lives LEFT JOIN (FROM ends_told UNION SELECT driver FROM stuck) AS would(teller) ON teller = driver
  WHERE engine IS NOT NULL GROUP BY device, engine
  HAVING count(coalesce(began_ns, submitted_ns)) > 0 AND (count(end_ns) > 0 OR count(teller) > 0)
)
SELECT l.id, w.begin_ns, coalesce(l.preempted_ns, l.end_ns) AS end_ns, true AS at_begin
FROM lives l JOIN told USING (device, engine), trace_window w
WHERE coalesce(l.created_ns, l.queued_ns, l.submitted_ns) IS NULL
  AND (l.began_ns IS NULL OR l.began_ns > l.preempted_ns) AND coalesce(l.preempted_ns, l.end_ns) > w.begin_ns
  AND (told.first_end_ns IS NULL OR coalesce(l.preempted_ns, l.end_ns) <= told.first_end_ns)
UNION ALL
SELECT l.id, CASE WHEN l.begins > 0 THEN m.t ELSE l.submitted_ns END, w.end_ns, false
FROM lives l JOIN told USING (device, engine) JOIN fates f ON f.id = l.id
LEFT JOIN (SELECT driver, k1, k2, k3, max(t) AS t FROM steps WHERE phase = 'begin' GROUP BY ALL) m
  ON m.driver = l.driver AND m.k1 IS NOT DISTINCT FROM l.k1 AND m.k2 IS NOT DISTINCT FROM l.k2
  AND m.k3 IS NOT DISTINCT FROM l.k3, trace_window w
WHERE f.is_open AND ((l.begins = 0 AND l.submitted_ns IS NOT NULL) OR l.last_mark = 'begin')
"""

_EXECUTIONS = """
INSERT INTO executions BY NAME
WITH every AS (
  SELECT id, begin_ns, end_ns, final, told, false AS at_begin, false AS at_end FROM executions_raw
  UNION ALL
  SELECT id, c.begin_ns, c.end_ns, false, l.begins > 0 AND NOT at_begin, at_begin, NOT at_begin
  FROM executions_cut c JOIN lives l USING (id)
), ordered AS (
  SELECT r.*, l.device, l.engine, p.engine IS NOT NULL AS parallel,
         max(r.end_ns) OVER (PARTITION BY l.device, l.engine ORDER BY r.begin_ns, r.id, r.end_ns
                             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS free_ns
  FROM every r JOIN lives l USING (id)
  LEFT JOIN parallel p ON p.device = l.device AND p.engine IS NOT DISTINCT FROM l.engine
), placed AS (
  SELECT *, free_ns > begin_ns AND (end_ns < free_ns OR (at_end AND parallel)) AS beside FROM ordered
)
SELECT id AS request, device, engine, final,
       CASE WHEN free_ns > begin_ns AND NOT beside THEN free_ns ELSE begin_ns END AS begin_ns, end_ns,
       CASE WHEN beside THEN 'overlap' WHEN free_ns > begin_ns OR NOT told THEN 'order' ELSE 'event' END
         AS begin_from,
       at_begin OR at_end AS is_open, NOT at_begin AS begin_known
FROM placed
WHERE NOT (at_end AND NOT parallel AND coalesce(free_ns >= end_ns, false))
"""

_REQUESTS = """
INSERT INTO {kept}requests BY NAME
WITH work AS (
  SELECT request AS id, min(begin_ns) FILTER (begin_known) AS begin_ns,
         sum(end_ns - begin_ns)::BIGINT AS execution_ns, bool_and(begin_known) AS whole,
         arg_min(begin_from, begin_ns) FILTER (begin_known) AS begin_from, bool_or(final) AS final
  FROM executions GROUP BY request
)
SELECT l.id, driver, device, engine, context, seqno,
       coalesce(client, coalesce(p.comm, 'process') || ' (' || l.pid || ')', l.comm || ' (' || l.tid || ')') AS client,
       l.tid, l.pid, l.comm, vgpu, guest_context, guest_seqno, priority, label, created_ns, queued_ns,
       CASE WHEN met >= blocked THEN ready_ns END AS ready_ns,
       submitted_ns, CASE WHEN whole THEN begin_ns END AS begin_ns, end_ns, done_ns, retired_ns, f.ended_by_ns,
       coalesce(f.is_open, false) AS is_open, CASE WHEN whole THEN begin_from END AS begin_from,
       l.preemptions::INTEGER AS preemptions,
       CASE WHEN whole THEN begin_ns - coalesce(created_ns, queued_ns) END AS wait_ns,
       CASE WHEN final AND whole THEN execution_ns END AS execution_ns,
       coalesce(end_ns, done_ns) - coalesce(created_ns, queued_ns) AS latency_ns,
       nullif(concat_ws('; ',
         CASE WHEN created_ns IS NULL AND queued_ns IS NULL
              THEN 'no event for its begin: asked for before the trace, or lost' END,
         CASE WHEN end_ns IS NULL AND done_ns IS NULL AND retired_ns IS NULL THEN
                CASE WHEN f.ended_by_ns IS NULL THEN 'no event for its end: open at the end of the trace, or lost'
                     ELSE 'no event for its end: it was off when a later one ended, and its work is in no figure' END
              WHEN end_ns IS NULL AND done_ns IS NULL THEN 'only retired: the kernel does not tell when it ended' END,
         CASE WHEN begin_ns IS NULL AND work.id IS NULL AND (end_ns IS NOT NULL OR done_ns IS NOT NULL)
              THEN 'the kernel does not tell when it was on the engine' END), '') AS unmatched
FROM lives l LEFT JOIN work USING (id) LEFT JOIN fates f USING (id) LEFT JOIN threads p ON p.tid = l.pid
ORDER BY l.id
"""

_UNMATCHED = """
INSERT INTO unmatched
SELECT driver, 'request', unnest(string_split(unmatched, '; ')) AS reason, count(*) FROM requests
WHERE unmatched IS NOT NULL GROUP BY driver, reason
UNION ALL
SELECT driver, 'request',
       'engine ' || engine || ' works on several at a time: they began when they were handed over', count(*)
FROM requests WHERE begin_from = 'overlap' GROUP BY driver, engine
"""

# The parts of a wait, in the order in which they follow each other. Parts that are open last to the end of the trace;
# another part whose end is not known is left out. Tracks and kinds are numbers here: texts come behind the sort.
_PARTS = ("vgpu queue", "blocked", "queued", "ring", "notify", "execution")
_TRACKS = """
CREATE TYPE request_track AS ENUM (
  SELECT DISTINCT track FROM (
    SELECT 'vgpu/' || vgpu || '/queue' AS track FROM (SELECT DISTINCT vgpu FROM requests)
    UNION ALL
    SELECT device || '/' || engine || part
    FROM (SELECT device, engine FROM requests UNION SELECT device, engine FROM executions),
         (VALUES (''), ('/queue'), ('/notify')) AS p(part)
  ) WHERE track IS NOT NULL ORDER BY track
)
"""
_SPANS = """
CREATE TABLE request_spans AS
WITH r AS (
  SELECT id, vgpu, engine, created_ns, queued_ns, ready_ns, submitted_ns, begin_ns, end_ns, done_ns,
         device || '/' || engine || '/queue' AS queue, device || '/' || engine || '/notify' AS notify,
         coalesce(queued_ns, CASE WHEN vgpu IS NULL THEN created_ns END) AS asked_ns,
         CASE WHEN is_open THEN w.trace_end_ns END AS last_ns
  FROM requests, (SELECT end_ns AS trace_end_ns FROM trace_window) w
), parts AS (
  SELECT id, 'vgpu/' || vgpu || '/queue' AS track, created_ns AS begin_ns,
         coalesce(queued_ns, submitted_ns, begin_ns) AS end_ns, 'vgpu queue' AS kind, last_ns FROM r
  WHERE vgpu IS NOT NULL AND created_ns IS NOT NULL
  UNION ALL
  SELECT id, queue, coalesce(CASE WHEN vgpu IS NULL THEN created_ns END, queued_ns), ready_ns, 'blocked', last_ns FROM r
  WHERE engine IS NOT NULL AND ready_ns IS NOT NULL
  UNION ALL
  SELECT id, queue, greatest(coalesce(CASE WHEN vgpu IS NULL THEN created_ns END, queued_ns), coalesce(ready_ns, 0)),
         coalesce(submitted_ns, begin_ns), 'queued', last_ns FROM r
  WHERE engine IS NOT NULL AND asked_ns IS NOT NULL
  UNION ALL
  SELECT id, queue, submitted_ns, begin_ns, 'ring', last_ns FROM r WHERE engine IS NOT NULL AND submitted_ns IS NOT NULL
  UNION ALL
  SELECT id, notify, end_ns, done_ns, 'notify', last_ns FROM r WHERE engine IS NOT NULL AND done_ns IS NOT NULL
), ended AS (
  SELECT id, track, begin_ns, coalesce(end_ns, last_ns) AS end_ns, kind, end_ns IS NULL AS is_open FROM parts
  UNION ALL
  SELECT request, device || '/' || engine, begin_ns, end_ns, 'execution', is_open FROM executions
)
SELECT enum_code(track::request_track) AS track, begin_ns, end_ns, enum_code(kind::request_part) AS kind,
       id AS request, is_open
FROM ended WHERE track IS NOT NULL AND (end_ns > begin_ns OR (kind = 'execution' AND end_ns >= begin_ns))
"""

# Waiters and the requests that they wait for. Each request is one that is known to have stopped waiting at a time, or
# to wait still. So the mean over time is the rate of requests times their mean wait (Little's law).
_WAITING = """
INSERT INTO counters
WITH waits AS (
  SELECT device || '/' || engine || '/queue length' AS track, begin_ns AS until_ns, is_open,
         coalesce(queued_ns, CASE WHEN vgpu IS NULL THEN created_ns ELSE submitted_ns END) AS from_ns
  FROM requests WHERE engine IS NOT NULL
  UNION ALL
  SELECT 'vgpu/' || vgpu || '/queue length', coalesce(queued_ns, submitted_ns, begin_ns), is_open, created_ns
  FROM requests WHERE vgpu IS NOT NULL
), changes AS (
  SELECT track, from_ns AS t, 1 AS d FROM waits WHERE from_ns IS NOT NULL AND (until_ns IS NOT NULL OR is_open)
  UNION ALL
  SELECT track, greatest(until_ns, from_ns), -1 FROM waits WHERE from_ns IS NOT NULL AND until_ns IS NOT NULL
), sums AS (SELECT track, t, sum(d) AS d FROM changes GROUP BY track, t)
SELECT track, t, sum(d) OVER (PARTITION BY track ORDER BY t)::DOUBLE, 'count' FROM sums
"""

# Whose memory it is, as requests say whose work it is. A machine has what its processes have together.
_MEMORY = """
INSERT INTO memory_use BY NAME
WITH machines AS (
  SELECT pid, any_value(vm) AS vm FROM threads WHERE vm IS NOT NULL AND pid IS NOT NULL GROUP BY pid
), owned AS (
  SELECT s.device, s.basis, s.t, s.change, coalesce(s.pid, t.pid) AS pid, coalesce(m.vm, t.vm) AS vm,
         coalesce(coalesce(p.comm, 'process') || ' (' || coalesce(s.pid, t.pid) || ')',
                  coalesce(t.comm, 'thread') || ' (' || s.tid || ')') AS client
  FROM memory_steps s LEFT JOIN threads t ON t.tid = s.tid
  LEFT JOIN threads p ON p.tid = coalesce(s.pid, t.pid) LEFT JOIN machines m ON m.pid = coalesce(s.pid, t.pid)
), changes AS (
  SELECT device, basis, client, any_value(pid) AS pid, any_value(vm) AS vm, t, sum(change) AS change FROM owned
  GROUP BY device, basis, client, t
  UNION ALL
  SELECT device, basis, NULL, NULL, vm, t, sum(change) FROM owned WHERE vm IS NOT NULL GROUP BY device, basis, vm, t
)
SELECT device, basis, client, pid, vm, t AS t_ns,
       sum(change) OVER (PARTITION BY device, basis, client, CASE WHEN client IS NULL THEN vm END ORDER BY t)::BIGINT
         AS bytes
FROM changes ORDER BY client IS NULL, device, basis, client, vm, t
"""

_MEMORY_UNTOLD = """
INSERT INTO unmatched
SELECT 'kvm', 'kvm_entry', 'the process of these virtual CPUs is not told: nor is the memory of their machines',
       count(*)
FROM threads WHERE is_vcpu AND pid IS NULL AND EXISTS (SELECT 1 FROM memory_use) HAVING count(*) > 0
"""

_WAY = """
INSERT INTO links BY NAME
WITH ordered AS (
  SELECT id, request, begin_ns, end_ns, kind,
         lead(id) OVER w AS next_id, lead(begin_ns) OVER w AS next_ns
  FROM spans WHERE request IS NOT NULL
  WINDOW w AS (PARTITION BY request ORDER BY begin_ns, end_ns, id)
)
SELECT 'span' AS from_kind, id AS from_id, end_ns AS from_ns, 'span' AS to_kind, next_id AS to_id, next_ns AS to_ns,
       'way' AS kind, 1 AS tier, 1.0 AS confidence
FROM ordered WHERE next_id IS NOT NULL
"""


def assemble(
    connection: duckdb.DuckDBPyConnection, known: Mapping[int, tuple[str, int | None]], kept: str | None = None
) -> None:
    """Fill `requests` and `threads`, and add the spans, counters and links of the requests' lives.

    `known`: names of threads that the trace keeps apart from its events. `kept`: an attached database that has the
    table `requests` and gets the table `spans`, which are most of a model; both are then views of these.
    """
    _threads(connection, known)
    connection.execute("ALTER TABLE executions ADD COLUMN begin_known BOOLEAN")
    _lives(connection)
    prefix = f"{kept}." if kept else ""
    for sql in (_RAW, _PARALLEL, _FATES, _CUT, _EXECUTIONS, _REQUESTS.format(kept=prefix), _UNMATCHED):
        connection.execute(sql)
    connection.execute("ALTER TABLE executions DROP COLUMN begin_known")
    _name_machines(connection, prefix)
    connection.execute(_TRACKS)
    connection.execute(f"CREATE TYPE request_part AS ENUM ({', '.join(map(quote_text, _PARTS))})")
    connection.execute(_SPANS)
    _order_spans(connection, kept)
    connection.execute(_MEMORY)
    connection.execute(_MEMORY_UNTOLD)
    connection.execute(_WAITING)
    connection.execute("CREATE OR REPLACE TABLE counters AS SELECT * FROM counters ORDER BY track, t_ns")
    connection.execute(_WAY)
    connection.execute(_WAITERS)
    for table in ("steps", "lives", "executions_raw", "executions_cut", "parallel", "fates", "seen", "vcpus", "waits",
                  "memory_steps", "ends_told", "thread_spans"):  # fmt: skip
        connection.execute(f"DROP TABLE {table}")


def _lives(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the table `lives` of `steps`, numbered by the first time of each."""
    columns = [name for name in STEP_COLUMNS if name not in ("driver", "k1", "k2", "k3", "t", "phase")]
    (counts,) = connection.execute(f"SELECT {', '.join(f'count({name})' for name in columns)} FROM steps").fetchall()
    known = {name for name, count in zip(columns, counts, strict=True) if count}
    known |= {phase for (phase,) in connection.execute("SELECT DISTINCT phase FROM steps").fetchall()}
    facts = [fact for fact in _FACTS if known.intersection(fact[3])]
    sums = "".join(f", {sql} AS {name}" for name, sql, _, _ in facts)
    # The sort carries the columns that have values; the others come behind it.
    all_facts = ", ".join(name if known.intersection(needs) else f"{none} AS {name}" for name, _, none, needs in _FACTS)
    connection.execute(
        f"CREATE TABLE lives AS SELECT row_number() OVER () - 1 AS id, driver, k1, k2, k3, {all_facts} FROM ("
        f"SELECT driver, k1, k2, k3, min(t) AS first_ns{sums} FROM steps GROUP BY driver, k1, k2, k3 "
        "ORDER BY first_ns, driver, k1, k2, k3)"
    )


def _order_spans(connection: duckdb.DuckDBPyConnection, kept: str | None) -> None:
    # The parts of a request's wait follow each other: they keep its row.
    connection.execute(
        "CREATE TABLE parts AS SELECT track, request, min(begin_ns) AS b, max(end_ns) AS e FROM request_spans "
        "GROUP BY track, request ORDER BY track, b, e, request"
    )
    connection.register("_lanes", native.Lanes(_table(connection, "FROM parts")))
    # By time, so that a question to a window reads the rows of that window.
    connection.execute(
        "CREATE TABLE ordered AS SELECT track, begin_ns, end_ns, kind, request, lane, is_open "
        "FROM request_spans JOIN _lanes USING (track, request) ORDER BY begin_ns, end_ns"
    )
    connection.unregister("_lanes")
    connection.execute("DROP TABLE parts; DROP TABLE request_spans")
    names = " ".join(f"WHEN '{kind}' THEN {quote_text(name)}" for kind, name in THREAD_KINDS.items())
    connection.execute(
        "CREATE TABLE others AS "
        "SELECT track, begin_ns, end_ns, name, kind, request, tid, cpu, vgpu, lane, is_open FROM ("
        "SELECT 'thread/' || tid AS track, begin_ns, end_ns, CASE kind WHEN 'running' THEN 'CPU ' || cpu "
        f"{names} END AS name, kind::VARCHAR AS kind, tid, cpu, is_open FROM thread_spans WHERE sorted IS NOT TRUE "
        "UNION ALL BY NAME SELECT * FROM spans) ORDER BY begin_ns, end_ns"
    )
    tracks = connection.execute("SELECT unnest(enum_range(NULL::request_track))").fetchall()
    connection.register(
        "_spans",
        native.OrderedSpans(
            THREAD_KINDS,
            _PARTS,
            [track for (track,) in tracks],
            threads=_table(
                connection,
                "SELECT tid, cpu, begin_ns, end_ns, enum_code(kind) AS kind, is_open FROM thread_spans WHERE sorted",
            ),
            requests=_table(connection, "FROM ordered"),
            others=_table(connection, "FROM others"),
            owners=_table(
                connection,
                "SELECT coalesce(client, 'context ' || context, 'request') AS name, seqno, tid, vgpu FROM requests "
                "ORDER BY id",
            ),
        ),
    )
    connection.execute(f"CREATE OR REPLACE TABLE {f'{kept}.' if kept else ''}spans AS SELECT * FROM _spans")
    connection.unregister("_spans")
    if kept:
        connection.execute("DROP TABLE spans")
        connection.execute(f"CREATE VIEW spans AS SELECT * FROM {kept}.spans")
    connection.execute("DROP TABLE ordered; DROP TABLE others")
    connection.execute("DROP TYPE request_track; DROP TYPE request_part")


def _table(connection: duckdb.DuckDBPyConnection, sql: str) -> Stream:
    # A connection of its own: it is read while the other one writes.
    return Stream(lambda: connection.cursor().sql(sql).__arrow_c_stream__())


# QEMU calls the threads of its vCPUs so, of all machines alike.
_COMMON_NAMES = re.compile(r"^(CPU \d+/(KVM|TCG)|qemu|kvm$|vcpu)", re.IGNORECASE)


def _threads(connection: duckdb.DuckDBPyConnection, known: Mapping[int, tuple[str, int | None]]) -> None:
    if known:
        rows = [(tid, pid, comm) for tid, (comm, pid) in known.items() if tid > 0]
        connection.executemany("INSERT INTO seen VALUES (?, ?, ?, NULL)", rows)
    connection.execute(
        """
        INSERT INTO threads BY NAME
        WITH named AS (
          SELECT tid, any_value(pid) AS pid, arg_max(comm, coalesce(t, -1)) AS comm FROM seen WHERE tid > 0 GROUP BY tid
        )
        SELECT tid, pid, comm, tid IN (SELECT tid FROM vcpus) AS is_vcpu FROM named ORDER BY tid
        """
    )
    vcpus = connection.execute(
        "SELECT v.tid, v.pid, v.comm, p.comm FROM threads v LEFT JOIN threads p ON p.tid = v.pid WHERE v.is_vcpu"
    ).fetchall()
    for tid, pid, comm, process in vcpus:
        connection.execute("UPDATE threads SET vm = ? WHERE tid = ?", [machine_name(tid, pid, comm, process), tid])
    connection.execute(
        "UPDATE threads SET vcpu = n FROM (SELECT tid, row_number() OVER (PARTITION BY vm ORDER BY tid) - 1 AS n "
        "FROM threads WHERE is_vcpu) AS v WHERE threads.tid = v.tid"
    )


def machine_name(tid: int, pid: int | None, comm: str | None, process: str | None) -> str:
    """Return what to call the virtual machine of a vCPU thread.

    A name of its own is taken; the one that QEMU gives all vCPUs is not, then it is the process, else the thread.
    """
    if comm and not _COMMON_NAMES.match(comm):
        return comm
    if pid is not None:
        return f"{process or 'process'} ({pid})" if not process or _COMMON_NAMES.match(process) else process
    return f"vCPU {tid}"


def _name_machines(connection: duckdb.DuckDBPyConnection, prefix: str) -> None:
    # A request of a virtual CPU, or of a process that runs a guest, is the guest's work; and so is all of a virtual GPU
    # of which one request is known to be a guest's.
    for key in ("tid", "pid"):
        connection.execute(
            f"UPDATE {prefix}requests AS requests SET vm = m.vm FROM (SELECT {key}, any_value(vm) AS vm FROM threads "
            f"WHERE vm IS NOT NULL AND {key} IS NOT NULL GROUP BY {key}) AS m "
            f"WHERE requests.vm IS NULL AND requests.{key} = m.{key}"
        )
    connection.execute(
        f"UPDATE {prefix}requests AS requests SET vm = m.vm FROM (SELECT vgpu, any_value(vm) AS vm "
        "FROM requests WHERE vm IS NOT NULL AND vgpu > 0 "
        "GROUP BY vgpu HAVING count(DISTINCT vm) = 1) AS m WHERE requests.vm IS NULL AND requests.vgpu = m.vgpu"
    )


# A thread that waits for a fence waits for the request that has its context and number.
_WAITERS = """
INSERT INTO links BY NAME
SELECT 'request' AS from_kind, r.id AS from_id, coalesce(r.done_ns, r.end_ns) AS from_ns, 'span' AS to_kind,
  s.id AS to_id,
       s.end_ns AS to_ns, 'waits for' AS kind, 1 AS tier, 1.0 AS confidence
FROM waits w
JOIN requests r ON (r.context & 4294967295) = w.context AND (r.seqno & 4294967295) = w.seqno
JOIN spans s ON s.kind = 'fence wait' AND s.tid = w.tid AND s.begin_ns = w.begin_ns AND s.end_ns = w.end_ns
WHERE coalesce(r.created_ns, r.queued_ns) <= w.end_ns
"""
