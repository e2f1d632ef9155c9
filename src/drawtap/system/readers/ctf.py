"""Common Trace Format 1.8 and 2: LTTng's kernel and user-space traces, barectf, perf, our own."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from drawtap.errors import InputError
from drawtap.system import ctfjson, ctftypes, tsdl
from drawtap.system.eventformat import LIST, TYPES
from drawtap.system.native import NativeTrace, Plan
from drawtap.system.reader import Clock, KernelTrace, Problem, reader

_METADATA_MAGIC = 0x75D11D57

# Operations and variables, as native/system/ctf.cc numbers them.
_INTEGER, _TIME, _REAL, _STRING, _TEXT, _TEXT_SEQUENCE, _LIST, _LIST_SEQUENCE = range(8)
_LOOP, _LOOP_SEQUENCE, _VARIANT, _ALIGN, _VARINT, _BYTES, _BYTES_SEQUENCE = range(8, 15)
_SIGNED, _BIG, _REVERSED = 1, 2, 4
_V_MAGIC, _V_STREAM, _V_BEGIN, _V_END, _V_CONTENT, _V_PACKET, _V_SEQUENCE, _V_DISCARDED, _V_CPU, _V_EVENT = range(10)
_FIRST_FREE = 10

_HEADER_VARS = {"magic": _V_MAGIC, "stream_id": _V_STREAM}
_CONTEXT_VARS = {
    "timestamp_begin": _V_BEGIN,
    "timestamp_end": _V_END,
    "content_size": _V_CONTENT,
    "packet_size": _V_PACKET,
    "packet_seq_num": _V_SEQUENCE,
    "events_discarded": _V_DISCARDED,
    "cpu_id": _V_CPU,
}
_ROLES = {
    "packet-magic-number": _V_MAGIC,
    "data-stream-class-id": _V_STREAM,
    "default-clock-timestamp": _V_BEGIN,
    "packet-end-default-clock-timestamp": _V_END,
    "packet-content-length": _V_CONTENT,
    "packet-total-length": _V_PACKET,
    "packet-sequence-number": _V_SEQUENCE,
    "discarded-event-record-counter-snapshot": _V_DISCARDED,
    "event-record-class-id": _V_EVENT,
}
# Contexts that are columns of every event.
_BASES = (("tid", "vtid", "pthread_id"), ("pid", "vpid"), ("procname",), ("cpu_id",))


def _is_ctf(path: Path, head: bytes) -> bool:
    if not head:
        return any(True for _ in _folders(path))
    return path.name == "metadata" and (_packetised(head) or b"/* CTF 1.8" in head or b'"preamble"' in head)


@reader("ctf", _is_ctf)
def open_ctf(path: Path) -> KernelTrace:
    """Common Trace Format 1.8 and 2: a folder with a file `metadata`, or a folder of such folders (a session).

    LTTng's kernel and user-space traces, barectf and others, in both byte orders, with packets or without. Discarded
    events and packets that are missing are noted; what is broken in a packet costs the rest of that packet.
    """
    folders = sorted(_folders(path if path.is_dir() else path.parent))
    if not folders:
        raise InputError(f"{path} has no trace in it", hint="CTF is a folder with a file `metadata`")
    traces = [_load(folder) for folder in folders]
    plan = _Planner(path if path.is_dir() else path.parent)
    for folder, metadata in zip(folders, traces, strict=True):
        plan.add(folder, metadata)
    clock = _clock(traces)
    environment: dict[str, str] = {}
    for metadata in traces:
        for key, value in metadata.environment.items():
            environment.setdefault(key, value)
    return KernelTrace(
        path,
        "ctf",
        NativeTrace("ctf", plan.plan()),
        clock=clock,
        environment=environment,
        problems=plan.problems,
        labels=plan.labels,
    )


def _folders(path: Path) -> Iterator[Path]:
    if (path / "metadata").is_file():
        yield path
        return
    for depth in range(1, 6):
        yield from (
            metadata.parent for metadata in path.glob("/".join(["*"] * depth) + "/metadata") if metadata.is_file()
        )


def _load(folder: Path) -> ctftypes.Metadata:
    data = (folder / "metadata").read_bytes()
    text = _unpacked(data, folder)
    try:
        metadata = _parsed(text)
        ctftypes.check_extent(metadata)
        return metadata
    except InputError as error:
        raise InputError(f"{folder}: {error.message}", hint=error.hint) from None
    except RecursionError:
        raise InputError(f"{folder}: metadata is nested too deeply") from None


def _parsed(text: str) -> ctftypes.Metadata:
    if text.lstrip("\x1e \t\r\n").startswith(("{", "[")):
        return ctfjson.parse(text)
    if "/* CTF 1.8" not in text[:512] and "trace" not in text:
        raise InputError("metadata is neither TSDL nor JSON")
    return tsdl.parse(text)


def _packetised(data: bytes) -> bool:
    return len(data) >= 4 and _METADATA_MAGIC in (struct.unpack("<I", data[:4])[0], struct.unpack(">I", data[:4])[0])


def _unpacked(data: bytes, folder: Path) -> str:
    """Return the text of metadata, taken out of its packets where it has any."""
    if not _packetised(data):
        return data.decode(errors="replace")
    order = "<" if struct.unpack("<I", data[:4])[0] == _METADATA_MAGIC else ">"
    parts, at = [], 0
    while at + 37 <= len(data):
        # magic, uuid, checksum, content bits, packet bits, compression, encryption, checksum, major, minor
        magic, _, _, content, packet, compressed, encrypted, _, _, _ = struct.unpack_from(
            order + "I16sIIIBBBBB", data, at
        )
        if magic != _METADATA_MAGIC or packet < content or content < 37 * 8 or compressed or encrypted:
            raise InputError(f"{folder}: metadata is broken at byte {at}")
        parts.append(data[at + 37 : at + content // 8])
        at += packet // 8
    return b"".join(parts).decode(errors="replace")


def _clock(traces: list[ctftypes.Metadata]) -> Clock:
    used = [c for m in traces for c in m.clocks.values()]
    if not used:
        return Clock("none", monotonic=False, note="the trace has no clock: times are counts")
    first = used[0]
    monotonic = "monotonic" in first.name.lower() or "monotonic" in first.description.lower()
    note: str | None
    if first.name == "perf_clock":
        note = "perf's clock: not comparable with API recordings"
    else:
        note = None if monotonic else "not comparable with API recordings"
    return Clock(first.name, monotonic, first.offset_ns if first.offset_ns else None, note)


# ---- the plan --------------------------------------------------------------------------------------------------


@dataclass
class _Op:
    """One operation of the native decoder; `var` is given when something refers to it."""

    kind: int
    size: int = 0
    align: int = 0
    flags: int = 0
    var: int = -1
    column: int = -1
    a: int | _Op = 0
    b: int = 0
    body: list[_Op] = field(default_factory=list)
    choices: list[tuple[int, int, list[_Op]]] = field(default_factory=list)
    labels: tuple[tuple[int, int, str], ...] = ()


_Names = dict[str, "_Op | _Names"]


@dataclass
class _Fields:
    """The fields of one event while it is compiled."""

    names: list[str] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    ops: list[_Op] = field(default_factory=list)
    base: list[int] = field(default_factory=lambda: [-1, -1, -1, -1])
    labels: dict[str, Mapping[int, str]] = field(default_factory=dict)

    def add(self, name: str, code: int) -> int:
        number, wanted = 2, name
        while wanted in self.names:
            wanted, number = f"{name}_{number}", number + 1
        self.names.append(wanted)
        self.types.append(code)
        return len(self.names) - 1


class _Planner:
    """Turn metadata into the plan that native/system/ctf.cc reads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._classes: list[_Fields] = []
        self._class_names: list[str] = []
        self._clocks: list[tuple[int, int]] = []
        self._clock_origin: dict[str | None, int] = {}
        self._traces: list[Plan] = []
        self.problems: list[Problem] = []
        self.labels: dict[str, dict[str, Mapping[int, str]]] = {}

    def plan(self) -> Plan:
        plan = Plan().number(len(self._classes))
        for name, fields in zip(self._class_names, self._classes, strict=True):
            plan.text(name).number(*fields.base, len(fields.names))
            hidden = {b for b in fields.base if b >= 0}
            for i, (label, code) in enumerate(zip(fields.names, fields.types, strict=True)):
                plan.text("" if i in hidden else label).number(code)
        plan.number(len(self._clocks))
        for frequency, add in self._clocks:
            plan.number(frequency, add)
        plan.number(len(self._traces))
        for trace in self._traces:
            plan.add(trace)
        return plan

    def add(self, folder: Path, metadata: ctftypes.Metadata) -> None:
        """Add one trace."""
        compiled = _Compiler(self, metadata)
        plan = compiled.plan()
        files = sorted(_data_files(folder))
        plan.number(len(files))
        for file in files:
            shown = file.relative_to(self._root) if file.is_relative_to(self._root) else file
            plan.text(bytes(file)).text(str(shown))
        self._traces.append(plan)

    def clock(self, clock: ctftypes.ClockClass) -> int:
        """Return the number of a clock. Times count from the origin of the first clock."""
        # Traces of one machine share a clock; others are laid beside each other by the time of day.
        first = next(iter(self._clock_origin.values()), None)
        add = 0
        if first is None:
            self._clock_origin[clock.uuid] = clock.offset_ns
        elif clock.uuid is None or clock.uuid not in self._clock_origin:
            add = clock.offset_ns - first if clock.offset_ns else 0
        self._clocks.append((clock.frequency, add))
        return len(self._clocks) - 1

    def event(self, name: str, fields: _Fields) -> int:
        self._classes.append(fields)
        self._class_names.append(name)
        if fields.labels:
            self.labels.setdefault(name, {}).update(fields.labels)
        return len(self._classes) - 1


