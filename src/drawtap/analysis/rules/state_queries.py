from drawtap.analysis.rule import rule


@rule(
    title="State asked of the driver in every frame",
    fix="Keep what you set in variables of your own; ask once, when the program starts.",
    needs=("frames",),
)
def state_queries() -> str:
    """glGet* and glIs* may wait for the driver's own thread, and always cost more than a variable of the program.
    Reported where more than a tenth of the frames ask.
    """
    return """
WITH asked AS (
    SELECT c.frame, min(c.seq) AS seq, count(*) AS n, sum(c.duration) AS ns, string_agg(DISTINCT f.name, ', ') AS what
    FROM calls c JOIN functions f ON f.id = c.fn JOIN steady_frames s ON s.frame = c.frame
    WHERE regexp_matches(f.name, '^gl(Get|Is)[A-Z]') AND f.category = 'state'
      AND NOT regexp_matches(f.name, '^glGet(Query|Sync|Debug|.*Location|.*Index)')
    GROUP BY c.frame
)
SELECT seq, frame, n, ns, what FROM asked
WHERE (SELECT count(*) FROM asked) > 0.1 * (SELECT count(*) FROM steady_frames) ORDER BY seq
"""
