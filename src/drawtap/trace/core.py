"""Bind the reader core (libdrawtap-core.so, `native/core/core.h`).

The core decodes; between it and Python cross only C structures, JSON text for small things and Arrow C streams
for large ones. Nothing here imports numpy or duckdb.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, cast

from drawtap.errors import InputError, QueryError, UnavailableError
from drawtap.parts import CORE, part

_E_IO, _E_FORMAT, _E_ARGUMENT, _E_MEMORY, _E_CANCELLED = 1, 2, 3, 4, 5

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Row = dict[str, Json]

TABLES = (
    "functions",
    "params",
    "enums",
    "frames",
    "threads",
    "contexts",
    "blobs",
    "markers",
    "memory",
    "map_writes",
    "natives",
    "notes",
    "libraries",
    "metrics",
    "marks",
    "problems",
    "annotations",
    "chunks",
    "histogram",
    "content",
    "frame_prints",
    "unreadable",
)


class Cancelled(KeyboardInterrupt):
    """Say that an operation was stopped by `CoreTrace.cancel`."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the calls table or of a function's table.

    `shown`: part of `*`. `twin`: for names of enumerants, the column with their numbers. `group`: their enum group.
    """

    name: str
    type: str
    shown: bool = True
    twin: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which calls: of one `function` (None: all), from `first_seq` up to but without `end_seq`; likewise frames.

    `columns` None: the default ones; empty: none but the number of rows is wanted. An `end_seq` or `end_frame` of None
    means to the end.
    """

    function: str | None = None
    columns: tuple[str, ...] | None = None
    first_seq: int = 0
    end_seq: int | None = None
    first_frame: int = 0
    end_frame: int | None = None
    threads: int = 0
    batch_rows: int = 0

    @property
    def empty(self) -> bool:
        """Whether nothing can be in it."""
        return (self.end_seq is not None and self.end_seq <= self.first_seq) or (
            self.end_frame is not None and self.end_frame <= self.first_frame
        )


class _CSelection(ctypes.Structure):
    _fields_ = (
        ("function", c_char_p),
        ("columns", c_char_p),
        ("first_seq", c_uint64),
        ("end_seq", c_uint64),
        ("first_frame", c_uint64),
        ("end_frame", c_uint64),
        ("threads", c_uint32),
        ("batch_rows", c_uint32),
    )


@dataclass(frozen=True, slots=True)
class Change:
    """One change to a call, as `native/edit/edit.h` has it: `kind` is value, content, null, function, insert or blob.

    `value` are the bits of a number, `data` is content (or, for `blob`, a hash). `inserted` counts the insertions of
    the list from 1; 0 means the call `seq` itself.
    """

    kind: str
    seq: int
    name: str
    value: int = 0
    data: bytes = b""
    inserted: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """What of an open trace goes into a new one: calls from `first_seq` to before `end_seq` whose bit in `keep` is 1.

    Bits stand by seq, the lowest of a byte first; None keeps all. `keep_map_writes` has one bit a row of the table
    `map_writes`; None keeps those before a call that is kept.
    """

    trace: CoreTrace
    keep: bytes | bytearray | None = None
    keep_map_writes: bytes | bytearray | None = None
    changes: tuple[Change, ...] = ()
    first_seq: int = 0
    end_seq: int | None = None


_CHANGES = {"value": 1, "content": 2, "null": 3, "function": 4, "insert": 5, "blob": 6}


class _CChange(ctypes.Structure):
    _fields_ = (
        ("what", c_uint32),
        ("inserted", c_uint32),
        ("seq", c_uint64),
        ("name", c_char_p),
        ("value", c_uint64),
        ("data", c_char_p),
        ("bytes", c_uint64),
    )


class _CSource(ctypes.Structure):
    _fields_ = (
        ("trace", c_void_p),
        ("keep", c_char_p),
        ("first_seq", c_uint64),
        ("end_seq", c_uint64),
        ("keep_map_writes", c_char_p),
        ("changes", POINTER(_CChange)),
        ("change_count", c_uint64),
    )


class _CWrite(ctypes.Structure):
    _fields_ = (
        ("order", c_uint32),
        ("level", ctypes.c_int32),
        ("annotation", c_char_p),
        ("forget", c_uint32),
        ("signatures", c_char_p),
    )


class _CRange(ctypes.Structure):
    _fields_ = (("first", c_uint64), ("end", c_uint64), ("frames", c_uint32), ("reserved", c_uint32))


class _COptions(ctypes.Structure):
    _fields_ = (("calls_per_file", c_uint32), ("calls_per_function", c_uint32))


def library_path() -> Path:
    """Return where the core is. Raises UnavailableError where it was not built."""
    return part(CORE, "build the native parts (pip install .), or name their folder in DRAWTAP_NATIVE")


