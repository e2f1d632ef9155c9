from drawtap.analysis.rule import rule


@rule(
    title="Render passes in which nothing is drawn or cleared",
    fix="Leave the pass out, or join it with another one.",
    needs=("frames",),
    api="vk",
)
def vk_empty_passes() -> str:
    """A tiled GPU loads and stores the attachments of a pass all the same."""
    return r"""
SELECT min(p.seq) AS seq, p.frame, count(*) || ' render passes without draws' AS what
FROM (SELECT e.frame, e.pass_number, min(e.submit_seq) AS seq FROM executed e WHERE e.pass_number IS NOT NULL
      GROUP BY e.frame, e.pass_number HAVING count(*) FILTER (WHERE e.kind IN ('draw', 'clear', 'dispatch')) = 0) p
JOIN steady_frames f ON f.frame = p.frame GROUP BY p.frame ORDER BY p.frame
"""