def _data_files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_file() and path.name != "metadata" and not path.name.startswith(".") and path.stat().st_size:
            yield path


class _Compiler:
    """Compile one trace: types become operations, references variables."""

    def __init__(self, planner: _Planner, metadata: ctftypes.Metadata) -> None:
        self._planner = planner
        self._metadata = metadata
        self._vars = _FIRST_FREE
        self._scopes: dict[str, _Names] = {}
        self._stack: list[_Names] = []
        self._ops: list[_Op] = []
        self._flat: list[tuple[int, ...]] = []
        self._choices: list[tuple[int, int, int, int]] = []
        self._v2 = metadata.version == 2

    def plan(self) -> Plan:
        """Return the plan of the trace, without its files."""
        ops = self._header_ops()
        streams = [self._stream(stream) for stream in self._metadata.streams.values()]
        header = self._range(ops)
        plan = Plan().number(self._vars, len(self._flat))
        for op in self._flat:
            plan.number(*op)
        plan.number(len(self._choices))
        for choice in self._choices:
            plan.number(*choice)
        plan.number(*header, len(streams))
        for one in streams:
            plan.add(one)
        return plan

    def _header_ops(self) -> list[_Op]:
        self._scopes = {}
        return self._scope("packet-header", self._metadata.packet_header, None, _HEADER_VARS)

    def _stream(self, stream: ctftypes.StreamClass) -> Plan:
        self._scopes = {k: v for k, v in self._scopes.items() if k == "packet-header"}
        context = self._scope("packet-context", stream.packet_context, None, _CONTEXT_VARS)
        clock = self._stream_clock(stream)
        kind = self._header_kind(stream)
        header = self._scope("event-record-header", stream.event_header, None, {"id": _V_EVENT})
        compiled = []
        for event in stream.events.values():
            fields = _Fields()
            ops = self._event(stream, event, fields)
            compiled.append((event.id, self._planner.event(event.name, fields), ops))
        # Only now is known which values something refers to.
        plan = Plan().number(stream.id, *self._range(context), kind, *self._range(header))
        plan.number(-1 if clock is None else self._planner.clock(clock), len(compiled))
        for number, index, ops in compiled:
            plan.number(number, index, *self._range(ops))
        return plan

    def _stream_clock(self, stream: ctftypes.StreamClass) -> ctftypes.ClockClass | None:
        clocks = self._metadata.clocks
        if stream.clock is not None and stream.clock in clocks:
            return clocks[stream.clock]
        names = _clocks_in(stream.event_header)
        names += _clocks_in(stream.packet_context)
        clock = next((clocks[name] for name in names if name in clocks), None)
        if clock is None and not self._v2 and len(clocks) == 1:
            return next(iter(clocks.values()))
        return clock

    def _header_kind(self, stream: ctftypes.StreamClass) -> int:
        if self._v2 or self._metadata.big or stream.event_header is None:
            return 0
        return _lttng_header(stream.event_header)

    def _event(self, stream: ctftypes.StreamClass, event: ctftypes.EventClass, fields: _Fields) -> list[_Op]:
        ops = self._scope("event-record-common-context", stream.event_context, fields, None, "context.")
        ops += self._scope("event-record-specific-context", event.context, fields, None, "context.")
        for index, names in enumerate(_BASES):
            for name in names:
                if f"context.{name}" in fields.names:
                    fields.base[index] = fields.names.index(f"context.{name}")
                    break
        return ops + self._scope("event-record-payload", event.payload, fields, None)

    # ---- types -------------------------------------------------------------------------------------------------

    def _scope(
        self,
        scope: str,
        structure: ctftypes.Structure | None,
        fields: _Fields | None,
        roles: Mapping[str, int] | None,
        prefix: str = "",
    ) -> list[_Op]:
        names: _Names = {}
        self._scopes[scope] = names
        if structure is None:
            return []
        self._stack = [names]
        self._roles = roles
        self._current = scope
        return self._structure(structure, names, fields, prefix)

    def _structure(
        self, structure: ctftypes.Structure, names: _Names, fields: _Fields | None, prefix: str
    ) -> list[_Op]:
        ops: list[_Op] = []
        align = _alignment(structure)
        if align > 1:
            ops.append(_Op(_ALIGN, align=align))
        for name, kind in structure.fields:
            ops += self._field(name, kind, names, fields, prefix)
        return ops

    def _field(self, name: str, kind: ctftypes.Type, names: _Names, fields: _Fields | None, prefix: str) -> list[_Op]:
        shown = prefix + (name.removeprefix("_") if not self._v2 else name)
        if isinstance(kind, ctftypes.Structure):
            inner: _Names = {}
            names[name] = inner
            self._stack.append(inner)
            ops = self._structure(kind, inner, fields, f"{shown}.")
            self._stack.pop()
            return ops
        if isinstance(kind, ctftypes.Variant):
            return [self._variant(name, kind, names, fields, shown)]
        if isinstance(kind, ctftypes.Array):
            return self._array(kind, names, fields, shown)
        op = self._leaf(name, kind)
        names[name] = op
        code = _type_code(kind)
        if fields is not None:
            op.column = fields.add(shown, code)
            labels = kind.labels if isinstance(kind, ctftypes.Integer | ctftypes.VarInteger) else ()
            if labels:
                fields.labels[fields.names[op.column]] = _plain_labels(labels)
        return [op]

    def _leaf(self, name: str, kind: ctftypes.Type) -> _Op:
        if isinstance(kind, ctftypes.Integer):
            flags = _SIGNED * kind.signed | _BIG * kind.big | _REVERSED * kind.reversed
            op = _Op(_INTEGER, kind.size, kind.align, flags, labels=kind.labels)
            return self._with_meaning(op, name, kind.roles, kind.clock is not None)
        if isinstance(kind, ctftypes.VarInteger):
            op = _Op(_VARINT, 0, 8, _SIGNED * kind.signed, labels=kind.labels)
            return self._with_meaning(op, name, kind.roles, clock=False)
        if isinstance(kind, ctftypes.Real):
            return _Op(_REAL, kind.size, kind.align, _BIG * kind.big)
        if isinstance(kind, ctftypes.String):
            return _Op(_STRING, kind.unit, 8, _BIG * kind.big)
        assert isinstance(kind, ctftypes.Text)
        sized, sequence = (_TEXT, _TEXT_SEQUENCE) if kind.unit else (_BYTES, _BYTES_SEQUENCE)
        if isinstance(kind.length, int):
            return _Op(sized, kind.unit, 8, _BIG * kind.big, a=_small(kind.length))
        return _Op(sequence, kind.unit, 8, _BIG * kind.big, a=self._referred(kind.length))

    def _with_meaning(self, op: _Op, name: str, roles: tuple[str, ...], clock: bool) -> _Op:
        if self._v2:
            for role in roles:
                if role in _ROLES:
                    if role == "default-clock-timestamp" and self._current == "event-record-header":
                        op.kind = _TIME if op.kind == _INTEGER else op.kind
                    else:
                        op.var = _ROLES[role]
            if name == "cpu_id" and self._current == "packet-context":
                op.var = _V_CPU
            return op
        if self._roles and name in self._roles:
            op.var = self._roles[name]
        elif clock and self._current == "event-record-header":
            op.kind = _TIME
        return op

    def _variant(self, name: str, kind: ctftypes.Variant, names: _Names, fields: _Fields | None, shown: str) -> _Op:
        tag = self._referred(kind.tag)
        op = _Op(_VARIANT, flags=_SIGNED if kind.optional else 0, a=tag)
        inside: _Names = {}
        names[name] = inside
        for option in kind.options:
            ranges = option.ranges
            if ranges is None:
                label = option.name.removeprefix("_")
                ranges = tuple((lo, hi) for lo, hi, text in tag.labels if text in (option.name, label))
                ranges = ranges or tuple((lo, hi) for lo, hi, text in tag.labels if text.removeprefix("_") == label)
            self._stack.append(inside)
            prefix = f"{shown}." if not kind.optional else shown.rpartition(".")[0] + ("." if "." in shown else "")
            body = self._field(option.name or name, option.type, inside, fields, prefix)
            self._stack.pop()
            op.choices += [(lo, hi, body) for lo, hi in ranges]
        return op

    def _array(self, kind: ctftypes.Array, names: _Names, fields: _Fields | None, shown: str) -> list[_Op]:
        length: int | _Op = _small(kind.length) if isinstance(kind.length, int) else self._referred(kind.length)
        sequence = isinstance(length, _Op)
        element = kind.element
        ops = [_Op(_ALIGN, align=kind.align)] if kind.align > 1 else []
        if isinstance(element, ctftypes.Integer) and not element.reversed:
            flags = _SIGNED * element.signed | _BIG * element.big
            op = _Op(_LIST_SEQUENCE if sequence else _LIST, element.size, element.align, flags, a=length)
            if fields is not None:
                op.column = fields.add(shown, LIST + _type_code(element))
            return [*ops, op]
        # Elements that are no plain integers are walked over: there is no column for them.
        op = _Op(_LOOP_SEQUENCE if sequence else _LOOP, align=_alignment(element), a=length)
        inside: _Names = {}
        self._stack.append(inside)
        op.body = self._field("element", element, inside, None, "")
        self._stack.pop()
        return [*ops, op]

    def _referred(self, reference: ctftypes.Reference) -> _Op:
        """Return the operation whose value is a length or a tag, and have it keep that value."""
        operation = self._find(reference)
        if operation is None:
            raise InputError(f"metadata refers to {'.'.join(str(p) for p in reference.path)!r}, which there is not")
        if operation.var < 0:
            operation.var = self._vars
            self._vars += 1
        return operation

    def _find(self, reference: ctftypes.Reference) -> _Op | None:
        path = [p for p in reference.path if p is not None]
        if reference.origin:
            return _follow(self._scopes.get(reference.origin), path)
        for names in reversed(self._stack):
            operation = _follow(names, path)
            if operation is not None:
                return operation
        for scope in reversed(list(self._scopes.values())):
            operation = _follow(scope, path)
            if operation is not None:
                return operation
        return None

    # ---- numbers -----------------------------------------------------------------------------------------------

    def _range(self, ops: list[_Op]) -> tuple[int, int]:
        """Write operations one behind the other; what stands in variants comes before."""
        placed: dict[int, int] = {}
        self._place_choices(ops, placed)
        begin = len(self._flat)
        self._write(ops, placed)
        return begin, len(self._flat)

    def _place_choices(self, ops: list[_Op], placed: dict[int, int]) -> None:
        for op in ops:
            self._place_choices(op.body, placed)
            if op.kind != _VARIANT:
                continue
            ranges = [(lo, hi, *self._range(body)) for lo, hi, body in op.choices]
            placed[id(op)] = len(self._choices)
            self._choices += [(_signed(lo), _signed(hi), begin, end) for lo, hi, begin, end in ranges]

    def _write(self, ops: list[_Op], placed: dict[int, int]) -> None:
        for op in ops:
            a = op.a.var if isinstance(op.a, _Op) else op.a
            if op.kind == _VARIANT:
                self._emit(op, len(op.choices), a, placed[id(op)])
            elif op.kind in (_LOOP, _LOOP_SEQUENCE):
                at = len(self._flat)
                self._emit(op, op.var, a, 0)
                self._write(op.body, placed)
                self._flat[at] = (*self._flat[at][:-1], len(self._flat))
            else:
                self._emit(op, op.var, a, op.b)

    def _emit(self, op: _Op, var: int, a: int, b: int) -> None:
        self._flat.append((op.kind, op.size, op.align, op.flags, var, op.column, a, b))


