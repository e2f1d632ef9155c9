"""Threads on CPUs: sched_switch, sched_waking, sched_wakeup."""

from __future__ import annotations

from drawtap.system.driver import Draft, driver
from drawtap.system.reader import Field

# A thread that is taken off its CPU while it could go on is preempted: TASK_RUNNING is 0, and from Linux 4.14 on a
# preempted thread has the bit above those that are reported (256, older kernels 1024 and more; text: R and R+).
_RUNNABLE = {
    True: "prev_state LIKE 'R%'",
    False: "(prev_state & 255) = 0",
}
_DEAD = {
    True: "prev_state SIMILAR TO '[XZxIz].*' AND prev_state NOT LIKE 'I%'",
    False: "(prev_state & 48) <> 0",  # EXIT_DEAD 16, EXIT_ZOMBIE 32
}


_INCOMPLETE = ("lost", "discarded", "truncated", "corrupt")


@driver("sched", order=10)
def sched(draft: Draft) -> None:
    """Give every thread its spans: running, preempted, blocked, and waking (woken, but not yet on a CPU).

    A span of `running` says on which CPU. Threads that ran when the trace began or ended have open spans, which reach
    to there. In a trace that has lost events or is cut off, CPUs may begin later and end earlier than the trace; then
    what ran at the edges is left out. Where the thread that leaves a CPU is not the one that came last, switches were
    lost, and the time between is nobody's.
    """
    text = any(f.name == "prev_state" and f.type == "VARCHAR" for f in _fields(draft, "sched_switch"))
    if draft.load(
        "switch",
        ("sched_switch",),
        ints=("prev_tid=prev_pid|prev_tid", "next_tid=next_pid|next_tid", *(() if text else ("prev_state",))),
        texts=("prev_comm", "next_comm", *(("prev_state",) if text else ())),
    ):
        # Names are long and few: they do not stay in every row.
        _names(draft)
        draft.run("ALTER TABLE ev_switch DROP COLUMN prev_comm")
        draft.run("ALTER TABLE ev_switch DROP COLUMN next_comm")
        draft.run("ALTER TABLE ev_switch DROP COLUMN comm")
        whole = not any(p.kind in _INCOMPLETE for p in draft.source.problems)
        _late(draft)
        _runs(draft, _RUNNABLE[text], _DEAD[text], whole=whole)
        _waits(draft, wakes=_wakes(draft), whole=whole)


def _fields(draft: Draft, event: str) -> tuple[Field, ...]:
    return draft.source.fields(event) if draft.knows(event) else ()


def _names(draft: Draft) -> None:
    draft.run(
        "INSERT INTO seen SELECT tid, NULL, arg_max(comm, t), max(t) FROM ("
        "SELECT prev_tid AS tid, prev_comm AS comm, t FROM ev_switch UNION ALL "
        "SELECT next_tid, next_comm, t FROM ev_switch) WHERE tid > 0 AND comm IS NOT NULL GROUP BY tid"
    )


def _late(draft: Draft) -> None:
    # A buffer that is written round and round keeps the last events of each CPU: busy ones begin later. A CPU is late
    # where it is silent at first for longer than ever after.
    draft.run(
        """
        CREATE OR REPLACE TABLE ev_late AS
        SELECT cpu, min(t) AS begin_ns, min(t) - any_value(w.begin_ns) AS late_ns
        FROM (SELECT cpu, t, t - lag(t) OVER (PARTITION BY cpu ORDER BY t) AS gap FROM ev_switch),
             (SELECT begin_ns, end_ns FROM trace_window) w
        GROUP BY cpu HAVING count(*) >= 10 AND min(t) - any_value(w.begin_ns) > max(gap)
          AND min(t) - any_value(w.begin_ns) > any_value(w.end_ns - w.begin_ns) / 100
        """
    )
    late = draft.connection.execute(
        "SELECT count(*), max(late_ns), arg_max(cpu, late_ns) FROM ev_late HAVING count(*) > 0"
    ).fetchone()
    if late is not None:
        seconds = f"{late[1] / 1e9:.6f}"
        draft.lacks(
            "sched_switch",
            f"CPUs begin at different times, CPU {late[2]} {seconds} s after the first: before that, figures lack what "
            f"happened there (--from {seconds})",
            late[0],
        )


