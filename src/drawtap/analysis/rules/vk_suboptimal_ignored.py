from drawtap.analysis.rule import rule


@rule(
    title="Presents are suboptimal in frame after frame",
    fix="Make a new swapchain when VK_SUBOPTIMAL_KHR comes.",
    api="vk",
)
def vk_suboptimal_ignored() -> str:
    """Each picture is scaled or copied on its way to the screen. Reported from three presents on."""
    return r"""
SELECT min(p.seq) AS seq, min(p.frame) AS frame, list(DISTINCT p.frame) AS frames, count(*) AS n,
       sum(p.duration)::BIGINT AS ns, 'VK_SUBOPTIMAL_KHR' AS what
FROM "vkQueuePresentKHR" p WHERE p.result::VARCHAR = 'VK_SUBOPTIMAL_KHR' HAVING count(*) >= 3
"""
