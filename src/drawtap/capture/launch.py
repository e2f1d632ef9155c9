"""Start programs: the drainer, then the program with the tap, in the same terminal, and wait for both."""

from __future__ import annotations

import collections
import contextlib
import errno
import fnmatch
import functools
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

import drawtap
from drawtap.capture.drainer import Drainer, Sent
from drawtap.capture.elf import behind_scripts, is_musl, read_elf
from drawtap.capture.stream import Streaming
from drawtap.capture.unreached import Unreached
from drawtap.errors import ChildError, InputError, UsageError, check_target, did_you_mean
from drawtap.parts import DRAINER, SIGNATURES, SIGNATURES_VULKAN, TAP, TAP_VULKAN, is_there, part, preloadable
from drawtap.scratch import Scratch

if TYPE_CHECKING:
    from drawtap.capture.flight import Ring, Watch

_GRAPHICS_VARIABLES = (
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "EGL_PLATFORM",
    "LD_LIBRARY_PATH",
    "MESA_",
    "LIBGL_",
    "GALLIUM_",
    "LP_",
    "__GL",
    "__EGL",
    "EGL_",
    "SDL_VIDEO",
    "QT_QPA",
    "QT_OPENGL",
    "GDK_",
    "GSK_",
    "DRI_PRIME",
    "VK_",
)
# The seconds after which the running program's libraries are looked at, one after the other. They are dense at first,
# since programs can be short. They end, since reading the maps of a large process is not free for it.
_LOOKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
# AddressSanitizer's library wants to be loaded first, unless an option allows another place.
_ADDRESS_SANITIZER = ("libasan.so", "libclang_rt.asan")
_OPTIONS_OF_PROGRAM = b"__asan_default_options"
_ANY_ORDER = "verify_asan_link_order=0"
_KEEP = ("--keep-existing", "yes")  # another recording may have taken the name since this one made sure of it
_LONGEST_FOLDER = 64  # in bytes: a folder of drawtap's and the socket in it come behind
_LAST_LINES = 20  # of what a command said that failed aside


@dataclass(frozen=True)
class Recording:
    """The outcome of running a program with the tap.

    `code` is its exit code, 128 + n where signal n ended it. `files` are the written traces, the first process's first;
    `libraries` the graphics libraries seen in the program while it ran; `tapped` whether the tap was seen in it, None
    where the program ended before anyone could look.
    """

    program: Path
    arguments: tuple[str, ...]
    code: int
    signal: int | None
    seconds: float
    files: tuple[Path, ...]
    libraries: frozenset[str] = frozenset()
    tapped: bool | None = None
    messages: tuple[str, ...] = field(default=())
    sent: tuple[Sent, ...] = ()
    #: of a flight recorder: what it saved, and for each process what it kept (the drainer's words).
    saved: tuple[Mapping[str, object], ...] = ()
    kept: tuple[Mapping[str, object], ...] = ()
    watched: Watch | None = None
    #: programs that made graphics calls and were left out, as `process` asked: names, each once.
    left_out: tuple[str, ...] = ()
    #: processes that made graphics calls and could not be recorded, or not to their end: which and why, in words.
    refused: tuple[str, ...] = ()
    #: programs that were started with another C library than glibc, and ran without the tap: names, each once.
    foreign: tuple[str, ...] = ()
    #: processes with the tap that ran on when the recording ended, and had called nothing: names and numbers.
    running: tuple[str, ...] = ()
    #: the signal that ended the recording after the program had ended.
    stopped_by: int | None = None


