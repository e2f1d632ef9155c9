from drawtap.analysis.rule import rule


@rule(
    title="Uniforms set that the program does not have",
    fix="Check the location of each uniform, and do not set those that the program does not use.",
    severity="note",
    needs=("frames",),
)
def unused_uniforms() -> str:
    """A uniform at location -1 is ignored: the work to compute it is lost, and the compiler has dropped what was to
    use it.
    """
    return """
WITH sets AS (
    SELECT a.seq, a.frame, a.location FROM "glUniform1f" a UNION ALL SELECT b.seq, b.frame, b.location
        FROM "glUniform2f" b
    UNION ALL SELECT c.seq, c.frame, c.location FROM "glUniform3f" c UNION ALL SELECT d.seq, d.frame, d.location
        FROM "glUniform4f" d
    UNION ALL SELECT e.seq, e.frame, e.location FROM "glUniform1i" e UNION ALL SELECT f.seq, f.frame, f.location
        FROM "glUniform1fv" f
    UNION ALL SELECT g.seq, g.frame, g.location FROM "glUniform2fv" g UNION ALL SELECT h.seq, h.frame,
        h.location FROM "glUniform3fv" h
    UNION ALL SELECT i.seq, i.frame, i.location FROM "glUniform4fv" i UNION ALL SELECT j.seq, j.frame,
        j.location FROM "glUniformMatrix3fv" j
    UNION ALL SELECT k.seq, k.frame, k.location FROM "glUniformMatrix4fv" k
)
SELECT min(x.seq) AS seq, x.frame, count(*) AS n, count(*) || ' uniforms at location -1' AS what
FROM sets x JOIN steady_frames s ON s.frame = x.frame WHERE x.location = -1 GROUP BY x.frame ORDER BY seq
"""
