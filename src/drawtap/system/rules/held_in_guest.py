"""A guest whose requests reach the host late."""

from drawtap.system.rule import rule


def waits_of_threads(begin: str, end: str, what: str) -> str:
    """Return a question for the times in which a guest's threads waited between two columns of `guest_requests`.

    Times of one thread that overlap count once. Waits that the error of the guest's clock may explain are left out.
    """
    return f"""
        WITH waits AS (
          SELECT r.guest, coalesce(nullif(r.comm, ''), 'thread ' || r.tid, r.client) AS who,
                 greatest(r.{begin}, w.begin_ns) AS b, least(r.{end}, w.end_ns) AS e
          FROM guest_requests r JOIN guests g USING (guest), trace_window w
          WHERE r.{end} - r.{begin} > coalesce(g.error_ns, g.spread_ns, 0) AND r.{end} > w.begin_ns
            AND r.{begin} < w.end_ns
        ), marked AS (
          SELECT *, CASE WHEN b <= max(e) OVER (PARTITION BY guest, who ORDER BY b, e
                                                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) THEN 0 ELSE 1 END
                 AS fresh FROM waits
        ), islands AS (SELECT *, sum(fresh) OVER (PARTITION BY guest, who ORDER BY b, e) AS island FROM marked),
        merged AS (
          SELECT guest, who, min(b) AS begin_ns, max(e) AS end_ns, count(*) AS n FROM islands
          GROUP BY guest, who, island
        )
        SELECT guest AS culprit, guest || ': ' || who AS victim, sum(n)::BIGINT AS n,
               sum(end_ns - begin_ns)::BIGINT AS ns, arg_max(begin_ns, end_ns - begin_ns) AS begin_ns,
               max(end_ns - begin_ns)::BIGINT AS worst_ns, '{what}' AS what
        FROM merged GROUP BY guest, who
    """


@rule(
    title="Requests of a guest reach the host late",
    fix="Give the machine's virtual CPUs processors of their own, and look at stolen-cpu for who takes them.",
)
def held_in_guest() -> str:
    """A request that waits inside of its virtual machine leaves the GPU free for it, and the host knows nothing of it.

    Told where the guest's trace is joined with --guest: from the guest's submit until the host has the request.
    """
    return waits_of_threads("asked_ns", "host_asked_ns", "waits in the guest for requests that the host has not got")
