"""`drawtap trigger`: start and stop the recording of a running program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.output.result import Rows

if TYPE_CHECKING:
    from drawtap.capture.control import Program

_COLUMNS = ("pid", "program", "state", "next", "frames", "frames_left", "frames_dropped", "calls", "bytes", "trace")


@command(
    section="record",
    examples=(
        "drawtap record --paused -o game.dtap -- ./game &      # draws, and is not recorded yet",
        "drawtap trigger                                       # what could be triggered, with process numbers",
        "drawtap trigger 4711 frames 3                         # record the next three frames",
        "drawtap trigger 4711 start && sleep 2 && drawtap trigger 4711 stop",
        "drawtap trigger game save --before 5s --after 2s -o hitch.dtap   # of a flight recorder",
    ),
)
def trigger(
    program: Annotated[str | None, Opt("a process number, or a name with * and ?", metavar="PROGRAM")] = None,
    action: Annotated[
        Literal["status", "start", "stop", "frames", "save"],
        Opt("start; stop; frames N: record the next N; save: write what a flight recorder has; or status"),
    ] = "status",
    count: Annotated[int | None, Opt("with frames: how many", metavar="N")] = None,
    *,
    output: Annotated[Path | None, Opt("With save: where to.", "-o", "FILE")] = None,
    before: Annotated[str | None, Opt("With save: this time before now.", metavar="5s")] = None,
    after: Annotated[str | None, Opt("With save: this time after now, too.", metavar="2s")] = None,
) -> Rows:
    """Start, stop or save the recording of a running program.

    The program must have been started by drawtap record; with --paused it waits for a start. A request takes effect at
    the next frame end (in a program without frames: at its next wait for the GPU), so a recording has whole frames. You
    can stop and start again; all goes into one file. Calls in front of the first frame restore the program's objects
    and state. Without an action: what is recorded now. With save, a flight recorder (drawtap record --ring) writes its
    window to a file, which is there when this command ends.
    """
    from drawtap.capture import control

    if (action == "frames") != (count is not None):
        raise UsageError(
            "frames needs a number" if action == "frames" else f"{action} takes no number",
            hint="drawtap trigger PROGRAM frames N",
        )
    if action != "save" and (output or before or after):
        raise UsageError(
            f"{action} takes no file and no times", hint="drawtap trigger PROGRAM save --before 5s -o FILE"
        )
    if action == "save":
        return _save(program, output, before, after)
    if count is not None and not 1 <= count <= 1_000_000_000:
        raise UsageError(f"{count} frames cannot be recorded", hint="1 or more")
    if program is None:
        return _rows(control.programs())
    pid = control.number_of(program)
    if action == "status":
        return _rows([control.find(pid)])
    return _rows([control.trigger(pid, f"frames {count}" if action == "frames" else action)])


def _save(program: str | None, output: Path | None, before: str | None, after: str | None) -> Rows:
    from drawtap.capture import control, flight
    from drawtap.output.text import duration

    if program is None:
        raise UsageError("save needs a program", hint="drawtap trigger lists them")
    if output is not None and output.exists():
        raise UsageError(f"{output} exists", hint="name another file with -o")
    if output is not None and not output.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {output.absolute().parent}")
    times = {
        name: flight.seconds_of(f"--{name}", text) * 1_000_000
        for name, text in (("before", before), ("after", after))
        if text is not None
    }
    saved = control.save(control.number_of(program), None if output is None else output.absolute(), times)
    columns = ("file", "frame", "frames", "first_frame", "calls", "kept", "earlier", "bytes")
    missing = saved.get("missing_ns")
    lacks = isinstance(missing, int) and missing > 0
    note = f"the first {duration(float(str(missing)))} of the requested time had left the recorder" if lacks else None
    kinds = {"bytes": "bytes", "calls": "count"}
    return Rows(columns, [tuple(saved.get(name) for name in columns)], kinds, note=note)


def _rows(programs: list[Program]) -> Rows:
    return Rows(
        _COLUMNS,
        [
            (
                p.pid,
                Path(p.program).name,
                p.state,
                p.state if p.state == "stopped" else "recording" if p.wanted else "paused",
                p.frames,
                p.frames_left,
                p.frames_dropped,
                p.calls,
                p.bytes,
                p.trace or None,
            )
            for p in programs
        ],
        {"bytes": "bytes", "calls": "count", "frames": "count"},
        note=None if programs else "no program is recorded now",
    )
