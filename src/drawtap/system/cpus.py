"""Users of the physical CPUs: a track `cpu/N` for each, in which time belongs to virtual machines and processes.

The threads' spans (`running`, from sched_switch), put together by CPU. They are not kept twice:
`SPANS` and `busy` make them when somebody draws them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from drawtap.system.model import KernelModel
from drawtap.trace.sql_text import quote_text

_RUNNING: Final = "kind = 'running' AND cpu IS NOT NULL AND track LIKE 'thread/%'"

# To whom a thread belongs. All threads of a process that runs a guest belong to the machine, as its requests do; others
# to their process, which is called as in `requests.client`.
_OWNERS: Final = """
    SELECT r.tid, coalesce(t.vm, m.vm) IS NOT NULL AS is_vm,
           coalesce(t.vm, m.vm, coalesce(p.comm, 'process') || ' (' || t.pid || ')',
                    coalesce(t.comm, 'thread') || ' (' || r.tid || ')') AS owner,
           CASE WHEN t.is_vcpu AND t.vm <> t.comm THEN t.vm || ' vCPU ' || t.vcpu ELSE coalesce(t.comm, 'thread') END
             || ' (' || r.tid || ')' AS name
    FROM (SELECT DISTINCT tid FROM spans WHERE kind = 'running' AND tid IS NOT NULL) r
    LEFT JOIN threads t USING (tid)
    LEFT JOIN (SELECT pid, any_value(vm) AS vm FROM threads WHERE vm IS NOT NULL AND pid IS NOT NULL GROUP BY pid) m
      ON m.pid = t.pid
    LEFT JOIN threads p ON p.tid = t.pid
"""

# Spans on the tracks of CPUs, with the columns of `spans` that are drawn.
SPANS: Final = f"""
    SELECT s.id, 'cpu/' || s.cpu AS track, s.kind, s.begin_ns, s.end_ns, s.request, s.vgpu, o.name
    FROM spans s JOIN ({_OWNERS}) o USING (tid) WHERE {_RUNNING}
"""


@dataclass(frozen=True, slots=True)
class Owner:
    """A virtual machine or a process that ran, and for how long on all CPUs together."""

    name: str
    is_vm: bool
    run_ns: int


def owners(model: KernelModel, window: tuple[int, int]) -> list[Owner]:
    """Return who ran inside a window: virtual machines first, then processes, those with the most time first."""
    a, b = window
    rows = model.query(
        f"""
        SELECT owner, is_vm, sum(least(s.end_ns, {b}) - greatest(s.begin_ns, {a}))::BIGINT AS ns
        FROM spans s JOIN ({_OWNERS}) o USING (tid) WHERE {_RUNNING}
          AND s.end_ns > greatest({a}, s.begin_ns) AND s.begin_ns < {b}
        GROUP BY owner, is_vm ORDER BY is_vm DESC, ns DESC, owner
        """
    ).fetchall()
    return [Owner(str(name), bool(is_vm), int(ns)) for name, is_vm, ns in rows]


def owner_of_names(model: KernelModel, names: Collection[str]) -> dict[str, str]:
    """Return the owner of each thread that ran and is in `names`, by the name that its spans have here."""
    rows = model.query(f"SELECT name, owner FROM ({_OWNERS}) WHERE list_contains(?, name)", [list(names)]).fetchall()
    return {str(name): str(owner) for name, owner in rows}


def pieces(shown: Sequence[str], others: str) -> str:
    """Return SQL for what ran on each CPU: (track, kind, begin_ns, end_ns), where `kind` is the owner.

    Owners that are not in `shown` are `others` together.
    """
    names = ", ".join(quote_text(name) for name in shown) or "NULL"
    return f"""
        SELECT 'cpu/' || s.cpu AS track,
               CASE WHEN o.owner IN ({names}) THEN o.owner ELSE {quote_text(others)} END AS kind,
               s.begin_ns, s.end_ns
        FROM spans s JOIN ({_OWNERS}) o USING (tid) WHERE {_RUNNING}
    """
