"""Textures changed after a draw has used them."""

from __future__ import annotations

from drawtap.analysis.rule import rule


@rule(
    title="Textures changed after a draw has used them",
    fix="Change textures at the start of a frame, or let two textures take turns.",
    needs=("frames",),
    original="Existing texture data modification",
)
def texture_modified() -> str:
    """The driver must wait for the GPU, or copy the texture. Reported for uploads into a texture that was bound
    while something was drawn in the same frame.
    """
    return """
WITH changes AS (
    SELECT u.seq, u.frame, u.context, u.function, u.texture, u.bytes, u.duration, s.first_seq
    FROM texture_uploads u JOIN steady_frames s ON s.frame = u.frame WHERE u.texture <> 0 AND u.bytes > 0
)
SELECT DISTINCT c.seq, c.frame, c.bytes, c.duration AS ns, c.function || ' of texture ' || c.texture
    || ', drawn with before' AS what
FROM (SELECT x.*, greatest(b.seq, x.first_seq) AS since, least(x.seq, coalesce(b.until, x.seq)) AS until
      FROM changes x JOIN texture_bindings b ON b.context = x.context AND b.texture = x.texture
      WHERE b.seq < x.seq AND coalesce(b.until, x.seq) > x.first_seq) c
ASOF JOIN draw_calls d ON d.context = c.context AND d.seq > c.since WHERE d.seq < c.until ORDER BY c.seq
"""
