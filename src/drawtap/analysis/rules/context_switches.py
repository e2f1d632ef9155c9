from drawtap.analysis.rule import rule


@rule(
    title="Several contexts in turn within every frame",
    fix="Draw everything with one context; share objects instead of switching.",
    needs=("frames",),
    api="any",
)
def context_switches() -> str:
    """Every switch flushes one context and validates all state of the other. Reported where more than a tenth of the
    frames switch twice and more on one thread.
    """
    return """
WITH changed AS (
    SELECT x.*
    FROM (SELECT m.*, lag(m.made) OVER (PARTITION BY m.thread ORDER BY m.seq) AS before FROM made_current m) x
    WHERE x.made <> 0 AND x.made IS DISTINCT FROM x.before
), per_frame AS (
    SELECT c.frame, min(c.seq) AS seq, count(*) AS n, sum(c.duration) AS ns FROM changed c
        JOIN steady_frames s ON s.frame = c.frame
    GROUP BY c.frame HAVING count(*) >= 2
)
SELECT seq, frame, n, ns, n || ' switches' AS what FROM per_frame
WHERE (SELECT count(*) FROM per_frame) > 0.1 * (SELECT count(*) FROM steady_frames) ORDER BY seq
"""
