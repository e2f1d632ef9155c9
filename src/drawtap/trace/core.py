"""Bind the reader core (libdrawtap-core.so, `native/core/core.h`).

The core decodes; between it and Python cross only C structures, JSON text for small things and Arrow C streams
for large ones. Nothing here imports numpy or duckdb.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import re
import threading
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, overload

from drawtap.errors import DrawtapError, InputError, QueryError, forget_read, note_read
from drawtap.parts import READING, SIGNATURES, SIGNATURES_VULKAN, core, is_there, part
from drawtap.tables import Row as TypedRow
from drawtap.tables.recording import MapWriteRow, declared
from drawtap.trace import foreign
from drawtap.trace.library import TEXT, Handle, Library, Signature

Row = dict[str, Any]


class CallRow(TypedDict):
    """A call without its arguments; times in ns, None where they were not taken."""

    seq: int
    frame: int
    thread: int
    tid: int
    context: int
    name: str
    t_start: int | None
    duration: int | None


class TextRow(CallRow):
    """A call without its arguments, and its text; None where the call cannot be read."""

    text: str | None


TABLES = declared.named("reader")
_MAGIC, _END = b"DTAP\r\n\x1a\n", b"DTAPEND\n"


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
    """A selection of calls: of one `function` (None: all), from `first_seq` up to but without `end_seq`; likewise
    frames.

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
        """True if it cannot select anything."""
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

    A change of the kind stored gives row `seq` of the table `name` other bytes of the same number.
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
    """The part of an open trace for a new one: calls from `first_seq` to before `end_seq` whose bit in `keep` is 1.

    Bits stand by seq, the lowest of a byte first; None keeps all. `keep_map_writes` has one bit a row of the table
    `map_writes`; None keeps those before a call that is kept. `keep_images` has one bit a call: the hash of the image
    that the program showed stays with it; None keeps them for all kept calls. `stored` are such bits for the rows of
    the tables `memory_writes` and `device_writes`, as `trace.vulkan_past` makes them for this trace.
    """

    trace: CoreTrace
    keep: bytes | bytearray | None = None
    keep_map_writes: bytes | bytearray | None = None
    changes: tuple[Change, ...] = ()
    first_seq: int = 0
    end_seq: int | None = None
    keep_images: bytes | bytearray | None = None
    stored: tuple[bytes, bytes] | None = None


_CHANGES = {"value": 1, "content": 2, "null": 3, "function": 4, "insert": 5, "blob": 6, "stored": 7}


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
        ("keep_images", c_char_p),
        ("keep_memory_writes", c_char_p),
        ("keep_device_writes", c_char_p),
        ("memory_write_bytes", c_uint64),
        ("device_write_bytes", c_uint64),
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


_READING = frozenset({
    "dt_open", "dt_info", "dt_set_frame_end", "dt_know", "dt_calls_schema", "dt_calls", "dt_table", "dt_table_json",
    "dt_structures", "dt_rows_json", "dt_call", "dt_blob", "dt_text",
})  # fmt: skip


