"""Folders for temporary files. The next run of drawtap removes what killed processes left behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import weakref

TYPE_CHECKING = False  # type checkers take it for that of typing, which takes long to load
if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "drawtap-scratch-"
_swept: set[str] = set()
_of_process: dict[str | None, Scratch] = {}
_kept: list[Scratch] = []


class Scratch:
    """A folder for as long as a `with` block, or as this object, lasts.

    A lock on the folder says that it is in use. Locks end with their processes, also across containers that share the
    folder's parent, and systemd-tmpfiles respects them. Raises OSError where no folder can be made.
    """

    def __init__(self, parent: str | None = None) -> None:
        """Make a folder in `parent`, or in the system's folder for temporary files."""
        if parent is None:
            import tempfile  # brings modules of random numbers and compression

            parent = tempfile.gettempdir()
        if parent not in _swept:
            _swept.add(parent)
            sweep(parent)
        self.name, self.lock = _made(parent)
        self._end = weakref.finalize(self, _remove, self.name, self.lock)

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    def cleanup(self) -> None:
        """Remove the folder with all that is in it."""
        self._end()


def of_process(parent: str | None = None) -> Scratch:
    """Return a folder that lasts as long as the process, one for each `parent`. Raises OSError as `Scratch` does."""
    made = _of_process.get(parent)
    if made is None or not os.path.isdir(made.name):  # noqa: PTH112 -- as above
        made = _of_process[parent] = Scratch(parent)
        _kept.append(made)  # for good: another thread may have made one at the same time
    return made


def sweep(parent: str) -> None:
    """Remove the folders of this user in `parent` whose processes are gone."""
    for path in left_in(parent):
        with _locked(path) as ours:
            if ours:
                _delete(path)


def left_in(parent: str) -> list[str]:
    """Return the paths of all such folders in `parent` that belong to this user."""
    folders = []
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                folders.append((entry.path, entry.stat(follow_symlinks=False).st_uid))
    return [path for path, owner in folders if owner == os.geteuid()]


def is_held(path: str | os.PathLike[str]) -> bool:
    """Return whether a process needs the folder."""
    with _locked(path) as ours:
        return not ours


def _made(parent: str) -> tuple[str, int]:
    while True:
        path = f"{parent}/{PREFIX}{os.urandom(8).hex()}"
        os.mkdir(path, 0o700)  # noqa: PTH102 -- pathlib takes longer to load than this needs
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            with contextlib.suppress(OSError):  # a file system without locks: nobody takes the folder for left behind
                fcntl.flock(lock, fcntl.LOCK_SH)
            if os.fstat(lock).st_nlink:
                return path, lock
            os.close(lock)  # another process swept it away before the lock


@contextlib.contextmanager
def _locked(path: str | os.PathLike[str]) -> Iterator[bool]:
    """Yield whether the folder's lock was free, and hold it meanwhile."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True
    finally:
        os.close(lock)


def _delete(path: str) -> None:
    try:
        os.rmdir(path)  # noqa: PTH106 -- as above
    except OSError:
        import shutil  # where something is in it

        shutil.rmtree(path, ignore_errors=True)


def _remove(path: str, lock: int) -> None:
    _delete(path)
    os.close(lock)
