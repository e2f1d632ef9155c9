from drawtap.analysis.rule import rule


@rule(
    title="Single frames that take much longer than those around them",
    fix=(
        "drawtap frames --slowest lists them, the report shows what they do; look for loads, compiles and new "
        "objects in them."
    ),
    concerns="other",
    needs=("frames", "timing"),
    api="any",
)
def frame_spikes() -> str:
    """A frame three times as long as its neighbours is seen as a stumble, even where the average is good."""
    return """
WITH around AS (
    SELECT s.*, median(s.time) OVER (ORDER BY s.frame ROWS BETWEEN 10 PRECEDING AND 10 FOLLOWING) AS usual
        FROM steady_frames s
)
SELECT s.first_seq AS seq, s.frame, s.time AS ns, 'usual there: ' || round(s.usual / 1e6, 2) || ' ms' AS what
FROM around s WHERE s.time > 3 * s.usual AND s.time > 20000000 ORDER BY s.time DESC
"""
