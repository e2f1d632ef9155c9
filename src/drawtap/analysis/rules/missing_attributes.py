from drawtap.analysis.rule import rule


@rule(
    title="Attributes declared that the program does not use",
    fix="Leave the attribute out of the vertex format, or use it in the shader.",
    severity="note",
)
def missing_attributes() -> str:
    """The program prepares an array that the compiler found to be of no use: its memory and bandwidth are wasted.
    Reported for names that a vertex shader of the program declares as attributes. Names of uniforms, and names that no
    shader has, are only questions.
    """
    return r"""
WITH asked AS (
    SELECT a.seq, a.frame, a.context, a.program, a.name FROM "glGetAttribLocation" a WHERE a.result = -1
), attached AS (
    SELECT t.program, t.shader, t.seq FROM "glAttachShader" t
), texts AS (
    SELECT q.seq, s.source FROM asked q JOIN attached t ON t.program = q.program AND t.seq < q.seq
    JOIN sources s ON s.shader = t.shader AND s.seq < q.seq
    WHERE s.stage = GL_VERTEX_SHADER OR s.stage IS NULL
    QUALIFY s.seq = max(s.seq) OVER (PARTITION BY q.seq, t.shader)
)
SELECT q.seq, q.frame, q.name || ' of program ' || q.program AS what FROM asked q
WHERE EXISTS (SELECT 1 FROM texts x WHERE x.seq = q.seq AND regexp_matches(
    regexp_replace(x.source, '//[^\n]*|/\*(.|\n)*?\*/', ' ', 'g'),
    '(^|[\s;{}()])(attribute|in)\s[^;{}()]*\b' || regexp_escape(q.name) || '\b[^;(){}]*;')) ORDER BY q.seq
"""
