from drawtap.analysis.rule import rule


@rule(
    title="Descriptor pools from which no set was allocated",
    fix="Do not create the pool.",
    severity="note",
    api="vk",
)
def vk_unused_pools() -> str:
    """The pool takes the memory of all sets that it could have."""
    return r"""
SELECT p.created_seq AS seq, p.frame, p.create_ns AS ns, printf('descriptor pool 0x%x', p.handle) AS what FROM objects p
WHERE p.type = 'VkDescriptorPool' AND NOT EXISTS (
    SELECT 1 FROM objects s WHERE s.type = 'VkDescriptorSet' AND s.parent = p.handle AND s.created_seq > p.created_seq)
ORDER BY p.created_seq
"""
