from drawtap.analysis.rule import rule


@rule(
    title="Renderer and extensions are never looked at",
    fix=(
        "Ask for GL_RENDERER, GL_VERSION and GL_EXTENSIONS when the program starts, and choose formats, "
        "functions and detail by them."
    ),
    severity="note",
    original="Renderer version string differentiation",
)
def renderer_strings() -> str:
    """A program that does not know what it runs on cannot use faster formats and functions, nor draw less where the
    renderer is software.
    """
    return """
SELECT 0 AS seq, 'no glGetString or glGetStringi in ' || (SELECT count(*) FROM draw_calls) || ' draws' AS what
WHERE NOT EXISTS (SELECT 1 FROM "glGetString" s WHERE s.name_value IN (GL_RENDERER, GL_VERSION, GL_EXTENSIONS))
  AND NOT EXISTS (SELECT 1 FROM "glGetStringi" i) AND EXISTS (SELECT 1 FROM draw_calls)
"""
