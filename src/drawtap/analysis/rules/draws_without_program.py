from drawtap.analysis.rule import rule


@rule(
    title="Draws without a program",
    fix="Call glUseProgram before the draw, with a program that linked.",
    severity="error",
    needs=("draws",),
)
def draws_without_program() -> str:
    """Nothing, or something undefined is drawn: OpenGL ES 2 and later and core profiles have no fixed functions."""
    return """
SELECT min(d.seq) AS seq, d.frame, count(*) AS n, any_value(d.name) AS what
FROM drawn d JOIN contexts c ON c.context = d.context AND c.api = 'gles'
WHERE d.program = 0 AND EXISTS (SELECT 1 FROM "glCreateShader" s WHERE s.context = d.context)
  AND NOT EXISTS (SELECT 1 FROM "glBindProgramPipeline") GROUP BY d.frame ORDER BY seq
"""
