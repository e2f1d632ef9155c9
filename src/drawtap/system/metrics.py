"""Figures of a window of a trace: utilisation, waits, queues, memory, what virtual machines take from each other.

Exact: what lasted is clipped to the window. Formulas are in docs/reference/kernel-metrics.md. With W the window:

- utilisation: length of the union of the executions of a group inside W, by the length of W. A union, not the paper's
  sum: two requests that an engine works on at once occupy it once. Where nothing overlaps they are the same.
- mean wait, execution, latency: of the requests whose wait, execution or life ended inside W, whole lengths. (A clipped
  length would be a statement about the window, not about requests.)
- queue length: mean over time of the number of waiting requests, and its maximum.
- stolen: time that a vCPU thread was ready to run but taken off its CPU; `waking` is its wait for a CPU after it was
  woken. Stolen time is shared among those who ran on that CPU meanwhile. A preemption is counted for the next vCPU that
  ran there, else for the first thread that did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from drawtap.errors import UsageError
from drawtap.system.model import KernelModel

Window = tuple[int, int]
Record = dict[str, Any]

# The ways to group requests: name in the result -> (columns, condition).
GROUPS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "engines": (("device", "engine"), "true"),
    "clients": (("client", "device", "engine"), "client IS NOT NULL"),
    "vgpus": (("vgpu", "device", "engine"), "vgpu IS NOT NULL"),
    "guests": (("vm", "device", "engine"), "vm IS NOT NULL"),
}
_PERCENTILES = (50, 90, 95, 99)

# The meaning of the figures, in a sentence each; the formulas are in docs/reference/kernel-metrics.md.
MEANINGS: Final[Mapping[str, str]] = {
    "jobs": "Requests with any part of their life in the window.",
    "utilisation_percent": "Length of the union of the executions inside the window, by the length of the window.",
    "mean_execution_ns": "Mean time on the engine, of the requests that ended in the window.",
    "mean_wait_ns": "Mean time from submission to the first time on the engine, of the waits that ended in it.",
    "mean_latency_ns": "Mean time from submission to the end, of the requests that ended in the window.",
    "p99_latency_ns": "99 of 100 requests that ended in the window took no longer than this.",
    "preemptions": "Times that work left the engine unfinished, or that a ready vCPU lost its CPU.",
    "mean_queue": "Mean over time of the number of requests that waited for the engine.",
    "max_queue": "The most requests that waited at once.",
    "run_ns": "Time that the vCPU threads of a machine were on a CPU.",
    "guest_ns": "Part of that inside the guest.",
    "stolen_ns": "Time that vCPU threads were ready to run but had been taken off their CPU.",
    "waking_ns": "Time that vCPU threads had been woken, but were not yet on a CPU.",
    "most_by": "The thread that ran longest on those CPUs during the stolen time.",
    "joined": "Requests of the guest that one of the host is known to be.",
    "mean_guest_wait_ns": "Mean time from submission in the guest until the host got it.",
    "mean_notice_ns": "Mean time from the end on the host's GPU until the guest knew.",
    "clock_error_ns": "No time of the guest is further off; unknown where all pairs of events have one direction.",
    "drift_ppm": "Rate by which the host's clock runs faster than the guest's, in millionths.",
    "mean_bytes": "Mean over time.",
    "basis": "The memory that counts: total, all that a process has; made, objects made during the trace, without "
    "freed objects; allocated, for a driver that does not tell what is freed.",
    "missed": "Vertical blanks left out between two that were seen, less than a second apart.",
    "period_ns": "Median time between two vertical blanks.",
    "waits": "Times that a thread waited for a fence.",
    "wait_ns": "Time in these waits, inside the window.",
}
_MEASURES = {"wait_ns": "begin_ns", "execution_ns": "end_ns", "latency_ns": "coalesce(end_ns, done_ns)"}


def metrics(model: KernelModel, *, begin: int | None = None, end: int | None = None) -> Record:
    """Return the figures of a window; without bounds, of the whole trace. Times are the trace's own, in ns.

    Raises UsageError where the window is empty.
    """
    window = _window(model, begin, end)
    queues = _queues(model, window)
    return {
        "window": {"begin_ns": window[0], "end_ns": window[1], "duration_ns": window[1] - window[0]},
        "drivers": list(model.drivers),
        **{name: groups(model, name, window, queues) for name in GROUPS},
        "vms": machines(model, window),
        "guest_traces": guest_traces(model, window),
        "memory": memory(model, window),
        "memory_processes": memory_use(model, window, machines=False),
        "memory_vms": memory_use(model, window, machines=True),
        "activity": activity(model, window),
        "displays": displays(model, window),
        "fence_waits": fence_waits(model, window),
        "unmatched": model.rows(
            "SELECT driver, event, reason, sum(count)::BIGINT AS count FROM unmatched GROUP BY ALL ORDER BY ALL"
        ),
    }


def guest_traces(model: KernelModel, window: Window) -> list[Record]:
    """Return what became of the requests that guests asked for in the window, by guest of which a trace was joined."""
    a, b = window
    means = ", ".join(f"avg({m}) AS mean_{m}" for m in ("guest_wait_ns", "latency_ns", "notice_ns"))
    return model.rows(
        f"""
        SELECT g.guest, count(r.id) AS requests, count(host_request) AS joined, {means},
               quantile_disc(latency_ns, 0.99) AS p99_latency_ns, any_value(g.error_ns) AS clock_error_ns,
               any_value(g.drift) * 1e6 AS drift_ppm
        FROM guests g LEFT JOIN guest_requests r ON r.guest = g.guest AND coalesce(asked_ns, handed_ns, r.end_ns)
          BETWEEN {a} AND {b}
        GROUP BY g.guest ORDER BY g.guest
        """
    )


def _window(model: KernelModel, begin: int | None, end: int | None) -> Window:
    first, last = model.window
    window = (first if begin is None else begin, last if end is None else end)
    if window[1] < window[0] or (window[1] == window[0] and (begin is not None or end is not None)):
        raise UsageError(
            f"the window from {window[0]} to {window[1]} is empty", hint=f"the trace goes from {first} to {last}"
        )
    return window


def groups(model: KernelModel, name: str, window: Window, queues: Mapping[str, Record] | None = None) -> list[Record]:
    """Return the figures of requests by engine, client, vGPU or guest: `name` is a key of `GROUPS`.

    `queues`: mean and maximum of queue lengths by track, if they are known already.
    """
    queues = _queues(model, window) if queues is None else queues
    columns, condition = GROUPS[name]
    key = ", ".join(columns)
    a, b = window
    duration = max(b - a, 1)
    measures = ", ".join(
        f"avg({m}) FILTER ({at} BETWEEN {a} AND {b}) AS mean_{m}, "
        + ", ".join(
            f"quantile_disc({m}, {p / 100}) FILTER ({at} BETWEEN {a} AND {b}) AS {m}_p{p}" for p in _PERCENTILES
        )
        + f", max({m}) FILTER ({at} BETWEEN {a} AND {b}) AS {m}_max"
        for m, at in _MEASURES.items()
    )
    rows = model.rows(
        f"""
        WITH r AS (
          SELECT *, coalesce(created_ns, queued_ns, submitted_ns, begin_ns, end_ns, done_ns, retired_ns) AS first_ns,
                 coalesce(end_ns, done_ns, retired_ns, ended_by_ns, {b}) AS last_ns FROM requests
          WHERE {condition}
        ), counts AS (
          SELECT {key}, count(*) AS jobs, count(*) FILTER (coalesce(end_ns, done_ns) BETWEEN {a} AND {b}) AS ended,
                 sum(preemptions)::BIGINT AS preemptions, {measures}
          FROM r WHERE first_ns <= {b} AND last_ns >= {a} GROUP BY {key}
        ), clipped AS (
          SELECT {_prefixed("q", columns)}, greatest(s.begin_ns, {a}) AS b, least(s.end_ns, {b}) AS e
          FROM executions s JOIN r q ON q.id = s.request WHERE s.end_ns > {a} AND s.begin_ns < {b}
        ), swept AS (
          SELECT *, max(e) OVER (PARTITION BY {key} ORDER BY b, e ROWS BETWEEN UNBOUNDED PRECEDING
            AND 1 PRECEDING) AS seen
          FROM clipped
        ), busy AS (
          SELECT {key}, sum(greatest(0, e - greatest(b, coalesce(seen, b))))::BIGINT AS busy_ns,
            sum(e - b)::BIGINT AS sum_ns
          FROM swept GROUP BY {key}
        )
        SELECT counts.*, busy_ns, sum_ns
        FROM counts LEFT JOIN busy ON {" AND ".join(f"counts.{c} IS NOT DISTINCT FROM busy.{c}" for c in columns)}
        ORDER BY {_prefixed("counts", columns)}
        """
    )
    reasons = _reasons(model, columns, condition, window)
    return [_group(row, columns, duration, reasons, queues.get(_queue_of(name, row))) for row in rows]


def _queue_of(name: str, row: Record) -> str:
    # A virtual GPU has one queue in the hypervisor, whatever the engine.
    if name == "vgpus":
        return f"vgpu/{row['vgpu']}/queue length"
    return f"{row['device']}/{row['engine']}/queue length" if name == "engines" else ""


def _prefixed(table: str, columns: Sequence[str]) -> str:
    return ", ".join(f"{table}.{c}" for c in columns)


def _group(
    row: Record,
    columns: Sequence[str],
    duration: int,
    reasons: Mapping[tuple[object, ...], list[Record]],
    queue: Record | None,
) -> Record:
    busy, total = row["busy_ns"], row["sum_ns"]
    known = isinstance(busy, int) and isinstance(total, int)
    record: Record = {c: row[c] for c in columns}
    record["jobs"] = row["jobs"]
    record["ended"] = row["ended"]
    record["utilisation_percent"] = 100 * int(busy) / duration if known else None
    record["busy_ns"] = busy
    record["summed_percent"] = 100 * int(total) / duration if known else None
    record["preemptions"] = row["preemptions"]
    for measure in _MEASURES:
        record[f"mean_{measure}"] = row[f"mean_{measure}"]
    record["percentiles"] = {
        measure: {
            **{f"p{p}": row[f"{measure}_p{p}"] for p in _PERCENTILES},
            "max": row[f"{measure}_max"],
        }
        for measure in _MEASURES
    }
    if queue is not None:
        record["queue"] = queue
    record["unmatched"] = reasons.get(tuple(row[c] for c in columns), [])
    return record


def _reasons(
    model: KernelModel, columns: Sequence[str], condition: str, window: Window
) -> dict[tuple[object, ...], list[Record]]:
    key = ", ".join(columns)
    rows = model.rows(
        f"""
        SELECT {key}, reason, count(*) AS count FROM (
          SELECT {key}, unnest(string_split(unmatched, '; ')) AS reason FROM requests
          WHERE unmatched IS NOT NULL AND {condition}
            AND coalesce(created_ns, queued_ns, submitted_ns, begin_ns, end_ns, done_ns, retired_ns) <= {window[1]}
            AND coalesce(end_ns, done_ns, retired_ns, ended_by_ns, {window[1]}) >= {window[0]}
        ) GROUP BY ALL ORDER BY count DESC, reason
        """
    )
    reasons: dict[tuple[object, ...], list[Record]] = {}
    for row in rows:
        reasons.setdefault(tuple(row[c] for c in columns), []).append({"reason": row["reason"], "count": row["count"]})
    return reasons


def _queues(model: KernelModel, window: Window) -> dict[str, Record]:
    a, b = window
    rows = model.rows(
        f"""
        WITH held AS ({_held("counters WHERE track LIKE '%/queue length'", "track", window)})
        SELECT track, sum(value * (e - b)) / {max(b - a, 1)} AS mean, max(value)::BIGINT AS max
          FROM held WHERE e >= b GROUP BY track
        """
    )
    return {str(row["track"]): {"mean": row["mean"], "max": row["max"]} for row in rows}


def _held(of: str, key: str, window: Window) -> str:
    """Return SQL for the values of a table that hold in a window: by `key`, each from `b` to `e`."""
    a, b = window
    until = f"coalesce(lead(t_ns) OVER (PARTITION BY {key} ORDER BY t_ns), {b})"
    return f"SELECT *, greatest(t_ns, {a}) AS b, least({until}, {b}) AS e FROM {of}"


def machines(model: KernelModel, window: Window) -> list[Record]:
    """Return what each virtual machine's vCPU threads got, and who took the rest."""
    a, b = window
    rows = model.rows(
        f"""
        WITH part AS (
          SELECT t.vm, t.tid, s.kind, least(s.end_ns, {b}) - greatest(s.begin_ns, {a}) AS ns, s.begin_ns
          FROM threads t JOIN spans s ON s.tid = t.tid
          WHERE t.is_vcpu AND s.end_ns > {a} AND s.begin_ns < {b}
            AND s.kind IN ('running', 'preempted', 'waking', 'blocked', 'guest')
        )
        SELECT vm, count(DISTINCT tid) AS vcpus,
               coalesce(sum(ns) FILTER (kind = 'running'), 0)::BIGINT AS run_ns,
               sum(ns) FILTER (kind = 'guest')::BIGINT AS guest_ns,
               coalesce(sum(ns) FILTER (kind = 'preempted'), 0)::BIGINT AS stolen_ns,
               count(*) FILTER (kind = 'preempted' AND begin_ns >= {a}) AS preemptions,
               coalesce(sum(ns) FILTER (kind = 'waking'), 0)::BIGINT AS waking_ns,
               coalesce(sum(ns) FILTER (kind = 'blocked'), 0)::BIGINT AS blocked_ns
        FROM part GROUP BY vm ORDER BY vm
        """
    )
    thieves = stolen_by(model, window)
    for row in rows:
        run, stolen = int(row["run_ns"]), int(row["stolen_ns"])
        row["stolen_share"] = stolen / (run + stolen) if run + stolen else 0.0
        row["stolen_by"] = [
            {k: v for k, v in thief.items() if k != "vm"} for thief in thieves if thief["vm"] == row["vm"]
        ]
    return rows


