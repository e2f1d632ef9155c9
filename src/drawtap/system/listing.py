"""Events of a kernel trace for people to read: who did it when, and the fields as text."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from drawtap.system.driver import Source
from drawtap.trace.sql_text import quote, quote_text

COLUMNS = ("t", "event", "cpu", "tid", "comm", "text")


def rows(
    source: Source,
    connection: duckdb.DuckDBPyConnection,
    *,
    names: Sequence[str] | None = None,
    begin: int | None = None,
    end: int | None = None,
    most: int,
) -> list[tuple[object, ...]]:
    """Return at most `most` events as `COLUMNS`: all, or those called `names`; from `begin` on and before `end`.

    `text` is `field=value` for the fields that an event has.
    """
    connection.register("stream", source.events(names, None, begin=begin, end=end))
    try:
        present = [str(name) for (name,) in connection.execute("SELECT column_name FROM (DESCRIBE stream)").fetchall()]
        own = [n for n in present if n not in {"pid", *COLUMNS}]
        said = ", ".join(f"{quote_text(n.removeprefix('event.') + '=')} || {quote(n)}::VARCHAR" for n in own)
        one = quote_text(names[0]) if names and len(names) == 1 else "NULL"
        listed = ", ".join(
            c if c in present else f"{one} AS event" if c == "event" else f"NULL AS {c}" for c in COLUMNS[:-1]
        )
        text = f"concat_ws(' ', {said})" if said else "''"
        return connection.execute(f"SELECT {listed}, {text} AS text FROM stream LIMIT {most}").fetchall()
    finally:
        connection.unregister("stream")
