"""`findings`: what the rules of the checklist find, one row for each piece of evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawtap.analysis.checklist import Requirements, chosen
from drawtap.analysis.views import VIEWS
from drawtap.errors import DrawtapError
from drawtap.tables.recording import declared
from drawtap.trace.computed import TABLES, ComputedTable
from drawtap.trace.core import Column
from drawtap.trace.snapshot import Snapshot

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_COLUMNS = declared.by_name["findings"].columns
_DEFAULTS = {"n": "1"}  # where a rule's question does not have the column; else NULL
_FRAMES = "SELECT seq, frame FROM calls"  # rows that name a call alone get its frame


class _FindingRows:
    """The rows, in the database of the snapshot that gave them."""

    def __init__(self, trace: Trace) -> None:
        able = Requirements(trace)
        questions = {rule: rule.question for rule in chosen((), None) if able.missing(rule) is None}
        self._snapshot = Snapshot(trace, [*questions.values(), _FRAMES], VIEWS)
        columns = ", ".join(f"{column.name} {column.type}" for column in _COLUMNS)
        self._snapshot.execute(f"CREATE TABLE findings ({columns})")
        self._snapshot.prepare(_FRAMES)
        for rule, question in questions.items():
            self._add(rule.id, rule.severity, question)

    def _add(self, rule: str, severity: str, question: str) -> None:
        try:
            given = self._snapshot.columns(question)
        except DrawtapError:  # the checklist says which rules were not checked, and why
            return
        values = {
            name: f"e.{name}" if name in given else _DEFAULTS.get(name, "NULL") for name in (c.name for c in _COLUMNS)
        }
        join = ""
        if "seq" in given and "frame" not in given:
            values["frame"], join = "c.frame", "LEFT JOIN calls c ON c.seq = e.seq"
        values |= {"rule": f"'{rule}'", "severity": f"'{severity}'"}
        self._snapshot.execute(f"INSERT INTO findings SELECT {', '.join(values.values())} FROM ({question}) e {join}")

    def stream(self) -> object:
        """Return all rows."""
        return self._snapshot.stream("FROM findings")

    def close(self) -> None:
        """Let go of them."""
        self._snapshot.close()


TABLES.register("findings")(ComputedTable(tuple(Column(column.name, column.type) for column in _COLUMNS), _FindingRows))
