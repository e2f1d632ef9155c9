"""Traces of Kyostila's Graphics Quality Analysis Toolkit (files that begin with TCY2): read them into ours."""

from __future__ import annotations

import json
import os
from ctypes import CDLL, POINTER, byref, c_char_p, c_int
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from drawtap.errors import InputError, UnavailableError
from drawtap.formats.apitrace import _Import

_MAGIC = b"TCY2"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import made. `damage`: why the file ended early, None where it did not."""

    calls: int
    tap_records: int
    unknown_functions: int
    notes: tuple[str, ...]
    damage: str | None


def is_tcy2(path: Path) -> bool:
    """Tell by its first bytes whether a file is such a trace."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def read_tcy2(source: Path, target: Path, *, library: Path, signatures: Path, level: int = 1) -> Imported:
    """Write the trace `source` as the recording `target`; a file that stands there is replaced.

    `library` is the file `libdrawtap-peers.so`, `signatures` the file `tap.sig`. Times are of the original clock (us
    since the trace's start). What is whole of a damaged file is taken over. Raises InputError where it is no such
    trace.
    """
    try:
        lib = CDLL(str(library))
    except OSError as error:
        raise UnavailableError(f"{library} cannot be loaded: {error}") from None
    lib.dt_import_tcy2.argtypes = (POINTER(_Import), POINTER(c_char_p))
    lib.dt_import_tcy2.restype = c_int
    said = c_char_p()
    options = _Import(os.fsencode(source), os.fsencode(target), os.fsencode(signatures), level, 0)
    code = lib.dt_import_tcy2(byref(options), byref(said))
    text = cast(bytes, said.value).decode(errors="replace")
    if code:
        raise InputError(f"{source}: {text}")
    found = json.loads(text)
    return Imported(notes=tuple(found.pop("notes")), **found)
