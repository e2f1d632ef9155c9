from drawtap.analysis.rule import rule


@rule(
    title="Fences waited for in the frame that made them",
    fix="Wait for the fence of two frames before.",
    needs=("frames",),
    api="any",
)
def fence_stalls() -> str:
    """The program stops until the GPU has done what it was just given: both take turns instead of working side by
    side.
    """
    return """
WITH fences AS (
    SELECT f.seq, f.frame, f.result AS fence FROM "glFenceSync" f
    UNION ALL SELECT e.seq, e.frame, e.result FROM "eglCreateSync" e
), waits AS (
    SELECT w.seq, w.frame, w.sync AS fence, w.duration FROM "glClientWaitSync" w WHERE w.timeout > 0
    UNION ALL SELECT x.seq, x.frame, x.sync, x.duration FROM "eglClientWaitSync" x WHERE x.timeout > 0
)
SELECT w.seq, w.frame, w.duration AS ns, 'fence of call ' || f.seq AS what
FROM waits w ASOF JOIN fences f ON f.fence = w.fence AND f.seq <= w.seq JOIN steady_frames s ON s.frame = w.frame
WHERE f.frame = w.frame ORDER BY w.seq
"""