# The threads that ran on the CPU of each row of `lost` between its `b` and `e`. One thread at a time runs on a CPU. So,
# in the order of times, the matching rows of `ran` are neighbours, from a first to a last one. No two times are
# compared beyond that, so a million of each take seconds.
MEANWHILE: Final = """
numbered AS (SELECT *, row_number() OVER (PARTITION BY cpu ORDER BY begin_ns, end_ns) AS n FROM ran),
meanwhile AS (
  SELECT * EXCLUDE (first, last), unnest(range(first, last + 1)) AS n FROM (
    SELECT l.*, coalesce(x.n, 1) AS first, y.n AS last FROM lost l
    ASOF LEFT JOIN (SELECT cpu, begin_ns, n FROM numbered) x ON l.cpu = x.cpu AND l.b >= x.begin_ns
    ASOF JOIN (SELECT cpu, begin_ns, n FROM numbered) y ON l.cpu = y.cpu AND l.e > y.begin_ns
  )
)"""


def stolen_by(model: KernelModel, window: Window) -> list[Record]:
    """Return who ran while a vCPU thread was preempted: rows of (vm, by, is_vm, stolen_ns, preemptions).

    `by` is a virtual machine, or the name of a thread of the host.
    """
    a, b = window
    return model.rows(
        f"""
        WITH lost AS (
          SELECT s.id, t.vm, t.tid, s.cpu, s.begin_ns, greatest(s.begin_ns, {a}) AS b, least(s.end_ns, {b}) AS e
          FROM spans s JOIN threads t USING (tid)
          WHERE t.is_vcpu AND s.kind = 'preempted' AND s.end_ns > {a} AND s.begin_ns < {b}
        ), ran AS (
          SELECT s.tid, s.cpu, s.begin_ns, s.end_ns, coalesce(t.vm, t.comm, 'thread ' || s.tid) AS name,
                 coalesce(t.is_vcpu, false) AS is_vm
          FROM spans s LEFT JOIN threads t USING (tid)
          WHERE s.kind = 'running' AND s.end_ns > {a} AND s.begin_ns < {b} AND s.cpu IN (SELECT cpu FROM lost)
        ), {MEANWHILE}, shared AS (
          SELECT l.id, l.vm, l.begin_ns AS lost_ns, r.name, r.is_vm, r.begin_ns,
                 least(l.e, r.end_ns) - greatest(l.b, r.begin_ns) AS ns
          FROM meanwhile l JOIN numbered r USING (cpu, n) WHERE r.end_ns > l.b AND r.begin_ns < l.e AND r.tid <> l.tid
        ), culprit AS (
          SELECT id, vm, coalesce(arg_min(name, begin_ns) FILTER (is_vm), arg_min(name, begin_ns)) AS name,
                 bool_or(is_vm) AS is_vm
          FROM shared WHERE lost_ns >= {a} GROUP BY id, vm
        ), times AS (SELECT vm, name, is_vm, sum(ns)::BIGINT AS stolen_ns FROM shared GROUP BY ALL),
        counts AS (SELECT vm, name, is_vm, count(*) AS preemptions FROM culprit GROUP BY ALL)
        SELECT vm, name AS by, is_vm, coalesce(stolen_ns, 0) AS stolen_ns, coalesce(preemptions, 0) AS preemptions
        FROM times FULL JOIN counts USING (vm, name, is_vm) ORDER BY vm, stolen_ns DESC, name
        """
    )


