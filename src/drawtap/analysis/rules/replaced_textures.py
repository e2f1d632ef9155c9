from drawtap.analysis.rule import rule


@rule(
    title="Textures uploaded and replaced without being drawn",
    fix="Upload when the content is final.",
    needs=("redundancy",),
)
def replaced_textures() -> str:
    """The first upload was for nothing. (A finding of Kyostila's in an image gallery.) Reported for uploads that no
    draw reads before the next one, not even one of a display list, and no copy.
    """
    return """
WITH uploads AS (
    SELECT u.*, g.share_group, lead(u.seq) OVER w AS next_seq
    FROM texture_uploads u JOIN contexts g ON g.context = u.context
    WHERE u.bytes > 0 AND u.texture <> 0 AND NOT u.part
    WINDOW w AS (PARTITION BY g.share_group, u.texture, u.target, u.level ORDER BY u.seq)
), replaced AS (
    SELECT u.* FROM uploads u JOIN redundancy r ON r.seq = u.seq AND r.kind = 'unused upload'
    WHERE u.next_seq IS NOT NULL
)
SELECT u.seq, u.frame, u.bytes, u.duration AS ns, u.function || ' of texture ' || u.texture
    || ', replaced by call ' || u.next_seq AS what
FROM replaced u ASOF LEFT JOIN texture_reads d
  ON d.share_group = u.share_group AND d.texture = u.texture AND d.seq > u.seq
WHERE d.seq IS NULL OR d.seq > u.next_seq ORDER BY u.seq
"""
