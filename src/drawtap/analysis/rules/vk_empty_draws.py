from drawtap.analysis.rule import rule


@rule(
    title="Draws without vertices or instances, dispatches without groups",
    fix="Leave these commands out.",
    api="vk",
)
def vk_empty_draws() -> str:
    """The command costs its time on the CPU and draws nothing."""
    return r"""
SELECT e.seq, min(e.frame) AS frame, e.name || ', ran ' || count(*) || ' times' AS what FROM executed e
WHERE (e.kind = 'draw' AND (e.vertices = 0 OR e.instances = 0)) OR (e.kind = 'dispatch' AND e.groups = 0)
GROUP BY e.seq, e.name ORDER BY e.seq
"""
