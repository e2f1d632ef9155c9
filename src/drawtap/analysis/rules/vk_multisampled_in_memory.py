from drawtap.analysis.rule import rule


@rule(
    title="Multisampled targets that are not transient",
    fix="Add TRANSIENT_ATTACHMENT, resolve in the render pass, and store nothing.",
    hardware=("tiled",),
    api="vk",
)
def vk_multisampled_in_memory() -> str:
    """A tiled GPU resolves samples before they leave the chip. Without the flag they take memory, and where they
    are stored bandwidth, several times over.
    """
    return r"""
SELECT i.seq, i.frame, i.bytes, i.what || ', ' || i.samples AS what FROM vk_images i
WHERE i.samples <> 'VK_SAMPLE_COUNT_1_BIT' AND i.usage LIKE '%ATTACHMENT%' AND i.usage NOT LIKE '%TRANSIENT%'
ORDER BY i.seq
"""
