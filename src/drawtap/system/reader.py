"""Open a trace of the kernel, whatever recorded it, as streams of typed events.

Every format ends in the same thing: a `KernelTrace` that says which events there are, and hands out those somebody asks
for as an Arrow stream in order of time. Python reads the metadata, `libdrawtap-system.so` the events: there is no
Python object per event.

    with reader.open("trace.dat") as trace:
        switches = trace.events("sched_switch", ["cpu", "prev_tid=prev_pid|prev_tid", "next_comm"])
        connection.register("switches", switches)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from drawtap.errors import InputError, UsageError, did_you_mean
from drawtap.plugins import Registry

if TYPE_CHECKING:
    from drawtap.system.native import NativeTrace

BASE_COLUMNS: Mapping[str, str] = {
    "t": "BIGINT",
    "event": "VARCHAR",
    "cpu": "INTEGER",
    "tid": "INTEGER",
    "pid": "INTEGER",
    "comm": "VARCHAR",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an event: its name without decoration (`_prev_tid` is `prev_tid`) and its DuckDB type.

    `labels`: names of values, where the trace has them; the column holds the number.
    """

    name: str
    type: str
    labels: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventType:
    """An event: its name, how often it stands in the trace, its own fields beside `BASE_COLUMNS`."""

    name: str
    count: int
    fields: tuple[Field, ...]

    def has(self, name: str) -> bool:
        """Tell whether it has a field of this name."""
        return any(f.name == name for f in self.fields)


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of a trace's times.

    `monotonic`: CLOCK_MONOTONIC of the machine that was traced, the clock of API recordings. `epoch_offset_ns`: what to
    add for time since 1970, None where the trace does not tell. `note`: one sentence for people.
    """

    name: str
    monotonic: bool
    epoch_offset_ns: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is missing or broken.

    `kind`: `lost` (events that the kernel dropped), `discarded` (packets or events that the tracer dropped),
    `truncated`, `corrupt`, `unknown` (no description), `unread` (left out by this reader), `order` (time goes back).
    `count`: how many events, 0 where nobody knows; `begin`, `end`: between which times, None where nobody knows.
    """

    kind: str
    where: str
    text: str
    count: int = 0
    begin: int | None = None
    end: int | None = None


class Events:
    """Events as a table that can be read any number of times: it has `__arrow_c_stream__` for DuckDB, nanoarrow, ...

    `columns` maps names to DuckDB types. Rows are in order of `t`.
    """

    def __init__(self, columns: Mapping[str, str], make: Callable[[], object]) -> None:
        self.columns = columns
        self._make = make

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._make()


