from drawtap.analysis.rule import rule


@rule(
    title="Samples are resolved by a transfer",
    fix="Give the pass a resolve attachment.",
    hardware=("tiled",),
    needs=("frames",),
    api="vk",
)
def vk_resolve_by_transfer() -> str:
    """In a pass a tiled GPU resolves samples before they leave the chip. The transfer reads all of them from
    memory.
    """
    return r"""
SELECT min(e.submit_seq) AS seq, e.frame, e.name || ' ' || count(*) || ' times' AS what FROM executed e
JOIN steady_frames f ON f.frame = e.frame WHERE e.name LIKE 'vkCmdResolveImage%' GROUP BY e.frame, e.name
ORDER BY e.frame
"""
