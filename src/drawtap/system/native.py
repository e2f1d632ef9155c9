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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from drawtap.errors import QueryError
from drawtap.parts import SYSTEM, part
from drawtap.trace.library import TEXT, Handle, Library, Signature, stream_pointer

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
def _library() -> Library:
    u64s, voids = POINTER(c_uint64), POINTER(c_void_p)
    coded: dict[str, Signature] = {
        "dt_kernel_write": (c_char_p, c_char_p, c_uint64, voids, c_uint64, c_char_p, u64s),
        "dt_kernel_decompress": (c_int, c_char_p, c_uint64, c_char_p, c_uint64, u64s),
        "dt_kernel_open": (c_char_p, c_char_p, c_uint64, voids),
        "dt_kernel_describe": (c_void_p, c_int, *TEXT),
        "dt_kernel_problems": (c_void_p, *TEXT),
        "dt_kernel_columns": (c_void_p, c_char_p, c_uint64, *TEXT),
        "dt_kernel_events": (c_void_p, c_char_p, c_uint64, c_void_p),
        "dt_kernel_facts_new": (voids,),
        "dt_kernel_facts_text": (c_void_p, *TEXT),
        "dt_kernel_thread_spans": (c_char_p, c_uint64, c_void_p, c_void_p, c_void_p, c_void_p),
        "dt_kernel_lane_table": (c_void_p, c_void_p),
        "dt_kernel_span_order": (c_char_p, c_uint64, *(c_void_p,) * 5),
    }
    closing: Signature = (c_void_p,)
    plain: dict[str, tuple[object, Signature]] = {
        "dt_kernel_lanes": (None, (c_void_p, c_void_p, c_void_p, c_uint64, c_void_p)),
        "dt_kernel_close": (None, closing),
        "dt_kernel_facts_close": (None, closing),
        "dt_kernel_cancel": (None, closing),
        "dt_kernel_progress": (None, (c_void_p, u64s, u64s)),
    }
    path = part(SYSTEM)
    return Library(path, "dt_kernel", coded, plain, free="dt_kernel_free")


COMPRESSIONS = {"none": 0, "zstd": 1, "zlib": 2}


def decompress(method: int, data: bytes, room: int) -> bytes:
    """Return what `data` was before compression, `room` bytes at most; `method` as in `COMPRESSIONS`."""
    out, written = ctypes.create_string_buffer(room), c_uint64()
    _library().dt_kernel_decompress(method, data, len(data), out, room, byref(written))
    return out.raw[: written.value]


def write(format: str, plan: Plan, tables: Sequence[object], path: Path) -> int:  # noqa: A002 - as the library calls it
    """Write tables (with `__arrow_c_stream__`) as `native/system/export.h` says, and return the bytes written."""
    capsules = [cast("_Stream", table).__arrow_c_stream__() for table in tables]
    pointers = (c_void_p * len(capsules))(*(stream_pointer(capsule) for capsule in capsules))
    data, written = plan.bytes(), c_uint64()
    _library().dt_kernel_write(
        format.encode(), data, len(data), pointers, len(capsules), os.fsencode(path), byref(written)
    )
    return written.value


class _Stream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class NativeTrace(Handle):
    """A kernel trace open in the library. Every method may be called from any thread."""

    CLOSE, WHAT = "dt_kernel_close", "the trace"

    def __init__(self, format: str, plan: Plan) -> None:  # noqa: A002 - as the library calls it
        library, data = _library(), plan.bytes()
        super().__init__(library, library.dt_kernel_open, format.encode(), data, len(data))
        self._names: dict[str, dict[str, str]] | None = None

    def names(self) -> Mapping[str, Mapping[str, str]]:
        """Return the events that are described: name -> field -> DuckDB type."""
        if self._names is None:
            events = self._describe(scan=False)["events"]
            self._names = {e["name"]: dict(e["fields"]) for e in events}
        return self._names

    def event_types(self) -> dict[str, tuple[int, dict[str, str]]]:
        """Return the events with how often they occur: name -> (count, field -> DuckDB type)."""
        events = self._describe(scan=True)["events"]
        return {e["name"]: (e["count"], dict(e["fields"])) for e in events}

    def bounds(self) -> tuple[int, int] | None:
        """Return the times of the first and the last event."""
        described = self._describe(scan=True)
        begin, end = described["begin"], described["end"]
        return None if begin is None or end is None else (begin, end)

    def _describe(self, *, scan: bool) -> dict[str, Any]:
        described: dict[str, Any] = self._json(self._lib.dt_kernel_describe, int(scan))
        return described

    def problems(self) -> list[dict[str, Any]]:
        """Return what is missing or broken, as the values of `reader.Problem` by name."""
        problems: list[dict[str, Any]] = self._json(self._lib.dt_kernel_problems)
        return problems

    def events(
        self, names: Sequence[str] | None, fields: Sequence[str] | None, begin: int | None, end: int | None
    ) -> tuple[Mapping[str, str], Callable[[], object]]:
        """Return the columns of a selection of events, and what makes a capsule "arrow_array_stream" of them."""
        request = _request(names, fields, begin, end)
        pairs = self._json(self._lib.dt_kernel_columns, request, len(request))

        def make() -> object:
            return self._lib.stream(self._lib.dt_kernel_events, self.handle, request, len(request))

        return dict(pairs), make

    def cancel(self) -> None:
        """Stop what runs on this trace."""
        if self._handle is not None:
            self._lib.dt_kernel_cancel(self._handle)

    def progress(self) -> tuple[int, int]:
        """Return bytes done and to do of the running operation."""
        done, total = c_uint64(), c_uint64()
        self._lib.dt_kernel_progress(self._handle, byref(done), byref(total))
        return done.value, total.value

    def _json(self, function: Callable[..., object], *arguments: object) -> Any:
        return json.loads(self._lib.text(function, self.handle, *arguments))


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
    rows = np.zeros(len(columns[0]), dtype=np.int32)
    _library().dt_kernel_lanes(*(c.ctypes.data for c in columns), len(rows), rows.ctypes.data)
    return rows


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """Results of a pass over switches beside its spans.

    `late`: CPUs (None: not told) that begin late, and by how many ns. `edges`: turns of threads that the begin or the
    end of the trace cuts off. `lost`: turns that another thread ended than began them. `contexts` and `named` are rows
    of tid, pid, name, last time: of threads that ran at an event, and of threads that an event names.
    """

    switches: int
    lost: int
    edges: int
    in_order: bool
    is_whole: bool
    late: list[tuple[int | None, int]]
    contexts: list[list[Any]]
    named: list[list[Any]]


