from drawtap.analysis.rule import rule


@rule(
    title="Targets that are storage images too",
    fix="Write from compute shaders into an image of its own.",
    severity="note",
    api="vk",
)
def vk_storage_targets() -> str:
    """Some GPUs do not compress images that shaders may write to."""
    return r"""
SELECT i.seq, i.frame, i.bytes, i.what FROM vk_images i
WHERE i.usage LIKE '%STORAGE%' AND (i.usage LIKE '%COLOR_ATTACHMENT%' OR i.usage LIKE '%DEPTH_STENCIL_ATTACHMENT%')
ORDER BY i.seq
"""
