from drawtap.analysis.rule import rule


@rule(
    title="Pipelines without any draw or dispatch",
    fix="Make pipelines when they are first needed, in a thread of their own.",
    severity="note",
    api="vk",
)
def vk_unused_pipelines() -> str:
    """Their creation took time and nothing was drawn with them. Reported where the program used others."""
    return r"""
SELECT p.seq, p.frame, p.duration // p.made_with AS ns, p.kind || printf(' pipeline 0x%x', p.pipeline) AS what
FROM pipelines p
WHERE p.uses = 0 AND p.kind IN ('graphics', 'compute') AND (SELECT sum(q.uses) FROM pipelines q) > 0 ORDER BY p.seq
"""
