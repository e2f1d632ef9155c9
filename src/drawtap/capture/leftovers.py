"""Find and delete what drawtap keeps on a machine and can do without: caches, and what killed runs left behind."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from drawtap import scratch
from drawtap.instrument.compile import module_folder
from drawtap.parts import cache_folder

#: The content of a folder of the cache, and the price of deleting it.
_CACHES = {
    "modules": "compiled modules",
    "state": "indexes of the state of recordings",
    "side": "checked certificates",
    "engines": "links to engines",
}
# As earlier versions made them; and sockets of taps that started their own drainer: drawtap-PID-TIME.
_WORDS = "bisect|corpus|farm|fleet|minimize|play|shot|signers|verdict"
_TEMPORARY = re.compile(rf"\.?drawtap-(?:(?:(?:{_WORDS})-)?[a-z0-9_]{{8}}(?:\.calls)?|[0-9]+-[0-9a-f]+)")
_LOADED = re.compile(r"/(?:libdrawtap-[a-z]+\.so|drawtap-(?:drain|play|ring))(?: \(deleted\))?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Leftover:
    """A folder or file that can be deleted: what it is, its size on the disk in bytes; `in_use`: a run may need it."""

    path: Path
    what: str
    size_bytes: int
    in_use: bool = False


def leftovers() -> list[Leftover]:
    """Return the caches of this user, then what is left in the temporary folder of runs that were killed."""
    return [*_caches(), *_temporary()]


def delete(items: Sequence[Leftover]) -> int:
    """Delete `items` but those in use; return the bytes that this freed. Raises OSError where one cannot be deleted."""
    freed = 0
    for item in items:
        if item.in_use:
            continue
        if item.path.is_dir() and not item.path.is_symlink():
            shutil.rmtree(item.path)
        else:
            item.path.unlink(missing_ok=True)
        freed += item.size_bytes
    return freed


def _caches() -> Iterator[Leftover]:
    common = cache_folder("state").parent
    folders = {common / name: what for name, what in _CACHES.items()} | {module_folder(): _CACHES["modules"]}
    for folder, what in folders.items():
        if folder.is_dir() and any(folder.iterdir()):
            yield Leftover(folder, f"cache: {what}", _size(folder))


def _temporary() -> Iterator[Leftover]:
    started = min(_starts(), default=None)
    for entry in sorted(os.scandir(tempfile.gettempdir()), key=lambda e: e.name):
        is_scratch = entry.name.startswith(scratch.PREFIX)
        if not is_scratch and not _TEMPORARY.fullmatch(entry.name):
            continue
        about = entry.stat(follow_symlinks=False)
        if about.st_uid != os.geteuid() or stat.S_ISLNK(about.st_mode):
            continue
        # The process that made it had started before it was changed for the last time.
        in_use = scratch.is_held(entry.path) if is_scratch else started is not None and started <= about.st_mtime
        yield Leftover(Path(entry.path), "left by a run that was killed", _size(Path(entry.path)), in_use)


def _starts() -> Iterator[float]:
    """Yield when each process with drawtap in it started, but for this one: seconds of the system's clock."""
    boot = next(
        float(line.split()[1]) for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime")
    )
    ticks = os.sysconf("SC_CLK_TCK")
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if int(process.name) == os.getpid() or not _has_drawtap(process):
                continue
            # After the name in brackets, which may have blanks; `starttime` is field 22. /proc rounds to a second.
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            yield boot + int(fields[19]) / ticks - 1
        except OSError:
            continue  # it ended, or belongs to somebody else, whose folders are not touched


def _has_drawtap(process: Path) -> bool:
    words = (process / "cmdline").read_bytes().split(b"\0")
    if any(b"drawtap" in word for word in words):
        return True
    return bool(_LOADED.search((process / "maps").read_text(errors="replace")))


def _size(path: Path) -> int:
    if not path.is_dir() or path.is_symlink():
        return path.lstat().st_blocks * 512
    return sum(file.lstat().st_blocks * 512 for file in path.rglob("*"))
