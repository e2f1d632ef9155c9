from drawtap.analysis.rule import rule


@rule(
    title="Textures without mipmaps",
    fix=(
        "Upload mipmaps or call glGenerateMipmap once, and set GL_TEXTURE_MIN_FILTER to "
        "GL_LINEAR_MIPMAP_NEAREST or better."
    ),
    concerns="content",
    original="Mipmap usage",
)
def mipmap_usage() -> str:
    """A large texture that is drawn small reads far apart in memory for every pixel, and flickers. Reported for
    textures from 128 by 128 on whose filter (GL_NEAREST or GL_LINEAR) uses no mipmaps. Textures of single level
    that are shown at their own size (pictures, text) need none: suppress the rule for them.
    """
    return """
WITH filters AS (
    SELECT p.texture, c.share_group, max_by(p.value, p.seq) AS value
    FROM texture_parameters p JOIN contexts c ON c.context = p.context
    WHERE p.pname = GL_TEXTURE_MIN_FILTER AND p.texture <> 0
    GROUP BY p.texture, c.share_group
)
SELECT t.seq, t.bytes, 'texture ' || t.texture || ': ' || t.width || ' × ' || t.height || ', '
       || CASE f.value WHEN GL_NEAREST THEN 'GL_NEAREST' ELSE 'GL_LINEAR' END AS what
FROM textures t JOIN filters f ON f.texture = t.texture AND f.share_group = t.share_group
JOIN drawn_textures d ON d.texture = t.texture AND d.share_group = t.share_group
WHERE t.loaded AND f.value IN (GL_NEAREST, GL_LINEAR) AND t.width * t.height >= 16384 AND t.height > 1
ORDER BY t.bytes DESC,
    t.seq
"""
