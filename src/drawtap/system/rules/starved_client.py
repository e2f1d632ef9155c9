"""A client that waits far longer than it works."""

from drawtap.system.rule import rule


@rule(
    title="One client waits while another has the engine",
    fix="Give the waiting client higher priority or weight, or move one of the two to another engine or host.",
)
def starved_client() -> str:
    """A client whose requests wait at least twice as long as they run does not get the engine it asks for.

    The culprit is who had the engine while it had something waiting, where that was at least a third of that time.
    """
    return """
        WITH starved AS (
          SELECT device, engine, client, avg(wait_ns) AS wait, avg(execution_ns) AS work FROM requests
          WHERE wait_ns IS NOT NULL AND execution_ns IS NOT NULL
            GROUP BY ALL HAVING avg(wait_ns) >= 2 * avg(execution_ns)
        ), waited AS (SELECT device, engine, client, sum(end_ns - begin_ns) AS ns FROM busy_waits GROUP BY ALL)
        SELECT t.culprit, t.victim, count(*) AS n, sum(t.ns)::BIGINT AS ns, arg_max(t.begin_ns, t.ns) AS begin_ns,
               max(t.ns)::BIGINT AS worst_ns,
               'waits ' || round(any_value(s.wait) / 1e6, 1) || ' ms for ' || round(any_value(s.work) / 1e6, 1) ||
               ' ms of work on ' || t.engine AS what
        FROM taken t
        JOIN starved s ON s.device = t.device AND s.engine = t.engine AND s.client = t.victim
        JOIN waited w ON w.device = t.device AND w.engine = t.engine AND w.client = t.victim
        GROUP BY t.culprit, t.victim, t.device, t.engine HAVING 3 * sum(t.ns) >= any_value(w.ns)
    """
