from drawtap.analysis.rule import rule


@rule(
    title="Frames are shown without regard to the screen",
    fix="Use FIFO or MAILBOX.",
    severity="note",
    api="vk",
)
def vk_immediate_present() -> str:
    """Pictures tear, and power is spent on frames that nobody sees whole."""
    return r"""
SELECT s.created_seq AS seq, s.frame, printf('swapchain 0x%x', s.handle) AS what FROM objects s
WHERE s.type = 'VkSwapchainKHR' AND s.info->>'$.presentMode' = 'VK_PRESENT_MODE_IMMEDIATE_KHR' ORDER BY s.created_seq
"""
