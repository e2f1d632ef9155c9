"""Requests that are longer than a frame, and that others have to wait for."""

from drawtap.system.rule import rule


@rule(
    title="Long requests that nothing interrupts keep others waiting",
    fix="Split the work, give it lower priority on a GPU that preempts, or move it to another engine or host.",
)
def long_requests() -> str:
    """Work that is on an engine stays there until it is done, unless the driver preempts: everybody else waits as long.

    The rule counts uninterrupted executions of more than a 60 Hz frame (16.7 ms), at least twice as long as the median
    of the waiting client; the cost is the time in which that client had something waiting.
    """
    return """
        WITH typical AS (
          SELECT r.device, r.engine, r.client, median(r.execution_ns) AS ns FROM requests r GROUP BY ALL
        ), blocks AS (SELECT * FROM work WHERE end_ns - begin_ns > 16700000),
        cost AS (
          SELECT b.client AS culprit, w.client AS victim, b.device, b.engine, b.begin_ns,
            b.end_ns - b.begin_ns AS length,
                 sum(least(b.end_ns, w.end_ns) - greatest(b.begin_ns, w.begin_ns)) AS ns
          FROM blocks b JOIN busy_waits w ON b.low < w.high AND w.low < b.high
          JOIN typical t ON t.device = w.device AND t.engine = w.engine AND t.client = w.client
          WHERE b.client <> w.client AND b.end_ns - b.begin_ns >= 2 * t.ns
          GROUP BY b.client, w.client, b.device, b.engine, b.begin_ns, b.end_ns
        )
        SELECT culprit, victim, count(*) AS n, sum(ns)::BIGINT AS ns, arg_max(begin_ns, ns) AS begin_ns,
               max(ns)::BIGINT AS worst_ns,
               'requests of ' || round(avg(length) / 1e6, 1) || ' ms on ' || engine AS what
        FROM cost GROUP BY culprit, victim, device, engine
    """
