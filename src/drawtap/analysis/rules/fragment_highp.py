from drawtap.analysis.rule import rule


@rule(
    title="Fragment shaders that compute everything in high precision",
    fix=(
        "Say precision mediump float; and mark with highp only what needs it: positions, depths, large "
        "texture coordinates."
    ),
    severity="note",
    hardware=("tiled",),
    concerns="content",
)
def fragment_highp() -> str:
    """Many GPUs of phones compute mediump twice as fast, with half the registers."""
    return r"""
SELECT s.seq, s.frame, 'shader ' || s.shader AS what FROM sources s
WHERE s.stage = GL_FRAGMENT_SHADER AND regexp_matches(s.source, '\bprecision\s+highp\s+float') ORDER BY s.seq
"""
