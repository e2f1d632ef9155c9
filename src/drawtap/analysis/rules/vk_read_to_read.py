from drawtap.analysis.rule import rule


@rule(
    title="Image barriers between two reads in the same layout",
    fix="Leave the barrier out: reads need no order.",
    api="vk",
)
def vk_read_to_read() -> str:
    """The GPU waits for work whose results the later work does not need."""
    return r"""
SELECT b.seq, b.frame, printf('image 0x%x', b.object) || ', ran ' || b.executed || ' times' AS what FROM barriers b
WHERE b.kind = 'image' AND b.old_layout = b.new_layout AND b.executed > 0
  AND b.src_queue_family IS NOT DISTINCT FROM b.dst_queue_family
  AND b.src_access LIKE '%READ%' AND b.src_access NOT LIKE '%WRITE%' AND b.dst_access NOT LIKE '%WRITE%' ORDER BY b.seq
"""
