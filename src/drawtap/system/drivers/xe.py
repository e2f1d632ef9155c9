"""Intel's xe."""

from drawtap.system.driver import Draft, driver

_CLASSES = "['rcs', 'vcs', 'vecs', 'bcs', 'other', 'ccs', 'gsccs']"  # enum xe_engine_class


@driver("xe", order=30)
def xe(draft: Draft) -> None:
    """Jobs of xe where the events of the DRM scheduler were not recorded; else those are the same jobs.

    xe_sched_job_create (created), _exec (queued), _run (submitted), xe_hw_fence_signal of the job's fence (end), _free
    (retired). Fences are addresses that are used again: a life begins with create. The engine is the class of the exec
    queue, where its creation was recorded; else the number that the GuC gave the queue stands for it.
    """
    if draft.count("drm_sched_job", "drm_sched_job_queue"):
        return
    names = tuple(f"xe_sched_job_{stage}" for stage in ("create", "exec", "run", "free"))
    if not draft.load("xe", names, keys=("fence", "seqno"), ints=("guc_id",), texts=("dev",)):
        return
    ends = (
        "SELECT t, 'end' AS phase, fence, NULL::UBIGINT AS seqno, NULL::BIGINT AS guc_id, NULL AS dev, NULL AS tid, "
        "NULL AS pid, NULL AS comm FROM ev_xeend"
    )
    draft.ends("xe_hw_fence_signal")
    union = ""
    if draft.load("xeend", ("xe_hw_fence_signal",), keys=("fence", "ctx")):
        union = f"UNION ALL {ends}"
    else:
        draft.lacks("xe_hw_fence_signal", "not recorded: xe has no other event for the end of a job")
    queues = "SELECT NULL::BIGINT AS guc_id, NULL AS engine WHERE false"
    if draft.load(
        "xeq", ("xe_exec_queue_create", "xe_exec_queue_register"), ints=("class", "gt_id=gt_id|gt", "guc_id")
    ):
        queues = (
            f"SELECT guc_id, arg_max('gt' || gt_id || '-' || coalesce({_CLASSES}[class + 1], 'class' || class), "
            f"t) AS engine "
            "FROM ev_xeq GROUP BY guc_id"
        )
    draft.steps(
        f"""
        WITH events AS (
          SELECT t, CASE event WHEN 'xe_sched_job_create' THEN 'created' WHEN 'xe_sched_job_exec' THEN 'queued'
                         WHEN 'xe_sched_job_run' THEN 'submitted' ELSE 'retired' END AS phase,
                 fence, seqno, guc_id, dev, tid, pid, comm FROM ev_xe {union}
        ), lives AS (
          SELECT *, sum(CASE WHEN phase = 'created' THEN 1 ELSE 0 END) OVER (PARTITION BY fence ORDER BY t,
                 CASE WHEN phase = 'created' THEN 0 ELSE 1 END) AS life FROM events
        )
        SELECT fence AS k1, life::UBIGINT AS k2, t, phase, dev AS device,
               CASE WHEN l.guc_id IS NOT NULL THEN coalesce(q.engine, 'queue ' || l.guc_id) END AS engine,
               l.guc_id::UBIGINT AS context, seqno,
               CASE WHEN phase IN ('created', 'queued') THEN tid END AS tid,
               CASE WHEN phase IN ('created', 'queued') THEN pid END AS pid,
               CASE WHEN phase IN ('created', 'queued') THEN comm END AS comm
        FROM lives l LEFT JOIN ({queues}) q USING (guc_id)
        WHERE phase <> 'end' OR fence IN (SELECT fence FROM ev_xe)
        """
    )
