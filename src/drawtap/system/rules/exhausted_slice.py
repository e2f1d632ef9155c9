"""A virtual GPU that may not work, though the GPU is free."""

from drawtap.system.rule import rule


@rule(
    title="A virtual GPU has used up its time, and nobody uses the rest",
    fix="Give idle time away (work conserving), raise the weight, or remove virtual GPUs that do nothing.",
)
def exhausted_slice() -> str:
    """GVT-g gives every virtual GPU its share of a period, also to one that does nothing: the share is then lost.

    Counted is the time in which a virtual GPU that left with no time to spare had work waiting, while no engine worked.
    """
    return """
        WITH outs AS (
          SELECT regexp_extract(track, '^vgpu/([0-9]+)/', 1)::INTEGER AS vgpu, t_ns, value AS left_ns
          FROM counters WHERE track LIKE 'vgpu/%/time left'
        ), parked AS (
          SELECT o.vgpu, greatest(o.t_ns, w.begin_ns) AS begin_ns, least(coalesce(s.begin_ns, w.end_ns),
            w.end_ns) AS end_ns
          FROM (SELECT * FROM outs WHERE left_ns <= 0) o
          ASOF LEFT JOIN (SELECT vgpu, begin_ns FROM spans WHERE kind = 'current') s
          ON s.vgpu = o.vgpu AND o.t_ns <= s.begin_ns
          CROSS JOIN trace_window w
        ), keyed AS (SELECT * FROM parked WHERE end_ns > begin_ns),
        -- The first and the last time in it in which work waited: whether a wait covers the begin tells the largest
        -- end of those that began before; no pair of a parked time and a wait is looked at.
        waits AS (
          SELECT vgpu, begin_ns, max(end_ns) OVER (PARTITION BY vgpu ORDER BY begin_ns, end_ns) AS reach
          FROM spans WHERE kind = 'vgpu queue'
        ), pending AS (
          SELECT k.vgpu, CASE WHEN f.reach > k.begin_ns THEN k.begin_ns ELSE n.begin_ns END AS begin_ns,
                 least(k.end_ns, l.reach) AS end_ns
          FROM keyed k
          ASOF LEFT JOIN waits f ON f.vgpu = k.vgpu AND k.begin_ns >= f.begin_ns
          ASOF LEFT JOIN waits n ON n.vgpu = k.vgpu AND k.begin_ns < n.begin_ns
          ASOF LEFT JOIN waits l ON l.vgpu = k.vgpu AND k.end_ns > l.begin_ns
        ),
        -- How much all engines had worked up to a time: at every edge of an execution, and between them in proportion.
        edges AS (
          SELECT t, sum(d) AS d FROM (
            SELECT begin_ns AS t, 1 AS d FROM executions UNION ALL SELECT end_ns, -1 FROM executions
          ) GROUP BY t
        ), heights AS (
          SELECT t, lead(t) OVER (ORDER BY t) AS next_t, sum(d) OVER (ORDER BY t) AS height FROM edges
        ), worked AS (
          SELECT t, height, coalesce(sum(height * (next_t - t)) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING
                                                                       AND 1 PRECEDING), 0) AS done
          FROM heights
        ), lost AS (
          SELECT p.vgpu, p.begin_ns, greatest(0, p.end_ns - p.begin_ns
                 - (coalesce(y.done + y.height * (p.end_ns - y.t), 0)
                    - coalesce(x.done + x.height * (p.begin_ns - x.t), 0))) AS ns
          FROM (SELECT * FROM pending WHERE end_ns > begin_ns) p
          ASOF LEFT JOIN worked x ON p.begin_ns >= x.t
          ASOF LEFT JOIN worked y ON p.end_ns >= y.t
        )
        SELECT 'time slice of vGPU ' || vgpu AS culprit, 'vGPU ' || vgpu AS victim, count(*) AS n,
          sum(ns)::BIGINT AS ns,
               arg_max(begin_ns, ns) AS begin_ns, max(ns)::BIGINT AS worst_ns,
                 'work waits while the GPU is idle' AS what
        FROM lost WHERE ns > 0 GROUP BY vgpu
    """
