from drawtap.analysis.rule import rule


@rule(
    title="Colours masked one by one",
    fix="Write all channels, or none.",
    severity="note",
    hardware=("tiled",),
    needs=("frames",),
)
def color_mask() -> str:
    """Some GPUs emulate a mask of single colour channels; Kyostila found a phone that drew wrongly with it."""
    return """
SELECT min(m.seq) AS seq, m.frame, count(*) AS n, 'glColorMask of single channels' AS what
FROM "glColorMask" m JOIN steady_frames s ON s.frame = m.frame
WHERE (m.red::INT + m.green::INT + m.blue::INT) IN (1, 2) GROUP BY m.frame ORDER BY seq
"""
