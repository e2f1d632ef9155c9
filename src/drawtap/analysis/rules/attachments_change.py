from drawtap.analysis.rule import rule


@rule(
    title="Attachments of framebuffers changed while frames are drawn",
    fix="Keep one framebuffer object for each combination of attachments.",
    severity="note",
    hardware=("tiled",),
    needs=("frames",),
)
def attachments_change() -> str:
    """A framebuffer whose attachments change must be checked anew and ends what the GPU was drawing. Reported where
    more than half of the frames do it.
    """
    return """
WITH changes AS (
    SELECT a.seq, a.frame FROM "glFramebufferTexture2D" a
    UNION ALL SELECT r.seq, r.frame FROM "glFramebufferRenderbuffer" r
    UNION ALL SELECT l.seq, l.frame FROM "glFramebufferTextureLayer" l
), per_frame AS (
    SELECT c.frame, min(c.seq) AS seq, count(*) AS n FROM changes c
        JOIN steady_frames s ON s.frame = c.frame GROUP BY c.frame
)
SELECT seq, frame, n, n || ' attachments' AS what FROM per_frame
WHERE (SELECT count(*) FROM per_frame) > 0.5 * (SELECT count(*) FROM steady_frames) ORDER BY seq
"""
