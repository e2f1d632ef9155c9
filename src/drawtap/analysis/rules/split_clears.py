from drawtap.analysis.rule import rule


@rule(
    title="Buffers cleared one after the other",
    fix="Clear colour, depth and stencil with one glClear.",
    severity="note",
    needs=("frames",),
)
def split_clears() -> str:
    """Depth and stencil share their memory on most hardware: one clear of all costs less than two."""
    return """
WITH passes AS (
    SELECT c.seq, c.frame, c.context, true AS clears FROM clears c
    UNION ALL SELECT d.seq, d.frame, d.context, false FROM draw_calls d
    UNION ALL SELECT t.seq, t.frame, t.context, false FROM targets t
), following AS (
    SELECT b.*, lag(b.clears) OVER (PARTITION BY b.context, b.frame ORDER BY b.seq) AS before FROM passes b
)
SELECT min(f.seq) AS seq, f.frame, count(*) AS n, 'glClear right after glClear' AS what
FROM following f JOIN steady_frames s ON s.frame = f.frame WHERE f.clears AND f.before GROUP BY f.frame ORDER BY seq
"""
