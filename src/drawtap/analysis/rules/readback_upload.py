from drawtap.analysis.rule import rule


@rule(
    title="Pixels read back and uploaded again",
    fix=("Draw into a texture with a framebuffer object, or copy with glCopyTexSubImage2D or glBlitFramebuffer."),
    severity="error",
)
def readback_upload() -> str:
    """The pixels travel from the GPU to the program and back, and both wait. Kyostila's menu drew its textures this
    way.
    """
    return """
SELECT i.seq, i.frame, i.bytes, i.duration AS ns, i.function || ' of what call ' || max(r.seq) || ' read' AS what
FROM images i JOIN "glReadPixels" r ON r.pixels_blob = i.blob AND r.seq < i.seq
WHERE i.blob IS NOT NULL GROUP BY i.seq, i.frame, i.bytes, i.duration, i.function ORDER BY i.seq
"""
