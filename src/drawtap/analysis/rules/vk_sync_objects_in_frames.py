from drawtap.analysis.rule import rule


@rule(
    title="Fences, semaphores or events are made while frames are drawn",
    fix="Make them once and reset them.",
    severity="note",
    needs=("frames",),
    api="vk",
)
def vk_sync_objects_in_frames() -> str:
    """Each is an object of the kernel with some drivers."""
    return r"""
SELECT min(o.created_seq) AS seq, o.frame, count(*) AS n, sum(o.create_ns)::BIGINT AS ns, o.type AS what FROM objects o
JOIN steady_frames f ON f.frame = o.frame WHERE o.type IN ('VkFence', 'VkSemaphore', 'VkEvent')
GROUP BY o.frame, o.type ORDER BY o.frame
"""