@functools.cache
def _library() -> Library:
    selection, text, u64s = POINTER(_CSelection), POINTER(c_char_p), POINTER(c_uint64)
    coded: dict[str, Signature] = {
        "dt_open": (c_char_p, POINTER(c_void_p)),
        "dt_info": (c_void_p, text),
        "dt_count": (c_void_p, u64s),
        "dt_set_frame_end": (c_void_p, c_char_p),
        "dt_know": (c_void_p, c_char_p, c_uint64),
        "dt_calls_schema": (c_void_p, c_char_p, text),
        "dt_calls": (c_void_p, selection, c_void_p),
        "dt_table": (c_void_p, c_char_p, c_void_p),
        "dt_table_json": (c_void_p, c_char_p, *TEXT),
        "dt_structures": (c_void_p, c_char_p, c_uint64, c_uint64, c_void_p),
        "dt_rows_json": (c_void_p, selection, *TEXT),
        "dt_call": (c_void_p, c_uint64, POINTER(c_void_p), u64s, *TEXT),
        "dt_blob": (c_void_p, c_char_p, *TEXT),
        "dt_text": (c_void_p, selection, c_int, c_uint32),
        "dt_plain_members": (c_void_p, *TEXT),
        "dt_check": (c_void_p, c_char_p, *TEXT),
        "dt_check_all": (c_void_p, c_char_p, c_char_p),
        "dt_place": (c_void_p, c_char_p, c_char_p, c_char_p, c_uint64, c_char_p, *TEXT),
        "dt_text_changes": (c_void_p, c_uint64, c_uint64, c_char_p, c_uint64, *TEXT),
        "dt_diff": (c_void_p, c_void_p, c_uint64, c_uint64, c_uint64, c_uint32, *TEXT),
        "dt_write": (POINTER(_CSource), c_uint32, POINTER(_CWrite), c_char_p, *TEXT),
        "dt_skeleton": (c_void_p, c_char_p, *TEXT),
        "dt_redact_origin": (c_void_p, *TEXT),
        "dt_redact": (c_void_p, c_char_p, c_uint64, c_uint64, c_char_p, c_char_p),
        "dt_pack": (c_char_p, c_uint64, ctypes.c_int32, *TEXT),
        "dt_unpack": (c_char_p, c_uint64, c_uint64, *TEXT),
        "dt_restore_open": (c_void_p, c_char_p, POINTER(c_void_p)),
        "dt_restore_add": (c_void_p, c_char_p, c_char_p, c_uint64, c_char_p, c_uint64),
        "dt_restore_finish": (c_void_p, c_char_p),
        "dt_export_apitrace": (c_void_p, POINTER(_CRange), c_uint32, c_char_p),
        "dt_export_c": (c_void_p, selection, c_char_p, POINTER(_COptions), *TEXT),
    }
    closing: Signature = (c_void_p,)
    plain: dict[str, tuple[object, Signature]] = {
        "dt_close": (None, closing),
        "dt_cancel": (None, closing),
        "dt_restore_close": (None, closing),
        "dt_progress": (None, (c_void_p, u64s, u64s)),
        "dt_core_version": (c_char_p, ()),
    }
    path = core()
    if path.name == READING:
        plain.pop("dt_restore_close")
        coded = {name: types for name, types in coded.items() if name in _READING}
    return Library(path, "dt", coded, plain, free="dt_blob_free")


@functools.cache
def _shipped_signatures() -> bytes:
    return part(SIGNATURES_VULKAN if is_there(SIGNATURES_VULKAN) else SIGNATURES).read_bytes()  # the former has all


@functools.cache
def shipped_functions() -> dict[str, str]:
    """Return the names of all functions that drawtap records unless told otherwise, by their names in lower case."""
    names = re.findall(rb"^F\t[^\t]*\t[^\t]*\t([^\t\n]+)", _shipped_signatures(), re.MULTILINE)
    return {name.decode().lower(): name.decode() for name in names}


def is_recording(path: Path) -> bool:
    """Tell whether a file begins as recordings do. Raises OSError where it cannot be read."""
    if path.is_dir():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def is_finished(path: Path) -> bool:
    """Tell whether a recording has its end: a recorder may still write it, or it was cut off. Raises OSError."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - len(_END)))
        return file.read() == _END


def version() -> str:
    """Return the core's version."""
    encoded: bytes = _library().dt_core_version()
    return encoded.decode()


_DAMAGE = frozenset({"checksum", "damaged", "signatures"})  # kinds of the table `problems`
damaged: dict[str | bytes, list[str]] = {}  # what `CoreTrace.damage` returned, by path, of recordings that were closed


