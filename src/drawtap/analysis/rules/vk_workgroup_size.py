from drawtap.analysis.rule import rule


@rule(
    title="Workgroups that are no multiple of 32 invocations",
    fix="Choose workgroups of a multiple of 64 invocations.",
    api="vk",
)
def vk_workgroup_size() -> str:
    """GPUs run 32 or 64 invocations in lockstep: the last group of lanes of each workgroup idles in part."""
    return r"""
SELECT s.seq, s.frame, array_to_string(s.workgroup, ' x ') || ' invocations' AS what FROM shaders s
WHERE len(s.workgroup) = 3 AND (s.workgroup[1] * s.workgroup[2] * s.workgroup[3]) % 32 <> 0 ORDER BY s.seq
"""
