from drawtap.analysis.rule import rule


@rule(
    title="Mipmaps generated while frames are drawn",
    fix="Load mipmaps from files, or generate them once after the upload.",
    severity="note",
    needs=("frames",),
)
def mipmaps_generated() -> str:
    """Every level is filtered anew. Reported where more than a tenth of the frames do it."""
    return """
WITH made AS (
    SELECT g.frame, min(g.seq) AS seq, count(*) AS n, sum(g.duration) AS ns FROM "glGenerateMipmap" g
    JOIN steady_frames s ON s.frame = g.frame GROUP BY g.frame
)
SELECT seq, frame, n, ns FROM made WHERE (SELECT count(*) FROM made) > 0.1 * (SELECT count(*)
    FROM steady_frames) ORDER BY seq
"""
