from drawtap.analysis.rule import rule


@rule(
    title="Frames drawn faster than any screen shows them",
    fix="Set a swap interval of 1 (Vulkan: the present mode FIFO), or wait for the time of the next frame.",
    severity="note",
    concerns="other",
    needs=("frames", "timing"),
    api="any",
)
def unlimited_frames() -> str:
    """Power is spent on pictures that nobody sees. Reported from an average of 250 frames a second on."""
    return """
SELECT min(s.frame) AS frame, list(s.frame) AS frames,
       round(1e9 * count(*) / sum(s.time)) || ' frames a second' AS what
FROM steady_frames s HAVING sum(s.time) > 0 AND 1e9 * count(*) / sum(s.time) > 250 AND count(*) >= 10
"""
