from drawtap.analysis.rule import rule


@rule(
    title="Calls that the driver refused",
    fix="Look at the calls before the query; drawtap list shows them.",
    severity="error",
    api="any",
)
def gl_errors() -> str:
    """A call with an error does nothing. The effect of the call is missing in the picture, and drivers differ in the
    calls that they refuse.
    """
    return """
SELECT e.seq, e.frame, 'glGetError returned ' || e.result AS what FROM "glGetError" e WHERE e.result_value <> 0
UNION ALL SELECT x.seq, x.frame, 'eglGetError returned ' || x.result FROM "eglGetError" x
    WHERE x.result_value <> EGL_SUCCESS
UNION ALL SELECT v.seq, v.frame, 'vgGetError returned ' || v.result FROM "vgGetError" v WHERE v.result_value <> 0
ORDER BY 1
"""