@functools.cache
def _library() -> ctypes.CDLL:
    path = library_path()
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as error:
        raise UnavailableError(f"{path} cannot be loaded: {error}", hint="is libzstd1 installed?") from None
    selection, text, u64s = POINTER(_CSelection), POINTER(c_char_p), POINTER(c_uint64)
    voids = POINTER(c_void_p)
    signatures: dict[str, tuple[object, ...]] = {
        "dt_open": (c_char_p, voids),
        "dt_info": (c_void_p, text),
        "dt_set_frame_end": (c_void_p, c_char_p),
        "dt_calls_schema": (c_void_p, c_char_p, text),
        "dt_calls": (c_void_p, selection, c_void_p),
        "dt_table": (c_void_p, c_char_p, c_void_p),
        "dt_table_json": (c_void_p, c_char_p, voids, u64s, voids),
        "dt_rows_json": (c_void_p, selection, voids, u64s, voids),
        "dt_call": (c_void_p, c_uint64, voids, u64s, voids, u64s, voids),
        "dt_blob": (c_void_p, c_char_p, voids, u64s, voids),
        "dt_text": (c_void_p, selection, c_int, c_uint32),
        "dt_check": (c_void_p, c_char_p, voids, u64s, voids),
        "dt_text_changes": (c_void_p, c_uint64, c_uint64, c_char_p, c_uint64, voids, u64s, voids),
        "dt_diff": (c_void_p, c_void_p, c_uint64, c_uint64, c_uint64, c_uint32, voids, u64s, voids),
        "dt_write": (POINTER(_CSource), c_uint32, POINTER(_CWrite), c_char_p, voids, u64s, voids),
        "dt_export_apitrace": (c_void_p, POINTER(_CRange), c_uint32, c_char_p),
        "dt_export_c": (c_void_p, selection, c_char_p, POINTER(_COptions), voids, u64s, voids),
    }
    for name, arguments in signatures.items():
        function = getattr(lib, name)
        function.argtypes = arguments
        function.restype = c_int
    for name in ("dt_close", "dt_cancel", "dt_blob_free", "dt_free_stream"):
        function = getattr(lib, name)
        function.argtypes = (c_void_p,)
        function.restype = None
    lib.dt_progress.argtypes = (c_void_p, u64s, u64s)
    lib.dt_progress.restype = None
    lib.dt_new_stream.argtypes = ()
    lib.dt_new_stream.restype = c_void_p
    for name in ("dt_last_error", "dt_core_version"):
        function = getattr(lib, name)
        function.argtypes = ()
        function.restype = c_char_p
    return lib


def version() -> str:
    """Return the core's version."""
    return cast(bytes, _library().dt_core_version()).decode()


def _check(code: int) -> None:
    if code:
        raise_coded(code, cast(bytes, _library().dt_last_error()))


def raise_coded(code: int, said: bytes) -> NoReturn:
    """Raise what a native part's code (DT_E_* of core.h) stands for: Cancelled, MemoryError, QueryError, InputError."""
    message = said.decode(errors="replace")
    if code == _E_CANCELLED:
        raise Cancelled(message)
    if code == _E_MEMORY:
        raise MemoryError(message)
    if code == _E_ARGUMENT:
        raise QueryError(message)
    raise InputError(message)


