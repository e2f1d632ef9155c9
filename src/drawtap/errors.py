"""Say what went wrong: every error that drawtap raises, on one screen.

    DrawtapError               1   anything below
    +-- UsageError             2   asked for something that does not exist or makes no sense
    |   +-- QueryError         2   a query that DuckDB or a table refuses
    +-- UnavailableError       3   not on this machine: driver, compiler, rights, library, drawtap part
    +-- InputError             4   a file that is missing, broken, unknown or from a newer version
    +-- ChildError             5   a program that drawtap started failed
    +-- ExhaustedError         6   memory or a disk is full
    Findings                   1   no error: a question was answered with findings or differences

The number is the exit code of the `drawtap` command. An error says what happened and where; `hint` says
what was expected or lists what would work.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


class DrawtapError(Exception):
    """Report a failure that a person can act on.

    `message` is one sentence without a full stop: what happened and where. `hint` is what to do about it,
    or what would have worked.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(DrawtapError):
    """Refuse a request that does not exist or makes no sense."""

    exit_code = 2


class QueryError(UsageError):
    """Refuse a query: unknown column or table, syntax, types."""


class UnavailableError(DrawtapError):
    """Say that something is not available on this machine."""

    exit_code = 3


class InputError(DrawtapError):
    """Refuse a file that is missing, broken, of an unknown kind or of a newer version."""

    exit_code = 4


class ChildError(DrawtapError):
    """Report that a program which drawtap started failed."""

    exit_code = 5


class ExhaustedError(DrawtapError):
    """Report that memory or a disk is full."""

    exit_code = 6


class Findings(DrawtapError):
    """End a command that answered its question and found something: exit code 1."""

    exit_code = 1


_carried: list[DrawtapError] = []


@contextlib.contextmanager
def carried() -> Iterator[None]:
    """Keep what is raised inside, for `original`: code that a library calls back, and whose errors it makes its own."""
    try:
        yield
    except DrawtapError as error:
        _carried[:] = [error]
        raise


def original(error: BaseException) -> DrawtapError | None:
    """Return the error inside of a library's that has its words, as `carried` kept it; None where there is none."""
    return next((kept for kept in _carried if kept.message in str(error)), None)


_read: dict[int, tuple[int, int]] = {}  # device and inode of each recording that is open, by the id of its reader


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Return device and inode of a regular file; None where there is none, or where others may not look."""
    with contextlib.suppress(OSError):
        if Path(path).is_file():
            status = Path(path).stat()
            return status.st_dev, status.st_ino
    return None


def note_read(reader: object, path: str | os.PathLike[str]) -> None:
    """Note that `reader` reads a file from now on, until `forget_read`: `check_not_read` refuses to write over it."""
    if identity := _identity(path):
        _read[id(reader)] = identity


def forget_read(reader: object) -> None:
    """Note that `reader` has closed its file."""
    _read.pop(id(reader), None)


def check_not_read(path: Path, files: Iterable[object] = ()) -> None:
    """Refuse a target that this process reads as a recording, or that is one of `files`, by whatever name and link.

    `files` may hold things other than paths, which are passed over. Raises UsageError.
    """
    identity = _identity(path)
    others = (_identity(file) for file in files if isinstance(file, Path))
    if identity is not None and identity in [*_read.values(), *others]:
        raise UsageError("the recording itself is not replaced", hint=f"name another file than {path}")


def check_target(path: Path, *, force: bool, replaced: bool = False) -> None:
    """Refuse to write a file where that cannot or shall not be, before there is work in what it is to hold.

    `replaced`: another file takes the place of this one at the end, which no pipe and no device lives through.

    Raises UsageError where `path` is a folder, where it exists and `force` is not set, and where there is no folder to
    put it in. A recording that this process reads is refused with `force` too.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint=f"name a file in it, such as {path / 'NAME'}")
    if path.exists() and not force:
        raise UsageError(f"{path} exists", hint="--force replaces it")
    check_not_read(path)
    if replaced and path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a regular file: it would be replaced by one", hint="name a file")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", hint=f"mkdir -p {folder} makes it")
    if path.exists() and not os.access(path, os.W_OK):
        raise UsageError(f"{path} cannot be written", hint="name another file")
    if not path.exists() and not os.access(folder, os.W_OK):
        raise UsageError(f"the folder {folder} cannot be written to", hint="name a file in another folder")


def check_folder(path: Path, *, force: bool) -> None:
    """Ask whether files can be written into the folder `path`, which need not exist, before work is put into them.

    Raises UsageError where `path` is a file, where something is in it and `force` is not set.
    """
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file", hint="name another folder with -o")
    if path.is_dir() and any(path.iterdir()) and not force:
        raise UsageError(f"{path} is not empty", hint="--force replaces what is in the way")


@contextlib.contextmanager
def made_folder(path: Path) -> Iterator[None]:
    """Make a folder for what is written inside, and take it away again where nothing was."""
    there = path.exists()
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if not there:
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


def write_whole(path: Path, text: str) -> None:
    """Write a text file, of which nothing stays where it cannot be written whole. Devices and pipes take it too.

    Raises OSError, and UnicodeEncodeError where `text` is no Unicode.
    """
    content, there = text.encode(), path.exists()
    try:
        path.write_bytes(content)
    except OSError:
        if not there:
            path.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a name to write a file to that then takes the place of `path`, unless an exception comes: whole or not.

    It is in a folder of its own beside `path` that nobody else enters: nobody can have put a link there.
    """
    import tempfile  # brings modules of random numbers and compression

    target = path.absolute()
    with tempfile.TemporaryDirectory(prefix=f".{target.name[:40]}.", dir=target.parent) as folder:
        part = Path(folder) / target.name
        yield part
        part.chmod(0o600)
        part.replace(target)


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file holds. Raises InputError where it cannot be read or is none."""
    import tomllib  # takes longer to import than most commands have time for

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply", hint="a few levels are all that drawtap reads") from None


def did_you_mean(name: str, candidates: Iterable[str], *, limit: int = 3) -> str | None:
    """Return a hint that lists the candidates closest to `name`, or None where none is close."""
    import difflib

    by_lower: dict[str, str] = {}
    for candidate in candidates:
        by_lower.setdefault(candidate.lower(), candidate)
    wanted = name.lower()
    close = difflib.get_close_matches(wanted, by_lower, n=limit, cutoff=0.6)
    close += [lower for lower in by_lower if wanted and wanted in lower and lower not in close]
    names = [by_lower[lower] for lower in close[:limit]]
    return f"did you mean {' or '.join(names)}?" if names else None


def no_file(path: str | os.PathLike[str]) -> InputError:
    """Return what to raise where a file is missing: its hint names files that are there."""
    return InputError(f"there is no file {os.fspath(path)}", hint=_near_file(Path(path)))


def _near_file(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {folder} either"
    try:
        names = [entry.name for entry in folder.iterdir() if entry.is_file()]
    except OSError:
        names = []
    traces = {Path(name).stem: name for name in names if name.endswith(".dtap")}
    import difflib  # only where something is wrong

    near = difflib.get_close_matches(path.stem, traces)  # ".dtap" alone would make every name look like every other
    if near:
        return f"did you mean {' or '.join(traces[stem] for stem in near)}?"
    others = [] if path.suffix == ".dtap" else set(names) - set(traces.values())
    return did_you_mean(path.name, others) or recordings_in(folder)


def recordings_in(folder: Path) -> str:
    traces = sorted(entry.name for entry in folder.glob("*.dtap"))[:5]
    return f"recordings there: {', '.join(traces)}" if traces else "drawtap record -o FILE -- PROGRAM makes one"
