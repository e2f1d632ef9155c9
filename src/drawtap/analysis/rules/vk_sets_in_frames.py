from drawtap.analysis.rule import rule


@rule(
    title="Descriptor sets are allocated while frames are drawn",
    fix="Allocate sets once and update them, or use dynamic offsets.",
    needs=("frames",),
    api="vk",
)
def vk_sets_in_frames() -> str:
    """Allocation takes a pool's memory and time. Reported above a hundred sets in a frame."""
    return r"""
SELECT min(o.seq) AS seq, o.frame, count(*) AS n, sum(o.ns)::BIGINT AS ns, sum(o.sets) || ' descriptor sets' AS what
FROM (SELECT d.created_seq AS seq, d.frame, any_value(d.create_ns) AS ns, count(*) AS sets FROM objects d
      WHERE d.type = 'VkDescriptorSet' GROUP BY d.created_seq, d.frame) o
JOIN steady_frames f ON f.frame = o.frame GROUP BY o.frame HAVING sum(o.sets) > 100 ORDER BY o.frame
"""
