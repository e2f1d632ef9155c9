from drawtap.analysis.rule import rule


@rule(
    title="Command buffers that may be pending several times",
    fix="Record one command buffer for each frame in flight, without SIMULTANEOUS_USE.",
    api="vk",
)
def vk_simultaneous_use() -> str:
    """Drivers copy or patch such command buffers at every submit, and some cannot chain them."""
    return r"""
SELECT b.seq, b.frame, b.duration AS ns, printf('command buffer 0x%x', b."commandBuffer") AS what
FROM "vkBeginCommandBuffer" b WHERE b."pBeginInfo"->>'$.flags' LIKE '%SIMULTANEOUS_USE%' ORDER BY b.seq
"""