@dataclass(frozen=True)
class RecordOptions:
    """Settings of a recording: the options of `drawtap record`.

    `when_full`: what happens while file or receiver cannot keep up, "block" (the program waits) or "drop-frames".
    `buffer`: bytes of records that may wait for file or receiver; None: 32 MB. `sync`: seconds after which a call is
    on the disk at the latest, for threads that end frames; None: when the kernel writes it, and at the end. `process`
    names the programs of a tree of processes that are recorded (with `*` and `?`); None: all. With `identity` "none"
    the recording names no host, folder, command line or environment. With `paused` nothing is recorded before
    `capture.control` asks for it. With `layer` the tap is no preloaded library but a layer of the Vulkan loader, for
    programs that drop LD_PRELOAD: Vulkan alone is recorded. `api` "gl" leaves Vulkan out; "vk"
    records Vulkan alone, below a GL driver as well.
    With `streaming` the recording goes where that says. With `ring`, files are written only by its triggers, and by
    SIGUSR1 and SIGUSR2 to this process. Each file has a name of its own, made from the recording's.
    """

    timing: str = "both"
    frame_end: str | None = None
    hash_frames: bool = False
    paused: bool = False
    when_full: str = "block"
    process: str | None = None
    buffer: int | None = None
    sync: float | None = None
    streaming: Streaming | None = None
    ring: Ring | None = None
    identity: str = "full"
    api: str = "all"
    layer: bool = False

    @property
    def is_vulkan(self) -> bool:
        """Tell whether Vulkan is recorded."""
        return self.api == "vk" or (self.api == "all" and is_there(TAP_VULKAN))

    def options(self) -> list[str]:
        """Return the drainer's options for it. Raises UsageError where one makes no sense."""
        if self.layer and not self.is_vulkan:
            raise UsageError("a layer sees Vulkan alone", hint="leave out --layer, or --api gl")
        words = ["--timing", self.timing, *(["--paused", "yes"] if self.paused else [])]
        words += ["--signatures", str(part(SIGNATURES_VULKAN))] if self.is_vulkan else []
        words += ["--when-full", self.when_full, *(["--process", self.process] if self.process else [])]
        words += [] if self.buffer is None else ["--buffer", str(self.buffer)]
        words += [] if self.sync is None else ["--sync", str(self.sync)]
        words += [] if self.streaming is None else self.streaming.options()
        words += [] if self.identity == "full" else ["--identity", self.identity]
        return words + ([] if self.ring is None else [*self.ring.options(), "--frame-end", self.frame_end or "auto"])

    def environment(self) -> dict[str, str]:
        """Return what the program's environment says for it."""
        variables = {"DRAWTAP_HASH_FRAMES": "1"} if self.hash_frames else {}
        variables |= {"DRAWTAP_API": "vk"} if self.api == "vk" else {}
        variables |= {} if self.identity == "full" else {"DRAWTAP_IDENTITY": self.identity}
        return variables | ({} if self.streaming is None else self.streaming.environment())


def record(
    program: Sequence[str],
    output: Path | None,
    how: RecordOptions | None = None,
    *,
    force: bool = False,
    modules: Sequence[Path] = (),
    settings: Mapping[str, str] | None = None,
    waits: Callable[[str], None] = lambda which: None,
) -> Recording:
    """Run `program` with the tap and write what it calls to `output`, or send it where `how.streaming` says.

    `modules` are preloaded in front of the tap; `settings` go into the program's environment. `waits` is called where
    the program has ended and a child of it, which it names, may still make its first call.

    The program keeps this terminal and its standard streams. Ctrl-C reaches it as always and leaves the recorder
    to finish the file. SIGTERM and SIGHUP are passed on. After the program's end each ends its children's recording.

    Raises UsageError where `output` exists and `force` is not set, ChildError with code 127 or 126 where the program
    cannot be started, UnavailableError where a part of drawtap is missing.
    """
    if not program:
        raise UsageError("there is no program to record", hint="drawtap record -o FILE -- PROGRAM ARGUMENTS")
    executable = find_program(program[0])
    how = how or RecordOptions()
    tap, drainer = part(TAP_VULKAN if how.is_vulkan else TAP), part(DRAINER)
    _check_frame_end(how.frame_end)
    if output is not None:
        output = _checked_output(output, force=force) if how.ring is None else _checked_folder(output)
    elif how.streaming is None:
        raise UsageError("there is no place for the recording", hint="-o FILE, or --to ADDRESS")
    elif how.streaming.spill is not None:
        spill = _checked_output(how.streaming.spill, force=force)
        how = replace(how, streaming=replace(how.streaming, spill=spill))
    about = _annotation(program, executable, how)
    with (scratch := Scratch(_socket_folder())) as folder:
        socket = Path(folder) / "socket"
        with Drainer(drainer, socket, output, about, [*how.options(), *_KEEP], lock=scratch.lock) as drain:
            environment = {**_inherited(), "DRAWTAP_SOCKET": str(socket), **how.environment(), **(settings or {})}
            environment |= _token_file(Path(folder)) if how.streaming else {}
            environment |= _layered(Path(folder), tap, modules) if how.layer else loading(executable, [*modules, tap])
            unreached = Unreached(Path(folder), how.process or "*")
            environment |= unreached.environment()
            late = _Late(os.fsencode(socket), tap.name, how.process or "*", waits, unreached)
            started = time.monotonic()
            with _handlers({signal.SIGTERM: late.stop, signal.SIGHUP: late.stop}):
                with _flight(how, drain) as watched:
                    status, seen = _run(executable, program, environment, tap, drain.watch)
                seconds = time.monotonic() - started
                with _handlers({signal.SIGINT: late.stop}):
                    drain.finish(status, functools.partial(late.wait, drain), lambda: bool(late.stopped_by), waits)
            running = late.others(drain)
            lost = (*_unreached(seen, drain, how.process or "*", unreached), *late.left)
    code, killed_by = (128 - status, -status) if status < 0 else (status, None)
    # The program's own file first, then the files of its children.
    asked = output if how.ring is None else None
    gone = drain.look_for_files()
    standing = [asked] if asked is not None and asked not in (*gone, *drain.files) and asked.exists() else []
    unheard = [] if drain.ended_well else standing  # nobody could say so
    files = sorted(dict.fromkeys([*drain.files, *unheard]), key=lambda path: path != output)
    return Recording(
        executable,
        tuple(program[1:]),
        code,
        killed_by,
        seconds,
        tuple(files),
        seen.libraries,
        True if drain.pids else seen.tapped,
        _messages(drain, watched, standing if drain.ended_well else ()),
        tuple(drain.sent),
        tuple(drain.saved),
        tuple(drain.kept),
        watched,
        tuple(drain.left_out),
        (*drain.refused, *lost),
        tuple(dict.fromkeys(drain.foreign)),
        running,
        late.stopped_by,
    )