def _follow(names: _Names | None, path: list[str]) -> _Op | None:
    place: _Op | _Names | None = names
    for name in path:
        if not isinstance(place, dict):
            return None
        place = place.get(name, place.get(f"_{name}"))
    return place if isinstance(place, _Op) else None


def _small(length: int) -> int:
    if not 0 <= length < 1 << 31:
        raise InputError(f"metadata has an array of {length} elements")
    return length


def _signed(value: int) -> int:
    return max(min(value, (1 << 63) - 1), -(1 << 63)) if value < 1 << 63 else value - (1 << 64)


def _alignment(kind: ctftypes.Type) -> int:
    if isinstance(kind, ctftypes.Structure):
        return max([kind.align, *(_alignment(t) for _, t in kind.fields)])
    if isinstance(kind, ctftypes.Array):
        return max(kind.align, _alignment(kind.element))
    if isinstance(kind, ctftypes.Integer | ctftypes.Real):
        return kind.align
    return 1 if isinstance(kind, ctftypes.Variant) else 8


def _type_code(kind: ctftypes.Type) -> int:
    if isinstance(kind, ctftypes.Integer):
        if kind.boolean:
            return TYPES["boolean"]
        size = next(s for s in (8, 16, 32, 64) if kind.size <= s)
        return TYPES[f"{'i' if kind.signed else 'u'}{size}"]
    if isinstance(kind, ctftypes.VarInteger):
        return TYPES["i64" if kind.signed else "u64"]
    if isinstance(kind, ctftypes.Real):
        return TYPES["f32" if kind.size == 32 else "f64"]
    if isinstance(kind, ctftypes.Text) and not kind.unit:
        return TYPES["binary"]
    return TYPES["text"]


