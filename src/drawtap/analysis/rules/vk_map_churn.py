from drawtap.analysis.rule import rule


@rule(
    title="Memory is mapped over and over",
    fix="Map memory once and keep it mapped.",
    api="vk",
)
def vk_map_churn() -> str:
    """A mapping may stay as long as the memory lives, and the GPU may use the memory meanwhile. Each vkMapMemory
    may ask the kernel. Reported from ten mappings of the same memory on.
    """
    return r"""
SELECT a.seq, a.frame, a.bytes, printf('memory 0x%x', a.memory) || ' mapped ' || a.maps || ' times' AS what
FROM allocations a WHERE a.maps >= 10 ORDER BY a.seq
"""
