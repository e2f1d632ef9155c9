"""Contexts made current that already are."""

from __future__ import annotations

from drawtap.analysis.rule import rule


@rule(
    title="Contexts made current that already are",
    fix="Make a context current once a thread, and remember it.",
    api="any",
)
def same_context_again() -> str:
    """Making a context current flushes it and costs a trip to the window system, even when nothing changes."""
    return """
WITH made AS (
    SELECT m.seq, m.frame, m.thread, m.duration, m.ctx AS made, m.draw AS surface FROM "eglMakeCurrent" m
    UNION ALL SELECT g.seq, g.frame, g.thread, g.duration, g.ctx, g.drawable FROM "glXMakeCurrent" g
), following AS (
    SELECT m.*, lag(m.made) OVER t AS before, lag(m.surface) OVER t AS surface_before
        FROM made m WINDOW t AS (PARTITION BY m.thread ORDER BY m.seq)
)
SELECT f.seq, f.frame, f.duration AS ns FROM following f
WHERE f.made <> 0 AND f.made = f.before AND f.surface = f.surface_before AND f.frame >= 1 ORDER BY f.seq
"""
