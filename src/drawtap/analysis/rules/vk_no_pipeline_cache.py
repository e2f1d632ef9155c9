from drawtap.analysis.rule import rule


@rule(
    title="Pipelines are made without a pipeline cache",
    fix="Give vkCreate*Pipelines a cache, and keep its data between runs.",
    api="vk",
)
def vk_no_pipeline_cache() -> str:
    """Without a cache the driver compiles equal shaders again, in every run."""
    return r"""
SELECT p.seq, p.frame, p.duration // p.made_with AS ns, p.kind || printf(' pipeline 0x%x', p.pipeline) AS what
FROM pipelines p
WHERE p.cache = 0 ORDER BY p.seq
"""
