from drawtap.analysis.rule import rule


@rule(
    title="Draws of no vertices",
    fix="Skip the call when there is nothing to draw.",
    severity="note",
)
def empty_draws() -> str:
    """The driver checks all state, and nothing is drawn."""
    return """
SELECT min(g.seq) AS seq, g.frame, count(*) AS n, count(*) || ' draws' AS what FROM drawn g
WHERE (g.vertices = 0 OR g.instances = 0) AND NOT g.indirect GROUP BY g.frame ORDER BY seq
"""
