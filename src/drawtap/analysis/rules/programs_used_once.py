from drawtap.analysis.rule import rule


@rule(
    title="Programs linked for a single frame",
    fix=(
        "Keep programs for later frames instead of deleting them, and use one program with uniforms for "
        "variants that change often."
    ),
    needs=("frames",),
)
def programs_used_once() -> str:
    """A link costs more than the frame it is used in can save."""
    return """
WITH used AS (
    SELECT l.seq, l.program, l.duration, min(d.frame) AS frame, max(d.frame) AS last
    FROM drawn d ASOF JOIN "glLinkProgram" l ON l.program = d.program AND l.seq <= d.seq
    GROUP BY l.seq, l.program, l.duration
)
SELECT u.seq, u.frame, u.duration AS ns, 'program ' || u.program || ' draws in frame ' || u.frame || ' only'
    AS what FROM used u
WHERE u.frame = u.last AND u.frame >= 1 AND u.last + 3 < (SELECT max(s.frame) FROM steady_frames s) ORDER BY u.seq
"""
