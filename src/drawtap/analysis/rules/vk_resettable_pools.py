from drawtap.analysis.rule import rule


@rule(
    title="Command pools with RESET_COMMAND_BUFFER",
    fix="Reset whole pools with vkResetCommandPool, and create them without the flag.",
    severity="note",
    api="vk",
)
def vk_resettable_pools() -> str:
    """With this flag each command buffer has memory of its own, which is neither shared nor given back at once."""
    return r"""
SELECT o.created_seq AS seq, o.frame, printf('command pool 0x%x', o.handle) AS what FROM objects o
WHERE o.type = 'VkCommandPool' AND o.info->>'$.flags' LIKE '%RESET_COMMAND_BUFFER%' ORDER BY o.created_seq
"""
