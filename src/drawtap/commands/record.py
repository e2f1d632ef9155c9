"""`drawtap record`: run a program and record its graphics calls."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from drawtap import units
from drawtap.commands import Opt, Options, command
from drawtap.commands.doctor import verdicts_of
from drawtap.errors import DrawtapError, UnavailableError, UsageError
from drawtap.output.recording_facts import facts, problems
from drawtap.output.result import ExitStatus, Verdict, Verdicts
from drawtap.parts import RING, part

if TYPE_CHECKING:
    from drawtap.capture.drainer import Sent
    from drawtap.capture.flight import Ring
    from drawtap.capture.launch import Recording, RecordOptions
    from drawtap.capture.stream import Streaming
    from drawtap.live.attach import Attached, AttachOptions

_WITH_PID = "--pid goes with -o, --frames, --for, --why, --timing, --force and --quiet"


@dataclass(frozen=True)
class Stream(Options):
    """Where a recording goes that goes to a receiver."""

    title = "To a receiver, over a socket"

    to: Annotated[
        str | None, Opt("Send the recording to a receiver there: tcp://HOST:PORT or unix:PATH.", metavar="ADDRESS")
    ] = None
    listen: Annotated[str | None, Opt("Send it to the receivers that connect there.", metavar="ADDRESS")] = None
    wait: Annotated[
        float | None,
        Opt("The first call waits for a receiver, 60 s if no number is given.", metavar="[SECONDS]", bare="60"),
    ] = None
    spill: Annotated[
        Path | None, Opt("Go on in this file should there be no receiver, or no longer.", metavar="FILE")
    ] = None
    token_file: Annotated[
        Path | None, Opt("First line: the word that the receiver wants. Else $DRAWTAP_TOKEN.", metavar="FILE")
    ] = None
    allow_remote: Annotated[bool, Opt("Send to other machines too; needs a token.")] = False

    @property
    def is_asked(self) -> bool:
        """Tell whether the recording goes to a receiver."""
        return bool(self.to or self.listen)

    def streaming(self, output: Path | None) -> Streaming | None:
        """Return the settings of the options; None: the recording goes to a file. Raises UsageError where it makes
        no sense."""
        from drawtap.capture import stream

        if self.to and self.listen:
            raise UsageError("--to and --listen exclude each other")
        address = self.to or self.listen
        if not address:
            options = {f.name: getattr(self, f.name) for f in fields(self)}
            given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value not in (None, False, "")]
            if given:
                raise UsageError(f"{', '.join(given)}: only with --to or --listen")
            return None
        if output:
            raise UsageError(
                "-o names a file, and the recording goes to a receiver",
                hint="--spill FILE goes on in a file should the receiver go away",
            )
        if self.wait is not None and not 0 <= self.wait <= 1e6:
            raise UsageError(f"{self.wait} is no time to wait", hint="seconds, 0 or more")
        where = stream.parse(address)
        token = stream.read_token(self.token_file)
        stream.check_reach(where, allow_remote=self.allow_remote, token=token)
        return stream.Streaming(where, bool(self.listen), self.wait, self.token_file, self.allow_remote, self.spill)


@dataclass(frozen=True)
class Flight(Options):
    """Settings of a flight recorder."""

    title = "Flight recorder"

    ring: Annotated[
        str | None,
        Opt("Keep this much in memory, compressed; write it when triggered.", metavar="10s|500M"),
    ] = None
    trigger: Annotated[
        tuple[str, ...],
        Opt("Save at error, exit, mark=NAME, frame-time=50ms:N, fps=30:N; may be repeated.", metavar="WHEN"),
    ] = ()
    on_error: Annotated[bool, Opt("The same as --trigger error.")] = False
    when: Annotated[str | None, Opt("Save when this question about the window has an answer.", metavar="SQL")] = None
    every: Annotated[float, Opt("Seconds between questions of --when.", metavar="S")] = 1.0
    before: Annotated[str | None, Opt("Write only this time before the trigger.", metavar="5s")] = None
    after: Annotated[str | None, Opt("Write this time after the trigger, too.", metavar="2s")] = None
    at_exit: Annotated[bool, Opt("The same as --trigger exit.")] = False
    no_crash: Annotated[bool, Opt("Write nothing when the program crashes.")] = False
    most_saves: Annotated[int, Opt("Limit on files, without those that drawtap trigger asks for.", metavar="N")] = 10
    save_gap: Annotated[str | None, Opt("Shortest time between two of them.  [default: 10s]", metavar="10s")] = None
    ring_limit: Annotated[
        str | None,
        Opt("Limit on memory, at least twice a window in bytes.  [default: 4G]", metavar="4G"),
    ] = None
    ring_take: Annotated[
        int | None,
        Opt(
            "Above this number of earlier calls that are kept for pictures, read the pictures back; 0: never."
            "  [default: 100000]",
            metavar="CALLS",
        ),
    ] = None

    def recorder(self, *, paused: bool, streamed: bool) -> Ring | None:
        """Return the flight recorder of the options, if there is one. Raises UsageError where it makes no sense."""
        if self.ring is None:
            asked = (self.trigger, self.on_error, self.when, self.before, self.after, self.at_exit, self.no_crash)
            if any(asked) or self.save_gap or self.ring_limit or self.ring_take is not None:
                raise UsageError("that is for a flight recorder", hint="--ring 10s makes it one")
            return None
        if paused:
            raise UsageError("a flight recorder does not wait", hint="leave out --paused, or --ring")
        if streamed:
            raise UsageError("a flight recorder writes files", hint="leave out --to and --listen, or --ring")
        if self.ring_take is not None and not 0 <= self.ring_take < 1 << 28:
            raise UsageError(f"--ring-take {self.ring_take} is no number of calls", hint="0 never touches the program")
        from drawtap.capture.flight import Ring

        part(RING)  # the drainer would miss it when the first calls leave the window
        also = {"error": self.on_error, "exit": self.at_exit}
        return Ring(
            self.ring,
            before=self.before,
            after=self.after,
            triggers=(*self.trigger, *(name for name, wanted in also.items() if wanted)),
            when=self.when,
            every=self.every,
            limit=self.ring_limit,
            at_crash=not self.no_crash,
            most_saves=self.most_saves,
            gap=self.save_gap,
            take_calls=self.ring_take,
        )


@dataclass(frozen=True)
class Cost(Options):
    """Limits on the cost of a recording."""

    title = "Cost"

    timing: Annotated[Literal["both", "entry", "none"], Opt("Time stamps of a call.")] = "both"
    when_full: Annotated[Literal["block", "drop-frames"], Opt("Behaviour while disk or receiver cannot keep up.")] = (
        "block"
    )
    buffer: Annotated[
        str | None, Opt("Limit of memory that waits for disk or receiver.  [default: 32M]", metavar="SIZE")
    ] = None
    sync: Annotated[float | None, Opt("Bring calls to the disk within this time.", metavar="SECONDS")] = None


@dataclass(frozen=True)
class Around(Options):
    """The processes to record, and their surroundings."""

    title = "Around the program"

    process: Annotated[
        str | None,
        Opt("Record only programs of this name, of all that PROGRAM starts (* and ? match).", metavar="NAME"),
    ] = None
    openvg: Annotated[bool, Opt("Give the program drawtap's OpenVG engine.")] = False
    system: Annotated[bool, Opt("Record what the kernel sees too, to FILE with .dat; see drawtap system record.")] = (
        False
    )
    identity: Annotated[
        Literal["full", "none"], Opt("none: the recording names no host, folder, command line or environment.")
    ] = "full"
    module: Annotated[
        tuple[str, ...], Opt("Hooks of your own around the calls, as for drawtap run; repeat.", "-m", "MODULE")
    ] = ()


@dataclass(frozen=True)
class Attach(Options):
    """A program that runs already, and the part of its run to record."""

    title = "A program that runs already"

    pid: Annotated[
        str | None, Opt("Record this program, a process number or a name, and leave it again.", "-p", "PID")
    ] = None
    frames: Annotated[int | None, Opt("Stop after this number of frames.", "-n", "COUNT")] = None
    for_: Annotated[str | None, Opt("Stop after this time: 5s, 500ms, 2min.", metavar="TIME")] = None
    why: Annotated[str | None, Opt("A remark for the recording.", metavar="TEXT")] = None

    def options(self, timing: Literal["both", "entry", "none"]) -> AttachOptions:
        """Return the options of the recorder. Raises UsageError where they make no sense."""
        from drawtap.live.attach import AttachOptions

        if self.frames is not None and self.for_ is not None:
            raise UsageError("frames or a time, not both")
        if self.frames is not None and not 1 <= self.frames <= 1_000_000:
            raise UsageError(f"{self.frames} frames cannot be recorded", hint="from 1 to 1000000")
        seconds = _seconds(self.for_) if self.for_ else 0.0
        return AttachOptions(self.frames or 0, seconds, timing, self.why or "drawtap record --pid")


@command(
    section="record",
    examples=(
        "drawtap record -o game.dtap -- ./game --level 3",
        "drawtap record -- glmark2-es2 -b texture            # writes glmark2-es2.dtap, or -2, -3 ...",
        "drawtap record -o b.dtap --timing none --force -- ./benchmark",
        "xvfb-run -a drawtap record -o gears.dtap -- glxgears   # without a display",
        "drawtap record --to unix:/tmp/traces --wait -- ./game      # drawtap receive -l unix:/tmp/traces takes it",
        "drawtap record --openvg -o tiger.dtap -- ./tiger         # an OpenVG program, on drawtap's engine",
        "sudo drawtap record --system -o game.dtap -- ./game     # game.dat is what the kernel saw",
        "drawtap record --ring 10s --trigger frame-time=50ms -- ./game   # game-f1234-frame-time.dtap when it hitches",
        "drawtap record --pid game --frames 60 -o slow.dtap      # of drawtap run -- ./game, under drawtap manager",
        "drawtap record --pid 4711                               # until Ctrl-C; the program goes on",
    ),
    json=False,
)
def record(
    *program: Annotated[str, Opt("the program and its arguments", metavar="PROGRAM")],
    output: Annotated[Path | None, Opt("Where the recording goes.  [default: PROGRAM.dtap]", "-o", "FILE")] = None,
    frame_end: Annotated[
        str | None, Opt("Frames end with: auto, or function names separated by commas.", metavar="RULE")
    ] = None,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
    hash_frames: Annotated[bool, Opt("Store a hash of each frame's image, for replay --verify.")] = False,
    api: Annotated[
        Literal["all", "gl", "vk"],
        Opt("all: what the program calls; gl: all but Vulkan; vk: Vulkan alone, also below a GL driver."),
    ] = "all",
    layer: Annotated[
        bool, Opt("Record Vulkan alone, as a layer: for programs that drop LD_PRELOAD, as containers do.")
    ] = False,
    paused: Annotated[bool, Opt("Do not record before drawtap trigger says so.")] = False,
    require_calls: Annotated[bool, Opt("Exit with 3 if the program ends well but nothing was recorded.")] = False,
    quiet: Annotated[bool, Opt("No summary at the end.", "-q")] = False,
    around: Around,
    cost: Cost,
    stream: Stream,
    flight: Flight,
    attach: Attach,
) -> ExitStatus:
    """Run a program and record its graphics calls.

    Records OpenGL, OpenGL ES, EGL, GLX, OpenVG and Vulkan. The program runs in this terminal as it would without
    drawtap. Its exit code is passed on: 128 + n where signal n ended it, 127 where there is no such program, 126 where
    it cannot be run. If it is 0 but the recording lacks calls, as on a full disk, drawtap exits with 1. The recording
    is kept whatever happens to the program. A summary goes to standard error; if nothing was recorded, it says why.
    Each process that the program forks and that draws gets a file beside FILE. Children with a graphics library get 10
    seconds for their first call. With --openvg a program that needs libOpenVG.so.1 gets drawtap's, and an EGL for it.

    With --to or --listen, drawtap receive gets the recording while it is made. If the receiver goes away, the program
    runs on, and the receiver keeps a good recording of the calls so far. With --when-full drop-frames the program never
    waits for disk or receiver. Whole frames lose their draws instead, and the recording lists them; state and objects
    stay right.

    With --ring nothing goes to the disk until a trigger: a condition (--trigger), SIGUSR1 or SIGUSR2 to this command,
    drawtap trigger PID save, or a crash. Then it writes the last seconds, with all earlier calls that still matter, to
    FILE-fFRAME-REASON.dtap, which replays like any recording.

    With --pid it records a running program under the manager (drawtap run), from one frame end to another. The program
    does not stop, and is not slowed before and after. Calls in front of the first frame restore its objects and state;
    drawtap info lists the gaps. A program under drawtap record has a recorder already: the calls go to that file. If
    the recording ends early, as on a full disk, the exit code is 1.
    """
    if attach.pid is not None:
        others = (program, frame_end, hash_frames, paused, require_calls, layer, api != "all", around != Around())
        if any(others) or (stream, flight, replace(cost, timing="both")) != (Stream(), Flight(), Cost()):
            raise UsageError("a program that runs already is recorded as it is", hint=_WITH_PID)
        running = _attached(attach.pid, output, attach.options(cost.timing), force=force, quiet=quiet)
        return _left(running, quiet=quiet)
    if attach != Attach():
        raise UsageError("--frames, --for and --why are about a program that runs already", hint="--pid PID names it")
    if not program:
        raise UsageError("which program?", hint="drawtap record -o FILE -- PROGRAM, or --pid PID")
    from drawtap.capture import launch

    recorder = flight.recorder(paused=paused, streamed=stream.is_asked)
    how = launch.RecordOptions(
        timing=cost.timing,
        frame_end=frame_end,
        hash_frames=hash_frames,
        paused=paused,
        when_full=cost.when_full,
        process=around.process,
        buffer=_bytes(cost.buffer),
        sync=_sync(cost.sync, to_file=recorder is None and not stream.is_asked),
        streaming=stream.streaming(output),
        ring=recorder,
        identity=around.identity,
        api=api,
        layer=layer,
    )
    target = None if how.streaming else output or _free_name(program[0])
    recording = _launched(program, target, how, around, force=force, quiet=quiet)
    if recorder:
        return _flight_ended(recording, quiet=quiet)
    return _ended(recording, target, frame_end, require_calls=require_calls, quiet=quiet)


def _flight_ended(recording: Recording, *, quiet: bool) -> ExitStatus:
    if not quiet or not recording.saved:
        report_verdicts(_flight(recording))
    return ExitStatus(_code(recording))


def _ended(
    recording: Recording, target: Path | None, frame_end: str | None, *, require_calls: bool, quiet: bool
) -> ExitStatus:
    calls, whole, verdicts = outcome(recording, target, frame_end)
    if not quiet or not calls or not whole:
        report_verdicts(verdicts)
    code = _code(recording)
    if require_calls and not calls and code == 0:
        return ExitStatus(3)
    return ExitStatus(code or (0 if whole else 1))


def _launched(
    program: tuple[str, ...], target: Path | None, how: RecordOptions, around: Around, *, force: bool, quiet: bool
) -> Recording:
    from drawtap.capture import launch
    from drawtap.parts import openvg_environment

    launch.find_program(program[0])
    modules = _libraries(around.module)
    settings = openvg_environment() if around.openvg else None
    with _kernel(program, target, wanted=around.system, force=force, quiet=quiet):
        if not quiet and sys.stderr.isatty():  # the program may say nothing of itself, and never end
            to = "" if target is None or how.ring else f" to {target}"
            name = Path(program[0]).name
            print(f"drawtap: recording {name}{to}; Ctrl-C ends the program", file=sys.stderr, flush=True)

        def waits(which: str) -> None:
            text = f"{Path(program[0]).name} has ended; waiting for what may still draw: {which}; Ctrl-C leaves it"
            if not quiet:
                print(f"drawtap: {text}", file=sys.stderr, flush=True)

        return launch.record(program, target, how, force=force, modules=modules, settings=settings, waits=waits)


def _attached(program: str, output: Path | None, wanted: AttachOptions, *, force: bool, quiet: bool) -> Attached:
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
        target = output or _free_name(re.sub(r"[^\w.-]", "_", program))
        return record_running(client, program, target, wanted, force=force, begun=begun)


def _seconds(text: str) -> float:
    seconds = (units.duration_ns(text, bare="s") or 0.0) / 1e9
    if not 0 < seconds <= 86400:
        raise UsageError(f"--for {text}: no time", hint="5s, 500ms, 2min")
    return seconds


def _left(done: Attached, *, quiet: bool) -> ExitStatus:
    import drawtap
    from drawtap.output.text import counted, duration, size

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
        report_verdicts([*([] if quiet else verdicts), *complaints])
    return ExitStatus(1 if done.messages else 0)


@contextlib.contextmanager
def _kernel(program: tuple[str, ...], target: Path | None, *, wanted: bool, force: bool, quiet: bool) -> Iterator[None]:
    if not wanted:
        yield
        return
    if target is None:
        raise UsageError("--system needs a file", hint="-o FILE, without --to and --listen")
    from drawtap.commands.system_record import make_recorder, report
    from drawtap.system.recorder import DEFAULT_EVENTS

    recorder, notes = make_recorder(program, DEFAULT_EVENTS, "4M", target.with_suffix(".dat"), "tracefs", force=force)
    started = time.monotonic()
    recorder.start()
    try:
        yield
    finally:
        recorded = recorder.stop()
        if not quiet:
            report(recorded, notes, time.monotonic() - started)


def _free_name(program: str) -> Path:
    # Without -o nothing is overwritten and nobody has to think of a name.
    stem = Path(program).name
    names = (Path(f"{stem}{suffix}.dtap") for suffix in chain([""], (f"-{number}" for number in count(2))))
    return next(path for path in names if not path.exists())


def _bytes(text: str | None) -> int | None:
    if text is None:
        return None
    size = int(units.size_bytes(text) or 0)
    if not 1 << 20 <= size <= 1 << 34:
        raise UsageError(f"--buffer {text}: expected 1M to 16G", hint="a number with k, M or G behind it, such as 64M")
    return size


def _sync(seconds: float | None, *, to_file: bool) -> float | None:
    if seconds is None:
        return None
    if not to_file:
        raise UsageError("--sync is for recordings that go to a file", hint="leave out --ring, --to and --listen")
    if not 0.1 <= seconds <= 86400:
        raise UsageError(f"--sync {seconds}: expected 0.1 to 86400 seconds")
    return seconds


def outcome(recording: Recording, target: Path | None, frame_end: str | None = None) -> tuple[int, bool, list[Verdict]]:
    """Return how many calls were recorded, whether those are all, and what there is to say of it.

    Why there is none, for one. Frames that the user chose to leave out are not missing.
    """
    calls, whole, unread = 0, not recording.refused, False
    verdicts: list[Verdict] = []
    # On a full disk not even the beginning of a file may be there: the recorder's message says so.
    for file in recording.files if not recording.messages else filter(Path.exists, recording.files):
        data, lines = _file_verdicts(file, frame_end)
        unread = unread or not data
        whole = whole and bool(data.get("complete"))
        verdicts += lines
        own = _number(data, "calls")
        calls += own
        if own and not _number(data, "frames"):
            from drawtap.capture import doctor

            rule = data.get("frame_end")
            why = str(rule["why"]) if isinstance(rule, dict) else "auto"
            verdicts += verdicts_of([doctor.missing_frames(why)])
    for sent in recording.sent:
        calls += sent.calls
        verdicts.append(_sent_verdict(sent))
    if not calls:
        verdicts = [v for v in verdicts if v.severity != "ok"]
        if not unread:  # else it had calls perhaps
            gone = "" if recording.files or not target or target.exists() else f"; {target} was not written"
            verdicts.append(Verdict("warning", "recorded", f"no calls{gone}"))
        if recording.left_out:
            verdicts.append(_left_out(recording))
        elif not unread and not recording.messages and not recording.refused:  # else the recorder knows why
            from drawtap.capture import doctor

            verdicts += verdicts_of(doctor.missing_calls(recording.program, recording.libraries, recording.tapped))
    return calls, whole, [*verdicts, *_ending(recording)]


def _ending(recording: Recording) -> list[Verdict]:
    verdicts = [Verdict("warning", "not recorded", which) for which in recording.refused]
    if recording.foreign:
        names = ", ".join(recording.foreign)
        verdicts.append(
            Verdict("note", "not recorded", f"programs that are not for glibc ran without the tap: {names}")
        )
    if recording.running:
        names = ", ".join(recording.running)
        text = f"processes that called nothing still run; what they call from now on is lost: {names}"
        verdicts.append(Verdict("note", "not recorded", text))
    verdicts += [Verdict("warning", "recorder", message) for message in recording.messages]
    if recording.signal is not None:
        verdicts.append(Verdict("note", "program", f"ended by signal {recording.signal} ({_signal(recording.signal)})"))
    elif recording.code:
        verdicts.append(Verdict("note", "program", f"exit code {recording.code}"))
    if recording.stopped_by is not None:
        name = _signal(recording.stopped_by)
        verdicts.append(Verdict("note", "recorder", f"{name} ended the recording after the program's end"))
    return verdicts


def _code(recording: Recording) -> int:
    return recording.code if recording.stopped_by is None else 128 + recording.stopped_by


def _libraries(modules: tuple[str, ...]) -> list[Path]:
    if not modules:
        return []
    from drawtap.instrument import user_module
    from drawtap.output.progress import say_compiling

    return list(user_module.libraries(modules, say_compiling)[0])


def _left_out(recording: Recording) -> Verdict:
    names = ", ".join(recording.left_out)
    text = f"--process left out every program that made graphics calls: {names}"
    return Verdict("warning", "program", text, "it takes the name of a program's file, with * and ?: --process 'game*'")


def _flight(recording: Recording) -> list[Verdict]:
    from drawtap.capture import doctor
    from drawtap.output.text import duration, number, size

    verdicts = [Verdict("ok", "saved", _saved(entry)) for entry in recording.saved]
    for entry in recording.saved:
        if entry.get("assumed"):
            because = entry.get("assumed_because")
            which = "; ".join(map(str, because)) if isinstance(because, list) and because else None
            verdicts.append(Verdict("note", "saved", f"{entry['file']}: {_ASSUMED}", which))
        if entry.get("whole_because"):
            verdicts.append(Verdict("note", "saved", f"{entry['file']}: {_WHOLE}", str(entry["whole_because"])))
        if entry.get("missing_ns"):
            text = f"{entry['file']}: the first {duration(_number(entry, 'missing_ns'))} of the window had left: memory"
            verdicts.append(Verdict("note", "saved", text, "--ring-limit allows it more"))
        if entry.get("calls_lost"):
            text = f"{entry['file']}: calls were lost before, so it may not replay as it was"
            verdicts.append(Verdict("warning", "saved", text))
    calls = 0
    for entry in recording.kept:
        calls += _number(entry, "calls")
        text = (
            f"{number(_number(entry, 'calls'))} calls in {number(_number(entry, 'frames'))} frames went by;"
            f" at most {size(_number(entry, 'held_peak'))} were held"
        )
        verdicts.append(Verdict("ok", "ring", text))
        if entry.get("whole_because"):
            verdicts.append(Verdict("note", "ring", _WHOLE, str(entry["whole_because"])))
        if entry.get("takes"):
            pictures, turns = number(_number(entry, "pictures")), number(_number(entry, "takes"))
            content = size(_number(entry, "picture_bytes"))
            text = f"{pictures} pictures were read back in {turns} turns, {content}, in place of the draws behind them"
            verdicts.append(Verdict("note", "ring", text, "--ring-take 0 leaves the program alone"))
    watched = recording.watched
    if watched is not None and watched.asked:
        each = duration(int(1e9 * watched.seconds / watched.asked))
        verdicts.append(Verdict("note", "ring", f"{number(watched.asked)} questions of --when, {each} each"))
    if not recording.saved:
        why = "nothing asked for it" if calls else "no calls were made"
        if any(entry.get("failed") for entry in recording.kept):
            why = "it could not be"
        elif not calls and recording.left_out:
            why = "no program was recorded"
        elif not recording.kept and recording.tapped:
            why = "the recorder was gone before the program ended"
        hint = None if not calls else _ASK
        verdicts.append(Verdict("warning", "saved", f"nothing was written: {why}", hint))
    if not calls and recording.left_out:
        verdicts.append(_left_out(recording))
    elif not calls and not recording.tapped:
        verdicts += verdicts_of(doctor.missing_calls(recording.program, recording.libraries, recording.tapped))
    return [*verdicts, *_ending(recording)]


def _saved(entry: Mapping[str, object]) -> str:
    from drawtap.output.text import counted, number

    calls, frames = counted(_number(entry, "calls"), "call"), counted(_number(entry, "frames"), "frame")
    text = (
        f"{_near(Path(str(entry['file'])))}: {calls} in {frames} from frame {number(_number(entry, 'first_frame'))} on"
    )
    text += f", and {number(_number(entry, 'kept'))} of the {number(_number(entry, 'earlier'))} calls before"
    return text + f"; {entry['reason']}" + (f", {entry['detail']}" if entry.get("detail") else "")


_ASK = "drawtap trigger PID save, SIGUSR1 to drawtap record, --trigger, or --at-exit for what was last"
_WHOLE = "all earlier calls of Vulkan are kept, so memory and files grow with the run"
_ASSUMED = "pictures that are never wiped were taken to be painted over in each frame: what shone through is missing"


def _file_verdicts(file: Path, frame_end: str | None) -> tuple[Mapping[str, object], list[Verdict]]:
    import drawtap
    from drawtap.output.text import counted, duration, size

    try:
        with drawtap.open(file, frame_end=frame_end) as trace:
            data = facts(trace)
    except DrawtapError as error:
        return {}, [Verdict("warning", "recorded", f"{file} cannot be read: {error.message}", error.hint)]
    calls, frames, length = (_number(data, name) for name in ("calls", "frames", "duration"))
    text = f"{counted(calls, 'call')}, {counted(frames, 'frame')}, {duration(length)}, {size(file.stat().st_size)}"
    lines = [Verdict("ok", "recorded", f"{_near(file)}: {text}")]
    return data, lines + [Verdict("note", "recorded", problem) for problem in problems(data)[:5]]


def _sent_verdict(sent: Sent) -> Verdict:
    from drawtap.output.text import counted, number, size

    dropped = f" ({number(sent.frames_dropped)} without draws)" if sent.frames_dropped else ""
    text = f"{sent.program}: {counted(sent.calls, 'call')}, {counted(sent.frames, 'frame')}{dropped}"
    text += f", {size(sent.taken)} to {sent.address}"
    return Verdict("ok" if sent.whole else "warning", "sent", text + (f"; {sent.error}" if sent.error else ""))


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


def report_verdicts(verdicts: list[Verdict]) -> None:
    """Write verdicts to standard error, after what the program said."""
    from drawtap.output.text import TextView

    sys.stdout.flush()
    TextView(sys.stderr).show(Verdicts(verdicts))
