from drawtap.analysis.rule import rule


@rule(
    title="Targets with a mutable format",
    fix="Create the image without MUTABLE_FORMAT, or name the formats with VkImageFormatListCreateInfo.",
    api="vk",
)
def vk_mutable_targets() -> str:
    """Views of other formats may keep the driver from compressing the image."""
    return r"""
SELECT i.seq, i.frame, i.bytes, i.what FROM vk_images i
WHERE i.flags LIKE '%MUTABLE_FORMAT%' AND i.usage LIKE '%ATTACHMENT%' AND coalesce(i.chain, '') NOT LIKE '%FORMAT_LIST%'
ORDER BY i.seq
"""