def memory(model: KernelModel, window: Window) -> list[Record]:
    """Return counters in bytes: mean over time, largest and last value inside the window."""
    return model.rows(
        f"""
        WITH held AS ({_held("counters WHERE unit = 'bytes'", "track", window)})
        SELECT track, sum(value * (e - b)) / nullif(sum(e - b), 0) AS mean_bytes, max(value)::BIGINT AS max_bytes,
               arg_max(value, t_ns)::BIGINT AS last_bytes
        FROM held WHERE e >= b GROUP BY track ORDER BY track
        """
    )


def memory_use(model: KernelModel, window: Window, *, machines: bool) -> list[Record]:
    """Return the GPU memory of processes, or of virtual machines: mean over time, largest and last value.

    The mean is over the time from the first value on. `basis` says what is counted, as in the table `memory_use`.
    """
    key = "device, basis, vm" if machines else "device, basis, client, vm"
    return model.rows(
        f"""
        WITH held AS ({_held(f"memory_use WHERE (client IS NULL) = {machines}", key, window)})
        SELECT {key}, sum(bytes::DOUBLE * (e - b)) / nullif(sum(e - b), 0) AS mean_bytes, max(bytes) AS max_bytes,
               arg_max(bytes, t_ns) AS last_bytes
        FROM held WHERE e >= b GROUP BY {key} ORDER BY max_bytes DESC, {key}
        """
    )


