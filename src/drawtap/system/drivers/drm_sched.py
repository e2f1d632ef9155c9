"""The scheduler that most DRM drivers share: amdgpu, panfrost, lima, v3d, etnaviv, xe, msm, nouveau, asahi ..."""

from __future__ import annotations

from collections.abc import Mapping

from drawtap.system.driver import Draft, driver

_OLD = ("drm_sched_job", "drm_run_job", "drm_sched_process_job", "drm_sched_job_wait_dep")
_NEW = (
    "drm_sched_job_queue",
    "drm_sched_job_run",
    "drm_sched_job_done",
    "drm_sched_job_add_dep",
    "drm_sched_job_unschedulable",
)


@driver("drm_sched", order=20)
def drm_sched(draft: Draft) -> None:
    """Jobs of the DRM scheduler, before and after Linux 6.17.

    Before: drm_sched_job (queued), drm_sched_job_wait_dep (blocked), drm_run_job (submitted), drm_sched_process_job
    (end). They name a job by the address of its fence, and addresses are used again: a new life begins with
    drm_sched_job, and wherever the order of the events says so. The client is the thread that pushed the job.

    From 6.17 on: drm_sched_job_queue, _add_dep, _unschedulable, _run, _done name a fence by context and number, and
    say the device and the id of the client. A dependency is met when its fence is done.

    drm_run_job hands a job to the hardware; it begins when its predecessor on the ring is off.
    """
    _old(draft)
    _new(draft)


def _old(draft: Draft) -> None:
    if not draft.load(
        "job",
        _OLD[:3],
        keys=("fence", "entity"),
        ints=("id",),
        texts=("name=name|ring|sched_job_name",),
    ):
        return
    draft.run(
        """
        CREATE OR REPLACE TABLE ev_life AS
        WITH ranked AS (
          SELECT *, CASE event WHEN 'drm_sched_job' THEN 0 WHEN 'drm_run_job' THEN 1 ELSE 2 END AS rank FROM ev_job
        ), marked AS (
          SELECT *, CASE WHEN rank = 0 OR rank <= coalesce(lag(rank) OVER w, -1) THEN 1 ELSE 0 END AS fresh
          FROM ranked WINDOW w AS (PARTITION BY fence ORDER BY t, rank)
        )
        SELECT * EXCLUDE (fresh), sum(fresh) OVER (PARTITION BY fence ORDER BY t, rank)::UBIGINT AS life FROM marked
        """
    )
    draft.ends("drm_sched_process_job")
    _missing(draft, {"drm_sched_job": "queued", "drm_run_job": "submitted", "drm_sched_process_job": "done"})
    _old_contexts(draft)
    _old_ends(draft)
    draft.steps(
        """
        SELECT fence AS k1, life AS k2, t,
               CASE rank WHEN 0 THEN 'queued' WHEN 1 THEN 'submitted' ELSE 'end' END AS phase,
               coalesce(name, ended_on) AS engine, context, seqno, entity AS timeline, id::UBIGINT AS place,
               CASE WHEN rank = 0 THEN tid END AS tid, CASE WHEN rank = 0 THEN pid END AS pid,
               CASE WHEN rank = 0 THEN comm END AS comm
        FROM ev_life LEFT JOIN ev_fence_of USING (fence, life, rank) LEFT JOIN ev_ended_on USING (fence, life, rank)
        """
    )
    _old_dependencies(draft)


def _missing(draft: Draft, stages: Mapping[str, str]) -> None:
    for event, stage in stages.items():
        if not draft.count(event):
            draft.lacks(event, f"none in the trace: when jobs were {stage} is not known")


def _old_contexts(draft: Draft) -> None:
    # Before a job is pushed, its thread makes its two fences: the scheduled one, then the finished one (context + 1).
    # The event of the job has no fence number; the last finished fence of that thread is it.
    draft.run(
        "CREATE OR REPLACE TABLE ev_fence_of (fence UBIGINT, life UBIGINT, rank INTEGER, context UBIGINT, "
        "seqno UBIGINT)"
    )
    if not draft.load("made", ("dma_fence_init",), keys=("context", "seqno"), texts=("driver", "timeline")):
        return
    draft.run(
        """
        INSERT INTO ev_fence_of
        SELECT j.fence, j.life, 0, f.context, f.seqno
        FROM (SELECT * FROM ev_life WHERE rank = 0) j
        ASOF JOIN (SELECT tid, t, timeline, context, seqno FROM ev_made WHERE driver = 'drm_sched') f
        ON j.tid = f.tid AND j.name = f.timeline AND j.t >= f.t
        """
    )


