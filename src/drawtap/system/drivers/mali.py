"""Arm's kbase driver for Mali GPUs. (panfrost, panthor and lima use the DRM scheduler.)"""

from drawtap.system.driver import Draft, driver


@driver("mali", order=30)
def mali(draft: Draft) -> None:
    """Job slots of kbase: mali_job_slots_event, whose number says start, stop or soft stop, and the slot.

    The event has the type in bits 24 up (1 start, 2 stop, 3 soft-stopped: preempted) and the slot in bits 16 to 23.
    Queueing is not told. An atom is known by process and number; numbers are used again.
    """
    if not draft.load(
        "mali",
        ("mali_job_slots_event",),
        ints=("gpu_id", "event_id=event_id|event", "tgid", "submitter=event.pid", "job_id"),
    ):
        return
    draft.steps(
        """
        WITH decoded AS (
          SELECT *, event_id >> 24 AS kind, (event_id >> 16) & 255 AS slot FROM ev_mali
        ), lives AS (
          SELECT *, sum(CASE WHEN kind = 1 AND coalesce(before, 2) <> 3 THEN 1 ELSE 0 END)
                 OVER (PARTITION BY gpu_id, tgid, job_id ORDER BY t) AS life
          FROM (SELECT *, lag(kind) OVER (PARTITION BY gpu_id, tgid, job_id ORDER BY t) AS before FROM decoded)
        )
        SELECT (coalesce(tgid, 0)::UBIGINT * 256 + job_id) AS k1, life::UBIGINT AS k2, coalesce(gpu_id,
          0)::UBIGINT AS k3, t,
               CASE kind WHEN 1 THEN 'begin' WHEN 2 THEN 'end' ELSE 'preempted' END AS phase,
               CASE WHEN gpu_id IS NOT NULL THEN 'mali' || gpu_id ELSE 'mali' END AS device, 'slot' || slot AS engine,
               job_id::UBIGINT AS seqno, tgid::INTEGER AS pid, submitter::INTEGER AS tid
        FROM lives WHERE kind IN (1, 2, 3)
        """
    )
    draft.ends("mali_job_slots_event")
    draft.lacks(
        "mali_job_slots_event", "kbase tells when jobs start and stop, not when they were queued: no wait, no latency"
    )
