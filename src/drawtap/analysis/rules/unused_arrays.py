from drawtap.analysis.rule import rule


@rule(
    title="Arrays enabled that the program does not read",
    fix="Disable the array, or keep one vertex array object for each program.",
    severity="note",
    needs=("draws",),
)
def unused_arrays() -> str:
    """The GPU may fetch them for every vertex. Reported for draws with more arrays enabled than their program has
    attributes.
    """
    return """
WITH counted AS (
    SELECT a.seq, a.program, a.params_data AS data FROM "glGetProgramiv" a WHERE a.pname_value = GL_ACTIVE_ATTRIBUTES
), active AS (
    SELECT c.program, max_by(('0x' || substr(hex(c.data), 1, 2))::INTEGER, c.seq) AS attributes FROM counted c
    WHERE c.data IS NOT NULL GROUP BY c.program
), arrays AS (
    SELECT d.seq, d.frame, d.context, d.program, i.index, coalesce(v.vertex_array, 0) AS vertex_array
    FROM drawn d JOIN active p ON p.program = d.program
    JOIN (SELECT DISTINCT t.context, t.index FROM attribute_toggles t) i ON i.context = d.context
    ASOF LEFT JOIN vertex_array_bindings v ON v.context = d.context AND v.seq <= d.seq
), enabled AS (
    SELECT a.seq, a.frame, a.program, count(*) AS arrays
    FROM arrays a ASOF JOIN attribute_toggles t
      ON t.context = a.context AND t.vertex_array = a.vertex_array AND t.index = a.index AND t.seq <= a.seq
    WHERE t.is_on GROUP BY a.seq, a.frame, a.program
)
SELECT min(e.seq) AS seq, min(e.frame) AS frame, list(DISTINCT e.frame) AS frames,
       count(*) AS n,
       'program ' || e.program || ' has ' || p.attributes || ' attributes, ' || e.arrays
           || ' arrays are enabled' AS what
FROM enabled e JOIN active p ON p.program = e.program WHERE e.arrays > p.attributes
GROUP BY e.program, p.attributes, e.arrays ORDER BY seq
"""
