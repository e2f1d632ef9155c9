from drawtap.analysis.rule import rule


@rule(
    title="Paths of many segments that cover a few pixels",
    fix="Draw a simpler path, or an image of it, where it is small.",
    concerns="content",
    needs=("draws",),
    api="vg",
)
def tiny_detailed_paths() -> str:
    """Every segment is transformed, cut into lines and sorted, and none of that is seen. Reported for paths of more
    than ten segments whose control points lie within less than sixteen pixels. (The query of Figure 32 of
    Kyostila's thesis.)
    """
    return """
SELECT d.seq, d.frame, d.vertices || ' segments on ' || round(d.drawn_width, 1) || ' × ' || round(d.drawn_height, 1)
    || ' pixels' AS what
FROM draws d WHERE d.function = 'vgDrawPath' AND d.vertices > 10
    AND greatest(d.drawn_width, 1) * greatest(d.drawn_height, 1) < 16 ORDER BY d.seq
"""
