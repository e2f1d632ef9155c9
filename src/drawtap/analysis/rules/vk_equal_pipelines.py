from drawtap.analysis.rule import rule


@rule(
    title="Equal pipelines are made again",
    fix="Remember pipelines by their create info.",
    api="vk",
)
def vk_equal_pipelines() -> str:
    """Each takes the time of its creation, memory, and a change of state between draws that need none."""
    return r"""
SELECT p.seq, p.frame, p.ns, 'as pipeline of call ' || p.first AS what
FROM (SELECT q.seq, q.frame, q.duration // q.made_with AS ns, min(q.seq) OVER own AS first,
             row_number() OVER own AS number
      FROM pipelines q WHERE q.info IS NOT NULL
      WINDOW own AS (PARTITION BY q.kind, q.info ORDER BY q.seq, q.pipeline)) p
WHERE p.number > 1 ORDER BY p.seq
"""
