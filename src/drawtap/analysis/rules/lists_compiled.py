from drawtap.analysis.rule import rule


@rule(
    title="Display lists compiled while frames are drawn",
    fix="Compile lists once, or draw from buffer objects.",
    hardware=("desktop", "software"),
    needs=("frames",),
)
def lists_compiled() -> str:
    """A list that is used once costs more than the calls in it. Reported where more than a tenth of the frames
    compile.
    """
    return """
WITH made AS (
    SELECT l.frame, min(l.seq) AS seq, count(*) AS n FROM "glNewList" l
        JOIN steady_frames s ON s.frame = l.frame GROUP BY l.frame
)
SELECT seq, frame, n, n || ' lists' AS what FROM made WHERE (SELECT count(*) FROM made) > 0.1 * (SELECT count(*)
    FROM steady_frames) ORDER BY seq
"""
