from drawtap.analysis.rule import rule


@rule(
    title="Images made anew for pixels that an earlier image had",
    fix="Keep the image, and make another one only for other pixels.",
    needs=("frames",),
    api="vg",
)
def vector_image_churn() -> str:
    """Every image costs memory, an upload and a conversion to the engine's format. Kyostila's SVG player put images in
    the place of complex shapes to be faster, and then uploaded the same images for every frame.
    """
    return """
WITH filled AS (
    SELECT u.seq, u.frame, u.image, u.width, u.height, u."dataFormat" AS format, u.data_bytes::BIGINT AS bytes,
        u.duration, coalesce(u.data_blob::VARCHAR, md5(u.data_data::BLOB)) AS content FROM "vgImageSubData" u
), lives AS (
    SELECT f.*, m.seq AS made FROM filled f
    ASOF JOIN (SELECT c.seq, c.result AS image FROM "vgCreateImage" c) m ON m.image = f.image AND m.seq < f.seq
), again AS (
    SELECT l.*, lag(l.made) OVER (PARTITION BY l.content, l.width, l.height, l.format ORDER BY l.seq) AS before
    FROM lives l WHERE l.content IS NOT NULL
)
SELECT a.seq, a.frame, a.bytes, a.duration AS ns, a.width || ' × ' || a.height
    || ' pixels, as of the image that call ' || a.before || ' made' AS what
FROM again a JOIN steady_frames s ON s.frame = a.frame WHERE a.before <> a.made ORDER BY a.seq
"""
