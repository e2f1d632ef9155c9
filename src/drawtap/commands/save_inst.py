"""`drawtap save-inst`: stored readings as a file for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import check_target
from drawtap.view.result import Written

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(name="save-inst", section="share", examples=("drawtap save-inst game.dtap readings.csv",))
def save_inst(
    trace: Trace,
    file: Annotated[Path, Opt("where to: .csv, .parquet or .json", metavar="READINGS")],
    *,
    name: Annotated[str, Opt("The table.", "-n", "NAME")] = "sensors",
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
) -> Written:
    """Write the readings that drawtap load-inst has stored beside a recording."""
    from drawtap.trace import sensors

    check_target(file, force=force, replaced=True)
    rows = sensors.save(trace.path, file, name=name)
    return Written(str(file), file.stat().st_size, f"{rows} readings")
