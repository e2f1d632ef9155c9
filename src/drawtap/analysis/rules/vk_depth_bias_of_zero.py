from drawtap.analysis.rule import rule


@rule(
    title="Depth bias is on and zero",
    fix="Switch depthBiasEnable off, or make it dynamic.",
    api="vk",
)
def vk_depth_bias_of_zero() -> str:
    """With depth bias some GPUs do not use their fast depth tests."""
    return r"""
SELECT p.seq, p.frame, printf('pipeline 0x%x', p.pipeline) AS what FROM pipelines p
WHERE p.info->>'$.pRasterizationState.depthBiasEnable' = 'true'
  AND (p.info->>'$.pRasterizationState.depthBiasConstantFactor')::DOUBLE = 0
  AND (p.info->>'$.pRasterizationState.depthBiasSlopeFactor')::DOUBLE = 0
  AND NOT list_contains(p.dynamic_states, 'VK_DYNAMIC_STATE_DEPTH_BIAS') ORDER BY p.seq
"""