class CoreTrace(Handle):
    """A trace open in the core. Every method may be called from any thread."""

    CLOSE, WHAT = "dt_close", "the trace"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._ahead: tuple[str, threading.Thread, list[bytes | BaseException]] | None = None
        library = _library()
        try:
            super().__init__(library, library.dt_open, os.fsencode(path))
        except InputError as error:
            raise foreign.explained(path, error) from None
        self._path = os.fspath(path)
        note_read(self, path)

    @classmethod
    def opened(cls, path: str | os.PathLike[str]) -> CoreTrace:
        """Open a trace, or return the one that `open_ahead` or `open_beside` opened of this path; that once."""
        thread, opened = _beside.pop(os.fspath(path), (None, []))
        if thread is not None:
            thread.join()
        ahead = opened[0] if opened else _ahead.pop(os.fspath(path), None)
        return cls(path) if ahead is None else ahead

    def read_ahead(self, table: type[TypedRow]) -> None:
        """Begin to read a small table in a thread of its own; `table_rows` of that table waits for it, once."""
        name = declared.rows[table]
        answer: list[bytes | BaseException] = []

        def read() -> None:
            try:
                answer.append(self._text(self._lib.dt_table_json, name.encode()))
            except BaseException as error:  # for whoever asks for the table
                answer.append(error)

        thread = threading.Thread(target=read)
        self._ahead = name, thread, answer
        thread.start()

    def _read_already(self, name: str | None) -> bytes | None:
        """Return the text of a table if it was read ahead; None otherwise. No name: what was read is forgotten."""
        if self._ahead is None or (name or self._ahead[0]) != self._ahead[0]:
            return None
        (_, thread, answer), self._ahead = self._ahead, None
        thread.join()
        if name is not None and isinstance(answer[0], BaseException):
            raise answer[0]
        return answer[0] if isinstance(answer[0], bytes) else None

    def close(self) -> None:
        """Let go of it. A table that is read ahead is read to its end before."""
        self._read_already(None)
        forget_read(self)
        if self.is_open and (damage := self.damage()):
            damaged[self._path] = damage
        super().close()

    def damage(self) -> list[str]:
        """Return a text for each part of the file that could not be read until now."""
        return [row["text"] for row in self.table_rows("met_problems") if row["kind"] in _DAMAGE]

    def info(self) -> Row:
        """Return what the trace says of itself; see `drawtap info --json`."""
        text = c_char_p()
        self._lib.dt_info(self.handle, byref(text))
        return _object(text.value or b"{}")

    def count(self) -> int:
        """Return the number of calls."""
        calls = c_uint64()
        self._lib.dt_count(self.handle, byref(calls))
        return calls.value

    def set_frame_end(self, rule: str) -> None:
        """Say which calls end a frame: "auto", or function names separated by commas."""
        self._read_already(None)  # by another rule
        self._lib.dt_set_frame_end(self.handle, rule.encode())

    def know_uncalled(self) -> None:
        """Give the functions that drawtap knows and the program did not call tables too, without rows."""
        text = _shipped_signatures()
        self._lib.dt_know(self.handle, text, len(text))

    def schema(self, function: str | None = None) -> list[Column]:
        """Return the columns of the calls table, or of the table of one function."""
        text = c_char_p()
        name = None if function is None else function.encode()
        self._lib.dt_calls_schema(self.handle, name, byref(text))
        return [Column(**column) for column in json.loads(text.value or b"[]")]

    def calls(self, selection: Selection) -> object:
        """Return calls as a capsule "arrow_array_stream"."""
        return self._lib.stream(self._lib.dt_calls, self.handle, byref(_c_selection(selection)))

    def table(self, name: str) -> object:
        """Return a small table as a capsule "arrow_array_stream"."""
        return self._lib.stream(self._lib.dt_table, self.handle, name.encode())

    def structures(self, type_: str, first_seq: int = 0, end_seq: int | None = None) -> object:
        """Return one row for each structure of a type, as a capsule "arrow_array_stream"."""
        if end_seq is not None and end_seq <= first_seq:
            first_seq, end_seq = self.count(), None  # no call has so high a number
        return self._lib.stream(self._lib.dt_structures, self.handle, type_.encode(), first_seq, end_seq or 0)

    def plain_members(self) -> list[tuple[int, str, str, list[tuple[str, int, int, bool]]]]:
        """Return texts, bytes and code of shaders in the structures of calls.

        An item has the call, its function, the parameter, and a list of STRUCTURE.MEMBER, place in the content, bytes,
        and whether it is text.
        """
        rows: list[tuple[int, str, str, list[tuple[str, int, int, bool]]]] = json.loads(
            self._text(self._lib.dt_plain_members)
        )
        return rows

    @overload
    def table_rows(self, table: type[TypedRow]) -> list[TypedRow]: ...
    @overload
    def table_rows(self, table: str) -> list[Row]: ...
    def table_rows(self, table: type[TypedRow] | str) -> list[TypedRow] | list[Row]:
        """Return a small table, by its name or the type of its rows, without any table engine."""
        name = table if isinstance(table, str) else declared.rows[table]
        text = self._read_already(name)
        rows: list[Row] = json.loads(self._text(self._lib.dt_table_json, name.encode()) if text is None else text)
        return rows

    def rows(self, selection: Selection) -> list[CallRow]:
        """Return calls in order of seq: seq frame thread tid context name t_start duration (ns, None: unknown)."""
        return self._rows(selection)

    def rows_with_text(self, first_seq: int, end_seq: int) -> list[TextRow]:
        """Return the calls [first_seq, end_seq) as `rows` does, with their text (None: cannot be read)."""
        return self._rows(Selection(columns=("text",), first_seq=first_seq, end_seq=end_seq))

    def _rows(self, selection: Selection) -> list[Any]:
        if selection.empty:
            return []
        rows: list[Any] = json.loads(self._text(self._lib.dt_rows_json, byref(_c_selection(selection))))
        return rows

    def call(self, seq: int) -> tuple[Row, bytes]:
        """Return one call's arguments as core.h describes them for dt_call, and the bytes of its inline arrays."""
        text, length, owner = c_void_p(), c_uint64(), c_void_p()
        data, data_length = c_void_p(), c_uint64()
        self._lib.dt_call(self.handle, seq, byref(text), byref(length), byref(data), byref(data_length), byref(owner))
        content = ctypes.string_at(data, data_length.value) if data_length.value else b""
        return json.loads(self._lib.take(text, length, owner)), content

    def blob(self, content_hash: str) -> bytes:
        """Return content by its hash (32 hex digits).

        Raises QueryError where there is none, InputError where it is damaged.
        """
        return self._text(self._lib.dt_blob, content_hash.encode())

    def text(self, selection: Selection, descriptor: int, flags: int) -> None:
        """Write calls as text, one a line, to a file descriptor. `flags` as in core.h for dt_text."""
        if not selection.empty:
            self._lib.dt_text(self.handle, byref(_c_selection(selection)), descriptor, flags)

    def check(self, keep: bytes | bytearray) -> Row:
        """Say which calls whose bit in `keep` is 1 need what only other calls made; see edit.h for dt_check."""
        if len(keep) < (self.count() + 7) // 8:
            raise QueryError("there are fewer bits than calls")
        return _object(self._text(self._lib.dt_check, bytes(keep)))

    def close_over(self, keep: bytes) -> bytes:
        """Return the bits of `keep` without calls of Vulkan that then lack something; see edit.h for dt_check_all."""
        if len(keep) < (self.count() + 7) // 8:
            raise QueryError("there are fewer bits than calls")
        left = ctypes.create_string_buffer((self.count() + 7) // 8 or 1)
        self._lib.dt_check_all(self.handle, keep, left)
        return left.raw[: (self.count() + 7) // 8]

    def place(self, function: str, parameter: str, content: bytes, path: str) -> Row:
        """Return where a member stands in the content of a parameter; see edit.h for dt_place."""
        names = function.encode(), parameter.encode()
        return _object(self._text(self._lib.dt_place, *names, content, len(content), path.encode()))

    def diff(
        self, other: CoreTrace, *, frames: range | None, limit: int, outputs: bool = False, runs: bool = False
    ) -> Row:
        """Say what differs between the calls of this trace and another; see edit.h for dt_diff."""
        first, end = (frames.start, frames.stop) if frames is not None else (0, 0)
        return _object(self._text(self._lib.dt_diff, other.handle, first, end, limit, outputs | runs << 1))

    def text_changes(self, first_seq: int, end_seq: int, text: bytes) -> Row:
        """Hold an edited text against the calls it was made of; see edit.h for dt_text_changes."""
        if end_seq <= first_seq:
            raise QueryError("the text is about no call")
        return _object(self._text(self._lib.dt_text_changes, first_seq, end_seq, text, len(text)))

    def export_c(self, selection: Selection, folder: Path, calls_per_file: int, calls_per_function: int) -> Row:
        """Write generated C source into an existing folder and return what was written; see core.h for dt_export_c."""
        options = _COptions(calls_per_file, calls_per_function)
        chosen = byref(_c_selection(selection))
        made = self._text(self._lib.dt_export_c, chosen, os.fsencode(folder), byref(options))
        return _object(made)

    def export_apitrace(self, ranges: Sequence[tuple[range, bool]], path: Path) -> None:
        """Write calls, or frames where the second of a pair is set, as a trace of apitrace; none: all of them."""
        chosen = (_CRange * max(1, len(ranges)))(*(_CRange(r.start, r.stop, frames, 0) for r, frames in ranges))
        self._lib.dt_export_apitrace(self.handle, chosen, len(ranges), os.fsencode(path))

    def skeleton(self, path: Path) -> Row:
        """Write the trace without its contents, and say which these are; see `native/edit/edit.h` for dt_skeleton."""
        return _object(self._text(self._lib.dt_skeleton, os.fsencode(path)))

    def redact_origin(self) -> Row:
        """Return the least times of chunks, and the processes; see `native/edit/edit.h` for dt_redact_origin."""
        return _object(self._text(self._lib.dt_redact_origin))

    def redact(self, path: Path, ticks: int, ns: int, before: Sequence[Row], after: Sequence[Row]) -> None:
        """Write the trace without signs of who made it, where and when, and with these annotations alone.

        `ticks` and `ns` are subtracted from times.
        """
        texts = ("\n".join(json.dumps(note) for note in notes).encode() for notes in (before, after))
        self._lib.dt_redact(self.handle, os.fsencode(path), ticks, ns, *texts)

    def cancel(self) -> None:
        """Stop what runs on this trace; it then raises Cancelled."""
        if self._handle is not None:
            self._lib.dt_cancel(self._handle)

    def progress(self) -> tuple[int, int]:
        """Return what is done and to do of the running operation, in a unit of its own."""
        done, total = c_uint64(), c_uint64()
        self._lib.dt_progress(self._handle, byref(done), byref(total))
        return done.value, total.value

    def _text(self, function: Callable[..., object], *arguments: object) -> bytes:
        return self._lib.text(function, self.handle, *arguments)


class Restored(Handle):
    """A recording that is made of a skeleton and of contents. Closed before `finish`, the file is no recording."""

    CLOSE, WHAT = "dt_restore_close", "the recording that is restored"

    def __init__(self, skeleton: CoreTrace, path: Path) -> None:
        library = _library()
        super().__init__(library, library.dt_restore_open, skeleton.handle, os.fsencode(path))

    def add(self, content_hash: str, raw: bytes, frame: bytes) -> None:
        """Add a content and one zstd frame of it. Raises InputError where its hash (32 hex digits) is another."""
        self._lib.dt_restore_add(self.handle, content_hash.encode(), raw, len(raw), frame, len(frame))

    def finish(self, annotation: Row) -> None:
        """Write what is left, with an annotation."""
        self._lib.dt_restore_finish(self.handle, json.dumps(annotation).encode())


def pack(raw: bytes, level: int) -> bytes:
    """Return `raw` as one zstd frame."""
    lib = _library()
    return lib.text(lib.dt_pack, raw, len(raw), level)


def unpack(frame: bytes, size_bytes: int | None = None) -> bytes:
    """Return what one zstd frame holds. Raises InputError where that is not whole, or not of this size (None: any)."""
    lib = _library()
    return lib.text(lib.dt_unpack, frame, len(frame), (1 << 64) - 1 if size_bytes is None else size_bytes)


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
        calls = of.trace.count()
        if of.keep is not None and len(of.keep) < (calls + 7) // 8:
            raise QueryError(f"there are {calls} calls and only {len(of.keep) * 8} bits that say which are kept")
        if of.keep_images is not None and len(of.keep_images) < (calls + 7) // 8:
            raise QueryError(f"there are {calls} calls and only {len(of.keep_images) * 8} bits for their images")
        source.keep = None if of.keep is None else bytes(of.keep)
        source.keep_images = None if of.keep_images is None else bytes(of.keep_images)
        if of.keep_map_writes is not None:
            rows = len(of.trace.table_rows(MapWriteRow))
            if len(of.keep_map_writes) < (rows + 7) // 8:
                raise QueryError(f"there are {rows} map writes and only {len(of.keep_map_writes) * 8} bits")
            source.keep_map_writes = bytes(of.keep_map_writes)
        if of.stored is not None:
            source.keep_memory_writes, source.keep_device_writes = of.stored
            source.memory_write_bytes, source.device_write_bytes = map(len, of.stored)
        source.first_seq = of.first_seq
        source.end_seq = 0 if of.end_seq is None else of.end_seq
        source.changes, source.change_count = changes, len(of.changes)
    said = None if annotation is None else json.dumps(annotation).encode()
    options = _CWrite(int(by_time), level, said, int(forget), signatures)
    made = lib.text(lib.dt_write, sources, len(parts), byref(options), os.fsencode(path))
    return _object(made)


_LARGE = 1 << 26  # bytes
_ahead: dict[str | bytes, CoreTrace] = {}
_beside: dict[str | bytes, tuple[threading.Thread | None, list[CoreTrace]]] = {}


def open_ahead(path: str, table: type[TypedRow]) -> None:
    """Open a trace and begin to read a small table of it, for a process that is about to ask for that.

    Errors are left to whoever opens the trace. A large one is not opened: reading it takes long, and Ctrl-C stops
    that only in a trace that somebody has.
    """
    with contextlib.suppress(DrawtapError, OSError, MemoryError):
        if Path(path).stat().st_size < _LARGE:
            trace = CoreTrace(path)
            trace.read_ahead(table)
            _ahead[path] = trace


def open_beside(path: str) -> None:
    """Open a trace in a thread of its own, which `CoreTrace.opened` waits for. Otherwise as `open_ahead`."""
    opened: list[CoreTrace] = []

    def read() -> None:
        with contextlib.suppress(DrawtapError, OSError, MemoryError):
            if Path(path).stat().st_size < _LARGE:
                opened.append(CoreTrace(path))

    thread = threading.Thread(target=read)
    _beside[path] = thread, opened
    thread.start()


def _object(text: bytes) -> Row:
    row: Row = json.loads(text)
    return row


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
