from drawtap.analysis.rule import rule


@rule(
    title="Textures uploaded again with the same pixels",
    fix="Keep the texture, and upload only when its content has changed.",
    needs=("frames",),
    api="any",
)
def same_texture_again() -> str:
    """The program uploaded these pixels before, into this texture or another one. A texture that is kept needs one
    upload.
    """
    return """
WITH uploads AS (
    SELECT i.seq, i.frame, i.function, i.width, i.height, i.bytes, i.duration,
           lag(i.seq) OVER (PARTITION BY i.blob, i.function, i.level, i.width, i.height, i.format,
               i.type ORDER BY i.seq) AS before
    FROM images i WHERE i.blob IS NOT NULL
)
SELECT u.seq, u.frame, u.bytes, u.duration AS ns, u.function || ' ' || u.width || ' × ' || u.height
    || ', same as call ' || u.before AS what
FROM uploads u JOIN steady_frames s ON s.frame = u.frame WHERE u.before IS NOT NULL ORDER BY u.seq
"""
