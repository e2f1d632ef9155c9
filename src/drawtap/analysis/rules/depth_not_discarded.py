from drawtap.analysis.rule import rule


@rule(
    title="Depth of framebuffer objects stored that nobody reads",
    fix=("Call glInvalidateFramebuffer or glDiscardFramebufferEXT with GL_DEPTH_ATTACHMENT after the last draw to it."),
    hardware=("tiled",),
    needs=("frames",),
)
def depth_not_discarded() -> str:
    """A GPU that draws tile by tile writes depth and stencil to memory when it leaves a framebuffer object, unless the
    program discards them. (The depth of windows is dropped by the swap.)
    """
    return """
WITH passes AS (
    SELECT t.seq, t.frame, t.context, t.framebuffer, lead(t.seq, 1,
        9000000000000000000) OVER (PARTITION BY t.context ORDER BY t.seq) AS until
    FROM targets t
), attached AS (
    SELECT DISTINCT t.context, t.framebuffer
    FROM "glFramebufferRenderbuffer" r ASOF JOIN targets t ON t.context = r.context AND t.seq <= r.seq
    WHERE r.attachment_value IN (GL_DEPTH_ATTACHMENT, GL_DEPTH_STENCIL_ATTACHMENT) AND r.renderbuffer <> 0
), drawn_to AS (
    SELECT p.seq, any_value(p.frame) AS frame, any_value(p.context) AS context,
        any_value(p.framebuffer) AS framebuffer,
           any_value(p.until) AS until, max(d.seq) AS draw
    FROM draw_calls d ASOF JOIN passes p ON p.context = d.context AND p.seq <= d.seq GROUP BY p.seq
), dropped AS (
    SELECT i.seq, i.context FROM "glInvalidateFramebuffer" i
    UNION ALL SELECT x.seq, x.context FROM "glDiscardFramebuffer" x
), stored AS (
    SELECT p.*
    FROM (SELECT x.* FROM drawn_to x JOIN attached a ON a.context = x.context AND a.framebuffer = x.framebuffer
          JOIN steady_frames s ON s.frame = x.frame) p
    ASOF LEFT JOIN dropped d ON d.context = p.context AND d.seq > p.draw WHERE d.seq IS NULL OR d.seq >= p.until
)
SELECT min(draw) AS seq, min(frame) AS frame, list(DISTINCT frame) AS frames,
       count(*) AS n, 'framebuffer ' || framebuffer || ' of context '
    || context || ' in ' || count(DISTINCT frame) || ' frames' AS what
FROM stored GROUP BY context, framebuffer ORDER BY seq
"""
