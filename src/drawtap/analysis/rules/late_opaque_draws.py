from drawtap.analysis.rule import rule


@rule(
    title="Opaque things drawn behind transparent ones",
    fix="Draw opaque things first, front to back, then the sky, then transparent things, back to front.",
    concerns="content",
    needs=("frames",),
)
def late_opaque_draws() -> str:
    """Opaque draws that come after blended ones cannot save them any pixel, and blended results may be wrong.
    Reported for frames in which two and more opaque draws with depth test follow a blended one in the same
    framebuffer.
    """
    return """
WITH blended AS (
    SELECT d.frame, d.context, d.framebuffer, min(d.seq) AS seq FROM drawn d JOIN steady_frames s ON s.frame = d.frame
    WHERE d.blend AND d.depth_test GROUP BY d.frame, d.context, d.framebuffer
)
SELECT min(d.seq) AS seq, d.frame, count(*) AS n, count(*) || ' opaque draws after the first blended one' AS what
FROM drawn d JOIN blended b ON b.frame = d.frame AND b.context = d.context AND b.framebuffer = d.framebuffer
WHERE d.seq > b.seq AND NOT d.blend AND d.depth_test GROUP BY d.frame HAVING count(*) >= 2 ORDER BY seq
"""
