"""amdgpu's own events of its submissions."""

from drawtap.system.driver import Draft, driver


@driver("amdgpu", order=30)
def amdgpu(draft: Draft) -> None:
    """Submissions, if only amdgpu's own events were recorded, not the DRM scheduler's.

    amdgpu_cs_ioctl (queued) and amdgpu_sched_run_job (submitted) name the finished fence by context and number (and
    timeline, before Linux 6.17); its dma_fence_signaled (before Linux 4.11: fence_signaled) is the end. The scheduled
    fence, context - 1, is not asked. With events of the DRM scheduler there is nothing to add: they are the same jobs.

    amdgpu_bo_create tells of memory that is allocated; amdgpu has no event for memory that is freed.
    """
    _memory(draft)
    if draft.count("drm_sched_job", "drm_sched_job_queue"):
        return
    if not draft.load(
        "amd",
        ("amdgpu_cs_ioctl", "amdgpu_sched_run_job"),
        keys=("context=context|fence_context", "seqno=seqno|fence_seqno"),
        texts=("timeline", "ring=ring|ring_name", "dev"),
    ):
        return
    draft.steps(
        """
        SELECT context AS k1, seqno AS k2, t,
               CASE event WHEN 'amdgpu_cs_ioctl' THEN 'queued' ELSE 'submitted' END AS phase,
               coalesce(timeline, CASE WHEN NOT regexp_matches(ring, '^(0x)?[0-9a-f]{8,}$') THEN ring END) AS engine,
               dev AS device, context, seqno,
               CASE WHEN event = 'amdgpu_cs_ioctl' THEN tid END AS tid,
               CASE WHEN event = 'amdgpu_cs_ioctl' THEN pid END AS pid,
               CASE WHEN event = 'amdgpu_cs_ioctl' THEN comm END AS comm
        FROM ev_amd
        """
    )
    draft.ends("dma_fence_signaled", "fence_signaled")
    if draft.load("amdend", ("dma_fence_signaled", "fence_signaled"), keys=("context", "seqno"), texts=("timeline",)):
        draft.steps(
            "SELECT a.context AS k1, a.seqno AS k2, min(e.t) AS t, 'end' AS phase "
            "FROM (SELECT DISTINCT context, seqno, timeline FROM ev_amd) a JOIN ev_amdend e "
            "ON e.context = (a.context & 4294967295) AND e.seqno = (a.seqno & 4294967295) "
            "WHERE a.timeline IS NULL OR e.timeline = a.timeline GROUP BY a.context, a.seqno"
        )
        # Requests from before the trace: earlier fences of contexts that submitted later on.
        draft.steps(
            "SELECT a.context AS k1, e.seqno AS k2, min(e.t) AS t, 'end' AS phase, any_value(a.timeline) AS engine, "
            "a.context, e.seqno FROM (SELECT context, timeline, min(seqno) AS seqno, min(t) AS t FROM ev_amd "
            "WHERE timeline IS NOT NULL GROUP BY ALL) a JOIN ev_amdend e "
            "ON e.context = (a.context & 4294967295) AND e.timeline = a.timeline AND e.seqno < (a.seqno & 4294967295) "
            "GROUP BY a.context, e.seqno"
        )
    else:
        draft.lacks("dma_fence_signaled", "not recorded: amdgpu has no event of its own for the end of a submission")


def _memory(draft: Draft) -> None:
    if not draft.load("amdbo", ("amdgpu_bo_create",), ints=("pages",)):
        return
    draft.counters(
        "SELECT 'gpu/memory allocated' AS track, t AS t_ns, sum(pages * 4096) OVER (ORDER BY t)::DOUBLE AS value "
        "FROM ev_amdbo",
        unit="bytes",
    )
    draft.memory(
        "SELECT 'gpu' AS device, tid, pid, t, pages * 4096 AS change FROM ev_amdbo WHERE pages IS NOT NULL AND tid > 0",
        basis="allocated",
    )
    draft.lacks("amdgpu_bo_create", "amdgpu does not tell when memory is freed: `memory allocated` only grows")
