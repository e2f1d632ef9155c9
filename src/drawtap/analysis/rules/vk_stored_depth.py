from drawtap.analysis.rule import rule


@rule(
    title="Depth is stored and stays a target",
    fix="Store with VK_ATTACHMENT_STORE_OP_DONT_CARE where no later pass loads the depth.",
    hardware=("tiled",),
    api="vk",
)
def vk_stored_depth() -> str:
    """Writing depth back costs a tiled GPU bandwidth. A final layout of an attachment tells that nothing samples
    it.
    """
    return r"""
SELECT a.seq, a.frame, 'attachment ' || a.number || printf(' of render pass 0x%x', a.render_pass) AS what
FROM vk_attachments a
WHERE regexp_matches(a.format, '_FORMAT_(X8_)?D\d') AND a.store = 'VK_ATTACHMENT_STORE_OP_STORE'
  AND a.load <> 'VK_ATTACHMENT_LOAD_OP_LOAD' AND a.behind LIKE '%ATTACHMENT_OPTIMAL' ORDER BY a.seq
"""