class KernelTrace:
    """A trace of the kernel. Use as a context manager, or `close` it; methods may be called from any thread.

    `format` is the reader's name; `environment` is what the trace says of the machine (hostname, kernel_release,
    tracer_name ...); `threads` are names of threads that it keeps apart from events: tid -> (comm, pid or None).
    """

    KIND: ClassVar[str] = "kernel trace"

    def __init__(
        self,
        path: Path,
        format: str,  # noqa: A002 - what it is
        native: NativeTrace,
        *,
        clock: Clock,
        environment: Mapping[str, str] | None = None,
        threads: Mapping[int, tuple[str, int | None]] | None = None,
        problems: Sequence[Problem] = (),
        labels: Mapping[str, Mapping[str, Mapping[int, str]]] | None = None,
    ) -> None:
        self.path = path
        self.format = format
        self.clock = clock
        self.environment = dict(environment or {})
        self.threads = dict(threads or {})
        self._native = native
        self._problems = tuple(problems)
        self._labels = labels or {}
        self._types: dict[str, EventType] | None = None

    def knows(self, name: str) -> bool:
        """Tell whether the trace describes an event of this name. Does not read the events."""
        return name in self._native.names()

    def names(self) -> list[str]:
        """Return the names of all events that the trace describes, sorted. Does not read the events."""
        return sorted(self._native.names())

    def event_names(self) -> dict[str, EventType]:
        """Return the events that occur, by name, with counts and fields. Reads the whole trace once."""
        if self._types is None:
            self._types = {
                name: EventType(name, count, self._fields(name, fields))
                for name, (count, fields) in sorted(self._native.event_types().items())
                if count
            }
        return self._types

    def fields(self, name: str) -> tuple[Field, ...]:
        """Return the fields of an event that the trace describes. Does not read the events."""
        known = self._native.names()
        if name not in known:
            hint = did_you_mean(name, known) or "drawtap info lists the events"
            raise UsageError(f"{self.path.name} knows no event called {name!r}", hint=hint)
        return self._fields(name, known[name])

    def _fields(self, name: str, fields: Mapping[str, str]) -> tuple[Field, ...]:
        labels = self._labels.get(name, {})
        return tuple(Field(f, kind, labels.get(f, {})) for f, kind in fields.items())

    def events(
        self,
        names: str | Iterable[str] | None = None,
        fields: Sequence[str] | None = None,
        *,
        begin: int | None = None,
        end: int | None = None,
    ) -> Events:
        """Return events of one name, of several, or of all (None), in order of time.

        Columns: `t` first; `event` with several names; then `fields` in the order given. A field is a name, or
        `name=one|other`: the first of these that an event has, as the column `name`. `cpu`, `tid`, `pid` and `comm` are
        fields of every event (tid: the thread that was running; pid: its process, NULL where unknown); the event's own
        field of such a name is `event.tid`. A field that an event does not have is NULL; one that none of them has is a
        column of NULLs (BIGINT). None: cpu, tid, comm and all fields of these events, with `event.tid` for one that has
        a base column's name.

        `begin`, `end`: times, from and before. Names that the trace does not know are left out: no such events.
        """
        wanted = None if names is None else [names] if isinstance(names, str) else list(names)
        return Events(*self._native.events(wanted, None if fields is None else list(fields), begin, end))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Missing or broken parts: lost events, discarded packets, truncation. Reads the whole trace once."""
        return (*self._problems, *(Problem(**values) for values in self._native.problems()))

    def bounds(self) -> tuple[int, int] | None:
        """Return the times of the first and the last event, None where there is none. Reads the whole trace once."""
        return self._native.bounds()

    def progress(self) -> tuple[int, int]:
        """Return bytes done and to do of the running operation."""
        return self._native.progress()

    def cancel(self) -> None:
        """Stop what runs on this trace; it then raises KeyboardInterrupt."""
        self._native.cancel()

    def close(self) -> None:
        """Forget the trace; streams that are still read keep its files mapped."""
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Reader:
    """A format: `recognises(path, head)` from the first bytes (b"" for a folder), `open(path)` makes the trace."""

    name: str
    recognises: Callable[[Path, bytes], bool]
    open: Callable[[Path], KernelTrace]

    @property
    def help(self) -> str:
        """Return the documentation of the format."""
        return self.open.__doc__ or ""


READERS: Registry[Reader] = Registry("format of kernel traces", "drawtap.system.readers")


def reader(
    name: str, recognises: Callable[[Path, bytes], bool]
) -> Callable[[Callable[[Path], KernelTrace]], Callable[[Path], KernelTrace]]:
    """Register the decorated function, which opens a path, as the reader of a format."""

    def add(function: Callable[[Path], KernelTrace]) -> Callable[[Path], KernelTrace]:
        READERS.register(name)(Reader(name, recognises, function))
        return function

    return add


_HEAD_BYTES = 4096


def open(path: str | os.PathLike[str], *, kind: str | None = None) -> KernelTrace:  # noqa: A001 - reads as reader.open
    """Open a trace; `kind` names a reader where the content shall not decide.

    Raises InputError where there is no such file, it is of no known kind, or its metadata is broken.
    """
    where = Path(path)
    if kind is not None:
        return READERS.get(kind).open(where)
    entry = recognised(where)
    if entry is not None:
        return entry.open(where)
    raise InputError(
        f"{where} is no kernel trace of a known kind",
        hint=f"known: {', '.join(READERS.names())}; CTF is a folder with a file `metadata`",
    )


def recognised(path: Path) -> Reader | None:
    """Return the reader of what is in a file or folder, None where none knows it. Raises InputError as `open` does."""
    head = _head(path)
    return next((entry for _, entry in READERS.items() if entry.recognises(path, head)), None)


def _head(path: Path) -> bytes:
    try:
        if path.is_dir():
            return b""
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
