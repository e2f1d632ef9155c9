from drawtap.analysis.rule import rule


@rule(
    title="Surfaces destroyed and made again",
    fix="Keep the surface; react to a new size with glViewport.",
    needs=("frames",),
    api="egl",
)
def recreated_surfaces() -> str:
    """The window system moves and resizes surfaces by itself; a new one costs its buffers and a stall."""
    return """
WITH gone AS (
    SELECT d.seq, d.frame FROM "eglDestroySurface" d
), made AS (
    SELECT w.seq, w.frame, w.config FROM "eglCreateWindowSurface" w
    UNION ALL SELECT p.seq, p.frame, p.config FROM "eglCreatePbufferSurface" p
    UNION ALL SELECT q.seq, q.frame, q.config FROM "eglCreatePlatformWindowSurface" q
)
SELECT m.seq, m.frame FROM made m JOIN steady_frames s ON s.frame = m.frame
WHERE EXISTS (SELECT 1 FROM gone g WHERE g.seq < m.seq AND g.frame >= m.frame - 1)
  AND EXISTS (SELECT 1 FROM made o WHERE o.seq < m.seq AND o.config = m.config) ORDER BY m.seq
"""
