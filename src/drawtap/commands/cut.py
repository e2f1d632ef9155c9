"""`drawtap cut`: some calls of a recording, as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.commands.edit import verdicts
from drawtap.errors import check_target
from drawtap.trace.ranges import RANGE_HELP, selection
from drawtap.view.result import Verdicts

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="edit",
    examples=(
        "drawtap cut game.dtap '#0:#100' -o first.dtap",
        "drawtap cut game.dtap --name 'egl*' -o window.dtap",
    ),
)
def cut(
    trace: Trace,
    calls: Annotated[str | None, Opt(RANGE_HELP, metavar="RANGE")] = None,
    *,
    output: Annotated[Path, Opt("Where to.", "-o", "FILE")],
    name: Annotated[str | None, Opt("Only functions that match (* stands for anything).", "-n", "PATTERN")] = None,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Verdicts:
    """Write some calls of a recording to a new one, as they are.

    It adds no earlier calls that they need; drawtap extract does. Calls from the beginning on need nothing.
    """
    from drawtap.trace.edit import cut as cut_out

    check_target(output, force=force, replaced=True)
    where = selection(calls, name=name, of=trace).where()
    found = trace.sql(f"SELECT seq FROM calls WHERE {where}")
    return verdicts(cut_out(trace, (int(row[0]) for row in found), output))
