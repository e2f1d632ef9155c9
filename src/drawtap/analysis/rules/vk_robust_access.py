from drawtap.analysis.rule import rule


@rule(
    title="Robust access to buffers is on",
    fix="Switch robustBufferAccess off in releases.",
    severity="note",
    api="vk",
)
def vk_robust_access() -> str:
    """Shaders check every access against the size of the buffer."""
    return r"""
SELECT d.created_seq AS seq, d.frame, printf('device 0x%x', d.handle) AS what FROM objects d
WHERE d.type = 'VkDevice' AND (d.info->>'$.pEnabledFeatures.robustBufferAccess' = 'true'
  OR coalesce(d.info->>'$.pNext', '') LIKE '%"robustBufferAccess": true%'
  OR coalesce(d.info->>'$.pNext', '') LIKE '%"robustBufferAccess":true%') ORDER BY d.created_seq
"""
