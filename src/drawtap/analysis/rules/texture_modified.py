from drawtap.analysis.rule import rule


@rule(
    title="Textures changed after a draw has used them",
    fix="Change textures at the start of a frame, or let two textures take turns.",
    needs=("frames",),
    original="Existing texture data modification",
)
def texture_modified() -> str:
    """The driver must wait for the GPU, or copy the texture. Reported for uploads into a texture that something of the
    same frame was drawn with before, since it was last changed.
    """
    return """
WITH changes AS (
    SELECT u.seq, u.frame, g.share_group, u.function, u.texture, u.bytes, u.duration,
        greatest(s.first_seq, lag(u.seq, 1, 0) OVER (PARTITION BY g.share_group, u.texture ORDER BY u.seq)) AS since
    FROM texture_uploads u JOIN steady_frames s ON s.frame = u.frame JOIN contexts g ON g.context = u.context
    WHERE u.texture <> 0 AND u.bytes > 0
)
SELECT c.seq, c.frame, c.bytes, c.duration AS ns, c.function || ' of texture ' || c.texture
    || ', drawn with before' AS what
FROM changes c ASOF JOIN texture_reads d
  ON d.share_group = c.share_group AND d.texture = c.texture AND d.seq < c.seq WHERE d.seq > c.since ORDER BY c.seq
"""
