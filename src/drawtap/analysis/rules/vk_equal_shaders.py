from drawtap.analysis.rule import rule


@rule(
    title="Equal shader modules are made again",
    fix="Remember shader modules by the hash of their code.",
    severity="note",
    api="vk",
)
def vk_equal_shaders() -> str:
    """The driver parses the code each time."""
    return r"""
SELECT s.seq, s.frame, s.duration AS ns, s.bytes, 'as shader of call ' || s.first AS what
FROM (SELECT m.seq, m.frame, m.duration, m.bytes, min(m.seq) OVER own AS first, row_number() OVER own AS number
      FROM shaders m WHERE m.hash IS NOT NULL WINDOW own AS (PARTITION BY m.hash ORDER BY m.seq)) s
WHERE s.number > 1 ORDER BY s.seq
"""
