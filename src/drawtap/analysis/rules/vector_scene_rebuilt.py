from drawtap.analysis.rule import rule


@rule(
    title="The whole scene is built anew for every frame",
    fix="Keep paths and images from frame to frame, and make anew only those that change.",
    needs=("frames", "draws", "resources"),
    api="vg",
)
def vector_scene_rebuilt() -> str:
    """Most of a scene is what it was a frame before. Building it from the ground up takes the time that animation has,
    though it saves memory: Kyostila's SVG player made and destroyed every object around its draw. Reported where
    nine tenths of what is drawn were made in the same frame, in more than half of the frames after the first.
    """
    return """
WITH used AS (
    SELECT d.frame, d.seq, 'vg_path' AS class, unnest(d.buffers) AS name FROM draws d WHERE d.function LIKE 'vg%'
    UNION ALL
    SELECT d.frame, d.seq, 'vg_image' AS class, unnest(d.textures) AS name FROM draws d WHERE d.function LIKE 'vg%'
), shown AS (
    SELECT u.frame, u.class, u.name, min(u.seq) AS seq, max(r.created_seq) AS created
    FROM used u JOIN resources r ON r.class = u.class AND r.name = u.name AND r.created_seq <= u.seq
        AND (r.deleted_seq IS NULL OR r.deleted_seq > u.seq)
    GROUP BY u.frame, u.class, u.name
), scenes AS (
    SELECT w.frame, min(w.seq) AS seq, count(*) AS objects, count(*) FILTER (w.created >= s.first_seq) AS made
    FROM shown w JOIN steady_frames s ON s.frame = w.frame GROUP BY w.frame
), rebuilt AS (SELECT * FROM scenes WHERE made >= 0.9 * objects)
SELECT t.seq, t.frame, t.made AS n, t.made || ' of ' || t.objects || ' paths and images were made in this frame' AS what
FROM rebuilt t WHERE (SELECT count(*) FROM rebuilt) > 0.5 * (SELECT count(*) FROM steady_frames) ORDER BY t.seq
"""
