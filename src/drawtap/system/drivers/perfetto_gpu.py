"""GPU data of Perfetto's producers: render stages, submissions, counters, Vulkan's memory."""

from drawtap.system.driver import Draft, driver

# Unit as the trace spells it -> unit of the table, factor. Other units stay as they are.
_UNITS = {
    None: ("count", 1),
    "byte": ("bytes", 1),
    "hertz": ("Hz", 1),
    "1/second": ("Hz", 1),
    "kilohertz": ("Hz", 1e3),
    "megahertz": ("Hz", 1e6),
    "gigahertz": ("Hz", 1e9),
    "nanosecond": ("ns", 1),
    "microsecond": ("ns", 1e3),
    "millisecond": ("ns", 1e6),
    "second": ("ns", 1e9),
    "percent": ("percent", 1),
}
_DEVICE = "'gpu' || coalesce(gpu_id, 0)"
_ENGINE = "replace(coalesce(queue, 'queue ' || queue_id, 'queue'), '/', '-')"


@driver("perfetto_gpu", order=45)
def perfetto_gpu(draft: Draft) -> None:
    """Render stages, counters and Vulkan's memory of Perfetto's producers: no events of the kernel.

    gpu_render_stage: the device is `gpuN`, the engine the hardware queue. A stage inside of no other stage of its queue
    is a request; stages inside of it are spans of the kind `stage`, those without a duration marks, both on
    `DEVICE/ENGINE/stages`. vulkan_queue_submit with the same process and submission says when it was queued; without
    one there is no wait.

    gpu_counter: `gpuN/NAME`. A value covers the time since the last one, so the first of a counter is left out;
    the last one holds on. vulkan_memory: `process/PID/vulkan ...`, sums of what was allocated, bound and freed since
    the trace began; they are raised where more was freed than allocated.
    """
    _stages(draft)
    _counters(draft)
    _memory(draft)


def _stages(draft: Draft) -> None:
    if not draft.load(
        "stage",
        ("gpu_render_stage",),
        keys=("event_id", "context"),
        ints=("gpu_id", "queue_id", "duration_ns", "submission_id", "owner=event.pid"),
        texts=("queue", "stage", "process"),
    ):
        return
    _name_processes(draft, "stage")
    if not draft.load(
        "submit",
        ("vulkan_queue_submit",),
        ints=("owner=event.pid", "thread=event.tid", "submission_id"),
        texts=("process",),
    ):
        draft.run(
            "CREATE TABLE ev_submit AS SELECT NULL::BIGINT AS t, NULL::BIGINT AS owner, NULL::BIGINT AS thread, "
            "NULL::BIGINT AS submission_id LIMIT 0"
        )
    draft.run(
        f"""
        CREATE TABLE ev_stages AS
        WITH placed AS (
          SELECT *, {_DEVICE} AS device, {_ENGINE} AS engine, t + coalesce(duration_ns, 0) AS end_t FROM ev_stage
        ), within AS (
          SELECT *, coalesce(end_t <= max(CASE WHEN duration_ns > 0 THEN end_t END) OVER (
                   PARTITION BY device, engine ORDER BY t, duration_ns DESC NULLS LAST, event_id
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), false) AS inside
          FROM placed
        )
        SELECT row_number() OVER (ORDER BY w.t, w.event_id)::UBIGINT AS n, w.*, s.t AS queued_t, s.thread
        FROM within w
        ASOF LEFT JOIN ev_submit s ON s.owner = w.owner AND s.submission_id = w.submission_id AND w.t >= s.t
        """
    )
    draft.run("UPDATE trace_window SET end_ns = greatest(end_ns, (SELECT max(end_t) FROM ev_stages))")
    shared = (
        "n AS k1, 0 AS k2, 0 AS k3, device, engine, context, submission_id::UBIGINT AS seqno, stage AS label, "
        "owner::INTEGER AS pid"
    )
    outer = "FROM ev_stages WHERE duration_ns > 0 AND NOT inside"
    draft.steps(f"SELECT {shared}, t, 'begin' AS phase {outer}")
    draft.steps(f"SELECT {shared}, end_t AS t, 'end' AS phase {outer}")
    draft.steps(
        f"SELECT {shared}, queued_t AS t, 'queued' AS phase, thread::INTEGER AS tid {outer} AND queued_t IS NOT NULL"
    )
    draft.spans(
        """
        SELECT device || '/' || engine || '/stages' AS track, t AS begin_ns, end_t AS end_ns,
               coalesce(stage, 'stage') AS name, CASE WHEN duration_ns > 0 THEN 'stage' ELSE 'mark' END AS kind,
               false AS is_open
        FROM ev_stages WHERE inside OR coalesce(duration_ns, 0) = 0
        """
    )
    unknown = draft.value(f"SELECT count(*) {outer} AND queued_t IS NULL")
    if unknown:
        draft.lacks("gpu_render_stage", "no vkQueueSubmit of that process and submission: no wait, no latency", unknown)


