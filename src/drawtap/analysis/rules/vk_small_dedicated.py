from drawtap.analysis.rule import rule


@rule(
    title="Dedicated allocations of less than 64 KiB",
    fix="Place small buffers and images in a common allocation.",
    api="vk",
)
def vk_small_dedicated() -> str:
    """Memory of its own pays for large targets. A small resource wastes the rest of its pages and one of few
    allocations.
    """
    return r"""
SELECT a.seq, a.frame, a.bytes, printf('memory 0x%x', a.memory) AS what FROM allocations a
WHERE a.dedicated AND NOT a.imported AND a.bytes < 65536 ORDER BY a.seq
"""
