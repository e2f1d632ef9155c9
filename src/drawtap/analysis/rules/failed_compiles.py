from drawtap.analysis.rule import rule


@rule(
    title="Shaders and programs that do not compile or link",
    fix="Read the log (glGetShaderInfoLog, glGetProgramInfoLog) and correct the source.",
    severity="error",
)
def failed_compiles() -> str:
    """A draw with such a program is undefined, or draws nothing."""
    return """
SELECT s.seq, s.frame, 'shader ' || s.shader AS what FROM "glGetShaderiv" s
WHERE s.pname_value = GL_COMPILE_STATUS AND s.params_data IS NOT NULL AND hex(s.params_data) = '00000000'
UNION ALL SELECT p.seq, p.frame, 'program ' || p.program FROM "glGetProgramiv" p
WHERE p.pname_value = GL_LINK_STATUS AND p.params_data IS NOT NULL AND hex(p.params_data) = '00000000' ORDER BY 1
"""
