from drawtap.analysis.rule import rule


@rule(
    title="Query results fetched before they are there",
    fix="Ask for GL_QUERY_RESULT_AVAILABLE first, or fetch the result two frames later.",
    needs=("frames",),
)
def query_stalls() -> str:
    """Asking for the result of a query in the frame that made it waits for the GPU."""
    return """
WITH ended AS (
    SELECT b.seq, b.frame, b.context, b.id FROM "glBeginQuery" b
), asked AS (
    SELECT q.seq, q.frame, q.context, q.id, q.pname_value AS pname, q.duration FROM "glGetQueryObjectuiv" q
    UNION ALL SELECT i.seq, i.frame, i.context, i.id, i.pname_value, i.duration FROM "glGetQueryObjectiv" i
    UNION ALL SELECT l.seq, l.frame, l.context, l.id, l.pname_value, l.duration FROM "glGetQueryObjectui64v" l
)
SELECT a.seq, a.frame, a.duration AS ns, 'query ' || a.id AS what
FROM (SELECT x.* FROM asked x JOIN steady_frames s ON s.frame = x.frame WHERE x.pname = GL_QUERY_RESULT) a
ASOF JOIN ended e ON e.context = a.context AND e.id = a.id AND e.seq <= a.seq
ASOF LEFT JOIN (SELECT y.* FROM asked y WHERE y.pname = GL_QUERY_RESULT_AVAILABLE) b
  ON b.context = a.context AND b.id = a.id
    AND b.seq <= a.seq
WHERE e.frame = a.frame AND (b.seq IS NULL OR b.seq < e.seq) ORDER BY a.seq
"""
