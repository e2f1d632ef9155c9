"""`drawtap histogram`: how often and how long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.commands.sql import rows
from drawtap.formats import selection
from drawtap.view.result import Rows

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_ORDERS = {"calls": "calls", "time": "total_ns", "mean": "mean_ns", "longest": "longest_ns"}


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
    calls: Annotated[str | None, Opt("10-20,30,5- for calls, #3 or #2-4 for frames", metavar="RANGE")] = None,
    *,
    by: Annotated[Literal["calls", "time", "mean", "longest"], Opt("What the rows are ordered by.")] = "calls",
    limit: Annotated[int, Opt("At most so many functions; 0 for all.", "-l", "N")] = 40,
) -> Rows:
    """Print how often and how long each function was called.

    Times are those that the program waited inside the function; what the GPU does later is not in them.
    """
    where = selection(calls).where()
    order = _ORDERS[by]
    tail = f" LIMIT {int(limit)}" if limit else ""
    counted = rows(
        trace,
        "SELECT name, count(*) AS calls, sum(duration)::BIGINT AS total_ns, avg(duration) AS mean_ns,"
        f" max(duration) AS longest_ns FROM calls WHERE {where} GROUP BY name ORDER BY {order} DESC NULLS LAST, name{tail}",
    )
    found = list(counted.rows)
    column = counted.columns.index(order)
    top = max((float(row[column] or 0) for row in found), default=0) or 1  # type: ignore[arg-type]
    kinds = {"calls": "count", "total_ns": "ns", "mean_ns": "ns", "longest_ns": "ns", "share": "bar"}
    return Rows(
        ("name", "calls", "share", "total_ns", "mean_ns", "longest_ns"),
        [(row[0], row[1], float(row[column] or 0) / top, *row[2:]) for row in found],  # type: ignore[arg-type]
        kinds,
    )
