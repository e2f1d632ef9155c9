from drawtap.analysis.rule import rule


@rule(
    title="glFlush in the middle of a frame",
    fix="Leave flushing to the swap; flush only before another thread or context waits for a fence.",
    hardware=("tiled",),
    needs=("frames",),
    api="any",
)
def flush_in_frame() -> str:
    """A flush between draws makes a GPU that draws tile by tile write all tiles out and load them again. Reported
    for frames with draws after the flush, where more than a tenth of the frames do it.
    """
    return """
WITH flushes AS (
    SELECT c.frame, min(c.seq) AS seq, count(*) AS n, sum(c.duration) AS ns
    FROM (SELECT x.seq, x.frame, x.context, x.duration FROM calls x JOIN functions f ON f.id = x.fn
        JOIN steady_frames s ON s.frame = x.frame WHERE f.category = 'flush') c
    ASOF JOIN draw_calls d ON d.context = c.context AND d.seq > c.seq WHERE d.frame = c.frame GROUP BY c.frame
)
SELECT seq, frame, n, ns FROM flushes
WHERE (SELECT count(*) FROM flushes) > 0.1 * (SELECT count(*) FROM steady_frames) ORDER BY seq
"""
