"""A request that does not come off its engine."""

from drawtap.system.rule import rule


@rule(
    title="An engine did not finish a request: it hangs, or works on something very long",
    fix="Look for a reset in the kernel's log, and at what that client submitted last; record until the request ends.",
    urgent=True,
)
def hung_engine() -> str:
    """A request that never comes off its engine stops everybody who waits for it.

    The rule counts an engine's last request if it was on the engine at the recording's end. It must have been there for
    at least 100 ms, and four times as long as the longest that ended there. That may be the first request that the
    recording tells of.
    """
    return """
        WITH typical AS (
          SELECT device, engine, max(end_ns - begin_ns) AS ns FROM executions WHERE NOT is_open GROUP BY ALL
        ), behind AS (
          SELECT device, engine, count(*) AS n FROM requests r, trace_window w
          WHERE is_open AND r.begin_ns IS NULL AND coalesce(created_ns, queued_ns, submitted_ns) < w.end_ns
          GROUP BY ALL
        ), hung AS (
          SELECT x.device, x.engine, coalesce(r.client, 'somebody') AS client, greatest(x.begin_ns, w.begin_ns) AS b,
                 least(x.end_ns, w.end_ns) - greatest(x.begin_ns, w.begin_ns) AS ns, t.ns AS typical_ns
          FROM executions x JOIN requests r ON r.id = x.request JOIN trace_window w ON x.begin_ns < w.end_ns
          LEFT JOIN typical t ON t.device = x.device AND t.engine = x.engine
          WHERE x.is_open AND r.is_open AND x.end_ns - x.begin_ns >= greatest(100000000, 4 * coalesce(t.ns, 0))
        )
        SELECT client AS culprit, h.device || '/' || h.engine AS victim, count(*) AS n, sum(h.ns)::BIGINT AS ns,
               arg_max(b, h.ns) AS begin_ns, max(h.ns)::BIGINT AS worst_ns,
               'on the engine for ' || round(max(h.ns) / 1e6, 1) || ' ms without an end, '
               || coalesce('the longest that ended took ' || round(max(typical_ns) / 1e6, 1) || ' ms',
                           'nothing ended there')
               || '; ' || coalesce(any_value(k.n), 0) || ' others wait' AS what
        FROM hung h LEFT JOIN behind k ON k.device = h.device AND k.engine = h.engine
        GROUP BY client, h.device, h.engine
    """
