from drawtap.analysis.rule import rule


@rule(
    title="The program switches validation layers on",
    fix="Switch them on from outside, with VK_INSTANCE_LAYERS.",
    api="vk",
)
def vk_validation_left_in() -> str:
    """The layer checks every call, and takes several times as long as the driver."""
    return r"""
SELECT i.created_seq AS seq, i.frame, i.create_ns AS ns, i.info->>'$.ppEnabledLayerNames' AS what FROM objects i
WHERE i.type = 'VkInstance' AND i.info->>'$.ppEnabledLayerNames' LIKE '%validation%' ORDER BY i.created_seq
"""
