from drawtap.analysis.rule import rule


@rule(
    title="Secondary command buffers with one or two draws",
    fix="Record such draws into the primary command buffer.",
    needs=("frames",),
    api="vk",
)
def vk_tiny_secondaries() -> str:
    """A secondary command buffer starts without any state and is a jump for the GPU: it pays from ten draws on.
    Reported where it runs while frames are drawn.
    """
    return r"""
SELECT min(t.submit_seq) AS seq, t.frame, count(*) || ' secondary command buffers' AS what
FROM (SELECT e.frame, e.submit_seq, e.command_buffer FROM executed e WHERE e.depth > 0
      GROUP BY e.frame, e.submit_seq, e.command_buffer
      HAVING count(*) FILTER (WHERE e.kind IN ('draw', 'dispatch')) < 3) t
JOIN steady_frames f ON f.frame = t.frame GROUP BY t.frame ORDER BY t.frame
"""
