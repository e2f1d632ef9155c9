from drawtap.analysis.rule import rule


@rule(
    title="Swapchains with less than three images",
    fix="Ask for three images.",
    severity="note",
    api="vk",
)
def vk_two_swapchain_images() -> str:
    """With two, the program waits for the screen where the GPU is a little late."""
    return r"""
SELECT s.created_seq AS seq, s.frame, (s.info->>'$.minImageCount') || ' images' AS what FROM objects s
WHERE s.type = 'VkSwapchainKHR' AND (s.info->>'$.minImageCount')::BIGINT < 3
  AND s.info->>'$.presentMode' LIKE '%FIFO%' ORDER BY s.created_seq
"""
