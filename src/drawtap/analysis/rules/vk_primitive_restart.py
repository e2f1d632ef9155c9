from drawtap.analysis.rule import rule


@rule(
    title="Primitive restart for lists of primitives",
    fix="Leave primitiveRestartEnable out for lists.",
    api="vk",
)
def vk_primitive_restart() -> str:
    """Some GPUs look at every index for it, and lists have no use for it."""
    return r"""
SELECT p.seq, p.frame, p.topology AS what FROM pipelines p
WHERE p.topology LIKE '%LIST%' AND p.info->>'$.pInputAssemblyState.primitiveRestartEnable' = 'true' ORDER BY p.seq
"""
