"""DuckDB without the parts of its package that questions do not need, for a process that is all ours.

The package brings relations and expressions in Python, which take longer to load than the engine. `import duckdb`
behind `load_lazily` loads the engine, and the part that reads Arrow; whoever asks for more gets the whole package.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder

TYPE_CHECKING = False  # type checkers take it for that of typing, which takes long to load
if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType
    from typing import Any

    import duckdb

_PACKAGE, _ENGINE = "duckdb", "_duckdb"
_OF_ENGINE = ("DuckDBPyConnection", "Error", "IOException", "InterruptException", "connect")


def load_lazily() -> None:
    """Let `import duckdb` load what questions need, the rest when somebody asks for it."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    atexit.register(_leave)  # behind all that is registered later
    if _PACKAGE not in sys.modules:
        sys.meta_path.insert(0, _Finder())


def leave_at_exit(code: int) -> None:
    """Let the process end with `code` without taking the database apart that was opened ahead: 10 ms.

    All functions that wait for the end of the process run first. Where a database on a file was opened, or a tracer or
    profiler looks, the process ends as usual.
    """
    if _Opening.taken and not _Opening.files and sys.gettrace() is None and sys.getprofile() is None:
        _codes.append(code)


def _leave() -> None:
    if _codes:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_codes[-1])


def map_ahead() -> None:
    """Map DuckDB's engine into memory, in a thread of its own; `open_ahead` waits for it."""
    if not _mapping:
        _mapping.append(threading.Thread(target=_map_engine))
        _mapping[-1].start()


def open_ahead() -> None:
    """Load DuckDB and open a database in memory, in a thread of its own; `connect` waits for it.

    Another call before `connect` does nothing. DuckDB's Python is loaded here, since two threads that load modules wait
    for each other. The database is opened beside whatever comes next, and needs no Python.
    """
    if _ahead:
        return
    map_ahead()
    _mapping[-1].join()
    with contextlib.suppress(Exception):  # whoever needs a database gets the error
        importlib.import_module(_PACKAGE)
        _ahead.append(_Opening())
        _ahead[-1].start()


def connect(path: Path | None) -> duckdb.DuckDBPyConnection:
    """Open DuckDB in memory, or on a file; in memory the first time with the database that was opened ahead."""
    import duckdb

    if path is not None:
        _Opening.files = True
        return duckdb.connect(str(path))
    with contextlib.suppress(IndexError):
        opening = _ahead.pop()
        opening.join()
        if opening.connection is not None:
            _Opening.taken = True
            return opening.connection
    return _in_memory()


def _in_memory() -> duckdb.DuckDBPyConnection:
    import duckdb

    from drawtap import scratch

    # DuckDB makes this folder when data do not fit into memory, and removes it when the database is closed. Without
    # this setting DuckDB makes a folder in the user's current one.
    parent = os.environ.get("TMPDIR") or "/tmp"
    with contextlib.suppress(OSError):  # DuckDB says so, where it needs the folder
        parent = scratch.of_process(parent).name
    return duckdb.connect(":memory:", config={"temp_directory": f"{parent}/spill-{os.urandom(6).hex()}"})


class _Opening(threading.Thread):
    taken, files = False, False
    connection: duckdb.DuckDBPyConnection | None = None

    def run(self) -> None:
        with contextlib.suppress(Exception):
            self.connection = _in_memory()


def _map_engine() -> None:
    # While Python itself maps an extension, 7 ms for this one, all other threads wait. An engine that comes with this
    # part of its package calls nothing of Python when it is mapped: others are left to Python.
    spec = PathFinder.find_spec(_ENGINE)
    if spec is None or spec.origin is None:
        return
    if PathFinder.find_spec("_sources", [f"{spec.origin.rpartition('/')[0]}/{_PACKAGE}"]) is None:
        return
    import ctypes  # with the engine: help does without

    with contextlib.suppress(AttributeError, OSError):  # a C library that has no such function by itself
        ctypes.CDLL(None).dlopen(os.fsencode(spec.origin), os.RTLD_NOW)


_mapping: list[threading.Thread] = []
_ahead: list[_Opening] = []
_codes: list[int] = []  # of the process that ends


class _Finder:
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _PACKAGE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            lazy: Any = _Lazy(spec.loader)
            spec.loader = lazy
        return spec


class _Lazy:
    def __init__(self, package: Any) -> None:
        self._package = package
        self._lock = threading.RLock()
        self._asked = False
        self._module: ModuleType
        self._connection: Any = None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self._module = module
        module.__loader__ = self._package
        if module.__spec__ is not None:
            module.__spec__.loader = self._package
        try:
            engine: Any = importlib.import_module(_ENGINE)
            for name in _OF_ENGINE:
                setattr(module, name, getattr(engine, name))
            take_sources = engine._set_arrow_sources
            take_sources(importlib.import_module(f"{_PACKAGE}._sources"))
            self._connection = engine.DuckDBPyConnection
            # The package adds methods to connections.
            self._connection.__getattr__ = lambda connection, name: self._more(name, connection)
        except (ImportError, AttributeError, TypeError):  # of a version that is put together otherwise
            self._package.exec_module(module)
            return
        module.__dict__["__getattr__"] = self._more

    def _more(self, name: str, of: object = None) -> object:
        """Return an attribute that the whole package has, of itself or of a connection."""
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        with self._lock:  # other threads wait for the whole package
            if not self._asked:
                self._asked = True
                self._package.exec_module(self._module)
                del self._connection.__getattr__
                del self._module.__dict__["__getattr__"]
            return object.__getattribute__(self._module if of is None else of, name)
