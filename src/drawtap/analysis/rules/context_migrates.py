from drawtap.analysis.rule import rule


@rule(
    title="A context that changes threads while frames are drawn",
    fix="Keep a context on one thread; give other threads contexts that share objects.",
    needs=("frames",),
    api="any",
)
def context_migrates() -> str:
    """Every move flushes the context and loses what the other core had in its cache."""
    return """
WITH moves AS (
    SELECT m.*, lag(m.thread) OVER (PARTITION BY m.made ORDER BY m.seq) AS before FROM made_current m WHERE m.made <> 0
)
SELECT m.seq, m.frame, 'from thread ' || m.before || ' to thread ' || m.thread AS what
FROM moves m JOIN steady_frames s ON s.frame = m.frame WHERE m.before IS NOT NULL AND m.thread <> m.before
QUALIFY count(*) OVER () > 0.1 * (SELECT count(*) FROM steady_frames) ORDER BY m.seq
"""
