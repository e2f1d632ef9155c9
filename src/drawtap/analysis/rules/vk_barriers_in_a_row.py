from drawtap.analysis.rule import rule


@rule(
    title="Barriers with no work between them",
    fix="Give one call all barriers.",
    needs=("frames",),
    api="vk",
)
def vk_barriers_in_a_row() -> str:
    """Each call may flush caches and wait by itself."""
    return r"""
SELECT min(r.submit_seq) AS seq, r.frame, count(*) || ' times' AS what
FROM (SELECT e.submit_seq, e.frame, e.name,
             lag(e.name) OVER (PARTITION BY e.submit_seq, e.batch, e.command_buffer ORDER BY e.number) AS before
      FROM executed e) r JOIN steady_frames f ON f.frame = r.frame
WHERE r.name LIKE 'vkCmdPipelineBarrier%' AND r.before LIKE 'vkCmdPipelineBarrier%'
GROUP BY r.frame ORDER BY r.frame
"""
