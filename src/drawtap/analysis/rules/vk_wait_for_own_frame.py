from drawtap.analysis.rule import rule


@rule(
    title="The frame waits for its own work",
    fix="Keep two frames in flight: wait for the fence of the frame before the last.",
    needs=("frames",),
    api="vk",
)
def vk_wait_for_own_frame() -> str:
    """The program stops until the GPU has done what it was just given: both take turns."""
    return r"""
SELECT w.seq, w.frame, w.duration AS ns, 'fence of call ' || s.seq AS what
FROM (SELECT f.seq, f.frame, f.duration, unnest(f."pFences"::UBIGINT[]) AS fence FROM "vkWaitForFences" f
      WHERE f.timeout > 0) w
JOIN (SELECT DISTINCT b.seq, b.frame, b.fence FROM submits b WHERE b.fence <> 0) s
  ON s.fence = w.fence AND s.frame = w.frame AND s.seq < w.seq
JOIN steady_frames x ON x.frame = w.frame ORDER BY w.seq
"""
