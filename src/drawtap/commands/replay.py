"""`drawtap replay`: run a recording again."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.errors import InputError, UsageError, no_file
from drawtap.output.result import Rows, Verdict, Verdicts
from drawtap.trace.ranges import ENDLESS, FRAMES_HELP, frame_range

if TYPE_CHECKING:
    from drawtap.replay.player import Finding, Replay

_WRONG = frozenset({"read-back", "frame"})
_MOST_LOOPS = 1_000_000
_NO_ENGINE = "no driver: the recording makes no device or context that draws"
_SNAPSHOTS_HELP = "When: frames, draws or every (call), :N for each Nth, or calls:A,B; of Vulkan A@S: as S submits it."


@command(
    section="replay",
    examples=(
        "drawtap replay game.dtap",
        "drawtap replay game.dtap --verify",
        "drawtap replay game.dtap --on softpipe --snapshots frames/",
        "drawtap replay game.dtap --frames 100:200 --loop 10 --benchmark",
        "drawtap replay game.dtap --snapshots draws/ --snapshot-at draws --attachments color,depth --frames 10:11",
        "drawtap replay game.dtap --snapshots call/ --snapshot-at calls:1234 --attachments color,buffers",
        "drawtap replay --engines",
        "drawtap replay game.dtap --window --speed as-recorded",
    ),
)
def replay(
    recording: Annotated[Path | None, Opt("the recording", metavar="FILE")] = None,
    *,
    on: Annotated[str, Opt("The engine; --engines lists them.", metavar="ENGINE")] = "system",
    frames: Annotated[
        str | None, Opt(f"{FRAMES_HELP}. Measure and save these, and stop there.", metavar="RANGE")
    ] = None,
    engines: Annotated[bool, Opt("List the drivers that can play here, and why others cannot.")] = False,
    loop: Annotated[int, Opt("Play the frames N times; they are decoded once.", metavar="N")] = 1,
    speed: Annotated[Literal["max", "as-recorded"], Opt("Speed of the replay.")] = "max",
    snapshots: Annotated[Path | None, Opt("Save every frame as a PNG in this folder.", metavar="FOLDER")] = None,
    snapshot_at: Annotated[str | None, Opt(_SNAPSHOTS_HELP, metavar="WHEN")] = None,
    attachments: Annotated[str, Opt("Save these: some of color,depth,stencil,buffers.", metavar="LIST")] = "color",
    verify: Annotated[
        bool, Opt("Compare read-backs, answers to queries, GL errors and frame hashes with the recording.")
    ] = False,
    benchmark: Annotated[bool, Opt("Show how long the frames took.")] = False,
    single_thread: Annotated[bool, Opt("Play the calls of all threads on one thread.")] = False,
    window: Annotated[bool, Opt("Show the windows on $DISPLAY; closing one ends the replay.")] = False,
    config: Annotated[
        str | None,
        Opt(
            "Ask for this configuration: red=8,green=8,blue=8,alpha=8,depth=24,stencil=8,samples=4,buffer=32 (any of "
            "these), or id=0x1c.",
            metavar="LIST",
        ),
    ] = None,
    hashes: Annotated[bool, Opt("With --json: the hash of each frame's image.")] = False,
    debug: Annotated[
        bool, Opt("Tell the driver's messages (GL_KHR_debug), with the calls that they are about.")
    ] = False,
    preload: Annotated[bool, Opt("Decode the whole recording before the first call.")] = False,
    frame_end: Annotated[
        str | None, Opt("Frames end with: auto, or function names separated by commas.", metavar="RULE")
    ] = None,
) -> Verdicts | Rows:
    """Play a recording again, here or on another driver.

    The calls are made again, in the recorded order and on as many threads, on pbuffers of the recorded sizes (no
    display is needed), or in windows with --window. The nearest configuration to the recorded one, or to --config, is
    taken, and what differs is noted; drawtap edit --config puts one into a recording. Objects get the names that the
    driver here gives them. Calls that cannot be played are left out and listed; new GL errors are listed, too. With
    --verify the exit code is 1 where something differs from the recording, or nothing could be compared; record
    --hash-frames makes recordings whose every frame can be compared. --json prints the figures of the replay: seconds,
    calls, what was compared, findings, and the ns of each frame with --benchmark.
    """
    from drawtap.replay import engine, player

    if engines:
        return _engines()
    if recording is None:
        raise UsageError("which recording?", hint="drawtap replay FILE; --engines lists what it can be played on")
    _check(snapshots, snapshot_at, attachments, config)
    if not 1 <= loop <= _MOST_LOOPS:
        raise UsageError(f"--loop {loop} makes no sense", hint=f"--loop 1 plays once; {_MOST_LOOPS} is the most")
    arguments = [*_switch("--verify", verify), *_switch("--benchmark", benchmark), *_switch("--preload", preload)]
    arguments += [*_switch("--single-thread", single_thread), *_switch("--as-recorded", speed == "as-recorded")]
    arguments += ["--loop", str(loop)] if loop > 1 else []
    arguments += [*_switch("--x11", window), *_switch("--debug", debug)]
    arguments += _switch("--hashes", hashes and snapshots is None)
    arguments += ["--config", config] if config else []
    arguments += ["--snapshot-at", snapshot_at] if snapshot_at else []
    arguments += ["--attachments", attachments] if attachments != "color" else []
    _check_calls(recording, snapshot_at)
    arguments += ["--frames", _frames(recording, frames, frame_end)] if frames else []
    arguments += ["--frame-end", frame_end] if frame_end else []
    if snapshots is not None:
        snapshots.mkdir(parents=True, exist_ok=True)
        arguments += ["--snapshots", f"{snapshots}/"]
    played = player.play(recording, arguments, environment=engine.environment_of(on))
    if not played.calls:
        lost = next((finding.text for finding in played.findings if finding.what == "damaged"), None)
        why = f": {lost}" if lost else ""
        raise InputError(f"{recording} has no call to play{why}", hint="drawtap info FILE says what is in it")
    summary = _summary(played, verify=verify)
    none = [_no_image(played, snapshot_at or "frames")] if snapshots is not None and not played.images else []
    verdicts = [*summary, *none, *(_verdict(f, verify=verify) for f in played.findings)]
    return Verdicts(verdicts, data=_numbers(played, none))


def _numbers(played: Replay, none: list[Verdict]) -> dict[str, object]:
    """Return what `--json` prints: the figures of a replay, times in ns, the hash of each frame where it was taken.

    `none` is the reason for no image, where the user wanted some and the player saved none.
    """
    numbers = asdict(played)
    numbers["seconds"], numbers["measured_seconds"] = round(played.seconds, 9), round(played.measured_seconds, 9)
    numbers["images"] = [str(path) for path in played.images]
    numbers["hashes"] = [{"frame": frame, "hash": text} for frame, text in sorted(played.hashes.items())]
    return numbers | ({"no_images": none[0].finding} if none else {})


def _engines() -> Rows:
    # Each driver answers in a process of its own.
    from drawtap.replay import engine

    answers = [engine.ask(engine.ENGINES.get(name)) for name in engine.ENGINES.names()]
    return Rows(
        ("engine", "works", "renderer", "es", "gl", "about"),
        [
            (a.engine.name, "yes" if a.works else "no", a.renderer or a.reason, a.es, a.gl, a.engine.about)
            for a in answers
        ],
    )


_CONFIG = frozenset({"red", "green", "blue", "alpha", "depth", "stencil", "samples", "buffer", "id"})


def check_config(config: str) -> None:
    """Refuse attributes of a configuration that the player would not understand."""
    for part in config.split(","):
        match = re.fullmatch(r"(\w+)=(0x[0-9a-fA-F]+|\d+)", part)
        if match is None or match[1] not in _CONFIG:
            raise UsageError(f"{part!r} is no attribute", hint="red=8,depth=24,samples=4 or id=0x1c")


def _check(snapshots: Path | None, snapshot_at: str | None, attachments: str, config: str | None) -> None:
    """Refuse words that the player would not understand."""
    for word in attachments.split(","):
        if word not in ("color", "depth", "stencil", "buffers"):
            raise UsageError(f"--attachments {word!r} is none", hint="some of color,depth,stencil,buffers")
    when = r"(frames|draws|every)(:[1-9]\d*)?|calls:\d+(@\d+)?(,\d+(@\d+)?)*"
    if snapshot_at and not re.fullmatch(when, snapshot_at):
        raise UsageError(
            f"--snapshot-at {snapshot_at!r} makes no sense", hint="frames:10, draws, every:1000, calls:5,9"
        )
    if snapshots is None and (snapshot_at or attachments != "color"):
        raise UsageError("where do the snapshots go?", hint="--snapshots FOLDER")
    if config is not None:
        check_config(config)


def _check_calls(recording: Path, snapshot_at: str | None) -> None:
    """Refuse `calls:` with a call that the recording does not have, and a recording that is not there."""
    if not recording.exists():
        raise no_file(recording)
    if snapshot_at is None or not snapshot_at.startswith("calls:"):
        return
    from drawtap.trace.ranges import call_of
    from drawtap.trace.trace import open_trace

    with open_trace(recording) as trace:
        for number in re.findall(r"\d+", snapshot_at):
            call_of(trace, number)


_NO_IMAGE = {
    "frames": "no frame ended",
    "draws": "no draw was played",
    "every": "no framebuffer was there at the calls asked for",
    "calls": "no framebuffer was there at the calls asked for, or they were not played",
}


def _no_image(played: Replay, snapshot_at: str) -> Verdict:
    """Say why no snapshot was saved; whoever asked for some has none, which is no success."""
    read = any(finding.what == "image" for finding in played.findings)
    why = "none could be read back" if read else _NO_IMAGE[snapshot_at.partition(":")[0]]
    return Verdict("error", "images", f"none saved: {why}", "drawtap histogram FILE shows what the recording calls")


def _frames(recording: Path, text: str, frame_end: str | None) -> str:
    # As the player takes it.
    from drawtap.trace.trace import open_trace

    with open_trace(recording, frame_end=frame_end) as trace:
        wanted = frame_range(text, trace)
    assert wanted is not None
    return f"{wanted.start}:" if wanted.stop == ENDLESS else f"{wanted.start}:{wanted.stop}"


def _switch(name: str, wanted: bool) -> list[str]:
    return [name] if wanted else []


def _summary(played: Replay, *, verify: bool) -> list[Verdict]:
    from drawtap.output.text import counted, duration, number, percentile

    seconds = played.measured_seconds
    pace = f", {number(round(played.measured_calls / seconds))} calls/s" if seconds > 0 else ""
    length = duration(int(played.seconds * 1e9))
    done = f"{counted(played.calls, 'call')}, {counted(played.frames, 'frame')} in {length}{pace}"
    lines = [Verdict("ok", "played", done), Verdict("ok", "on", played.engine or _NO_ENGINE)]
    if played.images:
        lines.append(Verdict("ok", "images", f"{len(played.images)}, the first in {played.images[0]}"))
    if played.frame_times_ns:
        times = sorted(played.frame_times_ns)
        parts = [
            ("median", percentile([float(t) for t in times], 0.5)),
            ("99 %", percentile([float(t) for t in times], 0.99)),
        ]
        text = ", ".join(f"{label} {duration(ns)}" for label, ns in parts)
        lines.append(Verdict("ok", "frames", f"{len(times)}: {text}, longest {duration(times[-1])}"))
    if played.compared:
        equal = played.compared - played.different
        severity = "error" if played.different else "ok"
        lines.append(Verdict(severity, "compared", f"{equal} of {played.compared} images and read-backs are equal"))
    elif verify:
        compared = "nothing: the recording has no image and no read-back to compare; record --hash-frames stores images"
        lines.append(Verdict("error", "compared", compared))  # what was not compared is not known to be equal
    if played.uncompared:
        compared = f"{counted(played.uncompared, 'answer')} about limits, the window, times and what is ready by now"
        lines.append(Verdict("note", "not compared", compared))
    if played.unseen:
        compared = f"{number(played.unseen)} images and read-backs of frames whose draws were not recorded"
        lines.append(Verdict("note", "not compared", compared))
    return lines


def _verdict(finding: Finding, *, verify: bool) -> Verdict:
    where = finding.function  # without a call it is of all calls of the function
    if finding.call:
        where = f"call {finding.call} {finding.function}".strip()
    where = f"{where}: " if where else ""
    often = f" ({finding.count} times)" if finding.count > 1 else ""
    severity = "note" if finding.what in ("config", "context") else "warning"
    if verify and finding.what in _WRONG:
        severity = "error"
    return Verdict(severity, finding.what, f"{where}{finding.text}{often}")
