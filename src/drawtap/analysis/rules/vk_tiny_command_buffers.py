from drawtap.analysis.rule import rule


@rule(
    title="Many command buffers that hardly do anything",
    fix="Record more into one command buffer: ten draws or dispatches at least.",
    needs=("frames",),
    api="vk",
)
def vk_tiny_command_buffers() -> str:
    """Each command buffer costs a fixed time at its beginning, its end and its submit. Reported for frames with
    more than four that draw or dispatch at most three times each.
    """
    return r"""
SELECT min(t.submit_seq) AS seq, t.frame, count(*) || ' command buffers' AS what
FROM (SELECT e.frame, e.submit_seq, e.batch, e.primary_buffer FROM executed e
      GROUP BY e.frame, e.submit_seq, e.batch, e.primary_buffer
      HAVING count(*) FILTER (WHERE e.kind IN ('draw', 'dispatch')) BETWEEN 1 AND 3) t
JOIN steady_frames f ON f.frame = t.frame GROUP BY t.frame HAVING count(*) > 4 ORDER BY t.frame
"""
