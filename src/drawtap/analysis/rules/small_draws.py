from drawtap.analysis.rule import rule


@rule(
    title="Many tiny draws that could be one",
    fix=(
        "Put the objects into one buffer and draw them at once, with instancing or with positions computed beforehand."
    ),
    concerns="content",
    needs=("frames",),
)
def small_draws() -> str:
    """A draw costs the same time on the CPU for two triangles as for two thousand. Reported for frames with at least
    50 draws of fewer than 60 vertices that follow another such draw with the same program and textures.
    """
    return """
WITH bound AS (
    SELECT p.seq, p.context, p.program AS value FROM "glUseProgram" p
    UNION ALL SELECT b.seq, b.context, b.texture FROM "glBindTexture" b
), tiny AS (
    SELECT g.seq, g.frame, g.context, g.vertices * g.instances < 60 AS tiny,
           lag(g.seq) OVER (PARTITION BY g.context ORDER BY g.seq) AS before,
           lag(g.vertices * g.instances < 60) OVER (PARTITION BY g.context ORDER BY g.seq) AS tiny_before
    FROM drawn g
), alike AS (
    SELECT t.seq, t.frame FROM tiny t ASOF LEFT JOIN bound b ON b.context = t.context AND b.seq <= t.seq
    WHERE t.tiny AND t.tiny_before AND (b.seq IS NULL OR b.seq < t.before)
)
SELECT min(a.seq) AS seq, a.frame, count(*) AS n, count(*) || ' small draws in a row' AS what
FROM alike a JOIN steady_frames s ON s.frame = a.frame GROUP BY a.frame HAVING count(*) >= 50 ORDER BY seq
"""