def _old_ends(draft: Draft) -> None:
    # drm_sched_process_job does not name the ring. The fence of a job from before the trace names the ring: the fence
    # is the next to be signaled on that CPU; else the ring is known where there is only one.
    draft.run(
        "CREATE OR REPLACE TABLE ev_ended_on AS SELECT fence, life, 2 AS rank, CASE WHEN rings = 1 THEN ring END AS "
        "ended_on FROM (SELECT fence, life, count(name) OVER (PARTITION BY fence, life) AS named, rank FROM ev_life), "
        "(SELECT count(DISTINCT name) AS rings, any_value(name) AS ring FROM ev_life) WHERE rank = 2 AND named = 0"
    )
    if draft.load("off", ("dma_fence_signaled",), texts=("driver", "timeline")):
        draft.run(
            """
            UPDATE ev_ended_on SET ended_on = s.timeline FROM (
              SELECT l.fence, l.life, o.timeline
              FROM (SELECT fence, life, cpu, t FROM ev_life WHERE rank = 2) l
              ASOF JOIN (SELECT cpu, t, timeline FROM ev_off WHERE driver = 'drm_sched') o
              ON l.cpu = o.cpu AND l.t <= o.t
            ) s WHERE s.fence = ev_ended_on.fence AND s.life = ev_ended_on.life
            """
        )


def _old_dependencies(draft: Draft) -> None:
    if not draft.load("dep", _OLD[3:], keys=("ctx", "seqno"), ints=("id",), texts=("name=name|ring",)):
        return
    # Here `fence` is the dependency's; the job is named by its number on its ring.
    draft.run(
        "CREATE OR REPLACE TABLE ev_dep_of AS SELECT min(d.t) AS t, d.ctx, d.seqno, l.fence, l.life FROM ev_dep d JOIN "
        "(SELECT DISTINCT ON (name, id) name, id, fence, life FROM ev_life WHERE rank = 0) l USING (name, id) "
        "GROUP BY d.ctx, d.seqno, l.fence, l.life"
    )
    draft.steps("SELECT fence AS k1, life AS k2, t, 'blocked' AS phase FROM ev_dep_of")
    if draft.load("met", ("dma_fence_signaled",), keys=("context", "seqno")):
        draft.steps(
            "SELECT d.fence AS k1, d.life AS k2, greatest(s.t, d.t) AS t, 'ready' AS phase FROM ev_dep_of d "
            "JOIN (SELECT context, seqno, min(t) AS t FROM ev_met GROUP BY ALL) s "
            "ON s.context = (d.ctx & 4294967295) AND s.seqno = (d.seqno & 4294967295)"
        )
    else:
        draft.lacks("dma_fence_signaled", "not recorded: when dependencies of jobs were met is not known")


def _new(draft: Draft) -> None:
    if not draft.load(
        "job2",
        _NEW,
        keys=("fence_context", "fence_seqno", "ctx", "seqno"),
        ints=("client_id",),
        texts=("name=name|ring", "dev"),
    ):
        return
    draft.ends("drm_sched_job_done")
    _missing(draft, {"drm_sched_job_queue": "queued", "drm_sched_job_run": "submitted", "drm_sched_job_done": "done"})
    draft.steps(
        """
        SELECT fence_context AS k1, fence_seqno AS k2, t,
               CASE event WHEN 'drm_sched_job_queue' THEN 'queued' WHEN 'drm_sched_job_run' THEN 'submitted'
                          ELSE 'end' END AS phase,
               dev AS device, name AS engine, fence_context AS context, fence_seqno AS seqno,
               CASE WHEN client_id IS NOT NULL AND event = 'drm_sched_job_queue'
                    THEN coalesce(comm || ' ', '') || 'client ' || client_id END AS client,
               CASE WHEN event = 'drm_sched_job_queue' THEN tid END AS tid,
               CASE WHEN event = 'drm_sched_job_queue' THEN pid END AS pid,
               CASE WHEN event = 'drm_sched_job_queue' THEN comm END AS comm
        FROM ev_job2 WHERE event IN ('drm_sched_job_queue', 'drm_sched_job_run', 'drm_sched_job_done')
        """
    )
    # A dependency is met when the scheduler says that job is done, or its fence is signaled. The event of the fence has
    # only 32 bits of its context: it comes second.
    draft.run(
        """
        CREATE OR REPLACE TABLE ev_dep2 AS
        SELECT fence_context, fence_seqno, ctx, seqno, min(t) AS t FROM ev_job2
        WHERE event IN ('drm_sched_job_add_dep', 'drm_sched_job_unschedulable') GROUP BY ALL
        """
    )
    draft.run(
        """
        CREATE OR REPLACE TABLE ev_ready2 AS
        SELECT d.*, j.t AS met FROM ev_dep2 d LEFT JOIN (
          SELECT fence_context AS ctx, fence_seqno AS seqno, min(t) AS t FROM ev_job2 WHERE event = 'drm_sched_job_done'
          GROUP BY ALL) j USING (ctx, seqno)
        """
    )
    if draft.load("met2", ("dma_fence_signaled",), keys=("context", "seqno")):
        draft.run(
            """
            UPDATE ev_ready2 SET met = s.t FROM (SELECT context, seqno, min(t) AS t FROM ev_met2 GROUP BY ALL) s
            WHERE met IS NULL AND s.context = (ctx & 4294967295) AND s.seqno = (ev_ready2.seqno & 4294967295)
            """
        )
    draft.steps("SELECT fence_context AS k1, fence_seqno AS k2, t, 'blocked' AS phase FROM ev_ready2")
    draft.steps(
        "SELECT fence_context AS k1, fence_seqno AS k2, greatest(t, met) AS t, 'ready' AS phase FROM ev_ready2 "
        "WHERE met IS NOT NULL"
    )
