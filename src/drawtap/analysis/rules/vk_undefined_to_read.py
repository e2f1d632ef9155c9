from drawtap.analysis.rule import rule


@rule(
    title="Undefined content goes to a layout for reading",
    fix="Keep the old layout, or write the image first.",
    severity="error",
    api="vk",
)
def vk_undefined_to_read() -> str:
    """A shader then reads undefined values: some drivers show the old content, some show noise."""
    return r"""
SELECT b.seq, b.frame, printf('image 0x%x', b.object) || ', ran ' || b.executed || ' times' AS what FROM barriers b
WHERE b.old_layout = 'VK_IMAGE_LAYOUT_UNDEFINED' AND b.new_layout LIKE '%READ_ONLY%' ORDER BY b.seq
"""
