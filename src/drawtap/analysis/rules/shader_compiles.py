from drawtap.analysis.rule import rule


@rule(
    title="Shaders compile while frames are drawn",
    fix=(
        "Compile and link before the first frame, keep program binaries (glProgramBinary), or use "
        "GL_KHR_parallel_shader_compile."
    ),
    needs=("frames",),
)
def shader_compiles() -> str:
    """Compiling and linking takes milliseconds to seconds on the thread that draws: the frame is late."""
    return """
SELECT min(c.seq) AS seq, c.frame, count(*) AS n, sum(c.duration) AS ns, string_agg(DISTINCT f.name, ', ') AS what
FROM calls c JOIN functions f ON f.id = c.fn JOIN steady_frames s ON s.frame = c.frame
WHERE f.name IN ('glCompileShader', 'glLinkProgram', 'glCreateShaderProgramv', 'glProgramStringARB',
    'glCompileShaderARB',
                 'glLinkProgramARB')
GROUP BY c.frame ORDER BY seq
"""
