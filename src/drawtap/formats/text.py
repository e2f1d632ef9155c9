"""Write calls as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.errors import UsageError
from drawtap.formats import export_format
from drawtap.trace import measured, sensors
from drawtap.trace.ranges import Selection
from drawtap.trace.sql_text import quote, quote_text

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@export_format("text", ".txt")
def write_text(trace: Trace, selection: Selection, path: Path) -> None:
    """One call a line, as drawtap list prints it: the call with its arguments and result."""
    with path.open("w", encoding="utf-8") as file:
        if selection == Selection():
            file.flush()
            trace.write_text(file.fileno(), flags=1)
            return
        for seq, call in trace.sql(f'SELECT seq, "call" FROM calls WHERE {selection.where()} ORDER BY seq'):
            file.write(f"{seq} {call}\n")


def write_text_with_readings(trace: Trace, selection: Selection, path: Path) -> None:
    """Write one call a line, and behind it in brackets what drawtap sensors stored and drawtap profile measured of it.

    Readings of a frame stand beside its first call, and say so. If several runs measured a metric, the last counts.
    Raises UsageError where there are no readings.
    """
    readings = " UNION ALL ".join([*_stored(trace), *_measured(trace)])
    if not readings:
        raise UsageError(
            f"{trace.path.name} has no readings to stand beside its calls",
            hint=f"drawtap sensors {trace.path} READINGS, or drawtap profile {trace.path} --per call",
        )
    question = f"""
        WITH readings AS ({readings}), beside AS (
            SELECT r.seq, string_agg(r.what || ' = ' || r.value, ', ' ORDER BY r.what) AS text
            FROM readings r GROUP BY r.seq
        )
        SELECT c.seq, c."call", b.text FROM (SELECT seq, "call" FROM calls WHERE {selection.where()}) c
        LEFT JOIN beside b ON b.seq = c.seq ORDER BY c.seq
    """
    with path.open("w", encoding="utf-8") as file:
        for seq, call, text in trace.sql(question):
            file.write(f"{seq} {call}\n" if text is None else f"{seq} {call}  [{text}]\n")


def _stored(trace: Trace) -> Iterator[str]:
    stored = sensors.tables(trace.path)
    for name, path in stored.items():
        columns, _ = sensors.rows(path)
        of_calls = "seq" in columns
        source = f'"{name}" s' if of_calls else f'"{name}" s JOIN frames f ON f.frame = s.frame'
        key, said = ("s.seq", "") if of_calls else ("f.first_seq", "frame: ")
        for column in (c for c in columns if c not in ("seq", "frame")):
            title = said + (f"{name}.{column}" if len(stored) > 1 else column)
            value = f"s.{quote(column)}"
            wanted = f"SELECT {key} AS seq, {quote_text(title)} AS what, {value}::VARCHAR AS value"
            yield f"{wanted} FROM {source} WHERE {value} IS NOT NULL"


def _measured(trace: Trace) -> Iterator[str]:
    if measured.files(trace.path):
        yield (
            "SELECT m.seq, CASE m.per WHEN 'frame' THEN 'frame: ' ELSE '' END || m.name AS what, "
            "CASE WHEN m.value IS NULL THEN 'at least ' ELSE '' END || coalesce(m.value, m.at_least)::VARCHAR || "
            "CASE WHEN m.unit IN ('', 'count') THEN '' ELSE ' ' || m.unit END || CASE WHEN m.value IS NULL THEN "
            "format(', unknown for {} of {} draws', m.unknown_draws, m.draws) ELSE '' END AS value FROM metrics m "
            "WHERE m.per IN ('call', 'draw', 'frame') AND coalesce(m.value, m.at_least) IS NOT NULL "
            "AND m.run IS NOT NULL "
            "QUALIFY m.run = max(m.run) OVER (PARTITION BY m.name, m.per)"
        )
