from drawtap.analysis.rule import rule


@rule(
    title="Surfaces without multisampling",
    fix="Choose a configuration with EGL_SAMPLE_BUFFERS 1 and EGL_SAMPLES 4, where the hardware has it.",
    severity="note",
    hardware=("tiled", "desktop"),
    concerns="content",
    api="any",
    original="Multisample usage",
)
def multisample() -> str:
    """Edges are jagged. On GPUs that draw tile by tile four samples cost little, since they never leave the chip."""
    return r"""
WITH made AS (
    SELECT w.seq, w.frame, w.config FROM "eglCreateWindowSurface" w
    UNION ALL SELECT p.seq, p.frame, p.config FROM "eglCreatePbufferSurface" p
    UNION ALL SELECT q.seq, q.frame, q.config FROM "eglCreatePlatformWindowSurface" q
)
SELECT m.seq, m.frame, 'configuration ' || regexp_extract(n.text, 'id=(\d+)', 1) || ' has ' || regexp_extract(n.text,
    'samples=(\d+)', 1) || ' samples' AS what
FROM made m JOIN natives n ON n.kind = 'config' AND n.handle = m.config AND n.seq <= m.seq
WHERE regexp_extract(n.text, 'samples=(\d+)', 1) IN ('0', '1')
QUALIFY row_number() OVER (PARTITION BY m.seq ORDER BY n.seq DESC) = 1 ORDER BY m.seq
"""
