"""Intel GVT-g, one GPU for several virtual machines."""

from drawtap.system.driver import Draft, driver
from drawtap.system.drivers.i915 import ENGINE, ENGINE_NUMBER
from drawtap.trace.sql_text import quote_text


@driver("gvt", order=30)
def gvt(draft: Draft) -> None:
    """Work of virtual GPUs: the probes of Belkhiri & Dagenais 2024, and the events that Linux has.

    Their probes are gvt_workload_queue (created, in the queue of the virtual GPU) and gvt_workload_submit (names the
    request of the host: context, number, engine). gvt_workload_complete marks the end: the guest gets its interrupt. At
    gvt_sched_switch a virtual GPU is scheduled out, with the time it has left. The guest's access to the GPU is
    trapped, so the thread that queues is one of its virtual CPUs, which tells whose virtual GPU it is. A workload and
    its request of i915 are one life. Where the host's events were not recorded, submit to complete bounds the
    execution, as one workload of an engine is in flight at a time.

    Probes may also tell what the guest calls its request, in the fields guest_ctx and guest_seqno; a trace of the guest
    is joined by them.

    Linux itself has gvt_command (a command is parsed for a virtual GPU) and inject_msi (an interrupt for it). Where the
    thread that adds a request to i915 parsed commands of a virtual GPU last, the request is that one's.
    """
    probes = _probes(draft)
    _slices(draft)
    _upstream(draft, attribute=not probes)


def _probes(draft: Draft) -> bool:
    if not draft.load(
        "gvt",
        ("gvt_workload_queue", "gvt_workload_submit", "gvt_workload_complete"),
        keys=(
            "workload=workload_id|workload",
            "ctx=ctx|hw_id|ctx_id",
            "seqno",
            "guest_ctx=guest_ctx|guest_context|guest_hw_id",
            "guest_seqno",
        ),
        ints=("vgpu=vgpu_id|vgpu|vdev_id|id", "ring=ring_id|ring", "class", "instance", "dev"),
    ):
        return False
    draft.ends("gvt_workload_complete")
    # Addresses of workloads are used again: a life begins with the queue.
    draft.run(
        f"""
        CREATE OR REPLACE TABLE ev_work AS
        SELECT *, {ENGINE} AS engine, sum(CASE WHEN event LIKE '%queue' THEN 1 ELSE 0 END)
               OVER (PARTITION BY vgpu, workload ORDER BY t, CASE WHEN event LIKE '%queue' THEN 0 ELSE 1 END) AS life
        FROM ev_gvt
        """
    )
    host = draft.count("i915_request_add", "i915_gem_request_add", "i915_request_in", "i915_gem_request_in") > 0
    draft.run(
        f"""
        CREATE OR REPLACE TABLE ev_same AS
        SELECT vgpu, workload, life, any_value(ctx) AS ctx, any_value(seqno) AS seqno,
               any_value({ENGINE_NUMBER}) AS number, any_value(dev) AS dev
        FROM ev_work WHERE event = 'gvt_workload_submit' GROUP BY ALL
        """
    )
    end = "done" if host and draft.count("i915_request_in", "i915_gem_request_in") else "end"
    phase = (
        "CASE w.event WHEN 'gvt_workload_queue' THEN 'created' WHEN 'gvt_workload_submit' "
        f"THEN {quote_text('submitted' if end == 'end' else None)} ELSE '{end}' END"
    )
    # Requests that never reached the host's driver wait for the same card, where there is only one.
    device = "(SELECT CASE WHEN count(DISTINCT device) = 1 THEN any_value(device) END FROM steps WHERE driver = 'i915')"
    steps = f"""
        SELECT {{keys}}, w.t, {phase} AS phase, {device} AS device, w.engine, w.vgpu::INTEGER AS vgpu,
               w.guest_ctx AS guest_context, w.guest_seqno, {{more}}
               'vGPU ' || w.vgpu AS client, CASE WHEN w.event LIKE '%queue' THEN w.tid END AS tid,
               CASE WHEN w.event LIKE '%queue' THEN w.pid END AS pid,
               CASE WHEN w.event LIKE '%queue' THEN w.comm END AS comm
        FROM ev_work w {{join}} WHERE {phase} IS NOT NULL
    """
    same = "USING (vgpu, workload, life)"
    if host:
        keys = "s.ctx AS k1, s.seqno AS k2, (coalesce(s.dev, 0) * 65536 + s.number)::UBIGINT AS k3"
        more = "s.ctx AS context, s.seqno AS seqno,"
        draft.steps(steps.format(keys=keys, more=more, join=f"JOIN ev_same s {same}"), driver="i915")
        rest = f"ANTI JOIN ev_same s {same}"
    else:
        rest = f"LEFT JOIN (SELECT vgpu, workload, life, ctx AS c, seqno AS n FROM ev_same) s {same}"
    keys = "w.workload AS k1, w.life::UBIGINT AS k2, w.vgpu::UBIGINT AS k3"
    draft.steps(steps.format(keys=keys, more="" if host else "s.c AS context, s.n AS seqno,", join=rest))
    return True


