from drawtap.analysis.rule import rule


@rule(
    title="Early stages wait for late ones",
    fix="Wait in the stage that reads: FRAGMENT_SHADER where a shader samples the target.",
    hardware=("tiled",),
    api="vk",
)
def vk_pipeline_bubbles() -> str:
    """A tiled GPU works on the vertices of one pass during the fragments of another. The barrier makes both take
    turns.
    """
    return r"""
SELECT b.seq, b.frame, b.src_stages || ' to ' || b.dst_stages || ', ran ' || b.executed || ' times' AS what
FROM barriers b
WHERE b.executed > 0 AND regexp_matches(b.src_stages, 'FRAGMENT|COLOR_ATTACHMENT_OUTPUT')
  AND NOT regexp_matches(b.src_stages, 'VERTEX|TRANSFER|COPY|COMPUTE|HOST')
  AND regexp_matches(b.dst_stages, 'VERTEX_SHADER|VERTEX_INPUT|DRAW_INDIRECT|ALL_GRAPHICS|TOP_OF_PIPE|ALL_COMMANDS')
ORDER BY b.seq
"""
