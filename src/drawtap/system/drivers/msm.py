"""Qualcomm's msm."""

from drawtap.system.driver import Draft, driver

_TICK_HZ = 19_200_000  # the always-on counter of Adreno GPUs


@driver("msm", order=25)
def msm(draft: Draft) -> None:
    """Submissions of msm: msm_gpu_submit (queued), _flush (submitted), _retired (retired).

    Retirement tells when the GPU began and ended, in ticks of 19.2 MHz, and the flush has the tick of its own time:
    that gives begin and end. The events of the DRM scheduler name the same work; where they were recorded they are left
    to tell of it, without ticks.
    """
    _frequency(draft)
    if draft.count("drm_sched_job", "drm_sched_job_queue"):
        return
    if not draft.load(
        "msm",
        ("msm_gpu_submit", "msm_gpu_submit_flush", "msm_gpu_submit_retired"),
        keys=("id", "seqno"),
        ints=("submitter=event.pid", "ringid", "ticks", "start_ticks=start_ticks|start", "end_ticks=end_ticks|end"),
        texts=("place=ring",),
    ):
        return
    # In text a ring is its number, or number:seqno.
    draft.run("UPDATE ev_msm SET ringid = TRY_CAST(split_part(place, ':', 1) AS BIGINT) WHERE ringid IS NULL")
    draft.run("UPDATE ev_msm SET seqno = TRY_CAST(split_part(place, ':', 2) AS UBIGINT) WHERE seqno IS NULL")
    draft.ends("msm_gpu_submit_retired")
    shared = "'ring' || ringid AS engine, submitter::INTEGER AS pid"
    draft.steps(
        f"""
        SELECT id AS k1, ringid::UBIGINT AS k2, submitter::UBIGINT AS k3, t, {shared}, seqno,
               CASE event WHEN 'msm_gpu_submit' THEN 'queued' WHEN 'msm_gpu_submit_flush' THEN 'submitted'
                    ELSE 'retired' END AS phase,
               CASE WHEN event = 'msm_gpu_submit' THEN tid END AS tid,
               CASE WHEN event = 'msm_gpu_submit' THEN comm END AS comm
        FROM ev_msm
        """
    )
    for phase, tick in (("begin", "start_ticks"), ("end", "end_ticks")):
        draft.steps(
            f"""
            SELECT r.id AS k1, r.ringid::UBIGINT AS k2, r.submitter::UBIGINT AS k3,
                   f.t + ((r.{tick} - f.ticks)::HUGEINT * 1000000000 // {_TICK_HZ})::BIGINT AS t, '{phase}' AS phase
            FROM (SELECT * FROM ev_msm WHERE event = 'msm_gpu_submit_retired' AND start_ticks > 0) r
            JOIN (SELECT * FROM ev_msm WHERE event = 'msm_gpu_submit_flush') f USING (id, ringid, submitter)
            """
        )


def _frequency(draft: Draft) -> None:
    if draft.load("msmfreq", ("msm_gpu_freq_change",), ints=("freq",)):
        draft.counters("SELECT 'msm/frequency' AS track, t AS t_ns, freq::DOUBLE AS value FROM ev_msmfreq", unit="Hz")
