from drawtap.analysis.rule import rule


@rule(
    title="Attachments that load undefined content",
    fix="Use VK_ATTACHMENT_LOAD_OP_CLEAR or DONT_CARE.",
    severity="error",
    api="vk",
)
def vk_load_of_nothing() -> str:
    """Loading costs a tiled GPU the bandwidth of the whole image, and the content is undefined."""
    return r"""
SELECT a.seq, a.frame, 'attachment ' || a.number || printf(' of render pass 0x%x', a.render_pass) AS what
FROM vk_attachments a
WHERE a.load = 'VK_ATTACHMENT_LOAD_OP_LOAD' AND a.before = 'VK_IMAGE_LAYOUT_UNDEFINED' ORDER BY a.seq
"""
