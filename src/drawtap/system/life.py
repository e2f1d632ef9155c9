"""Put steps together to lives: from the table `steps` to `requests`, their spans, queue lengths and links.

Rules, each in one place:

- A request is what has the same (driver, k1, k2, k3).
- An engine works on one request at a time, in the order in which it gets them. A request that was handed over while the
  engine was busy begins when its predecessor is off (`begin_from` is `order`). Where a request is off before a
  predecessor, the engine does not keep to that, and the request began when it was handed over (`overlap`).
- An execution without an end is not counted: the trace may have ended, or lost the event.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import duckdb
import numpy as np

from drawtap.system import native

_LIVES = """
CREATE TABLE lives AS
SELECT row_number() OVER (ORDER BY min(t), driver, k1, k2, k3) - 1 AS id, driver, k1, k2, k3,
       coalesce(any_value(device), 'gpu') AS device,
       coalesce(any_value(engine) FILTER (phase NOT IN ('created', 'done')), any_value(engine)) AS engine,
       any_value(context) AS context,
       any_value(seqno) AS seqno, any_value(client) AS client, arg_min(tid, t) AS tid, arg_min(pid, t) AS pid,
       arg_min(comm, t) AS comm, any_value(vgpu) AS vgpu, arg_max(priority, t) AS priority, any_value(label) AS label,
       min(t) FILTER (phase = 'created') AS created_ns, min(t) FILTER (phase = 'queued') AS queued_ns,
       count(*) FILTER (phase = 'blocked') AS blocked, count(*) FILTER (phase = 'ready') AS met,
       max(t) FILTER (phase = 'ready') AS ready_ns,
       min(t) FILTER (phase = 'submitted') AS submitted_ns, max(t) FILTER (phase = 'end') AS end_ns,
       max(t) FILTER (phase = 'done') AS done_ns, max(t) FILTER (phase = 'retired') AS retired_ns,
       count(*) FILTER (phase = 'begin') AS begins, count(*) FILTER (phase = 'preempted') AS preemptions
