from drawtap.analysis.rule import rule


@rule(
    title="Memory is allocated while frames are drawn",
    fix="Allocate before the first frame, and use memory again.",
    needs=("frames",),
    api="vk",
)
def vk_allocations_in_frames() -> str:
    """vkAllocateMemory asks the kernel, which clears the memory: milliseconds for large blocks."""
    return r"""
SELECT a.seq, a.frame, c.duration AS ns, a.bytes, printf('memory 0x%x', a.memory) AS what
FROM allocations a JOIN steady_frames f ON f.frame = a.frame JOIN calls c ON c.seq = a.seq ORDER BY a.seq
"""
