"""Memory and disk of questions: a limit that rises where a question needs more, and an error where nothing is left.

DuckDB writes most data that do not fit into its memory to files. Tables of hashes and the states of some sums stay in
memory. Our limit keeps a process small, and shall stop no question. This module runs a question that does not fit
again with twice the memory. It goes on until the question fits, or DuckDB has all the memory that it allows itself:
four fifths of the memory of the machine or the container.
"""

from __future__ import annotations

import errno
import os
import re
import threading
from typing import TYPE_CHECKING, Any, cast

from drawtap.errors import ExhaustedError

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

_SMALLER = "ask for a part, such as a few frames or seconds, or end other programs"
_FOLDER = "free some, or name another folder for temporary files in TMPDIR"
_LIMITS = {
    errno.ENOSPC: _FOLDER,
    errno.EDQUOT: _FOLDER,
    errno.EFBIG: "ulimit -f raises the limit on the size of a file",
    errno.EMFILE: "ulimit -n raises the limit on open files",
    errno.ENFILE: "the whole machine has too many open files: end other programs",
}
_FULL = {os.strerror(number): hint for number, hint in _LIMITS.items()}
_FULL_TEXT = re.compile("|".join(_FULL))


def exhausted(error: BaseException) -> ExhaustedError | None:
    """Return what to raise for an error that says that memory, a disk or a limit is used up; None for all others."""
    text = str(error)
    if isinstance(error, OSError) and error.errno in _LIMITS:
        where = f"{error.filename}: " if error.filename else ""
        return ExhaustedError(f"{where}{error.strerror}", hint=_LIMITS[error.errno])
    if "max_temp_directory_size" in text:
        return ExhaustedError("neither memory nor the folder for temporary files has room for this", hint=_FOLDER)
    if isinstance(error, MemoryError) or "Out of Memory Error" in text:
        used = re.search(r"\(([\d.]+ \w+)/([\d.]+ \w+) used\)", text)
        had = f", DuckDB had {used[2]}" if used else ""
        return ExhaustedError(f"this takes more memory than there is{had}", hint=_SMALLER)
    if full := _FULL_TEXT.search(text):
        what = "a file could not be opened" if "open files" in full[0] else "a file could not be written"
        return ExhaustedError(f"{what}: {full[0]}", hint=_FULL[full[0]])
    if folder := re.search(r'Failed to create directory "([^"]*)"', text):
        what = f"memory has no room for this, and {folder[1]} for temporary files cannot be made"
        return ExhaustedError(what, hint="name a folder for temporary files in TMPDIR")
    return None


def bounded(connection: duckdb.DuckDBPyConnection, wanted: int) -> duckdb.DuckDBPyConnection:
    """Let a database have `wanted` bytes at first, and more where a question does not fit.

    A limit that DuckDB has already is never raised. Returns a connection to ask in place of `connection`; it and its
    cursors raise ExhaustedError where DuckDB has all it allows itself.
    """
    own = limit_of(connection)
    limit = _Limit(bound(connection, wanted), own)
    return cast("duckdb.DuckDBPyConnection", _Growing(connection, limit))


def bound(connection: duckdb.DuckDBPyConnection, most: int) -> float:
    """Let a database have `most` bytes, or what it has already where that is less; return them."""
    own = limit_of(connection)
    if most < own:
        _set(connection, most)
    return min(most, own)


def limit_of(connection: duckdb.DuckDBPyConnection) -> float:
    """Return the bytes that a database may have; DuckDB says them as `18.4 GiB`."""
    ((text,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    match = re.fullmatch(r"([\d.]+) (\w*?)i?(?:B|bytes?)", str(text))
    if match is None:
        return 0.0
    return float(match[1]) * 1024.0 ** " KMGTP".index(match[2] or " ")


def _set(connection: duckdb.DuckDBPyConnection, limit: float) -> None:
    connection.execute(f"SET memory_limit = '{int(limit)} bytes'")


def _does_not_fit(error: BaseException) -> bool:
    return type(error).__name__ == "OutOfMemoryException" or str(error).startswith("Out of Memory Error")


class _Limit:
    """The limit of one database, which all of its connections share."""

    def __init__(self, now: float, most: float) -> None:
        self.now = now
        self.most = most
        self._lock = threading.Lock()

    def raised(self, connection: duckdb.DuckDBPyConnection, then: float) -> bool:
        """Raise the limit above what it was `then`; False where that is not possible."""
        import duckdb  # whoever has a connection has loaded it; others ask this module what an error means

        with self._lock:
            if self.now > then:  # somebody else has raised it
                return True
            if self.now >= self.most:
                return False
            try:
                _set(connection, min(self.now * 2, self.most))
            except duckdb.Error:  # the settings are locked: strangers ask
                return False
            self.now = min(self.now * 2, self.most)
            return True


class _Growing:
    """Run the questions of a connection, and run one again with more memory where it does not fit."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, limit: _Limit) -> None:
        self._connection = connection
        self._limit = limit
        self._asked: tuple[Any, ...] | None = None  # the question whose rows were not read yet

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def cursor(self) -> _Growing:
        return _Growing(self._connection.cursor(), self._limit)

    def execute(self, *question: Any) -> _Growing:
        self._asked = question
        self._repeated(lambda: self._connection.execute(*question))
        return self

    def fetchall(self) -> Any:
        return self._fetched(self._connection.fetchall)

    def fetchone(self) -> Any:
        return self._fetched(self._connection.fetchone)

    def fetchmany(self, size: int = 1) -> Any:
        return self._fetched(lambda: self._connection.fetchmany(size))

    def fetchnumpy(self) -> Any:
        return self._fetched(self._connection.fetchnumpy)

    def _fetched(self, fetch: Callable[[], Any]) -> Any:
        asked, self._asked = self._asked, None
        if asked is None:  # rows were given out: what goes on behind them cannot begin again
            return self._once(fetch)
        return self._repeated(fetch, lambda: self._connection.execute(*asked))

    def _repeated(self, act: Callable[[], Any], again: Callable[[], Any] | None = None) -> Any:
        """Do something until it fits; `again` comes before each attempt but the first."""
        before = None
        while True:
            limit = self._limit.now
            try:
                if before is not None:
                    before()
                return act()
            except Exception as error:
                if not _does_not_fit(error):
                    raise
                if not self._limit.raised(self._connection, limit):
                    raise exhausted(error) or error from None
            before = again

    @staticmethod
    def _once(act: Callable[[], Any]) -> Any:
        try:
            return act()
        except Exception as error:
            raise (exhausted(error) if _does_not_fit(error) else None) or error from None
