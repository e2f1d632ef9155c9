from drawtap.analysis.rule import rule


@rule(
    title="Framebuffers drawn to without a clear",
    fix="Call glClear on all attachments (or glInvalidateFramebuffer) right after binding the framebuffer.",
    hardware=("tiled",),
    needs=("frames",),
)
def targets_not_cleared() -> str:
    """A GPU that draws tile by tile must first load the old picture from memory, where a clear or an invalidation
    says that nobody needs it. Reported for framebuffer objects that most frames begin to draw to without either.
    """
    return """
WITH passes AS (
    SELECT t.seq, t.frame, t.context, t.framebuffer, lead(t.seq, 1,
        9000000000000000000) OVER (PARTITION BY t.context ORDER BY t.seq) AS until
    FROM targets t
), first_draw AS (
    SELECT p.seq, any_value(p.frame) AS frame, any_value(p.context) AS context,
        any_value(p.framebuffer) AS framebuffer, min(d.seq) AS draw
    FROM draw_calls d ASOF JOIN passes p ON p.context = d.context AND p.seq <= d.seq GROUP BY p.seq
), wiped AS (
    SELECT c.seq, c.context FROM clears c
    UNION ALL SELECT i.seq, i.context FROM "glInvalidateFramebuffer" i
    UNION ALL SELECT x.seq, x.context FROM "glDiscardFramebuffer" x
    UNION ALL SELECT b.seq, b.context FROM "glClearBufferfv" b
), loading AS (
    SELECT f.seq, f.frame, f.context, f.framebuffer, f.draw
    FROM (SELECT x.* FROM first_draw x JOIN steady_frames s ON s.frame = x.frame WHERE x.framebuffer <> 0) f
    ASOF LEFT JOIN wiped w ON w.context = f.context AND w.seq > f.seq WHERE w.seq IS NULL OR w.seq > f.draw
)
SELECT min(seq) AS seq, min(frame) AS frame, list(DISTINCT frame) AS frames,
       count(*) AS n, 'framebuffer ' || framebuffer || ' of context '
    || context || ' in ' || count(DISTINCT frame) || ' frames' AS what
FROM loading GROUP BY context, framebuffer HAVING count(DISTINCT frame) > 0.5 * (SELECT count(*)
    FROM steady_frames) ORDER BY seq
"""
