"""Side databases that this user's drawtap has written: only these are read.

A side database stands beside its recording, and anybody may have put it there, or changed a row of it. A folder of the
user's has a note for each: the recording, a hash of the file, and the file system's facts about it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from pathlib import Path

from drawtap.parts import cache_folder

_FOOTER_END = b"DTAPEND\n"
_MOST_NOTE = 4096  # bytes
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # neither a link nor a pipe holds us up


def stamp(path: Path) -> str:
    """Return what tells one state of a recording from another: its footer has the hashes of all that is in it."""
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        digest = hashlib.blake2b(file.read(32), digest_size=16)
        tail = b""
        if about.st_size >= 48:
            file.seek(-16, os.SEEK_END)
            tail = file.read(16)
        footer = int.from_bytes(tail[:8], "little")
        if tail[8:] == _FOOTER_END and 32 <= footer < about.st_size:
            file.seek(footer)
            while part := file.read(1 << 20):
                digest.update(part)
        else:  # it was not closed: it is what stands at this place since then
            digest.update(repr((about.st_dev, about.st_ino, about.st_ctime_ns)).encode())
    return f"{digest.hexdigest()} {about.st_size} {about.st_mtime_ns}"


def note(side: Path, of: str) -> None:
    """Note that `side` was written just now, for the recording with the stamp `of`. Raises OSError."""
    place = _place(of)
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with side.open("rb") as file:
        noted = {"stamp": of, "hash": _hash(file.fileno()), "file": _identity(os.fstat(file.fileno()))}
    part = place.with_name(f"{place.name}.{os.getpid()}.part")
    with contextlib.suppress(FileNotFoundError):
        part.unlink()
    made = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(made, "w", encoding="utf-8") as text:
        json.dump(noted, text)
    part.replace(place)


def doubt(side: Path, of: str) -> str:
    """Return why `side` is not to be read as the side database of the recording with the stamp `of`; "": it is."""
    try:
        file = os.open(side, _LOOK)
    except OSError as error:
        return f"it cannot be opened: {error.strerror}"
    try:
        about = os.fstat(file)
        if not _is_own_file(about):
            return "others may have written it"
        if _others_write(side.parent) or os.path.lexists(side.with_name(side.name + ".wal")):
            return "others may write beside it"
        noted = _told(of)
        if noted is None:
            return "this user did not write it for this state of the recording"
        if noted["file"] != _identity(about):
            # Moved or copied: then it is still what was written, byte for byte.
            if noted["hash"] != _hash(file):
                return "it is not as it was written"
            with contextlib.suppress(OSError):
                note(side, of)
    finally:
        os.close(file)
    return ""


def _told(of: str) -> dict[str, object] | None:
    try:
        file = os.open(_place(of), _LOOK)
    except OSError:
        return None
    try:
        about = os.fstat(file)
        if not _is_own_file(about):
            return None
        noted = json.loads(os.read(file, _MOST_NOTE))
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(file)
    good = isinstance(noted, dict) and noted.get("stamp") == of and {"hash", "file"} <= noted.keys()
    return noted if good else None


def _place(of: str) -> Path:
    return cache_folder("side") / f"{hashlib.blake2b(of.encode(), digest_size=16).hexdigest()}.json"


def _identity(about: os.stat_result) -> list[int]:
    # Nobody but root sets the time of the last change of a file.
    return [about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns]


def _is_own_file(about: os.stat_result) -> bool:
    return stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o022


def _others_write(folder: Path) -> bool:
    about = folder.stat()
    return about.st_uid not in (0, os.geteuid()) or bool(about.st_mode & 0o022)


def _hash(file: int) -> str:
    digest = hashlib.blake2b(digest_size=32)
    at = 0
    while part := os.pread(file, 1 << 20, at):
        digest.update(part)
        at += len(part)
    return digest.hexdigest()
