"""`drawtap sensors`: readings of sensors, stored beside a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError, check_target
from drawtap.output.result import Written

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace


@command(
    section="ask",
    examples=(
        "drawtap sensors game.dtap readings.csv",
        "drawtap sensors game.dtap game_inst/instrumentation.log",
        "drawtap sensors game.dtap gpu.parquet --name gpu    # then: drawtap sql game.dtap 'SELECT * FROM gpu'",
        "drawtap sensors game.dtap --save readings.csv",
    ),
)
def sensors(
    trace: Trace,
    readings: Annotated[
        Path | None, Opt("csv, parquet, json, or the instrumentation.log of a player", metavar="READINGS")
    ] = None,
    *,
    save: Annotated[
        Path | None, Opt("Write the stored readings to this file instead: .csv, .parquet or .json.", metavar="READINGS")
    ] = None,
    name: Annotated[str, Opt("The table that SQL knows them by.", "-n", "NAME")] = "sensors",
    force: Annotated[bool, Opt("With --save: replace the file if it exists.")] = False,
) -> Written:
    """Store readings of sensors beside a recording.

    A reading belongs to a call (a column seq) or to a frame (a column frame); every other column is a sensor. Readings
    become a table that SQL joins with calls, and columns of drawtap stats: summed up over a frame, or averaged where
    the name begins with average_ or mean_. The table sensors is event.sensors of FROM trace, too. With --save the
    stored readings become a file for other tools.
    """
    from drawtap.trace import sensors as stored

    if (readings is None) == (save is None):
        raise UsageError(
            "which readings?" if save is None else "readings are stored or written, not both",
            hint="drawtap sensors FILE READINGS stores them, --save READINGS writes them",
        )
    if save is not None:
        check_target(save, force=force, replaced=True)
        rows = stored.save(trace.path, save, name=name)
        return Written(str(save), save.stat().st_size, f"{rows} readings")
    assert readings is not None
    kept, rows = stored.load(trace.path, readings, name=name)
    return Written(str(kept), kept.stat().st_size, f"{rows} readings, table {name}")
