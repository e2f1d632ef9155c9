"""Intel's i915: i915_gem_request_* up to Linux 4.16, i915_request_* since."""

from drawtap.system.driver import Draft, driver

_STAGES = ("queue", "add", "submit", "guc_submit", "execute", "in", "out", "retire")
_NAMES = tuple(f"i915_{kind}_{stage}" for kind in ("request", "gem_request") for stage in _STAGES)
# Rings of the old numbering, and classes of the new one: both name an engine as the driver does, so that events of both
# kinds meet. A ring is a class and an instance.
_CLASSES = "['rcs', 'bcs', 'vcs', 'vecs', 'ccs']"
_CLASS = "coalesce(class, [0, 1, 2, 2, 3][ring + 1])"
_INSTANCE = "CASE WHEN class IS NOT NULL THEN instance ELSE [0, 0, 0, 1, 0][ring + 1] END"
ENGINE = f"coalesce(coalesce({_CLASSES}[{_CLASS} + 1], 'class' || class) || ({_INSTANCE}), 'ring' || ring)"
# The number of an engine in the keys of requests; rings that nobody has named stand behind all classes.
ENGINE_NUMBER = f"coalesce({_CLASS} * 256 + ({_INSTANCE}), 65280 + ring)"
# A request is known by context, number and engine; the old events have a ring, the new ones class and instance.
KEYS = f"ctx AS k1, seqno AS k2, (coalesce(dev, 0) * 65536 + {ENGINE_NUMBER})::UBIGINT AS k3"


@driver("i915", order=20)
def i915(draft: Draft) -> None:
    """Requests of i915, and its memory objects.

    queue (created), add (queued), submit (ready: its dependencies are met), execute or guc_submit (submitted), in
    (begin), out (end; `completed` 0: preempted, it will come in again), retire (retired). Linux 4.14 also has numbers
    per engine: intel_engine_notify of a number is the end of all requests up to it. A request that was merged into its
    successor has no `out`, and ends with the successor.

    submit, execute, in and out exist only in kernels built with CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS. Without them
    the end comes from dma_fence_signaled where that was recorded (context and number are the same), else only the
    retirement is known; what was on the engine when is not told, and stays open.
    """
    _memory(draft)
    _frequency(draft)
    if not draft.load(
        "i915",
        _NAMES,
        keys=("ctx=ctx|hw_id|ctx_id", "seqno"),
        ints=(
            "dev",
            "class=class|engine_class",
            "instance=instance|engine_instance",
            "ring=ring|ring_id",
            "global_seqno=global_seqno|global",
            "port",
            "prio",
            "completed",
        ),
        texts=("place=engine",),
    ):
        return
    # In text the engine is one word, class:instance.
    draft.run(
        "UPDATE ev_i915 SET class = TRY_CAST(split_part(place, ':', 1) AS BIGINT), "
        "instance = TRY_CAST(split_part(place, ':', 2) AS BIGINT) WHERE class IS NULL AND place LIKE '%:%'"
    )
    draft.run("UPDATE ev_i915 SET event = regexp_replace(event, '^i915_(gem_)?request_', '')")
    draft.run(f"ALTER TABLE ev_i915 ADD COLUMN engine VARCHAR; UPDATE ev_i915 SET engine = {ENGINE}")
    draft.steps(
        f"""
        SELECT {KEYS}, t,
               CASE event WHEN 'queue' THEN 'created' WHEN 'add' THEN 'queued' WHEN 'submit' THEN 'ready'
                    WHEN 'execute' THEN 'submitted' WHEN 'guc_submit' THEN 'submitted' WHEN 'in' THEN 'begin'
                    WHEN 'retire' THEN 'retired'
                    ELSE CASE WHEN completed = 0 THEN 'preempted' ELSE 'end' END END AS phase,
               CASE WHEN dev IS NOT NULL THEN 'card' || dev END AS device, engine, ctx AS context, seqno,
                    prio AS priority,
               CASE WHEN event IN ('queue', 'add') THEN tid END AS tid,
               CASE WHEN event IN ('queue', 'add') THEN pid END AS pid,
               CASE WHEN event IN ('queue', 'add') THEN comm END AS comm
        FROM ev_i915 WHERE NOT (event = 'out' AND global_seqno IS NOT NULL)
        """
    )
    draft.ends("i915_request_out", "i915_gem_request_out")
    low_level = _has(draft, "in")
    if low_level:
        _old_ends(draft)
    else:
        draft.lacks(
            "i915_request_in",
            "none in the trace: a kernel without CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS does not tell when a "
            "request is on "
            "its engine",
        )
    _fences(draft)


