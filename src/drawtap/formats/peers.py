"""The library that reads other tools' traces into ours (libdrawtap-peers.so, `native/peers/peers.h`)."""

from __future__ import annotations

import ctypes
import functools
import json
import os
from ctypes import POINTER, byref, c_char_p, c_int32, c_uint32, c_uint64
from pathlib import Path
from typing import Any

from drawtap.errors import DrawtapError
from drawtap.trace.library import Cancelled, Library


class _Import(ctypes.Structure):
    _fields_ = (
        ("input", c_char_p),
        ("output", c_char_p),
        ("signatures", c_char_p),
        ("level", c_int32),
        ("reserved", c_uint32),
    )


@functools.cache
def _library(path: Path) -> Library:
    importer, u64s = (POINTER(_Import), POINTER(c_char_p)), POINTER(c_uint64)
    return Library(
        path,
        "dt_peers",
        {"dt_import_apitrace": importer, "dt_import_tcy2": importer},
        {"dt_import_progress": (None, (u64s, u64s)), "dt_import_cancel": (None, ())},
        streams=False,
        hint="are zlib1g and libbrotli1 installed?",
    )


def read(tool: str, source: Path, target: Path, *, library: Path, signatures: Path, level: int) -> dict[str, Any]:
    """Write a trace of a tool ("apitrace", "tcy2") as a recording and return the facts that `peers.h` lists.

    Raises what the library says with the file's name before it; Cancelled leaves no recording.
    """
    importer = getattr(_library(library), f"dt_import_{tool}")
    options = _Import(os.fsencode(source), os.fsencode(target), os.fsencode(signatures), level, 0)
    text = c_char_p()
    try:
        importer(byref(options), byref(text))
    except Cancelled as stopped:
        target.unlink(missing_ok=True)  # it has no end
        raise Cancelled(f"{source}: {stopped}") from None
    except DrawtapError as error:
        raise type(error)(f"{source}: {error.message}", hint=error.hint) from None
    answer: dict[str, Any] = json.loads(text.value or b"{}")
    return answer


def cancel(library: Path) -> None:
    """Stop the running import (from another thread); it then raises Cancelled."""
    _library(library).dt_import_cancel()


def progress(library: Path) -> tuple[int, int]:
    """Return bytes of the file done and to do of the running import."""
    done, total = c_uint64(), c_uint64()
    _library(library).dt_import_progress(byref(done), byref(total))
    return done.value, total.value
