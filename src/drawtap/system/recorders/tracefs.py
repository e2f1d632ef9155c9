"""The kernel's own tracing: an instance of its ring buffer, read page by page, written as trace.dat."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import select
import tempfile
import threading
from pathlib import Path

from drawtap.errors import UnavailableError
from drawtap.system import tracedat
from drawtap.system.recorder import RECORDERS, KernelRecordOptions, Recorded, tracefs

_PREFIX = "drawtap-"
_WAIT_MS = 500
_CLOCK = "mono"


@RECORDERS.register("tracefs")
class TracefsRecorder:
    """Records with an instance of its own: other users of tracing are not disturbed.

    Full pages go from the kernel's buffer to a file for each CPU without being copied through the program; at the end
    they become one trace.dat (version 6), which trace-cmd and KernelShark open too.
    """

    def __init__(self, wish: KernelRecordOptions) -> None:
        self._wish = wish
        self._root = Path()
        self._instance: Path | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._pages: dict[int, Path] = {}
        self._threads: dict[int, tuple[str, int | None]] = {}
        self._failed: OSError | None = None

    def start(self) -> None:
        """Make the instance and begin."""
        self._root = tracefs()
        _remove_left_over(self._root)
        instance = self._root / "instances" / f"{_PREFIX}{os.getpid()}"
        try:
            instance.mkdir()
        except OSError as error:
            raise UnavailableError(
                f"{instance.parent}: {error.strerror}", hint="recording the kernel needs root (sudo)"
            ) from None
        self._instance = instance
        try:
            self._set_up(instance)
            self._threads = running_threads()
            self._thread = threading.Thread(target=self._drain, name="drawtap-kernel", daemon=True)
            self._thread.start()
            (instance / "tracing_on").write_text("1")
        except OSError as error:
            self._clean_up()
            where = error.filename or instance
            raise UnavailableError(
                f"{where}: {error.strerror}", hint="recording the kernel needs root (sudo)"
            ) from None
        except BaseException:
            self._clean_up()
            raise

    def _set_up(self, instance: Path) -> None:
        (instance / "tracing_on").write_text("0")
        (instance / "trace_clock").write_text(_CLOCK)
        (instance / "buffer_size_kb").write_text(str(self._wish.buffer_kib))
        for event in self._wish.events:
            (instance / "events" / event.replace(":", "/") / "enable").write_text("1")
        self._folder = tempfile.TemporaryDirectory(prefix=".drawtap-", dir=self._wish.output.parent)
        numbers = (int(path.name.removeprefix("cpu")) for path in (instance / "per_cpu").iterdir())
        self._pages = {cpu: Path(self._folder.name) / f"cpu{cpu}" for cpu in sorted(numbers)}

    def stop(self) -> Recorded:
        """Take what is left, write trace.dat, remove the instance."""
        assert self._instance is not None
        try:
            with contextlib.suppress(OSError):
                (self._instance / "tracing_on").write_text("0")
            self._stop.set()
            if self._thread is not None:
                self._thread.join()
            if self._failed is not None:
                raise UnavailableError(f"{self._wish.output.parent}: {self._failed.strerror or self._failed}")
            return self._write(self._instance)
        finally:
            self._clean_up()

    def _clean_up(self) -> None:
        # An instance that somebody still reads cannot be removed.
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._instance is not None:
            _remove(self._instance)
            self._instance = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    # ---- pages -------------------------------------------------------------------------------------------------

    def _drain(self) -> None:
        assert self._instance is not None
        try:
            with contextlib.ExitStack() as open_files:
                readers = {}
                for cpu, path in self._pages.items():
                    source = self._instance / "per_cpu" / f"cpu{cpu}" / "trace_pipe_raw"
                    readers[cpu] = open_files.enter_context(_Pages(source, path))
                poll = select.poll()
                for pages in readers.values():
                    poll.register(pages.source, select.POLLIN)
                while not self._stop.is_set():
                    # The kernel says so when half of a buffer is full; else it is looked at from time to time.
                    poll.poll(_WAIT_MS)
                    for pages in readers.values():
                        pages.take_full()
                for pages in readers.values():
                    pages.take_all()
        except OSError as error:
            self._failed = error

    def _write(self, instance: Path) -> Recorded:
        lost = {cpu: _lost(_text(instance / "per_cpu" / f"cpu{cpu}" / "stats")) for cpu in self._pages}
        # Names of threads that came while it ran; those that were there before are known from the start.
        threads = {**self._threads, **_saved(self._root), **running_threads()}
        events = self._root / "events"
        contents = tracedat.Contents(
            header_page=_text(events / "header_page"),
            header_event=_text(events / "header_event"),
            ftrace=tuple(filter(None, (_text(events / "ftrace" / name / "format") for name in ("print", "bprint")))),
            formats=tuple(
                (event.partition(":")[0], _text(events / event.replace(":", "/") / "format"))
                for event in self._wish.events
            ),
            threads=threads,
            clock=_text(instance / "trace_clock").strip(),
            uname=" ".join((platform.system(), platform.node(), platform.release(), platform.version())),
            statistics=tuple(_text(instance / "per_cpu" / f"cpu{cpu}" / "stats") for cpu in self._pages),
        )
        size = tracedat.write(self._wish.output, contents, self._pages)
        notes = tuple(f"CPU {cpu}: the kernel dropped {count} events" for cpu, count in lost.items() if count)
        return Recorded(self._wish.output, size, {cpu: count for cpu, count in lost.items() if count}, notes)


class _Pages:
    # The pages of one CPU: from the kernel to a file.
    def __init__(self, source: Path, target: Path) -> None:
        self.source = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._target = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
        self._read, self._write = os.pipe2(os.O_CLOEXEC)

    def take_full(self) -> None:
        """Move the pages that are full."""
        flags = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK
        try:
            while count := os.splice(self.source, self._write, 16 * 4096, flags=flags):
                while count:
                    count -= os.splice(self._read, self._target, count)
        except BlockingIOError:
            return

    def take_all(self) -> None:
        """Move everything, then copy the page that is not full."""
        self.take_full()
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.source, 1 << 16):
                os.write(self._target, data)

    def __enter__(self) -> _Pages:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in (self.source, self._target, self._read, self._write):
            os.close(descriptor)


def running_threads() -> dict[int, tuple[str, int | None]]:
    """Return the threads that run now: tid -> (name, process)."""
    threads: dict[int, tuple[str, int | None]] = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            for task in (process / "task").iterdir():
                with contextlib.suppress(OSError):
                    comm = (task / "comm").read_text(errors="replace").strip("\n")
                    threads[int(task.name)] = (comm, int(process.name))
    return threads


def _saved(root: Path) -> dict[int, tuple[str, int | None]]:
    threads: dict[int, tuple[str, int | None]] = {}
    for line in _text(root / "saved_cmdlines").splitlines():
        tid, _, comm = line.partition(" ")
        if tid.isdigit() and comm != "<...>":
            threads[int(tid)] = (comm, None)
    return threads


def _lost(statistics: str) -> int:
    counts = dict(re.findall(r"^([a-z ]+): (\d+)", statistics, re.MULTILINE))
    return sum(int(counts.get(name, 0)) for name in ("overrun", "commit overrun", "dropped events"))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _remove(instance: Path) -> None:
    with contextlib.suppress(OSError):
        (instance / "tracing_on").write_text("0")
    with contextlib.suppress(OSError):
        (instance / "events" / "enable").write_text("0")
    with contextlib.suppress(OSError):
        instance.rmdir()


def _remove_left_over(root: Path) -> None:
    # Leftovers of recorders that were killed: their process is gone.
    with contextlib.suppress(OSError):
        for path in (root / "instances").iterdir():
            pid = path.name.removeprefix(_PREFIX)
            if path.name.startswith(_PREFIX) and pid.isdigit() and not Path("/proc", pid).exists():
                _remove(path)
