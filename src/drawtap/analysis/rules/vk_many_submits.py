from drawtap.analysis.rule import rule


@rule(
    title="Many submits in a frame",
    fix="Collect command buffers and hand them over in one vkQueueSubmit.",
    needs=("frames",),
    api="vk",
)
def vk_many_submits() -> str:
    """Each submit costs some ten microseconds in the driver and the kernel, and the GPU may idle between two of
    them. Reported above ten calls in a frame.
    """
    return r"""
SELECT min(u.seq) AS seq, u.frame, count(DISTINCT u.seq) AS n, sum(u.duration)::BIGINT AS ns,
       count(DISTINCT u.seq) || ' submits' AS what
FROM (SELECT DISTINCT s.seq, s.frame, s.duration FROM submits s) u JOIN steady_frames f ON f.frame = u.frame
GROUP BY u.frame HAVING count(DISTINCT u.seq) > 10 ORDER BY u.frame
"""
