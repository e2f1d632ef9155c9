"""GPU memory by process, activity by application, frequency: events that are the same for all drivers."""

from drawtap.system.driver import Draft, driver


@driver("gpu_memory", order=40)
def gpu_memory(draft: Draft) -> None:
    """Memory and frequency of a GPU.

    gpu_mem_total: memory of a GPU (pid 0) and of a process on it, in bytes. gpu_frequency: in kHz, kept in Hz.
    """
    if draft.load("mem", ("gpu_mem_total",), ints=("gpu_id", "owner=event.pid", "size")):
        draft.counters(
            "SELECT CASE WHEN owner = 0 THEN 'gpu/' || gpu_id || '/memory' "
            "ELSE 'process/' || owner || '/gpu ' || gpu_id || "
            "' memory' END AS track, t AS t_ns, size::DOUBLE AS value FROM ev_mem",
            unit="bytes",
        )
        draft.memory(
            """
            SELECT 'gpu ' || gpu_id AS device, owner::INTEGER AS pid, t,
                   size - coalesce(lag(size) OVER (PARTITION BY gpu_id, owner ORDER BY t), 0) AS change
            FROM ev_mem WHERE owner > 0 AND size IS NOT NULL
            """,
            basis="total",
        )
    if draft.load("gfreq", ("gpu_frequency",), ints=("gpu_id", "state")):
        draft.counters(
            "SELECT 'gpu/' || coalesce(gpu_id, 0) || '/frequency' AS track, t AS t_ns, state * 1e3 AS value "
            "FROM ev_gfreq",
            unit="Hz",
        )
