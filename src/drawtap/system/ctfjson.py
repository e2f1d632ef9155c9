"""Read the JSON metadata of CTF 2.

Source: CTF2-SPEC-2.0, a sequence of JSON texts (RFC 7464), each a fragment with a `type`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from drawtap.errors import InputError
from drawtap.system import ctftypes

_Object = dict[str, object]
_DEEPEST = 48
_UNITS = {"utf-8": 1, "utf-16be": 2, "utf-16le": 2, "utf-32be": 4, "utf-32le": 4}


def parse(text: str) -> ctftypes.Metadata:
    """Return what the fragments describe. Raises InputError that names the broken one."""
    return _Reader().read(text)


class _Reader:
    def __init__(self) -> None:
        self._aliases: dict[str, ctftypes.Type] = {}
        self._metadata = ctftypes.Metadata(2)
        self._where = ""
        self._depth = 0

    def read(self, text: str) -> ctftypes.Metadata:
        for number, fragment in enumerate(_fragments(text), 1):
            kind = str(fragment.get("type"))
            self._where = f"metadata, fragment {number} ({kind})"
            if kind == "preamble":
                if fragment.get("version") != 2:
                    raise InputError(f"CTF of version {fragment.get('version')}", hint="1.8 and 2 are read")
                self._metadata.uuid = _text(fragment.get("uuid"))
            elif kind == "field-class-alias":
                self._aliases[str(fragment.get("name"))] = self._type(fragment.get("field-class"))
            elif kind == "trace-class":
                self._trace(fragment)
            elif kind == "clock-class":
                self._clock(fragment)
            elif kind == "data-stream-class":
                self._stream(fragment)
            elif kind == "event-record-class":
                self._event(fragment)
            # Other kinds are for others.
        return self._metadata

    def _fail(self, what: str) -> InputError:
        return InputError(f"{self._where}: {what}")

    # ---- fragments ---------------------------------------------------------------------------------------------

    def _trace(self, said: _Object) -> None:
        environment = said.get("environment")
        if isinstance(environment, dict):
            self._metadata.environment = {str(k): str(v) for k, v in environment.items()}
        name = _text(said.get("name"))
        if name:
            self._metadata.environment.setdefault("trace_name", name)
        self._metadata.packet_header = self._scope(said.get("packet-header-field-class"))

    def _clock(self, said: _Object) -> None:
        name = _text(said.get("id")) or _text(said.get("name")) or "clock"
        frequency = _int(said.get("frequency"), 0)
        if frequency <= 0:
            raise self._fail("a clock has no frequency")
        offset = said.get("offset-from-origin") or said.get("offset") or {}
        seconds, cycles = 0, 0
        if isinstance(offset, dict):
            seconds, cycles = _int(offset.get("seconds"), 0), _int(offset.get("cycles"), 0)
        origin = said.get("origin")
        uid = said.get("uid") or said.get("uuid")
        self._metadata.clocks[name] = ctftypes.ClockClass(
            _text(said.get("name")) or name,
            frequency,
            seconds * 1_000_000_000 + cycles * 1_000_000_000 // frequency,
            None if uid is None else str(uid),
            origin == "unix-epoch",
            _text(said.get("description")) or "",
        )

    def _stream(self, said: _Object) -> None:
        stream = ctftypes.StreamClass(_int(said.get("id"), 0))
        stream.packet_context = self._scope(said.get("packet-context-field-class"))
        stream.event_header = self._scope(said.get("event-record-header-field-class"))
        stream.event_context = self._scope(said.get("event-record-common-context-field-class"))
        stream.clock = _text(said.get("default-clock-class-id")) or _text(said.get("default-clock-class-name"))
        self._metadata.streams[stream.id] = stream

    def _event(self, said: _Object) -> None:
        event = ctftypes.EventClass(_int(said.get("id"), 0), _text(said.get("name")) or "")
        event.name = event.name or f"event_{event.id}"
        event.context = self._scope(said.get("specific-context-field-class"))
        event.payload = self._scope(said.get("payload-field-class"))
        stream = _int(said.get("data-stream-class-id"), 0)
        if stream not in self._metadata.streams:
            raise self._fail(f"there is no data stream class {stream}")
        self._metadata.streams[stream].events[event.id] = event

    def _scope(self, said: object) -> ctftypes.Structure | None:
        if said is None:
            return None
        made = self._type(said)
        if not isinstance(made, ctftypes.Structure):
            raise self._fail("expected a structure")
        return made

    # ---- field classes -----------------------------------------------------------------------------------------

    def _type(self, said: object) -> ctftypes.Type:
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise self._fail("fields are nested too deeply")
            if isinstance(said, str):
                if said not in self._aliases:
                    raise self._fail(f"there is no field class alias {said!r}")
                return self._aliases[said]
            if not isinstance(said, dict):
                raise self._fail("a field class is no object")
            return self._object(str(said.get("type")), said)
        finally:
            self._depth -= 1

    def _object(self, kind: str, said: _Object) -> ctftypes.Type:
        if kind.startswith("fixed-length-"):
            return self._fixed(kind.removeprefix("fixed-length-"), said)
        if kind in ("variable-length-unsigned-integer", "variable-length-signed-integer"):
            return ctftypes.VarInteger("-signed-" in kind, self._labels(said), _roles(said))
        unit, big = self._encoding(said)
        if kind == "null-terminated-string":
            return ctftypes.String(unit, big)
        if kind in ("static-length-string", "dynamic-length-string"):
            return ctftypes.Text(self._length(said), unit, big)
        if kind in ("static-length-blob", "dynamic-length-blob"):
            return ctftypes.Text(self._length(said), 0)
        if kind in ("static-length-array", "dynamic-length-array"):
            return ctftypes.Array(
                self._type(said.get("element-field-class")), self._length(said), _align(said, "minimum-alignment")
            )
        if kind == "structure":
            fields = _list(said.get("member-classes"))
            members = tuple((str(m.get("name")), self._type(m.get("field-class"))) for m in fields)
            return ctftypes.Structure(members, _align(said, "minimum-alignment"))
        if kind == "optional":
            return self._optional(said)
        if kind == "variant":
            return self._variant(said)
        raise self._fail(f"unknown field class {kind!r}")

    def _fixed(self, kind: str, said: _Object) -> ctftypes.Type:
        size = _int(said.get("length"), 0)
        if not 0 < size <= 64:
            raise self._fail(f"a field of {size} bits")
        align, big = _align(said, "alignment"), said.get("byte-order") == "big-endian"
        if kind == "floating-point-number":
            if size not in (32, 64):
                raise self._fail(f"a floating-point number of {size} bits")
            return ctftypes.Real(size, align, big)
        order = said.get("bit-order")
        other = order is not None and (order == "first-to-last") == big
        return ctftypes.Integer(
            size,
            align,
            kind.startswith("signed"),
            big,
            labels=self._labels(said),
            roles=_roles(said),
            reversed=other,
            boolean=kind == "boolean",
        )

    def _labels(self, said: _Object) -> tuple[tuple[int, int, str], ...]:
        mappings = said.get("mappings")
        if not isinstance(mappings, dict):
            return ()
        return tuple((low, high, str(name)) for name, ranges in mappings.items() for low, high in self._ranges(ranges))

    def _ranges(self, said: object) -> tuple[tuple[int, int], ...]:
        ranges = []
        for pair in said if isinstance(said, list) else []:
            ends = pair if isinstance(pair, list) else [pair, pair]
            if len(ends) != 2 or not all(isinstance(end, int) for end in ends):
                raise self._fail("a range is no pair of integers")
            ranges.append((int(ends[0]), int(ends[1])))
        return tuple(ranges)

    def _encoding(self, said: _Object) -> tuple[int, bool]:
        name = str(said.get("encoding", "utf-8"))
        if name not in _UNITS:
            raise self._fail(f"text in the unknown encoding {name!r}")
        return _UNITS[name], name.endswith("be")

    def _length(self, said: _Object) -> int | ctftypes.Reference:
        if "length-field-location" in said:
            return self._reference(said["length-field-location"])
        length = _int(said.get("length"), -1)
        if length < 0:
            raise self._fail("a length is missing")
        return length

    def _reference(self, said: object) -> ctftypes.Reference:
        origin, path = "", said
        if isinstance(said, dict):
            origin, path = str(said.get("origin", "")), said.get("path")
        if isinstance(path, list) and path and path[0] in ctftypes.SCOPES and not origin:
            origin, path = str(path[0]), path[1:]
        if not isinstance(path, list) or not path or (origin and origin not in ctftypes.SCOPES):
            raise self._fail("where a length or a selector stands cannot be read")
        return ctftypes.Reference(tuple(None if p is None else str(p) for p in path), origin)

    def _optional(self, said: _Object) -> ctftypes.Type:
        ranges = self._ranges(said.get("selector-field-ranges"))
        tag = self._reference(said.get("selector-field-location"))
        # Without ranges the selector is a boolean.
        option = ctftypes.Option(
            "", self._type(said.get("field-class")), ranges or ((1, (1 << 63) - 1), (-(1 << 63), -1))
        )
        return ctftypes.Variant(tag, (option,), optional=True)

    def _variant(self, said: _Object) -> ctftypes.Type:
        options = []
        for number, option in enumerate(_list(said.get("options"))):
            name = _text(option.get("name")) or f"option_{number}"
            ranges = self._ranges(option.get("selector-field-ranges"))
            options.append(ctftypes.Option(name, self._type(option.get("field-class")), ranges))
        return ctftypes.Variant(self._reference(said.get("selector-field-location")), tuple(options))


def _fragments(text: str) -> Iterator[_Object]:
    decoder = json.JSONDecoder()
    at = 0
    while True:
        while at < len(text) and text[at] in "\x1e \t\r\n\0":
            at += 1
        if at >= len(text):
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise InputError(f"metadata is broken JSON: {error}") from None
        for fragment in value if isinstance(value, list) else [value]:
            if not isinstance(fragment, dict):
                raise InputError("metadata has a fragment that is no JSON object")
            yield fragment


def _roles(said: Mapping[str, object]) -> tuple[str, ...]:
    roles = said.get("roles")
    return tuple(str(role) for role in roles) if isinstance(roles, list) else ()


def _align(said: Mapping[str, object], name: str) -> int:
    align = _int(said.get(name), 1)
    return align if 0 < align <= 128 and not align & (align - 1) else 1


def _list(value: object) -> list[_Object]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _int(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
