from drawtap.analysis.rule import rule


@rule(
    title="Frames shown without anything drawn",
    fix="Swap only after drawing.",
    needs=("frames",),
    api="any",
)
def swap_without_draw() -> str:
    """The swap costs power and a place in the queue, and shows nothing new, or something undefined."""
    return """
SELECT s.first_seq AS seq, s.frame, s.calls AS n, s.calls || ' calls, none of which draws' AS what
FROM steady_frames s
WHERE s.draws = 0 AND NOT EXISTS (
    SELECT 1 FROM calls c JOIN functions f ON f.id = c.fn
    WHERE c.frame = s.frame AND (f.category IN ('clear', 'dispatch', 'draw') OR regexp_matches(f.name,
        '^gl(Blit|CallList|CopyPixels|CopyImage)')))
  AND EXISTS (SELECT 1 FROM calls c JOIN functions f ON f.id = c.fn WHERE c.seq = s.end_seq - 1
      AND f.category = 'frame_end')
ORDER BY s.frame
"""
