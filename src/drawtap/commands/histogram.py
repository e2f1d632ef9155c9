"""`drawtap histogram`: how often and how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.commands.sql import rows
from drawtap.output.result import Rows
from drawtap.tables.recording import HistogramRow
from drawtap.trace.ranges import RANGE_HELP, selection
from drawtap.units import as_float

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_COLUMNS = ("name", "calls", "total_ns", "mean_ns", "max_ns", "payload_bytes")
_ORDERS = {"calls": "calls", "time": "total_ns", "mean": "mean_ns", "longest": "max_ns", "bytes": "payload_bytes"}


@command(
    section="ask",
    examples=(
        "drawtap histogram game.dtap",
        "drawtap histogram game.dtap --by time --limit 10",
        "drawtap histogram game.dtap '#100-200' --json",
    ),
)
def histogram(
    trace: Trace,
    calls: Annotated[str | None, Opt(RANGE_HELP, metavar="RANGE")] = None,
    *,
    by: Annotated[Literal["calls", "time", "mean", "longest", "bytes"], Opt("Order of the rows.")] = "calls",
    limit: Annotated[int, Opt("At most N functions; 0 for all.", "-l", "N")] = 40,
) -> Rows:
    """Print how often and how long each function was called.

    Times are those that the program waited inside the function; what the GPU does later is not in them. Bytes are
    what the calls' arrays hold.
    """
    order = _ORDERS[by]
    functions = sorted(_counted(trace, calls), key=lambda row: (-(as_float(row[order])), str(row["name"])))
    shown = functions[:limit] if limit else functions
    top = max((as_float(row[order]) for row in shown), default=0.0) or 1.0
    share = f"share of {by}"
    kinds = {
        "calls": "count",
        "total_ns": "ns",
        "mean_ns": "ns",
        "max_ns": "ns",
        "payload_bytes": "bytes",
        share: "bar",
    }
    left = len(functions) - len(shown)
    return Rows(
        ("name", "calls", share, *_COLUMNS[2:]),
        [(row["name"], row["calls"], as_float(row[order]) / top, *(row[c] for c in _COLUMNS[2:])) for row in shown],
        kinds,
        note=f"and {left} more functions (--limit 0 shows all)" if left else None,
    )


def _counted(trace: Trace, calls: str | None) -> Sequence[Mapping[str, object]]:
    if not calls:
        return trace.table(HistogramRow)  # from the chunks' own counts: no call is decoded
    query = (
        "SELECT name, count(*) AS calls, sum(duration)::BIGINT AS total_ns, avg(duration) AS mean_ns, max(duration)"
        " AS max_ns, sum(payload_bytes)::BIGINT AS payload_bytes"
        f" FROM calls WHERE {selection(calls, of=trace).where()} GROUP BY name"
    )
    return list(rows(trace, query).objects())