def activity(model: KernelModel, window: Window) -> list[Record]:
    """Return counters in percent, as gpu_work_period tells them of applications: mean over time and largest value."""
    a, b = window
    return model.rows(
        f"""
        WITH held AS ({_held("counters WHERE unit = 'percent'", "track", window)})
        SELECT track, sum(value * (e - b)) / {max(b - a, 1)} AS mean_percent, max(value) AS max_percent
        FROM held WHERE e >= b GROUP BY track ORDER BY track
        """
    )


def displays(model: KernelModel, window: Window) -> list[Record]:
    """Return vertical blanks of displays: how many were seen, and how many were missed.

    Missed: numbers left out between two successive events of a display, where they are less than a second apart (after
    a longer pause nobody waited). `delivered` has only the events that a client asked for, where those are known.
    """
    a, b = window
    return model.rows(
        f"""
        WITH marks AS (
          SELECT track, begin_ns, name::BIGINT AS seq, lag(name::BIGINT) OVER w AS last, lag(begin_ns) OVER w AS last_ns
          FROM spans WHERE track LIKE 'crtc/%' AND kind = 'mark' AND begin_ns BETWEEN {a} AND {b}
          WINDOW w AS (PARTITION BY track ORDER BY begin_ns, id)
        )
        SELECT split_part(track, '/', 2) AS crtc, track LIKE '%/delivered' AS delivered, count(*) AS events,
               coalesce(sum(greatest(seq - last - 1, 0)) FILTER (begin_ns - last_ns < 1000000000), 0)::BIGINT AS missed,
               median((begin_ns - last_ns) / (seq - last)) FILTER (seq > last
                 AND begin_ns - last_ns < 1000000000) AS period_ns
        FROM marks GROUP BY track ORDER BY track
        """
    )


