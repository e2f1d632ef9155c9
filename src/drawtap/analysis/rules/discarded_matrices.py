from drawtap.analysis.rule import rule


@rule(
    title="Matrix work thrown away before anything is drawn",
    fix="Load and transform the matrix once, right before the draw that needs it.",
)
def discarded_matrices() -> str:
    """A matrix that is loaded anew before a draw has used it was computed for nothing. (The sequence of Figure 34 of
    Kyostila's thesis, which its image gallery repeated hundreds of times.)
    """
    return """
WITH kinds AS (
    SELECT f.id, CASE
        WHEN regexp_matches(f.name, '^glLoad(Identity|Matrix)') THEN 2
        WHEN regexp_matches(f.name, '^gl(Translate|Rotate|Scale|MultMatrix|Frustum|Ortho)') THEN 1 ELSE 0 END AS kind
    FROM functions f WHERE f.category = 'draw' OR regexp_matches(f.name,
        '^gl(Load(Identity|Matrix)|Translate|Rotate|Scale|MultMatrix|Frustum|Ortho|MatrixMode|PushMatrix|PopMatrix)')
      OR regexp_matches(f.name,
        '^gl(ActiveTexture|CallList|Begin|NewList|EndList|Get|Light|ClipPlane|TexGen|Raster|Vertex)')
), events AS (
    SELECT c.seq, c.frame, c.context, k.kind FROM calls c JOIN kinds k ON k.id = c.fn
    WHERE EXISTS (SELECT 1 FROM kinds l WHERE l.kind = 2)
), blocks AS (
    SELECT e.seq, e.frame, e.context, e.kind,
           sum((e.kind <> 1)::INTEGER) OVER (PARTITION BY e.context ORDER BY e.seq ROWS UNBOUNDED PRECEDING) AS block
    FROM events e
), summed AS (
    SELECT b.context, b.block, min(b.seq) AS seq, min(b.frame) AS frame, count(*) FILTER (b.kind = 1) AS n,
        max(b.kind) AS kind
    FROM blocks b GROUP BY b.context, b.block
)
SELECT s.seq, s.frame, s.n + 1 AS n, s.n || ' matrix operations undone by the next load' AS what
FROM (SELECT x.*, lead(x.kind) OVER (PARTITION BY x.context ORDER BY x.block) AS following FROM summed x) s
WHERE s.kind = 2 AND s.following = 2 AND s.n > 0 ORDER BY s.seq
"""
