"""A virtual machine that takes CPU time from another."""

from drawtap.system.metrics import MEANWHILE
from drawtap.system.rule import rule


@rule(
    title="Virtual machines take CPU time from each other",
    fix="Move one of them to a host whose machines need the GPU rather than the CPU: drawtap system place.",
)
def stolen_cpu() -> str:
    """A vCPU that is ready to run and off its CPU stops its guest, with everything the guest holds.

    Counted is the time in which another machine's vCPU had that CPU.
    """
    return f"""
        WITH lost AS (
          SELECT s.id, t.vm, t.tid, s.cpu, s.begin_ns, greatest(s.begin_ns, w.begin_ns) AS b,
                 least(s.end_ns, w.end_ns) AS e
          FROM spans s JOIN threads t USING (tid), trace_window w
          WHERE t.is_vcpu AND s.kind = 'preempted' AND s.end_ns > w.begin_ns AND s.begin_ns < w.end_ns
        ), ran AS (
          SELECT t.vm, s.cpu, s.begin_ns, s.end_ns
          FROM spans s JOIN threads t USING (tid) WHERE t.is_vcpu AND s.kind = 'running'
        ), {MEANWHILE}, shared AS (
          SELECT r.vm AS culprit, l.vm AS victim, l.begin_ns, least(l.e, r.end_ns) - greatest(l.b, r.begin_ns) AS ns
          FROM meanwhile l JOIN numbered r USING (cpu, n) WHERE r.end_ns > l.b AND r.begin_ns < l.e AND r.vm <> l.vm
        )
        SELECT culprit, victim, count(*) AS n, sum(ns)::BIGINT AS ns, arg_max(begin_ns, ns) AS begin_ns,
               max(ns)::BIGINT AS worst_ns, 'had the CPU while it was ready to run' AS what
        FROM shared GROUP BY ALL
    """
