from drawtap.analysis.rule import rule


@rule(
    title="Many uniforms set for every draw",
    fix=("Put what changes together into one array or one uniform buffer; set what belongs to the frame once a frame."),
    needs=("frames", "draws"),
)
def uniform_churn() -> str:
    """Each is a call into the driver. Reported for frames that set at least 100 uniforms, eight and more for each
    draw.
    """
    return """
WITH per_frame AS (
    SELECT u.frame, min(u.seq) AS seq, count(*) AS n, sum(u.duration) AS ns FROM uniforms u GROUP BY u.frame
)
SELECT p.seq, p.frame, p.n, p.ns, p.n || ' uniforms for ' || s.draws || ' draws' AS what
FROM per_frame p JOIN steady_frames s ON s.frame = p.frame WHERE p.n >= 100 AND p.n >= 8 * s.draws ORDER BY p.seq
"""
