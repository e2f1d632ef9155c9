from drawtap.analysis.rule import rule


@rule(
    title="Memory without buffers, images and mappings",
    fix="Do not allocate it.",
    severity="note",
    api="vk",
)
def vk_unused_memory() -> str:
    """The memory is taken from the device, and nothing lies in it."""
    return r"""
SELECT a.seq, a.frame, a.bytes, printf('memory 0x%x', a.memory) AS what FROM allocations a
WHERE a.resources = 0 AND a.maps = 0 AND NOT a.imported ORDER BY a.seq
"""