def _slices(draft: Draft) -> None:
    if not draft.load(
        "slice",
        ("gvt_sched_switch",),
        ints=("vgpu=vgpu_id|vgpu|vdev_id|id", "left_ns=left_ns|left_ts|left|time_left"),
    ):
        return
    draft.counters(
        "SELECT 'vgpu/' || vgpu || '/time left' AS track, t AS t_ns, left_ns::DOUBLE AS value FROM ev_slice "
        "WHERE vgpu > 0 AND left_ns IS NOT NULL",
        unit="ns",
    )
    # The event tells who leaves; it had the GPU since the one before left.
    draft.spans(
        """
        SELECT 'vgpu/' || vgpu || '/slice' AS track, begin_ns, t AS end_ns, 'vGPU ' || vgpu || ' has the GPU' AS name,
               'current' AS kind, vgpu::INTEGER AS vgpu, false AS is_open
        FROM (SELECT *, lag(t) OVER (ORDER BY t) AS begin_ns FROM ev_slice)
        WHERE vgpu > 0 AND begin_ns < t
        """
    )


def _upstream(draft: Draft, *, attribute: bool) -> None:
    if draft.load("msi", ("inject_msi",), ints=("vgpu=id|vgpu_id",)):
        draft.spans(
            "SELECT 'vgpu/' || vgpu || '/interrupts' AS track, t AS begin_ns, t AS end_ns, 'interrupt' AS name, "
            "'mark' AS kind, vgpu::INTEGER AS vgpu, cpu, false AS is_open FROM ev_msi"
        )
    if not draft.load("command", ("gvt_command",), ints=("vgpu=vgpu_id", "ring=ring_id")):
        return
    draft.spans(
        """
        SELECT 'vgpu/' || vgpu || '/commands' AS track, min(t) AS begin_ns, max(t) AS end_ns,
               count(*) || ' commands' AS name, 'parse' AS kind, vgpu::INTEGER AS vgpu, tid, false AS is_open
        FROM (SELECT *, sum(fresh) OVER (ORDER BY t) AS batch FROM (
          SELECT *, CASE WHEN lag(vgpu) OVER w = vgpu AND t - lag(t) OVER w < 100000 THEN 0 ELSE 1 END AS fresh
          FROM ev_command WINDOW w AS (ORDER BY t)))
        GROUP BY batch, vgpu, tid
        """
    )
    if not attribute or not draft.count("i915_request_add", "i915_gem_request_add"):
        return
    draft.run(
        """
        UPDATE steps SET vgpu = f.vgpu::INTEGER, client = 'vGPU ' || f.vgpu
        FROM (
          SELECT s.k1, s.k2, s.k3, c.vgpu FROM (SELECT * FROM steps WHERE driver = 'i915' AND phase = 'queued') s
          ASOF JOIN (SELECT tid, t, vgpu FROM ev_command) c ON s.tid = c.tid AND s.t >= c.t
        ) f
        WHERE steps.driver = 'i915' AND steps.k1 = f.k1 AND steps.k2 = f.k2 AND steps.k3 = f.k3
        """
    )
    draft.lacks(
        "gvt_workload_queue",
        "this kernel does not tell when a guest queued its work. A request counts as a virtual GPU's if the thread "
        "that added it parsed commands of this GPU last. The wait in the hypervisor is not known",
    )
