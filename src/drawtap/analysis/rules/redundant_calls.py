from drawtap.analysis.rule import rule


@rule(
    title="State set that was set already",
    fix=(
        "Remember what is set and set only what differs; drawtap simplify --dry-run lists the functions, drawtap "
        "simplify removes the calls."
    ),
    needs=("frames", "redundancy"),
    api="any",
)
def redundant_calls() -> str:
    """Each such call costs its time on the CPU, and some make the driver validate everything anew. Kyostila found 70
    % in an image gallery, and below 5 % in good programs. Reported where more than 5 % of the calls after the
    first frame are redundant. Matrix operations that multiply by one are left out: drivers round differently without
    them.
    """
    return r"""
WITH idle AS (
    SELECT r.seq, c.frame, c.duration, f.name FROM redundancy r JOIN calls c ON c.seq = r.seq
    JOIN functions f ON f.id = c.fn JOIN steady_frames s ON s.frame = c.frame
    WHERE r.kind = 'same value'
      AND NOT regexp_matches(f.name, '^(gl|vg)(Rotate|Scale([dfx]|$)|Translate|Shear|Mult(Transpose)?Matrix)')
)
SELECT min(i.seq) AS seq, min(i.frame) AS frame, list(DISTINCT i.frame) AS frames,
       count(*) AS n, sum(i.duration)::BIGINT AS ns, i.name AS what
FROM idle i WHERE (SELECT count(*) FROM idle) > 0.05 * (SELECT sum(s.calls) FROM steady_frames s)
GROUP BY i.name ORDER BY count(*) DESC
"""
