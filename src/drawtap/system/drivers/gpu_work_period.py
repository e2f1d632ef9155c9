"""Activity of applications on a GPU, as Android asks it of drivers."""

from drawtap.system.driver import Draft, driver


@driver("gpu_work_period", order=40)
def gpu_work_period(draft: Draft) -> None:
    """gpu_work_period: from when to when the GPU worked for a user id, and how much of that.

    The periods are spans on `gpu/N/uid/U`; the share of each that was active is the counter `.../active`. Periods are
    no requests, so they have no wait.
    """
    if not draft.load(
        "period",
        ("gpu_work_period",),
        ints=("gpu_id", "uid", "start_time_ns", "end_time_ns", "total_active_duration_ns"),
    ):
        return
    draft.spans(
        "SELECT 'gpu/' || gpu_id || '/uid/' || uid AS track, start_time_ns AS begin_ns, end_time_ns AS end_ns, "
        "total_active_duration_ns || ' ns active' AS name, 'active' AS kind, false AS is_open FROM ev_period "
        "WHERE end_time_ns > start_time_ns"
    )
    draft.counters(
        """
        WITH edges AS (
          SELECT gpu_id, uid, start_time_ns AS t,
                 100.0 * total_active_duration_ns / (end_time_ns - start_time_ns) AS value, 1 AS first FROM ev_period
          WHERE end_time_ns > start_time_ns
          UNION ALL SELECT gpu_id, uid, end_time_ns, 0, 0 FROM ev_period WHERE end_time_ns > start_time_ns
        )
        SELECT 'gpu/' || gpu_id || '/uid/' || uid || '/active' AS track, t AS t_ns, arg_max(value, first) AS value
        FROM edges GROUP BY gpu_id, uid, t
        """,
        unit="percent",
    )
