from drawtap.analysis.rule import rule


@rule(
    title="Images with linear tiling",
    fix="Create the image with VK_IMAGE_TILING_OPTIMAL and copy through a buffer.",
    api="vk",
)
def vk_linear_images() -> str:
    """Rows behind rows are slow for the GPU to sample and to draw to, and are never compressed."""
    return r"""
SELECT i.seq, i.frame, i.bytes, i.what FROM vk_images i
WHERE i.tiling = 'VK_IMAGE_TILING_LINEAR' AND (i.usage LIKE '%SAMPLED%' OR i.usage LIKE '%ATTACHMENT%') ORDER BY i.seq
"""
