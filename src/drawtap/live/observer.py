"""Watch programs that were not started under drawtap: their frames, by probes on the functions that show one.

It needs root, or CAP_BPF and CAP_PERFMON, and Linux 6.6. It reads two registers of a function's call and nothing else;
nothing is written into any process. It cannot see programs with a graphics library linked in, and Vulkan programs that
get vkQueuePresentKHR from the device and so bypass the loader.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drawtap.errors import UnavailableError
from drawtap.live.bpf import Probe, Watcher
from drawtap.live.program import Program, Surface

_KEEP_NS = 4_000_000_000
_FORGET_NS = 10_000_000_000


@dataclass(frozen=True)
class Shower:
    """A function that shows a frame: the libraries that have it (by the start of their names), which argument says
    where.

    `kind` is what surfaces are called that it shows.
    """

    name: str
    libraries: tuple[str, ...]
    kind: str
    second: bool = True


# libGL.so.1 of libglvnd passes glXSwapBuffers on to libGLX.so.0: one probe sees it once.
SHOWERS = (
    Shower("eglSwapBuffers", ("libEGL.so.1",), "egl"),
    Shower("eglSwapBuffersWithDamageKHR", ("libEGL.so.1",), "egl"),
    Shower("eglSwapBuffersWithDamageEXT", ("libEGL.so.1",), "egl"),
    Shower("glXSwapBuffers", ("libGLX.so.0",), "glx"),
    Shower("vkQueuePresentKHR", ("libvulkan.so.1",), "vulkan", second=False),
)
_FOLDERS = ("usr/lib", "usr/lib64", "lib", "lib64", "usr/local/lib", "usr/lib/x86_64-linux-gnu",
            "usr/lib/aarch64-linux-gnu")  # fmt: skip


def function_offsets(path: Path, names: set[str]) -> dict[str, int]:
    """Return where functions that a shared library exports begin in its file. Empty for what is no 64-bit ELF library.

    Raises OSError.
    """
    data = path.read_bytes()
    try:
        return _offsets(data, names)
    except (struct.error, IndexError, ValueError):
        return {}


def _offsets(data: bytes, names: set[str]) -> dict[str, int]:
    if data[:6] != b"\x7fELF\x02\x01":
        return {}
    programs, sections = struct.unpack_from("<QQ", data, 32)
    size, count, section_size, section_count = struct.unpack_from("<HHHH", data, 54)
    loads = []
    for n in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, programs + n * size)
        if kind == 1:
            loads.append((address, offset, length))
    offsets: dict[str, int] = {}
    for n in range(section_count):
        at = sections + n * section_size
        _, kind, _, _, offset, length, link = struct.unpack_from("<IIQQQQI", data, at)
        if kind != 11:  # SHT_DYNSYM
            continue
        (texts,) = struct.unpack_from("<Q", data, sections + link * section_size + 24)
        for symbol in range(offset, offset + length, 24):
            name, info, _, section, value = struct.unpack_from("<IBBHQ", data, symbol)
            if info & 15 != 2 or not section or not value:  # STT_FUNC that is defined here
                continue
            end = data.index(b"\0", texts + name)
            text = data[texts + name : end].decode("ascii", errors="replace")
            if text in names:
                offsets[text] = next(value - a + o for a, o, size_ in loads if a <= value < a + size_)
    return offsets


@dataclass
class _Seen:
    times: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    frames: int = 0


class Observer:
    """The frames of all programs. Raises UnavailableError with the reason where it cannot be done here."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._watcher = Watcher()
        self.libraries: list[Path] = []
        self.failed: dict[str, str] = {}
        self._surfaces: dict[tuple[int, int, int], _Seen] = {}
        self._began: dict[int, int] = {}
        try:
            self.look_for_libraries()
            if not self.libraries:
                said = "; ".join(f"{p}: {why}" for p, why in self.failed.items())
                raise UnavailableError(said or "no program and no folder has libEGL, libGLX or libvulkan")
        except BaseException:
            self.close()
            raise

    def look_for_libraries(self) -> int:
        """Probe libraries that are new: in the folders of this system, and mapped by any process (containers too)."""
        new = 0
        for path in self._candidates():
            try:
                new += self._probe(path)
            except OSError:
                continue  # the process is gone, or its files are not ours to read
            except UnavailableError as error:
                self.failed[str(path)] = str(error)
        return new

    def _candidates(self) -> Iterator[Path]:
        wanted = {name for shower in SHOWERS for name in shower.libraries}
        for folder in _FOLDERS:
            for name in sorted(wanted):
                path = self._root / folder / name
                if path.exists():
                    yield path
        for process in os.scandir(self._root / "proc"):
            if not process.name.isdigit():
                continue
            try:
                maps = Path(process.path, "maps").read_text(errors="replace")
            except OSError:
                continue
            files = {line.split(None, 5)[5] for line in maps.splitlines() if "/" in line and " r-xp " in line}
            for file in sorted(files):
                if file.rpartition("/")[2].startswith(tuple(wanted)):
                    yield Path(f"{process.path}/root{file}")

    def _probe(self, path: Path) -> bool:
        name = path.resolve().name if "/root/" not in str(path) else path.name
        fits = [
            (number, shower)
            for number, shower in enumerate(SHOWERS)
            if any(name.startswith(library) or path.name.startswith(library) for library in shower.libraries)
        ]
        offsets = function_offsets(path, {shower.name for _, shower in fits})
        probes = [Probe(offsets[s.name], number) for number, s in fits if s.name in offsets]
        if not self._watcher.attach(path, probes):
            return False
        self.libraries.append(path)
        return True

    def poll(self, seconds: float = 0.0) -> int:
        """Take what has happened, waiting at most `seconds` for something. Returns the number of frames."""
        if seconds:
            self._watcher.wait(seconds)
        events = self._watcher.events()
        if not len(events):
            return 0
        pids = (events["pid_tid"] >> np.uint64(32)).astype(np.int64)
        second = np.array([shower.second for shower in SHOWERS])[events["cookie"]]
        keys = np.where(second, events["second"], events["first"])
        order = np.lexsort((events["t"], keys, events["cookie"], pids))
        pids, keys, numbers, times = (a[order] for a in (pids, keys, events["cookie"], events["t"]))
        edges = np.flatnonzero((np.diff(pids) != 0) | (np.diff(keys) != 0) | (np.diff(numbers) != 0)) + 1
        for begin, end in zip([0, *edges], [*edges, len(pids)], strict=True):
            where = (int(pids[begin]), int(numbers[begin]), int(keys[begin]))
            seen = self._surfaces.setdefault(where, _Seen())
            kept = seen.times[np.searchsorted(seen.times, times[end - 1] - _KEEP_NS) :]
            seen.times = np.concatenate((kept, times[begin:end].astype(np.int64)))
            seen.frames += int(end - begin)
        return len(events)

    def take(self) -> dict[int, NDArray[np.int64]]:
        """Return the times of all frames since the last call, ascending, by pid; `programs` does not see them."""
        events = self._watcher.events()
        pids = (events["pid_tid"] >> np.uint64(32)).astype(np.int64)
        return {int(pid): np.sort(events["t"][pids == pid]) for pid in np.unique(pids)}

    def programs(self, now_ns: int) -> tuple[Program, ...]:
        """Return the programs that showed frames, as the manager has them; `id` is the negative pid: nobody holds them.

        A program that shows nothing for ten seconds, or is gone, is left out.
        """
        by_pid: dict[int, list[Surface]] = {}
        for (pid, number, key), seen in list(self._surfaces.items()):
            gone = not (self._root / "proc" / str(pid)).exists()
            if gone or now_ns - int(seen.times[-1]) > _FORGET_NS:
                del self._surfaces[pid, number, key]
                continue
            zeros = np.zeros_like(seen.times)
            by_pid.setdefault(pid, []).append(
                Surface(key, SHOWERS[number].kind, key, frames=seen.frames, shown_ns=seen.times, wait_ns=zeros,
                        swap_ns=zeros)
            )  # fmt: skip
        return tuple(self._program(pid, surfaces) for pid, surfaces in sorted(by_pid.items()))

    def _program(self, pid: int, surfaces: list[Surface]) -> Program:
        folder = self._root / "proc" / str(pid)
        try:
            name = (folder / "comm").read_text().strip()
            uid = folder.stat().st_uid
            command = tuple(w for w in (folder / "cmdline").read_text(errors="replace").split("\0") if w)
        except OSError:
            name, uid, command = "", 0, ()
        try:
            exe = (folder / "exe").readlink()
        except OSError:
            exe = Path()
        surfaces.sort(key=lambda s: int(s.shown_ns[0]))
        return Program(-pid, pid, name or str(pid), exe, uid, command, surfaces=tuple(surfaces),
                       frames=sum(s.frames for s in surfaces))  # fmt: skip

    def close(self) -> None:
        """Take all probes away."""
        self._watcher.close()
