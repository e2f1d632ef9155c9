"""Bind the reader of kernel traces (libdrawtap-system.so, `native/system/system.h`).

Python hands over a plan made from metadata; back come JSON for small things and Arrow C streams for events.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_uint64, c_void_p
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from drawtap.errors import InputError, QueryError, UnavailableError
from drawtap.parts import SYSTEM, part
from drawtap.system.reader import Problem
from drawtap.trace.core import raise_coded

_FIRST, _LAST = -(1 << 63), (1 << 63) - 1


class Plan:
    """Write integers and strings one behind the other, as `system.h` says."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def number(self, *values: int) -> Plan:
        """Add integers; those of 64 bits without sign are taken as bits."""
        self._parts += [struct.pack("<Q", value & 0xFFFFFFFFFFFFFFFF) for value in values]
        return self

    def text(self, value: str | bytes) -> Plan:
        """Add a string."""
        data = value if isinstance(value, bytes) else value.encode(errors="replace")
        self._parts += [struct.pack("<Q", len(data)), data]
        return self

    def add(self, other: Plan) -> Plan:
        """Add what another plan has."""
        self._parts += other._parts
        return self

    def bytes(self) -> bytes:
        """Return the plan."""
        return b"".join(self._parts)


@functools.cache
def _library() -> ctypes.CDLL:
    path = part(SYSTEM, "build the native parts (pip install .), or name their folder in DRAWTAP_NATIVE")
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as error:
        raise UnavailableError(f"{path} cannot be loaded: {error}", hint="is libzstd1 installed?") from None
    u64s, voids = POINTER(c_uint64), POINTER(c_void_p)
    signatures: dict[str, tuple[object, ...]] = {
        "dt_kernel_write": (c_char_p, c_char_p, c_uint64, voids, c_uint64, c_char_p, u64s),
        "dt_kernel_decompress": (c_int, c_char_p, c_uint64, c_char_p, c_uint64, u64s),
        "dt_kernel_open": (c_char_p, c_char_p, c_uint64, voids),
        "dt_kernel_describe": (c_void_p, c_int, voids, u64s, voids),
        "dt_kernel_problems": (c_void_p, voids, u64s, voids),
        "dt_kernel_columns": (c_void_p, c_char_p, c_uint64, voids, u64s, voids),
        "dt_kernel_events": (c_void_p, c_char_p, c_uint64, c_void_p),
    }
    for name, arguments in signatures.items():
        function = getattr(lib, name)
        function.argtypes = arguments
        function.restype = c_int
    lib.dt_kernel_lanes.argtypes = (c_void_p, c_void_p, c_void_p, c_uint64, c_void_p)
    lib.dt_kernel_lanes.restype = None
    for name in ("dt_kernel_close", "dt_kernel_cancel", "dt_kernel_free", "dt_kernel_free_stream"):
        function = getattr(lib, name)
        function.argtypes = (c_void_p,)
        function.restype = None
    lib.dt_kernel_progress.argtypes = (c_void_p, u64s, u64s)
    lib.dt_kernel_progress.restype = None
    lib.dt_kernel_new_stream.argtypes = ()
    lib.dt_kernel_new_stream.restype = c_void_p
    lib.dt_kernel_last_error.argtypes = ()
    lib.dt_kernel_last_error.restype = c_char_p
    return lib


def _check(code: int) -> None:
    if code:
        raise_coded(code, cast(bytes, _library().dt_kernel_last_error()))


COMPRESSIONS = {"none": 0, "zstd": 1, "zlib": 2}


def decompress(method: int, data: bytes, room: int) -> bytes:
    """Return what `data` was before compression, `room` bytes at most; `method` as in `COMPRESSIONS`."""
    out, written = ctypes.create_string_buffer(room), c_uint64()
    _check(_library().dt_kernel_decompress(method, data, len(data), out, room, byref(written)))
    return out.raw[: written.value]


