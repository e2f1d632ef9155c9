from drawtap.analysis.rule import rule


@rule(
    title="Paths built again with the same segments",
    fix="Keep the path, and move it with the matrix; vgModifyPathCoords changes a part of it.",
    needs=("frames",),
    api="vg",
)
def vector_path_churn() -> str:
    """An engine throws away its data about a path with the path: its lines, its bounds, its outline as a stroke.
    Reported for data that was handed over in an earlier frame already.
    """
    return """
WITH appended AS (
    SELECT a.seq, a.frame, a."numSegments" AS segments, a."pathData_bytes"::BIGINT AS bytes, a.duration,
        coalesce(a."pathData_blob"::VARCHAR, md5(a."pathData_data"::BLOB)) AS data,
        coalesce(a."pathSegments_blob"::VARCHAR, md5(a."pathSegments_data"::BLOB)) AS commands
    FROM "vgAppendPathData" a
), again AS (
    SELECT p.*, min(p.frame) OVER (PARTITION BY p.data, p.commands) AS first_frame,
        lag(p.seq) OVER (PARTITION BY p.data, p.commands ORDER BY p.seq) AS before
    FROM appended p WHERE p.data IS NOT NULL
)
SELECT g.seq, g.frame, g.bytes, g.duration AS ns, g.segments || ' segments, same as call ' || g.before AS what
FROM again g JOIN steady_frames s ON s.frame = g.frame WHERE g.first_frame < g.frame ORDER BY g.seq
"""