def _messages(drain: Drainer, watched: Watch | None, standing: Sequence[Path]) -> tuple[str, ...]:
    messages = list(drain.messages)
    for file in standing:  # there was none when this recording began
        others = ", ".join(own.name for own in drain.files)
        messages.append(f"{file} is of another recording" + (f"; this one went to {others}" if others else ""))
    if watched is not None and watched.failed:
        of = watched.asked + watched.failed
        messages.append(f"--when had no answer {watched.failed} of {of} times, the last time: {watched.reason}")
    return tuple(messages)


def _unreached(seen: _Seen, drain: Drainer, wanted: str, unreached: Unreached) -> Iterator[str]:
    said = unreached.found()
    for pid, (name, why) in seen.strangers.items():
        if pid not in drain.pids and fnmatch.fnmatchcase(name, wanted):
            said[pid] = f"process {pid} ({name}): {why}"  # this names the cause
    yield from said.values()
    if more := unreached.without_room():
        yield f"{more} more processes, whose tap could not reach the recorder either"


@contextlib.contextmanager
def _flight(how: RecordOptions, drain: Drainer) -> Iterator[Watch | None]:
    # Signals ask for a save, and so does the answer to a question.
    ring = how.ring
    if ring is None:
        yield None
        return

    def ask(number: int, frame: FrameType | None) -> None:
        drain.save("signal", signal.Signals(number).name)

    with _handlers({signal.SIGUSR1: ask, signal.SIGUSR2: ask}):
        if ring.when is None:
            yield None
            return
        from drawtap.capture.flight import Watch

        save = functools.partial(drain.save, limited=True)
        watch = Watch(ring.when, ring.every, drain.peek, save, how.frame_end)
        with watch:
            yield watch


@contextlib.contextmanager
def recorder(socket: Path, output: Path, *, force: bool, timing: str, note: str) -> Iterator[Recorder]:
    """Have a recorder listen at `socket` for programs that the manager sends there, until the end of the block.

    `note` says in the recording why it was made. Raises UsageError where `output` exists and `force` is not set.
    """
    output = _checked_output(output, force=force)
    about: dict[str, object] = {"kind": "attached", "why": note, "drawtap": drawtap.__version__}
    with Drainer(part(DRAINER), socket, output, about, ["--timing", timing, *_KEEP]) as drain:
        made = Recorder(drain)
        try:
            yield made
        finally:
            drain.stop()


