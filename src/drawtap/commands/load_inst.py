"""`drawtap load-inst`: readings of sensors, stored beside a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.view.result import Written

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    name="load-inst",
    section="ask",
    examples=(
        "drawtap load-inst game.dtap readings.csv",
        "drawtap load-inst game.dtap game_inst/instrumentation.log",
        "drawtap load-inst game.dtap gpu.parquet --name gpu    # then: drawtap sql game.dtap 'SELECT * FROM gpu'",
    ),
)
def load_inst(
    trace: Trace,
    file: Annotated[Path, Opt("csv, parquet, json, or the instrumentation.log of a player", metavar="READINGS")],
    *,
    name: Annotated[str, Opt("The table that SQL knows them by.", "-n", "NAME")] = "sensors",
) -> Written:
    """Store readings of sensors beside a recording.

    A reading belongs to a call (a column seq) or to a frame (a column frame); every other column is a sensor. They
    become a table that SQL joins with calls, and columns of drawtap calc-frame-stats and calc-stats: summed up over a
    frame, or averaged where the name begins with average_ or mean_. The table sensors is event.sensors of FROM trace,
    too.
    """
    from drawtap.trace import sensors

    stored, rows = sensors.load(trace.path, file, name=name)
    return Written(str(stored), stored.stat().st_size, f"{rows} readings, table {name}")
