from drawtap.analysis.rule import rule


@rule(
    title="Images with more than four samples a pixel",
    fix="Use four samples at most.",
    api="vk",
)
def vk_many_samples() -> str:
    """Eight samples take twice the memory and bandwidth of four, and are hard to tell from them."""
    return r"""
SELECT i.seq, i.frame, i.bytes, i.what || ', ' || i.samples AS what FROM vk_images i
WHERE regexp_extract(coalesce(i.samples, ''), '(\d+)_BIT', 1) IN ('8', '16', '32', '64') ORDER BY i.seq
"""
