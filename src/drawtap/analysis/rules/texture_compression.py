from drawtap.analysis.rule import rule


@rule(
    title="Large textures that are not compressed",
    fix="Compress with ETC2 or ASTC (OpenGL ES 3), BC1 to BC7 (desktop), and ship the compressed files.",
    hardware=("tiled", "desktop"),
    concerns="content",
    original="Texture data compression",
)
def texture_compression() -> str:
    """A compressed texture takes a quarter to a twelfth of the memory and of the bandwidth of every fetch. Reported
    for colour images from 128 by 128 on that the program loads; small ones, render targets, and textures whose
    content changes are left out.
    """
    return """
WITH changes AS (
    SELECT g.share_group, u.texture, u.target, count(DISTINCT u.frame) AS frames
    FROM texture_uploads u JOIN contexts g ON g.context = u.context WHERE u.level = 0 AND u.bytes > 0
    GROUP BY g.share_group, u.texture, u.target
)
SELECT i.seq, i.frame, i.bytes, i.function || ' ' || i.width || ' × ' || i.height || ' ' || i.format || ' '
    || i.type AS what
FROM texture_uploads i JOIN contexts g ON g.context = i.context
LEFT JOIN changes c ON c.share_group = g.share_group AND c.texture = i.texture AND c.target = i.target
WHERE NOT i.compressed AND NOT i.part AND i.level = 0 AND i.bytes > 0 AND i.width * i.height >= 16384
  AND coalesce(c.frames, 1) < 3
  AND i.format IN ('GL_RGB', 'GL_RGBA', 'GL_BGRA', 'GL_BGRA_EXT', 'GL_BGR', 'GL_LUMINANCE',
    'GL_LUMINANCE_ALPHA', 'GL_RED', 'GL_RG')
  AND i.type LIKE '%UNSIGNED%' ORDER BY i.bytes DESC, i.seq
"""
