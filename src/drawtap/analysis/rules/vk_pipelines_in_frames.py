from drawtap.analysis.rule import rule


@rule(
    title="Pipelines are made while frames are drawn",
    fix="Make pipelines before the first frame, or in another thread.",
    needs=("frames",),
    api="vk",
)
def vk_pipelines_in_frames() -> str:
    """The driver compiles shaders for milliseconds in which no frame is drawn."""
    return r"""
SELECT p.seq, p.frame, p.duration // p.made_with AS ns, p.kind || printf(' pipeline 0x%x', p.pipeline) AS what
FROM pipelines p
JOIN steady_frames f ON f.frame = p.frame ORDER BY p.seq
"""
