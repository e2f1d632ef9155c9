from drawtap.analysis.rule import rule


@rule(
    title="Targets with concurrent sharing",
    fix="Use exclusive sharing, and hand the image over with barriers.",
    api="vk",
)
def vk_concurrent_targets() -> str:
    """Some GPUs do not compress targets that several queue families may use at the same time."""
    return r"""
SELECT i.seq, i.frame, i.bytes, i.what FROM vk_images i
WHERE i.sharing = 'VK_SHARING_MODE_CONCURRENT' AND i.usage LIKE '%ATTACHMENT%' ORDER BY i.seq
"""
