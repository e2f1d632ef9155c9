"""Numbers by frame, draw or call, for bars and for columns of the list: times, counts, metrics, readings of sensors."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from drawtap.errors import UsageError
from drawtap.trace import sensors
from drawtap.trace.sql_text import quote, quote_text

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

MOST_VALUES = 1_000_000
_FRAMES = {"duration": ("frame time", "ns"), "draws": ("draws", "count"), "calls": ("calls", "count"),
           "upload_bytes": ("uploaded", "bytes")}  # fmt: skip
_NUMBERS = ("DOUBLE", "FLOAT", "DECIMAL", "HUGEINT", "BIGINT", "INTEGER", "UBIGINT", "UINTEGER", "SMALLINT", "TINYINT")


def is_number(kind: str) -> bool:
    """Tell whether a column of this DuckDB type holds numbers."""
    return kind.partition("(")[0] in _NUMBERS


@dataclass(frozen=True, slots=True)
class Series:
    """A series: its key in addresses, a name for people, what it is per (frame, draw, call), its unit, and its SQL.

    The SQL has the columns k (number of the frame, or of the call) and v.
    """

    key: str
    name: str
    per: str
    unit: str
    sql: str


class AllSeries:
    """The series of a recording."""

    def __init__(self, trace: Trace, lent: Callable[[], contextlib.AbstractContextManager[Trace]]) -> None:
        self._trace = trace
        self._lent = lent

    def listing(self) -> list[dict[str, str]]:
        """Return what there is; metrics that were measured meanwhile too."""
        return [{"key": s.key, "name": s.name, "per": s.per, "unit": s.unit} for s in self._all()]

    def values(self, key: str) -> tuple[dict[str, object], bytes]:
        """Return a head and the values: numbers of frames or calls (u32), blanks to a multiple of 8, doubles."""
        chosen = next((series for series in self._all() if series.key == key), None)
        if chosen is None:
            raise UsageError(f"there is no series {key[:80]!r}", hint="drawtap profile measures more")
        with self._lent() as trace:
            columns = trace.sql(f"SELECT * FROM ({chosen.sql}) ORDER BY k LIMIT {MOST_VALUES + 1}").numpy()
        more = len(columns["k"]) > MOST_VALUES
        keys = np.ascontiguousarray(columns["k"][:MOST_VALUES], "<u4")
        values = np.ascontiguousarray(np.ma.filled(columns["v"][:MOST_VALUES].astype(float), np.nan), "<f8")
        raw = keys.tobytes()
        raw += b"\0" * (-len(raw) % 8)
        head = {"key": key, "name": chosen.name, "per": chosen.per, "unit": chosen.unit, "n": len(keys), "more": more}
        return head, raw + values.tobytes()

    def of_program(self, program: int, context: int) -> dict[str, object]:
        """Return what draws with a program cost in the whole run: draws, calls' time, sums of what was measured.

        Draws count in all contexts of the share group of `context`. Each sum has its share of the sum of all draws.
        """
        group = f"(SELECT share_group FROM contexts WHERE context = {context})"
        mine = f"program = {program} AND context IN (SELECT context FROM contexts WHERE share_group = {group})"
        with self._lent() as trace:
            [(draws, ns, all_ns)] = trace.sql(
                f"SELECT count(*) FILTER ({mine}), sum(c.duration) FILTER ({mine}), sum(c.duration) "
                "FROM (SELECT seq, program, context FROM draws WHERE kind = 'draw') JOIN "
                "(SELECT seq, duration FROM calls) c USING (seq)"
            ).fetchall()
            rows = trace.sql(
                f"SELECT name, any_value(unit), sum(value) FILTER ({mine}), sum(value) FROM "
                "(SELECT seq, name, unit, value FROM metrics WHERE per = 'draw' AND unit IN ('ns', 'count', 'pixels') "
                "AND name NOT LIKE '%/start' QUALIFY run IS NOT DISTINCT FROM max(run) OVER ()) "
                "JOIN (SELECT seq, program, context FROM draws WHERE kind = 'draw') USING (seq) "
                "GROUP BY name ORDER BY name"
            ).fetchall()
        sums = [("time in the driver", "ns", ns, all_ns), *rows]
        return {
            "draws": draws,
            "sums": [
                (name, unit, value, value / of if value is not None and of else None) for name, unit, value, of in sums
            ],
            "measured": bool(rows),
            "command": f"drawtap profile {shlex.quote(self._trace.path.name)} --per draw -m cpu:time/process --isolate",
        }

    def _all(self) -> Iterator[Series]:
        for column, (name, unit) in _FRAMES.items():
            yield Series(
                f"frame:{column}", name, "frame", unit, f"SELECT frame AS k, {column}::DOUBLE AS v FROM frames"
            )
        functions = self._trace.core.table_rows("functions")
        draws = sorted(str(f["name"]) for f in functions if f["calls"] and "draw" in str(f["flags"]).split(","))
        if draws:
            names = ", ".join(map(quote_text, draws))
            sql = f"SELECT seq AS k, duration::DOUBLE AS v FROM calls WHERE name IN ({names})"
            yield Series("draw:duration", "draw time in the driver", "draw", "ns", sql)
        with self._lent() as trace:
            rows = trace.sql(
                "SELECT name, per, any_value(unit) FROM metrics WHERE value IS NOT NULL AND per IN ('frame', 'draw', "
                "'call') GROUP BY name, per ORDER BY per <> 'frame', per, name"
            ).fetchall()
            readings = {table: trace.database.columns(table) for table in sensors.tables(self._trace.path)}
        for name, per, unit in rows:
            key = "number" if per == "frame" else "seq"
            sql = (
                f"SELECT {key} AS k, value AS v FROM metrics WHERE name = {quote_text(name)} AND per = '{per}' "
                f"AND value IS NOT NULL QUALIFY run IS NOT DISTINCT FROM max(run) OVER ()"
            )
            yield Series(f"metric:{per}:{name}", f"{name} per {per}", per, str(unit or ""), sql)
        for table, columns in readings.items():
            key = next((c.name for c in columns if c.name in ("seq", "frame")), "seq")
            for reading in columns:
                if reading.name != key and is_number(reading.type):
                    sql = f"SELECT {key} AS k, {quote(reading.name)}::DOUBLE AS v FROM {quote(table)}"
                    per = "call" if key == "seq" else "frame"
                    yield Series(f"sensor:{table}:{reading.name}", f"{table}: {reading.name}", per, "", sql)
