"""The recordings that are open at a prompt, by name."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drawtap.errors import UsageError, did_you_mean, no_file, whole_file
from drawtap.scratch import Scratch
from drawtap.trace.edit import empty
from drawtap.trace.trace import Trace, open_trace


def copied(trace: Path, file: Path) -> int:
    """Copy a recording; a file of that name is replaced only by the whole. Returns the size in bytes."""
    with whole_file(file) as part:
        shutil.copyfile(trace, part)
    return file.stat().st_size


@dataclass
class Loaded:
    """An open recording. `saved` is False for one that was made here and has no file of its own yet."""

    name: str
    trace: Trace
    saved: bool


class Workspace:
    """Recordings by name; one is the current one, which verbs and queries without a name mean."""

    def __init__(self, *, frame_end: str | None = None) -> None:
        self._loaded: dict[str, Loaded] = {}
        self._folder = Scratch()
        self._frame_end = frame_end
        self._made = 0
        self.current: Loaded | None = None

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        for loaded in self._loaded.values():
            loaded.trace.close()
        self._folder.cleanup()

    def __iter__(self) -> Iterator[Loaded]:
        return iter(self._loaded.values())

    def __contains__(self, name: str) -> bool:
        return name in self._loaded

    @property
    def folder(self) -> Path:
        """Where recordings stand that were made here and not saved."""
        return Path(self._folder.name)

    def get(self, name: str | None = None) -> Loaded:
        """Return a recording by name, or the current one. Raises UsageError where there is none."""
        if name is None:
            if self.current is None:
                raise UsageError("no recording is open", hint="load FILE opens one")
            return self.current
        if name not in self._loaded:
            there = ", ".join(self._loaded) or "none"
            raise UsageError(
                f"no recording is called {name}", hint=did_you_mean(name, self._loaded) or f"open: {there}"
            )
        return self._loaded[name]

    def free_name(self) -> str:
        """Return t0, t1, ...: the first that is free."""
        number = 0
        while f"t{number}" in self._loaded:
            number += 1
        return f"t{number}"

    def new_path(self, name: str) -> Path:
        """Return a path for a recording to be made here."""
        self._made += 1
        return self.folder / f"{name}-{self._made}.dtap"

    def load(self, path: Path, name: str | None = None, *, saved: bool = True) -> Loaded:
        """Open a recording under a name and make it the current one. One of that name is closed."""
        if name is not None and not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise UsageError(f"{name!r} cannot be the name of a recording", hint="letters, digits and _")
        if not path.exists():
            raise no_file(path)
        trace = open_trace(path, frame_end=self._frame_end)
        name = name or self.free_name()
        if name in self._loaded:
            self._loaded[name].trace.close()
        self.current = self._loaded[name] = Loaded(name, trace, saved)
        self._tell()
        return self.current

    def new(self, name: str | None = None) -> Loaded:
        """Make an empty recording."""
        name = name or self.free_name()
        path = self.new_path(name)
        empty(path)
        return self.load(path, name, saved=False)

    def use(self, name: str) -> Loaded:
        """Make a recording the current one."""
        self.current = self.get(name)
        return self.current

    def close(self, name: str | None = None) -> Loaded:
        """Close a recording; the one that was opened last becomes the current one."""
        loaded = self.get(name)
        loaded.trace.close()
        del self._loaded[loaded.name]
        if self.current is loaded:
            self.current = next(reversed(self._loaded.values()), None)
        self._tell()
        return loaded

    def save(self, name: str | None, path: Path | None) -> tuple[Path, int]:
        """Write a recording to a file; its own where `path` is None. Returns where, and the size in bytes."""
        loaded = self.get(name)
        if path is None:
            if not loaded.saved:
                raise UsageError(f"{loaded.name} has no file yet", hint=f"save {loaded.name} FILE")
            return loaded.trace.path, loaded.trace.path.stat().st_size
        if not (path.exists() and path.samefile(loaded.trace.path)):
            copied(loaded.trace.path, path)
        was_current = self.current
        self.load(path, loaded.name)
        if was_current is not loaded and was_current is not None:
            self.current = was_current
        return path, path.stat().st_size

    def _tell(self) -> None:
        # In SQL, `b.calls` means the calls of the recording called b.
        for loaded in self._loaded.values():
            loaded.trace.database.others = {other.name: other.trace.database for other in self._loaded.values()}
            loaded.trace.database.into = self.folder