def _runs(draft: Draft, runnable: str, dead: str, *, whole: bool) -> None:
    draft.run(
        f"""
        CREATE OR REPLACE TABLE ev_run AS
        WITH s AS (
          SELECT t, cpu, prev_tid, next_tid, {runnable} AS runnable, {dead} AS dead,
                 row_number() OVER w AS n, lead(t) OVER w AS next_t, lead(prev_tid) OVER w AS next_prev,
                 lead({runnable}) OVER w AS next_runnable, lead({dead}) OVER w AS next_dead
          FROM ev_switch WINDOW w AS (PARTITION BY cpu ORDER BY t)
        )
        SELECT next_tid AS tid, cpu, t AS begin_ns, coalesce(next_t, (SELECT end_ns FROM trace_window)) AS end_ns,
               next_runnable AS runnable, next_dead AS dead, next_t IS NULL AS is_open,
               next_t IS NOT NULL AND next_prev <> next_tid AS lost
        FROM s WHERE next_tid > 0
        UNION ALL
        SELECT prev_tid, cpu, (SELECT begin_ns FROM trace_window), t, runnable, dead, true, false
        FROM s WHERE n = 1 AND prev_tid > 0 AND t > (SELECT begin_ns FROM trace_window)
          AND cpu NOT IN (SELECT cpu FROM ev_late)
        """
    )
    if not whole:
        edges = draft.value("SELECT count(*) FROM ev_run WHERE is_open")
        draft.run("DELETE FROM ev_run WHERE is_open")
        draft.lacks("sched_switch", "the trace is incomplete: what ran at the edges of CPUs is not known", edges)
    lost = draft.value("SELECT count(*) FROM ev_run WHERE lost")
    if lost:
        draft.lacks("sched_switch", "another thread left the CPU than came last: switches were lost there", lost)
    draft.thread_spans("SELECT tid, cpu, begin_ns, end_ns, 'running' AS kind, is_open FROM ev_run WHERE NOT lost")


def _wakes(draft: Draft) -> bool:
    # waking: somebody asks; wakeup: the thread is in the queue of a CPU. The first is when the wait for a CPU begins.
    for event in ("sched_waking", "sched_wakeup"):
        if draft.load(
            "wake", (event,), ints=("wakee=event.pid|event.tid", "target_cpu"), texts=("wakee_comm=event.comm",)
        ):
            draft.run(
                "INSERT INTO seen SELECT wakee, NULL, arg_max(wakee_comm, t), min(t) FROM ev_wake "
                "WHERE wakee > 0 AND wakee_comm IS NOT NULL GROUP BY wakee"
            )
            return True
    draft.lacks("sched_waking", "not recorded: how long threads wait for a CPU after they are woken is not known")
    return False


def _waits(draft: Draft, *, wakes: bool, whole: bool) -> None:
    draft.run(
        """
        CREATE OR REPLACE TABLE ev_off AS
        WITH gaps AS (
          SELECT tid, cpu, end_ns AS begin_ns, lead(begin_ns) OVER w AS next_ns, runnable, dead, lost
          FROM ev_run WINDOW w AS (PARTITION BY tid ORDER BY begin_ns, end_ns, cpu)
        )
        SELECT tid, cpu, begin_ns, coalesce(next_ns, (SELECT end_ns FROM trace_window)) AS end_ns, runnable,
               next_ns IS NULL AS is_open
        FROM gaps WHERE NOT lost AND NOT coalesce(dead, false) AND runnable IS NOT NULL
          AND coalesce(next_ns, (SELECT end_ns FROM trace_window)) > begin_ns
        """
    )
    if not whole:
        draft.run("DELETE FROM ev_off WHERE is_open")
    columns = "tid, cpu, begin_ns, end_ns"
    draft.thread_spans(f"SELECT {columns}, 'preempted' AS kind, is_open FROM ev_off WHERE runnable")
    if not wakes:
        draft.thread_spans(f"SELECT {columns}, 'blocked' AS kind, is_open FROM ev_off WHERE NOT runnable")
        return
    draft.run(
        """
        CREATE OR REPLACE TABLE ev_woken AS
        SELECT o.*, CASE WHEN w.t >= o.begin_ns THEN w.t END AS woken_ns, w.tid AS waker
        FROM (SELECT * FROM ev_off WHERE NOT runnable) o
        ASOF LEFT JOIN (SELECT wakee, t, tid FROM ev_wake) w ON o.tid = w.wakee AND o.end_ns >= w.t
        """
    )
    draft.thread_spans(
        "SELECT tid, cpu, begin_ns, coalesce(woken_ns, end_ns) AS end_ns, 'blocked' AS kind, is_open FROM ev_woken "
        "WHERE coalesce(woken_ns, end_ns) > begin_ns UNION ALL "
        "SELECT tid, cpu, woken_ns, end_ns, 'waking', is_open FROM ev_woken WHERE woken_ns < end_ns"
    )
    draft.links(
        "SELECT 'thread' AS from_kind, waker AS from_id, woken_ns AS from_ns, 'thread' AS to_kind, tid AS to_id, "
        "end_ns AS to_ns, 'wakes' AS kind, 1 AS tier, 1.0 AS confidence "
        "FROM ev_woken WHERE woken_ns IS NOT NULL AND waker > 0 AND NOT is_open"
    )
