from drawtap.analysis.rule import rule


@rule(
    title="Many allocations of less than 256 KiB",
    fix="Allocate blocks of some megabytes and place buffers and images in them.",
    api="vk",
)
def vk_small_allocations() -> str:
    """Drivers allow few allocations (4,096 must do), each takes whole pages, and vkAllocateMemory asks the
    kernel. Reported from 16 on.
    """
    return r"""
SELECT a.seq, a.frame, c.duration AS ns, a.bytes, printf('memory 0x%x', a.memory) AS what
FROM allocations a JOIN calls c ON c.seq = a.seq
WHERE a.bytes < 262144 AND NOT a.dedicated AND NOT a.imported
  AND (SELECT count(*) FROM allocations b WHERE b.bytes < 262144 AND NOT b.dedicated AND NOT b.imported) >= 16
ORDER BY a.seq
"""
