from drawtap.analysis.rule import rule


@rule(
    title="Frames drawn into a pbuffer",
    fix="Draw into a window surface, or into framebuffer objects that take turns.",
    severity="note",
    needs=("frames",),
    api="egl",
)
def pbuffer_frames() -> str:
    """A pbuffer has one buffer: the GPU cannot work on a frame while the one before is being read."""
    return """
SELECT min(w.seq) AS seq, min(w.frame) AS frame, list(DISTINCT w.frame) AS frames,
       count(*) AS n, count(*) || ' frames end on a pbuffer' AS what
FROM "eglSwapBuffers" w JOIN (SELECT DISTINCT p.result
    FROM "eglCreatePbufferSurface" p) p ON p.result = w.surface HAVING count(*) > 0
"""
