"""Bind the state index (libdrawtap-state.so, `native/state/state.h`): what every state variable was at any call.

The index is made by walking the trace once and kept in the user's cache folder. Paths and values are those of
docs/state-paths.md, with contexts and share groups by number: `contexts[1].GL_DEPTH_FUNC`.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterator
from ctypes import POINTER, byref, c_char_p, c_int, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from drawtap.errors import InputError, UnavailableError
from drawtap.parts import STATE, part
from drawtap.trace.core import raise_coded

TABLES = ("state", "resources", "draws")

_CAPSULE_NAME = b"arrow_array_stream"  # the capsule keeps the pointer: it must live for ever


@dataclass(frozen=True, slots=True)
class Change:
    """A variable that a call changed; values are JSON texts, `before` is "null" where the object was not there."""

    seq: int
    path: str
    value: str
    before: str


def cache_folder() -> Path:
    """Return where indices are kept: `drawtap/state` in $XDG_CACHE_HOME or ~/.cache."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path("~/.cache").expanduser()) / "drawtap" / "state"


@functools.cache
def _library() -> ctypes.CDLL:
    path = part(STATE, "build the native parts (pip install .), or name their folder in DRAWTAP_NATIVE")
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as error:
        raise UnavailableError(f"{path} cannot be loaded: {error}", hint="is libzstd1 installed?") from None
    voids, u64s = POINTER(c_void_p), POINTER(c_uint64)
    out = (voids, u64s, voids)
    signatures: dict[str, tuple[object, ...]] = {
        "dt_state_open": (c_char_p, c_char_p, c_char_p, voids),
        "dt_state_at": (c_void_p, c_uint64, c_char_p, *out),
        "dt_state_changes": (c_void_p, c_uint64, c_uint64, c_char_p, *out),
        "dt_state_problems": (c_void_p, *out),
        "dt_state_table": (c_void_p, c_char_p, c_char_p, c_uint64, c_uint64, c_void_p),
    }
    for name, arguments in signatures.items():
        function = getattr(lib, name)
        function.argtypes = arguments
        function.restype = c_int
    for name in ("dt_state_close", "dt_state_free", "dt_state_free_stream"):
        function = getattr(lib, name)
        function.argtypes = (c_void_p,)
        function.restype = None
    lib.dt_state_new_stream.argtypes = ()
    lib.dt_state_new_stream.restype = c_void_p
    lib.dt_state_cancel.argtypes = ()
    lib.dt_state_cancel.restype = None
    lib.dt_state_last_error.argtypes = ()
    lib.dt_state_last_error.restype = c_char_p
    return lib


def _check(code: int) -> None:
    if code:
        raise_coded(code, cast(bytes, _library().dt_state_last_error()))


class StateIndex:
    """The state of one trace, at any call of it. Methods may be called from any thread."""

    def __init__(self, path: str | os.PathLike[str], *, frame_end: str = "auto", cache: Path | None = None) -> None:
        self._lib = _library()
        folder = cache_folder() if cache is None else cache
        handle = c_void_p()
        _check(self._lib.dt_state_open(os.fsencode(path), frame_end.encode(), os.fsencode(folder), byref(handle)))
        self._handle: c_void_p | None = handle

    def close(self) -> None:
        """Forget the index; streams that are still read keep it."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._lib.dt_state_close(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    @property
    def _open(self) -> c_void_p:
        if self._handle is None:
            raise InputError("the state index is closed", hint="open it again")
        return self._handle

    def at(self, seq: int, path: str = "") -> list[tuple[str, str]]:
        """Return (path, value as JSON) of everything below `path` after call `seq`.

        In `path` "*" matches anything and "?" one character.
        """
        text = self._text(self._lib.dt_state_at, seq, path.encode())
        return [cast("tuple[str, str]", tuple(line.split("\t", 1))) for line in text.splitlines()]

    def changes(self, first_seq: int, end_seq: int, path: str = "") -> Iterator[Change]:
        """Yield what the calls from `first_seq` up to but without `end_seq` changed, in their order."""
        text = self._text(self._lib.dt_state_changes, first_seq, end_seq, path.encode())
        for line in text.splitlines():
            seq, name, value, before = line.split("\t")
            yield Change(int(seq), name, value, before)

    def problems(self) -> list[str]:
        """Return what could not be read while the index was made; empty for one that was kept from before."""
        return self._text(self._lib.dt_state_problems).splitlines()

    def table(self, name: str, path: str = "", first_seq: int = 0, end_seq: int | None = None) -> object:
        """Return a table of TABLES as a capsule "arrow_array_stream"; the restrictions are for `state` alone."""
        stream = self._lib.dt_state_new_stream()
        code = self._lib.dt_state_table(self._open, name.encode(), path.encode(), first_seq, end_seq or 0, stream)
        try:
            _check(code)
        except BaseException:
            self._lib.dt_state_free_stream(stream)
            raise
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes = (c_void_p, c_char_p, c_void_p)
        new.restype = ctypes.py_object
        return new(stream, _CAPSULE_NAME, ctypes.cast(self._lib.dt_state_release_capsule, c_void_p))

    def cancel(self) -> None:
        """Stop indices that are being made in this process; they then raise KeyboardInterrupt."""
        self._lib.dt_state_cancel()

    def _text(self, function: ctypes._FuncPointer, *arguments: object) -> str:
        text, length, owner = c_void_p(), c_uint64(), c_void_p()
        _check(function(self._open, *arguments, byref(text), byref(length), byref(owner)))
        try:
            return ctypes.string_at(text, length.value).decode(errors="replace") if length.value else ""
        finally:
            self._lib.dt_state_free(owner)


__all__ = ["TABLES", "Change", "StateIndex", "cache_folder"]
