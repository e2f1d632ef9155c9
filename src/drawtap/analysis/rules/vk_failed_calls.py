from drawtap.analysis.rule import rule


@rule(
    title="Calls that the driver refused",
    fix="Look at the call's arguments with the validation layer.",
    severity="error",
    api="vk",
)
def vk_failed_calls() -> str:
    """A call with an error has no effect, and the program may go on with a handle that is none."""
    return r"""
SELECT c.seq, c.frame, c.duration AS ns, c.name || ': ' || c.result AS what FROM calls c
JOIN functions f ON f.id = c.fn WHERE f.api = 'vk' AND c.result LIKE 'VK_ERROR%' ORDER BY c.seq
"""