class Recorder:
    """A recorder that programs connect to."""

    def __init__(self, drain: Drainer) -> None:
        self._drain = drain

    @property
    def messages(self) -> tuple[str, ...]:
        """Return what it had to complain about."""
        return tuple(self._drain.messages)

    def files(self, *, seconds: float) -> tuple[Path, ...]:
        """Return the recordings that are whole, waiting up to `seconds` for the first."""
        end = time.monotonic() + seconds
        if not self._drain.running:
            self._drain.take_over("", end_it=True)
        while not self._drain.files and self._drain.running and time.monotonic() < end:
            time.sleep(0.01)
        return tuple(self._drain.files)


def run(program: Sequence[str]) -> int:
    """Run `program` without the tap and return its exit code, 128 + n where signal n ended it.

    Signals go as in `record`. Raises ChildError with code 127 or 126 where it cannot be started.
    """
    executable = find_program(program[0])
    status, _ = _run(executable, program, _inherited(), None, lambda pid: None)
    return 128 - status if status < 0 else status


def start_aside(
    command: Sequence[str],
    settings: Mapping[str, str],
    ended: Callable[[int, str], None] | None = None,
    *,
    heard: bool = True,
) -> int:
    """Start a command that nobody waits for, with `settings` in its environment, and return its pid.

    The command runs in a session of its own; it reads no input, and its output does not appear here. A thread calls
    `ended` with the exit code (-n where signal n ended it) and the last lines of standard error. Without `heard` there
    are no lines: use it for commands that may outlive this process. Raises ChildError where it cannot be started.
    """
    executable = find_program(command[0])
    null = subprocess.DEVNULL
    said = subprocess.PIPE if ended is not None and heard else null
    try:
        child = subprocess.Popen(
            list(command), executable=str(executable), stdin=null, stdout=null, stderr=said, start_new_session=True,
            env=dict(os.environ, **settings),
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise _no_start(f"{executable} does not start: {error}", 126, None) from error

    def wait() -> None:
        with child:  # its status has to be taken, or it stays a zombie for as long as this process lives
            last = b"".join(collections.deque(_lines(child.stderr) if child.stderr else (), maxlen=_LAST_LINES))
        if ended is not None:
            ended(child.returncode, last.decode("utf-8", "replace").strip())

    threading.Thread(target=wait, daemon=True).start()
    return child.pid


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield lines, those without end in parts."""
    return iter(lambda: stream.readline(4096), b"")


@dataclass(frozen=True)
class Run:
    """The outcome of running a program with modules: as in `Recording`.

    `called` says whether a graphics call was seen, by a process that `program` started too.
    """

    program: Path
    code: int
    signal: int | None
    libraries: frozenset[str]
    loaded: bool | None
    called: bool


def run_with(program: Sequence[str], modules: Sequence[Path], settings: Mapping[str, str] | None = None) -> Run:
    """Run `program` with `modules` in it, none of which records, and `settings` in its environment.

    The program keeps this terminal. Raises UsageError without a program, ChildError as `record` does.
    """
    if not program:
        raise UsageError("there is no program to run", hint="drawtap run --module M -- PROGRAM ARGUMENTS")
    executable = find_program(program[0])
    environment = {**_inherited(), **(settings or {}), **loading(executable, modules)}
    # The runtime leaves a letter here at a process's first call. (A program that has become somebody else may not.)
    with Scratch() as folder:
        letters = Path(folder) / "letters"
        letters.touch()
        environment["DRAWTAP_CALLED"] = str(letters)
        status, seen = _run(executable, program, environment, modules[0], lambda pid: None)
        called = letters.stat().st_size > 0
    code, killed_by = (128 - status, -status) if status < 0 else (status, None)
    return Run(executable, code, killed_by, seen.libraries, seen.tapped, called)


def loading(executable: Path, modules: Sequence[Path]) -> dict[str, str]:
    """Return what the environment of a program has to say for its dynamic linker to load the modules.

    Nothing where the program would not start with them: it runs without, and the doctor says why.
    """
    preload = _preload(modules)
    try:
        program, _ = behind_scripts(executable)
        elf = read_elf(program)
        if elf is None:
            return {"LD_PRELOAD": preload}
        if is_musl(elf):
            return {}
        if (
            any(name.startswith(_ADDRESS_SANITIZER) for name in elf.needed)
            and _OPTIONS_OF_PROGRAM in program.read_bytes()
        ):
            # The module has an answer to what this asks, but the program's own is heard first.
            return {
                "LD_PRELOAD": preload,
                "ASAN_OPTIONS": ":".join(filter(None, (_ANY_ORDER, os.environ.get("ASAN_OPTIONS")))),
            }
    except OSError:
        pass  # not to be read, and yet it may run
    return {"LD_PRELOAD": preload}


_LAYER = "VK_LAYER_DRAWTAP_record"


def _layered(folder: Path, tap: Path, modules: Sequence[Path]) -> dict[str, str]:
    """Return what makes the Vulkan loader open the tap as a layer, described by a manifest in `folder`."""
    if modules:
        raise UsageError("modules are preloaded, and a layer is not", hint="leave out --layer, or -m")
    about = {
        "name": _LAYER,
        "type": "GLOBAL",
        "library_path": str(tap),
        "api_version": "1.4.0",
        "implementation_version": "1",
        "description": "records the calls of the program",
    }
    manifest = folder / "layers" / "drawtap.json"
    manifest.parent.mkdir()
    manifest.write_text(json.dumps({"file_format_version": "1.2.0", "layer": about}))
    variables = {"VK_INSTANCE_LAYERS": _LAYER, "VK_ADD_LAYER_PATH": str(manifest.parent), "DRAWTAP_API": "vk"}
    for name in ("VK_INSTANCE_LAYERS", "VK_ADD_LAYER_PATH"):
        variables[name] = ":".join(filter(None, (variables[name], os.environ.get(name))))
    return variables


def _preload(modules: Sequence[Path]) -> str:
    for module in modules:
        if set(str(module)) & set(": "):
            raise UsageError(f"the loader cannot take a module whose path has a blank or a colon: {module}")
    return " ".join(filter(None, (*(str(preloadable(module)) for module in modules), os.environ.get("LD_PRELOAD"))))


def find_program(name: str) -> Path:
    """Return the file that the shell would run for `name`. Raises ChildError with code 127 or 126."""
    if "/" in name:
        path = Path(name)
        if path.is_dir():
            raise _no_start(f"{name} is a folder", 126, None)
        if not path.exists():
            near = did_you_mean(path.name, _names(path.parent))
            raise _no_start(f"there is no program {name}", 127, near)
        if not os.access(path, os.X_OK):
            raise _no_start(f"{name} is not executable", 126, f"chmod +x {name} makes it so")
        return path.absolute()
    on_path = shutil.which(name)
    if on_path:
        return Path(on_path).absolute()
    if Path(name).exists():
        raise _no_start(f"there is no program {name} in PATH", 127, f"for the file in this folder say ./{name}")
    folders = {Path(folder) for folder in os.get_exec_path()}
    near = did_you_mean(name, {n for folder in folders for n in _names(folder)})
    raise _no_start(f"there is no program {name} in PATH", 127, near)


def output_of(
    arguments: Sequence[str], *, seconds: float = 10, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a small helper program and return (exit code, what it printed); -1 where it cannot run or hangs."""
    try:
        done = subprocess.run(
            list(arguments),
            capture_output=True,
            text=True,
            timeout=seconds,
            env=environment,
            check=False,
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, str(error)
    return done.returncode, done.stdout or done.stderr


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(folder)]
    except OSError:
        return []


def _no_start(message: str, code: int, hint: str | None) -> ChildError:
    error = ChildError(message, hint=hint)
    error.exit_code = code
    return error


def _checked_output(output: Path, *, force: bool) -> Path:
    check_target(output, force=force)
    if output.exists() and not output.is_file():
        raise InputError(f"{output} is not a regular file", hint="name another file with -o")
    output.unlink(missing_ok=True)
    return output.absolute()


def _checked_folder(output: Path) -> Path:
    # Files that stand there already are left alone: what is saved gets names of its own.
    if not os.access(output.absolute().parent, os.W_OK | os.X_OK):
        raise UsageError(f"{output.absolute().parent} is not a writable folder", hint="name another file with -o")
    return output.absolute()


def _check_frame_end(rule: str | None) -> None:
    if not rule or rule == "auto":
        return
    signatures = SIGNATURES_VULKAN if is_there(SIGNATURES_VULKAN) else SIGNATURES
    lines = part(signatures).read_text(encoding="utf-8").splitlines()
    known = {line.split("\t")[3] for line in lines if line.startswith("F\t")}
    for name in rule.split(","):
        if name not in known:
            raise UsageError(f"--frame-end: there is no function {name}", hint=did_you_mean(name, known))


def _inherited() -> dict[str, str]:
    # A program that is recorded or run has no use for the word between recorder and receiver.
    return {name: value for name, value in os.environ.items() if name != "DRAWTAP_TOKEN"}


def _socket_folder() -> str:
    # A socket's name has 107 bytes at most.
    folder = tempfile.gettempdir()
    return folder if len(os.fsencode(folder)) <= _LONGEST_FOLDER else "/tmp"


def _token_file(folder: Path) -> dict[str, str]:
    # Should the drainer die, the one that the tap starts in its place reads the word from there.
    token = os.environb.get(b"DRAWTAP_TOKEN")
    if not token or "DRAWTAP_TOKEN_FILE" in os.environ:
        return {}
    file = folder / "token"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as to:
        to.write(token + b"\n")
    return {"DRAWTAP_TOKEN_FILE": str(file)}


def _annotation(program: Sequence[str], executable: Path, how: RecordOptions) -> dict[str, object]:
    about: dict[str, object] = {"kind": "command", "drawtap": drawtap.__version__}
    if how.identity == "none":
        about["program"] = executable.name
    else:
        about |= {
            "program": str(executable),
            "arguments": list(program[1:]),
            "directory": str(Path.cwd()),
            "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(_GRAPHICS_VARIABLES)},
        }
    if how.frame_end and how.frame_end != "auto":
        about["frame_end"] = how.frame_end
    # Names of files and arguments may be bytes that are no text; the recording has JSON, which is text.
    text = json.dumps(about, ensure_ascii=False).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    readable: dict[str, object] = json.loads(text)
    return readable


_WHY_NO_START = {
    errno.ENOEXEC: "a script needs a #! line",
    errno.ENOENT: "the program is there, but not its interpreter: for a script, see its #! line",
}


def _run(
    executable: Path,
    program: Sequence[str],
    environment: Mapping[str, str],
    tap: Path | None,
    started: Callable[[int], None],
) -> tuple[int, _Seen]:
    child: subprocess.Popen[bytes] | None = None

    def pass_on(number: int, frame: FrameType | None) -> None:
        if child is not None:
            with contextlib.suppress(OSError):
                child.send_signal(number)

    def stay(number: int, frame: FrameType | None) -> None:
        # The terminal has sent it to the program too; what that does with it decides. A handler and not SIG_IGN,
        # which the program would inherit.
        pass

    with _handlers({signal.SIGINT: stay, signal.SIGQUIT: stay, signal.SIGTERM: pass_on, signal.SIGHUP: pass_on}):
        try:
            child = subprocess.Popen(list(program), executable=str(executable), env=dict(environment))
        except OSError as error:
            hint = _WHY_NO_START.get(error.errno or 0)
            raise _no_start(f"{executable} does not start: {error.strerror}", 126, hint) from error
        started(child.pid)
        seen = _Seen() if tap is None else _watch(child.pid, tap.name)
        return child.wait(), seen


@dataclass(frozen=True)
class _Seen:
    """The looks at a program and its children while they ran.

    `tapped` and `libraries` as in `Recording`. `strangers` are processes with the tap that could not reach the
    recorder: their number, with the name and the reason.
    """

    tapped: bool | None = None
    libraries: frozenset[str] = frozenset()
    strangers: Mapping[int, tuple[str, str]] = field(default_factory=dict)


def _watch(pid: int, tap: str) -> _Seen:
    # Until the program ends, see which graphics libraries it has: afterwards nobody can tell.
    seen: set[str] = set()
    tapped: bool | None = None
    strangers: dict[int, tuple[str, str]] = {}
    end = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(end, select.POLLIN)
        for seconds in (*_LOOKS, None):
            if poll.poll(None if seconds is None else seconds * 1000):
                break
            for process in _family(pid):
                names = _mapped(process)
                if names:
                    tapped = bool(tapped) or tap in names
                    seen |= names
                if tap in names and any(name.startswith(_GRAPHICS_LIBRARIES) for name in names):
                    strangers |= _stranger(process)
    finally:
        os.close(end)
    return _Seen(tapped, frozenset(name for name in seen if name.startswith(_GRAPHICS_LIBRARIES)), strangers)


def _stranger(pid: int) -> dict[int, tuple[str, str]]:
    """Say why a process cannot reach the recorder unless it did so before; empty: it can."""
    place = Path(f"/proc/{pid}")
    try:
        name = (place / "comm").read_text(errors="replace").strip()
        user, root, own = place.stat().st_uid, (place / "root").readlink(), Path("/proc/self/root").readlink()
    except OSError:
        return {}
    if user != os.geteuid():
        why = f"it changed to user {user} before its first call, and the recorder takes only its own user's processes"
    elif root != own:
        why = f"it changed its root folder to {root} before its first call, where the recorder cannot be reached"
    else:
        return {}
    return {pid: (name, why)}


class _Late:
    """Processes with the tap, looked at after the program's end: they may still make their first call."""

    def __init__(
        self, socket: bytes, tap: str, wanted: str, waits: Callable[[str], None], unreached: Unreached
    ) -> None:
        # `wanted` is a pattern of names; `waits` as in `record`.
        self._unreached = unreached
        self.left: tuple[str, ...] = ()
        self.stopped_by: int | None = None
        self._socket, self._tap, self._wanted, self._waits = b"DRAWTAP_SOCKET=" + socket, tap, wanted, waits

    def stop(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal that ends the wait."""
        self.stopped_by = number

    def wait(self, drain: Drainer) -> None:
        """Wait until each of them with a graphics library has ended or is recorded.

        Ctrl-C and `stop` leave them alone. So does the time: a child in the background may never call anything.
        """
        looks, said = 0, False
        awaited: list[str] = []
        try:
            while drain.running and (awaited := self._running(drain)[0]):
                if self.stopped_by is not None:
                    raise KeyboardInterrupt
                if looks * _LATE_SECONDS >= _PATIENT_SECONDS:
                    return
                if looks * _LATE_SECONDS >= _SILENT_SECONDS and not said:
                    self._waits(", ".join(awaited))
                    said = True
                looks += 1
                time.sleep(_LATE_SECONDS)
        except KeyboardInterrupt:
            self.left = tuple(f"{which}: it had called nothing when the recording was ended" for which in awaited)

    def others(self, drain: Drainer) -> tuple[str, ...]:
        """Return the names and numbers of those that run now and have called nothing."""
        may_draw, others = self._running(drain)
        return (*(() if self.left else may_draw), *others)

    def _running(self, drain: Drainer) -> tuple[list[str], list[str]]:
        """Return those with a graphics library, and those without."""
        may_draw: list[str] = []
        others: list[str] = []
        lost = self._unreached.found()
        for pid in sorted(int(name) for name in _names(Path("/proc")) if name.isdigit()):
            if pid in drain.pids or not self._is_ours(pid):
                continue
            names = _mapped(pid)
            draws = any(name.startswith(_GRAPHICS_LIBRARIES) and not name.startswith(_SHOWING) for name in names)
            if self._tap not in names or pid in lost or _stranger(pid):
                continue
            with contextlib.suppress(OSError):
                name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
                if fnmatch.fnmatchcase(name, self._wanted):
                    (may_draw if draws else others).append(f"process {pid} ({name})")
        return may_draw, others

    def _is_ours(self, pid: int) -> bool:
        try:
            return self._socket in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False


# From look to look, until `waits` is called, and until nobody is waited for.
_LATE_SECONDS, _SILENT_SECONDS, _PATIENT_SECONDS = 0.1, 1.0, 10.0
_SHOWING = ("libwayland-client",)  # programs have this one that never draw
_GRAPHICS_LIBRARIES = (
    "libGL",
    "libEGL",
    "libOpenGL",
    "libOpenVG",
    "libvulkan",
    "libwayland-client",
    "libSDL",
    "libOSMesa",
)


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from _family(int(child))


def _mapped(pid: int) -> set[str]:
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return set()
    return {line.rsplit("/", 1)[1] for line in maps.splitlines() if "/" in line}


@contextlib.contextmanager
def _handlers(handlers: Mapping[signal.Signals, Callable[[int, FrameType | None], None]]) -> Iterator[None]:
    # Signals that are ignored stay ignored, for the program too: it inherits that, but no handler. nohup and & rely on
    # this.
    heard = {number: handler for number, handler in handlers.items() if signal.getsignal(number) != signal.SIG_IGN}
    try:
        before = {number: signal.signal(number, handler) for number, handler in heard.items()}
    except ValueError:  # not the main thread: signals go elsewhere anyway
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # None: it was not Python that installed it, and Python cannot put it back
                signal.signal(number, handler)
