from drawtap.analysis.rule import rule


@rule(
    title="Fragment shaders that discard",
    fix="Use blending, or geometry that follows the outline; draw what discards after everything opaque.",
    severity="note",
    hardware=("tiled",),
    concerns="content",
)
def fragment_discard() -> str:
    """A shader with discard keeps the GPU from rejecting hidden pixels before shading them."""
    return r"""
SELECT s.seq, s.frame, 'shader ' || s.shader AS what FROM sources s
WHERE s.stage = GL_FRAGMENT_SHADER AND regexp_matches(regexp_replace(s.source, '//[^\n]*|/\*.*?\*/', ' ', 'g'),
    '\bdiscard\b') ORDER BY s.seq
"""
