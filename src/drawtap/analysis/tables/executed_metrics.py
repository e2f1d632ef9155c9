"""`executed_metrics`: what Vulkan ran, with what was measured of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawtap.tables.recording import declared
from drawtap.trace.computed import TABLES, ComputedTable
from drawtap.trace.core import Column
from drawtap.trace.snapshot import Snapshot

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_COLUMNS = declared.by_name["executed_metrics"].columns
# A draw's own values go by its number; what its recording cost the processor goes by the call.
_QUESTION = """
SELECT e.number, e.seq, e.submit_seq, e.frame, e.name AS function, e.kind, e.pass_number, e.pipeline, e.vertices,
       e.instances, m.per, m.name AS metric, m.value, m.unit, m.note, m.run
FROM executed e JOIN metrics m
     ON (m.per = 'draw' AND m.number = e.number) OR (m.per = 'call' AND m.seq = e.seq AND m.name NOT LIKE 'vk%')
ORDER BY e.number, m.per, m.name, m.run
"""


class _Rows:
    def __init__(self, trace: Trace) -> None:
        self._snapshot = Snapshot(trace, [_QUESTION])
        columns = ", ".join(f"{column.name} {column.type}" for column in _COLUMNS)
        self._snapshot.execute(f"CREATE TABLE executed_metrics ({columns})")
        self._snapshot.prepare(_QUESTION)
        self._snapshot.execute(f"INSERT INTO executed_metrics {_QUESTION}")

    def stream(self) -> object:
        """Return all rows."""
        return self._snapshot.stream("FROM executed_metrics")

    def close(self) -> None:
        """Let go of them."""
        self._snapshot.close()


TABLES.register("executed_metrics")(ComputedTable(tuple(Column(c.name, c.type) for c in _COLUMNS), _Rows))
