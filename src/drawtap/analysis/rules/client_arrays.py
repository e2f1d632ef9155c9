from drawtap.analysis.rule import rule


@rule(
    title="Vertices and indices in the program's own memory",
    fix=(
        "Put vertices and indices into buffer objects once (GL_STATIC_DRAW), and changing ones into buffers "
        "that are streamed."
    ),
    needs=("draws",),
    original="Vertex buffer object usage",
)
def client_arrays() -> str:
    """Arrays that are not in buffer objects are copied at every draw, whether they have changed or not."""
    return """
WITH vertices AS (
    SELECT m.seq, sum(m.address_bytes) AS bytes FROM memory m GROUP BY m.seq
), own_indices AS (
    SELECT e.seq, e.indices_bytes AS bytes FROM "glDrawElements" e WHERE e.indices_bytes > 0
    UNION ALL SELECT r.seq, r.indices_bytes FROM "glDrawRangeElements" r WHERE r.indices_bytes > 0
    UNION ALL SELECT i.seq, i.indices_bytes FROM "glDrawElementsInstanced" i WHERE i.indices_bytes > 0
)
SELECT min(d.seq) AS seq, d.frame, count(*) AS n, sum(coalesce(v.bytes, 0) + coalesce(i.bytes, 0))::BIGINT AS bytes,
       count(v.seq) || ' draws read vertices, ' || count(i.seq) || ' read indices of the program' AS what
FROM draw_calls d LEFT JOIN vertices v ON v.seq = d.seq LEFT JOIN own_indices i ON i.seq = d.seq
WHERE v.seq IS NOT NULL OR i.seq IS NOT NULL GROUP BY d.frame ORDER BY seq
"""
