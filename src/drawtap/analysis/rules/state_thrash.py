from drawtap.analysis.rule import rule


@rule(
    title="The same programs bound again and again in one frame",
    fix="Sort draws by program, then by texture, before submitting them.",
    needs=("frames",),
)
def state_thrash() -> str:
    """Draws that are sorted by program need each program once a frame; every change of it makes a driver validate
    everything anew. Reported for frames with at least 30 changes, three and more for each program in use.
    """
    return """
WITH changes AS (
    SELECT p.seq, p.frame, p.context, p.program, lag(p.program) OVER (PARTITION BY p.context ORDER BY p.seq) AS before
    FROM "glUseProgram" p
), per_frame AS (
    SELECT c.frame, min(c.seq) AS seq, count(*) AS n, count(DISTINCT c.program) AS programs
    FROM changes c JOIN steady_frames s ON s.frame = c.frame
    WHERE c.program <> 0 AND c.program IS DISTINCT FROM c.before GROUP BY c.frame
)
SELECT seq, frame, n, n || ' changes between ' || programs || ' programs' AS what FROM per_frame
WHERE n >= 30 AND n >= 3 * programs ORDER BY seq
"""
