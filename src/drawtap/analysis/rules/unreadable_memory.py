from drawtap.analysis.rule import rule


@rule(
    title="Arrays that reach out of the program's memory",
    fix="Compare the sizes in the call with the size of the array.",
    severity="error",
    api="any",
)
def unreadable_memory() -> str:
    """The driver reads what does not belong to the array, or crashes: a count, stride or pointer is wrong."""
    return """
SELECT u.seq, coalesce(u.function || ': ' || u.param, 'a client array of this draw') AS what
    FROM unreadable u ORDER BY u.seq
"""