class _Facts(Handle):
    CLOSE, WHAT = "dt_kernel_facts_close", "the pass"

    def __init__(self) -> None:
        library = _library()
        super().__init__(library, library.dt_kernel_facts_new)

    def read(self) -> ThreadFacts:
        text = self._lib.text(self._lib.dt_kernel_facts_text, self.handle)
        return ThreadFacts(**json.loads(text))


class ThreadSpans:
    """Spans of threads as a table with `__arrow_c_stream__`; `native/system/thread_spans.h` says the columns.

    `switches` and `wakes` are tables too. `window`: begin and end of the trace in ns. `whole`: it has not lost events.
    A span comes out of the order of begins where more than `waiting` spans began before its end. Each reading makes the
    spans anew.
    """

    def __init__(
        self, switches: object, wakes: object | None, window: tuple[int, int], *, whole: bool, waiting: int = 1 << 18
    ) -> None:
        self._switches = switches
        self._wakes = wakes
        self._plan = Plan().number(*window, whole, waiting).bytes()
        self._facts: list[_Facts] = []

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        capsules = [cast(_Stream, t).__arrow_c_stream__() for t in (self._switches, self._wakes) if t is not None]
        pointers = [stream_pointer(capsule) for capsule in capsules]
        wakes = pointers[1] if len(pointers) > 1 else None
        library, facts = _library(), _Facts()
        self._facts.append(facts)
        fill = library.dt_kernel_thread_spans
        return library.stream(fill, self._plan, len(self._plan), pointers[0], wakes, facts.handle)

    @property
    def in_order(self) -> bool:
        """False where a reading met events that are not in order of time, and failed."""
        return all(facts.read().in_order for facts in self._facts)

    @property
    def facts(self) -> ThreadFacts:
        """Results of the last reading that came to the end."""
        return next(found for found in (facts.read() for facts in reversed(self._facts)) if found.is_whole)


class Lanes:
    """The row of each interval as a table (track, request, lane), as `lanes` finds it: it has `__arrow_c_stream__`.

    `intervals`: a table with the columns track, request, b, e in order of track, then of b.
    """

    def __init__(self, intervals: object) -> None:
        self._intervals = intervals

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        library = _library()
        capsule = cast(_Stream, self._intervals).__arrow_c_stream__()
        return library.stream(library.dt_kernel_lane_table, stream_pointer(capsule))


class OrderedSpans:
    """Spans of threads, of requests and others, all in order of time, as the table `spans`: has `__arrow_c_stream__`.

    `thread_kinds`: kinds of threads' spans and their names. `request_kinds` and `request_tracks` are texts of numbers.
    `native/system/span_order.h` says the columns of the tables.
    """

    def __init__(
        self,
        thread_kinds: Mapping[str, str],
        request_kinds: Sequence[str],
        request_tracks: Sequence[str],
        *,
        threads: object,
        requests: object,
        others: object,
        owners: object,
    ) -> None:
        self._tables = (threads, requests, others, owners)
        plan = Plan()
        for texts in (list(thread_kinds), list(thread_kinds.values()), request_kinds, request_tracks):
            plan.number(len(texts))
            for text in texts:
                plan.text(text)
        self._plan = plan.bytes()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        library = _library()
        capsules = [cast(_Stream, table).__arrow_c_stream__() for table in self._tables]
        pointers = [stream_pointer(capsule) for capsule in capsules]
        return library.stream(library.dt_kernel_span_order, self._plan, len(self._plan), *pointers)
