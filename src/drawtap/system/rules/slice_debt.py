"""A virtual GPU that overran its time."""

from drawtap.system.rule import rule


@rule(
    title="A virtual GPU overran its time slice, because its work could not be taken off the engine",
    fix="Shorter workloads, or a driver that preempts. Forgetting debts makes it worse for those who wait.",
)
def slice_debt() -> str:
    """A workload that is longer than the time its virtual GPU has left runs on, and what is left becomes a debt.

    Counted are schedule-outs that leave a debt of more than 20 ms; the cost is what another virtual GPU waited while
    the culprit had the GPU, from its first wait in that time to the end of its last.
    """
    return """
        WITH outs AS (
          SELECT regexp_extract(c.track, '^vgpu/([0-9]+)/', 1)::INTEGER AS vgpu, c.t_ns, -c.value AS debt_ns
          FROM counters c, trace_window w WHERE c.track LIKE 'vgpu/%/time left' AND c.value < -20000000
            AND c.t_ns BETWEEN w.begin_ns AND w.end_ns
        ), overran AS (
          SELECT o.*, s.begin_ns, s.end_ns FROM outs o JOIN spans s ON s.kind = 'current' AND s.vgpu = o.vgpu
            AND s.end_ns = o.t_ns
        ),
        -- Of everybody else, whether a wait covers the begin tells the largest end of those that began before; no pair
        -- of a time on the GPU and a wait is looked at.
        waits AS (
          SELECT vgpu AS victim, begin_ns, max(end_ns) OVER (PARTITION BY vgpu ORDER BY begin_ns, end_ns) AS reach
          FROM spans WHERE kind = 'vgpu queue'
        ), against AS (
          SELECT o.*, v.victim FROM overran o JOIN (SELECT DISTINCT victim FROM waits) v ON v.victim <> o.vgpu
        ), waited AS (
          SELECT o.vgpu, o.victim, o.begin_ns, o.debt_ns,
                 least(o.end_ns, l.reach) - CASE WHEN f.reach > o.begin_ns THEN o.begin_ns ELSE n.begin_ns END AS ns
          FROM against o
          ASOF LEFT JOIN waits f ON f.victim = o.victim AND o.begin_ns >= f.begin_ns
          ASOF LEFT JOIN waits n ON n.victim = o.victim AND o.begin_ns < n.begin_ns
          ASOF LEFT JOIN waits l ON l.victim = o.victim AND o.end_ns > l.begin_ns
        )
        SELECT 'vGPU ' || vgpu AS culprit, 'vGPU ' || victim AS victim, count(*) AS n, sum(ns)::BIGINT AS ns,
               arg_max(begin_ns, ns) AS begin_ns, max(ns)::BIGINT AS worst_ns,
               'owes up to ' || round(max(debt_ns) / 1e6) || ' ms' AS what
        FROM waited WHERE ns > 0 GROUP BY vgpu, victim
    """