def write(format: str, plan: Plan, tables: Sequence[object], path: Path) -> int:  # noqa: A002 - as the library calls it
    """Write tables (with `__arrow_c_stream__`) as `native/system/export.h` says, and return the bytes written."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.argtypes = (ctypes.py_object, c_char_p)
    pointer_of.restype = c_void_p
    capsules = [cast("_Stream", table).__arrow_c_stream__() for table in tables]
    pointers = (c_void_p * len(capsules))(*(pointer_of(capsule, _CAPSULE_NAME) for capsule in capsules))
    data, written = plan.bytes(), c_uint64()
    code = _library().dt_kernel_write(
        format.encode(), data, len(data), pointers, len(capsules), os.fsencode(path), byref(written)
    )
    _check(code)
    return written.value


class _Stream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class NativeTrace:
    """A kernel trace open in the library. Every method may be called from any thread."""

    def __init__(self, format: str, plan: Plan) -> None:  # noqa: A002 - as the library calls it
        self._lib = _library()
        handle = c_void_p()
        data = plan.bytes()
        _check(self._lib.dt_kernel_open(format.encode(), data, len(data), byref(handle)))
        self._handle: c_void_p | None = handle
        self._names: dict[str, dict[str, str]] | None = None

    def close(self) -> None:
        """Forget the trace."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._lib.dt_kernel_close(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    @property
    def _open(self) -> c_void_p:
        if self._handle is None:
            raise InputError("the trace is closed", hint="open it again, or stay inside its `with` block")
        return self._handle

    def names(self) -> Mapping[str, Mapping[str, str]]:
        """Return the events that are described: name -> field -> DuckDB type."""
        if self._names is None:
            found = cast("dict[str, list[dict[str, object]]]", self._describe(scan=False))["events"]
            self._names = {cast(str, e["name"]): dict(cast("list[tuple[str, str]]", e["fields"])) for e in found}
        return self._names

    def event_types(self) -> dict[str, tuple[int, dict[str, str]]]:
        """Return the events with how often they occur: name -> (count, field -> DuckDB type)."""
        found = cast("dict[str, list[dict[str, object]]]", self._describe(scan=True))["events"]
        return {
            cast(str, e["name"]): (cast(int, e["count"]), dict(cast("list[tuple[str, str]]", e["fields"])))
            for e in found
        }

    def bounds(self) -> tuple[int, int] | None:
        """Return the times of the first and the last event."""
        found = cast("dict[str, int | None]", self._describe(scan=True))
        begin, end = found["begin"], found["end"]
        return None if begin is None or end is None else (begin, end)

    def _describe(self, *, scan: bool) -> object:
        return self._json(lambda *out: self._lib.dt_kernel_describe(self._open, int(scan), *out))

    def problems(self) -> list[Problem]:
        """Return what is missing or broken."""
        found = cast("list[dict[str, str]]", self._json(lambda *out: self._lib.dt_kernel_problems(self._open, *out)))
        return [
            Problem(
                p["kind"],
                p["where"],
                p["text"],
                cast(int, p["count"]),
                cast("int | None", p["begin"]),
                cast("int | None", p["end"]),
            )
            for p in found
        ]

    def events(
        self, names: Sequence[str] | None, fields: Sequence[str] | None, begin: int | None, end: int | None
    ) -> tuple[Mapping[str, str], Callable[[], object]]:
        """Return the columns of a selection of events, and what makes a capsule "arrow_array_stream" of them."""
        request = _request(names, fields, begin, end)
        pairs = self._json(lambda *out: self._lib.dt_kernel_columns(self._open, request, len(request), *out))

        def make() -> object:
            stream = self._lib.dt_kernel_new_stream()
            return self._capsule(stream, self._lib.dt_kernel_events(self._open, request, len(request), stream))

        return dict(cast("list[tuple[str, str]]", pairs)), make

    def cancel(self) -> None:
        """Stop what runs on this trace."""
        if self._handle is not None:
            self._lib.dt_kernel_cancel(self._handle)

    def progress(self) -> tuple[int, int]:
        """Return bytes done and to do of the running operation."""
        done, total = c_uint64(), c_uint64()
        self._lib.dt_kernel_progress(self._handle, byref(done), byref(total))
        return done.value, total.value

    def _json(self, call: Callable[..., int]) -> object:
        text, length, owner = c_void_p(), c_uint64(), c_void_p()
        _check(call(byref(text), byref(length), byref(owner)))
        try:
            return json.loads(ctypes.string_at(text, length.value))
        finally:
            self._lib.dt_kernel_free(owner)

    def _capsule(self, stream: int, code: int) -> object:
        try:
            _check(code)
        except BaseException:
            self._lib.dt_kernel_free_stream(stream)
            raise
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes = (c_void_p, c_char_p, c_void_p)
        new.restype = ctypes.py_object
        return new(stream, _CAPSULE_NAME, ctypes.cast(self._lib.dt_kernel_release_capsule, c_void_p))


_CAPSULE_NAME = b"arrow_array_stream"  # the capsule keeps the pointer: it must live for ever


def _request(names: Sequence[str] | None, fields: Sequence[str] | None, begin: int | None, end: int | None) -> bytes:
    plan = Plan()
    plan.number(names is None, len(names or ()))
    for name in names or ():
        plan.text(name)
    plan.number(fields is None, len(fields or ()))
    for field in fields or ():
        column, given, sources = field.partition("=")
        if not column or (given and not sources):
            raise QueryError(f"{field!r} is no field", hint="a name, or name=one|other")
        from_fields = (sources or column).split("|")
        plan.text(column).number(len(from_fields))
        for source in from_fields:
            plan.text(source)
    plan.number(_FIRST if begin is None else begin, _LAST if end is None else end)
    return plan.bytes()


def lanes(
    track: npt.NDArray[np.int64], begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    """Return the row of each interval, so that those of one row of a track do not overlap.

    The intervals are in order of track, then of begin.
    """
    columns = [np.ascontiguousarray(column, dtype=np.int64) for column in (track, begin, end)]
    found = np.zeros(len(columns[0]), dtype=np.int32)
    _library().dt_kernel_lanes(*(c.ctypes.data for c in columns), len(found), found.ctypes.data)
    return found
