from drawtap.analysis.rule import rule


@rule(
    title="glGetError called over and over",
    fix="Ask in debug builds only, or use the debug output (KHR_debug).",
    severity="note",
    needs=("frames",),
    api="any",
)
def error_queries() -> str:
    """A question for the error state keeps a driver from handing calls to a thread of its own. Reported from two a
    frame on.
    """
    return """
WITH asked AS (
    SELECT c.frame, min(c.seq) AS seq, count(*) AS n, sum(c.duration) AS ns, string_agg(DISTINCT f.name, ', ') AS what
    FROM calls c JOIN functions f ON f.id = c.fn JOIN steady_frames s ON s.frame = c.frame
    WHERE f.category = 'error_query' GROUP BY c.frame
)
SELECT seq, frame, n, ns, what FROM asked
WHERE (SELECT sum(n) FROM asked) >= 2 * (SELECT count(*) FROM steady_frames) ORDER BY seq
"""
