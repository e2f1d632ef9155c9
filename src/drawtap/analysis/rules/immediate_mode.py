from drawtap.analysis.rule import rule


@rule(
    title="Vertices handed over one by one",
    fix="Put the vertices into a buffer object and draw them with glDrawArrays or glDrawElements.",
)
def immediate_mode() -> str:
    """glBegin and glEnd cost a call for every vertex and attribute; core profiles and OpenGL ES do not have them.
    Display lists are left out.
    """
    return """
SELECT min(b.seq) AS seq, b.frame, count(*) AS n, count(*) || ' × glBegin' AS what
FROM "glBegin" b ASOF LEFT JOIN lists l ON l.context = b.context AND l.seq <= b.seq
WHERE NOT coalesce(l.keeps, false) GROUP BY b.frame ORDER BY seq
"""
