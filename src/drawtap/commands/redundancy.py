"""`drawtap redundancy`: what a program did for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.view.result import Rows

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="ask",
    examples=(
        "drawtap redundancy game.dtap",
        "drawtap redundancy game.dtap --by function --limit 10",
        "drawtap redundancy game.dtap --by frame --json",
        "drawtap sql game.dtap \"SELECT * FROM redundancy JOIN calls USING (seq) WHERE kind = 'unused upload'\"",
    ),
)
def redundancy(
    trace: Trace,
    *,
    by: Annotated[Literal["kind", "function", "frame"], Opt("What the rows are.")] = "kind",
    limit: Annotated[int, Opt("At most so many rows; 0 for all.", "-l", "N")] = 40,
) -> Rows:
    """Print what the program did for nothing: calls, their share, the time in the driver and the bytes they took.

    Counted are calls that set what was set already (`same value`), uploads of what was there already
    (`repeated upload`), uploads that nothing read (`unused upload`), draws, clears and copies that were overwritten
    before anything showed or read them (`unseen draw`), and state that was set anew before any call read it
    (`unread state`). The table `redundancy` has each such call; `drawtap simplify` writes the recording without them.
    """
    from drawtap.analysis.redundancy import KINDS, account

    found = account(trace, by)
    shown = [{**row, "percent": 100 * _number(row["share"])} for row in (found[:limit] if limit else found)]
    head = {"kind": "kind", "function": "name", "frame": "frame"}[by]
    columns = [head, "calls", "percent", "duration", "bytes"]
    if by == "kind":
        columns.append("they")
        shown = [{**row, "they": KINDS[str(row["kind"])]} for row in shown]
    else:
        columns.append("kind")
    left = len(found) - len(shown)
    return Rows(
        tuple(columns),
        [tuple(row[c] for c in columns) for row in shown],
        {"calls": "count", "percent": "percent", "duration": "ns", "bytes": "bytes"},
        note=f"and {left} more rows (--limit 0 shows all)" if left else _nothing(found),
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _nothing(found: list[dict[str, object]]) -> str | None:
    return None if found else "every call did something that came out"