class CoreTrace:
    """A trace open in the core. Every method may be called from any thread."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lib = _library()
        handle = c_void_p()
        _check(self._lib.dt_open(os.fsencode(path), byref(handle)))
        self._handle: c_void_p | None = handle

    def close(self) -> None:
        """Forget the trace; streams that are still read keep the file mapped."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._lib.dt_close(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    @property
    def handle(self) -> c_void_p:
        """What the C functions know the trace by."""
        return self._open

    @property
    def _open(self) -> c_void_p:
        if self._handle is None:
            raise InputError("the trace is closed", hint="open it again, or stay inside its `with` block")
        return self._handle

    def info(self) -> Row:
        """Return what the trace says of itself; see `drawtap info --json`."""
        text = c_char_p()
        _check(self._lib.dt_info(self._open, byref(text)))
        return cast(Row, json.loads(cast(bytes, text.value)))

    def set_frame_end(self, rule: str) -> None:
        """Say which calls end a frame: "auto", or function names separated by commas."""
        _check(self._lib.dt_set_frame_end(self._open, rule.encode()))

    def schema(self, function: str | None = None) -> list[Column]:
        """Return the columns of the calls table, or of the table of one function."""
        text = c_char_p()
        name = None if function is None else function.encode()
        _check(self._lib.dt_calls_schema(self._open, name, byref(text)))
        columns = []
        for line in cast(bytes, text.value).decode().splitlines():
            column, kind, note = line.split("\t")
            words = dict(word.partition("=")[::2] for word in note.split())
            columns.append(Column(column, kind, "more" not in words, words.get("enum"), words.get("group")))
        return columns

    def calls(self, selection: Selection) -> object:
        """Return calls as a capsule "arrow_array_stream"."""
        stream = self._lib.dt_new_stream()
        code = self._lib.dt_calls(self._open, byref(_c_selection(selection)), stream)
        return self._capsule(stream, code)

    def table(self, name: str) -> object:
        """Return a small table as a capsule "arrow_array_stream"."""
        stream = self._lib.dt_new_stream()
        return self._capsule(stream, self._lib.dt_table(self._open, name.encode(), stream))

    def table_rows(self, name: str) -> list[Row]:
        """Return a small table as a list of objects, without any table engine."""
        text, length, owner = c_void_p(), c_uint64(), c_void_p()
        _check(self._lib.dt_table_json(self._open, name.encode(), byref(text), byref(length), byref(owner)))
        return cast("list[Row]", json.loads(self._take(text, length, owner)))

    def rows(self, selection: Selection) -> list[Row]:
        """Return calls in order of seq: seq frame thread tid context name t_start duration (ns, None: unknown)."""
        if selection.empty:
            return []
        text, length, owner = c_void_p(), c_uint64(), c_void_p()
        chosen = byref(_c_selection(selection))
        _check(self._lib.dt_rows_json(self._open, chosen, byref(text), byref(length), byref(owner)))
        return cast("list[Row]", json.loads(self._take(text, length, owner)))

    def call(self, seq: int) -> tuple[Row, bytes]:
        """Return one call's arguments as core.h describes them for dt_call, and the bytes of its inline arrays."""
        text, length, owner = c_void_p(), c_uint64(), c_void_p()
        data, data_length = c_void_p(), c_uint64()
        _check(
            self._lib.dt_call(
                self._open, seq, byref(text), byref(length), byref(data), byref(data_length), byref(owner)
            )
        )
        content = ctypes.string_at(data, data_length.value) if data_length.value else b""
        return cast(Row, json.loads(self._take(text, length, owner))), content

    def blob(self, content_hash: str) -> bytes:
        """Return content by its hash (32 hex digits).

        Raises QueryError where there is none, InputError where it is damaged.
        """
        data, length, owner = c_void_p(), c_uint64(), c_void_p()
        _check(self._lib.dt_blob(self._open, content_hash.encode(), byref(data), byref(length), byref(owner)))
        return self._take(data, length, owner)

    def text(self, selection: Selection, descriptor: int, flags: int) -> None:
        """Write calls as text, one a line, to a file descriptor. `flags` as in core.h for dt_text."""
        if not selection.empty:
            _check(self._lib.dt_text(self._open, byref(_c_selection(selection)), descriptor, flags))

    def check(self, keep: bytes | bytearray) -> Row:
        """Say which calls whose bit in `keep` is 1 need what only other calls made; see edit.h for dt_check."""
        text, length, owner = c_void_p(), c_uint64(), c_void_p()
        if len(keep) < (cast(int, self.info()["calls"]) + 7) // 8:
            raise QueryError("there are fewer bits than calls")
        _check(self._lib.dt_check(self._open, bytes(keep), byref(text), byref(length), byref(owner)))
        return cast(Row, json.loads(self._take(text, length, owner)))

    def diff(self, other: CoreTrace, *, frames: range | None, limit: int, outputs: bool) -> Row:
        """Say what differs between the calls of this trace and another; see edit.h for dt_diff."""
        text, length, owner = c_void_p(), c_uint64(), c_void_p()
        first, end = (frames.start, frames.stop) if frames is not None else (0, 0)
        handles = (self._open, other.handle)
        _check(self._lib.dt_diff(*handles, first, end, limit, int(outputs), byref(text), byref(length), byref(owner)))
        return cast(Row, json.loads(self._take(text, length, owner)))

    def text_changes(self, first_seq: int, end_seq: int, text: bytes) -> Row:
        """Hold an edited text against the calls it was made of; see edit.h for dt_text_changes."""
        out, length, owner = c_void_p(), c_uint64(), c_void_p()
        if end_seq <= first_seq:
            raise QueryError("the text is about no call")
        _check(
            self._lib.dt_text_changes(
                self._open, first_seq, end_seq, text, len(text), byref(out), byref(length), byref(owner)
            )
        )
        return cast(Row, json.loads(self._take(out, length, owner)))

    def export_c(self, selection: Selection, folder: Path, calls_per_file: int, calls_per_function: int) -> Row:
        """Write generated C source into an existing folder and return what was written; see core.h for dt_export_c."""
        text, length, owner = c_void_p(), c_uint64(), c_void_p()
        options = _COptions(calls_per_file, calls_per_function)
        chosen, where = byref(_c_selection(selection)), os.fsencode(folder)
        _check(
            self._lib.dt_export_c(self._open, chosen, where, byref(options), byref(text), byref(length), byref(owner))
        )
        return cast(Row, json.loads(self._take(text, length, owner)))

    def export_apitrace(self, ranges: Sequence[tuple[range, bool]], path: Path) -> None:
        """Write calls, or frames where the second of a pair is set, as a trace of apitrace; none: all of them."""
        chosen = (_CRange * max(1, len(ranges)))(*(_CRange(r.start, r.stop, frames, 0) for r, frames in ranges))
        _check(self._lib.dt_export_apitrace(self._open, chosen, len(ranges), os.fsencode(path)))

    def cancel(self) -> None:
        """Stop what runs on this trace; it then raises Cancelled."""
        if self._handle is not None:
            self._lib.dt_cancel(self._handle)

    def progress(self) -> tuple[int, int]:
        """Return what is done and to do of the running operation, in a unit of its own."""
        done, total = c_uint64(), c_uint64()
        self._lib.dt_progress(self._handle, byref(done), byref(total))
        return done.value, total.value

    def _take(self, pointer: c_void_p, length: c_uint64, owner: c_void_p) -> bytes:
        try:
            return ctypes.string_at(pointer, length.value) if length.value else b""
        finally:
            self._lib.dt_blob_free(owner)

    def _capsule(self, stream: int, code: int) -> object:
        try:
            _check(code)
        except BaseException:
            self._lib.dt_free_stream(stream)
            raise
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes = (c_void_p, c_char_p, c_void_p)
        new.restype = ctypes.py_object
        destructor = ctypes.cast(self._lib.dt_release_capsule, c_void_p)
        return new(stream, _CAPSULE_NAME, destructor)


