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
    one before.
    """
    return """
WITH prints AS (
    SELECT p.frame, p.calls, p.print, lag(p.print) OVER (ORDER BY p.frame) AS before FROM frame_prints p
), same AS (
    SELECT s.first_seq AS seq, s.frame, p.calls AS n FROM prints p JOIN steady_frames s ON s.frame = p.frame
    WHERE p.print = p.before AND s.draws > 0
)
SELECT seq, frame, n, n || ' calls, the same as in the frame before' AS what FROM same
WHERE (SELECT count(*) FROM same) > 0.1 * (SELECT count(*) FROM steady_frames) ORDER BY seq
"""
