"""Textures uploaded and replaced without being drawn."""

from __future__ import annotations

from drawtap.analysis.rule import rule


@rule(
    title="Textures uploaded and replaced without being drawn",
    fix="Upload when the content is final.",
)
def replaced_textures() -> str:
    """The first upload was for nothing. (A finding of Kyostila's in an image gallery.)"""
    return """
WITH uploads AS (
    SELECT u.*, lead(u.seq) OVER w AS next_seq, lead(u.frame) OVER w AS next_frame FROM texture_uploads u
    WHERE u.bytes > 0 AND u.texture <> 0 AND NOT u.part
    WINDOW w AS (PARTITION BY u.context, u.texture, u.target, u.level ORDER BY u.seq)
)
SELECT u.seq, u.frame, u.bytes, u.duration AS ns, u.function || ' of texture ' || u.texture
    || ', replaced by call ' || u.next_seq AS what
FROM uploads u WHERE u.next_seq IS NOT NULL AND u.seq NOT IN (
    SELECT x.seq
    FROM (SELECT y.seq, y.context, greatest(b.seq, y.seq) AS since, least(y.next_seq, coalesce(b.until,
        y.next_seq)) AS until
          FROM uploads y JOIN texture_bindings b ON b.context = y.context AND b.texture = y.texture
          WHERE b.seq < y.next_seq AND coalesce(b.until, y.next_seq) > y.seq) x
    ASOF JOIN draw_calls d ON d.context = x.context AND d.seq > x.since WHERE d.seq < x.until) ORDER BY u.seq
"""
