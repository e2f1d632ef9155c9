"""`drawtap trace`: record a program that runs already."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.errors import UnavailableError, UsageError
from drawtap.view.result import ExitStatus, Verdict, Verdicts

if TYPE_CHECKING:
    from drawtap.live.attach import Attached, AttachOptions

_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "": 1.0}


@command(
    section="live",
    examples=(
        "drawtap run -- ./game &                    # with drawtap manager running",
        "drawtap trace game --frames 60 -o slow.dtap",
        "drawtap trace 4711 --for 5s",
        "drawtap trace 4711                         # until Ctrl-C; the program goes on",
    ),
    json=False,
)
def trace(
    program: Annotated[str, Opt("a process number, or a name", metavar="PROGRAM")],
    *,
    output: Annotated[Path | None, Opt("Where the recording goes.  [default: NAME-PID.dtap]", "-o", "FILE")] = None,
    frames: Annotated[int | None, Opt("Record so many frames.", "-n", "COUNT")] = None,
    for_: Annotated[str | None, Opt("Record for so long: 5s, 500ms, 2min.", metavar="TIME")] = None,
    timing: Annotated[Literal["both", "entry", "none"], Opt("Time stamps of a call.")] = "both",
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
    why: Annotated[str | None, Opt("A remark for the recording.", metavar="TEXT")] = None,
    quiet: Annotated[bool, Opt("No summary at the end.", "-q")] = False,
) -> ExitStatus:
    """Record the graphics calls of a program that runs already, and leave it again.

    The program must be under the manager: started with drawtap run. Recording begins and ends with a frame; the program
    is not stopped, and not slowed before and after. As often as you like. What it made and set before is not in the
    recording, which says so. A program that was started with drawtap record has a recorder already: that one is told,
    and the calls go to its file. Where the recording ends early, as on a full disk, the exit code is 1.
    """
    from drawtap.live.attach import AttachOptions

    if frames is not None and for_ is not None:
        raise UsageError("frames or a time, not both")
    if frames is not None and not 1 <= frames <= 1_000_000:
        raise UsageError(f"{frames} frames cannot be recorded", hint="from 1 to 1000000")
    wanted = AttachOptions(frames or 0, _seconds(for_) if for_ else 0.0, timing, why or "drawtap trace")
    done = _record(program, output, wanted, force=force, quiet=quiet)
    return _report(done, quiet=quiet)


def _record(program: str, output: Path | None, wanted: AttachOptions, *, force: bool, quiet: bool) -> Attached:
    from drawtap.capture import control
    from drawtap.live.attach import record_paused, record_running
    from drawtap.live.client import Client

    def begun(name: str) -> None:
        if not quiet:
            until = "" if wanted.frames or wanted.seconds else "; Ctrl-C ends the recording, not the program"
            print(f"drawtap: recording {name}{until}", file=sys.stderr, flush=True)

    recorded = {p.pid for p in control.programs()}
    if program.isdigit() and int(program) in recorded:
        if output is not None:
            raise UsageError(
                f"{program} was started with a recorder, which has a file of its own",
                hint=f"leave -o out; drawtap trigger {program} says where it goes",
            )
        begun(program)
        return record_paused(int(program), wanted)
    with Client() as client:
        target = output or _free_name(client, program)
        return record_running(client, program, target, wanted, force=force, begun=begun)


def _free_name(client: object, program: str) -> Path:
    stem = re.sub(r"[^\w.-]", "_", program)
    names = (Path(f"{stem}{suffix}.dtap") for suffix in ("", *(f"-{n}" for n in range(2, 10000))))
    return next(path for path in names if not path.exists())


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|min)?", text)
    seconds = float(match[1]) * _UNITS[match[2] or ""] if match else 0.0
    if not 0 < seconds <= 86400:
        raise UsageError(f"--for {text}: no time", hint="5s, 500ms, 2min")
    return seconds


def _report(done: Attached, *, quiet: bool) -> ExitStatus:
    import drawtap
    from drawtap.commands.info import facts
    from drawtap.view.text import TextView, counted, duration, size

    verdicts = []
    for file in filter(Path.exists, done.files):
        with drawtap.open(file) as made:
            data = facts(made)
        calls, frames, length = (data.get(k) for k in ("calls", "frames", "duration"))
        values = [v if isinstance(v, int | float) else 0 for v in (calls, frames, length)]
        if done.messages and not values[0]:
            file.unlink()  # it has nothing, and would be in the way of the next try
            continue
        parts = [counted(values[0], "call"), counted(values[1], "frame"), duration(values[2])]
        text = ", ".join([*parts, size(file.stat().st_size)])
        verdicts.append(Verdict("ok", "recorded", f"{file.name}: {text}"))
    if not verdicts:
        raise UnavailableError(
            f"nothing was recorded of {done.name}: {'; '.join(done.messages) or 'it made no call'}",
            hint="-o names another place" if done.messages else "it looks at its next frame: does it draw?",
        )
    verdicts.append(Verdict("note", "recorded", "what the program made and set before is not in it"))
    complaints = [Verdict("warning", "recorder", message) for message in done.messages]
    if not quiet or complaints:
        TextView(sys.stderr).show(Verdicts([*([] if quiet else verdicts), *complaints]))
    return ExitStatus(1 if done.messages else 0)
