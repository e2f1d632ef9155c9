from drawtap.analysis.rule import rule


@rule(
    title="Buffers changed while the GPU may still read them",
    fix=(
        "Write everything before the first draw, use another part of the buffer for each write, or give it "
        "new memory with glBufferData(NULL)."
    ),
    needs=("frames",),
)
def buffer_stalls() -> str:
    """A write into a buffer that draws of the same frame have read makes the driver wait for the GPU, or copy the
    buffer. Maps with GL_MAP_UNSYNCHRONIZED_BIT or GL_MAP_INVALIDATE_*_BIT and glBufferData, which give it a new
    memory, are left out.
    """
    return """
WITH writes AS (
    SELECT w.*, lag(w.seq) OVER (PARTITION BY w.context, w.buffer ORDER BY w.seq) AS before,
           lag(w.frame) OVER (PARTITION BY w.context, w.buffer ORDER BY w.seq) AS before_frame
    FROM buffer_writes w WHERE w.buffer IS NOT NULL
)
SELECT w.seq, w.frame, w.bytes, w.duration AS ns, w.function || ' of buffer ' || w.buffer || ' after draws' AS what
FROM (SELECT x.* FROM writes x JOIN steady_frames s ON s.frame = x.frame WHERE NOT x.safe
    AND x.before_frame = x.frame) w
ASOF JOIN draw_calls d ON d.context = w.context AND d.seq < w.seq WHERE d.seq > w.before ORDER BY w.seq
"""