def _plain_labels(labels: tuple[tuple[int, int, str], ...]) -> dict[int, str]:
    return {low: text for low, high, text in labels if low == high}


def _clocks_in(kind: ctftypes.Type | None) -> list[str]:
    if isinstance(kind, ctftypes.Integer):
        return [kind.clock] if kind.clock else []
    if isinstance(kind, ctftypes.Structure):
        return [name for _, t in kind.fields for name in _clocks_in(t)]
    if isinstance(kind, ctftypes.Variant):
        return [name for option in kind.options for name in _clocks_in(option.type)]
    return []


def _lttng_header(header: ctftypes.Structure) -> int:
    """Return 1 for LTTng's compact event header, 2 for its large one, 0 for any other: those are walked."""
    shapes = {1: (5, 27, (0, 30, 31)), 2: (16, 32, (0, 65534, 65535))}
    if header.align != 8 or [name for name, _ in header.fields] != ["id", "v"]:
        return 0
    (_, tag), (_, variant) = header.fields
    if not isinstance(tag, ctftypes.Integer) or not isinstance(variant, ctftypes.Variant) or len(variant.options) != 2:
        return 0
    for kind, (id_bits, time_bits, (low, high, extended)) in shapes.items():
        labels = ((low, high, "compact"), (extended, extended, "extended"))
        compact, large = (option.type for option in variant.options)
        if (
            tag.size == id_bits
            and tag.labels == labels
            and [option.name for option in variant.options] == ["compact", "extended"]
            and _sizes(compact) == [("timestamp", time_bits, 1 if kind == 1 else 8)]
            and _sizes(large) == [("id", 32, 8), ("timestamp", 64, 8)]
        ):
            return kind
    return 0


def _sizes(kind: ctftypes.Type) -> list[tuple[str, int, int]]:
    if not isinstance(kind, ctftypes.Structure) or kind.align > 8:
        return []
    return [(name, t.size, t.align) for name, t in kind.fields if isinstance(t, ctftypes.Integer) and not t.big]
