from drawtap.analysis.rule import rule


@rule(
    title="Targets are cleared by a transfer",
    fix="Clear with VK_ATTACHMENT_LOAD_OP_CLEAR in the pass that draws.",
    hardware=("tiled",),
    needs=("frames",),
    api="vk",
)
def vk_clear_of_images() -> str:
    """The clear writes the whole image to memory, and the pass reads the image again."""
    return r"""
SELECT min(e.submit_seq) AS seq, e.frame, e.name || ' ' || count(*) || ' times' AS what FROM executed e
JOIN steady_frames f ON f.frame = e.frame
WHERE e.name IN ('vkCmdClearColorImage', 'vkCmdClearDepthStencilImage') GROUP BY e.frame, e.name ORDER BY e.frame
"""
