"""A rule about contention: a question over the tables of a kernel trace whose answer names a culprit and a victim.

One file a rule in `rules/`. The decorated function returns the question as SQL; its docstring says why the answer
matters. Every row is evidence of a finding, no row is a pass. Columns of a row: `culprit`, `victim`, `n` (how often),
`ns` (what it cost the victim), `begin_ns` (the worst time), `worst_ns` (what that one cost), `what` (a few words).

Tables are `drawtap.system.model.TABLES`, and `busy_waits`: times in which a client had at least one request waiting for
an engine. Its columns are (device, engine, client, begin_ns, end_ns), clipped to the window in `trace_window`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field

from drawtap.plugins import Registry
from drawtap.system.model import KernelModel

# Shares of the window below which a cost is not worth a word.
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Rule:
    """A registered rule: what a finding says, and what to do about it."""

    id: str
    title: str
    fix: str
    urgent: bool  # before all others, whatever it costs: what it finds explains the others
    function: Callable[[], str] = field(repr=False)

    @property
    def why(self) -> str:
        """Why a finding matters: the docstring."""
        return inspect.cleandoc(self.function.__doc__ or "")


@dataclass(frozen=True)
class Finding:
    """A finding: culprit, victim and loss. `share` is the cost as a share of the window."""

    rule: str
    title: str
    culprit: str
    victim: str
    what: str
    count: int
    cost_ns: int
    share: float
    worst_at_ns: int | None
    worst_ns: int | None
    why: str
    fix: str


RULES: Registry[Rule] = Registry("rule about contention", "drawtap.system.rules")


def rule(*, title: str, fix: str, urgent: bool = False) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Register the decorated function as a rule; its name, with dashes, is the rule's id."""

    def add(function: Callable[[], str]) -> Callable[[], str]:
        identity = function.__name__.replace("_", "-")
        RULES.register(identity)(Rule(identity, title, fix, urgent, function))
        return function

    return add


_LANES = """
CREATE OR REPLACE TEMP TABLE lanes AS
SELECT device, engine, row_number() OVER (ORDER BY device, engine)::HUGEINT * 18446744073709551616 AS base
FROM (SELECT DISTINCT device, engine FROM requests WHERE engine IS NOT NULL)
"""

_BUSY_WAITS = """
CREATE OR REPLACE TEMP TABLE busy_waits AS
WITH waits AS (
  SELECT device, engine, client, greatest(coalesce(created_ns, queued_ns), {a}) AS b,
         least(coalesce(begin_ns, {b}), {b}) AS e
  FROM requests
  WHERE (wait_ns > 0 OR (is_open AND begin_ns IS NULL AND {b} > coalesce(created_ns, queued_ns)))
    AND coalesce(begin_ns, {b}) > {a} AND coalesce(created_ns, queued_ns) < {b}
), marked AS (
  SELECT *, max(e) OVER (PARTITION BY device, engine, client ORDER BY b, e
                         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach,
         max(e) OVER (PARTITION BY device, engine, client) AS last
  FROM waits
), merged AS (
  -- Waits that overlap are one. It ends where those before the next one reach; only the firsts are sorted again.
  SELECT device, engine, client, b AS begin_ns,
         coalesce(lead(reach) OVER (PARTITION BY device, engine, client ORDER BY b), last) AS end_ns
  FROM marked WHERE reach IS NULL OR b > reach
)
SELECT m.*, base + begin_ns AS low, base + end_ns AS high FROM merged m JOIN lanes USING (device, engine)
"""

_WORK = """
CREATE OR REPLACE TEMP TABLE work AS
SELECT x.request, x.device, x.engine, r.client, greatest(x.begin_ns, {a}) AS begin_ns, least(x.end_ns, {b}) AS end_ns,
       base + greatest(x.begin_ns, {a}) AS low, base + least(x.end_ns, {b}) AS high
FROM executions x JOIN requests r ON r.id = x.request JOIN lanes l ON l.device = x.device AND l.engine = x.engine
WHERE x.end_ns > {a} AND x.begin_ns < {b}
"""

# A table of its own: inside a larger question DuckDB may choose to compare all with all.
_TAKEN = """
CREATE OR REPLACE TEMP TABLE taken AS
SELECT w.device, w.engine, w.client AS victim, x.client AS culprit, w.begin_ns,
       least(x.end_ns, w.end_ns) - greatest(x.begin_ns, w.begin_ns) AS ns
FROM busy_waits w JOIN work x ON x.low < w.high AND w.low < x.high WHERE x.client <> w.client
"""


def findings(model: KernelModel, *, begin: int | None = None, end: int | None = None) -> list[Finding]:
    """Ask all rules about a window and return their findings: those of urgent rules, then the costliest first."""
    a = model.window[0] if begin is None else begin
    b = model.window[1] if end is None else end
    # Temporary tables live in a connection: all questions go through one cursor, which has a window of its own.
    cursor = model.connection.cursor()
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE trace_window AS SELECT {a}::BIGINT AS begin_ns, {b}::BIGINT AS end_ns"
    )
    for sql in (_LANES, _BUSY_WAITS, _WORK, _TAKEN):
        cursor.execute(sql.format(a=a, b=b))
    findings_ = []
    for identity, entry in RULES.items():
        cursor.execute(
            f"SELECT culprit, victim, n, ns, begin_ns, worst_ns, what FROM ({entry.function()}) WHERE ns > 0"
        )
        for culprit, victim, n, ns, at, worst, what in cursor.fetchall():
            share = int(ns) / max(b - a, 1)
            if share >= LEAST_SHARE:
                findings_.append(
                    Finding(
                        identity, entry.title, culprit, victim, what, n, int(ns), share, at, worst, entry.why, entry.fix
                    )
                )
    cursor.close()
    urgent = {identity for identity, entry in RULES.items() if entry.urgent}
    return sorted(findings_, key=lambda f: (f.rule not in urgent, -f.cost_ns, f.rule, f.culprit, f.victim))
