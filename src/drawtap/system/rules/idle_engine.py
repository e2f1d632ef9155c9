"""An engine that does nothing though work waits for it."""

from drawtap.system.rule import rule


@rule(
    title="An engine is idle while requests wait for it",
    fix="Look what the requests depend on (`blocked` spans), and at the CPU load of the driver's threads.",
)
def idle_engine() -> str:
    """Requests that the driver has, and the engine not, wait for a dependency or for a thread of the driver.

    Work that waits in the hypervisor's queue does not count here.
    """
    return """
        WITH waits AS (
          SELECT device, engine, greatest(r.queued_ns, w.begin_ns) AS b, least(r.until_ns, w.end_ns) AS e
          FROM (
            SELECT *, coalesce(begin_ns, CASE WHEN is_open THEN 9223372036854775807 END) AS until_ns FROM requests
          ) r, trace_window w
          WHERE r.until_ns > r.queued_ns AND r.until_ns > w.begin_ns AND r.queued_ns < w.end_ns
        ), edges AS (
          SELECT device, engine, b AS t, 1 AS waits, 0 AS runs FROM waits
          UNION ALL SELECT device, engine, e, -1, 0 FROM waits
          UNION ALL SELECT device, engine, begin_ns, 0, 1 FROM work
          UNION ALL SELECT device, engine, end_ns, 0, -1 FROM work
        ), sums AS (
          SELECT device, engine, t, sum(waits) AS waits, sum(runs) AS runs FROM edges GROUP BY device, engine, t
        ), levels AS (
          SELECT device, engine, t, lead(t) OVER o - t AS ns, sum(waits) OVER o AS waits, sum(runs) OVER o AS runs
          FROM sums WINDOW o AS (PARTITION BY device, engine ORDER BY t)
        )
        SELECT 'dependencies or the driver' AS culprit, device || '/' || engine AS victim, count(*) AS n,
               sum(ns)::BIGINT AS ns, arg_max(t, ns) AS begin_ns, max(ns)::BIGINT AS worst_ns,
               'the engine is idle while requests wait' AS what
        FROM levels WHERE waits > 0 AND runs = 0 AND ns > 0 GROUP BY device, engine
    """
