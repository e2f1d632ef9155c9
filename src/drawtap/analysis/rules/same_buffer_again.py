from drawtap.analysis.rule import rule


@rule(
    title="Buffers uploaded again with the same bytes",
    fix="Upload only what has changed; keep things that do not move in a buffer of their own.",
    needs=("frames", "redundancy"),
)
def same_buffer_again() -> str:
    """The buffer already holds these bytes at this place: nothing has written there or given it new memory since."""
    return """
WITH writes AS (
    SELECT w.seq, w.frame, w.function, w.buffer, w.bytes, w.duration, w.blob,
           lag(w.blob) OVER (PARTITION BY w.context, w.buffer, w.start, w.bytes ORDER BY w.seq) AS before
    FROM buffer_writes w WHERE w.bytes IS NOT NULL
)
SELECT w.seq, w.frame, w.bytes, w.duration AS ns, w.function || ' of buffer ' || w.buffer AS what
FROM writes w JOIN steady_frames s ON s.frame = w.frame
JOIN redundancy r ON r.seq = w.seq AND r.kind = 'repeated upload'
WHERE w.blob IS NOT NULL AND w.blob = w.before ORDER BY w.seq
"""
