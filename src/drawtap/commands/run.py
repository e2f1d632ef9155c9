"""`drawtap run`: run a program with modules of hooks in it."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.output.result import ExitStatus, Rows, Text, Verdict


@command(
    section="live",
    examples=(
        "drawtap run -- glmark2                                          # under the manager, nothing recorded",
        "drawtap run --fps 30 -- glmark2                                 # a limit, with and without a manager",
        "drawtap run --module call-printer -- es2gears_x11",
        "drawtap run -m hooks.py -m gl-errors -- ./game",
        "DRAWTAP_FPS=30 drawtap run -m frame-limiter -- glmark2",
        "drawtap run -m texture-shrinker --record small.dtap -- ./game   # what the driver got",
        "drawtap run                                                     # which modules there are",
        "drawtap run --print-environment                                 # to have a whole session managed",
    ),
    json=False,
)
def run(
    *program: Annotated[str, Opt("the program and its arguments", metavar="PROGRAM")],
    module: Annotated[
        tuple[str, ...], Opt("A script, a module's folder, a library, or a name from the list; repeat.", "-m", "MODULE")
    ] = (),
    record: Annotated[Path | None, Opt("Record what the driver got to this file.", metavar="FILE")] = None,
    metrics: Annotated[
        Path | None, Opt("Where metrics and marks of the hooks go, as lines of JSON, without --record.", metavar="FILE")
    ] = None,
    force: Annotated[bool, Opt("Replace the file of --record if it exists.")] = False,
    managed: Annotated[
        bool, Opt("Have the tap in the program too, for the manager.  [default: without a module]")
    ] = False,
    fps: Annotated[
        str | None,
        Opt("Frames a second that are allowed, also where a manager allows more.", metavar="FPS[,late]"),
    ] = None,
    print_environment: Annotated[
        bool, Opt("Print what a session's environment needs so that all of its programs can be managed.")
    ] = False,
) -> ExitStatus | Rows | Text:
    """Run a program under the manager, or with hooks of your own.

    The modules' hooks enclose each other in the order given, the driver innermost. Scripts are compiled at first use.
    Without a module the program runs as always, with the tap in it, and nothing is recorded. A `drawtap manager`,
    started before or after, sees its frames, can limit them and record them. The program's exit code is passed on;
    drawtap reports a program without graphics calls. Without a program, the modules that come with drawtap are
    listed.
    """
    if print_environment:
        return _environment()
    from drawtap.instrument import user_module

    if not program:
        if module:
            raise UsageError("there is no program to run", hint="drawtap run --module M -- PROGRAM ARGUMENTS")
        own = [(m.name, m.about.partition("\n")[0].rstrip("."), str(m.script)) for m in user_module.own_modules()]
        return Rows(("module", "about", "script"), own)
    from drawtap.capture import doctor, launch
    from drawtap.commands.doctor import verdicts_of
    from drawtap.commands.record import outcome, report_verdicts
    from drawtap.output.progress import say_compiling
    from drawtap.parts import TAP, TAP_VULKAN, part, whole_tap

    executable = launch.find_program(program[0])
    refused = _say_if_refused(executable)
    libraries, projects = user_module.libraries(module, say_compiling) if module else ([], [])
    if metrics is None and record is None and any(_emits(p.script) for p in projects):
        print(
            "drawtap: the module gives out metrics or marks: --metrics FILE or --record FILE keeps them",
            file=sys.stderr,
        )
    if metrics is not None:
        _check_writable(metrics)
    settings = {} if metrics is None else {"DRAWTAP_METRICS": str(metrics.absolute())}
    if fps is not None:
        settings["DRAWTAP_LIMIT"] = _checked_limit(fps)
    if record is not None:
        recording = launch.record(program, record, force=force, modules=libraries, settings=settings)
        calls, whole, verdicts = outcome(recording, record)
        if not calls or not whole or recording.messages:
            report_verdicts(verdicts)
        return ExitStatus(recording.code or (0 if whole else 1))
    if managed or fps is not None or not module:
        libraries = [*libraries, part(whole_tap())]
        settings["DRAWTAP_MANAGED"] = "1"
    whole = any(library.name in (TAP, TAP_VULKAN) for library in libraries)
    done = launch.run_with(program, libraries, settings)
    if not done.called and not refused:
        missing = doctor.missing_calls(done.program, done.libraries, done.loaded, counted=False, whole=whole)
        report_verdicts(verdicts_of(missing))
    return ExitStatus(done.code)


def _environment() -> Text:
    from drawtap.parts import part, preloadable, whole_tap

    values = {"LD_PRELOAD": str(preloadable(part(whole_tap()))), "DRAWTAP_MANAGED": "1"}
    lines = "".join(f"{name}={value}\n" for name, value in values.items())
    return Text(f"# ~/.config/environment.d/90-drawtap.conf\n{lines}", values)


def _check_writable(file: Path) -> None:
    # The program opens it, and has nobody to complain to.
    folder = file.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", hint=f"mkdir -p {folder} makes it")
    if file.is_dir() or not os.access(file if file.exists() else folder, os.W_OK):
        raise UsageError(f"{file} cannot be written", hint="--metrics names another file")


def _checked_limit(text: str) -> str:
    rate, _, pacing = text.partition(",")
    try:
        good = 1 <= float(rate) <= 10000
    except ValueError:
        good = False
    if not good or pacing not in ("", "early", "late"):
        raise UsageError(f"--fps {text}: no limit", hint="a number from 1 to 10000, and perhaps ,late")
    return f"{float(rate):g}{',late' if pacing == 'late' else ''}"


def _say_if_refused(executable: Path) -> bool:
    mode = executable.stat().st_mode
    refused = bool(mode & (stat.S_ISUID | stat.S_ISGID))
    if refused:
        from drawtap.commands.record import report_verdicts

        finding = f"{executable} runs with the rights of somebody else: the loader leaves the tap out"
        verdict = Verdict("warning", "program", finding, "run it as the user it belongs to")
        report_verdicts([verdict])
    return refused


def _emits(script: Path) -> bool:
    text = script.read_text(encoding="utf-8", errors="replace")
    return "drawtap::metric(" in text or "drawtap::mark(" in text
