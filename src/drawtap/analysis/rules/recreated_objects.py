from drawtap.analysis.rule import rule


@rule(
    title="Objects made and removed in every frame",
    fix="Make objects once and change their content, or keep a pool of them.",
    needs=("frames",),
    api="any",
)
def recreated_objects() -> str:
    """A driver cannot optimise what lives for one frame only, and making objects costs more than changing them.
    Reported for kinds of objects that more than a quarter of the frames both make and remove.
    """
    return """
WITH per_frame AS (
    SELECT l.frame, l.kind, min(l.seq) FILTER (l.made) AS seq, count(*) FILTER (l.made) AS made,
        count(*) FILTER (NOT l.made) AS removed
    FROM lives l JOIN steady_frames s ON s.frame = l.frame WHERE l.kind <> '' GROUP BY l.frame, l.kind
)
SELECT min(seq) AS seq, min(frame) AS frame, list(DISTINCT frame) AS frames,
       sum(made)::BIGINT AS n, kind || ': made and removed in ' || count(*)
    || ' frames' AS what
FROM per_frame WHERE made > 0 AND removed > 0 GROUP BY kind
HAVING count(*) > 0.25 * (SELECT count(*) FROM steady_frames) ORDER BY seq
"""
