from drawtap.analysis.rule import rule


@rule(
    title="Frames drawn anew while nothing changes",
    fix="Draw when something has changed; stop while the window is hidden.",
    needs=("frames",),
    api="any",
)
def unchanged_frames() -> str:
    """The same calls with the same arguments and content show the same picture: the GPU could sleep. Kyostila's menu
    drew on like this, even when nobody could see it. Reported where more than a tenth of the frames repeat the
    one before. The rule leaves out frames whose picture may change all the same, since they build on the one before.
    Those multiply a matrix that they did not load (glRotate), use the accumulation buffer, capture vertices by
    transform feedback, or run compute shaders.
    """
    # Behind glPushMatrix a multiplication lasts until glPopMatrix, which gives the frame's own matrix back.
    return """
WITH prints AS (
    SELECT p.frame, p.calls, p.print, lag(p.print) OVER (ORDER BY p.frame) AS before FROM frame_prints p
), matrices AS (
    SELECT c.seq, c.frame, c.context, regexp_extract(f.name, '^gl(Push|Pop|Load|)') AS act
    FROM calls c JOIN functions f ON f.id = c.fn
    WHERE regexp_matches(f.name, '^gl(Push|Pop|Load(Transpose)?|Mult(Transpose)?)Matrix|^glLoadIdentity$'
        || '|^gl(Rotate|Translate|Scale|Ortho|Frustum)[dfx]?$')
), nested AS (
    SELECT m.*, coalesce(o.mode_value, GL_MODELVIEW) AS mode,
           sum(CASE m.act WHEN 'glPush' THEN 1 WHEN 'glPop' THEN -1 ELSE 0 END)
               OVER (PARTITION BY m.context, m.frame, coalesce(o.mode_value, GL_MODELVIEW) ORDER BY m.seq) AS depth
    FROM matrices m ASOF LEFT JOIN "glMatrixMode" o ON o.context = m.context AND o.seq <= m.seq
), loaded AS (
    SELECT n.*, bool_or(n.act = 'glLoad' AND n.depth <= 0)
        OVER (PARTITION BY n.context, n.frame, n.mode ORDER BY n.seq) AS own
    FROM nested n
), building AS (
    SELECT l.frame FROM loaded l WHERE l.act = 'gl' AND l.depth <= 0 AND NOT l.own
    UNION SELECT a.frame FROM "glAccum" a
    UNION SELECT t.frame FROM "glBeginTransformFeedback" t
    UNION SELECT c.frame FROM content c WHERE c.dispatches > 0
    UNION SELECT s.frame FROM submits s WHERE s.dispatches > 0
), same AS (
    SELECT s.first_seq AS seq, s.frame, p.calls AS n FROM prints p JOIN steady_frames s ON s.frame = p.frame
    WHERE p.print = p.before AND s.draws > 0 AND NOT EXISTS (FROM building b WHERE b.frame = s.frame)
)
SELECT seq, frame, n, n || ' calls, the same as in the frame before' AS what FROM same
WHERE (SELECT count(*) FROM same) > 0.1 * (SELECT count(*) FROM steady_frames) ORDER BY seq
"""
