"""A trace in Python: its calls, frames, content, and SQL over all of it.

Nothing is read before its first use, and nothing is held whole: calls come in pages, tables as streams.
"""

from __future__ import annotations

import json
import os
import struct
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, overload

from drawtap.errors import InputError, QueryError, did_you_mean
from drawtap.tables import Row as TypedRow
from drawtap.tables.recording import AnnotationRow, FrameRow
from drawtap.trace.apis import is_vulkan
from drawtap.trace.core import TABLES, CallRow, Column, CoreTrace, Row, Selection
from drawtap.trace.opened import LONG

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from drawtap.trace.graph import Graph, Stop
    from drawtap.trace.image import Image
    from drawtap.trace.recorded import RecordingDatabase
    from drawtap.trace.result import Parameters, Result
    from drawtap.trace.state import StateIndex

_PAGE = 1000  # calls fetched at once when iterating

_DTYPES = {
    "u8": "u1",
    "i8": "i1",
    "u16": "<u2",
    "i16": "<i2",
    "u32": "<u4",
    "i32": "<i4",
    "u64": "<u8",
    "i64": "<i8",
    "f32": "<f4",
    "f64": "<f8",
    "attribs32": "<i4",
    "attribs64": "<i8",
    "ptr": "<u8",
}


def open_trace(path: str | os.PathLike[str], *, frame_end: str | None = None) -> Trace:
    """Open a recording.

    `frame_end` says which calls end a frame: "auto" (swaps; where there are none, glFinish; else read-backs), or
    function names separated by commas; None: the rule it was recorded with. Raises InputError for a file that is
    missing, no trace, or of a newer version; a damaged one opens with what is whole (see the table `problems`).
    """
    return Trace(path, frame_end=frame_end)


class Enum(str):
    """The name of an enumerant, or names of bits joined by " | "; `value` is the number."""

    __slots__ = ("value",)
    value: int

    def __new__(cls, name: str, value: int) -> Enum:
        self = super().__new__(cls, name)
        self.value = value
        return self

    def __int__(self) -> int:
        return self.value

    def __reduce__(self) -> tuple[type[Enum], tuple[str, int]]:
        return Enum, (str(self), self.value)


class Call:
    """One call of the application. Times are ns of CLOCK_MONOTONIC; None where they were not taken."""

    __slots__ = ("_details", "_row", "_trace")

    def __init__(self, trace: Trace, row: CallRow) -> None:
        self._trace = trace
        self._row = row
        self._details: tuple[Row, bytes] | None = None

    @property
    def seq(self) -> int:
        """Number of the call in the total order, from 0."""
        return self._row["seq"]

    @property
    def frame(self) -> int:
        """Number of frame ends before it."""
        return self._row["frame"]

    @property
    def thread(self) -> int:
        """Number of the thread; see the table `threads`."""
        return self._row["thread"]

    @property
    def context(self) -> int:
        """Number of the context that was current; 0: none."""
        return self._row["context"]

    @property
    def name(self) -> str:
        """Name of the function."""
        return self._row["name"]

    @property
    def t_start(self) -> int | None:
        """Entry time in ns."""
        return self._row["t_start"]

    @property
    def start(self) -> int | None:
        """Entry time in ns from the beginning of the recording, as the command line shows it."""
        return self._trace.since_first(self.t_start)

    @property
    def duration(self) -> int | None:
        """Time in the driver in ns; None: not timed, or still in flight when the recording ended."""
        return self._row["duration"]

    @property
    def args(self) -> dict[str, object]:
        """Arguments by name: numbers, `Enum`s, strings, read-only numpy arrays, bytes, None for NULL.

        Structures of Vulkan are dictionaries of their members, or lists of these.

        Content beyond the inline limit is fetched from the trace's blobs.
        """
        details, data = self._fetched
        return {argument["name"]: self._value(argument, data) for argument in details["args"]}

    @property
    def result(self) -> object:
        """Returned value; None for void and for a call in flight."""
        details, data = self._fetched
        result = details["result"]
        return None if result is None else self._value(result, data)

    @property
    def _fetched(self) -> tuple[Row, bytes]:
        if self._details is None:
            self._details = self._trace.core.call(self.seq)
        return self._details

    def _value(self, argument: Row, data: bytes) -> object:
        if "data" in argument:
            return self._content(argument, data)
        return scalar(argument)

    def _content(self, argument: Row, data: bytes) -> object:
        kind = argument["data"]
        if kind == "inline":
            start = argument["at"]
            content = data[start : start + argument["bytes"]]
        elif kind == "blob":
            content = self._trace.blob(argument["blob"])
        elif kind == "pending":
            return None
        else:  # NULL, an offset into a buffer, or an address that no rule covers
            return argument["value"] or None
        if "tree" in argument:
            return argument["tree"]
        return decode_content(argument["element"], content)

    def __str__(self) -> str:
        return str(self._fetched[0]["text"])

    def __reduce__(self) -> tuple[Callable[[Trace, int], Call], tuple[Trace, int]]:
        return _call_at, (self._trace, self.seq)

    def __repr__(self) -> str:
        return f"<Call {self.seq} {self}>"


