from drawtap.analysis.rule import rule


@rule(
    title="Command buffers that run once without ONE_TIME_SUBMIT",
    fix="Begin them with VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT.",
    severity="note",
    api="vk",
)
def vk_one_time_missing() -> str:
    """A driver that knows that a command buffer runs once need not keep it ready for more. Reported where at
    least ten were recorded anew after one submit.
    """
    return r"""
WITH begun AS (
    SELECT b.seq, b.frame, b."commandBuffer" AS buffer, b."pBeginInfo"->>'$.flags' AS flags,
           lead(b.seq) OVER (PARTITION BY b."commandBuffer" ORDER BY b.seq) AS until
    FROM "vkBeginCommandBuffer" b
), ran AS (SELECT DISTINCT e.command_buffer AS buffer, e.submit_seq, e.seq FROM executed e), once AS (
    SELECT b.seq, b.frame, b.buffer FROM begun b JOIN ran r ON r.buffer = b.buffer AND r.seq > b.seq AND r.seq < b.until
    WHERE coalesce(b.flags, '') NOT LIKE '%ONE_TIME_SUBMIT%' GROUP BY b.seq, b.frame, b.buffer
    HAVING count(DISTINCT r.submit_seq) = 1
)
SELECT min(o.seq) AS seq, min(o.frame) AS frame, list(DISTINCT o.frame) AS frames, count(*) AS n,
       printf('command buffer 0x%x', o.buffer) AS what
FROM once o GROUP BY o.buffer HAVING count(*) >= 10 ORDER BY min(o.seq)
"""
