"""Threads on CPUs: sched_switch, sched_waking, sched_wakeup."""

from __future__ import annotations

from collections.abc import Sequence

from drawtap.system.driver import Draft, driver

_INCOMPLETE = ("lost", "discarded", "truncated", "corrupt")


@driver("sched", order=10)
def sched(draft: Draft) -> None:
    """Give every thread its spans: running, preempted, blocked, and waking (woken, but not yet on a CPU).

    A span of `running` says on which CPU. Threads that ran when the trace began or ended have open spans, which reach
    to there. In a trace that has lost events or is cut off, CPUs may begin later and end earlier than the trace; then
    what ran at the edges is left out. Where the thread that leaves a CPU is not the one that came last, switches were
    lost, and the time between is nobody's.
    """
    if not draft.has("sched_switch"):
        return
    whole = not any(p.kind in _INCOMPLETE for p in draft.source.problems)
    wakes = _wakes(draft)
    facts = draft.threads("sched_switch", wakes="ev_wake" if wakes else None, whole=whole)
    _late(draft, facts.late)
    if not whole:
        draft.lacks("sched_switch", "the trace is incomplete: what ran at the edges of CPUs is not known", facts.edges)
    if facts.lost:
        draft.lacks("sched_switch", "another thread left the CPU than came last: switches were lost there", facts.lost)
    if not wakes:
        draft.lacks("sched_waking", "not recorded: how long threads wait for a CPU after they are woken is not known")
        return
    draft.links(
        "SELECT 'thread' AS from_kind, waker AS from_id, "
        "CASE kind WHEN 'waking' THEN begin_ns ELSE end_ns END AS from_ns, "
        "'thread' AS to_kind, tid AS to_id, end_ns AS to_ns, 'wakes' AS kind, 1 AS tier, 1.0 AS confidence "
        "FROM thread_spans WHERE waker IS NOT NULL AND NOT is_open"
    )


def _late(draft: Draft, late: Sequence[tuple[int | None, int]]) -> None:
    # A buffer that is written round and round keeps the last events of each CPU: busy ones begin later.
    if late:
        cpu, ns = max(late, key=lambda one: one[1])
        seconds = f"{ns / 1e9:.6f}"
        draft.lacks(
            "sched_switch",
            f"CPUs begin at different times, CPU {cpu} {seconds} s after the first: before that, figures lack what "
            f"happened there (--from {seconds})",
            len(late),
        )


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
    return False
