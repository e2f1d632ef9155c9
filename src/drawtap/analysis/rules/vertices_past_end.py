from drawtap.analysis.rule import rule


@rule(
    title="Draws that read past the end of a buffer",
    fix="Compare first and count, or the indices, with the size of the buffer, the offset and the stride.",
    severity="error",
    needs=("draws",),
)
def vertices_past_end() -> str:
    """Reads there are undefined: nothing, data of another buffer, or a crash of the driver. The rule checks attributes
    (glVertexAttribPointer), and for indexed draws the indices themselves, if the content of their buffer is known.
    Known content was uploaded, changed in part, written through a mapping, or copied from another such buffer. An
    attribute with a divisor (glVertexAttribDivisor) is checked by the draw's instances. The rule leaves out
    enabled arrays that the draw's program does not read, if the recording has the places of all its attributes.
    Queries of the program tell these, or its shaders and glBindAttribLocation.
    """
    return """
WITH elements AS (
    SELECT e.*, d.index_buffer AS buffer, d.instances, g.share_group
    FROM index_draws e JOIN draws d ON d.seq = e.seq JOIN contexts g ON g.context = e.context
    WHERE d.index_buffer <> 0 AND e.count > 0 AND d.instances > 0
), sized AS (
    SELECT e.*, s.bytes FROM elements e
    ASOF JOIN buffer_sizes s ON s.share_group = e.share_group AND s.buffer = e.buffer AND s.seq <= e.seq
), uploaded AS (
    SELECT e.*, c.seq AS version FROM sized e
    ASOF JOIN buffer_changes c ON c.share_group = e.share_group AND c.buffer = e.buffer AND c.seq <= e.seq
), indexed AS (
    SELECT u.seq, u.frame, u.context, u.buffer, u.bytes, u.base + i.last AS last, u.instances, i.needed
    FROM uploaded u
    JOIN index_ends i ON i.seq = u.version AND i.share_group = u.share_group AND i.buffer = u.buffer
      AND i.type = u.type AND i.count = u.count AND i.start = u.start
), ends AS (
    SELECT a.seq, a.frame, a.context, a.first::BIGINT + a.count::BIGINT - 1 AS last, 1 AS instances
        FROM "glDrawArrays" a WHERE a.count > 0
    UNION ALL SELECT n.seq, n.frame, n.context, n.first::BIGINT + n.count::BIGINT - 1, n.instancecount
        FROM "glDrawArraysInstanced" n WHERE n.count > 0 AND n.instancecount > 0
    UNION ALL SELECT r.seq, r.frame, r.context, r."end"::BIGINT, 1 FROM "glDrawRangeElements" r WHERE r.count > 0
    UNION ALL SELECT x.seq, x.frame, x.context, x.last, x.instances FROM indexed x WHERE x.last >= 0
), reads AS (
    SELECT e.seq, e.frame, e.context, e.last, e.instances, i.index, coalesce(v.vertex_array, 0) AS vertex_array,
           g.share_group
    FROM ends e JOIN (SELECT DISTINCT p.context, p.index FROM attribute_pointers p) i ON i.context = e.context
    JOIN contexts g ON g.context = e.context JOIN draws d ON d.seq = e.seq
    ASOF LEFT JOIN vertex_array_bindings v ON v.context = e.context AND v.seq <= e.seq
    WHERE NOT EXISTS (FROM attribute_places k WHERE k.program = d.program)
       OR EXISTS (SELECT 1 FROM attribute_places n WHERE n.program = d.program
                  AND i.index BETWEEN n.location AND n.location + n.taken - 1)
), pointed AS (
    SELECT r.*, p.buffer, p.start + p.bytes + p.stride
        * CASE WHEN coalesce(d.divisor, 0) = 0 THEN r.last ELSE (r.instances - 1) // d.divisor END AS needed
    FROM reads r
    ASOF JOIN attribute_toggles t
      ON t.context = r.context AND t.vertex_array = r.vertex_array AND t.index = r.index AND t.seq <= r.seq
    ASOF JOIN attribute_pointers p
      ON p.context = r.context AND p.vertex_array = r.vertex_array AND p.index = r.index AND p.seq <= r.seq
    ASOF LEFT JOIN attribute_divisors d
      ON d.context = r.context AND d.vertex_array = r.vertex_array AND d.index = r.index AND d.seq <= r.seq
    WHERE t.is_on AND p.buffer <> 0
)
SELECT p.seq, p.frame, 'attribute ' || p.index || ' needs ' || p.needed || ' bytes of buffer ' || p.buffer
    || ', which has ' || s.bytes AS what
FROM pointed p
ASOF JOIN buffer_sizes s ON s.share_group = p.share_group AND s.buffer = p.buffer AND s.seq <= p.seq
WHERE p.needed > s.bytes
UNION ALL
SELECT x.seq, x.frame, 'the indices need ' || x.needed || ' bytes of buffer ' || x.buffer || ', which has ' || x.bytes
FROM indexed x WHERE x.needed > x.bytes ORDER BY 1
"""
