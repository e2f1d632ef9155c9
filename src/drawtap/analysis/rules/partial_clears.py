from drawtap.analysis.rule import rule


@rule(
    title="Clears through scissor or masks",
    fix="Disable GL_SCISSOR_TEST and open all masks before glClear.",
    severity="note",
    hardware=("tiled",),
    needs=("frames",),
)
def partial_clears() -> str:
    """A clear of the whole framebuffer sets tiles to a value; a partial one is a draw, and the old picture must be
    loaded.
    """
    return """
SELECT min(c.seq) AS seq, c.frame, count(*) AS n, 'glClear with scissor' AS what
FROM clears c JOIN steady_frames s ON s.frame = c.frame
ASOF JOIN (SELECT * FROM toggles WHERE cap = GL_SCISSOR_TEST) t ON t.context = c.context AND t.seq <= c.seq
WHERE t.is_on GROUP BY c.frame ORDER BY seq
"""