def decode_content(element: str, content: bytes) -> object:
    """Return an array's content as a read-only numpy array; strings as str or list of str; the rest as bytes."""
    if element == "char":
        return content.rstrip(b"\0").decode(errors="replace")
    if element == "strings":
        strings, at = [], 0
        while at + 4 <= len(content):
            (length,) = struct.unpack_from("<I", content, at)
            strings.append(content[at + 4 : at + 4 + length].decode(errors="replace"))
            at += 4 + length
        return strings
    dtype = _DTYPES.get(element)
    if dtype is None:
        return content
    import numpy as np

    size = np.dtype(dtype).itemsize
    return np.frombuffer(content[: len(content) // size * size], dtype=dtype)


def scalar(argument: Row) -> object:
    """Return the value of an argument or a result that CoreTrace.call describes."""
    kind, value = argument["kind"], argument["value"]
    if kind in ("f32", "f64"):
        wide = argument["bits"] == 64
        return struct.unpack("<d" if wide else "<f", struct.pack("<Q" if wide else "<I", value & (2**64 - 1)))[0]
    if kind == "bool":
        return bool(value)
    if kind in ("enum", "bitmask"):
        return Enum(argument["text"], value)
    if kind in ("ptr", "handle", "u64"):
        value &= 2**64 - 1
        return None if kind == "ptr" and not value else value
    return value


class CallSlice(Sequence[Call]):
    """Calls by their numbers, fetched in pages while they are walked through."""

    def __init__(self, trace: Trace, numbers: range) -> None:
        self._trace = trace
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> CallSlice: ...
    def __getitem__(self, index: int | slice) -> Call | CallSlice:
        if isinstance(index, slice):
            return CallSlice(self._trace, self._numbers[index])
        try:
            seq = self._numbers[index]
        except IndexError:
            raise IndexError(f"no call {index}: there are {len(self)}") from None
        rows = self._trace.core.rows(Selection(first_seq=seq, end_seq=seq + 1))
        if not rows:
            raise InputError(
                f"call {seq} cannot be read: its part of the trace is damaged", hint="see the table `problems`"
            )
        return Call(self._trace, rows[0])

    def __iter__(self) -> Iterator[Call]:
        numbers = self._numbers
        if numbers.step != 1:
            for i in range(len(self)):
                yield self[i]
            return
        for first in range(numbers.start, numbers.stop, _PAGE):
            end = min(first + _PAGE, numbers.stop)
            for row in self._trace.core.rows(Selection(first_seq=first, end_seq=end)):
                yield Call(self._trace, row)

    def __repr__(self) -> str:
        return f"<CallSlice {self._numbers.start}:{self._numbers.stop} of {self._trace.path}>"


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame: the calls from `first_seq` up to but without `end_seq`. Times in ns, None where not taken.

    `duration` is from the entry of its first call to the exit of its last; `interval` from the end of the frame before.
    `end_function` is None for what comes after the last frame end.
    """

    trace: Trace
    frame: int
    first_seq: int
    end_seq: int
    t_start: int | None
    t_end: int | None
    duration: int | None
    interval: int | None
    draws: int
    upload_bytes: int
    end_function: str | None

    @property
    def calls(self) -> CallSlice:
        """Its calls."""
        return CallSlice(self.trace, range(self.first_seq, self.end_seq))

    @property
    def start(self) -> int | None:
        """Begin in ns from the beginning of the recording, as the command line shows it."""
        return self.trace.since_first(self.t_start)

    def image(self, *, on: str = "system") -> Image:
        """Return the picture that it shows, by playing the recording on the engine `on`; see `drawtap.image`."""
        import drawtap

        return drawtap.image(self.trace, f"#{self.frame}", on=on)

    def _facts(self) -> dict[str, object]:
        times = {"start": self.start, "duration": self.duration, "interval": self.interval}
        shown = {name: None if ns is None else f"{ns / 1e6:.3f} ms" for name, ns in times.items()}
        return {"calls": f"{self.first_seq} to {self.end_seq - 1}", **shown, "draws": self.draws,
                "uploads": f"{self.upload_bytes} bytes", "ended by": self.end_function}  # fmt: skip

    def __repr__(self) -> str:
        return f"<Frame {self.frame}: {', '.join(f'{k} {v}' for k, v in self._facts().items() if v is not None)}>"

    def _repr_html_(self) -> str:
        return _html(f"Frame {self.frame}", self._facts())


def frame_time(row: FrameRow) -> int | None:
    """Return how long a frame took: its interval, or, of the first one, its duration; None where not timed. In ns."""
    return row["duration"] if row["interval"] is None else row["interval"]


class Frames(Sequence[Frame]):
    """The frames of a trace."""

    def __init__(self, trace: Trace, rows: Sequence[FrameRow]) -> None:
        self._trace = trace
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> Frames: ...
    def __getitem__(self, index: int | slice) -> Frame | Frames:
        if isinstance(index, slice):
            return Frames(self._trace, self._rows[index])
        fields: Row = {key: value for key, value in self._rows[index].items() if key != "calls"}
        return Frame(trace=self._trace, **fields)

    def __repr__(self) -> str:
        return f"<{len(self)} frames of {self._trace.path}>"


def _html(title: str, facts: Mapping[str, object]) -> str:
    import html  # in notebooks alone

    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>"
        for name, value in facts.items()
        if value is not None
    )
    return f"<table><caption>{html.escape(title)}</caption>{rows}</table>"


class Trace:
    """A recording. Use it in a `with` block, or `close` it."""

    KIND: ClassVar[str] = "recording"

    def __init__(self, path: str | os.PathLike[str], *, frame_end: str | None = None) -> None:
        self.path = Path(path)
        self.core = CoreTrace.opened(path)
        self._odd_frame_end: str | None = None  # the file's own rule, where it makes no sense
        self.frame_end = frame_end or self._recorded_frame_end() or "auto"
        if self.frame_end != "auto":
            self.core.know_uncalled()  # a window may begin before the first call that ends a frame
            try:
                self.core.set_frame_end(self.frame_end)
            except QueryError:
                if frame_end is not None:
                    raise
                self._odd_frame_end, self.frame_end = self.frame_end, "auto"
        self._database: RecordingDatabase | None = None
        self._opening = threading.Lock()  # of the database, which several threads may ask for
        self._state: StateIndex | None = None
        self._graph: Graph | None = None
        self._waste: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]] | None = None
        self._making_graph = threading.RLock()
        self._stop_graph: Stop | None = None  # of the graph that is being made
        self._graph_of: Trace | None = None  # the trace that keeps the graph and its findings, where another does
        self._info: Row | None = None
        self._frames: Frames | None = None

    def __reduce__(self) -> tuple[Callable[..., Trace], tuple[object, ...]]:
        # A recording does not change: where it stands says all. The other process reads the same file.
        return _unpickled, (str(self.path.absolute()), self.frame_end, self.info["uuid"], self.info["calls"])

    def _recorded_frame_end(self) -> str | None:
        # The value of `drawtap record --frame-end` travels in the file.
        for row in self.core.table_rows(AnnotationRow):
            if row["kind"] == "command":
                rule = json.loads(row["json"]).get("frame_end")
                return rule if isinstance(rule, str) else None
        return None

    def __enter__(self) -> Trace:
        return self

    def since_first(self, t: int | None) -> int | None:
        """Return a time of CLOCK_MONOTONIC as ns from the beginning of the recording; None where not taken."""
        first = self.info["t_first"]
        return t - first if isinstance(first, int) and t is not None else None

    def _facts(self) -> dict[str, object]:
        info = self.info
        length = info["duration"]
        return {"calls": info["calls"], "frames": info["frames"], "threads": info["threads"],
                "duration": f"{length / 1e6:.3f} ms" if isinstance(length, int) else None}  # fmt: skip

    def _repr_html_(self) -> str:
        return _html(self.path.name, self._facts())

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def state_index(self) -> StateIndex:
        """The state of OpenGL at every call, computed from the calls; made when first asked for, then kept on disk."""
        if self._state is None:
            self.core.check_open()
            from drawtap.trace.state import StateIndex

            self._state = StateIndex(self.path, frame_end=self.frame_end)
        return self._state

    @property
    def graph(self) -> Graph:
        """The graph of needs between calls; made when first asked for. Raises Cancelled after `cancel`."""
        if self._graph_of is not None:
            return self._graph_of.graph
        with self._making_graph:  # the viewer asks for it beside a thread that makes it
            if self._graph is None:
                self.core.check_open()
                from drawtap.trace.graph import Graph, Stop

                self._stop_graph = Stop()
                try:
                    self._graph = Graph(self, stop=self._stop_graph)
                finally:
                    self._stop_graph = None
            return self._graph

    def share_graph(self, of: Trace) -> None:
        """Take graph and findings from another trace of the same file and frame ends, which stays open meanwhile."""
        self._graph_of = of

    @property
    def waste(self) -> npt.NDArray[np.uint8]:
        """For each call what it did for nothing; see `Graph.waste`."""
        return self._wasted()[0]

    def waste_table(self) -> object:
        """Return the table `redundancy` as a capsule "arrow_array_stream"."""
        from drawtap.trace.graph import waste_table

        return waste_table(*self._wasted())

    def _wasted(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]:
        if self._graph_of is not None:
            return self._graph_of._wasted()
        with self._making_graph:
            if self._waste is None and is_vulkan(self):
                from drawtap.trace.vulkan_waste import NO_PROGRAMS, vulkan_waste

                self._waste = vulkan_waste(self).kinds, NO_PROGRAMS
            elif self._waste is None:
                self._waste = self.graph.waste(), self.graph.programs()
                if len(self._waste[0]) > LONG:  # the graph takes far more memory than its answers
                    self._graph = None
            return self._waste

    def close(self) -> None:
        """Close the file and the database connection. Later reads raise InputError."""
        if self._database is not None:
            self._database.close()
            self._database = None
        if self._state is not None:
            self._state.close()
            self._state = None
        if self._graph is not None:
            self._graph.close()
            self._graph = None
        self._info = self._frames = None
        self.core.close()

    @property
    def info(self) -> Row:
        """The trace's own facts: calls, threads, frames and the rule for them, times, problems, annotations."""
        if self._info is None:
            info = self.core.info()
            if (rule := self._odd_frame_end) is not None:
                said = f"the rule of the file for the end of frames, {rule!r}, names no function: not used"
                problem: Row = {"kind": "annotation", "offset": 0, "bytes": 0, "text": said}
                info["problems"] = [*info["problems"], problem]
            self._info = info
        return self._info

    @property
    def frames(self) -> Frames:
        """The frames, with times, draws and uploads."""
        if self._frames is None:
            self._frames = Frames(self, self.core.table_rows(FrameRow))
        return self._frames

    @property
    def calls(self) -> CallSlice:
        """All calls, by number in the total order."""
        return CallSlice(self, range(self.call_count))

    @property
    def call_count(self) -> int:
        """The number of calls."""
        return self.core.count()

    @overload
    def table(self, table: type[TypedRow]) -> list[TypedRow]: ...
    @overload
    def table(self, table: str) -> list[Row]: ...
    def table(self, table: type[TypedRow] | str) -> list[TypedRow] | list[Row]:
        """Return a small table (see TABLES), by its name or the type of its rows, without a table engine."""
        if isinstance(table, str) and table not in TABLES:
            raise QueryError(f"no table {table}", hint=did_you_mean(table, TABLES) or "tables: " + ", ".join(TABLES))
        return self.core.table_rows(table)

    def schema(self, function: str | None = None) -> list[Column]:
        """Return the columns of `calls`, or of the table of one function."""
        return self.core.schema(function)

    @property
    def database(self) -> RecordingDatabase:
        """The DuckDB database over this trace."""
        with self._opening:
            if self._database is None:
                self.core.check_open()
                from drawtap.trace.recorded import RecordingDatabase

                self._database = RecordingDatabase(self)
            return self._database

    def sql(self, query: str, parameters: Parameters = ()) -> Result:
        """Ask in DuckDB's SQL.

        Tables are `calls`, one per function (`FROM "glDrawElements"`), `frames` and the others in TABLES. `parameters`
        is a sequence for `?` and `$1`, a mapping for `$name`. Raises QueryError, with near misses for names.
        """
        return self.database.query(query, parameters)

    def materialise(self, tables: Sequence[str] | None = None) -> Path:
        """Write tables into the side database `<trace>.duckdb`, which later queries use; return its path.

        `tables` None: calls, frames and every function that was called. It is a cache: deleting it loses nothing.
        """
        return self.database.materialise(tables)

    def blob(self, content_hash: str) -> bytes:
        """Return content by hash (32 hex digits)."""
        return self.core.blob(content_hash)

    def text(
        self,
        *,
        function: str | None = None,
        seqs: range | None = None,
        frames: range | None = None,
        flags: int = 0,
    ) -> Iterator[str]:
        """Yield calls as lines of text, without line ends.

        `seqs` and `frames` are ranges with step 1; `flags` as for `write_text`.
        """
        reader, writer = os.pipe()
        failure: list[BaseException] = []

        def write() -> None:
            try:
                self.write_text(writer, function=function, seqs=seqs, frames=frames, flags=flags)
            except BaseException as error:
                failure.append(error)
            finally:
                os.close(writer)

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        done = False
        try:
            with os.fdopen(reader, encoding="utf-8", errors="replace", newline="\n") as lines:
                for line in lines:
                    yield line.rstrip("\n")
            done = True
        finally:
            thread.join()
        if done and failure:
            raise failure[0]

    def write_text(
        self,
        descriptor: int,
        *,
        function: str | None = None,
        seqs: range | None = None,
        frames: range | None = None,
        flags: int = 0,
    ) -> None:
        """Write calls as text to a file descriptor.

        `flags`: 1 no times, 2 with thread and context, 4 with durations, 8 with entry times in ns, 16 without seq.
        """
        self.core.text(_selection(function, seqs, frames), descriptor, flags)

    def cancel(self) -> None:
        """Stop running work on this trace (from another thread)."""
        self.core.cancel()
        stop = self._stop_graph
        if stop is not None:
            stop.set()
        if self._database is not None:
            self._database.interrupt()

    def progress(self) -> tuple[int, int]:
        """Return what is done and to do of the running operation, in a unit of its own."""
        return self.core.progress()

    def __repr__(self) -> str:
        return f"<Trace {self.path}>"


# Calls and frames that are unpickled one after the other share their trace.
_unpickled_traces: weakref.WeakValueDictionary[tuple[object, ...], Trace] = weakref.WeakValueDictionary()


def _unpickled(path: str, frame_end: str, uuid: str, calls: int) -> Trace:
    key = (path, frame_end, uuid, calls)
    trace = _unpickled_traces.get(key)
    if trace is None or not trace.core.is_open:
        trace = open_trace(path, frame_end=frame_end)
        if (trace.info["uuid"], trace.info["calls"]) != (uuid, calls):
            trace.close()
            raise InputError(f"{path} is another recording by now", hint="make what was pickled again from this one")
        _unpickled_traces[key] = trace
    return trace


def _call_at(trace: Trace, seq: int) -> Call:
    return trace.calls[seq]


def _selection(function: str | None, seqs: range | None, frames: range | None) -> Selection:
    for numbers in (seqs, frames):
        if numbers is not None and numbers.step != 1:
            raise QueryError("a range of calls or frames has no step", hint="walk trace.calls[a:b:step] instead")
    return Selection(
        function=function,
        first_seq=seqs.start if seqs is not None else 0,
        end_seq=seqs.stop if seqs is not None else None,
        first_frame=frames.start if frames is not None else 0,
        end_frame=frames.stop if frames is not None else None,
    )


open = open_trace  # noqa: A001 - the package says `drawtap.open`
