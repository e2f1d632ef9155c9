from drawtap.analysis.rule import rule


@rule(
    title="Names looked up while frames are drawn",
    fix="Ask for locations and addresses once, after the link, and keep them.",
    needs=("frames",),
    api="any",
)
def name_lookups() -> str:
    """A look-up by name compares strings in the driver; the answer does not change after the link. Reported where
    more than a tenth of the frames look something up.
    """
    return r"""
WITH asked AS (
    SELECT c.frame, min(c.seq) AS seq, count(*) AS n, sum(c.duration) AS ns, string_agg(DISTINCT f.name, ', ') AS what
    FROM calls c JOIN functions f ON f.id = c.fn JOIN steady_frames s ON s.frame = c.frame
    WHERE f.category = 'lookup' OR regexp_matches(f.name,
        '^glGet(Uniform|Attrib|FragData|ProgramResource)\w*(Location|Index)')
    GROUP BY c.frame
)
SELECT seq, frame, n, ns, what FROM asked
WHERE (SELECT count(*) FROM asked) > 0.1 * (SELECT count(*) FROM steady_frames) ORDER BY seq
"""
