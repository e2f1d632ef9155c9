"""`drawtap record`: run a program and record its graphics calls."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.commands.info import facts, problems
from drawtap.errors import DrawtapError
from drawtap.view.result import ExitStatus, Verdict, Verdicts

if TYPE_CHECKING:
    from drawtap.capture.launch import Recording


@command(
    section="record",
    examples=(
        "drawtap record -o game.dtap -- ./game --level 3",
        "drawtap record -- glmark2-es2 -b texture            # writes glmark2-es2.dtap, or -2, -3 ...",
        "drawtap record -o b.dtap --timing none --force -- ./benchmark",
        "xvfb-run -a drawtap record -o gears.dtap -- glxgears   # without a display",
    ),
    json=False,
)
def record(
    *program: Annotated[str, Opt("the program and its arguments", metavar="PROGRAM")],
    output: Annotated[Path | None, Opt("Where the recording goes.  [default: PROGRAM.dtap]", "-o", "FILE")] = None,
    timing: Annotated[Literal["both", "entry", "none"], Opt("Time stamps of a call.")] = "both",
    frame_end: Annotated[
        str | None, Opt("What ends a frame: auto, or function names separated by commas.", metavar="RULE")
    ] = None,
    force: Annotated[bool, Opt("Replace the file if it exists.", "-f")] = False,
    hash_frames: Annotated[bool, Opt("Store a hash of each frame's image, for replay --verify.")] = False,
    require_calls: Annotated[bool, Opt("Exit with 3 if the program ends well but nothing was recorded.")] = False,
    quiet: Annotated[bool, Opt("No summary at the end.", "-q")] = False,
) -> ExitStatus:
    """Run a program and record its graphics calls.

    Records OpenGL, OpenGL ES, EGL, GLX and OpenVG. The program runs in this terminal as it would without drawtap. Its
    exit code is passed on: 128 + n where signal n ended it, 127 where there is no such program, 126 where it cannot be
    run. What was recorded is kept whatever happens to the program. A summary goes to standard error; where nothing was
    recorded, it says why. Each process that the program forks and that draws gets a file of its own beside FILE.
    """
    from drawtap.capture import launch

    if program:
        launch.find_program(program[0])
    target = output or _free_name(program[0] if program else "trace")
    recording = launch.record(program, target, timing=timing, frame_end=frame_end, force=force, hash_frames=hash_frames)
    calls, verdicts = _check(recording, target, frame_end)
    if not quiet or not calls:
        _report(verdicts)
    if require_calls and not calls and recording.code == 0:
        return ExitStatus(3)
    return ExitStatus(recording.code)


def _free_name(program: str) -> Path:
    # Without -o nothing is overwritten and nobody has to think of a name.
    stem = Path(program).name
    names = (Path(f"{stem}{suffix}.dtap") for suffix in _suffixes())
    return next(path for path in names if not path.exists())


def _suffixes() -> Iterator[str]:
    yield ""
    number = 2
    while True:
        yield f"-{number}"
        number += 1


def _check(recording: Recording, target: Path, frame_end: str | None) -> tuple[int, list[Verdict]]:
    from drawtap.capture import doctor

    calls = 0
    verdicts: list[Verdict] = []
    for file in recording.files:
        data, lines = _file_verdicts(file, frame_end)
        verdicts += lines
        found = _number(data, "calls")
        calls += found
        if found and not _number(data, "frames"):
            rule = data.get("frame_end")
            check = doctor.missing_frames(found, str(rule["why"]) if isinstance(rule, dict) else "auto")
            verdicts.append(Verdict(check.severity, check.subject, check.finding, check.advice))
    if not calls:
        verdicts = [v for v in verdicts if v.severity != "ok"]
        verdicts.append(
            Verdict("warning", "recorded", "no calls" + ("" if recording.files else f"; {target} was not written"))
        )
        verdicts += [
            Verdict(c.severity, c.subject, c.finding, c.advice)
            for c in doctor.missing_calls(recording.program, recording.libraries, recording.tapped)
        ]
    verdicts += [Verdict("warning", "recorder", message) for message in recording.messages]
    if recording.signal is not None:
        verdicts.append(Verdict("note", "program", f"ended by signal {recording.signal} ({_signal(recording.signal)})"))
    elif recording.code:
        verdicts.append(Verdict("note", "program", f"exit code {recording.code}"))
    return calls, verdicts


def _file_verdicts(file: Path, frame_end: str | None) -> tuple[Mapping[str, object], list[Verdict]]:
    import drawtap
    from drawtap.view.text import duration, number, size

    try:
        with drawtap.open(file, frame_end=frame_end) as trace:
            data = facts(trace)
    except DrawtapError as error:
        return {}, [Verdict("warning", "recorded", f"{file} cannot be read: {error.message}", error.hint)]
    calls, frames, length = (_number(data, name) for name in ("calls", "frames", "duration"))
    text = f"{number(calls)} calls, {number(frames)} frames, {duration(length)}, {size(file.stat().st_size)}"
    lines = [Verdict("ok", "recorded", f"{_near(file)}: {text}")]
    return data, lines + [Verdict("note", "recorded", problem) for problem in problems(data)[:5]]


def _near(file: Path) -> Path:
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def _number(data: Mapping[str, object], name: str) -> int:
    value = data.get(name)
    return int(value) if isinstance(value, int | float) else 0


def _signal(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _report(verdicts: list[Verdict]) -> None:
    from drawtap.view.text import TextView

    sys.stdout.flush()
    TextView(sys.stderr).show(Verdicts(verdicts))
