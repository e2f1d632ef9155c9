from drawtap.analysis.rule import rule


@rule(
    title="Triangle lists without indices",
    fix="Use indices (the GPU keeps processed vertices), or triangle strips where there are none.",
    severity="note",
    concerns="content",
    original="Triangle strip geometry",
)
def triangle_strips() -> str:
    """Separate triangles send each shared corner up to six times through the vertex stage. Reported for lists of
    eight triangles and more; points, lines, fans, strips and draws with indices are left out.
    """
    return """
SELECT min(g.seq) AS seq, min(g.frame) AS frame, list(DISTINCT g.frame) AS frames,
       count(*) AS n, 'GL_TRIANGLES of ' || g.vertices
    || ' vertices' AS what
FROM drawn g WHERE NOT g.indexed AND g.mode = 'GL_TRIANGLES'
    AND g.vertices >= 24 GROUP BY g.vertices ORDER BY count(*) * g.vertices DESC
"""
