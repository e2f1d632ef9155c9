"""`drawtap demo`: record a program that comes with drawtap, ask three questions, write the report."""

from __future__ import annotations

import os
import shlex
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import drawtap
from drawtap.commands import Opt, command
from drawtap.commands.checklist import checklist
from drawtap.commands.frames import frames
from drawtap.commands.record import outcome, report_verdicts
from drawtap.commands.replay import replay
from drawtap.commands.report import report
from drawtap.commands.sql import sql
from drawtap.errors import ChildError, UnavailableError, UsageError
from drawtap.output.result import Text

_FUNCTIONS = (
    "SELECT name, count(*) AS calls, round(sum(duration) / 1e6, 2) AS ms "
    "FROM calls WHERE frame > 0 GROUP BY name ORDER BY ms DESC LIMIT 5"
)
_RULE = "same-texture-again"
_PICTURES = 12


@command(section="record", examples=("drawtap demo", "drawtap demo -o /tmp/demo --no-open"), json=False)
def demo(
    *,
    output: Annotated[Path, Opt("The folder for the recording and the report.", "-o", "FOLDER")] = Path("drawtap-demo"),
    no_open: Annotated[bool, Opt("Only print where the report is.")] = False,
) -> Text:
    """Show what drawtap does, in less than a minute.

    It needs a graphics driver and nothing else. Records an animation that comes with drawtap (no display, no
    window), answers three questions, plays the recording again and compares the pictures, and writes the report.
    The report opens in a browser where there is a desktop. The exit code is 3 where no driver can draw the
    animation.
    """
    from drawtap import demo_program
    from drawtap.capture import launch

    program = (sys.executable, str(Path(demo_program.__file__).resolve()))
    code, said = launch.output_of([*program, "0"], seconds=60)
    if code:
        reason = said.strip().splitlines()[-1].removeprefix("drawtap demo: ") if said.strip() else f"exit code {code}"
        raise UnavailableError(
            f"no graphics driver can draw the demo: {reason}",
            hint="Debian, Ubuntu: apt-get install libegl1 libgles2 libgl1-mesa-dri; drawtap doctor says more",
        )
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output} is a file", hint="-o names another folder")
    output.mkdir(parents=True, exist_ok=True)
    trace_file, page = output / "demo.dtap", output / "demo.html"
    _say("1. Record a small animation, like any program", "record", "--hash-frames", "-o", trace_file, "--", *program)
    recording = launch.record(program, trace_file, launch.RecordOptions(hash_frames=True), force=True)
    calls, whole, verdicts = outcome(recording, trace_file, None)
    report_verdicts(verdicts)
    if recording.code or not calls or not whole:
        raise ChildError("the animation was not recorded whole", hint="drawtap doctor says what works here")
    with drawtap.open(trace_file) as trace:
        _say("2. Which frames took longest?", "frames", trace_file, "--slowest", "5")
        _show(frames(trace, slowest=5))
        _say("3. Which functions cost most, after the first frame?", "sql", trace_file, _FUNCTIONS)
        _show(sql(trace, _FUNCTIONS))
        _say("4. What does the program waste?", "checklist", trace_file, "--rule", _RULE)
        _show(checklist(trace, rule=(_RULE,)))
        _say("5. Play the recording: does it draw the same pictures?", "replay", trace_file, "--verify")
        _show(replay(trace_file, verify=True))
        _say("6. Write a report: all of it on one page", "report", trace_file, "--pictures", _PICTURES, "-o", page)
        _show(report(trace, output=page, pictures=_PICTURES, force=True))
    return Text(_ending(trace_file, page, opened=not no_open and _opens(page)) + "\n")


def _ending(trace_file: Path, page: Path, *, opened: bool) -> str:
    where = page.resolve().as_uri()
    first = f"The report is open in your browser: {where}" if opened else f"Open {where} in a browser."
    return f"\n{first}\nThen: drawtap sql {trace_file}   (a prompt)\n      drawtap record -o my.dtap -- ./my-program"


def _opens(page: Path) -> bool:
    # A text browser would take the terminal.
    desktop = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(desktop and sys.stdout.isatty() and webbrowser.open(page.resolve().as_uri()))


def _say(title: str, *words: object) -> None:
    _show(Text(f"\n{title}\n$ drawtap {shlex.join(str(word) for word in words)}\n"))


def _show(result: object) -> None:
    from drawtap.output.text import TextView

    TextView().show(result)
    sys.stdout.flush()
