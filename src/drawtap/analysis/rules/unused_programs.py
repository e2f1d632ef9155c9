from drawtap.analysis.rule import rule


@rule(
    title="Programs that are linked and never used",
    fix="Link programs when they are first needed, and leave out variants that no scene uses.",
    severity="note",
)
def unused_programs() -> str:
    """Every link costs time and memory; what is never bound was not needed."""
    return """
WITH links AS (
    SELECT l.seq, l.frame, l.program, l.duration, lead(l.seq) OVER (PARTITION BY l.program ORDER BY l.seq) AS until
    FROM "glLinkProgram" l
), used AS (
    SELECT u.seq, u.program FROM "glUseProgram" u
    UNION ALL SELECT s.seq, s.program FROM "glUseProgramStages" s
)
SELECT l.seq, l.frame, l.duration AS ns, 'program ' || l.program AS what FROM links l
WHERE NOT EXISTS (SELECT 1 FROM used u WHERE u.program = l.program AND u.seq > l.seq AND u.seq < coalesce(l.until,
    9e18))
ORDER BY l.seq
"""
