"""Textures whose filter needs mipmaps that they do not have.

`analysis/incomplete.py` has all rules of completeness, for one state. A rule asks the whole recording, and a state for
each draw of a long one takes too long. So this question looks for the commonest fault alone. It answers nothing where
a recording has calls whose effect the tables lack: immutable storage, samplers, parameters as arrays, and
GL_GENERATE_MIPMAP.
"""

from drawtap.analysis.rule import rule


@rule(
    title="Textures whose filter needs mipmaps that they do not have",
    fix=("Set GL_TEXTURE_MIN_FILTER to GL_LINEAR, or upload mipmaps or generate them; or set GL_TEXTURE_MAX_LEVEL."),
    severity="error",
)
def incomplete_textures() -> str:
    """Such a texture is incomplete: shaders read black. GL_TEXTURE_MIN_FILTER starts as GL_NEAREST_MIPMAP_LINEAR."""
    return """
WITH parameters AS (
    SELECT p.texture, c.share_group, max_by(p.value, p.seq) FILTER (p.pname = GL_TEXTURE_MIN_FILTER) AS filter,
        bool_or(p.pname = GL_TEXTURE_MAX_LEVEL) AS limited
    FROM texture_parameters p JOIN contexts c ON c.context = p.context GROUP BY p.texture, c.share_group
), generated AS (
    SELECT DISTINCT b.texture, c.share_group
    FROM (SELECT g.*, coalesce(u.unit, 0) AS unit, g.target_value AS binding FROM "glGenerateMipmap" g
          ASOF LEFT JOIN texture_units u ON u.context = g.context AND u.seq <= g.seq) g
    ASOF JOIN texture_bindings b ON b.context = g.context AND b.unit = g.unit AND b.target = g.binding
        AND b.seq <= g.seq
    JOIN contexts c ON c.context = g.context
)
SELECT t.seq, 'texture ' || t.texture || ': ' || t.width || ' × ' || t.height || ', one level' AS what
FROM textures t
LEFT JOIN parameters p ON p.texture = t.texture AND p.share_group = t.share_group
LEFT JOIN generated g ON g.texture = t.texture AND g.share_group = t.share_group
JOIN drawn_textures d ON d.texture = t.texture AND d.share_group = t.share_group
WHERE t.texture <> 0 AND t.levels = 1 AND greatest(t.width, t.height) > 1 AND g.texture IS NULL
    AND NOT coalesce(p.limited, false)
  AND coalesce(p.filter, GL_NEAREST_MIPMAP_LINEAR) NOT IN (GL_NEAREST, GL_LINEAR)
  AND NOT EXISTS (SELECT 1 FROM "glTexStorage2D") AND NOT EXISTS (SELECT 1 FROM "glBindSampler")
  AND NOT EXISTS (SELECT 1 FROM "glTexParameteriv") AND NOT EXISTS (SELECT 1 FROM "glTexParameterfv")
  AND NOT EXISTS (SELECT 1 FROM texture_parameters a WHERE a.pname = GL_GENERATE_MIPMAP) ORDER BY t.seq
"""
