"""Bind the state index (libdrawtap-state.so, `native/state/state.h`): what every state variable was at any call.

The index is made by walking the trace once and kept in the user's cache folder. Paths and values are those of
docs/state-paths.md, with contexts and share groups by number: `contexts[1].GL_DEPTH_FUNC`.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator
from ctypes import POINTER, c_char_p, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drawtap.parts import STATE, cache_folder, part
from drawtap.trace.library import TEXT, Handle, Library, Signature


@dataclass(frozen=True, slots=True)
class Change:
    """A variable that a call changed; values are JSON texts, `before` is "null" where the object was not there."""

    seq: int
    path: str
    value: str
    before: str


@functools.cache
def _library() -> Library:
    coded: dict[str, Signature] = {
        "dt_state_open": (c_char_p, c_char_p, c_char_p, POINTER(c_void_p)),
        "dt_state_at": (c_void_p, c_uint64, c_char_p, *TEXT),
        "dt_state_changes": (c_void_p, c_uint64, c_uint64, c_char_p, *TEXT),
        "dt_state_problems": (c_void_p, *TEXT),
        "dt_state_table": (c_void_p, c_char_p, c_char_p, c_uint64, c_uint64, c_void_p),
    }
    plain: dict[str, tuple[object, Signature]] = {
        "dt_state_close": (None, (c_void_p,)),
        "dt_state_cancel": (None, ()),
    }
    path = part(STATE)
    return Library(path, "dt_state", coded, plain, free="dt_state_free")


class StateIndex(Handle):
    """The state of one trace, at any call of it. Methods may be called from any thread."""

    CLOSE, WHAT, HINT = "dt_state_close", "the state index", "open it again"

    def __init__(self, path: str | os.PathLike[str], *, frame_end: str = "auto", cache: Path | None = None) -> None:
        library = _library()
        folder = cache_folder("state") if cache is None else cache
        super().__init__(library, library.dt_state_open, os.fsencode(path), frame_end.encode(), os.fsencode(folder))

    def at(self, seq: int, path: str = "") -> list[tuple[str, str]]:
        """Return (path, value as JSON) of everything below `path` after call `seq`.

        In `path` "*" matches anything and "?" one character.
        """
        return [(name, value) for name, value in self._read(self._lib.dt_state_at, seq, path.encode())]

    def changes(self, first_seq: int, end_seq: int, path: str = "") -> Iterator[Change]:
        """Yield what the calls from `first_seq` up to but without `end_seq` changed, in their order."""
        for change in self._read(self._lib.dt_state_changes, first_seq, end_seq, path.encode()):
            yield Change(*change)

    def problems(self) -> list[str]:
        """Return what could not be read while the index was made; empty for one that was kept from before."""
        return [str(problem) for problem in self._read(self._lib.dt_state_problems)]

    def table(self, name: str, path: str = "", first_seq: int = 0, end_seq: int | None = None) -> object:
        """Return a table of TABLES as a capsule "arrow_array_stream"; the restrictions are for `state` alone."""
        return self._lib.stream(
            self._lib.dt_state_table, self.handle, name.encode(), path.encode(), first_seq, end_seq or 0
        )

    def cancel(self) -> None:
        """Stop indices that are being made in this process; they then raise KeyboardInterrupt."""
        self._lib.dt_state_cancel()

    def _read(self, function: Callable[..., object], *arguments: object) -> list[Any]:
        rows = json.loads(self._lib.text(function, self.handle, *arguments))
        assert isinstance(rows, list)
        return rows