def fence_waits(model: KernelModel, window: Window) -> list[Record]:
    """Return how long threads waited for fences inside the window."""
    a, b = window
    return model.rows(
        f"""
        SELECT coalesce(t.comm, '') AS comm, s.tid, count(*) AS waits,
               sum(least(s.end_ns, {b}) - greatest(s.begin_ns, {a}))::BIGINT AS wait_ns,
                 max(s.end_ns - s.begin_ns) AS longest_ns
        FROM spans s LEFT JOIN threads t USING (tid)
        WHERE s.kind = 'fence wait' AND s.end_ns > {a} AND s.begin_ns < {b} GROUP BY ALL ORDER BY wait_ns DESC
        """
    )


def series(
    model: KernelModel, name: str, *, bins: int = 1000, begin: int | None = None, end: int | None = None
) -> list[Record]:
    """Return utilisation over time: for each group of `GROUPS` and bin, the share (0 to 1) of the bin that was busy.

    Bins in which nothing ran are left out. Executions of a group that overlap are summed.
    """
    columns, condition = GROUPS[name]
    a, b = _window(model, begin, end)
    width = max(1, -(-(b - a) // bins))
    return model.rows(
        f"""
        WITH clipped AS (
          SELECT {_prefixed("r", columns)}, greatest(s.begin_ns, {a}) AS b, least(s.end_ns, {b}) AS e
          FROM executions s JOIN requests r ON r.id = s.request
            WHERE {condition} AND s.end_ns > {a} AND s.begin_ns < {b}
        ), spread AS (
          SELECT *, unnest(range((b - {a}) // {width}, (e - 1 - {a}) // {width} + 1)) AS bin FROM clipped WHERE e > b
        )
        SELECT {", ".join(columns)}, {a} + bin * {width} AS t_ns,
               sum(least(e, {a} + (bin + 1) * {width}) - greatest(b, {a} + bin * {width}))::DOUBLE / {width} AS busy
        FROM spread GROUP BY {", ".join(columns)}, bin ORDER BY {", ".join(columns)}, bin
        """
    )
