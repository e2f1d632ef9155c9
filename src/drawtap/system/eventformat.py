"""Read format files of the kernel's tracepoints (events/*/*/format), and plan how their records are decoded.

trace.dat and perf.data carry these files along; a recorder reads them from tracefs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from drawtap.system.native import Plan

# Type codes of plans: `dt::Type`. A list is 32 + the type of an element.
TYPES = {
    "boolean": 0,
    "u8": 1,
    "i8": 2,
    "u16": 3,
    "i16": 4,
    "u32": 5,
    "i32": 6,
    "u64": 7,
    "i64": 8,
    "f32": 9,
    "f64": 10,
    "text": 11,
    "binary": 12,
}
LIST = 32

_INTEGER, _CHARS, _LIST, _LOCATED_TEXT, _RELATIVE_TEXT, _LOCATED_LIST, _RELATIVE_LIST, _BYTES, _REST = range(9)
_FIELD = re.compile(
    r"\s*field:(?P<what>[^;]*);\s*offset:(?P<offset>\d+);\s*size:(?P<size>\d+);(?:\s*signed:(?P<signed>\d+);)?"
)
_NAME = re.compile(r"^(?P<type>.*?)\s*(?P<name>\w+)\s*(?P<array>\[[^\]]*\])?$", re.DOTALL)
_ELEMENTS = {"char": 1, "u8": 1, "s8": 1, "__u8": 1, "short": 2, "u16": 2, "s16": 2, "int": 4, "u32": 4, "s32": 4}


@dataclass(frozen=True, slots=True)
class RawField:
    """A field of a record: C type, place and size in bytes; `array`: what stands in brackets, None without them."""

    name: str
    type: str
    offset: int
    size: int
    signed: bool
    array: str | None

    def plan(self, long_size: int) -> tuple[int, int, int]:
        """Return how it is decoded (`RawEvents::Kind`), the type code of its column, and the bytes of an element."""
        words = self.type.replace("unsigned ", "").replace("signed ", "").replace("const ", "")
        if words.startswith(("__data_loc", "__rel_loc")):
            relative = words.startswith("__rel_loc")
            element = words.split(None, 1)[1].removesuffix("[]").strip() if " " in words else "char"
            if element == "char":
                return (_RELATIVE_TEXT if relative else _LOCATED_TEXT), TYPES["text"], 1
            size = _element_size(element, long_size)
            return (_RELATIVE_LIST if relative else _LOCATED_LIST), LIST + integer_type(size, signed=self.signed), size
        if self.array is not None:
            if words == "char":
                return (_CHARS if self.size else _REST), TYPES["text"], 1
            size = _element_size(words, long_size)
            if size and self.size and not self.size % size:
                return _LIST, LIST + integer_type(size, signed=self.signed), size
            return _BYTES, TYPES["binary"], 1
        if words == "bool":
            return _INTEGER, TYPES["boolean"], self.size
        if self.size in (1, 2, 4, 8):
            return _INTEGER, integer_type(self.size, signed=self.signed), self.size
        return _BYTES, TYPES["binary"], 1


@dataclass(frozen=True, slots=True)
class Format:
    """An event as its format file describes it."""

    name: str
    id: int
    common: tuple[RawField, ...]
    fields: tuple[RawField, ...]
    print: str
    system: str = ""

    def place(self, name: str) -> tuple[int, int] | None:
        """Return where a field that all events have stands: offset and size."""
        return next(((f.offset, f.size) for f in self.common if f.name == name), None)


def integer_type(size: int, *, signed: bool) -> int:
    """Return the type code of an integer of `size` bytes."""
    return TYPES[f"{'i' if signed else 'u'}{8 * size}"] if size in (1, 2, 4, 8) else TYPES["u64"]


def _element_size(element: str, long_size: int) -> int:
    if element.endswith("*") or element.split(maxsplit=1)[0] in ("long", "size_t", "cpumask_t"):
        return 8 if element.startswith("long long") else long_size
    if element in ("__u64", "u64", "s64", "__s64"):
        return 8
    return _ELEMENTS.get(element.removeprefix("__"), 1)


def parse(text: str, system: str = "") -> Format | None:
    """Return what a format file says; None where it is none."""
    name, number, shown = "", -1, ""
    common: list[RawField] = []
    fields: list[RawField] = []
    for line in text.splitlines():
        if line.startswith("name:"):
            name = line[5:].strip()
        elif line.startswith("ID:"):
            number = int(line[3:]) if line[3:].strip().isdigit() else -1
        elif line.startswith("print fmt:"):
            shown = line[10:].strip()
        elif match := _FIELD.match(line):
            field = _field(match)
            if field is not None:
                (common if field.name.startswith("common_") else fields).append(field)
    if not name or number < 0:
        return None
    return Format(name, number, tuple(common), tuple(fields), shown, system)


def _field(match: re.Match[str]) -> RawField | None:
    what = match["what"].strip()
    named = _NAME.match(what)
    if named is None:
        return None
    size, offset = int(match["size"]), int(match["offset"])
    if size >= 1 << 20 or offset >= 1 << 20:
        return None
    array = named["array"][1:-1] if named["array"] else None
    return RawField(named["name"], named["type"].strip(), offset, size, match["signed"] not in (None, "0"), array)


def plan_classes(formats: Iterable[Format], long_size: int) -> Plan:
    """Return the classes of a plan: one an event, in this order."""
    formats = list(formats)
    return Plan().number(len(formats)).add(plan_fields(formats, long_size))


def plan_fields(formats: Iterable[Format], long_size: int) -> Plan:
    """Return the same without the number of classes."""
    plan = Plan()
    for one in formats:
        plan.text(one.name).number(-1, -1, -1, -1, len(one.fields))
        for field in one.fields:
            plan.text(field.name).number(field.plan(long_size)[1])
    return plan


def plan_events(formats: Iterable[Format], long_size: int, threads: Mapping[int, tuple[str, int | None]]) -> Plan:
    """Return what `RawEvents::read` reads: the places of common fields, the events, the names of threads."""
    formats = list(formats)
    some = next((f for f in formats if f.place("common_type")), None)
    kind = (some.place("common_type") if some else None) or (0, 2)
    thread = (some.place("common_pid") if some else None) or (4, 4)
    plan = Plan().number(*kind, *thread, len(formats))
    for index, one in enumerate(formats):
        plan.number(one.id, index, len(one.fields))
        for field in one.fields:
            how, _, element = field.plan(long_size)
            plan.number(how, field.offset, field.size, element, field.signed)
    plan.number(len(threads))
    for tid, (comm, pid) in threads.items():
        plan.number(tid).text(comm).number(-1 if pid is None else pid)
    return plan
