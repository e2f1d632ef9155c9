from drawtap.analysis.rule import rule


@rule(
    title="Command buffers that are recorded anew and never ran",
    fix="Record what is submitted, or keep what was recorded.",
    api="vk",
)
def vk_never_submitted() -> str:
    """The commands cost their time on the CPU and nobody sees their effect."""
    return r"""
WITH begun AS (
    SELECT b.seq, b.frame, b."commandBuffer" AS buffer,
           lead(b.seq) OVER (PARTITION BY b."commandBuffer" ORDER BY b.seq) AS until
    FROM "vkBeginCommandBuffer" b
), ran AS (SELECT DISTINCT e.command_buffer AS buffer, e.seq FROM executed e)
SELECT b.seq, b.frame, printf('command buffer 0x%x', b.buffer) AS what FROM begun b
WHERE b.until IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM ran r WHERE r.buffer = b.buffer AND r.seq > b.seq AND r.seq < b.until) ORDER BY b.seq
"""
