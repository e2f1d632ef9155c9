from drawtap.analysis.rule import rule


@rule(
    title="Frames that draw with depth test before clearing depth",
    fix="Begin every frame with glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT), without scissor.",
    needs=("frames",),
    original="Depth buffer clearing",
)
def depth_clearing() -> str:
    """The GPU must load the old depth values of another frame, and they hide new draws. Reported for
    frames whose first draw with depth test on the window's framebuffer comes before a clear of depth (with
    glDepthMask open).
    """
    return """
WITH tested AS (
    SELECT d.frame, d.context, min(d.seq) AS seq, count(*) AS n FROM drawn d JOIN steady_frames s ON s.frame = d.frame
    WHERE d.depth_test AND d.framebuffer = 0 GROUP BY d.frame, d.context
), cleared AS (
    SELECT c.frame, c.context, min(c.seq) AS seq
    FROM clears c JOIN draws d ON d.seq = c.seq
    WHERE (c.mask & 256) <> 0 AND d.framebuffer = 0 AND d.depth_write GROUP BY c.frame, c.context
)
SELECT t.seq, t.frame, t.n, t.n || ' draws with depth test, depth '
    || CASE WHEN c.seq IS NULL THEN 'not cleared' ELSE 'cleared later' END AS what
FROM tested t LEFT JOIN cleared c ON c.frame = t.frame AND c.context = t.context
WHERE c.seq IS NULL OR c.seq > t.seq ORDER BY t.seq
"""
