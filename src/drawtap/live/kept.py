"""The users' limits of running programs, in a file of the manager's folder: they survive a restart of the manager.

A program is known by its process number, when that process began, and its file: numbers are used again, and a process
may become another program. Entries of dead processes are dropped.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drawtap.live.identity import started_of
from drawtap.live.program import Importance, Limit, Pacing

if TYPE_CHECKING:
    from drawtap.live.programs import Managed

_MOST_BYTES = 1 << 20


class KeptLimits:
    """The file. One that cannot be read or written costs what it says, and nothing else."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._said: dict[str, dict[str, Any]] = {}
        self.failed = ""  # why the file could not be written the last time

    def load(self) -> None:
        """Read the limits of the manager before this one."""
        with contextlib.suppress(OSError, ValueError, RecursionError):
            file = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                about = os.fstat(file)
                own = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o022
                content = json.loads(os.read(file, _MOST_BYTES)) if own else {}
            finally:
                os.close(file)
            if isinstance(content, dict):
                self._said = {k: v for k, v in content.items() if isinstance(v, dict) and _is_there(k)}

    def restore(self, managed: Managed) -> bool:
        """Tell a program that has just registered what people said of it. False: nothing is known."""
        said = self._said.get(_key(managed) or "")
        if said is None:
            return False
        try:
            managed.user_limit = _limit(said.get("limit"))
            for key, limit in (said.get("surfaces") or {}).items():
                made = _limit(limit)
                if made and managed.control.hold_surface(int(key), made):
                    managed.surface_limits[int(key)] = made
            managed.importance = Importance(said["class"]) if said.get("class") else None
            managed.target_fps, managed.weight = _number(said.get("target_fps")), _number(said.get("weight"))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            return False
        return True

    def save(self, managed: Managed) -> None:
        """Write down the current limits of a program."""
        key = _key(managed)
        if key is None:
            return
        said = {
            "limit": _written(managed.user_limit),
            "surfaces": {str(k): _written(limit) for k, limit in managed.surface_limits.items()},
            "class": managed.importance.value if managed.importance else None,
            "target_fps": managed.target_fps,
            "weight": managed.weight,
        }
        settings = {k: v for k, v in said.items() if v}
        if self._said.get(key, {}) == settings:
            return
        self._said = {k: v for k, v in self._said.items() if k != key and _is_there(k)} | (
            {key: settings} if settings else {}
        )
        self._write()

    def _write(self) -> None:
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        try:
            with contextlib.suppress(FileNotFoundError):
                part.unlink()
            file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(file, "w", encoding="utf-8") as text:
                json.dump(self._said, text)
            part.replace(self._path)
            self.failed = ""
        except OSError as error:
            self.failed = f"{self._path} cannot be written: {error.strerror}"


def _key(managed: Managed) -> str | None:
    # A process of another pid namespace has no number here.
    began = started_of(managed.peer.pid) if managed.peer.pid else None
    return None if began is None else f"{managed.peer.pid} {began} {managed.about.exe}"


def _is_there(key: str) -> bool:
    pid, _, rest = key.partition(" ")
    return pid.isdigit() and started_of(int(pid)) == rest.partition(" ")[0]


def _written(limit: Limit | None) -> dict[str, object] | None:
    return {"fps": limit.fps, "reason": limit.reason, "pacing": limit.pacing.value} if limit else None


def _limit(said: Mapping[str, Any] | None) -> Limit | None:
    if not said:
        return None
    fps = float(said["fps"])
    if fps and not 1 <= fps <= 10000:
        raise ValueError(f"no limit: {fps}")
    return Limit(fps, str(said["reason"])[:200], "user", Pacing(said["pacing"]), chosen=fps > 0)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 < value <= 10000 else None