def _name_processes(draft: Draft, table: str) -> None:
    draft.run(
        f"INSERT INTO seen SELECT owner, owner, any_value(process), max(t) FROM ev_{table} WHERE owner > 0 GROUP BY 1"
    )


def _counters(draft: Draft) -> None:
    if not draft.load("gpu_counter", ("gpu_counter",), ints=("gpu_id", "counter_id"), texts=("name", "value", "unit")):
        return
    draft.run(
        f"""
        CREATE TABLE ev_gpu_values AS
        SELECT {_DEVICE} || '/' || replace(name, '/', '-') AS track, value::DOUBLE AS value, unit,
               lag(t) OVER (PARTITION BY gpu_id, counter_id ORDER BY t) AS since
        FROM ev_gpu_counter
        """
    )
    for (said,) in draft.connection.execute("SELECT DISTINCT unit FROM ev_gpu_values").fetchall():
        unit, factor = _UNITS.get(said, (said, 1))
        draft.connection.execute("CREATE OR REPLACE TABLE ev_gpu_unit AS SELECT ?::VARCHAR AS unit", [said])
        draft.counters(
            f"SELECT v.track, v.since AS t_ns, v.value * {factor} AS value FROM ev_gpu_values v, ev_gpu_unit u "
            "WHERE v.unit IS NOT DISTINCT FROM u.unit AND v.since IS NOT NULL",
            unit=unit.replace("'", ""),
        )
    first = draft.value("SELECT count(*) FROM ev_gpu_values WHERE since IS NULL")
    draft.lacks("gpu_counter", "nothing tells from when on the first value of a counter held: it is left out", first)


def _memory(draft: Draft) -> None:
    if not draft.load(
        "vulkan",
        ("vulkan_memory",),
        keys=("address", "device_memory", "object"),
        ints=("owner=event.pid", "size"),
        texts=("source", "operation", "process"),
    ):
        return
    _name_processes(draft, "vulkan")
    # A free may come without its size: then it has the size of the earlier allocation under the same handle.
    draft.run(
        """
        CREATE TABLE ev_vulkan_changes AS
        WITH kinds AS (
          SELECT t, owner, operation, nullif(size, 0) AS size,
                 CASE WHEN operation IN ('bind', 'destroy bound') THEN 'bound'
                      WHEN source = 'device memory' THEN 'device' WHEN source = 'driver' THEN 'driver' END AS kind,
                 CASE WHEN operation IN ('bind', 'destroy bound') THEN object
                      WHEN source = 'device memory' THEN device_memory ELSE address END AS handle
          FROM ev_vulkan WHERE operation IN ('create', 'destroy', 'bind', 'destroy bound')
        )
        SELECT t, owner, kind, 'process/' || coalesce(owner, 0) || '/vulkan ' || kind || ' memory' AS track,
               CASE WHEN operation IN ('create', 'bind') THEN size
                    ELSE -coalesce(size, lag(size) OVER (PARTITION BY owner, kind, handle ORDER BY t)) END AS change
        FROM kinds WHERE kind IS NOT NULL
        """
    )
    draft.counters(
        """
        WITH sums AS (
          SELECT track, t, sum(sum(change)) OVER (PARTITION BY track ORDER BY t) AS value
          FROM ev_vulkan_changes WHERE change IS NOT NULL GROUP BY track, t
        )
        SELECT track, t AS t_ns, (value - least(0, min(value) OVER (PARTITION BY track)))::DOUBLE AS value FROM sums
        """,
        unit="bytes",
    )
    # Memory from before shows where frees exceed allocations: it counts from the first event on.
    draft.memory(
        """
        WITH device AS (
          SELECT t, owner, change, sum(change) OVER (PARTITION BY owner ORDER BY t) AS sum FROM ev_vulkan_changes
          WHERE kind = 'device' AND change IS NOT NULL AND owner > 0
        )
        SELECT 'vulkan' AS device, owner::INTEGER AS pid, t, change FROM device UNION ALL
        SELECT 'vulkan', owner::INTEGER, min(t), -min(sum)::BIGINT FROM device GROUP BY owner HAVING min(sum) < 0
        """,
        basis="made",
    )
    unsized = draft.value("SELECT count(*) FROM ev_vulkan_changes WHERE change IS NULL")
    if unsized:
        draft.lacks("vulkan_memory", "no size: what was allocated or freed there is in no figure", unsized)
