"""The model of CTF's metadata, whichever version wrote it: types of fields, streams, events, clocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from drawtap.errors import InputError


@dataclass(frozen=True, slots=True)
class Integer:
    """`size` and `align` in bits. `clock`: its value updates this clock. `role`: what CTF 2 says it is for."""

    size: int
    align: int = 1
    signed: bool = False
    big: bool = False
    text: bool = False  # a character of an encoding
    clock: str | None = None
    labels: tuple[tuple[int, int, str], ...] = ()
    roles: tuple[str, ...] = ()
    reversed: bool = False  # bits of a byte order's other end first
    boolean: bool = False


@dataclass(frozen=True, slots=True)
class VarInteger:
    """An integer in groups of seven bits (LEB128)."""

    signed: bool = False
    labels: tuple[tuple[int, int, str], ...] = ()
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Real:
    """A floating-point number of 32 or 64 bits."""

    size: int
    align: int = 1
    big: bool = False


@dataclass(frozen=True, slots=True)
class String:
    """Text up to a zero; `unit`: bytes of a character."""

    unit: int = 1
    big: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a length or a tag is: names from `origin` ("", or one of `SCOPES`) on; None goes up one structure."""

    path: tuple[str | None, ...]
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """Text or bytes of a length that is known before: a number, or where it stands. Bytes where `unit` is 0."""

    length: int | Reference
    unit: int = 1
    big: bool = False


@dataclass(frozen=True, slots=True)
class Array:
    """Elements of one type: `length` of them."""

    element: Type
    length: int | Reference
    align: int = 1


@dataclass(frozen=True, slots=True)
class Structure:
    """Fields one behind the other."""

    fields: tuple[tuple[str, Type], ...] = ()
    align: int = 1


@dataclass(frozen=True, slots=True)
class Option:
    """One of a variant: for tags between these pairs, or for the tag's label `name`."""

    name: str
    type: Type
    ranges: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """One type of several, as the tag says. `optional`: nothing, where no option has the tag."""

    tag: Reference
    options: tuple[Option, ...]
    optional: bool = False


Type = Integer | VarInteger | Real | String | Text | Array | Structure | Variant


@dataclass(frozen=True, slots=True)
class ClockClass:
    """A clock: `offset_ns` is what to add for the time since `origin`."""

    name: str
    frequency: int = 1_000_000_000
    offset_ns: int = 0
    uuid: str | None = None
    absolute: bool = False
    description: str = ""


@dataclass(slots=True)
class EventClass:
    """An event: its specific context, and its fields."""

    id: int
    name: str
    context: Structure | None = None
    payload: Structure | None = None


@dataclass(slots=True)
class StreamClass:
    """A kind of stream: what packets and events of it begin with, and its events."""

    id: int = 0
    packet_context: Structure | None = None
    event_header: Structure | None = None
    event_context: Structure | None = None
    clock: str | None = None
    events: dict[int, EventClass] = field(default_factory=dict)


@dataclass(slots=True)
class Metadata:
    """A trace: `version` 1 or 2, its byte order, packet header, clocks and streams."""

    version: int
    big: bool = False
    packet_header: Structure | None = None
    uuid: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    clocks: dict[str, ClockClass] = field(default_factory=dict)
    streams: dict[int, StreamClass] = field(default_factory=dict)


SCOPES = (
    "packet-header",
    "packet-context",
    "event-record-header",
    "event-record-common-context",
    "event-record-specific-context",
    "event-record-payload",
)

_MOST_FIELDS, _MOST_IN_ALL, _DEEPEST = 50_000, 5_000_000, 100


def check_extent(metadata: Metadata) -> None:
    """Raise InputError where fields are too many or nested too deeply, written out.

    A few lines that name each other ten times describe more fields than there is memory.
    """
    known: dict[int, tuple[int, int]] = {}
    total = 0
    for structure in _structures(metadata):
        fields, depth = _extent(structure, known) if structure is not None else (0, 0)
        total += fields
        if fields > _MOST_FIELDS or total > _MOST_IN_ALL or depth > _DEEPEST:
            raise InputError("the metadata describes more fields than any event has, or nests them too deeply")


def _structures(metadata: Metadata) -> Iterable[Structure | None]:
    yield metadata.packet_header
    for stream in metadata.streams.values():
        yield from (stream.packet_context, stream.event_header, stream.event_context)
        for event in stream.events.values():
            yield from (event.context, event.payload)


def _extent(kind: Type, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    # Fields and depth; a type that is used in many places is looked at once.
    extent = known.get(id(kind))
    if extent is not None:
        return extent
    inner: list[Type] = []
    if isinstance(kind, Structure):
        inner = [t for _, t in kind.fields]
    elif isinstance(kind, Variant):
        inner = [option.type for option in kind.options]
    elif isinstance(kind, Array):
        inner = [kind.element]
    parts = [_extent(t, known) for t in inner]
    extent = 1 + sum(n for n, _ in parts), 1 + max((d for _, d in parts), default=0)
    known[id(kind)] = extent
    return extent