def write(
    parts: Sequence[Part],
    path: str | os.PathLike[str],
    *,
    by_time: bool = False,
    annotation: Row | None = None,
    signatures: bytes | None = None,
    level: int = 0,
    forget: bool = False,
) -> Row:
    """Write a new trace from parts of open ones and return what was written; see `native/edit/edit.h` for dt_write.

    Parts follow each other, or are sorted by time. With `forget` calls do not remember their numbers. `annotation` is
    added to the file. `signatures`: signature text for calls of functions that no part has. Raises QueryError for
    changes that cannot be, InputError where the file cannot be written.
    """
    lib = _library()
    sources = (_CSource * len(parts))()
    kept: list[object] = []  # what the C side reads must live until it is done
    for source, of in zip(sources, parts, strict=True):
        changes = (_CChange * len(of.changes))()
        for to, change in zip(changes, of.changes, strict=True):
            to.what, to.inserted, to.seq = _CHANGES[change.kind], change.inserted, change.seq
            to.name, to.value = change.name.encode(), change.value & 0xFFFFFFFFFFFFFFFF
            to.data, to.bytes = change.data, len(change.data)
        kept.append(changes)
        source.trace = of.trace.handle
        calls = cast(int, of.trace.info()["calls"])
        if of.keep is not None and len(of.keep) < (calls + 7) // 8:
            raise QueryError(f"there are {calls} calls and only {len(of.keep) * 8} bits that say which are kept")
        source.keep = None if of.keep is None else bytes(of.keep)
        if of.keep_map_writes is not None:
            rows = len(of.trace.table_rows("map_writes"))
            if len(of.keep_map_writes) < (rows + 7) // 8:
                raise QueryError(f"there are {rows} map writes and only {len(of.keep_map_writes) * 8} bits")
            source.keep_map_writes = bytes(of.keep_map_writes)
        source.first_seq = of.first_seq
        source.end_seq = 0 if of.end_seq is None else of.end_seq
        source.changes, source.change_count = changes, len(of.changes)
    said = None if annotation is None else json.dumps(annotation).encode()
    options = _CWrite(int(by_time), level, said, int(forget), signatures)
    text, length, owner = c_void_p(), c_uint64(), c_void_p()
    where = os.fsencode(path)
    _check(lib.dt_write(sources, len(parts), byref(options), where, byref(text), byref(length), byref(owner)))
    try:
        return cast(Row, json.loads(ctypes.string_at(text, length.value)))
    finally:
        lib.dt_blob_free(owner)


_CAPSULE_NAME = b"arrow_array_stream"  # the capsule keeps the pointer: it must live for ever


def _c_selection(s: Selection) -> _CSelection:
    # In C a zero does not restrict; an empty range becomes one behind the last call.
    first, end = s.first_seq, s.end_seq
    if s.empty:
        first, end = (1 << 63) - 1, 1 << 63
    return _CSelection(
        s.function.encode() if s.function else None,
        None if s.columns is None else ",".join(s.columns).encode(),
        max(first, 0),
        0 if end is None else end,
        0 if s.empty else max(s.first_frame, 0),
        0 if s.empty or s.end_frame is None else s.end_frame,
        s.threads,
        s.batch_rows,
    )
