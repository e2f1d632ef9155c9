"""Start programs: the drainer, then the program with the tap, in the same terminal, and wait for both."""

from __future__ import annotations

import contextlib
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
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import drawtap
from drawtap.errors import ChildError, InputError, UnavailableError, UsageError, did_you_mean
from drawtap.parts import DRAINER, SIGNATURES, TAP, part

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
# When the running program's libraries are looked at, in seconds one after the other: densely at first, since
# programs can be short, and not for ever, since reading the maps of a large process is not free for it.
_LOOKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


@dataclass(frozen=True)
class Recording:
    """What came of running a program with the tap.

    `code` is its exit code, 128 + n where signal n ended it. `files` are the traces that were written, that of the
    first process first; `libraries` the graphics libraries seen in the program while it ran; `tapped` whether the
    tap was seen in it, None where the program ended before anyone could look.
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


def record(
    program: Sequence[str],
    output: Path,
    *,
    timing: str = "both",
    frame_end: str | None = None,
    force: bool = False,
    hash_frames: bool = False,
) -> Recording:
    """Run `program` with the tap and write what it calls to `output`.

    The program keeps this terminal and its standard streams. Ctrl-C reaches it as always and leaves the recorder
    to finish the file; SIGTERM and SIGHUP are passed on. Raises UsageError where `output` exists and `force` is
    not set, ChildError with code 127 or 126 where the program cannot be started, UnavailableError where a part of
    drawtap is missing.
    """
    if not program:
        raise UsageError("there is no program to record", hint="drawtap record -o FILE -- PROGRAM ARGUMENTS")
    executable = find_program(program[0])
    tap, drainer = part(TAP), part(DRAINER)
    _check_frame_end(frame_end)
    output = _checked_output(output, force=force)
    about = _annotation(program, executable, frame_end)
    with tempfile.TemporaryDirectory(prefix="drawtap-") as folder:
        socket = Path(folder) / "socket"
        with _Drainer(drainer, socket, output, timing, about) as drain:
            environment = dict(os.environ, DRAWTAP_SOCKET=str(socket))
            if hash_frames:
                environment["DRAWTAP_HASH_FRAMES"] = "1"
            environment["LD_PRELOAD"] = " ".join(filter(None, (str(tap), os.environ.get("LD_PRELOAD"))))
            started = time.monotonic()
            status, tapped, libraries = _run(executable, program, environment, tap, drain.watch)
            seconds = time.monotonic() - started
            drain.finish(status)
    code, killed_by = (128 - status, -status) if status < 0 else (status, None)
    # The program's own file first, then those of its children.
    files = sorted(dict.fromkeys(drain.files), key=lambda path: path != output)
    tapped = True if drain.processes else tapped
    messages = tuple(drain.messages)
    return Recording(
        executable, tuple(program[1:]), code, killed_by, seconds, tuple(files), libraries, tapped, messages
    )


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
    found = shutil.which(name)
    if found:
        return Path(found).absolute()
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
    if output.is_dir():
        raise UsageError(f"{output} is a folder", hint=f"name a file in it: -o {output / 'trace.dtap'}")
    if output.exists() and not force:
        raise UsageError(f"{output} exists", hint="--force replaces it")
    folder = output.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", hint=f"mkdir -p {folder} makes it")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{folder} is not writable", hint="name another file with -o")
    if output.exists() and not output.is_file():
        raise InputError(f"{output} is not a regular file", hint="name another file with -o")
    output.unlink(missing_ok=True)
    return output.absolute()


def _check_frame_end(rule: str | None) -> None:
    if not rule or rule == "auto":
        return
    lines = part(SIGNATURES).read_text(encoding="utf-8").splitlines()
    known = {line.split("\t")[3] for line in lines if line.startswith("F\t")}
    for name in rule.split(","):
        if name not in known:
            raise UsageError(f"--frame-end: there is no function {name}", hint=did_you_mean(name, known))


def _annotation(program: Sequence[str], executable: Path, frame_end: str | None) -> dict[str, object]:
    about: dict[str, object] = {
        "kind": "command",
        "program": str(executable),
        "arguments": list(program[1:]),
        "directory": str(Path.cwd()),
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(_GRAPHICS_VARIABLES)},
        "drawtap": drawtap.__version__,
    }
    if frame_end and frame_end != "auto":
        about["frame_end"] = frame_end
    return about


class _Drainer:
    # The drainer gets a session of its own: Ctrl-C and a closing terminal must not end it before the program.
    def __init__(self, drainer: Path, socket: Path, output: Path, timing: str, about: Mapping[str, object]) -> None:
        self.files: list[Path] = []
        self.messages: list[str] = []
        self.processes = 0
        self._ready, ready = os.pipe()
        self._status, status = os.pipe()
        arguments = [
            str(drainer),
            "--socket",
            str(socket),
            "--output",
            str(output),
            "--timing",
            timing,
            "--ready-fd",
            str(ready),
            "--status",
            str(status),
            "--annotation",
            json.dumps(about),
        ]
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(ready, status),
            start_new_session=True,
        )
        os.close(ready)
        os.close(status)

    def __enter__(self) -> _Drainer:
        readable, _, _ = select.select([self._ready], [], [], 20)
        started = bool(readable) and bool(os.read(self._ready, 64))
        os.close(self._ready)
        # The status lines are read as they come: a full pipe must not hold the drainer up.
        self._reader = threading.Thread(target=self._read_status, daemon=True)
        self._reader.start()
        if not started:
            self._process.kill()
            self._process.wait()
            self._reader.join(timeout=5)
            said = "; ".join(self.messages) or f"status {self._process.returncode}"
            raise UnavailableError(f"the drainer did not start: {said}")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._close_input()
        if kind is KeyboardInterrupt:
            return  # children of the program may still draw: the drainer goes on by itself
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(timeout=5)

    def watch(self, pid: int) -> None:
        """Name the program, so that the drainer notices its end even if this process is gone."""
        self._tell(f"watch {pid}\n")

    def finish(self, status: int) -> None:
        """Tell how the program ended and wait until the file is whole."""
        self._tell(f"signal {-status}\n" if status < 0 else f"exit {status}\n")
        self._close_input()
        self._process.wait()
        self._reader.join(timeout=5)
        if self._process.returncode:
            self.messages.append(f"the drainer ended with status {self._process.returncode}")

    def _read_status(self) -> None:
        with os.fdopen(self._status, errors="replace") as lines:
            for line in lines:
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                event = entry.get("event")
                if event == "process":
                    self.processes += 1
                elif event == "file" and entry.get("file"):
                    self.files.append(Path(entry["file"]))
                elif event == "error":
                    self.messages.append(str(entry.get("text")))

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()

    def _close_input(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()


def _run(
    executable: Path,
    program: Sequence[str],
    environment: Mapping[str, str],
    tap: Path,
    started: Callable[[int], None],
) -> tuple[int, bool | None, frozenset[str]]:
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
            hint = "a script needs a #! line" if error.errno == 8 else None
            raise _no_start(f"{executable} does not start: {error.strerror}", 126, hint) from error
        started(child.pid)
        tapped, libraries = _watch(child.pid, tap.name)
        return child.wait(), tapped, libraries


def _watch(pid: int, tap: str) -> tuple[bool | None, frozenset[str]]:
    # Until the program ends, see which graphics libraries it has: afterwards nobody can tell.
    seen: set[str] = set()
    tapped: bool | None = None
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
    finally:
        os.close(end)
    return tapped, frozenset(name for name in seen if name.startswith(_GRAPHICS_LIBRARIES))


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
def _handlers(handlers: Mapping[signal.Signals, object]) -> Iterator[None]:
    try:
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}  # type: ignore[arg-type]
    except ValueError:  # not the main thread: signals go elsewhere anyway
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # None: it was not Python that installed it, and Python cannot put it back
                signal.signal(number, handler)
