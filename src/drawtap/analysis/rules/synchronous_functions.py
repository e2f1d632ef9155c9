from drawtap.analysis.rule import rule


@rule(
    title="Functions that wait for the GPU",
    fix=(
        "Read into a pixel buffer object and fetch it a frame or two later; use fences instead of glFinish; "
        "leave glFinish to the swap. Vulkan: wait for the fence of an earlier frame, not for an idle queue or device."
    ),
    needs=("frames",),
    api="any",
    original="Synchronous functions",
)
def synchronous_functions() -> str:
    """A read-back or a finish stops the program until the GPU has drawn everything before it, and leaves the GPU
    without work afterwards. Reported where more than a tenth of the frames wait. Vulkan's waits for fences and
    semaphores have a rule of their own, for a wait for the work of an earlier frame is good.
    """
    return """
WITH waits AS (
    SELECT c.frame, min(c.seq) AS seq, count(*) AS n, sum(c.duration) AS ns, string_agg(DISTINCT f.name, ', ') AS what
    FROM calls c JOIN functions f ON f.id = c.fn JOIN steady_frames s ON s.frame = c.frame
    WHERE (f.category IN ('finish', 'readback') OR regexp_matches(f.name, '^(glCopyTex|eglCopyBuffers)'))
      AND NOT regexp_matches(f.name, '^vkWait')
      AND c.seq <> s.end_seq - 1
      AND c.seq NOT IN (SELECT r.seq FROM "glReadPixels" r WHERE r.pixels_bytes IS NULL)
    GROUP BY c.frame
)
SELECT seq, frame, n, ns, what FROM waits
WHERE (SELECT count(*) FROM waits) > 0.1 * (SELECT count(*) FROM steady_frames) ORDER BY seq
"""
