"""Fences: what every driver shares."""

from drawtap.system.driver import Draft, driver

_REQUEST_EVENTS = (
    "drm_sched_job",
    "drm_sched_job_queue",
    "amdgpu_cs_ioctl",
    "i915_request_add",
    "i915_gem_request_add",
    "xe_sched_job_create",
    "virtio_gpu_cmd_queue",
    "msm_gpu_submit",
)


@driver("dma_fence", order=60)
def dma_fence(draft: Draft) -> None:
    """Threads that wait for fences; and requests, where no driver tells of its own.

    dma_fence_wait_start and _end are spans on `thread/TID/fence wait`, linked to the request whose fence it is. Without
    events of a driver, dma_fence_init or _emit (queued) and dma_fence_signaled (done) make a request. The timeline
    stands for the engine; the time of the work on an engine is unknown.
    """
    _waits(draft)
    if draft.count(*_REQUEST_EVENTS):
        return
    if not draft.load(
        "fence",
        ("dma_fence_init", "dma_fence_emit", "dma_fence_signaled", "fence_init", "fence_emit", "fence_signaled"),
        keys=("context", "seqno"),
        texts=("driver", "timeline"),
    ):
        return
    draft.steps(
        """
        SELECT context AS k1, seqno AS k2, hash(driver, timeline) AS k3, t,
               CASE WHEN event LIKE '%signaled' THEN 'done' WHEN event LIKE '%emit'
                    THEN 'queued' ELSE 'created' END AS phase,
               driver AS device, timeline AS engine, context, seqno,
               CASE WHEN event NOT LIKE '%signaled' THEN tid END AS tid,
               CASE WHEN event NOT LIKE '%signaled' THEN pid END AS pid,
               CASE WHEN event NOT LIKE '%signaled' THEN comm END AS comm
        FROM ev_fence
        """
    )
    draft.lacks("dma_fence", "fences show when work was submitted and done, not when it was on an engine")


def _waits(draft: Draft) -> None:
    if not draft.load(
        "wait",
        ("dma_fence_wait_start", "dma_fence_wait_end", "fence_wait_start", "fence_wait_end"),
        keys=("context", "seqno"),
        texts=("driver", "timeline"),
    ):
        return
    draft.run(
        """
        CREATE OR REPLACE TABLE waits AS
        SELECT tid, cpu, t AS begin_ns, next_t AS end_ns, context, seqno, timeline FROM (
          SELECT *, lead(t) OVER w AS next_t, lead(event) OVER w AS next_event
          FROM ev_wait WINDOW w AS (PARTITION BY tid, context, seqno ORDER BY t, event DESC)
        ) WHERE event LIKE '%wait_start' AND next_event LIKE '%wait_end'
        """
    )
    draft.spans(
        "SELECT 'thread/' || tid || '/fence wait' AS track, begin_ns, end_ns, "
        "timeline || ' ' || context || ':' || seqno "
        "AS name, 'fence wait' AS kind, tid, cpu, false AS is_open FROM waits"
    )
