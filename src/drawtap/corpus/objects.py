"""Where a store keeps its objects: a folder, or a bucket that speaks S3 (extra `fleet`).

Objects have names with `/` and are written whole or not at all. `put_new` writes only what is not there yet: so two
writers of one object cannot disturb each other. Names come from this package alone; what a listing names is matched
against `store.KINDS` before anything is done with it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from drawtap.errors import DrawtapError, InputError, UnavailableError, UsageError

PART = re.compile(r"\.part-[0-9a-f]{16}")  # the name of a file that is being written
_URL = re.compile(r"[a-z][a-z0-9+]*://")
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Listed:
    """An object in a listing: its size, and when it was written by the store's own clock (s since 1970)."""

    name: str
    bytes: int
    written: float


class Objects(Protocol):
    """The objects of a store."""

    where: str

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return an object, or its bytes from `start` to before `end`. Raises Absent where there is none."""

    def put_new(self, name: str, content: bytes, *, look: bool = True) -> bool:
        """Write an object unless it is there; return whether it was written. `look` first: it may well be there."""

    def replace(self, name: str, content: bytes) -> None:
        """Write an object in place of what is there: it is new again."""

    def about(self, name: str) -> Listed | None:
        """Return an object as a listing has it, None where there is none."""

    def listed(self, prefix: str) -> Iterator[Listed]:
        """Yield the objects whose names begin with `prefix`, a folder with its `/` or "" for all of them."""

    def delete(self, name: str) -> None:
        """Remove an object; nothing happens where there is none."""


class Absent(InputError):
    """Say that an object is not in the store."""


def opened(where: str) -> Objects:
    """Return the objects at a folder or at a URL of a bucket (s3://BUCKET/PREFIX)."""
    if _URL.match(where):
        return _Bucket(where)
    return _Folder(Path(where))


class _Folder:
    """Objects as files. Links are never followed: a store may come from somebody else."""

    def __init__(self, root: Path) -> None:
        self.where = str(root)
        self._root = root.absolute()

    @contextlib.contextmanager
    def _parent(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Yield the open folder of an object, and the object's name in there."""
        *folders, last = name.split("/")
        try:
            at = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise self._failed(error, "") from None
        try:
            for folder in folders:
                at = self._enter(at, folder, name, make=make)
            yield at, last
        finally:
            os.close(at)

    def _enter(self, at: int, folder: str, name: str, *, make: bool) -> int:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, 0o777, dir_fd=at)
                    os.fsync(at)
            inner = os.open(folder, flags, dir_fd=at)
        except OSError as error:
            raise self._failed(error, name) from None
        os.close(at)
        return inner

    def _failed(self, error: OSError, name: str) -> DrawtapError:
        path = f"{self.where}/{name}" if name else self.where
        if error.errno == errno.ENOENT:
            return Absent(f"there is no {path}")
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            if not name:
                return InputError(f"{path} is no folder, so no corpus", hint="drawtap corpus init STORE makes one")
            return InputError(f"{path} is not a regular file in a folder: a store has no links", hint="remove it")
        return InputError(f"{path}: {error.strerror or error}")

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        with self._parent(name) as (at, last), self._reading(at, last, name) as file:
            file.seek(start)
            return file.read() if end is None else file.read(end - start)

    @contextlib.contextmanager
    def _reading(self, at: int, last: str, name: str) -> Iterator[IO[bytes]]:
        try:
            file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
        except OSError as error:
            raise self._failed(error, name) from None
        with os.fdopen(file, "rb") as opened_:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise InputError(f"{self.where}/{name} is not a regular file", hint="remove it")
            yield opened_

    def put_new(self, name: str, content: bytes, *, look: bool = True) -> bool:
        with self._parent(name, make=True) as (at, last):
            if self._is_there(at, last):
                return False
            part = self._written(at, content, name)
            try:
                os.link(part, last, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
                new = True
            except FileExistsError:
                new = False
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
                    raise self._failed(error, name) from None
                # A file system without links. Two writers of one name write the same: the last one stays.
                new = not self._is_there(at, last)
                if new:
                    os.rename(part, last, src_dir_fd=at, dst_dir_fd=at)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part, dir_fd=at)
            os.fsync(at)
            return new

    def replace(self, name: str, content: bytes) -> None:
        with self._parent(name, make=True) as (at, last):
            part = self._written(at, content, name)
            os.rename(part, last, src_dir_fd=at, dst_dir_fd=at)
            os.fsync(at)

    def _written(self, at: int, content: bytes, name: str) -> str:
        part = f".part-{secrets.token_hex(8)}"
        try:
            file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=at)
            try:
                left = memoryview(content)
                while left:
                    left = left[os.write(file, left[:_PIECE]) :]
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=at)
            raise self._failed(error, name) from None
        return part

    @staticmethod
    def _is_there(at: int, last: str) -> bool:
        try:
            os.stat(last, dir_fd=at, follow_symlinks=False)
        except OSError:
            return False
        return True

    def about(self, name: str) -> Listed | None:
        try:
            with self._parent(name) as (at, last):
                status = os.stat(last, dir_fd=at, follow_symlinks=False)
        except (Absent, FileNotFoundError):
            return None
        return Listed(name, status.st_size, status.st_mtime)

    def listed(self, prefix: str) -> Iterator[Listed]:
        top = self._root / prefix if prefix else self._root
        if prefix and not top.is_dir():
            return
        yield from self._walk(top, prefix)

    def _walk(self, folder: str | Path, prefix: str) -> Iterator[Listed]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise self._failed(error, prefix) from None
        for entry in entries:
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(entry.path, name + "/")
                continue
            try:
                about = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # somebody else has just finished writing it
            yield Listed(name, about.st_size, about.st_mtime)

    def delete(self, name: str) -> None:
        with contextlib.suppress(Absent), self._parent(name) as (at, last):
            try:
                os.unlink(last, dir_fd=at)
            except OSError as error:
                raise self._failed(error, name) from None


