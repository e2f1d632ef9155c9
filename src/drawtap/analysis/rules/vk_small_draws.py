from drawtap.analysis.rule import rule


@rule(
    title="Many draws of a few vertices",
    fix="Draw instances, or put several objects into one draw.",
    needs=("frames",),
    api="vk",
)
def vk_small_draws() -> str:
    """Each draw costs its time on the CPU and starts the GPU's units anew. Reported for frames with more than a
    hundred draws of less than 12 vertices, where these are most draws.
    """
    return r"""
SELECT min(e.submit_seq) AS seq, e.frame,
       count(*) FILTER (WHERE e.vertices * e.instances < 12) || ' of ' || count(*) || ' draws' AS what
FROM executed e JOIN steady_frames f ON f.frame = e.frame WHERE e.kind = 'draw' GROUP BY e.frame
HAVING count(*) FILTER (WHERE e.vertices * e.instances < 12) > greatest(100, count(*) / 2) ORDER BY e.frame
"""
