from drawtap.analysis.rule import rule


@rule(
    title="Barriers that wait for all commands",
    fix="Name the stages that write and those that read.",
    api="vk",
)
def vk_all_commands_barriers() -> str:
    """The GPU drains before it goes on: no two pieces of work overlap around such a barrier."""
    return r"""
SELECT b.seq, b.frame, b.src_stages || ' to ' || b.dst_stages || ', ran ' || b.executed || ' times' AS what
FROM barriers b
WHERE b.executed > 0 AND b.src_stages LIKE '%ALL_COMMANDS%' AND b.dst_stages LIKE '%ALL_COMMANDS%' ORDER BY b.seq
"""
