from drawtap.analysis.rule import rule


@rule(
    title="vkCmdClearAttachments before the first draw of a pass",
    fix="Clear with VK_ATTACHMENT_LOAD_OP_CLEAR.",
    hardware=("tiled",),
    needs=("frames",),
    api="vk",
)
def vk_clear_in_pass() -> str:
    """At the start of a pass a clear costs nothing. The command draws a rectangle, behind a load of the old
    content.
    """
    return r"""
SELECT min(c.submit_seq) AS seq, c.frame, 'vkCmdClearAttachments ' || count(*) || ' times' AS what
FROM executed c JOIN steady_frames f ON f.frame = c.frame
WHERE c.name = 'vkCmdClearAttachments' AND c.pass_number IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM executed d WHERE d.pass_number = c.pass_number AND d.kind = 'draw' AND d.number < c.number)
GROUP BY c.frame ORDER BY c.frame
"""
