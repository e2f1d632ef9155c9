from drawtap.analysis.rule import rule


@rule(
    title="Most of the time passes outside the API",
    fix="Use a profiler of programs; the graphics calls are not what limits.",
    severity="note",
    concerns="other",
    needs=("frames", "timing"),
    api="any",
    original="CPU time division",
)
def api_time() -> str:
    """The program itself is slow: its own computations, or waiting for something else. Reported where less
    than half of the time of the thread that shows frames is spent in calls, at fewer than 50 frames a second.
    """
    return """
WITH showing AS (
    SELECT c.thread, min(c.frame) AS first, max(c.frame) AS last FROM calls c JOIN functions f ON f.id = c.fn
    WHERE f.category = 'frame_end' AND c.frame >= 1 GROUP BY c.thread ORDER BY count(*) DESC LIMIT 1
), inside AS (
    SELECT sum(c.duration) AS ns FROM calls c JOIN showing w ON w.thread = c.thread AND c.frame BETWEEN w.first
        AND w.last
), wall AS (
    SELECT sum(s.time) AS ns, count(*) AS n, list(s.frame) AS frames FROM steady_frames s
)
SELECT list_min(w.frames) AS frame, w.frames, (w.ns - i.ns)::BIGINT AS ns,
       round(100 * i.ns / w.ns) || ' % of the time is inside the API' AS what
FROM inside i, wall w WHERE i.ns < 0.5 * w.ns AND w.ns > 20000000 * w.n
"""
