"""Traces of apitrace: read them into ours, and write ours as theirs.

Both directions are native: `libdrawtap-peers.so` reads (`native/peers/peers.h`), the reader core writes. Both can be
cancelled and say how far they are.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_uint32, c_uint64
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from drawtap.errors import InputError, UnavailableError, UsageError
from drawtap.formats import export_format
from drawtap.trace import core
from drawtap.trace.ranges import Selection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from drawtap.trace.trace import Trace

_E_ARGUMENT, _E_MEMORY, _E_CANCELLED = 3, 4, 5


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import made: counts, what apitrace's file said about itself, and what could not be taken over.

    `fake`: calls that apitrace itself added to the application's. `damage`: why the file ended early, None where it
    did not.
    """

    calls: int
    calls_in_flight: int
    tap_records: int
    threads: int
    fake: int
    version: int
    container: str
    properties: Mapping[str, str]
    unknown_functions: int
    notes: tuple[str, ...]
    damage: str | None


class _Import(ctypes.Structure):
    _fields_ = (
        ("input", c_char_p),
        ("output", c_char_p),
        ("signatures", c_char_p),
        ("level", c_int32),
        ("reserved", c_uint32),
    )


def read_apitrace(source: Path, target: Path, *, library: Path, signatures: Path, level: int = 1) -> Imported:
    """Write the trace `source` of apitrace as the recording `target`; a file that stands there is replaced.

    `library` is the file `libdrawtap-peers.so`, `signatures` the file `tap.sig`. What is whole of a damaged file is
    taken over, and `damage` says what was met. Raises InputError where it is no trace of apitrace.
    """
    lib = _peers(library)
    text = c_char_p()
    options = _Import(os.fsencode(source), os.fsencode(target), os.fsencode(signatures), level, 0)
    code = lib.dt_import_apitrace(byref(options), byref(text))
    if code == _E_CANCELLED:
        target.unlink(missing_ok=True)  # it has no end
    if code:
        _fail(code, cast(bytes, lib.dt_peers_last_error()), source)
    found = json.loads(cast(bytes, text.value))
    kept = {name: found[name] for name in Imported.__slots__ if name != "notes"}
    return Imported(notes=tuple(found["notes"]), **kept)


def cancel(library: Path) -> None:
    """Stop the running import (from another thread); it then raises Cancelled."""
    _peers(library).dt_import_cancel()


def progress(library: Path) -> tuple[int, int]:
    """Return bytes of the file done and to do of the running import."""
    done, total = c_uint64(), c_uint64()
    _peers(library).dt_import_progress(byref(done), byref(total))
    return done.value, total.value


@functools.cache
def _peers(path: Path) -> ctypes.CDLL:
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as error:
        hint = "are zlib1g and libbrotli1 installed?"
        raise UnavailableError(f"{path} cannot be loaded: {error}", hint=hint) from None
    lib.dt_import_apitrace.argtypes = (POINTER(_Import), POINTER(c_char_p))
    lib.dt_import_apitrace.restype = c_int
    lib.dt_peers_last_error.argtypes = ()
    lib.dt_peers_last_error.restype = c_char_p
    lib.dt_import_progress.argtypes = (POINTER(c_uint64), POINTER(c_uint64))
    lib.dt_import_progress.restype = None
    lib.dt_import_cancel.argtypes = ()
    lib.dt_import_cancel.restype = None
    return lib


@export_format("apitrace", ".trace")
def write_apitrace(trace: Trace, selection: Selection, path: Path) -> None:
    """A trace of apitrace (its format 6), for apitrace dump, apitrace replay and qapitrace."""
    if selection.name is not None:
        raise UsageError("apitrace's traces have no use for some functions alone", hint="leave --name out")
    if path.exists() and not path.is_file():
        raise UsageError("a trace of apitrace goes to a file", hint="name one with -o")
    try:
        trace.core.export_apitrace([(span.numbers(), span.frames) for span in selection.spans], path)
    except core.Cancelled:
        path.unlink(missing_ok=True)  # half of it would look whole
        raise


def _fail(code: int, message: bytes, path: Path) -> None:
    said = f"{path}: {message.decode(errors='replace')}"
    if code == _E_CANCELLED:
        raise core.Cancelled(said)
    if code == _E_MEMORY:
        raise MemoryError(said)
    raise UsageError(said) if code == _E_ARGUMENT else InputError(said)
