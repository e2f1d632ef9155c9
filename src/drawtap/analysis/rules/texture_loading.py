from drawtap.analysis.rule import rule


@rule(
    title="Textures loaded while frames are drawn",
    fix=(
        "Load textures before the first frame or in a thread of its own; stream through pixel buffer objects "
        "what must change."
    ),
    concerns="content",
    needs=("frames",),
    api="any",
    original="Loading texture data during frame rendering",
)
def texture_loading() -> str:
    """An upload takes memory bandwidth and time in which the frame waits. Reported where at least a tenth of the
    frames after the first load pixels.
    """
    return """
WITH loads AS (
    SELECT i.frame, min(i.seq) AS seq, count(*) AS n, sum(i.duration) AS ns, sum(i.bytes) AS bytes,
           string_agg(DISTINCT i.function, ', ') AS what
    FROM images i JOIN steady_frames s ON s.frame = i.frame WHERE i.bytes > 0 GROUP BY i.frame
)
SELECT seq, frame, n, ns, bytes, what FROM loads
WHERE (SELECT count(*) FROM loads) >= 0.1 * (SELECT count(*) FROM steady_frames) ORDER BY seq
"""
