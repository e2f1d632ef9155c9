from drawtap.analysis.rule import rule


@rule(
    title="The program waits for an idle queue or device in frames",
    fix="Wait for the fence of two frames before.",
    needs=("frames",),
    api="vk",
)
def vk_idle_in_frames() -> str:
    """CPU and GPU take turns instead of working side by side."""
    return r"""
SELECT w.seq, w.frame, w.duration AS ns, w.what FROM (
    SELECT q.seq, q.frame, q.duration, 'vkQueueWaitIdle' AS what FROM "vkQueueWaitIdle" q
    UNION ALL SELECT d.seq, d.frame, d.duration, 'vkDeviceWaitIdle' FROM "vkDeviceWaitIdle" d) w
JOIN steady_frames f ON f.frame = w.frame ORDER BY w.seq
"""