FROM steps GROUP BY driver, k1, k2, k3
"""

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

_EXECUTIONS = """
INSERT INTO executions BY NAME
WITH ordered AS (
  SELECT r.*, l.device, l.engine,
         max(r.end_ns) OVER (PARTITION BY l.device, l.engine ORDER BY r.begin_ns, r.id, r.end_ns
                             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS free_ns
  FROM executions_raw r JOIN lives l USING (id)
)
SELECT id AS request, device, engine, final,
       CASE WHEN free_ns IS NULL OR free_ns <= begin_ns OR end_ns < free_ns THEN begin_ns ELSE free_ns END AS begin_ns,
       end_ns,
       CASE WHEN free_ns > begin_ns AND end_ns < free_ns THEN 'overlap'
            WHEN free_ns > begin_ns OR NOT told THEN 'order' ELSE 'event' END AS begin_from
FROM ordered
"""

_REQUESTS = """
INSERT INTO requests BY NAME
WITH work AS (
  SELECT request AS id, min(begin_ns) AS begin_ns, sum(end_ns - begin_ns)::BIGINT AS execution_ns,
         arg_min(begin_from, begin_ns) AS begin_from, bool_or(final) AS final
  FROM executions GROUP BY request
)
SELECT l.id, driver, device, engine, context, seqno,
       coalesce(client, coalesce(p.comm, 'process') || ' (' || l.pid || ')', l.comm || ' (' || l.tid || ')') AS client,
       l.tid, l.pid, l.comm, vgpu, priority, label, created_ns, queued_ns,
       CASE WHEN met >= blocked THEN ready_ns END AS ready_ns,
       submitted_ns, begin_ns, end_ns, done_ns, retired_ns, begin_from, l.preemptions::INTEGER AS preemptions,
       begin_ns - coalesce(created_ns, queued_ns) AS wait_ns,
       CASE WHEN final THEN execution_ns END AS execution_ns,
       coalesce(end_ns, done_ns) - coalesce(created_ns, queued_ns) AS latency_ns,
       nullif(concat_ws('; ',
         CASE WHEN created_ns IS NULL AND queued_ns IS NULL
              THEN 'no event for its begin: asked for before the trace, or lost' END,
         CASE WHEN end_ns IS NULL AND done_ns IS NULL AND retired_ns IS NULL
              THEN 'no event for its end: open at the end of the trace, or lost'
              WHEN end_ns IS NULL AND done_ns IS NULL THEN 'only retired: the kernel does not tell when it ended' END,
         CASE WHEN begin_ns IS NULL AND (end_ns IS NOT NULL OR done_ns IS NOT NULL)
              THEN 'the kernel does not tell when it was on the engine' END), '') AS unmatched
FROM lives l LEFT JOIN work USING (id) LEFT JOIN threads p ON p.tid = l.pid
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

# The parts of a wait, in the order in which they follow each other. A part whose end is not known is left out.
_SPANS = """
INSERT INTO spans BY NAME
WITH parts AS (
  SELECT id, 'vgpu/' || vgpu || '/queue' AS track, created_ns AS begin_ns,
         coalesce(queued_ns, submitted_ns, begin_ns) AS end_ns, 'vgpu queue' AS kind, vgpu, comm, tid, context,
              seqno, client
  FROM requests WHERE vgpu IS NOT NULL AND created_ns IS NOT NULL
  UNION ALL
  SELECT id, device || '/' || engine || '/queue', coalesce(CASE WHEN vgpu IS NULL
    THEN created_ns END, queued_ns), ready_ns, 'blocked', vgpu, comm, tid, context, seqno, client
  FROM requests WHERE engine IS NOT NULL AND ready_ns IS NOT NULL
  UNION ALL
  SELECT id, device || '/' || engine || '/queue',
         greatest(coalesce(CASE WHEN vgpu IS NULL THEN created_ns END, queued_ns), coalesce(ready_ns, 0)),
         coalesce(submitted_ns, begin_ns), 'queued', vgpu, comm, tid, context, seqno, client
  FROM requests WHERE engine IS NOT NULL AND coalesce(queued_ns, CASE WHEN vgpu IS NULL THEN created_ns END) IS NOT NULL
  UNION ALL
  SELECT id, device || '/' || engine || '/queue', submitted_ns, begin_ns, 'ring', vgpu, comm, tid, context, seqno,
    client
  FROM requests WHERE engine IS NOT NULL AND submitted_ns IS NOT NULL
  UNION ALL
  SELECT id, device || '/' || engine || '/notify', end_ns, done_ns, 'notify', vgpu, comm, tid, context, seqno, client
  FROM requests WHERE engine IS NOT NULL
  UNION ALL
  SELECT s.request, s.device || '/' || s.engine, s.begin_ns, s.end_ns, 'execution', r.vgpu, r.comm, r.tid, r.context,
    r.seqno, r.client
  FROM executions s JOIN requests r ON r.id = s.request
)
SELECT track, begin_ns, end_ns, coalesce(client, 'context ' || context, 'request') || coalesce(' #' || seqno,
  '') AS name, kind,
       id AS request, tid, vgpu, false AS is_open
FROM parts WHERE end_ns > begin_ns OR (kind = 'execution' AND end_ns >= begin_ns)
"""

_WAITING = """
INSERT INTO counters
WITH changes AS (
  SELECT device || '/' || engine || '/queue length' AS track, coalesce(queued_ns, created_ns) AS t, 1 AS d FROM requests
  WHERE engine IS NOT NULL AND coalesce(queued_ns, created_ns) IS NOT NULL AND coalesce(begin_ns, end_ns) IS NOT NULL
  UNION ALL
  SELECT device || '/' || engine || '/queue length', greatest(coalesce(begin_ns, end_ns), coalesce(queued_ns,
    created_ns)), -1 FROM requests
  WHERE engine IS NOT NULL AND coalesce(queued_ns, created_ns) IS NOT NULL AND coalesce(begin_ns, end_ns) IS NOT NULL
  UNION ALL
  SELECT device || '/' || engine || '/queue length', coalesce(queued_ns, created_ns), 1 FROM requests
  WHERE engine IS NOT NULL AND coalesce(queued_ns, created_ns) IS NOT NULL
    AND coalesce(begin_ns, end_ns, done_ns, retired_ns) IS NULL
  UNION ALL
  SELECT track, begin_ns, 1 FROM (SELECT regexp_replace(track, 'queue$', 'queue length') AS track, begin_ns
    FROM spans WHERE kind = 'vgpu queue')
  UNION ALL
  SELECT track, end_ns, -1 FROM (SELECT regexp_replace(track, 'queue$', 'queue length') AS track, end_ns
    FROM spans WHERE kind = 'vgpu queue')
), sums AS (SELECT track, t, sum(d) AS d FROM changes GROUP BY track, t)
SELECT track, t, sum(d) OVER (PARTITION BY track ORDER BY t)::DOUBLE, 'count' FROM sums
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


def assemble(connection: duckdb.DuckDBPyConnection, known: Mapping[int, tuple[str, int | None]]) -> None:
    """Fill `requests` and `threads`, and add the spans, counters and links of the requests' lives.

    `known`: names of threads that the trace keeps apart from its events.
    """
    _threads(connection, known)
    for sql in (_LIVES, _RAW, _EXECUTIONS, _REQUESTS, _UNMATCHED):
        connection.execute(sql)
    _name_machines(connection)
    connection.execute(_SPANS)
    _order_spans(connection)
    connection.execute(_WAITING)
    connection.execute("CREATE OR REPLACE TABLE counters AS SELECT * FROM counters ORDER BY track, t_ns")
    connection.execute(_WAY)
    connection.execute(_WAITERS)
    for table in ("steps", "lives", "executions_raw", "seen", "vcpus", "waits"):
        connection.execute(f"DROP TABLE {table}")


def _order_spans(connection: duckdb.DuckDBPyConnection) -> None:
    # The parts of a request's wait follow each other: they keep its row. Only numbers go through Python.
    connection.execute(
        "CREATE TABLE parts AS WITH tracks AS (SELECT row_number() OVER (ORDER BY track) AS number, track "
        "FROM (SELECT DISTINCT track FROM spans WHERE request IS NOT NULL)), whole AS (SELECT track, request, "
        "min(begin_ns) AS b, max(end_ns) AS e FROM spans WHERE request IS NOT NULL GROUP BY track, request) "
        "SELECT row_number() OVER () - 1 AS n, * FROM (SELECT number, track, request, b, e FROM whole JOIN tracks "
        "USING (track) ORDER BY number, b, e, request)"
    )
    columns = connection.execute("SELECT number, b, e FROM parts ORDER BY n").fetchnumpy()
    rows = native.lanes(columns["number"], columns["b"], columns["e"]) if len(columns["b"]) else np.zeros(0, np.int32)
    connection.register("_rows", {"n": np.arange(len(rows)), "row": rows})
    # By time, so that what is asked of a window reads the rows of that window.
    connection.execute(
        "CREATE OR REPLACE TABLE spans AS SELECT row_number() OVER () - 1 AS id, * EXCLUDE (id) FROM ("
        "SELECT s.* REPLACE (r.row::INTEGER AS lane) FROM spans s "
        "LEFT JOIN (SELECT track, request, row FROM parts JOIN _rows USING (n)) r "
        "ON s.request = r.request AND s.track = r.track ORDER BY s.begin_ns, s.end_ns)"
    )
    connection.unregister("_rows")
    connection.execute("DROP TABLE parts")


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


def _name_machines(connection: duckdb.DuckDBPyConnection) -> None:
    # A request of a virtual CPU, or of a process that runs a guest, is the guest's work; and so is all of a virtual GPU
    # of which one request is known to be a guest's.
    for key in ("tid", "pid"):
        connection.execute(
            f"UPDATE requests SET vm = m.vm FROM (SELECT {key}, any_value(vm) AS vm FROM threads "
            f"WHERE vm IS NOT NULL AND {key} IS NOT NULL GROUP BY {key}) AS m "
            f"WHERE requests.vm IS NULL AND requests.{key} = m.{key}"
        )
    connection.execute(
        "UPDATE requests SET vm = m.vm FROM (SELECT vgpu, any_value(vm) AS vm "
        "FROM requests WHERE vm IS NOT NULL AND vgpu > 0 "
        "GROUP BY vgpu HAVING count(DISTINCT vm) = 1) AS m WHERE requests.vm IS NULL AND requests.vgpu = m.vgpu"
    )


# Who waits for a fence waits for the request that has its context and number.
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
