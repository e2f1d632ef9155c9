from drawtap.analysis.rule import rule


@rule(
    title="Submits without commands, semaphores and fence",
    fix="Leave these submits out.",
    api="vk",
)
def vk_empty_submits() -> str:
    """Such a submit costs its time in the driver and has no effect."""
    return r"""
SELECT s.seq, s.frame, s.duration AS ns, s.function AS what FROM submits s
WHERE NOT s.failed AND s.commands = 0 AND s.unrecorded = 0 AND len(s.waits) = 0 AND len(s.signals) = 0 AND s.fence = 0
  AND s.function NOT LIKE '%Sparse%' ORDER BY s.seq
"""