class _Bucket:
    """Objects of a bucket, by obstore: it takes credentials and the endpoint from the environment (AWS_...)."""

    def __init__(self, url: str) -> None:
        self.where = url.rstrip("/")
        try:
            import obstore
            from obstore.exceptions import BaseError
            from obstore.store import from_url
        except ImportError as error:
            raise UnavailableError(
                f"{url} needs obstore, which is not installed", hint="pip install 'drawtap[fleet]'"
            ) from error
        self._api: Any = obstore
        self._errors: Any = obstore.exceptions
        make: Any = from_url
        try:
            one_by_one = (
                {"disable_bulk_delete": True} if self.where.startswith("s3") else None
            )  # not every server has it
            self.store: Any = make(self.where, config=one_by_one, client_options=client_options())
        except (BaseError, ValueError) as error:
            raise UsageError(
                f"{url} is no store: {_first_line(error)}", hint="s3://BUCKET/PREFIX, or a folder"
            ) from None

    @contextlib.contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, self._errors.NotFoundError):
            raise Absent(f"there is no {self.where}/{name}") from None
        except (self._errors.UnauthenticatedError, self._errors.PermissionDeniedError) as error:
            raise UnavailableError(
                f"{self.where} does not let us in: {_first_line(error)}",
                hint="AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL, AWS_REGION",
            ) from None
        except self._errors.BaseError as error:
            raise UnavailableError(f"{self.where}/{name}: {_first_line(error)}") from None

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        with self._explained(name):
            if start or end is not None:
                end = self._api.head(self.store, name)["size"] if end is None else end
                return b"" if end <= start else bytes(self._api.get_range(self.store, name, start=start, end=end))
            return bytes(self._api.get(self.store, name).bytes())

    def put_new(self, name: str, content: bytes, *, look: bool = True) -> bool:
        if look and self.about(name) is not None:
            return False  # a bucket takes all bytes before it refuses them
        with self._explained(name):
            try:
                self._api.put(self.store, name, content, mode="create", use_multipart=False)
            except (FileExistsError, self._errors.AlreadyExistsError, self._errors.PreconditionError):
                return False
        return True

    def replace(self, name: str, content: bytes) -> None:
        with self._explained(name):
            self._api.put(self.store, name, content)

    def about(self, name: str) -> Listed | None:
        try:
            with self._explained(name):
                return _listed(self._api.head(self.store, name))
        except Absent:
            return None

    def listed(self, prefix: str) -> Iterator[Listed]:
        with self._explained(prefix):
            for batch in self._api.list(self.store, prefix=prefix or None, chunk_size=1000):
                yield from map(_listed, batch)

    def delete(self, name: str) -> None:
        with contextlib.suppress(Absent), self._explained(name):
            self._api.delete(self.store, name)


def client_options() -> dict[str, bool] | None:
    """Return what a client of buckets needs besides the environment: plain HTTP where its endpoint has it."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
    return {"allow_http": True} if endpoint.startswith("http://") else None


def _listed(meta: Any) -> Listed:
    return Listed(str(meta["path"]), int(meta["size"]), float(meta["last_modified"].timestamp()))


def _first_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
