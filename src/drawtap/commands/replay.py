"""`drawtap replay`: run a recording again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.view.result import Verdict, Verdicts

if TYPE_CHECKING:
    from drawtap.replay.player import Finding, Replay

_WRONG = frozenset({"read-back", "frame"})


@command(
    section="replay",
    examples=(
        "drawtap replay game.dtap",
        "drawtap replay game.dtap --verify",
        "drawtap replay game.dtap --on softpipe --snapshots frames/",
        "drawtap replay game.dtap --frames 100:200 --loop 10 --benchmark",
    ),
)
def replay(
    recording: Annotated[Path, Opt("the recording", metavar="TRACE")],
    *,
    on: Annotated[str, Opt("The engine; drawtap engines lists them.", metavar="ENGINE")] = "system",
    frames: Annotated[
        str | None, Opt("A:B measures and saves the frames from A to before B, and stops there.", metavar="A:B")
    ] = None,
    loop: Annotated[int, Opt("Play the frames so many times; they are decoded once.", metavar="N")] = 1,
    speed: Annotated[Literal["max", "as-recorded"], Opt("How fast.")] = "max",
    snapshots: Annotated[Path | None, Opt("Save every frame as a PNG in this folder.", metavar="FOLDER")] = None,
    verify: Annotated[bool, Opt("Compare read-backs, GL errors and frame hashes with the recording.")] = False,
    benchmark: Annotated[bool, Opt("Show how long the frames took.")] = False,
    single_thread: Annotated[bool, Opt("Play the calls of all threads on one thread.")] = False,
    preload: Annotated[bool, Opt("Decode the whole recording before the first call.")] = False,
    frame_end: Annotated[
        str | None, Opt("What ends a frame: auto, or function names separated by commas.", metavar="RULE")
    ] = None,
) -> Verdicts:
    """Run a recording again.

    The calls are made again, in the recorded order and on as many threads, on pbuffers of the recorded sizes: no
    display is needed. Objects get the names that the driver here gives them. What cannot be played is left out and
    listed with its call, and so are GL errors that the original did not have. With --verify the exit code is 1 where
    something differs from the recording; record --hash-frames makes recordings whose every frame can be compared.
    """
    from drawtap.replay import engine, player

    if loop < 1:
        raise UsageError(f"--loop {loop} makes no sense", hint="--loop 1 plays once")
    arguments = [*_switch("--verify", verify), *_switch("--benchmark", benchmark), *_switch("--preload", preload)]
    arguments += [*_switch("--single-thread", single_thread), *_switch("--as-recorded", speed == "as-recorded")]
    arguments += ["--loop", str(loop)] if loop > 1 else []
    arguments += ["--frames", frames] if frames else []
    arguments += ["--frame-end", frame_end] if frame_end else []
    if snapshots is not None:
        snapshots.mkdir(parents=True, exist_ok=True)
        arguments += ["--snapshots", f"{snapshots}/"]
    if not recording.exists():
        from drawtap.errors import InputError

        raise InputError(f"there is no file {recording}")
    played = player.play(recording, arguments, environment=engine.environment_of(on), progress=_progress())
    return Verdicts([*_summary(played), *(_verdict(f, verify=verify) for f in played.findings)])


def _switch(name: str, wanted: bool) -> list[str]:
    return [name] if wanted else []


def _progress() -> Callable[[int, int], None] | None:
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        sys.stderr.write(f"\r{done:,} of {total:,} calls\033[K" if done < total else "\r\033[K")
        sys.stderr.flush()

    return show


def _summary(played: Replay) -> list[Verdict]:
    from drawtap.view.text import duration, number, percentile

    seconds = played.measured_seconds
    pace = f", {number(round(played.measured_calls / seconds))} calls/s" if seconds > 0 else ""
    done = (
        f"{number(played.calls)} calls, {number(played.frames)} frames in {duration(int(played.seconds * 1e9))}{pace}"
    )
    found = [Verdict("ok", "played", done), Verdict("ok", "on", played.engine)]
    if played.images:
        found.append(Verdict("ok", "images", f"{len(played.images)}, the first in {played.images[0]}"))
    if played.frame_times_ns:
        times = sorted(played.frame_times_ns)
        parts = [
            ("median", percentile([float(t) for t in times], 0.5)),
            ("99 %", percentile([float(t) for t in times], 0.99)),
        ]
        text = ", ".join(f"{label} {duration(ns)}" for label, ns in parts)
        found.append(Verdict("ok", "frames", f"{len(times)}: {text}, longest {duration(times[-1])}"))
    if played.compared:
        equal = played.compared - played.different
        severity = "error" if played.different else "ok"
        found.append(Verdict(severity, "compared", f"{equal} of {played.compared} images and read-backs are equal"))
    return found


def _verdict(finding: Finding, *, verify: bool) -> Verdict:
    where = f"call {finding.call} {finding.function}".strip() if finding.call or finding.function else "whole"
    often = f" ({finding.count} times)" if finding.count > 1 else ""
    severity = "note" if finding.what in ("config", "context") else "warning"
    if verify and finding.what in _WRONG:
        severity = "error"
    return Verdict(severity, finding.what, f"{where}: {finding.text}{often}")
