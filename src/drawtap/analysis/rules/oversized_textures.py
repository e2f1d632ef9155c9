from drawtap.analysis.rule import rule


@rule(
    title="Textures larger than anything they are drawn on",
    fix="Ship the texture in the size in which it is seen.",
    concerns="content",
)
def oversized_textures() -> str:
    """Most of their pixels are never seen, but loaded and kept. Reported for textures more than twice as wide and
    high as the largest viewport.
    """
    return """
WITH view AS (
    SELECT max(v.width::BIGINT) AS width, max(v.height::BIGINT) AS height FROM "glViewport" v
)
SELECT t.seq, t.bytes, 'texture ' || t.texture || ': ' || t.width || ' × ' || t.height || ', largest viewport '
    || v.width || ' × ' || v.height AS what
FROM textures t, view v WHERE t.loaded AND NOT t.cube AND t.width > 2 * v.width
    AND t.height > 2 * v.height ORDER BY t.bytes DESC
"""