def _has(draft: Draft, event: str) -> bool:
    return bool(draft.value(f"SELECT count(*) FROM ev_i915 WHERE event = '{event}'"))


def _old_ends(draft: Draft) -> None:
    # Numbers per engine rise; the event of a number ends everything up to it that came in before.
    if not draft.value("SELECT count(*) FROM ev_i915 WHERE global_seqno > 0"):
        return
    ends = "SELECT coalesce(dev, 0) AS dev, ring, global_seqno, t FROM ev_i915 WHERE event = 'out' AND global_seqno > 0"
    if draft.load(
        "notify", ("intel_engine_notify", "i915_intel_engine_notify"), ints=("dev", "ring=ring|ring_id", "seqno")
    ):
        ends += " UNION ALL SELECT coalesce(dev, 0), ring, seqno, t FROM ev_notify"
    draft.steps(
        f"""
        WITH ends AS (SELECT dev, ring, global_seqno, min(t) AS t FROM ({ends}) GROUP BY ALL),
        began AS (
          SELECT coalesce(dev, 0) AS dev, ring, {KEYS}, max(global_seqno) AS number, min(t) AS t FROM ev_i915
          WHERE event = 'in' AND global_seqno > 0 GROUP BY ALL
        )
        SELECT b.k1, b.k2, b.k3, greatest(e.t, b.t) AS t,
          'end' AS phase
        FROM began b ASOF JOIN ends e ON b.dev = e.dev AND b.ring = e.ring AND b.number <= e.global_seqno
        """
    )


def _fences(draft: Draft) -> None:
    # Requests are fences: dma_fence_signaled brings their owner the news.
    if draft.load("i915end", ("dma_fence_signaled",), keys=("context", "seqno"), texts=("driver",)):
        draft.steps(
            f"""
            WITH told AS (SELECT context, seqno, min(t) AS t FROM ev_i915end WHERE driver = 'i915' GROUP BY ALL),
            known AS (SELECT DISTINCT ctx, seqno, dev, class, instance, ring FROM ev_i915)
            SELECT {KEYS.replace("seqno", "known.seqno")}, told.t, 'done' AS phase
            FROM known JOIN told ON told.context = (ctx & 4294967295) AND told.seqno = (known.seqno & 4294967295)
            """
        )


def _memory(draft: Draft) -> None:
    if not draft.load("gem", ("i915_gem_object_create", "i915_gem_object_destroy"), keys=("obj",), ints=("size",)):
        return
    # Objects from before the trace are not known: a destroyed object that was not seen made does not count. An object
    # is of the process that made it, whoever destroys it.
    draft.run(
        """
        CREATE OR REPLACE TABLE ev_objects AS
        WITH pairs AS (
          SELECT t, event LIKE '%create' AS made, size, tid, pid, lag(event LIKE '%create') OVER w AS was_made,
                 lag(size) OVER w AS made_size, lag(tid) OVER w AS made_tid, lag(pid) OVER w AS made_pid
          FROM ev_gem WINDOW w AS (PARTITION BY obj ORDER BY t)
        )
        SELECT t, CASE WHEN made THEN size ELSE -made_size END AS change,
               CASE WHEN made THEN tid ELSE made_tid END AS tid, CASE WHEN made THEN pid ELSE made_pid END AS pid
        FROM pairs WHERE made OR was_made
        """
    )
    older = draft.value(
        "SELECT count(*) FROM ev_gem g WHERE event LIKE '%destroy' AND NOT EXISTS ("
        "SELECT 1 FROM ev_gem m WHERE m.obj = g.obj AND m.event LIKE '%create' AND m.t <= g.t)"
    )
    if older:
        draft.lacks(
            "i915_gem_object_create", "objects from before the trace, or lost: their memory is not known", older
        )
    draft.counters(
        "SELECT 'i915/memory' AS track, t AS t_ns, sum(change) OVER (ORDER BY t)::DOUBLE AS value FROM ev_objects "
        "WHERE change IS NOT NULL",
        unit="bytes",
    )
    draft.memory(
        "SELECT 'i915' AS device, tid, pid, t, change FROM ev_objects WHERE change IS NOT NULL AND tid > 0",
        basis="made",
    )


def _frequency(draft: Draft) -> None:
    if draft.load("freq", ("intel_gpu_freq_change",), ints=("freq",)):
        draft.counters("SELECT 'i915/frequency' AS track, t AS t_ns, freq * 1e6 AS value FROM ev_freq", unit="Hz")
