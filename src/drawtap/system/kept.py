"""Models of large traces, kept for the next question: `drawtap/kernel` in $XDG_CACHE_HOME or ~/.cache.

Making the tables takes minutes for a trace of many millions of events; reading them again takes none. A model is kept
under a name made of its sources. These are the files of the trace (place, size, inode, times of change), the versions
of drawtap and DuckDB, and the drivers' files. Any change changes the name, and the model is made anew. The least
recently used goes first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb

import drawtap
from drawtap.parts import SYSTEM, cache_folder, part
from drawtap.system.driver import drivers
from drawtap.system.model import KernelModel, assembled, build, database_for, files, lock, size
from drawtap.system.reader import KernelTrace
from drawtap.tables.kernel import TABLES
from drawtap.trace.sql_text import quote_text

_LEAST_BYTES = 4_000_000  # of a trace: the tables of smaller ones are made in less time than it takes to ask for them
_MOST_BYTES = 20_000_000_000  # of all that is kept
_TABLES = (*(name for name in TABLES if name != "state"), "trace_window")


def model_of(trace: KernelTrace, *, keep: bool = True, folder: Path | None = None) -> KernelModel:
    """Return the model of a trace: the one that was kept, else a new one, which is kept where that pays.

    Where the folder cannot be written, or has no room, nothing is kept. `keep=False` neither looks nor keeps.
    """
    if not keep or size(trace) < _LEAST_BYTES:
        return build(trace)
    where = cache_folder("kernel") if folder is None else folder
    name = _name(trace)
    path = where / f"{name}.duckdb"
    model = _opened(trace, path)
    if model is not None:
        return model
    return _made(trace, path, name) or build(trace)


def _made(trace: KernelTrace, path: Path, name: str) -> KernelModel | None:
    """Make a model in the place where it is kept; None where it cannot be kept."""
    half = path.with_name(f"{path.stem}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half.touch()
        half.unlink()
    except OSError:
        return None
    try:
        with assembled(trace, kept=half) as model:
            stored = _stored(model)
        # A trace that grew meanwhile is not the one that was looked up.
        if not stored or _name(trace) != name:
            return None
        half.replace(path)
        _make_room(path)
        return _opened(trace, path)
    except (duckdb.Error, OSError):
        return None  # the disk is full, perhaps: the error of the next attempt elsewhere says what else was wrong
    finally:
        for left in (half, half.with_name(half.name + ".wal")):
            with contextlib.suppress(OSError):
                left.unlink(missing_ok=True)


def _name(trace: KernelTrace) -> str:
    about = [drawtap.__version__, duckdb.__version__, trace.format, *_makers()]
    about += [_identity(file) for file in files(trace)]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]


def _makers() -> Iterator[str]:
    modules = {entry.function.__module__ for entry in drivers()}
    modules |= {name for name in sys.modules if name.startswith("drawtap.system")}
    sources = (getattr(sys.modules.get(name), "__file__", None) for name in modules)
    known = {Path(source) for source in sources if source}
    known |= set(Path(__file__).parent.rglob("*.py"))
    known.add(part(SYSTEM))
    yield from sorted(_identity(file) for file in known)


def _identity(file: Path) -> str:
    with contextlib.suppress(OSError):
        about = file.stat()
        return f"{file.absolute()} {about.st_size} {about.st_ino} {about.st_mtime_ns} {about.st_ctime_ns}"
    return str(file)


def _opened(trace: KernelTrace, path: Path) -> KernelModel | None:
    if not path.is_file():
        return None
    # A database of its own with views of the kept tables: the first question for `state` makes it there.
    connection, scratch = database_for(trace)
    try:
        connection.execute(f"ATTACH {quote_text(path)} AS kept (READ_ONLY)")
        [(window, used)] = connection.execute("SELECT trace_window, drivers FROM kept.about").fetchall()
        for table in _TABLES:
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM kept.{table}")
        os.utime(path)
    except (duckdb.Error, OSError, ValueError):
        # Half a file, or one of another DuckDB: it is made anew.
        connection.close()
        if scratch is not None:
            scratch.cleanup()
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        return None
    lock(connection)
    return KernelModel(connection, trace, (window[0], window[1]), used, scratch)


def _stored(model: KernelModel) -> bool:
    """Copy what was not made there into the attached database `kept`, and tell whether it is whole."""
    run = model.connection.execute
    try:
        for table in _TABLES:
            if table not in ("spans", "requests"):
                run(f"CREATE TABLE kept.{table} AS SELECT * FROM {table}")
        run(
            "CREATE TABLE kept.about AS SELECT ?::BIGINT[] AS trace_window, ?::VARCHAR[] AS drivers",
            [list(model.window), list(model.drivers)],
        )
        run("DROP VIEW spans; DROP VIEW requests")
        run("DETACH kept")
    except duckdb.Error:
        return False
    return True


def _make_room(newest: Path) -> None:
    kept = []
    for file in newest.parent.glob("*.duckdb"):
        with contextlib.suppress(OSError):
            kept.append((file.stat().st_mtime_ns, file.stat().st_size, file))
    total = sum(length for _, length, _ in kept)
    for _, length, file in sorted(kept):
        if total <= _MOST_BYTES or file == newest:
            return
        with contextlib.suppress(OSError):
            file.unlink()
        total -= length
