from drawtap.analysis.rule import rule


@rule(
    title="Contexts made current that already are",
    fix="Make a context current once a thread, and remember it.",
    api="any",
)
def same_context_again() -> str:
    """Making a context current flushes it and costs a trip to the window system, even when nothing changes."""
    return """
WITH following AS (
    SELECT m.*, lag(m.made) OVER t AS before, lag(m.surface) OVER t AS surface_before,
        lag(m.read_surface) OVER t AS read_before
    FROM made_current m WINDOW t AS (PARTITION BY m.thread ORDER BY m.seq)
)
SELECT f.seq, f.frame, f.duration AS ns FROM following f
WHERE f.made <> 0 AND f.made = f.before AND f.surface = f.surface_before AND f.read_surface = f.read_before
    AND f.frame >= 1 ORDER BY f.seq
"""
